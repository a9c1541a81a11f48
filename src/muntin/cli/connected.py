"""``--connect``: commands that a server answers, in its session and with its engine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muntin.cli.arrow_output import show_table
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from muntin.engine.client import EngineClient

#: The variable with the token: on a command line others could read it.
TOKEN = "MUNTIN_TOKEN"
#: How many seconds a text may run on the server.
_RUNNING = 600.0
#: Options of ``muntin run`` that are about a Spark of its own, or about streams.
_NOT_THERE = ("checkpoint", "trigger", "dead_letter", "end", "once", "safe_mode")


def connected(address: str) -> EngineClient:
    """Return the engine of a server."""
    from muntin.engine.client import connect

    return connect(address, token=os.environ.get(TOKEN))


def run_there(address: str, text: str, arguments: Mapping[str, Any]) -> None:
    """Run a text as a batch on a server, and show the answer of its last statement."""
    given = [name for name in _NOT_THERE if arguments[name]]
    if given or arguments["stream"]:
        option = (given or ["stream"])[0].replace("_mode", "").replace("_", "-")
        raise click.UsageError(
            f"--{option} is not for --connect: the server runs the text once, as a batch, as with "
            "--safe; CREATE QUERY in muntin sql --connect adds a query that goes on"
        )
    answer = connected(address).call("run", {"text": text}, wait=_RUNNING)
    form = "json" if arguments["as_json"] else arguments["form"]
    show_table(answer, form, arguments["rows"])


class ConnectedShell:
    """Reads statements and lets a server run them, until the end of input.

    Args:
        address: The address of the server.
        rows: How many rows a table shows.
    """

    def __init__(self, address: str, rows: int) -> None:
        self._engine = connected(address)
        self._address, self._rows = address, rows

    def start(self, file: Path | None) -> None:
        """Run a file if there is one, then read and run."""
        from muntin.cli.prompt import Completer, is_command, prepare, read

        if file is not None:
            self.run(file.read_text())
        save = prepare(Completer(self._names))
        click.echo(f"Muntin at {self._address}. Type help for help, exit to leave.")
        try:
            while (text := read(input)) is not None:
                if not is_command(text):
                    self.run(text)
                elif text.strip().rstrip(";").lower() in ("exit", "quit", "\\q"):
                    return
                else:
                    click.echo(_HELP)
        finally:
            save()

    def run(self, text: str) -> None:
        """Run a text; errors are printed, and the shell goes on."""
        try:
            show_table(self._engine.sql(text), "table", self._rows)
        except MuntinError as error:
            click.echo(f"Error: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("\nThe server goes on with it.", err=True)

    def _names(self) -> Iterator[str]:
        """Yield the names that can be completed."""
        try:
            yield from self._engine.sql("SHOW STREAMS")["name"].to_pylist()
            yield from (record.name or record.id for record in self._engine.queries())
        except MuntinError:
            return  # the server is away, or the token may only read


_HELP = """Statements end with a semicolon; an empty line sends what was typed.
  SELECT station, max(speed) AS hi FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY station;
  CREATE QUERY slow AS SELECT ...;   ALTER QUERY slow AS SELECT ...;   DROP QUERY slow;
  SHOW STREAMS;   SHOW QUERIES;   EXPLAIN SELECT ...;   INVOKE QUERY slow;
A SELECT is answered once, from the rows that its stream keeps. exit or Ctrl-D leaves."""
