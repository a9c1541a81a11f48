"""Whether streaming queries have failed, and stopping them between micro-batches."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import CheckpointError, MuntinError, QueryFailedError

#: With Spark's type, for rooms that do not import Spark.
__all__ = ["StreamingQuery", "check", "drain", "reason", "stop_between"]
#: Seconds between two looks at a query that is to stop.
_LOOK = 0.05
#: The last line of a Python traceback; lines of Java name packages of Java or Spark.
_RAISED = re.compile(
    r"(?!org\.|java\.|py4j\.|scala\.)(?:[\w]+\.)*(?P<kind>\w+(?:Error|Exception)): (?P<message>.+)"
)
#: The first line of an error of Spark.
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .+")


def check(query: StreamingQuery) -> None:
    """Raise the error of a query, if it failed."""
    error = query.exception()
    if error is not None:
        raise _failed(query, error) from error


def drain(query: StreamingQuery) -> None:
    """Wait until a query has worked on everything that is there."""
    try:
        if query.isActive:
            query.processAllAvailable()
    except PySparkException as error:
        raise _failed(query, error) from error
    check(query)


def _failed(query: StreamingQuery, error: Exception) -> MuntinError:
    """Return the error of a query; a checkpoint of another query has an error of its own."""
    kind, message = reason(str(error))
    text = f"query {query.name} failed: {message}"
    return CheckpointError(text) if kind == "CheckpointError" else QueryFailedError(text)


def reason(text: str) -> tuple[str, str]:
    r"""Return the kind of an error and its message, from a stack of Java and Python.

    >>> reason("[X] An error occurred\n  File a.py\nOSError: the disk is full\n\tat java.lang.X")
    ('OSError', 'the disk is full')
    """
    raised = [match for line in text.splitlines() if (match := _RAISED.match(line.strip()))]
    if raised:
        return raised[-1]["kind"], raised[-1]["message"]
    condition = _CONDITION.search(text)
    return "", condition[0] if condition else text.strip().splitlines()[0]


def stop_between(query: StreamingQuery, hurry: Callable[[], bool], seconds: float = 600) -> int:
    """Stop a query after the micro-batch that is running; return the number of the last whole one.

    Spark would stop in the middle of it. That loses nothing, but the work must be done again.
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
    """Return the number of the last whole micro-batch; -1 if there is none."""
    report = query.lastProgress
    return -1 if report is None else int(report.batchId)
