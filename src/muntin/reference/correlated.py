"""The definitions of correlated aggregates [CA-1 to CA-6] in plain Python.

A stream aggregate ``Agg(AGG, scope, P)`` reports at position ``i`` the aggregate of the rows of
``scope(i)`` that meet ``P``, and P may read all rows of the scope. Nothing is shared and nothing is
approximate: every position reads its whole scope as often as the nesting needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from muntin.errors import ArgumentError
from muntin.reference.aggregates import order

Rows = Sequence[Any]
#: The positions (from 0) that the output at a position reads.
Scope = Callable[[int], range]
#: Whether a row of a scope counts: true, false, or None for SQL's unknown.
Predicate = Callable[[Any, Rows], bool | None]
#: A value of a row; it may read the scope too.
Term = Callable[[Any, Rows], Any]


def full(i: int) -> range:
    """The full scope: all rows up to position ``i`` [CA-2]."""
    return range(0, i + 1)


def landmark(landmarks: Iterable[int]) -> Scope:
    """The scope from the last landmark on; empty before the first landmark [CA-3]."""
    starts = sorted(landmarks)

    def scope(i: int) -> range:
        passed = [start for start in starts if start <= i]
        return range(passed[-1], i + 1) if passed else range(0)

    return scope


def sliding(size: int) -> Scope:
    """The scope of the last ``size`` rows; fewer at the beginning [CA-4]."""
    if size < 1:
        raise ArgumentError("size", size, "a sliding scope holds at least one row")
    return lambda i: range(max(0, i - size + 1), i + 1)


def aggregate(
    function: Callable[[Sequence[Any]], Any], value: Term, predicate: Predicate, rows: Rows
) -> Any:
    """``AGG{value : row in rows and P(row, rows)}`` [CA-6]; a term, so levels nest [CA-5]."""
    return function([value(row, rows) for row in rows if predicate(row, rows) is True])


def stream_aggregate(
    function: Callable[[Sequence[Any]], Any],
    value: Term,
    predicate: Predicate,
    rows: Rows,
    scope: Scope,
) -> list[Any]:
    """Return one output for each input [CA-1]."""
    return [
        aggregate(function, value, predicate, [rows[j] for j in scope(i)]) for i in range(len(rows))
    ]


def compare(sign: str, left: Any, right: Any) -> bool | None:
    """Compare as SQL: unknown if a side is null; NaN equals NaN and is above all."""
    if sign == "<=>":
        return (left is None and right is None) or compare("=", left, right) is True
    if left is None or right is None:
        return None
    left_key, right_key = order(left), order(right)
    return {
        "=": left_key == right_key,
        "<>": left_key != right_key,
        "<": left_key < right_key,
        "<=": left_key <= right_key,
        ">": left_key > right_key,
        ">=": left_key >= right_key,
    }[sign]


def both(left: bool | None, right: bool | None) -> bool | None:
    """AND with three values."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def negation(holds: bool | None) -> bool | None:
    return None if holds is None else not holds


def either(left: bool | None, right: bool | None) -> bool | None:
    """OR with three values."""
    return negation(both(negation(left), negation(right)))
