"""What a sink is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from muntin.spark.connectors.signature import BoundCall

#: A sink: rows, and the number of the micro-batch that they are.
Sink = Callable[[DataFrame, int], None]


@dataclass(frozen=True, eq=False)
class SinkRequest:
    """What a statement asks of a sink; ``query`` is the name under which it writes.

    ``run`` is the same whenever a stream is resumed, and another one whenever it begins anew:
    micro-batches are numbered within it. Every run of a ``batch`` is another.
    """

    spark: SparkSession
    bound: BoundCall
    query: str
    run: str
    batch: bool = False

    @property
    def writer(self) -> str:
        """Who writes, for sinks that remember whose micro-batches they have."""
        return f"{self.query}/{self.run}"
