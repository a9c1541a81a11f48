"""``muntin check FILE.sql``: mistakes with their places, without running anything."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from muntin.cli import options
from muntin.cli.errors import Exit, as_json
from muntin.cli.progress import CommandProgress
from muntin.errors import MuntinError


@click.command()
@options.FILE
@options.STREAM
@options.JSON
@options.spark_options
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Find mistakes in a file of SQL, without running it.

    Queries are checked against the schemas of their sources. A source whose columns the file
    declares is not touched; any other source is read for its columns. The exit code is 3 if there
    is a mistake.
    """
    from muntin.cli.spark_session import called, session, streams
    from muntin.parser.errors import SqlError
    from muntin.parser.parse import parse

    text = arguments["file"].read_text()
    try:
        statements = parse(text)  # which needs no Spark
    except SqlError as unreadable:
        _report(unreadable, json_lines=arguments["as_json"])
        ctx.exit(Exit.TEXT)
    streaming = streams(statements) if arguments["stream"] is None else arguments["stream"]
    progress = CommandProgress(as_json=arguments["as_json"])
    with (
        session(arguments["spark_options"], progress, called(statements)) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
    ):
        from muntin.session.check import Check

        check = Check(spark, Path(folder), streaming)
        count = check.check(text, statements)
    for mistake in check.mistakes:
        _report(mistake, json_lines=arguments["as_json"])
    if check.mistakes:
        ctx.exit(Exit.TEXT)
    if not arguments["as_json"]:
        click.echo(f"{arguments['file']}: {count} statements, nothing wrong")


def _report(mistake: MuntinError, *, json_lines: bool) -> None:
    """Print a mistake; as JSON it is a result of the check, so it goes to standard output."""
    if json_lines:
        click.echo(as_json(mistake))
    else:
        click.echo(f"{mistake}\n", err=True)
