"""How results are shown: tables for people, JSON lines or CSV for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from muntin.cli.progress import CommandProgress

if TYPE_CHECKING:
    from muntin.spark.connectors.sinks.protocol import Sink
    from muntin.spark.queries.watch import QueryProgress
    from muntin.spark.types import DataFrame, SparkSession

FORMATS = ("table", "json", "csv")


class ResultOutput(Protocol):
    """Where results go that no statement sends anywhere."""

    def sink(self, name: str, streaming: bool) -> Sink:
        """The sink of a query."""

    def answer(self, rows: DataFrame) -> None:
        """What a statement answers that is no query."""

    def following(self) -> AbstractContextManager[None]:
        """Around the time in which streams run."""

    def show(self, standings: Mapping[str, QueryProgress]) -> None:
        """How queries stand."""

    def say(self, text: str) -> None:
        """Something to people, beside results."""


def showing(
    spark: SparkSession,
    form: str | None,
    rows: int,
    *,
    as_json: bool,
    progress: CommandProgress,
) -> ResultOutput:
    """What was asked for; else a table on a terminal and JSON lines elsewhere."""
    if form is None:
        form = "table" if sys.stdout.isatty() and not as_json else "json"
    if form == "table":
        from muntin.cli.live_output import LiveTables

        return LiveTables(rows, progress)
    return RowLines(spark, form, progress)


class RowLines:
    """Every row as a line on standard output, nothing else beside them."""

    def __init__(self, spark: SparkSession, form: str, progress: CommandProgress) -> None:
        self._spark = spark
        self._form = form
        self._progress = progress

    def sink(self, name: str, streaming: bool) -> Sink:
        from muntin.spark.connectors.sinks.registry import open_sink

        put = open_sink(self._spark, "stdout", [self._form], {}, query=name)

        def printed(rows: DataFrame, number: int) -> None:
            self._progress.clear()
            put(rows, number)

        return printed

    def answer(self, rows: DataFrame) -> None:
        self.sink("answer", False)(rows, 0)

    @contextmanager
    def following(self) -> Iterator[None]:
        yield

    def show(self, standings: Mapping[str, QueryProgress]) -> None:
        for name, standing in standings.items():
            self._progress.show({"query": name, **standing.as_dict()})

    def say(self, text: str) -> None:
        self._progress.clear()
        click.echo(text, err=True)
