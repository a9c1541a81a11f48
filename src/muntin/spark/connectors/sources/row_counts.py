"""How many rows a source has, good and malformed, in one look at it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, DoubleType, FloatType

from muntin.spark.columns import named
from muntin.spark.connectors.sources.malformed import RAW
from muntin.spark.connectors.sources.protocol import OpenedSource


@dataclass(frozen=True)
class SourceCounts:
    """The rows of a source, those of them without a value of ``on``, and what was no row.

    ``largest`` is the largest value of ``on``.
    """

    rows: int
    malformed: int
    refused: int = 0
    largest: str | None = None


def tally(opened: OpenedSource, on: str | None) -> SourceCounts:
    """Count; a source that is no stream has no ``on``."""
    read = opened.df if opened.read is None else opened.read
    good = F.lit(True) if opened.read is None else F.col(RAW).isNull()
    counts = [F.count_if(good).alias("rows"), F.count_if(~good).alias("malformed")]
    if on is not None:
        missing = _missing(named(on), opened.df.select(named(on)).schema[0].dataType)
        counts.append(F.count_if(good & missing).alias("refused"))
        # As text, because Python would read a moment in its own time zone, not the session's.
        largest = F.max(F.when(good & ~missing, named(on))).cast("string")
        counts.append(largest.alias("largest"))
    return SourceCounts(**read.agg(*counts).collect()[0].asDict())


def _missing(column: Column, kind: DataType) -> Column:
    """Whether a row is refused because it lies nowhere."""
    if isinstance(kind, DoubleType | FloatType):
        return column.isNull() | F.isnan(column)
    return column.isNull()
