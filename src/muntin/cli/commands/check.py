"""``muntin check FILE.sql``: mistakes with their places, without running anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.errors import Exit, as_json
from muntin.cli.progress import CommandProgress
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from muntin.parser.statements import Statement


@click.command()
@options.FILE
@click.option(
    "--syntax",
    is_flag=True,
    help="Only read the text, without Spark: nothing is checked against sources or columns.",
)
@click.option(
    "--rates",
    "rates",
    multiple=True,
    metavar="STREAM=RATE",
    help="Whether a stream of the engine in --home fits at so many rows, such as traffic=50000/s.",
)
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The home of an engine that runs, which has measured what rows cost; for --rates.",
)
@options.STREAM
@options.JSON
@options.safe_options
@options.SECRETS
@options.spark_options
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Find mistakes in a file of SQL, without running it.

    Queries are checked against the schemas of their sources. A source whose columns the file
    declares is not touched; any other source is read for its columns. With --syntax the text alone
    is checked, which takes a second and needs no Java. With --rates the costs that an engine has
    measured say whether its streams would fit. The exit code is 3 if there is a mistake, or if a
    stream does not fit.
    """
    from muntin.parser.errors import SqlError
    from muntin.parser.parse import parse

    text = arguments["file"].read_text()
    try:
        statements = parse(text)  # which needs no Spark
    except SqlError as unreadable:
        _report(unreadable, json_lines=arguments["as_json"])
        ctx.exit(Exit.TEXT)
    mode = arguments["safe_mode"]
    mistakes: list[MuntinError] = [] if mode is None else [*mode.refused(text, statements)]
    if not mistakes and not arguments["syntax"]:
        mistakes = _mistakes(text, statements, arguments)
    for mistake in mistakes:
        _report(mistake, json_lines=arguments["as_json"])
    if mistakes:
        ctx.exit(Exit.TEXT)
    fits = _sizes(arguments["rates"], arguments["home"], as_json=arguments["as_json"])
    if not fits:
        ctx.exit(Exit.TEXT)
    if not arguments["as_json"]:
        fine = "the syntax is right" if arguments["syntax"] else "nothing wrong"
        click.echo(f"{arguments['file']}: {len(statements)} statements, {fine}")


def _sizes(given: Sequence[str], home: Path | None, *, as_json: bool) -> bool:
    """Print whether streams fit at some rates; return whether all do."""
    if not given:
        return True
    if home is None:
        reason = "costs are measured by an engine: name its home with --home"
        raise click.UsageError(f"--rates: {reason}")
    from muntin.engine.client import connect

    pairs = [rate.partition("=") for rate in given]
    if any(not equals for _, equals, _ in pairs):
        raise click.BadParameter("it is STREAM=RATE, such as traffic=50000/s", param_hint="--rates")
    found = connect(home).sizing({name: rate for name, _, rate in pairs})
    for sizing in found.values():
        click.echo(json.dumps(sizing.json) if as_json else str(sizing))
    return all(sizing.verdict != "does not fit" for sizing in found.values())


def _mistakes(
    text: str, statements: Sequence[Statement], arguments: Mapping[str, Any]
) -> list[MuntinError]:
    """Return what is wrong with statements, checked against the columns of their sources."""
    from muntin.cli.spark_session import called, session, streams

    streaming = streams(statements) if arguments["stream"] is None else arguments["stream"]
    progress = CommandProgress(as_json=arguments["as_json"])
    with (
        session(arguments["spark_options"], progress, called(statements)) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
    ):
        from muntin.session.check import Check

        check = Check(spark, Path(folder), streaming, arguments["safe_mode"])
        check.check(text, statements)
    return check.mistakes


def _report(mistake: MuntinError, *, json_lines: bool) -> None:
    """Print a mistake; as JSON it is a result of the check, so it goes to standard output."""
    if json_lines:
        click.echo(as_json(mistake))
    else:
        click.echo(f"{mistake}\n", err=True)
