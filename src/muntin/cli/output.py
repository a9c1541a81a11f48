"""How results are shown: tables for people, live on streams; JSON lines or CSV for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from muntin.cli.progress import CommandProgress, line_of

if TYPE_CHECKING:
    from muntin.spark.columns import DataFrame, SparkSession
    from muntin.spark.connectors.sinks.console import Board
    from muntin.spark.connectors.sinks.protocol import Sink
    from muntin.spark.queries.progress import RunProgress

FORMATS = ("table", "json", "csv")


class ResultOutput(Protocol):
    """Where results go that no statement sends anywhere."""

    def sink(self, name: str, streaming: bool) -> Sink:
        """Return the sink of a query."""

    def answer(self, rows: DataFrame) -> None:
        """Show the answer of a statement that is not a query."""

    def following(self) -> AbstractContextManager[None]:
        """Return a context in which streams run."""

    def show(self, progress: Mapping[str, RunProgress]) -> None:
        """Show how queries are going, by name."""

    def say(self, text: str) -> None:
        """Print a message for people, apart from the results."""


def result_output(
    spark: SparkSession,
    form: str | None,
    rows: int,
    *,
    as_json: bool,
    progress: CommandProgress,
) -> ResultOutput:
    """Return the output of a format; by default a table on a terminal, JSON lines elsewhere."""
    if form is None:
        form = "table" if sys.stdout.isatty() and not as_json else "json"
    return LiveTables(rows, progress) if form == "table" else RowLines(spark, form, progress)


class RowLines:
    """Prints every row as a line on standard output, and nothing else there."""

    def __init__(self, spark: SparkSession, form: str, progress: CommandProgress) -> None:
        self._spark = spark
        self._form = form
        self._progress = progress

    def sink(self, name: str, streaming: bool) -> Sink:
        from muntin.spark.connectors.sinks.registry import open_sink

        stdout = open_sink(self._spark, "stdout", [self._form], {}, query=name)

        def put(rows: DataFrame, number: int) -> None:
            self._progress.clear()
            stdout(rows, number)

        return put

    def answer(self, rows: DataFrame) -> None:
        self.sink("answer", False)(rows, 0)

    @contextmanager
    def following(self) -> Iterator[None]:
        yield

    def show(self, progress: Mapping[str, RunProgress]) -> None:
        for name, query in progress.items():
            self._progress.show(name, query)

    def say(self, text: str) -> None:
        self._progress.clear()
        click.echo(text, err=True)


class LiveTables:
    """Shows a table for each query that names no sink.

    The table of a stream is drawn over itself, with the progress of the query below it. Other
    tables are printed when their rows come.
    """

    def __init__(self, rows: int, progress: CommandProgress) -> None:
        from rich.console import Console  # which help would wait for

        self._limit = rows
        self._progress = progress
        self._console = Console()
        self._boards: dict[str, Board] = {}

    def sink(self, name: str, streaming: bool) -> Sink:
        from muntin.spark.connectors.sinks.console import Board

        board = Board(name, self._limit, streaming=streaming)
        if streaming:
            self._boards[name] = board
            return board

        def put(rows: DataFrame, number: int) -> None:
            board(rows, number)
            self._progress.clear()
            self._console.print(board)

        return put

    def answer(self, rows: DataFrame) -> None:
        self._progress.clear()
        for row in rows.collect():
            self._console.print("  ".join(map(str, row)), highlight=False, markup=False)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Draw the tables of streams in this context; they stay visible after it."""
        from rich.console import Group
        from rich.live import Live

        if not self._boards:
            yield
            return
        with Live(
            get_renderable=lambda: Group(*self._boards.values()),
            console=self._console,
            refresh_per_second=4,
        ):
            yield
        self._boards.clear()

    def show(self, progress: Mapping[str, RunProgress]) -> None:
        """Show how queries are going: below their tables, else on the line of progress."""
        for name, query in progress.items():
            if name in self._boards:
                self._boards[name].footer = line_of(query)
            elif not self._boards:
                self._progress.show(name, query)

    def say(self, text: str) -> None:
        """Print a message above a table that is being drawn, which other text would tear."""
        self._progress.clear()
        if self._boards:
            self._console.print(text, highlight=False, markup=False)
        else:
            click.echo(text, err=True)
