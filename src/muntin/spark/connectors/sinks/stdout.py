"""Rows as lines of JSON or CSV, and the sink that prints them; repeated ones are printed again."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from typing import TextIO

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.spark.columns import named
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest

STDOUT = Signature(
    "stdout",
    (
        Parameter("format", str, "json", choices=("json", "csv")),
        Parameter("header", bool, True),
    ),
)
#: How CSV spells a time.
_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


def to_stdout(request: SinkRequest) -> Sink:
    """Return a sink that prints rows; CSV begins with the names of the columns."""
    form = request.bound.text("format")
    return lines_to(None, form, header=form == "csv" and request.bound.truth("header"))


def lines_to(target: TextIO | None, form: str, *, header: bool) -> Sink:
    """Return a sink that writes rows to a file, or to standard output as it is then."""
    first = [header]

    def put(rows: DataFrame, number: int) -> None:
        if first[0]:
            print(_header(rows.columns), file=target)
            first[0] = False
        for line in lines_of(rows, form):
            print(line, file=target)
        (sys.stdout if target is None else target).flush()

    return put


def _header(names: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def json_of(rows: DataFrame) -> Column:
    """Return all columns of a row as a JSON object, with nulls."""
    return F.to_json(_all(rows), {"ignoreNullFields": "false"})


def csv_of(rows: DataFrame) -> Column:
    """Return all columns of a row as a line of CSV."""
    return F.to_csv(_all(rows), {"timestampFormat": _TIME, "escape": '"'})


def lines_of(rows: DataFrame, form: str) -> Iterator[str]:
    """Yield the rows as text, fetched one partition at a time."""
    text = json_of(rows) if form == "json" else csv_of(rows)
    for row in rows.select(text.alias("line")).toLocalIterator(prefetchPartitions=True):
        yield row[0]


def _all(rows: DataFrame) -> Column:
    return F.struct(*[named(name) for name in rows.columns])
