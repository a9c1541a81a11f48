"""What a source is asked for, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.columns import problem
from muntin.spark.connectors.signature import BoundCall
from muntin.spark.connectors.sources.spool_cleanup import SpoolCleanup


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """Rows, and what could not be read as rows.

    ``malformed`` has the columns ``raw`` (the text as it came), ``reason`` and ``origin`` (the
    file, or topic, partition and offset); it is None where nothing can be malformed. ``over`` says
    whether nothing more will ever come, of sources that can know it. ``read`` is what both halves
    were told apart from. ``sweep`` removes what has been read of what came only once.
    """

    df: DataFrame
    malformed: DataFrame | None = None
    over: Callable[[], bool] | None = None
    read: DataFrame | None = None
    sweep: SpoolCleanup | None = None


@dataclass(frozen=True, eq=False)
class SourceRequest:
    """What a statement asks of a source; ``folder`` is where it may keep what it receives."""

    spark: SparkSession
    bound: BoundCall
    schema: str | None
    streaming: bool
    folder: Path | None = None

    def columns(self, why: str) -> StructType:
        """The schema, which has to be there, because of ``why``."""
        if self.schema is None:
            raise ArgumentError(
                "schema",
                None,
                f"{self.bound.name} needs one, since {why}: (ts TIMESTAMP, k STRING)",
            )
        return self.given_columns(self.schema)

    def given_columns(self, schema: str) -> StructType:
        """The columns that text such as ``ts TIMESTAMP, v DOUBLE`` says."""
        try:
            return self.spark.createDataFrame([], schema).schema
        except PySparkException as error:
            raise ArgumentError("schema", schema, f"Spark says: {problem(error)}") from error

    def batch_only(self) -> None:
        """Refuse to be a stream."""
        if self.streaming:
            raise ArgumentError(
                "source",
                self.bound.name,
                "it is stored data, not a stream; declare it with CREATE TABLE",
            )
