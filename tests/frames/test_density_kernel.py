"""Density frames against the union of windows, computed interval by interval."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.kernels.arrays import NEVER
from muntin.kernels.frames.density import (
    BEGINS,
    JOINS,
    OUTSIDE,
    decided,
    flag,
    needed,
    over,
    windows_of,
)
from muntin.kernels.numbers.order_keys import doubles_order
from muntin.kernels.ticks import shift_order
from muntin.specs.axis import Axis, Domain

Ints = npt.NDArray[np.int64]
WHOLE = Axis(Domain.INTEGER)
TENTHS = Axis(Domain.DOUBLE, digits=1)
#: A key: rows as (place, value), in rising order of place.
Key = list[tuple[int, int]]


def ints(values: object) -> Ints:
    return np.array(values, np.int64)


def orders(places: list[int], axis: Axis) -> Ints:
    if axis.domain is Domain.DOUBLE:
        return doubles_order(np.array(places, np.float64) / 10)
    return ints(places)


def values_on(places: list[int], axis: Axis) -> list[Fraction]:
    """Return the exact places on the axis."""
    return [Fraction(p / 10) if axis.domain is Domain.DOUBLE else Fraction(p) for p in places]


def begin(value: Fraction, axis: Axis, per: int) -> Fraction:
    """Return where the window of a value begins; on doubles with double arithmetic."""
    if axis.domain is Domain.DOUBLE:
        return Fraction(float(value) - per / 10)
    return value - per


def satisfies(held: int, limit: int) -> bool:
    """Return True for at least the limit; a limit below zero means at most its absolute value."""
    return held >= limit if limit > 0 else held <= -limit


def wanted(key: Key, axis: Axis, per: int, limit: int) -> list[int]:
    """Return the flag of each row, by joining satisfying windows that overlap or touch."""
    on = values_on([place for place, _ in key], axis)
    union: list[tuple[Fraction, Fraction]] = []
    for end in on:
        start = begin(end, axis, per)
        held = sum(x for v, (_, x) in zip(on, key, strict=True) if start < v <= end)
        if not satisfies(held, limit):
            continue
        while union and union[-1][1] >= start:
            start = min(start, union.pop()[0])
        union.append((start, end))
    part = [next((n for n, (a, b) in enumerate(union) if a < v <= b), -1) for v in on]
    before = [-1, *part][: len(part)]
    return [
        OUTSIDE if mine < 0 else JOINS if mine == last else BEGINS
        for mine, last in zip(part, before, strict=True)
    ]


def satisfied_rows(order: Ints, low: Ints, value: list[int], limit: int) -> npt.NDArray[np.bool_]:
    return np.array(
        [satisfies(sum(value[first : row + 1]), limit) for row, first in enumerate(low.tolist())],
        np.bool_,
    )


KEY = st.lists(
    st.tuples(st.integers(-5, 25), st.integers(0, 3)), max_size=14, unique_by=lambda row: row[0]
).map(sorted)
LIMITS = st.integers(-3, 6)
AXES = st.sampled_from([WHOLE, TENTHS])


def test_windows_that_touch_are_one_frame() -> None:
    """
    on      1  2        5     7     9
    value   1  1        1     1     1       at least 2 within 3: (-1, 2], (4, 7], (6, 9]
    """
    starts, order = ints([0, 5]), ints([1, 2, 5, 7, 9])
    low = windows_of(starts, order, WHOLE, 3)
    assert low.tolist() == [0, 0, 2, 2, 3]
    satisfied = satisfied_rows(order, low, [1] * 5, 2)
    action = flag(starts, order, order - 3, satisfied)
    assert action.tolist() == [BEGINS, JOINS, BEGINS, JOINS, JOINS]
    # (2, 5] touches (-1, 2], but begins a frame because nothing ends at 2.
    touching = flag(starts, order, order - 3, np.array([0, 1, 1, 0, 0], np.bool_))
    assert touching.tolist() == [BEGINS, JOINS, JOINS, OUTSIDE, OUTSIDE]
    alone = flag(starts, order, order - 3, np.array([0, 0, 1, 0, 0], np.bool_))
    assert alone.tolist() == [OUTSIDE, OUTSIDE, BEGINS, OUTSIDE, OUTSIDE]


def test_the_window_of_the_last_decided_row_is_held() -> None:
    """
    on      1  2        5
    value   1  1        2       at least 2 within 3: (-1, 2] and (2, 5] touch
    """
    given_ = ints([0, 3]), ints([1, 2, 5]), ints([6]), False, WHOLE, 3
    assert decided(*given_).tolist() == [2]
    assert needed(*given_).tolist() == [0]


def test_nothing_given() -> None:
    none = ints([])
    assert windows_of(ints([0]), none, WHOLE, 3).tolist() == []
    assert flag(ints([0]), none, none, np.array([], np.bool_)).tolist() == []
    for ended in (True, False):
        given_ = ints([0, 0]), none, ints([7]), ended, WHOLE, 3
        assert decided(*given_).tolist() == needed(*given_).tolist() == [0]
        assert over(*given_).tolist() == [True]


def test_nothing_is_decided_before_a_punctuation() -> None:
    given_ = ints([0, 2]), ints([1, 9]), ints([NEVER]), False, WHOLE, 3
    assert decided(*given_).tolist() == needed(*given_).tolist() == [0]
    assert over(*given_).tolist() == [False]


@settings(max_examples=300)
@given(st.lists(KEY, min_size=1, max_size=3), AXES, st.integers(1, 9), LIMITS)
def test_flag(keys: list[Key], axis: Axis, per: int, limit: int) -> None:
    starts = ints([0, *itertools.accumulate(map(len, keys))])
    rows = [row for key in keys for row in key]
    order = orders([place for place, _ in rows], axis)
    low = windows_of(starts, order, axis, per)
    satisfied = satisfied_rows(order, low, [value for _, value in rows], limit)
    action = flag(starts, order, shift_order(order, axis, -per), satisfied)
    assert action.tolist() == [a for key in keys for a in wanted(key, axis, per, limit)]


@settings(max_examples=300)
@given(KEY, AXES, st.integers(1, 9), LIMITS, st.data())
def test_any_split_decides_the_same(
    key: Key, axis: Axis, per: int, limit: int, data: st.DataObject
) -> None:
    punctuations = sorted(data.draw(st.lists(st.integers(-6, 35), max_size=8)))
    told: list[int] = []
    held: Key = []
    known = before = 0  # rows so far, and how many of the held ones are decided
    for step, complete in enumerate([*punctuations, 0]):
        ended = step == len(punctuations)
        upto = len(key) if ended else sum(place < complete for place, _ in key)
        rows = held + key[known:upto]
        known = upto
        starts, order = ints([0, len(rows)]), orders([place for place, _ in rows], axis)
        low = windows_of(starts, order, axis, per)
        satisfied = satisfied_rows(order, low, [value for _, value in rows], limit)
        action = flag(starts, order, shift_order(order, axis, -per), satisfied).tolist()
        given_ = starts, order, orders([complete], axis), ended, axis, per
        (certain,), (first,), (closed,) = decided(*given_), needed(*given_), over(*given_)
        assert certain >= before
        told += action[before:certain]
        if closed and not ended:
            assert wanted(key, axis, per, limit)[known : known + 1] in ([], [OUTSIDE], [BEGINS])
        held, before = rows[first:], max(0, certain - first)
    assert told == wanted(key, axis, per, limit)
    assert held == []
