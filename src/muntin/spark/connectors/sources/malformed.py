"""Separating rows from malformed lines, and counting both.

Spark reads what it can of a malformed line and keeps the line in a column of its own. Rows and
malformed lines come from the same read, and no line stops a query.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, DoubleType, FloatType, StringType, StructField, StructType

from muntin.spark.columns import named
from muntin.spark.connectors.sources.protocol import OpenedSource
from muntin.spark.queries.progress import MALFORMED, RunProgress

#: The column in which Spark keeps a line that it could not read.
RAW = "__muntin_raw"
#: The column that says where a line came from.
ORIGIN = "__muntin_origin"
_LEAST_HASH = -(2**31)


def permissive(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a reader that keeps malformed lines instead of failing."""
    return {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}


def keeping_raw(columns: StructType) -> StructType:
    """Return the columns and the one for malformed lines."""
    return StructType([*columns.fields, StructField(RAW, StringType())])


def ddl(columns: StructType) -> str:
    """Return columns as DDL text."""
    quoted = (field.name.replace("`", "``") for field in columns)
    return ", ".join(
        f"`{name}` {field.dataType.simpleString()}"
        for name, field in zip(quoted, columns, strict=True)
    )


def split_malformed(
    read: DataFrame, columns: StructType, form: str, options: Mapping[str, str], origin: Column
) -> OpenedSource:
    """Return the rows and the malformed lines of what a permissive reader read.

    A reader only converts the columns that a query needs, so which rows are malformed would depend
    on the query. The hash needs all of them, and the optimizer cannot know that the condition
    always holds.
    """
    own = [named(name) for name in columns.names]
    known = read.withColumn(ORIGIN, origin).where(F.hash(*own) >= _LEAST_HASH)
    if read.isStreaming:
        count = F.count_if(F.col(RAW).isNotNull()).alias("malformed")
        known = known.observe(f"{MALFORMED}{uuid.uuid4().hex[:8]}", count)
    good = known.where(F.col(RAW).isNull()).select(*own)
    bad = known.where(F.col(RAW).isNotNull()).select(
        F.col(RAW).alias("raw"),
        _reason(columns, form, options).alias("reason"),
        F.col(ORIGIN).alias("origin"),
    )
    return OpenedSource(good, bad, read=known)


def _reason(columns: StructType, form: str, options: Mapping[str, str]) -> Column:
    """Return why a line is malformed: its form, or the first value that its column cannot have."""
    if form == "json":
        texts = F.from_json(F.col(RAW), "map<string,string>")
        return F.coalesce(
            F.when(texts.isNull(), F.lit("it is not a JSON object")),
            *_misfits(columns, [texts[name] for name in columns.names]),
            F.lit("it is not a JSON object with these columns"),
        )
    strings = StructType([StructField(name, StringType()) for name in columns.names])
    texts = F.from_csv(F.col(RAW), ddl(keeping_raw(strings)), permissive(options))
    return F.coalesce(
        F.when(texts[RAW].isNotNull(), F.lit(f"it does not have {len(columns)} values")),
        *_misfits(columns, [texts[name] for name in columns.names]),
        F.lit("it is not a line of CSV with these columns"),
    )


def _misfits(columns: StructType, texts: Sequence[Column]) -> list[Column]:
    """Return for each column a message where a text could not become a value."""
    return [
        F.when(
            text.isNotNull() & named(field.name).isNull(),
            F.concat(
                F.lit(f"{field.name}: '"),
                text,
                F.lit(f"' is not {field.dataType.simpleString().upper()}"),
            ),
        )
        for field, text in zip(columns.fields, texts, strict=True)
    ]


def count_rows(opened: OpenedSource, on: str | None) -> RunProgress:
    """Count the rows of a source, those of them without a value of ``on``, and malformed lines.

    A source that is no stream has no ``on``.
    """
    read = opened.df if opened.read is None else opened.read
    good = F.lit(True) if opened.read is None else F.col(RAW).isNull()
    counts = [F.count_if(good).alias("rows"), F.count_if(~good).alias("malformed")]
    if on is not None:
        missing = _missing(named(on), opened.df.select(named(on)).schema[0].dataType)
        counts.append(F.count_if(good & missing).alias("refused"))
        # As text, because Python would read a time in its own time zone, not the session's.
        largest = F.max(F.when(good & ~missing, named(on))).cast("string")
        counts.append(largest.alias("largest"))
    return RunProgress(**read.agg(*counts).collect()[0].asDict())


def _missing(column: Column, kind: DataType) -> Column:
    """Return where a row is refused because it has no value of ``on``."""
    if isinstance(kind, DoubleType | FloatType):
        return column.isNull() | F.isnan(column)
    return column.isNull()
