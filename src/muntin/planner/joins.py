"""Joins and alignments as calls of the Python API; all that stands around them is Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.parser.errors import SqlError
from muntin.parser.statements import Alignment, JoinSide, Query
from muntin.planner.errors import located
from muntin.planner.join_arguments import Arguments, spelt
from muntin.planner.relations import Subquery, find_table
from muntin.planner.scope import Scope, Table, rows_of
from muntin.planner.stream_calls import redescribed
from muntin.spark.api.join import Joined
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan
from muntin.spark.api.resample import Resampled
from muntin.spark.api.stream import Stream
from muntin.spark.types import DataFrame

_DISORDER = "DISORDER in CREATE STREAM, or stream(..., disorder => SLACK '10 seconds')"


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """Rows that met, and how: by a plan, or by a look into a table, which has none."""

    df: DataFrame
    by: Plan | Probed


def aligned(query: Query, asked: Alignment, scope: Scope, subquery: Subquery) -> JoinedRows:
    """The rows that a table function stands for."""
    own = _own(query, asked, scope, subquery)
    other = _other(query, asked, own, scope, subquery)
    _check_kinds(query, asked, own, other)
    given = Arguments(query, asked, own, [] if other is None else _names(other)).made()
    if not own.df.isStreaming:
        given.pop("refresh", None)  # one text runs as a stream and as a batch, which reads once
    first = {} if other is None else {_FIRST.get(asked.method, "other"): other}
    with located(query, asked.place, asked.places, list(asked.arguments.values())):
        made = getattr(own, asked.method)(**first, **given)
        assert isinstance(made, Joined | Resampled | Probed)
        by = made if isinstance(made, Probed) else made.plan()
        return JoinedRows(by.df, by)


#: What Python calls the other side.
_FIRST = {"lookup": "table", "resample": "at"}


def _own(query: Query, asked: Alignment, scope: Scope, subquery: Subquery) -> Stream:
    side = asked.own
    table = find_table(query, side.table, side.place, scope, subquery)
    on = side.on if side.on is not None else table.on if isinstance(table, Stream) else None
    if on is None:
        problem = f"it is not said along which column the rows of {side.alias} lie"
        expected = "stream(..., on => column), or a stream that was declared with ON"
        raise SqlError(problem, query.text, side.place, expected=expected)
    return _described(query, side, table, on)


def _other(
    query: Query, asked: Alignment, own: Stream, scope: Scope, subquery: Subquery
) -> Table | None:
    """The other side: described where somebody has said something of it, else as rows."""
    side = asked.other
    if side is None:
        return None
    table = find_table(query, side.table, side.place, scope, subquery)
    if asked.method == "lookup":
        table = rows_of(table)
    if not side.described:
        if not isinstance(table, Stream) and "key" not in asked.arguments:
            _check_keys(query, asked, own, table, side)
        return table
    declared = table.on if isinstance(table, Stream) else asked.arguments.get("on", own.on)
    return _described(query, side, table, side.on if side.on is not None else str(declared))


def _described(query: Query, side: JoinSide, table: Table, on: str) -> Stream:
    rows = rows_of(table)
    declared = table.by if isinstance(table, Stream) else ()
    by = side.by if side.by is not None else declared
    keys = [spelt(query, name, rows.columns, side.places.get("by", side.place)) for name in by]
    along = spelt(query, on, rows.columns, side.places.get("on", side.place))
    with located(query, side.place, side.places):
        return redescribed(table, rows, along, keys, side.disorder)


def _check_keys(
    query: Query, asked: Alignment, own: Stream, rows: DataFrame, side: JoinSide
) -> None:
    """Rows that say nothing of keys match by columns of the same name."""
    missing = [name for name in own.by if name not in rows.columns]
    if missing:
        problem = f"{side.alias} has no column {missing[0]}, so it is not clear which rows match"
        named = f"stream({side.alias}, by => its column)"
        if asked.method != "resample":
            named = "key => its column, or key => () if keys do not matter"
        raise SqlError(problem, query.text, side.place, expected=named)


def _check_kinds(query: Query, asked: Alignment, own: Stream, other: Table | None) -> None:
    """Two streams that say how disordered they are, or two batches; and a table to look into."""
    sides = [(asked.own, own), *([] if asked.other is None else [(asked.other, other)])]
    streaming = [rows_of(table).isStreaming for _, table in sides if table is not None]
    if asked.method == "lookup":
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
        told = isinstance(table, Stream) and (table.disorder or table.control is not None)
        if streaming[0] and not told:
            problem = f"it is not said how disordered {side.alias} is, so nothing would be certain"
            raise SqlError(problem, query.text, side.place, expected=_DISORDER)


def _names(table: Table) -> Sequence[str]:
    return list(rows_of(table).columns)
