"""Conditions from SQL: on the aggregates of a frame, and on one row or two.

``"sum(vehicles) >= 100"`` decides about a frame, ``"next.x > prev.x"`` about a pair of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from muntin.aggregates.bind import has_aggregates, parse_condition_tree
from muntin.aggregates.functions import Aggregate, Correlated
from muntin.aggregates.parse import NO_FUNCTIONS, Own, aggregate_of, hint
from muntin.errors import ArgumentError, ExpressionError
from muntin.expressions.dialect import constant, nesting_limit, parse_expression
from muntin.expressions.nodes import COMPARISONS, Comparison, Node, Slot, conjuncts, moved, walk
from muntin.expressions.read import (
    ConditionReader,
    NeighbourExpression,
    OneRowExpression,
    read_columnwise,
    read_two_rows,
    read_with_previous,
    reads_previous,
)

#: The signs of comparisons: as written, and with the sides swapped.
_COMPARED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
}


def parse_comparison(text: object, own: Own = NO_FUNCTIONS) -> tuple[Aggregate, str, Decimal]:
    """Read an aggregate compared with a number: ``"sum(vehicles) >= 100"``.

    >>> aggregate, sign, limit = parse_comparison("100 <= sum(vehicles)")
    >>> print(aggregate, sign, limit)
    sum(vehicles) >= 100
    """
    if not isinstance(text, str):
        raise ArgumentError("condition", text, "write SQL text such as 'sum(vehicles) >= 100'")
    with nesting_limit(text):
        compared = _comparison(parse_expression(text).unnest(), text, own)
    if compared is None:
        usage = "compare one aggregate with a number, such as 'sum(vehicles) >= 100'"
        raise ExpressionError(usage, text)
    return compared


def _comparison(tree: exp.Expr, text: str, own: Own) -> tuple[Aggregate, str, Decimal] | None:
    """Return an aggregate, a sign and a number; None if the tree is something else."""
    if type(tree) not in _COMPARED:
        return None
    signs = _COMPARED[type(tree)]
    left, right = tree.this.unnest(), tree.expression.unnest()
    for side, other, sign in ((left, right, signs[0]), (right, left, signs[1])):
        try:
            limit = constant(other)
        except ArgumentError:
            continue
        aggregate = aggregate_of(side, text, own)
        number = isinstance(limit, int | float | Decimal) and not isinstance(limit, bool)
        if aggregate is not None and number and Decimal(str(limit)).is_finite():
            return aggregate, sign, Decimal(str(limit))
    return None


@dataclass(frozen=True)
class FrameCondition:
    """A condition on the aggregates of a frame.

    Slots of ``where`` are the places of ``aggregates``, and the one after them is ``duration``, the
    last ``on`` minus the first. ``signs`` are those of its comparisons, with the constant on the
    right; None if something other than AND joins comparisons.
    """

    text: str
    aggregates: tuple[Aggregate, ...]
    where: Node
    signs: tuple[str, ...] | None


def parse_frame_condition(
    text: object, own: Own = NO_FUNCTIONS
) -> tuple[Aggregate, str, Decimal] | FrameCondition:
    """Read a condition on a frame: one comparison of an aggregate with a number, or any other.

    >>> parse_frame_condition("sum(v) >= 100 AND 5 <= count(*)").signs
    ('>=', '>=')
    """
    if not isinstance(text, str):
        raise ArgumentError("condition", text, "write SQL text such as 'sum(vehicles) >= 100'")
    with nesting_limit(text):
        tree = parse_expression(text).unnest()
        compared = _comparison(tree, text, own)
        return _frame_condition(tree, text, own) if compared is None else compared


def _frame_condition(tree: exp.Expr, text: str, own: Own) -> FrameCondition:
    aggregates: list[Aggregate] = []

    def inner(part: exp.Expr) -> Node | None:
        if isinstance(part, exp.Column):
            if part.name.lower() == "duration" and len(part.parts) == 1:
                return Slot(-1)
            why = "stands outside an aggregate; of a frame as a whole there is only duration"
            raise ExpressionError(f"column {part.name!r} {why}", text, text.find(part.name))
        aggregate = aggregate_of(part, text, own)
        if aggregate is None:
            return None
        if isinstance(aggregate, Correlated):
            raise ExpressionError("a correlated aggregate cannot decide about frames", text)
        if aggregate not in aggregates:
            aggregates.append(aggregate)
        return Slot(aggregates.index(aggregate))

    if not has_aggregates(tree, own) and not any(
        column.name.lower() == "duration" for column in tree.find_all(exp.Column)
    ):
        usage = "compare one aggregate with a number, such as 'sum(vehicles) >= 100', or several"
        raise ExpressionError(f"{usage}, such as 'sum(a) / sum(b) >= 2'{hint(tree, own)}", text)
    where = ConditionReader(text, lambda part: False, inner).node(tree)
    # ``duration`` is the slot after the aggregates.
    where = moved(where, tuple(range(len(aggregates) + 1)))
    return FrameCondition(text, tuple(aggregates), where, _signs(where))


def _signs(where: Node) -> tuple[str, ...] | None:
    """Return the signs of comparisons that AND joins; None if there is anything else."""
    signs = []
    for part in conjuncts(where):
        if not isinstance(part, Comparison):
            return None
        is_swapped = not any(isinstance(node, Slot) for node in walk(part.left))
        signs.append(COMPARISONS[part.sign] if is_swapped else part.sign)
    return tuple(signs)


def parse_bridge(text: str, zone: str = "UTC") -> tuple[Node, list[str]]:
    """Read a condition for which Spark only delivers the columns (``"left.x > right.x"``).

    Returns the tree, in which columns are slots, and the columns as they were written. ``zone`` is
    the session's time zone, in which Spark's SQL reads timestamps.
    """
    with nesting_limit(text):
        return read_columnwise(parse_condition_tree(text), text, zone)


def parse_two_rows(text: str, zone: str = "UTC") -> tuple[Node, list[OneRowExpression]]:
    """Read a condition on two rows (``"prev.x % 2 = 1 AND next.x > prev.x"``).

    Returns the tree and its slots. Each part that reads only one of the rows is a slot.
    """
    with nesting_limit(text):
        return read_two_rows(parse_condition_tree(text), text, zone)


def parse_with_previous(
    text: str, zone: str = "UTC", *, columnwise: bool = False
) -> tuple[Node, list[NeighbourExpression]] | None:
    """Read a condition on a row and the row before it (``"x > prev.x"``).

    Returns the tree and its slots: the parts that read one row, or if ``columnwise`` the columns.
    Returns None if the condition does not read the row before; Spark evaluates it as it is.
    """
    with nesting_limit(text):
        tree = parse_condition_tree(text)
        if not reads_previous(tree):
            return None
        return read_with_previous(tree, text, zone, columnwise=columnwise)
