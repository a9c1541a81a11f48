"""``muntin run FILE.sql``: the file as a pipeline, on a batch or as a stream."""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.exits import Exit
from muntin.cli.progress import Progress, line_of
from muntin.cli.showing import FORMATS, chosen, default_sink

if TYPE_CHECKING:
    from muntin.engine.pipeline import Pipeline
    from muntin.engine.waiting import Ended
    from muntin.spark.watching import Standing

#: So many malformed rows are shown of a source.
_EXAMPLES = 3


@click.command()
@options.FILE
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
@click.option("--once", is_flag=True, help="Work on what is there, then pause the stream.")
@click.option(
    "--dead-letter",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for malformed rows; a stream with a checkpoint keeps them there.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of results without INTO.")
@click.option("--rows", default=20, show_default=True, help="How many rows a table shows.")
@options.JSON
@options.spark_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Run a file of SQL.

    Results of a query without INTO are shown: as a table on a terminal, else as JSON lines. Ctrl-C
    stops a stream after the current micro-batch and says how to resume it.
    """
    from muntin.engine.needs import called, streams
    from muntin.sql.parse import parse

    file: Path = given["file"]
    text = file.read_text()
    statements = parse(text)
    streaming = streams(statements) if given["stream"] is None else given["stream"]
    progress = Progress(as_json=given["as_json"])
    from muntin.cli.starting import session

    with ExitStack() as stack:
        spark = stack.enter_context(session(given["spark_options"], progress, called(statements)))
        folder = given["checkpoint"]
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muntin-")))
        from muntin.engine.pipeline import Pipeline

        form = chosen(given["form"], as_json=given["as_json"])
        sink = default_sink(spark, form, given["rows"], progress)
        letters = given["dead_letter"]
        if letters is None and streaming and given["checkpoint"] is not None:
            letters = folder / "malformed"
        pipeline = Pipeline(
            spark,
            folder,
            streaming,
            sink,
            lambda rows: sink("answer")(rows, 0),
            trigger=_trigger(given),
            dead_letter=letters,
        )
        _run(ctx, pipeline, text, given, progress)


def _trigger(given: Mapping[str, Any]) -> dict[str, object] | None:
    if given["once"]:
        return {"availableNow": True}
    return None if given["trigger"] is None else {"processingTime": given["trigger"]}


def _run(
    ctx: click.Context, pipeline: Pipeline, text: str, given: Mapping[str, Any], progress: Progress
) -> None:
    began = time.monotonic()
    with progress.during("Running"):
        ran = pipeline.run(text)
    if not ran:
        raise click.UsageError(
            f"{given['file']} has nothing to run: it needs a SELECT, or a CREATE QUERY ... INTO"
        )
    if pipeline.running:
        _follow(ctx, pipeline, given, progress)
        return
    _tell_malformed(pipeline, given)
    if given["as_json"]:
        seconds = round(time.monotonic() - began, 3)
        click.echo(json.dumps({"done": {"queries": ran, "seconds": seconds}}), err=True)


def _follow(
    ctx: click.Context, pipeline: Pipeline, given: Mapping[str, Any], progress: Progress
) -> None:
    """Watch streams until they are over or somebody presses Ctrl-C."""
    from muntin.cli.stopping import interrupts
    from muntin.engine.waiting import wait

    def show(standings: Mapping[str, Standing]) -> None:
        for name, standing in standings.items():
            several = {"query": name} if len(standings) > 1 else {}
            progress.show({**several, **standing.as_dict()})

    with interrupts() as pressed:
        ended = wait(pipeline, pressed.asked, pressed.hurry, show)
    progress.clear()
    _tell_end(ended, given)
    if ended.stopped:
        ctx.exit(Exit.INTERRUPTED)


def _tell_end(ended: Ended, given: Mapping[str, Any]) -> None:
    if given["as_json"]:
        counts = {name: standing.as_dict() for name, standing in ended.standings.items()}
        told = {"stopped": ended.stopped, "last_batch": dict(ended.last), "counts": counts}
        click.echo(json.dumps({"done": told}), err=True)
        return
    for name, standing in ended.standings.items():
        click.echo(f"{name}: {line_of(standing.as_dict())}", err=True)
    if ended.stopped:
        click.echo(_resume(ended, given), err=True)


def _resume(ended: Ended, given: Mapping[str, Any]) -> str:
    """How to go on with a stream that was stopped."""
    after = ", ".join(f"{name} after micro-batch {n}" for name, n in ended.last.items())
    if given["checkpoint"] is None:
        return f"Stopped {after}. It cannot be resumed, because there was no --checkpoint."
    words = ["muntin", "run", str(given["file"]), "--stream", "--checkpoint"]
    line = shlex.join([*words, str(given["checkpoint"])])
    return f"Stopped {after}. Resume with:\n  {line}"


def _tell_malformed(pipeline: Pipeline, given: Mapping[str, Any]) -> None:
    """How many rows of a batch were malformed, and what some of them are."""
    for name, rows in pipeline.malformed():
        count = rows.count()
        if not count:
            continue
        examples = [row.asDict() for row in rows.limit(_EXAMPLES).collect()]
        if given["as_json"]:
            told = {"source": name, "rows": count, "examples": examples}
            click.echo(json.dumps({"malformed": told}), err=True)
            continue
        kept = given["dead_letter"]
        where = f"they are in {kept}" if kept else "--dead-letter FOLDER keeps them"
        click.echo(f"{name}: {count:,} malformed rows; {where}", err=True)
        for one in examples:
            click.echo(f"  {one['reason']}: {one['raw']}", err=True)
