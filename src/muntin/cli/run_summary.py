"""What ``muntin run`` prints when it is done: counts, malformed rows, and how to resume."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from muntin.cli.options import MASTER, SHOWN_ROWS, SparkOptions
from muntin.cli.progress import line_of

if TYPE_CHECKING:
    from muntin.session.pipeline import Pipeline
    from muntin.session.wait import PipelineEnd
    from muntin.spark.queries.progress import RunProgress

#: How many malformed rows of a source are shown.
_EXAMPLES = 3
#: The counts of a source in JSON.
_SOURCE = ("rows", "malformed", "refused", "largest", "late")
#: Options of ``muntin run`` that take a value, by the name of their argument.
_VALUES = {"trigger": "--trigger", "dead_letter": "--dead-letter", "form": "--format"}


class RunSummary:
    """Prints how a run went, on standard error; as JSON if the command has ``--json``."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._json = bool(arguments["as_json"])

    def done(self, queries: int, progress: RunProgress, pipeline: Pipeline) -> None:
        """Print what a batch has read and written."""
        sources, written = pipeline.batch.sources(), pipeline.batch.written
        if self._json:
            read = {n: {count: getattr(s, count) for count in _SOURCE} for n, s in sources.items()}
            counts = {**progress.as_dict(), "sources": read, "written": dict(written)}
            _echo_json({"done": {"queries": queries, **counts}})
            return
        for name, source in sources.items():
            rate = source.rows / max(1e-3, progress.seconds)
            click.echo(f"{name}: {line_of(replace(source, rate=rate))}", err=True)
        for name, count in written.items():
            click.echo(f"{name}: results {count:,}", err=True)

    def cancelled(self, *, streaming: bool) -> None:
        """Print that a batch was stopped, or a stream that had not begun."""
        if self._json:
            _echo_json({"done": {"stopped": True}})
        elif streaming:
            click.echo("Stopped before the streams had begun.", err=True)
        else:
            click.echo("Stopped. A batch is not resumed: the next run begins anew.", err=True)

    def end(self, ended: PipelineEnd, pipeline: Pipeline) -> None:
        """Print how streams ended."""
        if self._json:
            counts = {name: query.as_dict() for name, query in ended.progress.items()}
            last = dict(ended.last_batches)
            how = {"stopped": ended.stopped, "paused": ended.paused}
            _echo_json({"done": {**how, "last_batch": last, "counts": counts}})
            return
        for name, query in ended.progress.items():
            click.echo(f"{name}: {line_of(query)}", err=True)
        malformed = sum(query.malformed for query in ended.progress.values())
        if malformed:
            click.echo(f"{malformed:,} malformed rows; {_place(pipeline)}", err=True)
        if ended.stopped:
            click.echo(self._resume(ended), err=True)
        elif ended.paused:
            click.echo("Paused: another pipe goes on from here, --end ends the streams.", err=True)

    def malformed(self, pipeline: Pipeline) -> None:
        """Print how many rows of a batch were malformed, and some of them."""
        for name, count, rows in pipeline.malformed():
            examples = [row.asDict() for row in rows.limit(_EXAMPLES).collect()]
            if self._json:
                _echo_json({"malformed": {"source": name, "rows": count, "examples": examples}})
                continue
            click.echo(f"{name}: {count:,} malformed rows; {_place(pipeline)}", err=True)
            for example in examples:
                click.echo(f"  {example['reason']}: {example['raw']}", err=True)

    def _resume(self, ended: PipelineEnd) -> str:
        """Return how to resume a stream that was stopped."""
        after = ", ".join(f"{name} after micro-batch {n}" for name, n in ended.last_batches.items())
        if self._arguments["checkpoint"] is None:
            return f"Stopped {after}. It cannot be resumed, because there was no --checkpoint."
        return f"Stopped {after}. Resume with:\n  {resume_command(self._arguments)}"


def _place(pipeline: Pipeline) -> str:
    """Return where malformed rows are."""
    folder = pipeline.dead_letter
    return f"they are in {folder}" if folder else "--dead-letter FOLDER keeps them"


def _echo_json(message: dict[str, object]) -> None:
    click.echo(json.dumps(message), err=True)


def resume_command(arguments: Mapping[str, Any]) -> str:
    """Return the line for a shell that resumes a stream: every option it was called with."""
    what = ["-c", arguments["sql"]] if arguments.get("sql") else [str(arguments["file"])]
    words = ["muntin", "run", *what, "--stream"]
    words += ["--checkpoint", str(arguments["checkpoint"])]
    for name, option in _VALUES.items():
        words += [] if arguments[name] is None else [option, str(arguments[name])]
    words += ["--end"] if arguments.get("end") else []
    words += ["--once"] if arguments["once"] else []
    words += ["--rows", str(arguments["rows"])] if arguments["rows"] != SHOWN_ROWS else []
    words += ["--json"] if arguments["as_json"] else []
    mode = arguments.get("safe_mode")
    words += [] if mode is None else ["--safe"]
    words += [] if mode is None or mode.root is None else ["--root", str(mode.root)]
    words += ["--secrets", str(arguments["secrets"])] if arguments.get("secrets") else []
    return shlex.join([*words, *_spark_words(arguments["spark_options"])])


def _spark_words(options: SparkOptions) -> Iterator[str]:
    from muntin.specs.secrets import is_secret

    if options.master != MASTER:
        yield from ("--master", options.master)
    for name, value in options.conf.items():
        yield from ("--conf", f"{name}={'...' if is_secret(name) else value}")
    for package in options.packages:
        yield from ("--package", package)
    if not options.fetches:
        yield "--no-packages"
    if options.log is not None:
        yield from ("--log", str(options.log))
    if options.verbose:
        yield "--verbose"
