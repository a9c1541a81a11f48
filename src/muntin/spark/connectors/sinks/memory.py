"""Rows kept in this process, as a temporary view of all rows so far."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest

MEMORY = Signature("memory", (Parameter("view", str, required=True),))


def to_memory(request: SinkRequest) -> Sink:
    """Return a sink that adds rows to a view; a repeated micro-batch replaces itself."""
    batches: dict[int, pa.Table] = {}

    def put(rows: DataFrame, number: int) -> None:
        batches[number] = rows.toArrow()  # Rows of Python would have times of the machine's zone
        kept = rows.sparkSession.createDataFrame(pa.concat_tables(batches.values()), rows.schema)
        kept.createOrReplaceTempView(request.bound.text("view"))

    return put
