"""What a stream clause is of: a stream, a table or a query, and the column its rows lie along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muntin.parser.errors import SqlError, closest
from muntin.parser.positions import Position
from muntin.parser.statements import Query, Windowing
from muntin.parser.window_kinds import ARRIVAL
from muntin.planner.columns import Columns
from muntin.planner.errors import unknown_column
from muntin.planner.scope import Scope, Table, rows_of
from muntin.spark.api.stream import Stream
from muntin.spark.run_sql import with_arrival
from muntin.spark.types import DataFrame

#: How a query that stands in FROM becomes rows.
Subquery = Callable[[Query], DataFrame]


@dataclass(frozen=True, eq=False)
class Relation:
    """Rows, what is known of them, and the column that progresses."""

    table: Table
    df: DataFrame
    on: str

    @property
    def declared(self) -> Stream | None:
        return self.table if isinstance(self.table, Stream) else None


def open_relation(
    query: Query, asked: Windowing, scope: Scope, subquery: Subquery, *, arrival: bool = False
) -> Relation:
    """Find the relation of a clause, and the column that its windows lie along.

    ``arrival`` says that somebody looks at the time at which rows arrive.
    """
    table = find_table(query, asked.table, asked.place, scope, subquery)
    rows = rows_of(table)
    on = asked.on
    if on is None:
        on = table.on if isinstance(table, Stream) else ARRIVAL if _arriving(asked) else None
    if on is None:
        problem = "it is not said along which column these windows lie"
        expected = "WATTR and a column, or a stream that was declared with ON"
        raise SqlError(problem, query.text, asked.place, expected=expected)
    if (arrival or on == ARRIVAL) and ARRIVAL not in rows.columns:
        rows = with_arrival(rows, ARRIVAL)
    return Relation(table, rows, spelt(query, asked, rows, on))


def spelt(query: Query, asked: Windowing, rows: DataFrame, name: str, role: str = "on") -> str:
    """A column of the clause as the DataFrame spells it."""
    found = Columns(asked.alias, rows.columns).spelt(name)
    if found is None:
        raise unknown_column(query, name, asked.places.get(role, asked.place), rows.columns)
    return found


def find_table(
    query: Query, name: str | Query, place: Position, scope: Scope, subquery: Subquery
) -> Table:
    """What a relation stands for; a query of its own becomes rows."""
    if isinstance(name, Query):
        return subquery(name)
    found = scope.find(name)
    if found is None:
        known = sorted(scope.tables)
        raise SqlError(
            f"there is no stream or table {name}",
            query.text,
            place,
            expected=f"one of {', '.join(known)}" if known else None,
            suggestion=closest(name, known),
        )
    return found


def _arriving(asked: Windowing) -> bool:
    """Rows counted as they arrive need no column; the time of arrival is one."""
    return asked.method == "rows" and asked.arguments.get("order") == "arrival"
