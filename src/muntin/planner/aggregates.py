"""Find the aggregates of a window in expressions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from muntin.aggregates.bind import sql_aggregates

_AROUND = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def known_aggregates(own: Collection[str] = ()) -> frozenset[str]:
    """Return the names of Muntin's aggregates and of a stream's own."""
    return frozenset((*sql_aggregates(), *own))


def is_aggregate(node: exp.Expr, known: Collection[str]) -> bool:
    """Return whether a node is a call of an aggregate, perhaps with FILTER around it."""
    if isinstance(node, _AROUND):
        return is_aggregate(node.this, known)
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        return False  # OVER makes it a window function of the results
    if isinstance(node, exp.Any | exp.All):
        return not isinstance(node.parent, exp.Like | exp.ILike)
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in known


@dataclass
class FoundAggregates:
    """The aggregates of expressions, each replaced there by the name of its column."""

    known: Collection[str]
    found: list[exp.Expr] = field(default_factory=list)

    def without(self, tree: exp.Expr) -> exp.Expr:
        """Return the expression with its aggregates replaced by names; keep each aggregate once."""

        def placed(node: exp.Expr) -> exp.Expr:
            if not is_aggregate(node, self.known) or in_subquery(node):
                return node
            if node not in self.found:
                self.found.append(node.copy())
            return exp.column(name_of(self.found.index(node)), quoted=True)

        return tree.transform(placed)


def name_of(place: int) -> str:
    """Return the column of an aggregate's results."""
    return f"_aggregate_{place}"


def any_aggregate(tree: exp.Expr, known: Collection[str]) -> bool:
    """Return whether an aggregate is in a tree; one in a subquery belongs to the subquery."""
    return any(is_aggregate(node, known) for node in without_subqueries(tree))


def without_subqueries(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes of a tree that are not in a subquery of it."""
    return tree.walk(prune=lambda node: node is not tree and isinstance(node, exp.Query))


def own_columns(tree: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns of a tree that are not in a subquery of it."""
    return (node for node in without_subqueries(tree) if isinstance(node, exp.Column))


def in_subquery(node: exp.Expr) -> bool:
    """Return whether a node of an expression is in a subquery of the expression."""
    return node.find_ancestor(exp.Query) is not None


def replaced(tree: exp.Expr, change: Callable[[exp.Column], exp.Expr | None]) -> exp.Expr:
    """Return the expression with columns replaced; None leaves a column as it is.

    Columns of subqueries stay: Spark finds out whose they are.
    """

    def placed(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or in_subquery(node):
            return node
        if node.find_ancestor(exp.Lambda) is not None:
            return node
        new = change(node)
        return node if new is None else new

    return tree.transform(placed)
