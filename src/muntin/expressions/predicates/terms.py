"""Predicates as alternatives of terms: a term is satisfied if each of some parts is in its ranges.

A predicate is read for where it is true and for where it is false, which SQL's three values keep
apart: NOT swaps them, and AND is true where all operands are true, false where one is false. A
condition that is no comparison of a part with a constant is a part itself, compared with TRUE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from muntin.expressions.evaluate import Evaluation
from muntin.expressions.nodes import (
    COMPARISONS,
    All,
    Among,
    Comparison,
    Constant,
    Inner,
    Missing,
    Negation,
    Node,
    Slot,
    Text,
    about_rows,
    moved,
)
from muntin.expressions.predicates.compared_part import (
    ComparedPart,
    Order,
    constant_value,
    is_double,
    order_of,
    point_of,
)
from muntin.expressions.predicates.value_ranges import (
    ANY_VALUE,
    HIGHEST,
    LOWEST,
    NO_VALUE,
    ONLY_NULL,
    Point,
    ValueRanges,
    after,
    before,
)
from muntin.expressions.row_expression import RowExpression
from muntin.expressions.values import Value, column_of, from_arrow

#: Parts by their numbers, each with the ranges that it must be in.
Term = Mapping[int, ValueRanges]
Column = tuple[tuple[str, ...], pa.DataType]
#: A predicate with more alternatives than this is left to the evaluator as a whole.
MOST_TERMS = 16
_OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "<>", "<>": "="}
_TRUE, _FALSE = ValueRanges.between(before(1), HIGHEST), ValueRanges.between(LOWEST, before(1))


class TermReader:
    """Reads predicates into terms; equal parts of all predicates have one number."""

    def __init__(self) -> None:
        self.columns: dict[Column, int] = {}
        self.parts: list[ComparedPart] = []
        self._places: tuple[int, ...] = ()  # of the columns of the predicate that is read
        self._known: dict[tuple[int | str, bool], int] = {}
        self._numbers: dict[tuple[int | str, Order], int] = {}
        self._nodes: dict[int | str, Node] = {}

    def terms(self, predicate: RowExpression) -> list[Term]:
        """Return the terms of a predicate: it is true where one of them is satisfied."""
        columns = zip(predicate.paths, predicate.types, strict=True)
        self._places = tuple(self.columns.setdefault(c, len(self.columns)) for c in columns)
        return self._terms(predicate.node, True)

    def _terms(self, node: Node, wanted: bool) -> list[Term]:
        """Return where a condition is true, or where it is false."""
        match node:
            case Negation(operand):
                return self._terms(operand, not wanted)
            case All(operands):
                terms = [self._terms(operand, wanted) for operand in operands]
                found = _all_of(terms) if wanted else _one_of(terms)
                return found if len(found) <= MOST_TERMS else self._whole(node, wanted)
            case Comparison(sign, left, right):
                if _varies(left) and not _varies(right):
                    return self._comparison(sign, left, right, wanted)
                if _varies(right) and not _varies(left):
                    return self._comparison(COMPARISONS[sign], right, left, wanted)
            case Among(operand, items) if _varies(operand) and not any(map(_varies, items)):
                return self._among(node, operand, items, wanted)
            case Missing(operand) if _varies(operand):
                part = self._part(operand, as_double=False)
                return _term(part, ONLY_NULL if wanted else ANY_VALUE)
        if _varies(node):
            return self._whole(node, wanted)
        known = column_of(constant_value(node))[0].as_py()
        return [{}] if known is wanted else []

    def _whole(self, node: Node, wanted: bool) -> list[Term]:
        """Take a condition as a part itself."""
        return _term(self._number(node, "whole", 0), _TRUE if wanted else _FALSE)

    def _comparison(self, sign: str, operand: Node, constant: Node, wanted: bool) -> list[Term]:
        part = self._part(operand, as_double=is_double(constant))
        point = point_of(self.parts[part], constant)
        if sign == "<=>":
            null = ONLY_NULL if wanted == (point is None) else NO_VALUE
            if point is None:
                return _term(part, null if wanted else ANY_VALUE)
            return _term(part, _compared("=" if wanted else "<>", *point) | null)
        if point is None:
            return []
        return _term(part, _compared(sign if wanted else _OPPOSITES[sign], *point))

    def _among(self, node: Node, operand: Node, items: Sequence[Node], wanted: bool) -> list[Term]:
        as_double = {is_double(item) for item in items}
        if len(as_double) > 1:  # some are compared as doubles, and others exactly
            return self._whole(node, wanted)
        part = self._part(operand, *as_double)
        points = [point_of(self.parts[part], item) for item in items]
        equal = ValueRanges.points(point for point, exact in filter(None, points) if exact)
        if wanted:
            return _term(part, equal)
        return [] if None in points else _term(part, equal.others())

    def _part(self, operand: Node, as_double: bool) -> int:
        """Return the number of a part, in the order in which it is compared with constants."""
        key = self._key(operand), as_double
        if key not in self._known:
            order, scale = order_of(self._example(operand))
            if as_double:
                order, scale = "double", 0
            self._known[key] = self._number(operand, order, scale)
        return self._known[key]

    def _example(self, operand: Node) -> Value:
        """Return the values that a part has for no rows, for their type."""
        types = [type_ for _, type_ in self.columns]
        evaluation = Evaluation(lambda place: _empty(types[place]), _no_aggregate)
        return evaluation.value(moved(operand, self._places))

    def _number(self, node: Node, order: Order, scale: int) -> int:
        key = self._key(node), order
        if key not in self._numbers:
            self._numbers[key] = len(self.parts)
            shared = self._nodes.setdefault(key[0], moved(node, self._places))
            self.parts.append(ComparedPart(shared, order, scale))
        return self._numbers[key]

    def _key(self, node: Node) -> int | str:
        """Return what only equal nodes have in common; nodes with 1 and 1.0 are equal in Python."""
        if isinstance(node, Slot):
            return self._places[node.place]
        return repr(moved(node, self._places))


def _term(part: int, ranges: ValueRanges) -> list[Term]:
    return [] if ranges.is_empty else [{part: ranges}]


def _compared(sign: str, point: Point, exact: bool) -> ValueRanges:
    """Return the values that a comparison with a point is true for.

    If it is not exact, the constant lies between the point and the next.
    """
    low, high = before(point) if exact else after(point), after(point)
    match sign:
        case "<":
            return ValueRanges(((LOWEST, low),))
        case "<=":
            return ValueRanges(((LOWEST, high),))
        case ">":
            return ValueRanges(((high, HIGHEST),))
        case ">=":
            return ValueRanges(((low, HIGHEST),))
        case "=":
            return ValueRanges.between(low, high)
        case _:
            return ValueRanges.between(low, high).others()


def _varies(node: Node) -> bool:
    return not isinstance(node, Constant | Text) and about_rows(node)


def _one_of(alternatives: Sequence[list[Term]]) -> list[Term]:
    """Return all terms, where those on one and the same part are one."""
    alone: dict[int, list[ValueRanges]] = {}
    others: list[Term] = []
    for term in (term for terms in alternatives for term in terms):
        if len(term) == 1:
            ((part, ranges),) = term.items()
            alone.setdefault(part, []).append(ranges)
        else:
            others.append(term)
    joined = ({part: ValueRanges.any_of(ranges)} for part, ranges in alone.items())
    return [*joined, *others]


def _all_of(operands: Sequence[list[Term]]) -> list[Term]:
    """Return the terms that are in each operand; more than allowed may be too few of them."""
    certain, operands = _certain(operands)
    found: list[Term] = [] if certain is None else [certain]
    for terms in operands:
        both = [_both(left, right) for left in found for right in terms]
        found = [term for term in both if term is not None]
        if len(found) > MOST_TERMS:
            break
    return found


def _certain(operands: Sequence[list[Term]]) -> tuple[Term | None, list[list[Term]]]:
    """Return the term of all operands that have one, None if it cannot be; and the others."""
    ranges_of: dict[int, list[ValueRanges]] = {}
    for terms in operands:
        for part, ranges in terms[0].items() if len(terms) == 1 else ():
            ranges_of.setdefault(part, []).append(ranges)
    certain = {part: ValueRanges.all_of(ranges) for part, ranges in ranges_of.items()}
    others = [terms for terms in operands if len(terms) != 1]
    return None if any(r.is_empty for r in certain.values()) else certain, others


def _both(left: Term, right: Term) -> Term | None:
    joined = dict(left)
    for part, ranges in right.items():
        joined[part] = joined[part] & ranges if part in joined else ranges
        if joined[part].is_empty:
            return None
    return joined


def _empty(type_: pa.DataType) -> Value:
    return from_arrow(pa.array([], type_))


def _no_aggregate(node: Inner) -> Value:
    raise AssertionError(node)  # refused when the expression was compiled
