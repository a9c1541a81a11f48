"""``muntin run FILE.sql``: the file as a pipeline, on a batch or as a stream."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.errors import Exit
from muntin.cli.output import FORMATS, ChosenOutput, ResultOutput
from muntin.cli.progress import CommandProgress

if TYPE_CHECKING:
    from muntin.session.pipeline import Pipeline
    from muntin.session.safe.safe_mode import SafeMode


@click.command()
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option("-c", "--command", "sql", metavar="SQL", help="Statements to run, without a file.")
@options.STREAM
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder from which a stream can be resumed.",
)
@click.option(
    "--trigger",
    metavar="INTERVAL",
    help="How often a micro-batch runs, such as '10 seconds'; as soon as possible unless given.",
)
@click.option(
    "--end",
    is_flag=True,
    help="End streams with their pipes; with a checkpoint they pause otherwise.",
)
@click.option("--once", is_flag=True, help="Work on what is there, then pause the stream.")
@click.option(
    "--dead-letter",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for malformed rows; a stream with a checkpoint keeps them there.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of results without INTO.")
@click.option(
    "--rows", default=options.SHOWN_ROWS, show_default=True, help="How many rows a table shows."
)
@options.CONNECT
@options.JSON
@options.safe_options
@options.SECRETS
@options.spark_options
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Run a file of SQL; - is standard input.

    Or run statements without a file: muntin run -c "SELECT * FROM 'readings.csv' LIMIT 5".

    Results of a query without INTO are shown: as a table on a terminal, else as JSON lines. Ctrl-C
    stops a stream after the current micro-batch and prints how to resume it.
    """
    address, text = arguments.pop("connect"), _text(arguments)
    if address is None:
        run_text(ctx, text, arguments)
        return
    from muntin.cli.connected import run_there

    run_there(address, text, arguments)


def _text(arguments: Mapping[str, Any]) -> str:
    """Return the statements: those of -c, of the file, or of standard input."""
    file, sql = arguments["file"], arguments["sql"]
    if (file is None) == (sql is None):
        raise click.UsageError(
            "name a file of SQL, or give statements with -c, as in\n"
            "muntin run -c \"SELECT * FROM 'readings.csv' LIMIT 5\""
        )
    if sql is not None:
        return str(sql)
    return sys.stdin.read() if file == "-" else Path(file).read_text()


def run_text(ctx: click.Context, text: str, arguments: Mapping[str, Any]) -> None:
    """Run a text with the options of ``muntin run``."""
    from muntin.cli.spark_session import called, session, streams, windowed
    from muntin.parser.parse import parse

    statements = parse(text)
    mode = arguments.get("safe_mode")
    if mode is not None:  # before Spark starts, and fetches what the text names
        mode.check(text, statements)
        _check_folders(mode, arguments)
    streaming = streams(statements) if arguments["stream"] is None else arguments["stream"]
    progress = CommandProgress(as_json=arguments["as_json"])
    with ExitStack() as stack:
        spark = stack.enter_context(
            session(
                arguments["spark_options"],
                progress,
                called(statements),
                workers=windowed(statements),
            )
        )
        folder = arguments["checkpoint"]
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muntin-")))
        output = ChosenOutput(
            "json" if arguments["form"] is None and arguments["as_json"] else arguments["form"],
            arguments["rows"],
            progress,
        )
        from muntin.session.pipeline import Pipeline

        pipeline = Pipeline(
            spark,
            folder,
            streaming,
            output.sink,
            output.answer,
            trigger=_trigger(arguments),
            dead_letter=_letters(arguments, streaming),
            whole=True,
            safe=mode,
            setting=output.set,
            end=arguments.get("end", False) or arguments["checkpoint"] is None,
        )
        _run(ctx, pipeline, partial(pipeline.run, text, statements), output, arguments, progress)


def _check_folders(mode: SafeMode, arguments: Mapping[str, Any]) -> None:
    """Raise if a text could change what Muntin keeps."""
    from muntin.session.safe.root_folder import check_apart

    for name in ("checkpoint", "dead_letter"):
        if arguments[name] is not None:
            check_apart(mode.root, arguments[name], f"the folder of --{name.replace('_', '-')}")


def _trigger(arguments: Mapping[str, Any]) -> dict[str, object] | None:
    if arguments["once"]:
        return {"availableNow": True}
    return None if arguments["trigger"] is None else {"processingTime": arguments["trigger"]}


def _letters(arguments: Mapping[str, Any], streaming: bool) -> Path | None:
    """Return the folder for malformed rows."""
    folder, checkpoint = arguments["dead_letter"], arguments["checkpoint"]
    if folder is None and streaming and checkpoint is not None:
        return Path(checkpoint) / "malformed"
    return folder if folder is None else Path(folder)


def _run(
    ctx: click.Context,
    pipeline: Pipeline,
    run: Callable[[], int],
    output: ResultOutput,
    arguments: Mapping[str, Any],
    progress: CommandProgress,
) -> None:
    from muntin.cli.interrupts import cancelling, interrupts
    from muntin.cli.run_summary import RunSummary
    from muntin.session.wait import wait

    summary = RunSummary(arguments)
    try:
        with (
            cancelling(pipeline.spark.interruptAll, output.say) as pressed,
            progress.during("Running", pipeline.batch.look),
        ):
            ran = run()
            batch = pipeline.batch.end()
            if pressed() and pipeline.running:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        for running in pipeline.running:
            running.query.stop()
        summary.cancelled(streaming=pipeline.streaming)
        ctx.exit(Exit.INTERRUPTED)
    if not ran:
        given = arguments.get("file") or "this text"
        raise click.UsageError(
            f"{given} has nothing to run: it needs a SELECT, or a CREATE QUERY ... INTO"
        )
    if not pipeline.running:
        summary.malformed(pipeline)
        summary.done(ran, batch, pipeline)
        return
    with interrupts(output.say) as pressed, output.following():
        ended = wait(pipeline, pressed.stop, pressed.hurry, output.show)
    progress.clear()
    summary.end(ended, pipeline)
    if ended.stopped:
        ctx.exit(Exit.INTERRUPTED)
