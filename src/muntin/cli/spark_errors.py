"""What Spark says when a run fails, without the stacks that it says it with."""

from __future__ import annotations

#: The packages whose errors are what happened in a run, and no mistake of Muntin's.
_SPARK = ("pyspark", "py4j")


def from_spark(error: Exception) -> str | None:
    """What an error of Spark's says, in a line; None for errors of others."""
    if type(error).__module__.partition(".")[0] not in _SPARK:
        return None
    from muntin.spark.queries.stop import reason

    _, told = reason(str(error))
    return f"Spark failed: {told.partition(' SQLSTATE')[0]}"
