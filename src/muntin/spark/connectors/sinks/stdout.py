"""Rows on standard output, as JSON lines or CSV; a repeated micro-batch is printed again."""

from __future__ import annotations

import csv
import io
import sys

from pyspark.sql import DataFrame

from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest
from muntin.spark.connectors.sinks.row_text import lines_of

STDOUT = Signature(
    "stdout",
    (
        Parameter("format", str, "json", choices=("json", "csv")),
        Parameter("header", bool, True),
    ),
)


def to_stdout(sending: SinkRequest) -> Sink:
    """A function that prints rows, and before the first of CSV their names."""
    form = sending.bound.text("format")
    first = [form == "csv" and sending.bound.truth("header")]

    def put(rows: DataFrame, number: int) -> None:
        if first[0]:
            print(_line(rows.columns))
            first[0] = False
        for line in lines_of(rows, form):
            print(line)
        sys.stdout.flush()

    return put


def _line(names: list[str]) -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="").writerow(names)
    return made.getvalue()
