"""Results on a terminal: a table that is printed once, or one that lives while a stream runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group
from rich.live import Live

from muntin.cli.progress import CommandProgress, line_of

if TYPE_CHECKING:
    from muntin.spark.connectors.sinks.console import Board
    from muntin.spark.connectors.sinks.protocol import Sink
    from muntin.spark.queries.watch import QueryProgress
    from muntin.spark.types import DataFrame


class LiveTables:
    """A table for each query that names no sink.

    Those of streams are drawn over themselves, with how the query stands below; others are printed
    when their rows come.
    """

    def __init__(self, rows: int, progress: CommandProgress) -> None:
        self._limit = rows
        self._progress = progress
        self._console = Console()
        self._boards: dict[str, Board] = {}

    def sink(self, name: str, streaming: bool) -> Sink:
        """The sink of a query."""
        from muntin.spark.connectors.sinks.console import Board

        board = Board(name, self._limit)
        if streaming:
            self._boards[name] = board
            return board

        def put(rows: DataFrame, number: int) -> None:
            board(rows, number)
            self._progress.clear()
            self._console.print(board)

        return put

    def answer(self, rows: DataFrame) -> None:
        """What a statement answers that is no query."""
        self._progress.clear()
        for row in rows.collect():
            self._console.print("  ".join(map(str, row)), highlight=False, markup=False)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Draw the tables of streams in here; they stay as they are afterwards."""
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

    def say(self, text: str) -> None:
        """Something to people: above a table that is being drawn, which other text would tear."""
        self._progress.clear()
        if self._boards:
            self._console.print(text, highlight=False, markup=False)
        else:
            click.echo(text, err=True)

    def show(self, standings: Mapping[str, QueryProgress]) -> None:
        """How queries stand: below their tables, else on the line of progress."""
        for name, standing in standings.items():
            if name in self._boards:
                self._boards[name].footer = line_of(standing.as_dict())
            elif not self._boards:
                self._progress.show({"query": name, **standing.as_dict()})
