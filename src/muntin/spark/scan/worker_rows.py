"""Rows that workers may evaluate themselves, on Arrow, as Spark would."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.columns import problem


@dataclass(frozen=True, eq=False)
class WorkerRows:
    """Rows that workers may evaluate themselves, on Arrow; ``mt.stream`` takes them.

    Args:
        df: The rows as Spark has them.
        only_spark: Why workers cannot evaluate the rows; None if they may be able to.
        conditions: The conditions that rows must meet, in SQL.
    """

    df: DataFrame
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
        """True if rows go on coming."""
        return bool(self.df.isStreaming)

    @property
    def spark(self) -> SparkSession:
        """The session of the rows."""
        return self.df.sparkSession

    def where(self, condition: str | Column) -> Self:
        """Return the rows that meet a condition, such as ``"speed > 0 AND lane <> 'closed'"``.

        Workers evaluate it, and skip parts of files whose statistics say that no row meets it. A
        PySpark column is evaluated by Spark, which then reads the rows.
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

    def chosen(self, rows: DataFrame, condition: str) -> Self:
        """Return those of the rows that meet one more condition."""
        return replace(self, df=rows, conditions=(*self.conditions, condition))

    def left_to_spark(self, rows: DataFrame, why: str) -> Self:
        """Return rows that Spark makes of these, and why only Spark can."""
        return replace(self, df=rows, only_spark=self.only_spark or why)


@dataclass(frozen=True, eq=False)
class CarriedRows(WorkerRows):
    """The rows that an input of an engine's stream carries; ``number`` is that of the input."""

    number: int = 0
