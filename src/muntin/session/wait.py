"""Waiting for a pipeline: until its inputs have ended, or until somebody stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from muntin.session.pipeline import Pipeline
from muntin.spark.queries.progress import RunProgress
from muntin.spark.queries.stop import StreamingQuery, check, drain, stop_between

#: Seconds between two looks at running queries.
LOOK = 0.25
#: Seconds between two removals of lines that have been read.
SWEEP = 5.0
Show = Callable[[Mapping[str, RunProgress]], None]


@dataclass(frozen=True)
class PipelineEnd:
    """How a pipeline ended: whether it was stopped, and for each query its last whole micro-batch.

    ``progress`` is how each query was going at the end.
    """

    stopped: bool
    last_batches: Mapping[str, int]
    progress: Mapping[str, RunProgress]
    paused: bool = False


def wait(
    pipeline: Pipeline, stop: Callable[[], bool], hurry: Callable[[], bool], show: Show
) -> PipelineEnd:
    """Watch the queries until they end; ``stop`` stops each after a whole micro-batch.

    ``hurry`` does not wait for that. If a query fails, the others are stopped and its error is
    raised.
    """
    swept, paused = time.monotonic(), False
    try:
        while is_active(pipeline) and not stop():
            show(_progress(pipeline))
            if pipeline.whole and time.monotonic() - swept > SWEEP:
                pipeline.sources.sweep(_queries(pipeline))
                swept = time.monotonic()
            for query in _queries(pipeline):
                check(query)
            if pipeline.sources.over() and not pipeline.pauses:
                paused = pipeline.sources.go_on and not pipeline.end
                _drain(pipeline)
                if not paused:
                    _finish(pipeline)
                break
            time.sleep(LOOK)
        # One that has ended by itself may have failed.
        for query in _queries(pipeline):
            check(query)
        last = {running.name: stop_between(running.query, hurry) for running in pipeline.running}
    finally:
        for query in _queries(pipeline):
            query.stop()
        pipeline.sources.forget_end()
    progress = _progress(pipeline)
    show(progress)
    return PipelineEnd(stop(), last, progress, paused)


def _drain(pipeline: Pipeline) -> None:
    """Work on what is there."""
    for query in _queries(pipeline):
        drain(query)


def _finish(pipeline: Pipeline) -> None:
    """Report to the streams that they are over, and work on that."""
    pipeline.sources.end()
    _drain(pipeline)
    pipeline.sources.note_end()


def is_active(pipeline: Pipeline) -> bool:
    """Return whether some query of a pipeline still runs."""
    return any(running.query.isActive for running in pipeline.running)


def _queries(pipeline: Pipeline) -> Sequence[StreamingQuery]:
    malformed = [query for query in pipeline.malformed_queries.values() if query is not None]
    return [*(running.query for running in pipeline.running), *malformed]


def _progress(pipeline: Pipeline) -> dict[str, RunProgress]:
    return {running.name: running.watch.look() for running in pipeline.running}
