"""The definitions of correlated aggregates, on examples small enough to check by eye."""

from __future__ import annotations

import math

import pytest

from muntin.errors import ArgumentError
from muntin.reference.correlated import (
    aggregate,
    both,
    compare,
    either,
    full,
    landmark,
    negation,
    sliding,
    stream_aggregate,
)


def test_scopes() -> None:
    assert [list(full(i)) for i in range(3)] == [[0], [0, 1], [0, 1, 2]]
    assert [list(sliding(2)(i)) for i in range(3)] == [[0], [0, 1], [1, 2]]
    days = landmark([1, 3])
    assert [list(days(i)) for i in range(5)] == [[], [1], [1, 2], [3], [3, 4]]
    with pytest.raises(ArgumentError, match="at least one row"):
        sliding(0)


def above_average(row: int, rows: list[int]) -> bool:
    return row > sum(rows) / len(rows)


#   rows        4   2   9   1   6
#   average     4   3   5   4  4.4      everything so far
#   above       -   4   9   9  9,6
def test_one_output_for_each_input() -> None:
    rows = [4, 2, 9, 1, 6]
    own = lambda row, _: row  # noqa: E731
    assert stream_aggregate(len, own, above_average, rows, full) == [0, 1, 1, 1, 2]
    assert stream_aggregate(sum, own, above_average, rows, full) == [0, 4, 9, 9, 15]
    assert stream_aggregate(sum, own, above_average, rows, sliding(2)) == [0, 4, 9, 9, 6]
    assert stream_aggregate(len, own, above_average, rows, landmark([2])) == [0, 0, 0, 1, 2]


def test_levels_nest() -> None:
    """Level 2: above the mean (7.5) of those above the mean (4.4)."""
    rows = [4, 2, 9, 1, 6]

    def above_the_high(row: int, scope: list[int]) -> bool:
        high = aggregate(lambda v: sum(v) / len(v), lambda r, _: r, above_average, scope)
        return bool(row > high)

    assert aggregate(list, lambda row, _: row, above_the_high, rows) == [9]


@pytest.mark.parametrize(
    ("sign", "left", "right", "holds"),
    [
        ("<", 1, 2, True),
        ("<=", 2, 2, True),
        (">", math.nan, math.inf, True),
        ("=", math.nan, math.nan, True),
        ("<>", 0.0, -0.0, False),
        (">=", None, 1, None),
        ("=", None, None, None),
        ("<=>", None, None, True),
        ("<=>", None, 1, False),
        ("<=>", 1, 1, True),
        ("<", "B", "a", True),
    ],
)
def test_comparisons(sign: str, left: object, right: object, holds: bool | None) -> None:
    assert compare(sign, left, right) is holds


def test_three_values() -> None:
    values = (True, False, None)
    assert [both(True, v) for v in values] == [True, False, None]
    assert [both(None, v) for v in values] == [None, False, None]
    assert [either(False, v) for v in values] == [True, False, None]
    assert [either(None, v) for v in values] == [True, None, None]
    assert [negation(v) for v in values] == [False, True, None]
