"""Rows as text, made by Spark: a JSON object or a line of CSV each."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.spark.columns import named

_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


def json_of(rows: DataFrame) -> Column:
    """All columns of a row as a JSON object, nulls too."""
    return F.to_json(_all(rows), {"ignoreNullFields": "false"})


def csv_of(rows: DataFrame) -> Column:
    """All columns of a row as a line of CSV."""
    return F.to_csv(_all(rows), {"timestampFormat": _MOMENT})


def lines_of(rows: DataFrame, form: str) -> Iterator[str]:
    """The rows as text, fetched a partition at a time."""
    text = json_of(rows) if form == "json" else csv_of(rows)
    for row in rows.select(text.alias("line")).toLocalIterator(prefetchPartitions=True):
        yield row[0]


def _all(rows: DataFrame) -> Column:
    return F.struct(*[named(name) for name in rows.columns])
