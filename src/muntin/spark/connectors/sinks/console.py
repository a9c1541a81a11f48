"""Rows as a table on a terminal that changes as micro-batches come."""

from __future__ import annotations

from collections import deque
from threading import Lock

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NumericType,
    StructField,
    StructType,
    TimestampType,
    YearMonthIntervalType,
)
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from muntin.spark.columns import named
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.fitted_table import FittedTable
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest
from muntin.spark.requirements import setting

CONSOLE = Signature("console", (Parameter("rows", int, 20, positive=True),))


class Board:
    """The last rows of a query as a table, with a footer that is drawn with it."""

    def __init__(self, title: str, limit: int = 20, *, streaming: bool = False) -> None:
        self._title = title
        self._streaming = streaming
        self._limit = limit
        self._lock = Lock()
        self._columns: list[str] = []
        self._rows: deque[Row] = deque(maxlen=limit)
        self._numbers: frozenset[int] = frozenset()
        self._zone: str | None = None
        self._more = False
        self.footer = ""

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Add the rows of a micro-batch; only the rows that are shown are fetched."""
        readable = rows.select(*[_readable(field) for field in rows.schema])
        timed = any(_has_times(field.dataType) for field in rows.schema)
        zone = setting(rows.sparkSession, "spark.sql.session.timeZone", "UTC") if timed else None
        if self._streaming:
            fetched = _first(readable, self._limit + 1)
        else:
            fetched = readable.limit(self._limit + 1).collect()
        with self._lock:
            self._columns, self._zone = rows.columns, zone
            types = enumerate(field.dataType for field in rows.schema)
            self._numbers = frozenset(n for n, kind in types if isinstance(kind, NumericType))
            self._more = self._more or len(self._rows) + len(fetched) > self._limit
            self._rows.extend(fetched[: self._limit])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            columns, rows, more = self._columns, list(self._rows), self._more
            numbers, zone = self._numbers, self._zone
        which = f"{len(rows)} of more rows" if more else f"{len(rows)} rows"
        times = "" if zone is None else f", times in {zone}"
        if self._title:
            yield Text(f"{self._title}: {which}{times}")
        if columns:
            yield FittedTable(columns, rows, numbers)
        if self.footer:
            yield Text(self.footer)


def _first(rows: DataFrame, count: int) -> list[Row]:
    """Return the first rows of a micro-batch, after all of them have been computed.

    A limit alone would leave partitions of the micro-batch unread, and their state uncommitted.
    """
    rows.persist()
    try:
        rows.count()
        return rows.limit(count).collect()
    finally:
        rows.unpersist()


def _readable(field: StructField) -> Column:
    """Return a column as it is shown: Python would read its times in the machine's zone."""
    column, kind = named(field.name), field.dataType
    spelled = _has_times(kind) or isinstance(kind, DayTimeIntervalType | YearMonthIntervalType)
    return column.cast("string").alias(field.name) if spelled else column


def _has_times(kind: DataType) -> bool:
    """Return whether values of a type are times of the session's zone, or contain some."""
    match kind:
        case TimestampType():
            return True
        case ArrayType(elementType=element):
            return _has_times(element)
        case MapType(keyType=key, valueType=value):
            return _has_times(key) or _has_times(value)
        case StructType(fields=fields):
            return any(_has_times(field.dataType) for field in fields)
    return False


def to_console(request: SinkRequest) -> Sink:
    """Return a sink that draws a table, on a terminal over the one before."""
    rows, console = request.bound.number("rows"), Console()
    board = Board(request.query, rows, streaming=not request.batch)
    live = Live(board, console=console, auto_refresh=False) if console.is_terminal else None

    def put(rows: DataFrame, number: int) -> None:
        board(rows, number)
        if live is None:
            console.print(board)
            return
        live.start()  # which does nothing the second time
        live.refresh()

    return put
