"""Rows to a topic of Kafka, as JSON or CSV. A repeated micro-batch is sent a second time."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from muntin.errors import UnknownColumnError
from muntin.spark.columns import named, problem
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest
from muntin.spark.connectors.sinks.stdout import csv_of, json_of
from muntin.spark.connectors.sources.kafka import missing_connector

KAFKA = Signature(
    "kafka",
    (
        Parameter("topic", str, required=True),
        Parameter("servers", str, required=True),
        Parameter("format", str, "json", choices=("json", "csv")),
        Parameter("key", str),
    ),
    prefixes=("kafka.",),
)


def to_kafka(request: SinkRequest) -> Sink:
    """Return a sink that sends every row as a message; its key is a column, if one is named."""
    bound = request.bound
    key = bound.maybe("key")
    options = {
        **bound.spark_options(),
        "kafka.bootstrap.servers": bound.text("servers"),
        "topic": bound.text("topic"),
    }

    def put(rows: DataFrame, number: int) -> None:
        if key is not None and key not in rows.columns:
            raise UnknownColumnError("key", key, rows.columns)
        value = json_of(rows) if bound.text("format") == "json" else csv_of(rows)
        columns = [value.alias("value")]
        if key is not None:
            columns.append(named(key).cast("string").alias("key"))
        try:
            rows.select(*columns).write.format("kafka").options(**options).save()
        except AnalysisException as error:
            raise missing_connector(problem(error)) from error

    return put
