"""What ``muntin run`` says when it is done: counts, malformed rows, and how to go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from muntin.cli.progress import line_of
from muntin.cli.resume_command import resuming

if TYPE_CHECKING:
    from muntin.session.batch_progress import BatchProgress
    from muntin.session.pipeline import Pipeline
    from muntin.session.wait import PipelineEnd
    from muntin.spark.connectors.sources.row_counts import SourceCounts

#: So many malformed rows are shown of a source.
_EXAMPLES = 3


class RunSummary:
    """Says how it went, on standard error; in JSON where that was asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._json = bool(given["as_json"])

    def done(self, queries: int, standing: BatchProgress) -> None:
        """A batch is done: what was read and written."""
        if self._json:
            sources = {name: _plain(tally) for name, tally in standing.sources.items()}
            told = {"sources": sources, "written": dict(standing.written)}
            _say({"done": {"queries": queries, **standing.as_dict(), **told}})
            return
        for name, tally in standing.sources.items():
            rate = tally.rows / max(1e-3, standing.seconds)
            click.echo(f"{name}: {line_of({**_plain(tally), 'rate': rate})}", err=True)
        for name, count in standing.written.items():
            click.echo(f"{name}: results {count:,}", err=True)

    def cancelled(self, *, streaming: bool) -> None:
        """Somebody stopped a batch, or a stream that had not begun."""
        if self._json:
            _say({"done": {"stopped": True}})
        elif streaming:
            click.echo("Stopped before the streams had begun.", err=True)
        else:
            click.echo("Stopped. A batch is not resumed: the next run begins anew.", err=True)

    def end(self, ended: PipelineEnd, pipeline: Pipeline) -> None:
        """Streams have ended."""
        if self._json:
            counts = {name: standing.as_dict() for name, standing in ended.standings.items()}
            told = {"stopped": ended.stopped, "last_batch": dict(ended.last), "counts": counts}
            _say({"done": told})
            return
        for name, standing in ended.standings.items():
            click.echo(f"{name}: {line_of(standing.as_dict())}", err=True)
        malformed = sum(standing.malformed for standing in ended.standings.values())
        if malformed:
            click.echo(f"{malformed:,} malformed rows; {self._kept(pipeline)}", err=True)
        if ended.stopped:
            click.echo(self._resume(ended), err=True)

    def malformed(self, pipeline: Pipeline) -> None:
        """How many rows of a batch were malformed, and what some of them are."""
        for name, count, rows in pipeline.malformed():
            examples = [row.asDict() for row in rows.limit(_EXAMPLES).collect()]
            if self._json:
                _say({"malformed": {"source": name, "rows": count, "examples": examples}})
                continue
            click.echo(f"{name}: {count:,} malformed rows; {self._kept(pipeline)}", err=True)
            for one in examples:
                click.echo(f"  {one['reason']}: {one['raw']}", err=True)

    def _kept(self, pipeline: Pipeline) -> str:
        kept = pipeline.dead_letter
        return f"they are in {kept}" if kept else "--dead-letter FOLDER keeps them"

    def _resume(self, ended: PipelineEnd) -> str:
        """How to go on with a stream that was stopped."""
        after = ", ".join(f"{name} after micro-batch {n}" for name, n in ended.last.items())
        if self._given["checkpoint"] is None:
            return f"Stopped {after}. It cannot be resumed, because there was no --checkpoint."
        return f"Stopped {after}. Resume with:\n  {resuming(self._given)}"


def _plain(tally: SourceCounts) -> dict[str, object]:
    return {**vars(tally), "late": 0}


def _say(what: dict[str, object]) -> None:
    click.echo(json.dumps(what), err=True)
