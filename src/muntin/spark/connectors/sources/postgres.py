"""Tables of PostgreSQL, through JDBC."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from muntin.errors import ArgumentError
from muntin.spark.connectors.jdbc import PLACE, Database, first_line
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest

POSTGRES = Signature(
    "postgres",
    (Parameter("table", str, required=True), *PLACE),
    ("fetchsize", "partitionColumn", "lowerBound", "upperBound", "numPartitions"),
)


def open_postgres(reading: SourceRequest) -> OpenedSource:
    """A stored table as it is when it is read."""
    reading.batch_only()
    database, table = Database.of(reading.bound), reading.bound.text("table")
    reader = reading.spark.read.format("jdbc").options(**database.options(table))
    try:
        return OpenedSource(reader.options(**reading.bound.spark_options()).load())
    except (PySparkException, Py4JJavaError) as error:
        expected = f"{database.url} says: {first_line(error)}"
        raise ArgumentError("table", table, expected) from error
