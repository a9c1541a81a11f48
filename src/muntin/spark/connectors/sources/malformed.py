"""Telling rows from text that is none: what was read goes one way, what could not the other.

Spark reads what it can of a malformed line and keeps the line in a column of its own. Both halves
here come from the same rows, and nothing stops.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from muntin.spark.columns import named
from muntin.spark.connectors.sources.protocol import OpenedSource

#: The column in which Spark keeps a line that it could not read.
RAW = "__muntin_raw"
#: Where a line came from.
ORIGIN = "__muntin_origin"
#: How the counts of malformed lines are called in a streaming query's progress.
COUNTED = "malformed:"
_LEAST_HASH = -(2**31)


def permissive(options: Mapping[str, str]) -> dict[str, str]:
    """Options of a reader that keeps malformed lines instead of failing."""
    return {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}


def keeping_raw(columns: StructType) -> StructType:
    """The columns and the one for malformed lines."""
    return StructType([*columns.fields, StructField(RAW, StringType())])


def ddl(columns: StructType) -> str:
    """Columns as the text that Spark reads them from."""
    quoted = (field.name.replace("`", "``") for field in columns)
    return ", ".join(
        f"`{name}` {field.dataType.simpleString()}"
        for name, field in zip(quoted, columns, strict=True)
    )


def told_apart(
    read: DataFrame, columns: StructType, form: str, options: Mapping[str, str], origin: Column
) -> OpenedSource:
    """The two halves of what a permissive reader read.

    A reader only converts columns that are asked for, so which rows are malformed would depend on
    the query; the hash asks for all of them, and the optimizer cannot tell that it is always so
    large.
    """
    own = [named(name) for name in columns.names]
    known = read.withColumn(ORIGIN, origin).where(F.hash(*own) >= _LEAST_HASH)
    if read.isStreaming:
        count = F.count_if(F.col(RAW).isNotNull()).alias("malformed")
        known = known.observe(f"{COUNTED}{uuid.uuid4().hex[:8]}", count)
    good = known.where(F.col(RAW).isNull()).select(*own)
    bad = known.where(F.col(RAW).isNotNull()).select(
        F.col(RAW).alias("raw"),
        _reason(columns, form, options).alias("reason"),
        F.col(ORIGIN).alias("origin"),
    )
    return OpenedSource(good, bad, read=known)


def _reason(columns: StructType, form: str, options: Mapping[str, str]) -> Column:
    """Why a line is malformed: its form, or the first value that its column cannot have."""
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
    """For each column a message where there was a text that could not become a value."""
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
