"""Joins, lookups and resampling as calls of the Python API; Spark does the rest of the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from muntin.aggregates.parse import Column, read_column
from muntin.parser.dialect import written
from muntin.parser.errors import Position, SqlError
from muntin.parser.statements import Alignment, Expression, JoinSide, Query
from muntin.planner.aggregates import replaced
from muntin.planner.errors import located, unknown_column
from muntin.planner.relations import Columns, Scope, Subquery, Table, files_of, find_table, rows_of
from muntin.planner.window_plans import redescribed, with_clock
from muntin.spark.api.join import Joined
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan
from muntin.spark.api.resample import Resampled
from muntin.spark.api.stream import Stream
from muntin.spark.columns import DataFrame
from muntin.spark.scan.worker_rows import WorkerRows

_DISORDER = "DISORDER in CREATE STREAM, or stream(..., disorder => SLACK '10 seconds')"


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """The rows of a join, and its plan or its lookup in a table."""

    df: DataFrame
    plan: Plan | Probed


def join_relations(query: Query, join: Alignment, scope: Scope, subquery: Subquery) -> JoinedRows:
    """Return the rows of a table function."""
    own = _own(query, join, scope, subquery)
    other = _other(query, join, own, scope, subquery)
    _check_kinds(query, join, own, other)
    arguments = _JoinArguments(query, join, own, [] if other is None else _names(other)).values()
    if not own.df.isStreaming:
        arguments.pop("refresh", None)  # one text runs as a stream and as a batch, which reads once
    first = {} if other is None else {_FIRST.get(join.method, "other"): other}
    with located(query, join):
        joined = getattr(own, join.method)(**first, **arguments)
        assert isinstance(joined, Joined | Resampled | Probed)
        plan = joined if isinstance(joined, Probed) else joined.plan()
        return JoinedRows(plan.df, plan)


#: The method's name for the other side.
_FIRST = {"lookup": "table", "resample": "at"}


def _own(query: Query, join: Alignment, scope: Scope, subquery: Subquery) -> Stream:
    side = join.own
    table = find_table(query, side.table, side.place, scope, subquery)
    on = side.on if side.on is not None else table.on if isinstance(table, Stream) else None
    if on is None:
        problem = f"{side.alias} has no column along which its rows are ordered"
        expected = "stream(..., on => column), or a stream that was declared with ON"
        raise SqlError(problem, query.text, side.place, expected=expected)
    return _described(query, side, table, on, scope)


def _other(
    query: Query, join: Alignment, own: Stream, scope: Scope, subquery: Subquery
) -> Table | None:
    """Return the other side: as a stream if it is described, else as it is."""
    side = join.other
    if side is None:
        return None
    table = find_table(query, side.table, side.place, scope, subquery)
    if join.method == "lookup":
        table = rows_of(table)
    if not side.described:
        if not isinstance(table, Stream) and "key" not in join.arguments:
            _check_keys(query, join, own, table, side)
        return with_clock(table) if isinstance(table, Stream) else table
    declared = table.on if isinstance(table, Stream) else join.arguments.get("on", own.on)
    on = side.on if side.on is not None else str(declared)
    return _described(query, side, table, on, scope)


def _described(query: Query, side: JoinSide, table: Table, on: str, scope: Scope) -> Stream:
    rows = rows_of(table)
    declared = table.by if isinstance(table, Stream) else ()
    by = side.by if side.by is not None else declared
    keys = [spelt(query, name, rows.columns, side.places.get("by", side.place)) for name in by]
    along = spelt(query, on, rows.columns, side.places.get("on", side.place))
    with located(query, side):
        given = files_of(table) or rows
        return redescribed(table, given, along, keys, side.disorder, scope)


def _check_keys(
    query: Query, join: Alignment, own: Stream, rows: DataFrame | WorkerRows, side: JoinSide
) -> None:
    """Raise if rows without keys of their own lack columns named as the keys."""
    missing = [name for name in own.by if name not in rows.columns]
    if missing:
        problem = f"{side.alias} has no column {missing[0]}, so it is not clear which rows match"
        named = f"stream({side.alias}, by => its column)"
        if join.method != "resample":
            named = "key => its column, or key => () if keys do not matter"
        raise SqlError(problem, query.text, side.place, expected=named)


def _check_kinds(query: Query, join: Alignment, own: Stream, other: Table | None) -> None:
    """Raise unless both sides are streams with a disorder, or batches; a lookup takes a table."""
    sides = [(join.own, own), *([] if join.other is None else [(join.other, other)])]
    streaming = [rows_of(table).isStreaming for _, table in sides if table is not None]
    if join.method == "lookup":
        if streaming[1]:
            problem = f"{sides[1][0].alias} is a stream, and rows are looked up in a table"
            expected = "asof(...), which takes the row that was there at the time, or join(...)"
            raise SqlError(problem, query.text, sides[1][0].place, expected=expected)
        return
    if len({*streaming}) > 1:
        live, stored = (sides[streaming.index(kind)][0] for kind in (True, False))
        problem = f"{live.alias} is a stream, and {stored.alias} is a table"
        expected = f"lookup({live.alias}, {stored.alias}), or two streams"
        raise SqlError(problem, query.text, stored.place, expected=expected)
    for side, table in sides:
        declared = isinstance(table, Stream) and (table.disorder or table.control is not None)
        if streaming[0] and not declared:
            problem = f"{side.alias} does not declare its disorder, so nothing would be certain"
            raise SqlError(problem, query.text, side.place, expected=_DISORDER)


def _names(table: Table) -> Sequence[str]:
    return list(rows_of(table).columns)


@dataclass(frozen=True)
class _JoinArguments:
    """The arguments of a table function, and the columns of both sides that they name."""

    query: Query
    join: Alignment
    stream: Stream
    other: Sequence[str]

    @property
    def own(self) -> Sequence[str]:
        return list(self.stream.df.columns)

    def values(self) -> dict[str, object]:
        """Return the arguments as the Python method takes them."""
        return {name: self._value(name, value) for name, value in self.join.arguments.items()}

    def _value(self, name: str, value: object) -> object:
        if isinstance(value, Expression):
            return self._condition(value)
        if name == "how" and isinstance(value, tuple):
            return [self._aggregate(aggregate) for aggregate in value]
        place = self.join.places[name]
        rows = self.own if self.join.method == "resample" else self.other
        match name:
            case "on":
                return spelt(self.query, str(value), self.other, place)
            case "columns" | "tiebreak" | "key" if isinstance(value, tuple):
                return tuple(spelt(self.query, column, rows, place) for column in value)
            case "key" if isinstance(value, Mapping):
                return {
                    spelt(self.query, one, self.own, place): spelt(
                        self.query, two, self.other, place
                    )
                    for one, two in value.items()
                }
        return value

    def _aggregate(self, aggregate: Expression) -> Column:
        """Return an aggregate of the stream's rows, without the alias of the stream."""
        columns = Columns(self.join.own.alias, self.own)
        for column in aggregate.tree.find_all(exp.Column):
            if columns.own(column) is None and column.find_ancestor(exp.Lambda) is None:
                raise unknown_column(self.query, column.name, self.query.at(column), self.own)
        tree = replaced(aggregate.tree, columns.bare)
        name = tree.alias if isinstance(tree, exp.Alias) else written(tree)
        with located(self.query, aggregate.place):
            return read_column(tree.unalias(), name, [], self.stream.functions)

    def _condition(self, condition: Expression) -> str:
        """Return a condition on pairs; raise if a column does not name its side."""
        tree = condition.tree.copy()
        for column in tree.find_all(exp.Column):
            if column.find_ancestor(exp.Lambda) is None:
                self._sided(column)
        return Expression(tree, condition.place).text

    def _sided(self, column: exp.Column) -> None:
        parts, place = column.parts, self.query.at(column)
        side = parts[0].name.lower()
        if len(parts) < 2 or side not in ("left", "right"):
            problem = f"{column.name} does not name its side"
            expected = f"left.{column.name} or right.{column.name}"
            raise SqlError(problem, self.query.text, place, expected=expected)
        names = self.own if side == "left" else self.other
        parts[1].set("this", spelt(self.query, parts[1].name, names, place))


def spelt(query: Query, name: str, columns: Sequence[str], place: Position) -> str:
    """Return a column as its DataFrame spells it, whatever its case."""
    column = Columns("", columns).spelt(name)
    if column is None:
        raise unknown_column(query, name, place, columns)
    return column
