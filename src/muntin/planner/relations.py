"""Names of a query: its streams and tables, whose column a name is, and a clause's relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.parse import own_functions
from muntin.errors import ArgumentError
from muntin.parser.bracket import ARRIVAL
from muntin.parser.dialect import offset_of
from muntin.parser.errors import Position, SqlError, closest
from muntin.parser.statements import Query, Windowing
from muntin.planner.errors import unknown_column
from muntin.spark.api.stream import Stream
from muntin.spark.columns import DataFrame, SparkSession
from muntin.spark.run_sql import stored_table, with_arrival
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.frames.own_function import OwnFraming

Table = DataFrame | Stream | WorkerRows
#: Turns a query in FROM into rows.
Subquery = Callable[[Query], DataFrame]

#: Columns of windows and frames that queries can select.
OF_WINDOWS = (
    "window_start",
    "window_end",
    "wid",
    "on_start",
    "on_end",
    "complete",
    "frame_id",
    "frame_start",
    "frame_end",
    "status",
    "n",
    "n_missing",
    "shift",
)
#: Columns that only some kinds of frames have; a joined table may have columns of these names too.
OF_SOME_FRAMES = ("along_start", "along_end", "direction")


@dataclass(frozen=True, eq=False)
class Scope:
    """The streams and tables that a query can name; like Spark's, their case does not matter.

    ``functions`` and ``framings`` are the user's own aggregates and framing functions by name. A
    ``closed`` scope has no other tables; else Spark's own come last.
    """

    spark: SparkSession
    tables: Mapping[str, Table]
    functions: Mapping[str, OwnAggregate] = field(default_factory=dict)
    framings: Mapping[str, OwnFraming] = field(default_factory=dict)
    closed: bool = False

    @staticmethod
    def of(
        spark: SparkSession, tables: Mapping[str, object], functions: Mapping[str, object]
    ) -> Scope:
        """Return the scope of a user's tables; raise if one is no DataFrame, stream or files.

        ``functions`` are aggregates and framing functions of the user's own.
        """
        by_name: dict[str, Table] = {}
        for name, table in tables.items():
            if not isinstance(table, Stream | DataFrame | WorkerRows):
                expected = "it must be a Spark DataFrame or what mt.stream or mt.parquet returns"
                raise ArgumentError(name, table, expected)
            by_name[name.casefold()] = table
        framings = {n: f for n, f in functions.items() if isinstance(f, OwnFraming)}
        others = {n: f for n, f in functions.items() if n not in framings}
        for name, function in others.items():
            if not isinstance(function, OwnAggregate):
                expected = f"{name} must be an mt.OwnAggregate or an mt.FramingFunction"
                raise ArgumentError("functions", function, expected)
        return Scope(spark, by_name, own_functions(others), framings)

    def having(self, name: str, table: Table) -> Scope:
        """Return the scope with one more name, which hides an older one."""
        return replace(self, tables={**self.tables, name.casefold(): table})

    def find(self, name: str) -> Table | None:
        """Return the stream or table of a name; Spark's own tables come last."""
        table = self.tables.get(name.casefold())
        if table is None and not self.closed:
            return stored_table(self.spark, name)
        return table

    def own(self, name: str) -> Table | None:
        """Return the stream or table of a name, without asking Spark."""
        return self.tables.get(name.casefold())


def rows_of(table: Table) -> DataFrame:
    """Return the rows of a stream or a table."""
    return table.df if isinstance(table, Stream | WorkerRows) else table


def files_of(table: Table) -> WorkerRows | None:
    """Return the files that the rows of a stream or a table are read from."""
    if isinstance(table, Stream):
        return table.scannable
    return table if isinstance(table, WorkerRows) else None


@dataclass(frozen=True)
class Columns:
    """The columns of a stream, its alias, and the aliases of joined tables."""

    alias: str
    names: Sequence[str]
    joined: Sequence[str] = ()

    def own(self, column: exp.Column) -> str | None:
        """Return the stream's column that is named, as the stream spells it; else None."""
        parts = self._parts(column)
        return None if parts is None else self.spelt(parts[0])

    def inside(self, column: exp.Column) -> bool:
        """Return whether a field of a struct is named, which is a computed group."""
        parts = self._parts(column)
        return parts is not None and len(parts) > 1

    def spelt(self, name: str) -> str | None:
        """Return a column as the DataFrame spells it; None if it has none of this name."""
        if name in self.names:
            return name
        return next((own for own in self.names if own.casefold() == name.casefold()), None)

    def bare(self, column: exp.Column) -> exp.Column | None:
        """Return the column without the alias of the stream; None if it has none."""
        parts = [part.copy() for part in column.parts]
        if len(parts) < 2 or parts[0].name.casefold() != self.alias.casefold():
            return None
        roles = ("this", "table", "db", "catalog")
        bare = exp.Column(**dict(zip(roles, reversed(parts[1:]), strict=False)))
        bare.meta.update({"start": offset_of(column)})
        return bare

    def foreign(self, column: exp.Column) -> bool:
        """Return whether a column belongs to a joined table."""
        first = column.parts[0].name.casefold()
        if len(column.parts) > 1 and first in {name.casefold() for name in self.joined}:
            return True
        return bool(self.joined) and len(column.parts) == 1 and self.spelt(column.name) is None

    def _parts(self, column: exp.Column) -> list[str] | None:
        names = [part.name for part in column.parts]
        if len(names) > 1 and names[0].casefold() == self.alias.casefold():
            return names[1:]
        if len(names) > 1 and names[0].casefold() in {name.casefold() for name in self.joined}:
            return None
        return names


@dataclass(frozen=True, eq=False)
class Relation:
    """The rows of a clause, their stream or table, and the column along which they progress."""

    table: Table
    df: DataFrame
    on: str

    @property
    def declared(self) -> Stream | None:
        return self.table if isinstance(self.table, Stream) else None

    @property
    def rows(self) -> DataFrame | WorkerRows:
        """The rows, as files if workers may read them."""
        files = files_of(self.table)
        if files is None or files.df is self.df:
            return files or self.df
        return files.left_to_spark(self.df, "Spark adds the time at which rows arrive")


def open_relation(
    query: Query, clause: Windowing, scope: Scope, subquery: Subquery, *, arrival: bool = False
) -> Relation:
    """Find the relation of a clause, and the column that its windows lie along.

    ``arrival`` says that the query uses the time at which rows arrive.
    """
    table = find_table(query, clause.table, clause.place, scope, subquery)
    rows = rows_of(table)
    on = _column_along(clause, table)
    if on is None:
        problem = "these windows have no column to lie along"
        expected = "WATTR and a column, or a stream that was declared with ON"
        raise SqlError(problem, query.text, clause.place, expected=expected)
    if (arrival or on == ARRIVAL) and ARRIVAL not in rows.columns:
        rows = with_arrival(rows, ARRIVAL)
    role = "start" if clause.method == "stored_frames" else "on"
    return Relation(table, rows, spelt(query, clause, rows, on, role))


def _column_along(clause: Windowing, table: Table) -> str | None:
    """Return the column that windows lie along: that of the clause, else that of the stream."""
    stored = clause.method == "stored_frames"
    given = clause.arguments.get("start") if stored else clause.on
    if given is not None:
        return str(given)
    if isinstance(table, Stream):
        return table.on
    return "frame_start" if stored else ARRIVAL if _arriving(clause) else None


def spelt(query: Query, clause: Windowing, rows: DataFrame, name: str, role: str = "on") -> str:
    """Return a column of the clause as the DataFrame spells it."""
    column = Columns(clause.alias, rows.columns).spelt(name)
    if column is None:
        raise unknown_column(query, name, clause.places.get(role, clause.place), rows.columns)
    return column


def find_table(
    query: Query, name: str | Query, place: Position, scope: Scope, subquery: Subquery
) -> Table:
    """Return the stream or table of a relation; a subquery becomes rows."""
    if isinstance(name, Query):
        return subquery(name)
    table = scope.find(name)
    if table is None:
        known = sorted(scope.tables)
        raise SqlError(
            f"there is no stream or table {name}",
            query.text,
            place,
            expected=f"one of {', '.join(known)}" if known else None,
            suggestion=closest(name, known),
        )
    return table


def _arriving(clause: Windowing) -> bool:
    """Return whether rows are counted as they arrive, which needs no column."""
    return clause.method == "rows" and clause.arguments.get("order") == "arrival"
