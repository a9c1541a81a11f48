"""Waiting for a pipeline: until its inputs are over, or until somebody stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from muntin.session.pipeline import Pipeline
from muntin.spark.queries.stop import StreamingQuery, check, drain, stop_between
from muntin.spark.queries.watch import QueryProgress

#: Seconds between two looks at running queries.
LOOK = 0.25
#: Seconds between two removals of lines that have been read.
SWEEP = 5.0
Show = Callable[[Mapping[str, QueryProgress]], None]


@dataclass(frozen=True)
class PipelineEnd:
    """How a pipeline ended: by itself, or after these micro-batches because it was stopped."""

    stopped: bool
    last: Mapping[str, int]
    standings: Mapping[str, QueryProgress]


def wait(
    pipeline: Pipeline, asked: Callable[[], bool], hurry: Callable[[], bool], show: Show
) -> PipelineEnd:
    """Watch the queries until they end; ``asked`` stops them after a whole micro-batch.

    ``hurry`` does not wait for that. A query that fails takes the others with it, and is raised.
    """
    swept = time.monotonic()
    try:
        while is_active(pipeline) and not asked():
            show(_standings(pipeline))
            if pipeline.whole and time.monotonic() - swept > SWEEP:
                pipeline.sources.sweep(_queries(pipeline))
                swept = time.monotonic()
            for query in _queries(pipeline):
                check(query)
            if pipeline.sources.over() and not pipeline.pauses:
                _finish(pipeline)
                break
            time.sleep(LOOK)
        # One that has ended by itself may have failed.
        for query in _queries(pipeline):
            check(query)
        last = {one.name: stop_between(one.query, hurry) for one in pipeline.running}
    finally:
        for query in _queries(pipeline):
            query.stop()
        pipeline.sources.forget_end()
    standings = _standings(pipeline)
    show(standings)
    return PipelineEnd(asked(), last, standings)


def _finish(pipeline: Pipeline) -> None:
    """Work on what is there, tell the streams that they are over, work on that."""
    for query in _queries(pipeline):
        drain(query)
    pipeline.sources.end()
    for query in _queries(pipeline):
        drain(query)


def is_active(pipeline: Pipeline) -> bool:
    """Whether some query of a pipeline still runs."""
    return any(one.query.isActive for one in pipeline.running)


def _queries(pipeline: Pipeline) -> Sequence[StreamingQuery]:
    letters = [query for query in pipeline.letters.values() if query is not None]
    return [*(one.query for one in pipeline.running), *letters]


def _standings(pipeline: Pipeline) -> dict[str, QueryProgress]:
    return {one.name: one.watch.look() for one in pipeline.running}
