"""Translate a SELECT over the windows or frames of one relation: Muntin's part and Spark's.

Spark chooses rows (WHERE, joins with tables, computed groups) before the windows are made. Muntin
computes the aggregates. Spark then does the select list, HAVING and the rest, over one row for each
window and key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from muntin.aggregates.bind import synopsis_names
from muntin.parser.bracket import ARRIVAL
from muntin.parser.dialect import written
from muntin.parser.errors import SqlError
from muntin.parser.statements import Alignment, Query, Windowing
from muntin.planner.aggregates import any_aggregate, known_aggregates, own_columns, replaced
from muntin.planner.errors import located, unknown_column
from muntin.planner.psoup import choose, is_filter, resolved
from muntin.planner.relations import Columns, Relation, Scope, Subquery, open_relation, spelt
from muntin.planner.select import SelectParts, take_apart
from muntin.planner.spark_aggregates import check_call_of, check_no_spark_aggregate
from muntin.planner.spark_sql import SparkPart, evaluate
from muntin.planner.window_plans import (
    PlannedWindows,
    Roles,
    check_disorder,
    described,
    planned,
    roles_of,
)
from muntin.spark.columns import DataFrame
from muntin.spark.scan.worker_rows import WorkerRows

#: Windows for which rows may be joined before or after.
_JOINABLE = ("window", "tumbling", "landmark", "latch")
_CHOOSING = ("joins", "laterals", "where")


def translate_select(
    query: Query,
    select: exp.Select,
    node: exp.Table,
    scope: Scope,
    subquery: Subquery,
    inner: Mapping[str, DataFrame],
) -> PlannedWindows:
    """Return the results of windows, and change ``select`` to a SELECT over them.

    ``inner`` are the results of windows in its subqueries.
    """
    clause = query.windowings[node.name]
    _check_alias(query, node)
    arrival = any(column.name == ARRIVAL for column in select.find_all(exp.Column))
    relation = open_relation(query, clause, scope, subquery, arrival=arrival)
    declared = relation.declared.functions if relation.declared else {}
    functions = (*scope.functions, *declared)
    # Synopses are among them, so that they are refused by name.
    known = known_aggregates(functions) | frozenset(synopsis_names())
    if is_filter(clause, aggregated=any_aggregate(select, known)):
        choose(query, select, node, relation)
        return PlannedWindows(relation.df, None)
    windowing = resolved(query, clause, relation)
    others = list(_beside(select, node))
    _check_joins(query, others, windowing)
    names = [other.alias_or_name for other in others]
    columns = Columns(windowing.alias, relation.df.columns, names)
    grouped = windowing.method == "frames" and not windowing.fills
    parts = take_apart(query, select, columns, known, grouped=grouped)
    tables = {**inner, node.name: relation.df}
    before = _choosing(select, node, parts, scope, tables)
    rows = relation.rows
    if before is not None:
        with located(query, near=[before.tree]):
            rows = _chosen(rows, evaluate(before.tree, scope, tables), select, parts, columns)
    roles = _roles(query, windowing, relation, parts)
    with located(query, windowing):
        source = described(windowing, relation.table, rows, relation.on, roles.by, scope)
    check_disorder(query, windowing, source)
    results = planned(query, windowing, source, roles, parts, scope)
    if parts.aggregates or grouped:
        _check_pivots(query, node)
        for column, own in _outside(parts, results, columns):
            if windowing.method == "stored_frames":
                _check_renamed(query, windowing, column, columns.spelt(own), relation.on)
            check_call_of(query, column, node, scope, {node.name: relation.df}, known)
            _refuse(query, column, own, columns, results.df.columns)
    check_no_spark_aggregate(query, parts, node, scope, {**inner, node.name: results.df}, known)
    _rewrite(select, node, parts)
    return replace(results, before=before)


def _beside(select: exp.Select, node: exp.Table) -> Iterator[exp.Expr]:
    """Return the other relations of a SELECT."""
    joined = [join.this for join in select.args.get("joins") or []]
    relations = [select.args["from_"].this, *joined, *(select.args.get("laterals") or [])]
    yield from (relation for relation in relations if relation is not node)


def _check_alias(query: Query, node: exp.Table) -> None:
    """Raise if the alias of a relation renames columns, which would be those of results."""
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        problem = f"columns cannot be renamed in the alias of {alias.name}, which has windows"
        expected = "FROM (SELECT ... FROM ... AS a(x, y)) [...]"
        raise SqlError(problem, query.text, query.at(node), expected=expected)


def _check_pivots(query: Query, node: exp.Table) -> None:
    """Raise if results of windows are pivoted beside aggregates, which take rows."""
    if node.args.get("pivots"):
        problem = "PIVOT and UNPIVOT cannot be beside aggregates, GROUP BY or frames"
        expected = "them around the query: FROM (SELECT ... FROM ... [...]) PIVOT (...)"
        raise SqlError(problem, query.text, query.at(node), expected=expected)


def _check_joins(query: Query, others: Sequence[exp.Expr], windowing: Windowing) -> None:
    ours: dict[str, Windowing | Alignment] = {**query.windowings, **query.alignments}
    joined = [ours[other.name] for other in others if other.name in ours]
    if joined:
        problem = "two relations with windows cannot be joined directly"
        if isinstance(joined[0], Alignment):
            problem = f"windows and {joined[0].method}(...) cannot be joined directly"
        expected = "each in a query of its own: (SELECT ...) AS a JOIN (SELECT ...) AS b"
        raise SqlError(problem, query.text, joined[0].place, expected=expected)
    if others and windowing.method not in _JOINABLE:
        problem = (
            "rows that are joined before they are counted would be counted twice or not at all"
        )
        expected = "the join around the query: (SELECT ... FROM ... [...]) AS w JOIN ..."
        raise SqlError(problem, query.text, query.at(others[0]), expected=expected)


def _choosing(
    select: exp.Select,
    node: exp.Table,
    parts: SelectParts,
    scope: Scope,
    tables: Mapping[str, DataFrame],
) -> SparkPart | None:
    """Return what chooses the rows of windows: joins, WHERE, computed groups; None if nothing."""
    choosing = {part: select.args[part] for part in _CHOOSING if select.args.get(part)}
    if not choosing and not parts.computed:
        return None
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier(node.alias, quoted=True))
    added = [exp.alias_(tree.copy(), name, quoted=True) for name, tree in parts.computed.items()]
    chosen = exp.Select(expressions=[everything, *added], from_=select.args["from_"].copy())
    for part, value in choosing.items():
        copied = [item.copy() for item in value] if isinstance(value, list) else value.copy()
        chosen.set(part, copied)
    return SparkPart.of(chosen, scope, tables)


def _chosen(
    rows: DataFrame | WorkerRows,
    chosen: DataFrame,
    select: exp.Select,
    parts: SelectParts,
    columns: Columns,
) -> DataFrame | WorkerRows:
    """Return the chosen rows; of files that only a WHERE chooses from, workers may read them."""
    if not isinstance(rows, WorkerRows):
        return chosen
    if select.args.get("joins") or select.args.get("laterals"):
        return rows.left_to_spark(chosen, "Spark joins the rows before windows are made")
    if parts.computed:
        return rows.left_to_spark(chosen, "Spark computes a group before windows are made")
    condition = replaced(select.args["where"].this, columns.bare)
    return rows.chosen(chosen, written(condition))


def _roles(query: Query, windowing: Windowing, relation: Relation, parts: SelectParts) -> Roles:
    partition = windowing.by
    if partition is not None:
        partition = tuple(spelt(query, windowing, relation.df, name, "by") for name in partition)
    elif windowing.method == "stored_frames" and relation.declared is None:
        problem = "it is not clear by which columns rows are matched with these frames"
        expected = "PATTR column, PATTR NONE, or a stream that was declared with BY"
        raise SqlError(problem, query.text, windowing.place, expected=expected)
    declared = relation.declared.by if relation.declared else ()
    return roles_of(query, windowing, partition, declared, parts.groups)


def _outside(
    parts: SelectParts, results: PlannedWindows, columns: Columns
) -> Iterator[tuple[exp.Column, str]]:
    """Yield columns of the select list that are not in the results, and their names."""
    names = {name.casefold() for name in results.df.columns}
    for tree in parts.expressions:
        for column in own_columns(tree):
            if column.is_star or column.find_ancestor(exp.Lambda) is not None:
                continue
            own = (columns.bare(column) or column).parts[0].name
            if own.casefold() not in names and not _alias_in(parts.items, own):
                yield column, own


def _alias_in(items: Sequence[exp.Expr], name: str) -> bool:
    """Return whether a name is an alias of the select list, which ORDER BY may use."""
    return any(item.alias.casefold() == name.casefold() for item in items if item.alias)


def _check_renamed(
    query: Query, windowing: Windowing, column: exp.Column, own: str | None, start: str
) -> None:
    """Raise if a column is a bound of stored frames, which has another name in the results."""
    if own is not None:
        bound = "frame_start" if own == start else "frame_end"
        problem = f"{own} has another name in the results of these frames"
        expected = f"{windowing.arguments.get('prefix', '')}{bound}"
        raise SqlError(problem, query.text, query.at(column), expected=expected)


def _refuse(
    query: Query, column: exp.Column, name: str, columns: Columns, results: Sequence[str]
) -> None:
    place = query.at(column)
    if columns.spelt(name) is not None:
        problem = f"{name} is outside an aggregate and not in GROUP BY"
        expected = f"GROUP BY {name}, or an aggregate such as max({name})"
        raise SqlError(problem, query.text, place, expected=expected)
    shown = [column for column in results if not column.startswith("_")]
    raise unknown_column(query, name, place, [*shown, *columns.names])


def _rewrite(select: exp.Select, node: exp.Table, parts: SelectParts) -> None:
    """Change the SELECT to one over results, in which HAVING is a WHERE."""
    results = exp.From(this=node.copy())
    for part in (*_CHOOSING, "group", "having"):
        select.set(part, None)
    select.set("from_", results)
    select.set("expressions", list(parts.items))
    if parts.having is not None:
        select.set("where", exp.Where(this=parts.having))
    select.set("order", parts.order)
    for name, other in parts.others.items():
        select.set(name, other)
