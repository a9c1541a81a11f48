"""Windows with their aggregates, as plans of the Python API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from muntin.aggregates.parse import Column, read_column
from muntin.parser.errors import SqlError
from muntin.parser.statements import Query, Windowing
from muntin.planner.aggregates import name_of, replaced
from muntin.planner.columns import Columns
from muntin.planner.errors import located, unknown_column
from muntin.planner.grouping import Roles
from muntin.planner.scope import Scope
from muntin.planner.select import SelectParts
from muntin.planner.spark_sql import SparkPart
from muntin.planner.stream_calls import columns_of, filled, segmented
from muntin.spark.api.combine import combine
from muntin.spark.api.frames import Frames
from muntin.spark.api.plan import Plan
from muntin.spark.api.segments import Filled
from muntin.spark.api.stream import Stream
from muntin.spark.api.windows import Windowed
from muntin.spark.plan.window_ids import with_wid
from muntin.spark.types import DataFrame


@dataclass(frozen=True, eq=False)
class PlannedWindows:
    """Results of windows, and the plan they come from; rows with their windows need no plan.

    ``numbered`` says that the results have the numbers of windows beside what the plan tells.
    ``before`` is what Spark does with rows before windows are made of them.
    """

    df: DataFrame
    plan: Plan | None
    numbered: bool = False
    before: SparkPart | None = None

    @staticmethod
    def of(plan: Plan, *, numbered: bool = False) -> PlannedWindows:
        return PlannedWindows(
            with_wid(plan.parts, plan.df) if numbered else plan.df, plan, numbered
        )


@dataclass(frozen=True)
class _Source:
    """Rows that aggregates are of: the stream's own, or those that fill its windows."""

    columns: Columns
    made: Windowed | Frames | Filled


def planned(
    query: Query,
    windowing: Windowing,
    source: Stream,
    roles: Roles,
    asked: SelectParts,
    scope: Scope,
) -> PlannedWindows:
    """The results that a SELECT asks of windows."""
    segments = segmented(query, windowing, source, roles.group)
    own = _Source(Columns(windowing.alias, source.df.columns), segments)
    fills = [
        _Source(Columns(fill.alias, columns_of(fill, scope)), filled(query, fill, segments, scope))
        for fill in windowing.fills
    ]
    with located(query, windowing.place, windowing.places, asked.aggregates):
        if not asked.aggregates:
            return _rows(query, windowing, own, fills, asked)
        plan = _plan(query, own, fills, asked)
        numbered = "wid" in asked.names() and "wid" not in source.df.columns
        return PlannedWindows.of(plan, numbered=numbered)


def _plan(query: Query, own: _Source, fills: Sequence[_Source], asked: SelectParts) -> Plan:
    """Every aggregate goes to the rows it is of; several plans over the same windows are one."""
    results: dict[int, list[Column]] = {}
    sources = [own, *fills]
    for number, aggregate in enumerate(asked.aggregates):
        place = _source_of(query, aggregate, sources)
        result = _result(query, aggregate, sources[place], name_of(number))
        results.setdefault(place, []).append(result)
    plans = [sources[place].made.plan(*columns) for place, columns in sorted(results.items())]
    return plans[0] if len(plans) == 1 else combine(*plans)


def _source_of(query: Query, aggregate: exp.Expr, sources: Sequence[_Source]) -> int:
    """Whose rows an aggregate is of: those of the alias in it, else of what fills."""
    aliases = [source.columns.alias.casefold() for source in sources]
    said = {
        aliases.index(column.parts[0].name.casefold())
        for column in aggregate.find_all(exp.Column)
        if len(column.parts) > 1 and column.parts[0].name.casefold() in aliases
    }
    if len(said) > 1:
        problem = "an aggregate is of the rows of one relation"
        raise SqlError(problem, query.text, query.at(aggregate))
    return said.pop() if said else len(sources) - 1


def _result(query: Query, aggregate: exp.Expr, source: _Source, name: str) -> Column:
    """The result column of an aggregate; raise where Muntin does not know it or its columns."""
    columns = source.columns
    for column in aggregate.find_all(exp.Column):
        if columns.own(column) is None and column.find_ancestor(exp.Lambda) is None:
            raise unknown_column(query, column.name, query.at(column), columns.names)
    bare = replaced(aggregate, columns.bare)
    made = source.made
    segments = made.segments if isinstance(made, Filled) else made
    with located(query, query.at(aggregate)):
        return read_column(bare, name, segments.beside_aggregates, made.source.functions)


def _rows(
    query: Query, windowing: Windowing, own: _Source, fills: Sequence[_Source], asked: SelectParts
) -> PlannedWindows:
    """Without aggregates: frames as they are, what fills them, or rows with their windows."""
    if fills:
        made = fills[-1].made
        assert isinstance(made, Filled)
        return PlannedWindows.of(made.rows_plan())
    if isinstance(own.made, Frames):
        return PlannedWindows.of(own.made.plan())
    if windowing.method not in ("window", "tumbling"):
        problem = "nothing is computed in these windows"
        expected = "an aggregate such as count(*)"
        raise SqlError(problem, query.text, windowing.place, expected=expected)
    assert isinstance(own.made, Windowed)
    return PlannedWindows(own.made.rows(explode=True), None)
