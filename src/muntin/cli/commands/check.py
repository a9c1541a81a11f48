"""``muntin check FILE.sql``: mistakes with their places, without running anything."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from muntin.cli import options
from muntin.cli.exit_codes import Exit
from muntin.cli.mistakes import as_json
from muntin.cli.progress import CommandProgress
from muntin.errors import MuntinError


@click.command()
@options.FILE
@options.STREAM
@options.JSON
@options.spark_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Find mistakes in a file of SQL, without running it.

    Queries are checked against the schemas of their sources. A source whose columns the file
    declares is not touched; one whose columns it does not is asked for them. The exit code is 3 if
    there is a mistake.
    """
    from muntin.cli.spark_session import session
    from muntin.parser.errors import SqlError
    from muntin.parser.parse import parse
    from muntin.session.requirements import called, streams

    text = given["file"].read_text()
    try:
        statements = parse(text)  # a text that cannot be read needs no Spark to say so
    except SqlError as unreadable:
        _tell(unreadable, told_json=given["as_json"])
        ctx.exit(Exit.TEXT)
    streaming = streams(statements) if given["stream"] is None else given["stream"]
    progress = CommandProgress(as_json=given["as_json"])
    with (
        session(given["spark_options"], progress, called(statements)) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
    ):
        from muntin.session.check import Check

        check = Check(spark, Path(folder), streaming)
        count = check.check(text)
    for mistake in check.mistakes:
        _tell(mistake, told_json=given["as_json"])
    if check.mistakes:
        ctx.exit(Exit.TEXT)
    if not given["as_json"]:
        click.echo(f"{given['file']}: {count} statements, nothing wrong")


def _tell(mistake: MuntinError, *, told_json: bool) -> None:
    """Mistakes are what a check is asked for, so machines find them on standard output."""
    if told_json:
        click.echo(as_json(mistake))
    else:
        click.echo(f"{mistake}\n", err=True)
