"""What a source gets, a request, and what it returns, rows and malformed lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.columns import problem
from muntin.spark.connectors.signature import BoundCall
from muntin.spark.connectors.sources.spool import SpoolCleanup
from muntin.spark.scan.file_source import FileSource


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """The rows of a source, and its lines that are no rows.

    Args:
        df: The rows.
        malformed: The other lines, with the columns ``raw`` (the text as it came), ``reason`` and
            ``origin`` (the file, or topic, partition and offset); None if no line can be malformed.
        over: Returns whether nothing more will ever come; None if the source cannot know.
        read: Rows and malformed lines together.
        sweep: Removes input that came only once and has been read.
        files: The files of the source, if it is made of files.
        goes_on: Whether another pipe may go on where this one ended.
        found: Options that were not given, and were found in the first file.
    """

    df: DataFrame
    malformed: DataFrame | None = None
    over: Callable[[], bool] | None = None
    read: DataFrame | None = None
    sweep: SpoolCleanup | None = None
    files: FileSource | None = None
    goes_on: bool = False
    found: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SourceRequest:
    """How a statement calls a source.

    ``folder`` is where the source may keep what it receives, and ``kept`` the file in which it
    keeps how its files are written, for the next run.
    """

    spark: SparkSession
    bound: BoundCall
    schema: str | None
    streaming: bool
    folder: Path | None = None
    kept: Path | None = None

    def columns(self, why: str) -> StructType:
        """Return the columns; raises if there is no schema, with ``why`` one is needed."""
        if self.schema is None:
            raise ArgumentError(
                "schema",
                None,
                f"{self.bound.name} needs one, since {why}: (ts TIMESTAMP, k STRING)",
            )
        return self.given_columns(self.schema)

    def given_columns(self, schema: str) -> StructType:
        """Return the columns of a text such as ``ts TIMESTAMP, v DOUBLE``."""
        try:
            return self.spark.createDataFrame([], schema).schema
        except PySparkException as error:
            raise ArgumentError("schema", schema, f"Spark says: {problem(error)}") from error

    def batch_only(self) -> None:
        """Raise if this is to be a stream."""
        if self.streaming:
            raise ArgumentError(
                "source",
                self.bound.name,
                "it is stored data, not a stream; declare it with CREATE TABLE",
            )
