"""Files as a source, which ``mt.stream`` takes like a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.columns import problem
from muntin.spark.scan.listing import FileListing


@dataclass(frozen=True, eq=False)
class FileSource:
    """Files that can be read by Spark, as ``df``, or by workers that are given their names.

    :func:`muntin.parquet`, :func:`muntin.csv` and :func:`muntin.json` make it; ``mt.stream`` takes
    it like a DataFrame.

    Args:
        df: The rows, read by Spark.
        form: ``"parquet"``, ``"csv"`` or ``"json"``.
        listing: The files.
        only_spark: Why workers cannot read the rows; None if they may be able to.
        conditions: The conditions that rows of the files must meet, in SQL.
    """

    df: DataFrame
    form: str
    listing: FileListing
    only_spark: str | None = None
    conditions: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.df.columns

    @property
    def schema(self) -> StructType:
        """The columns in Spark's types."""
        return self.df.schema

    @property
    def isStreaming(self) -> bool:  # noqa: N802  (as a DataFrame has it)
        """True if files that come are read as well."""
        return bool(self.df.isStreaming)

    @property
    def spark(self) -> SparkSession:
        """The session that reads the files."""
        return self.df.sparkSession

    def where(self, condition: str | Column) -> FileSource:
        """Return the rows that meet a condition, such as ``"speed > 0 AND lane <> 'closed'"``.

        Workers evaluate it, and skip row groups whose statistics say that no row meets it. A
        PySpark column is evaluated by Spark, which then reads the files.
        """
        if not isinstance(condition, str | Column):
            raise ArgumentError("condition", condition, "it is SQL text or a PySpark column")
        try:
            rows = self.df.where(condition)
            rows.schema.fieldNames()  # Spark Connect analyses only here
        except AnalysisException as error:
            raise ArgumentError("condition", condition, f"Spark says: {problem(error)}") from error
        if isinstance(condition, Column):
            return self.left_to_spark(rows, "the condition is a PySpark column")
        return self.chosen(rows, condition)

    def chosen(self, rows: DataFrame, condition: str) -> FileSource:
        """Return the same files of which only some ``rows``, which meet a condition, are read."""
        return replace(self, df=rows, conditions=(*self.conditions, condition))

    def left_to_spark(self, rows: DataFrame, why: str) -> FileSource:
        """Return rows that Spark makes of those of the files, and why only Spark can."""
        return replace(self, df=rows, only_spark=self.only_spark or why)
