"""Refuse Spark's own aggregates in a SELECT over windows: Spark would combine all windows.

A list of Spark's aggregates would not have those that users register. Spark itself is asked: beside
a plain column it refuses an aggregate that has no GROUP BY.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from muntin.errors import MuntinError
from muntin.parser.errors import SqlError
from muntin.parser.statements import Query
from muntin.planner.aggregates import without_subqueries
from muntin.planner.errors import located
from muntin.planner.relations import Scope
from muntin.planner.select import SelectParts
from muntin.planner.spark_sql import evaluate
from muntin.spark.columns import DataFrame
from muntin.spark.run_sql import rejection, unlogged


def check_no_spark_aggregate(
    query: Query,
    parts: SelectParts,
    node: exp.Table,
    scope: Scope,
    tables: Mapping[str, DataFrame],
    known: Collection[str],
) -> None:
    """Raise if the select list has an aggregate that Muntin does not compute."""
    calls = [call for item in parts.items for call in _calls(item, known)]
    if calls:
        _probe(query, calls, parts.items, parts.others.get("windows"), node, scope, tables)


def check_call_of(
    query: Query,
    column: exp.Column,
    node: exp.Table,
    scope: Scope,
    tables: Mapping[str, DataFrame],
    known: Collection[str],
) -> None:
    """Raise if a column of rows is in a call of an unknown function, or of Spark's aggregate."""
    call = column.find_ancestor(exp.Anonymous)
    if call is not None and not _over(call) and call.name.lower() not in known:
        _probe(query, [call], [call], None, node, scope, tables, missing=True)


def _probe(
    query: Query,
    calls: Sequence[exp.Anonymous],
    items: Sequence[exp.Expr],
    windows: object,
    node: exp.Table,
    scope: Scope,
    tables: Mapping[str, DataFrame],
    *,
    missing: bool = False,
) -> None:
    """Select items beside a plain column; raise if one is an aggregate, or ``missing``."""
    plain = exp.column(tables[node.name].columns[0], table=node.alias, quoted=True)
    selected = [*(item.copy() for item in items), plain]
    probe = exp.Select(expressions=selected, from_=exp.From(this=node.copy()))
    if windows is not None:
        probe.set("windows", windows)
    try:
        with unlogged():
            evaluate(probe, scope, tables)
    except MuntinError as error:
        rejected = rejection(error)
        if missing and rejected is not None and rejected.condition == "UNRESOLVED_ROUTINE":
            with located(query):
                raise
        if rejected is None or rejected.condition != "MISSING_GROUP_BY":
            return  # the query itself will fail, with its own message
        names = ", ".join(dict.fromkeys(call.name for call in calls))
        one = f"{names} is an aggregate" if len(calls) == 1 else f"one of {names} is an aggregate"
        problem = f"{one} of Spark's, which Muntin does not compute in windows"
        expected = "one of Muntin's aggregates, or one registered with functions="
        raise SqlError(problem, query.text, query.at(calls[0]), expected=expected) from error


def _calls(item: exp.Expr, known: Collection[str]) -> list[exp.Anonymous]:
    """Return the calls of functions in an item that may be aggregates of Spark's."""
    calls = [node for node in without_subqueries(item) if isinstance(node, exp.Anonymous)]
    return [call for call in calls if not _over(call) and call.name.lower() not in known]


def _over(call: exp.Expr) -> bool:
    """Return whether OVER makes a call a window function of the results."""
    around = call.parent
    while isinstance(around, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        around = around.parent
    return isinstance(around, exp.Window)
