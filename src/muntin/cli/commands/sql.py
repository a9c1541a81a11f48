"""``muntin sql``: statements typed one after the other, results as tables, live on streams."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from muntin.cli import options
from muntin.cli.errors import Exit
from muntin.cli.output import FORMATS, ChosenOutput
from muntin.cli.progress import CommandProgress


@click.command()
@click.option("--stream/--batch", "stream", default=False, help="Follow streams as they grow.")
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file to run first.",
)
@click.option(
    "--rows", default=options.SHOWN_ROWS, show_default=True, help="How many rows a table shows."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Of results; by default a table on a terminal, else JSON lines.",
)
@options.CONNECT
@options.safe_options
@options.SECRETS
@options.spark_options
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Type SQL and see results, live on streams.

    Lines are remembered from one session to the next, and the tab key completes words, names,
    columns and files. Statements that are piped in run up to the first error, and its exit code is
    that of the command.
    """
    if arguments["connect"] is not None:
        from muntin.cli.connected import ConnectedShell

        ConnectedShell(arguments["connect"], arguments["rows"]).start(arguments["file"])
        return
    from muntin.cli.spark_session import session

    progress = CommandProgress()
    with (
        session(arguments["spark_options"], progress, workers=True) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
    ):
        from muntin.cli.shell import Shell
        from muntin.session.pipeline import Pipeline
        from muntin.spark.start.fetch_packages import FetchedPackages

        output = ChosenOutput(arguments["form"], arguments["rows"], progress)
        pipeline = Pipeline(
            spark,
            Path(folder),
            arguments["stream"],
            output.sink,
            output.answer,
            safe=arguments["safe_mode"],
            setting=output.set,
        )
        options = arguments["spark_options"]
        fetched = FetchedPackages(spark, options.packages) if options.fetches else None
        piped = not sys.stdin.isatty()
        shell = Shell(pipeline, output, progress, fetched, piped=piped)
        if arguments["file"] is not None:
            shell.run(arguments["file"].read_text())
        if not piped or shell.code is Exit.OK:
            shell.loop()
    if piped and shell.code is not Exit.OK:
        ctx.exit(shell.code)
