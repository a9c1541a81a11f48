"""A source without rows, for looking at queries that are not run."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.columns import problem


def empty(
    spark: SparkSession, schema: str | StructType, streaming: bool, folder: Path
) -> DataFrame:
    """No rows of some columns, as a stream or not; ``folder`` is one that nobody writes to."""
    try:
        nothing = spark.createDataFrame([], schema)
    except PySparkException as error:
        raise ArgumentError("schema", schema, f"Spark says: {problem(error)}") from error
    if not streaming:
        return nothing
    (folder / "empty").mkdir(parents=True, exist_ok=True)
    return spark.readStream.schema(nothing.schema).parquet(str(folder / "empty"))
