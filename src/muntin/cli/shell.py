"""The session of ``muntin sql``: reads statements, runs them and shows what they answer."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muntin.cli.errors import Exit, exit_for, spark_message
from muntin.cli.progress import CommandProgress
from muntin.cli.typed_ahead import TypedAhead
from muntin.errors import MuntinError
from muntin.parser.statements import CreateStream, CreateTable

if TYPE_CHECKING:
    from muntin.cli.output import ResultOutput
    from muntin.session.pipeline import Pipeline
    from muntin.spark.start.fetch_packages import FetchedPackages

_HELP = """Statements end with a semicolon; an empty line sends what was typed.
  SELECT * FROM 'readings.csv' LIMIT 5;          DESCRIBE 'readings.csv';
  CREATE STREAM traffic FROM simulate('freeway', hours => 1) ON ts BY station;
  SELECT station, max(speed) AS hi FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY station;
  SHOW STREAMS;   SHOW QUERIES;   SHOW FUNCTIONS avg;   EXPLAIN SELECT ...;   DROP STREAM traffic;
  SET zone = 'Europe/Berlin';   SET format = json;   SET rows = 50;
  .read FILE runs a file.   .output FILE writes results there; .output alone shows them again.
Ctrl-C stops a stream that is shown, or discards what was typed. exit or Ctrl-D leaves."""
_LEAVING = ("exit", "quit", "\\q", ".exit", ".quit")
#: The name of a column at the beginning of its declaration.
_DECLARED = re.compile(r"(?:^|,)\s*`?(\w+)`?\s+\w")


class Shell:
    """Reads statements and runs them until the end of input.

    A session that is ``piped`` stops at its first error, and ``code`` is then that of the error.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        tables: ResultOutput,
        progress: CommandProgress,
        packages: FetchedPackages | None,
        *,
        piped: bool = False,
    ) -> None:
        self._pipeline = pipeline
        self._tables = tables
        self._progress = progress
        self._packages = packages
        self._piped = piped
        self._typed = TypedAhead(interactive=not piped)
        self._reported: set[str] = set()
        self.code = Exit.OK

    def loop(self) -> None:
        """Read and run."""
        from muntin.cli.prompt import Completer, is_command, prepare

        save = None if self._piped else prepare(Completer(self.names))
        if not self._piped:
            click.echo("Muntin. Type help for help, exit to leave.")
        try:
            while (text := self._next()) is not None:
                if is_command(text):
                    if not self.command(text.strip().rstrip(";")):
                        return
                else:
                    self.run(text)
                if self._piped and self.code is not Exit.OK:
                    return
                if self._typed.ended:
                    return
        finally:
            if save is not None:
                save()
            self.report_ended()
            self.close()

    def close(self) -> None:
        """Stop what runs in the background, each query after its micro-batch."""
        from muntin.spark.queries.stop import stop_between

        for running in self._pipeline.running:
            with suppress(MuntinError, Exception):  # it is over, whatever it says
                stop_between(running.query, lambda: False, 30)
                running.query.stop()

    def _next(self) -> str | None:
        from muntin.cli.prompt import read

        self.report_ended()
        if self._piped:
            return read(_piped_line, piped=True)
        return read(self._typed.ask)

    def command(self, text: str) -> bool:
        """Do what a command of the shell asks; return whether the session goes on."""
        word, _, rest = text.partition(" ")
        place = rest.strip().strip("'\"")
        if word.lower() in _LEAVING:
            return False
        try:
            match word.lower():
                case ".read" if place:
                    self.run(Path(place).expanduser().read_text())
                case ".read":
                    self._failed(Exit.USAGE, ".read needs a file of SQL: .read traffic.sql")
                case ".output":
                    self._write_to(Path(place).expanduser() if place else None)
                case ".tables":
                    self.run("SHOW STREAMS; SHOW TABLES; SHOW QUERIES")
                case _:
                    click.echo(_HELP)
        except OSError as error:
            self._failed(Exit.USAGE, f"{place}: {error.strerror}")
        return True

    def _write_to(self, place: Path | None) -> None:
        from muntin.cli.output import ChosenOutput

        if isinstance(self._tables, ChosenOutput):
            self._tables.write_to(place)

    def _failed(self, code: Exit, message: str) -> None:
        click.echo(f"Error: {message}", err=True)
        self.code = code

    def report_ended(self) -> None:
        """Print which queries in the background have ended since the last prompt, and why."""
        from muntin.spark.queries.stop import check

        for ended in [query for query in self._pipeline.running if not query.query.isActive]:
            self._pipeline.running.remove(ended)
            try:
                check(ended.query)
                click.echo(f"query {ended.name} has ended", err=True)
            except MuntinError as error:
                self._failed(Exit.FAILED, str(error))

    def run(self, text: str) -> None:
        """Run a text; errors are printed, and the session goes on."""
        from muntin.cli.interrupts import cancelling

        try:
            self._fetch(text)
            with (
                cancelling(self._pipeline.spark.interruptAll, self._tables.say),
                self._progress.during("Running", self._pipeline.batch.look),
            ):
                ran = self._pipeline.run(text)
            if not ran and not self._piped:
                click.echo("ok")
            self._report_malformed()
            self._follow()
        except MuntinError as error:
            self._failed(exit_for(error), str(error))
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            self.code = Exit.INTERRUPTED
        except Exception as error:
            message = spark_message(error)
            if message is None:
                raise
            self._failed(Exit.FAILED, message)

    def _fetch(self, text: str) -> None:
        """Fetch what the sources and sinks of a text need and the session does not have yet."""
        from muntin.cli.spark_session import called
        from muntin.parser.parse import parse

        if self._packages is None:
            return
        statements = parse(text)
        if self._pipeline.safe is not None:
            self._pipeline.safe.check(text, statements)
        for package in self._packages.missing(called(statements)):
            with self._progress.during(f"Fetching {package}"):
                self._packages.fetch(package)

    def _report_malformed(self) -> None:
        """Print which sources have malformed rows, each the first time that it is read."""
        for name, count, _ in self._pipeline.malformed():
            if name not in self._reported:
                click.echo(f"{name}: {count:,} malformed rows are left out", err=True)
                self._reported.add(name)

    def _follow(self) -> None:
        """Show the selected streams until Ctrl-C; queries with a sink go on in the background."""
        from muntin.cli.interrupts import interrupts
        from muntin.session.wait import wait

        shown = [query for query in self._pipeline.running if query.shown]
        if not shown:
            return
        others = [query for query in self._pipeline.running if query not in shown]
        self._pipeline.running = shown
        try:
            with interrupts(self._tables.say) as pressed, self._tables.following():

                def stop() -> bool:
                    return pressed.stop() or self._typed.look()

                wait(self._pipeline, stop, pressed.hurry, self._tables.show)
        finally:
            self._progress.clear()
            self._pipeline.running = others

    def names(self) -> Iterator[str]:
        """Yield the names that can be completed: everything created, and its columns."""
        catalog = self._pipeline.session.catalog
        for declared in catalog.relations.values():
            yield declared.name
            opened = self._pipeline.sources.opened.get(declared.name)
            if opened is not None:
                yield from opened.df.columns
            elif isinstance(declared, CreateStream | CreateTable):
                yield from self._columns(declared)

    def _columns(self, declared: CreateStream | CreateTable) -> list[str]:
        """Return the columns of what is not open yet, as far as they are known."""
        if declared.schema is not None:
            return _DECLARED.findall(declared.schema)
        if declared.source.name in ("csv", "json", "parquet", "file"):
            with suppress(MuntinError):
                call, spark = declared.source, self._pipeline.spark
                return list(self._pipeline.sources.peek(spark, call))
        return []


def _piped_line(prompt: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")
