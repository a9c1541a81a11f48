"""``muntin engine``: an engine as a process of its own, and what other processes ask of it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.arrow_output import FORMATS, show_table
from muntin.cli.progress import CommandProgress
from muntin.errors import EngineError

if TYPE_CHECKING:
    from muntin.engine.client import EngineClient
    from muntin.engine.engine import Engine
    from muntin.parser.statements import Statement

#: Seconds between two looks at whether the streams of an engine run.
_LOOK = 0.5
#: How many seconds an engine may take to come to its end.
_STOPPING = 120.0
_HOME = click.argument("home", type=click.Path(file_okay=False, path_type=Path))
_FORMAT = click.option(
    "--format", "form", type=click.Choice(FORMATS), help="A table on a terminal unless given."
)
_ROWS = click.option(
    "--rows", default=options.SHOWN_ROWS, show_default=True, help="How many rows a table shows."
)
_TIMEOUT = click.option(
    "--timeout", default=60.0, show_default=True, help="How many seconds the engine may take."
)
_TEXT = click.argument("text", required=False)
_FILE = click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the text.",
)


@click.group()
def command() -> None:
    """Run many continuous queries over streams, one pass for all of them.

    `muntin engine start HOME --sql FILE` runs an engine as a process. The other commands are for
    other terminals of the same user: they find the engine by its home.
    """


@command.command()
@_HOME
@click.option(
    "--sql",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Streams to create and queries to register; those that the home has already stay.",
)
@click.option(
    "--trigger",
    metavar="INTERVAL",
    help="How often a micro-batch runs, such as '10 seconds'; as soon as possible unless given.",
)
@options.JSON
@options.safe_options
@options.SECRETS
@options.spark_options
def start(home: Path, **arguments: Any) -> None:
    """Run an engine until Ctrl-C, or until `muntin engine stop`.

    An engine on a home that exists goes on where it was, with all its streams and queries.
    """
    from muntin.cli.spark_session import called, session
    from muntin.parser.parse import parse

    text = None if arguments["file"] is None else arguments["file"].read_text()
    statements = [*(() if text is None else parse(text)), *created_before(home)]
    mode = arguments["safe_mode"]
    if mode is not None and text is not None:  # before Spark starts
        mode.check(text, parse(text))
    progress = CommandProgress(as_json=arguments["as_json"])
    with session(arguments["spark_options"], progress, called(statements), workers=True) as spark:
        from muntin.engine.engine import Engine
        from muntin.engine.sql import run_statements

        every = arguments["trigger"]
        root = None if mode is None else mode.root
        with Engine(spark, home, safe=mode is not None, root=root) as engine:
            engine.restore_streams()
            if text is not None:
                # Before the start: a query would miss the rows that a stream reads before it.
                run_statements(engine, text, keep=True, safe=mode)
            engine.start(None if every is None else {"processingTime": every})
            _run(engine, progress)


def created_before(home: Path) -> Sequence[Statement]:
    """Return the statements that created the streams of a home."""
    from muntin.engine.registry import Registry
    from muntin.engine.sql import STATEMENT
    from muntin.parser.parse import parse

    if not (home / "registry.db").exists():
        return ()
    registry = Registry(home)
    try:
        texts = [
            details[STATEMENT] for details in registry.streams().values() if STATEMENT in details
        ]
    finally:
        registry.close()
    return [statement for text in texts for statement in parse(str(text))]


def _run(engine: Engine, progress: CommandProgress) -> None:
    """Serve other processes until the engine is to stop; raise if a stream fails."""
    from muntin.cli.interrupts import interrupts

    def say(message: str) -> None:
        progress.clear()
        click.echo(message, err=True)

    asked = threading.Event()
    engine.serve(asked.set)
    say(
        f"The engine in {engine.folder} runs as process {os.getpid()}. "
        f"Ctrl-C, or muntin engine stop {engine.folder}, stops it."
    )
    with interrupts(say) as pressed:
        while not pressed.stop() and not asked.wait(_LOOK):
            engine.check()
    say(f"Stopped. muntin engine start {engine.folder} goes on.")


@command.command()
@_HOME
@_TIMEOUT
@options.JSON
def stop(home: Path, timeout: float, as_json: bool) -> None:
    """Stop an engine between two micro-batches."""
    client = _connected(home, timeout)
    pid = client.pid
    client.stop()
    until = time.monotonic() + _STOPPING
    while _holds(home):
        if time.monotonic() > until:
            raise EngineError(f"the engine in {home}, process {pid}, does not come to its end")
        time.sleep(_LOOK / 5)
    click.echo(f"The engine in {home} has stopped.", err=True)


def _holds(home: Path) -> bool:
    """Return whether a process has the lock of a home."""
    from muntin.engine.home import Home

    try:
        Home(home).close()
    except EngineError:
        return True
    return False


@command.command()
@_HOME
@click.argument("name")
@_TEXT
@_FILE
@click.option("--start", default="now", show_default=True, help="now, history, or a value.")
@click.option("--until", help="A value of the column that progresses, up to which it is answered.")
@click.option("--emit", default="final", show_default=True, help="final, or early.")
@click.option("--every", help="How far the stream progresses between two early reports.")
@click.option("--owner", help="Whose query it is.")
@click.option("--tag", multiple=True, help="A word to find it by; may be given several times.")
@click.option("--description", default="", help="What it is for.")
@_TIMEOUT
@options.JSON
def register(home: Path, name: str, **arguments: Any) -> None:
    """Add a query to a running engine, and wait until it is in force.

    TEXT is a SELECT over a stream of the engine.
    """
    timeout = arguments["timeout"]
    named = ("start", "until", "owner", "description", "emit", "every")
    words = {word: arguments[word] for word in named}
    text = _given_text(arguments["text"], arguments["file"])
    client = _connected(home, timeout)
    handle = client.register(name, text, tags=arguments["tag"], **words)
    click.echo(str(handle.wait(timeout)), err=True)


@command.command("list")
@_HOME
@click.option("--name", help="Only queries with this in their name.")
@click.option("--owner", help="Only queries of this owner.")
@click.option("--tag", help="Only queries with this tag.")
@click.option("--text", help="Only queries with this in their name, description or text.")
@_FORMAT
@_ROWS
@_TIMEOUT
@options.JSON
def list_queries(home: Path, **arguments: Any) -> None:
    """List the queries of a running engine, what they cost, and what they share."""
    client = _connected(home, arguments["timeout"])
    words = {word: arguments[word] for word in ("name", "owner", "tag", "text")}
    wanted = {query.id for query in client.queries(**words)}
    table = client.sql("SHOW QUERIES")
    chosen = [row in wanted for row in table["id"].to_pylist()]
    _show(table.filter(chosen), arguments)


@command.command()
@_HOME
@click.argument("name")
@click.option("--after", type=int, help="All answers of the micro-batches after this one.")
@click.option("--generation", type=int, help="Of another generation; needs --after.")
@_FORMAT
@_ROWS
@_TIMEOUT
@options.JSON
def ask(home: Path, name: str, after: int | None, generation: int | None, **arguments: Any) -> None:
    """Print the answer of a query now, or all answers since a micro-batch.

    NAME can be a SELECT instead: it is answered once, from the kept rows of a stream, and with
    FROM stream AS OF value as it was then.
    """
    engine = _connected(home, arguments["timeout"])
    if after is None and generation is not None:
        raise click.UsageError("--generation needs --after; -1 is before the first micro-batch")
    if _is_select(name):
        if after is not None:
            raise click.UsageError("--after is for a query of the engine, by its name")
        _show(engine.ask(name, arguments["timeout"]), arguments)
        return
    query = engine[name]
    answer = query.invoke() if after is None else query.results(after, generation=generation)
    _show(answer, arguments)


@command.command()
@_HOME
@click.argument("name")
@_TIMEOUT
@options.JSON
def drop(home: Path, name: str, timeout: float, as_json: bool) -> None:
    """Drop a query of a running engine."""
    client = _connected(home, timeout)
    client[name].drop().wait(timeout)
    click.echo(f"dropped query {name}", err=True)


@command.command()
@_HOME
@_TEXT
@_FILE
@_FORMAT
@_ROWS
@_TIMEOUT
@options.JSON
def sql(home: Path, text: str | None, file: Path | None, **arguments: Any) -> None:
    """Run statements of SQL in a running engine, and print the answer of the last one."""
    given = _given_text(text, file)
    _show(_connected(home, arguments["timeout"]).sql(given), arguments)


def _is_select(text: str) -> bool:
    """Return whether a text is a query and not the name of one."""
    words = text.split(None, 1)
    return len(words) > 1 and words[0].upper() in ("SELECT", "WITH")


@command.command()
@_HOME
@_TEXT
@_FILE
@_TIMEOUT
@options.JSON
def explain(home: Path, text: str | None, file: Path | None, **arguments: Any) -> None:
    """Print how a query runs, or what one would share and add before it is there.

    TEXT is the name of a query of the engine, or a SELECT over one of its streams.
    """
    plan = _connected(home, arguments["timeout"]).explain(_given_text(text, file))
    click.echo(json.dumps({"plan": plan}) if arguments["as_json"] else plan)


@command.command()
@_HOME
@click.option("--stream", help="One of the streams; all of them unless given.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for the network of one stream, drawn as SVG.",
)
@_TIMEOUT
def network(home: Path, stream: str | None, output: Path | None, timeout: float) -> None:
    """Print what runs for the streams of an engine, as JSON: boxes, arrows, and their rows."""
    found = _connected(home, timeout).network()
    unknown = stream is not None and stream not in found
    if unknown or (output is not None and stream is None and len(found) != 1):
        raise click.UsageError(f"--stream is one of: {', '.join(found) or 'none'}")
    chosen = found if stream is None else {stream: found[stream]}
    if output is not None:
        (drawn,) = chosen.values()
        output.write_text(drawn.svg)
        click.echo(f"Picture: {output}", err=True)
        return
    for own in chosen.values():
        click.echo(json.dumps(own.json))


@command.command()
@_HOME
@click.argument("name")
@click.option("--at", default="rows", show_default=True, help="rows, cells or answers.")
@click.option("--most", default=20, show_default=True, help="How many rows are copied.")
@click.option("--where", help="A condition on rows that are copied, in SQL.")
@_FORMAT
@_ROWS
@_TIMEOUT
@options.JSON
def tap(home: Path, name: str, at: str, most: int, where: str | None, **arguments: Any) -> None:
    """Copy some rows of a query or a stream on their way, and print them.

    It waits until there are enough rows, or --timeout is over, and prints what there is.
    """
    timeout = arguments["timeout"]
    client = _connected(home, timeout)
    copied = client.tap(name, at=at, rows=most, where=where)
    until = time.monotonic() + timeout
    while copied.open and time.monotonic() < until:
        time.sleep(_LOOK)
    copied.remove()
    _show(copied.rows(), arguments)


def _given_text(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise click.UsageError("give the text, or --file, and not both")
    return text if file is None else file.read_text()  # type: ignore[return-value]


def _connected(home: Path, timeout: float) -> EngineClient:
    from muntin.engine.client import connect

    return connect(home, timeout=timeout)


def _show(table: Any, arguments: dict[str, Any]) -> None:
    form = "json" if arguments["as_json"] else arguments["form"]
    show_table(table, form, arguments["rows"])
