"""A SELECT over the windows or frames of one relation: what of it is ours and what is Spark's.

Rows are chosen (WHERE, joins with tables, computed groups) by Spark before the windows are made;
aggregates are Muntin's; the select list, HAVING and what else is said of results is Spark's again,
over one row per window and key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from muntin.parser.errors import SqlError
from muntin.parser.statements import Alignment, Query, Windowing
from muntin.parser.window_kinds import ARRIVAL
from muntin.planner.aggregates import any_aggregate, known_aggregates
from muntin.planner.columns import Columns
from muntin.planner.errors import located, unknown_column
from muntin.planner.grouping import Roles, roles_of
from muntin.planner.psoup import choose, is_filter, resolved
from muntin.planner.relations import Relation, Subquery, open_relation, spelt
from muntin.planner.scope import Scope
from muntin.planner.select import SelectParts, ask
from muntin.planner.spark_sql import SparkPart, evaluate
from muntin.planner.stream_calls import check_disorder, described
from muntin.planner.window_plans import PlannedWindows, planned
from muntin.spark.types import DataFrame

#: Windows of which it does not matter whether rows are joined before or after.
_JOINABLE = ("window", "tumbling", "landmark", "latch")
_CHOOSING = ("joins", "laterals", "where")


def translate_core(
    query: Query,
    select: exp.Select,
    node: exp.Table,
    scope: Scope,
    subquery: Subquery,
    inner: Mapping[str, DataFrame],
) -> PlannedWindows:
    """The results of windows; ``select`` is changed to a SELECT over them.

    ``inner`` are the results of windows that stand in subqueries of it.
    """
    asked_windows = query.windowings[node.name]
    arrival = any(column.name == ARRIVAL for column in select.find_all(exp.Column))
    relation = open_relation(query, asked_windows, scope, subquery, arrival=arrival)
    functions = relation.declared.functions if relation.declared else {}
    known = known_aggregates(functions)
    if is_filter(asked_windows, aggregated=any_aggregate(select, known)):
        choose(query, select, node, relation)
        return PlannedWindows(relation.df, None)
    windowing = resolved(query, asked_windows, relation)
    others = list(_beside(select, node))
    _check_joins(query, others, windowing)
    names = [other.alias_or_name for other in others]
    columns = Columns(windowing.alias, relation.df.columns, names)
    grouped = windowing.method == "frames" and not windowing.fills
    asked = ask(query, select, columns, known, grouped=grouped)
    tables = {**inner, node.name: relation.df}
    before = _choosing(select, node, asked, scope, tables)
    rows = relation.df
    if before is not None:
        with located(query, query.place, near=[before.tree]):
            rows = evaluate(before.tree, scope, tables)
    roles = _roles(query, windowing, relation, asked)
    with located(query, windowing.place, windowing.places):
        source = described(windowing, relation.table, rows, relation.on, roles.by)
    check_disorder(query, windowing, source)
    made = planned(query, windowing, source, roles, asked, scope)
    if asked.aggregates or grouped:
        _check_results(query, asked, made, columns)
    _rewrite(select, node, asked)
    return replace(made, before=before)


def _beside(select: exp.Select, node: exp.Table) -> Iterator[exp.Expr]:
    """The other relations of a SELECT."""
    joined = [join.this for join in select.args.get("joins") or []]
    relations = [select.args["from_"].this, *joined, *(select.args.get("laterals") or [])]
    yield from (relation for relation in relations if relation is not node)


def _check_joins(query: Query, others: Sequence[exp.Expr], windowing: Windowing) -> None:
    ours: dict[str, Windowing | Alignment] = {**query.windowings, **query.alignments}
    found = [ours[other.name] for other in others if other.name in ours]
    if found:
        problem = "two relations with windows cannot be joined directly"
        if isinstance(found[0], Alignment):
            problem = f"windows and {found[0].method}(...) cannot be joined directly"
        expected = "each in a query of its own: (SELECT ...) AS a JOIN (SELECT ...) AS b"
        raise SqlError(problem, query.text, found[0].place, expected=expected)
    if others and windowing.method not in _JOINABLE:
        problem = (
            "rows that are joined before they are counted would be counted twice or not at all"
        )
        expected = "the join around the query: (SELECT ... FROM ... [...]) AS w JOIN ..."
        raise SqlError(problem, query.text, query.at(others[0]), expected=expected)


def _choosing(
    select: exp.Select,
    node: exp.Table,
    asked: SelectParts,
    scope: Scope,
    tables: Mapping[str, DataFrame],
) -> SparkPart | None:
    """What chooses the rows of windows: joins, WHERE, columns that groups need; None takes all."""
    parts = {part: select.args[part] for part in _CHOOSING if select.args.get(part)}
    if not parts and not asked.computed:
        return None
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier(node.alias, quoted=True))
    added = [exp.alias_(tree.copy(), name, quoted=True) for name, tree in asked.computed.items()]
    chosen = exp.Select(expressions=[everything, *added], from_=select.args["from_"].copy())
    for part, value in parts.items():
        copied = [one.copy() for one in value] if isinstance(value, list) else value.copy()
        chosen.set(part, copied)
    return SparkPart.of(chosen, scope, tables)


def _roles(query: Query, windowing: Windowing, relation: Relation, asked: SelectParts) -> Roles:
    partition = windowing.by
    if partition is not None:
        partition = tuple(spelt(query, windowing, relation.df, name, "by") for name in partition)
    declared = relation.declared.by if relation.declared else ()
    return roles_of(query, windowing, partition, declared, asked.groups)


def _check_results(
    query: Query, asked: SelectParts, made: PlannedWindows, columns: Columns
) -> None:
    """Every column of the select list is one that results have."""
    names = {name.casefold() for name in made.df.columns}
    for tree in asked.expressions:
        for column in tree.find_all(exp.Column):
            if column.is_star or column.find_ancestor(exp.Lambda) is not None:
                continue
            own = (columns.bare(column) or column).parts[0].name
            if own.casefold() in names or _alias_in(asked.items, own):
                continue
            _refuse(query, column, own, columns, made.df.columns)


def _alias_in(items: Sequence[exp.Expr], name: str) -> bool:
    """ORDER BY may name an item of the select list."""
    return any(item.alias.casefold() == name.casefold() for item in items if item.alias)


def _refuse(
    query: Query, column: exp.Column, name: str, columns: Columns, results: Sequence[str]
) -> None:
    place = query.at(column)
    if columns.spelt(name) is not None:
        problem = f"{name} stands outside an aggregate and is not in GROUP BY"
        expected = f"GROUP BY {name}, or an aggregate such as max({name})"
        raise SqlError(problem, query.text, place, expected=expected)
    shown = [one for one in results if not one.startswith("_")]
    raise unknown_column(query, name, place, [*shown, *columns.names])


def _rewrite(select: exp.Select, node: exp.Table, asked: SelectParts) -> None:
    """The SELECT over results: HAVING has become a condition on rows."""
    results = exp.From(this=node.copy())
    for part in (*_CHOOSING, "group", "having"):
        select.set(part, None)
    select.set("from_", results)
    select.set("expressions", list(asked.items))
    if asked.having is not None:
        select.set("where", exp.Where(this=asked.having))
    select.set("order", asked.order)
