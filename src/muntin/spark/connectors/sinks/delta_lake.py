"""Rows to a table of Delta Lake, which remembers the micro-batches of a query by itself."""

from __future__ import annotations

from pyspark.sql import DataFrame

from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest
from muntin.spark.connectors.sources.delta_lake import check_delta

DELTA = Signature("delta", (Parameter("path", str, required=True),), ("mergeSchema",))


def to_delta(request: SinkRequest) -> Sink:
    """Return a sink that appends rows, once for each micro-batch."""
    check_delta(request.spark)

    def put(rows: DataFrame, number: int) -> None:
        writer = rows.write.format("delta").mode("append")
        writer = writer.options(**request.bound.spark_options())
        writer = writer.option("txnAppId", request.writer).option("txnVersion", number)
        writer.save(request.bound.text("path"))

    return put
