"""What a sink is, and how a statement calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from muntin.spark.connectors.signature import BoundCall

#: A sink is called with rows and the number of their micro-batch.
Sink = Callable[[DataFrame, int], None]


@dataclass(frozen=True, eq=False)
class SinkRequest:
    """How a statement calls a sink; ``query`` is the name under which it writes.

    ``run`` stays the same when a stream is resumed and changes when it begins anew: micro-batches
    are numbered within it. Every run of a ``batch`` has another.
    """

    spark: SparkSession
    bound: BoundCall
    query: str
    run: str
    batch: bool = False

    @property
    def writer(self) -> str:
        """The writer, for sinks that remember whose micro-batches they have."""
        return f"{self.query}/{self.run}"
