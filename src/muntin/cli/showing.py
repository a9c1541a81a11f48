"""How results are shown: a table for people, JSON lines or CSV for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from muntin.cli.progress import Progress

if TYPE_CHECKING:
    from muntin.spark.sinks.sending import Put
    from muntin.spark.types import DataFrame, SparkSession

FORMATS = ("table", "json", "csv")


def chosen(given: str | None, *, as_json: bool) -> str:
    """The form of results: what was asked for, a table on a terminal, else JSON."""
    if given is not None:
        return given
    return "table" if sys.stdout.isatty() and not as_json else "json"


def default_sink(
    spark: SparkSession, form: str, rows: int, progress: Progress
) -> Callable[[str], Put]:
    """Makes the sink of a query that names none."""

    def made(name: str) -> Put:
        from muntin.spark.sinks.opening import open_sink

        if form == "table":
            put = open_sink(spark, "console", [], {"rows": rows}, query=name)
        else:
            put = open_sink(spark, "stdout", [form], {}, query=name)

        def quietly(batch: DataFrame, number: int) -> None:
            progress.clear()
            put(batch, number)

        return quietly

    return made
