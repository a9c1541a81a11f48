"""Streaming queries from outside: whether they failed, and stopping them between micro-batches."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import CheckpointError, MuntinError

#: For rooms that name Spark's type and do not import Spark.
__all__ = ["QueryFailedError", "StreamingQuery", "check", "drain", "reason", "stop_between"]
_LOOK = 0.05
#: How Python ends a traceback; Java's lines name packages of Java's and Spark's.
_RAISED = re.compile(
    r"(?!org\.|java\.|py4j\.|scala\.)(?:[\w]+\.)*(?P<kind>\w+(?:Error|Exception)): (?P<told>.+)"
)
#: How Spark begins what it has to say.
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .+")


class QueryFailedError(MuntinError, RuntimeError):
    """A streaming query ended with an error."""


def check(query: StreamingQuery) -> None:
    """Raise why a query failed, if it did."""
    error = query.exception()
    if error is not None:
        raise _failed(query, error) from error


def drain(query: StreamingQuery) -> None:
    """Wait until everything that is there has been worked on."""
    try:
        if query.isActive:
            query.processAllAvailable()
    except PySparkException as error:
        raise _failed(query, error) from error
    check(query)


def _failed(query: StreamingQuery, error: Exception) -> MuntinError:
    """What happened; that a checkpoint belongs to another query is an error of its own."""
    kind, told = reason(str(error))
    said = f"query {query.name} failed: {told}"
    return CheckpointError(said) if kind == "CheckpointError" else QueryFailedError(said)


def reason(text: str) -> tuple[str, str]:
    r"""The kind of error and what it says, of a stack of Java's and Python's.

    >>> reason("[X] An error occurred\n  File a.py\nOSError: the disk is full\n\tat java.lang.X")
    ('OSError', 'the disk is full')
    """
    found = [match for line in text.splitlines() if (match := _RAISED.match(line.strip()))]
    if found:
        return found[-1]["kind"], found[-1]["told"]
    condition = _CONDITION.search(text)
    return "", condition[0] if condition else text.strip().splitlines()[0]


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
