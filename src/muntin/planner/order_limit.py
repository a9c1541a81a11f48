"""ORDER BY and LIMIT on windows: the first rows of each, and the order of a stream's results.

Spark does not sort streams. All groups of a window are reported in the micro-batch that closes it,
so the rows of a micro-batch are enough for an order, and for the first n rows of every window.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from muntin.parser.errors import SqlError
from muntin.parser.statements import Query
from muntin.planner.aggregates import without_subqueries
from muntin.spark.columns import DataFrame

_RANK = "_rank"
_BOUNDS = ("window_start", "window_end", "frame_start", "frame_end")
_AROUND = "in a query around this one: SELECT ... FROM (SELECT ... LIMIT n PER WINDOW)"


def ranked(query: Query, tree: exp.Query, results: Mapping[str, DataFrame]) -> exp.Query:
    """``LIMIT n PER WINDOW``: rank rows within their window, and keep n of each."""
    name, node = _only(query, tree, results)
    assert isinstance(tree, exp.Select)
    bounds = [bound for bound in _bounds(query, name) if bound in results[name].columns]
    if not bounds:
        problem = "these rows lie in no windows, so no window has first rows"
        raise SqlError(problem, query.text, query.place, expected="LIMIT without PER WINDOW")
    order = tree.args.get("order")
    if order is None:
        problem = "LIMIT PER WINDOW takes the first rows, so it needs an order"
        raise SqlError(problem, query.text, query.place, expected="ORDER BY before LIMIT")
    _check_ranked(query, tree)
    place = exp.Window(
        this=exp.Anonymous(this="row_number", expressions=[]),
        partition_by=[exp.column(bound, quoted=True) for bound in bounds],
        order=_unaliased(order, tree),
    )
    inner = exp.Select(
        expressions=[exp.Star(), exp.alias_(place, _RANK)], from_=exp.From(this=node.copy())
    )
    if tree.args.get("where") is not None:
        inner.set("where", tree.args["where"].copy())
    # The columns one by one, so that a * of the query does not see the rank.
    first = exp.Select(
        expressions=[exp.column(column, quoted=True) for column in results[name].columns],
        from_=exp.From(this=inner.subquery(node.alias)),
        where=exp.Where(this=_among(tree)),
    )
    outer = tree.copy()
    assert isinstance(outer, exp.Select)
    for part in ("limit", "offset", "where"):
        outer.set(part, None)
    outer.set("from_", exp.From(this=first.subquery(node.alias)))
    return outer


def _check_ranked(query: Query, tree: exp.Select) -> None:
    """Raise if something is computed of all rows, which rows that LIMIT removes would change."""
    over = next((node for node in without_subqueries(tree) if isinstance(node, exp.Window)), None)
    parts = {"DISTINCT": tree.args.get("distinct"), "QUALIFY": tree.args.get("qualify")}
    for name, part in {**parts, "a window function": over}.items():
        if part is not None:
            problem = f"{name} counts before LIMIT PER WINDOW, and cannot be in the same SELECT"
            raise SqlError(problem, query.text, query.at(part), expected=f"{name} {_AROUND}")


def _check_micro_batch(query: Query, tree: exp.Query, bounds: Collection[str]) -> None:
    """Raise if rows of several micro-batches would have to be looked at together."""
    distinct = tree.args.get("distinct")
    if distinct is not None:
        problem = "a stream is sorted micro-batch by micro-batch, and DISTINCT is about all of them"
        raise SqlError(problem, query.text, query.at(distinct), expected="no ORDER BY")
    for over in (node for node in without_subqueries(tree) if isinstance(node, exp.Window)):
        partition = {column.name.lower() for column in over.args.get("partition_by") or []}
        if not partition & {*bounds}:
            problem = (
                "a stream is sorted micro-batch by micro-batch, "
                "and this window function looks at rows of several"
            )
            expected = "PARTITION BY window_end"
            raise SqlError(problem, query.text, query.at(over), expected=expected)


def _among(tree: exp.Select) -> exp.Expr:
    """Return the condition on kept ranks; OFFSET and LIMIT count in every window."""
    limit, offset = tree.args["limit"].expression.copy(), tree.args.get("offset")
    if offset is None:
        return exp.LTE(this=exp.column(_RANK), expression=limit)
    skipped = exp.paren(offset.expression.copy())
    last = exp.Add(this=exp.paren(limit), expression=skipped.copy())
    return exp.and_(
        exp.GT(this=exp.column(_RANK), expression=skipped),
        exp.LTE(this=exp.column(_RANK), expression=last),
    )


def split(query: Query, tree: exp.Query, results: Mapping[str, DataFrame]) -> tuple[str, exp.Query]:
    """Return the windows whose results are ordered, and the query over a micro-batch."""
    name, _ = _only(query, tree, results)
    limit = tree.args.get("limit")
    if limit is not None:
        problem = "a stream has no end, so it has no first rows"
        expected = "LIMIT n PER WINDOW, for the first rows of every window"
        raise SqlError(problem, query.text, query.at(limit), expected=expected)
    _check_micro_batch(query, tree, _bounds(query, name))
    return name, tree


def _bounds(query: Query, name: str) -> list[str]:
    """Return the columns that bound the windows of a relation, with their prefix."""
    windowing = query.windowings.get(name)
    prefix = "" if windowing is None else str(windowing.arguments.get("prefix", ""))
    return [prefix + bound for bound in _BOUNDS]


def _only(query: Query, tree: exp.Query, results: Mapping[str, DataFrame]) -> tuple[str, exp.Table]:
    """Return the only relation with windows of a plain SELECT."""
    nodes = [node for node in tree.find_all(exp.Table) if node.name in results]
    plain = isinstance(tree, exp.Select) and len(nodes) == 1 and not tree.args.get("joins")
    if not plain:
        problem = (
            "ORDER BY and LIMIT of a stream, and LIMIT PER WINDOW, need one SELECT over windows"
        )
        raise SqlError(problem, query.text, query.place, expected="them in that SELECT")
    return nodes[0].name, nodes[0]


def _unaliased(order: exp.Order, tree: exp.Select) -> exp.Order:
    """Return the order over results: replace names and numbers of the select list."""
    named = {item.alias.casefold(): item.this for item in tree.expressions if item.alias}
    replaced = order.copy()
    for ordered in replaced.expressions:
        term = ordered.this
        if isinstance(term, exp.Literal) and term.is_int:
            place = int(term.name) - 1
            if 0 <= place < len(tree.expressions):
                ordered.set("this", tree.expressions[place].unalias().copy())
        elif isinstance(term, exp.Column) and term.name.casefold() in named:
            ordered.set("this", named[term.name.casefold()].copy())
    return replaced
