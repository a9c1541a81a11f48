"""How an error ends a command: its exit code, its line for people, its JSON for programs."""

from __future__ import annotations

import json
from enum import IntEnum

from muntin.errors import CheckpointError, MuntinError, RequirementError

#: Packages whose errors report what happened in a run; they are not mistakes in Muntin.
_SPARK = ("pyspark", "py4j")


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    TEXT = 3
    MACHINE = 4
    CHECKPOINT = 5
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Exit.OK: "it is done, or a check found nothing",
    Exit.FAILED: "it ran and failed",
    Exit.USAGE: "the command was called with something it does not take",
    Exit.TEXT: "the SQL, or an argument in it, is wrong; nothing ran",
    Exit.MACHINE: "something is missing on this machine or in the session",
    Exit.CHECKPOINT: "the checkpoint belongs to another query",
    Exit.INTERRUPTED: "it was stopped with Ctrl-C, a stream after a whole micro-batch",
}


def exit_for(error: Exception) -> Exit:
    """Return the exit code for an error.

    >>> exit_for(RequirementError("no Java")).name
    'MACHINE'
    """
    if isinstance(error, RequirementError):
        return Exit.MACHINE
    if isinstance(error, CheckpointError):
        return Exit.CHECKPOINT
    if isinstance(error, MuntinError) and isinstance(error, ValueError | LookupError | TypeError):
        return Exit.TEXT
    return Exit.FAILED


def as_json(error: Exception, message: str | None = None) -> str:
    """Return an error as JSON: the message, its kind, and its place in the text if it has one.

    >>> as_json(ValueError("no"))
    '{"error": "no", "kind": "ValueError"}'
    """
    place = getattr(error, "place", None)
    where = {} if place is None else {"line": place.line, "column": place.column}
    text = str(error) if message is None else message
    return json.dumps({"error": text, "kind": type(error).__name__, **where})


def spark_message(error: Exception) -> str | None:
    """Return the message of an error of Spark's without its stacks; None for other errors."""
    if type(error).__module__.partition(".")[0] not in _SPARK:
        return None
    from muntin.spark.queries.stop import reason

    _, message = reason(str(error))
    return f"Spark failed: {message.partition(' SQLSTATE')[0]}"
