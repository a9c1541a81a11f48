"""Streaming queries from outside: whether they failed, and stopping them between micro-batches."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

from muntin.semantics.errors import MuntinError

#: For rooms that name Spark's type and do not import Spark.
__all__ = ["QueryFailedError", "StreamingQuery", "check", "drain", "stop_between"]
_LOOK = 0.05


class QueryFailedError(MuntinError, RuntimeError):
    """A streaming query ended with an error."""


def check(query: StreamingQuery) -> None:
    """Raise why a query failed, if it did."""
    error = query.exception()
    if error is not None:
        raise QueryFailedError(f"query {query.name} failed: {_told(str(error))}") from error


def drain(query: StreamingQuery) -> None:
    """Wait until everything that is there has been worked on."""
    if query.isActive:
        query.processAllAvailable()
    check(query)


def stop_between(query: StreamingQuery, hurry: Callable[[], bool], seconds: float = 600) -> int:
    """Stop a query after the micro-batch that is running; the number of the last whole one.

    Spark would stop in the middle of it. That loses nothing, but the work has to be done again.
    """
    until = time.monotonic() + seconds
    working = _last(query)
    while (
        query.isActive
        and query.status["isTriggerActive"]
        and _last(query) == working
        and not hurry()
        and time.monotonic() < until
    ):
        time.sleep(_LOOK)
    last = _last(query)
    query.stop()
    return last


def _last(query: StreamingQuery) -> int:
    """The number of the last micro-batch that is whole; -1 if there is none."""
    report = query.lastProgress
    return -1 if report is None else int(report.batchId)


def _told(text: str) -> str:
    """What a user can read of a stack of Java and Python."""
    wanted = [line.strip() for line in text.splitlines() if "muntin.semantics.errors." in line]
    if wanted:
        return wanted[-1].partition("muntin.semantics.errors.")[2]
    return text.strip().splitlines()[0]
