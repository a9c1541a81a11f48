"""Rows kept in this process, as a temporary view of all rows so far."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row

from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest

MEMORY = Signature("memory", (Parameter("view", str, required=True),))


def to_memory(request: SinkRequest) -> Sink:
    """Return a sink that adds rows to a view; a repeated micro-batch replaces itself."""
    batches: dict[int, list[Row]] = {}

    def put(rows: DataFrame, number: int) -> None:
        batches[number] = rows.collect()
        kept = [row for batch in batches.values() for row in batch]
        spark = rows.sparkSession
        spark.createDataFrame(kept, rows.schema).createOrReplaceTempView(request.bound.text("view"))

    return put
