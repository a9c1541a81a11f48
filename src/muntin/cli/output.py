"""How results are shown: tables for people, live on streams; JSON lines or CSV for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

import click

from muntin.cli.progress import CommandProgress, line_of

if TYPE_CHECKING:
    from muntin.parser.statements import SetOption
    from muntin.spark.columns import DataFrame
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
    form: str | None,
    rows: int,
    *,
    as_json: bool,
    progress: CommandProgress,
    target: TextIO | None = None,
) -> ResultOutput:
    """Return the output of a format; by default a table on a terminal, JSON lines elsewhere."""
    if form is None:
        form = "table" if sys.stdout.isatty() and not as_json else "json"
    if form == "table":
        return LiveTables(rows, progress, target)
    return RowLines(form, progress, target)


class ChosenOutput:
    """The output that a session has chosen: its format, its rows, and a file if it names one."""

    def __init__(self, form: str | None, rows: int, progress: CommandProgress) -> None:
        self._form, self._rows, self._progress = form, rows, progress
        self._file: TextIO | None = None
        self._choose()

    def set(self, option: SetOption) -> str:
        """Do what SET FORMAT or SET ROWS asks, and return a line about it."""
        if option.what == "FORMAT":
            self._form = str(option.value)
        else:
            self._rows = int(option.value)
        self._choose()
        return f"{option.what.lower()} is {option.value}"

    def write_to(self, path: Path | None) -> None:
        """Write results to a file from now on; None is the terminal."""
        if self._file is not None:
            self._file.close()
        self._file = None if path is None else path.open("w", encoding="utf-8")
        self._choose(None if path is None else path.suffix.lstrip("."))

    def _choose(self, ending: str | None = None) -> None:
        form = ending if ending in FORMATS and self._form is None else self._form
        self._now = result_output(
            form, self._rows, as_json=False, progress=self._progress, target=self._file
        )

    def sink(self, name: str, streaming: bool) -> Sink:
        return self._now.sink(name, streaming)

    def answer(self, rows: DataFrame) -> None:
        self._now.answer(rows)

    def following(self) -> AbstractContextManager[None]:
        return self._now.following()

    def show(self, progress: Mapping[str, RunProgress]) -> None:
        self._now.show(progress)

    def say(self, text: str) -> None:
        self._now.say(text)


class RowLines:
    """Prints every row as a line on standard output, or to a file, and nothing else there."""

    def __init__(self, form: str, progress: CommandProgress, target: TextIO | None = None) -> None:
        self._form = form
        self._progress = progress
        self._target = target

    def sink(self, name: str, streaming: bool) -> Sink:
        from muntin.spark.connectors.sinks.stdout import lines_to

        lines = lines_to(self._target, self._form, header=self._form == "csv")

        def put(rows: DataFrame, number: int) -> None:
            with self._progress.printing():
                lines(rows, number)

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

    def __init__(self, rows: int, progress: CommandProgress, target: TextIO | None = None) -> None:
        from rich.console import Console  # which help would wait for

        self._limit = rows
        self._progress = progress
        self._console = Console(file=target)
        self._boards: dict[str, Board] = {}

    def sink(self, name: str, streaming: bool) -> Sink:
        from muntin.spark.connectors.sinks.console import Board

        board = Board(name, self._limit, streaming=streaming)
        if streaming:
            self._boards[name] = board
            return board

        def put(rows: DataFrame, number: int) -> None:
            board(rows, number)
            with self._progress.printing():
                self._console.print(board)

        return put

    def answer(self, rows: DataFrame) -> None:
        """Show an answer whole: lines as they are, columns as a table."""
        from muntin.spark.connectors.sinks.fitted_table import FittedTable

        found = rows.collect()
        with self._progress.printing():
            if len(rows.columns) > 1:
                self._console.print(FittedTable(rows.columns, found))
                return
            for (line,) in found:
                self._console.print(line, highlight=False, markup=False, soft_wrap=True)

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
