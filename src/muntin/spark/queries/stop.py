"""Whether streaming queries have failed, and stopping them between micro-batches."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from muntin import errors
from muntin.errors import CheckpointError, MuntinError, QueryFailedError

#: With Spark's type, for rooms that do not import Spark.
__all__ = ["SPARK_ERROR", "StreamingQuery", "check", "drain", "reason", "stop_between"]
#: Spark's own errors.
SPARK_ERROR = PySparkException
#: Seconds between two looks at a query that is to stop.
_LOOK = 0.05
#: The most characters that are shown of a cause.
_SHOWN = 400
#: The last line of a Python traceback; lines of Java name packages of Java or Spark.
_RAISED = re.compile(
    r"(?!org\.|java\.|py4j\.|scala\.)(?:[\w]+\.)*(?P<kind>\w+(?:Error|Exception)): (?P<message>.+)"
)
#: What machines say when something outside the query is the reason, and what it means.
_CAUSES = (
    (r"No space left on device|Disk quota exceeded|There is not enough space", "the disk is full"),
    (r"File too large", "a file has reached the largest size allowed"),
    (r"Read-only file system", "the disk is read-only"),
    (
        r"Permission denied|AccessDenied|AccessControlException|EACCES|Operation not permitted",
        "the permission is missing",
    ),
    (
        r"Connection refused|Connection reset|UnknownHostException|No route to host"
        r"|Network is unreachable|Name or service not known|[Tt]imed out|SocketTimeoutException"
        r"|Broken pipe",
        "the network failed",
    ),
)
#: The names of classes before the message of a cause.
_CLASSES = re.compile(
    r"^(Caused by: )?((?:[a-z_]\w*\.)+[A-Z][\w$]*: |(?:\w+Error|\w+Exception): )+"
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
    >>> reason("[X] Task failed\nCaused by: java.io.IOException: No space left on device\n\tat x.Y")
    ('', 'the disk is full: No space left on device')
    """
    raised = [match for line in text.splitlines() if (match := _RAISED.match(line.strip()))]
    if raised and raised[-1]["kind"] in vars(errors):
        return raised[-1]["kind"], raised[-1]["message"]
    cause = _cause(text)
    if cause is not None:
        return raised[-1]["kind"] if raised else "", cause
    if raised:
        return raised[-1]["kind"], raised[-1]["message"]
    condition = _CONDITION.search(text)
    return "", condition[0] if condition else text.strip().splitlines()[0]


def _cause(text: str) -> str | None:
    """Return what outside the query made it fail, if some line of its stacks says so.

    The last line is the innermost cause. Stack frames and the sentences of Spark are left out.
    """
    for line in reversed(text.splitlines()):
        line = line.strip()
        if line.startswith(("at ", "File ", "...")):
            continue
        for pattern, meaning in _CAUSES:
            if re.search(pattern, line):
                return f"{meaning}: {_CLASSES.sub('', line)[:_SHOWN]}"
    return None


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


def seconds_of_last_batch(query: StreamingQuery) -> float | None:
    """Return how long the last micro-batch took; None before any."""
    report = query.lastProgress
    taken = None if report is None else dict(report.durationMs).get("triggerExecution")
    return None if taken is None else taken / 1000


def _last(query: StreamingQuery) -> int:
    """Return the number of the last whole micro-batch; -1 if there is none."""
    report = query.lastProgress
    return -1 if report is None else int(report.batchId)
