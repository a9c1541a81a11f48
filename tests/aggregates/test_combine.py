"""Every kind of accumulator, for groups and for stretches, against plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.accumulators import AccumulatorKind
from muntin.kernels.grouping import Groups
from muntin.kernels.numbers.decimals import as_integers, limbs_of_decimals, limbs_of_integers
from muntin.operators.aggregation.combine_accumulators import combine, slide
from muntin.reference import aggregates
from muntin.reference.aggregates import order

#: For every kind: the rows that it combines, and the expected result for some of them.
Rows = list[Any]
COARSE = st.integers(-(2**60), 2**60).map(lambda n: float(n) * 2.0**-20)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.sampled_from([-(2**63), -1, 0, 2**63 - 2, 2**63 - 1]),
    pa.float64(): st.floats(),
    pa.string(): st.text("abé", max_size=2),
    pa.binary(): st.binary(max_size=2),
    pa.decimal128(10, 2): st.decimals(-99, 99, places=2),
    pa.date32(): st.dates(),
    pa.timestamp("us", tz="UTC"): st.datetimes(datetime(1900, 1, 1), timezones=st.just(UTC)),
}
TYPES = pytest.mark.parametrize("type_", VALUES, ids=str)


@st.composite
def grouped(draw: st.DrawFn, rows: int) -> list[list[int]]:
    """Draw rows in groups, none of them empty."""
    numbers = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    return [[r for r in range(rows) if numbers[r] == n] for n in sorted(set(numbers))]


@st.composite
def stretched(draw: st.DrawFn, rows: int) -> list[list[int]]:
    """Draw rows in stretches, none of them empty, whose ends only move forward."""
    lows = sorted(draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=8)))
    stretches, reached = [], 0
    for low in lows:
        reached = max(reached, draw(st.integers(low + 1, rows)))
        stretches.append(list(range(low, reached)))
    return stretches


def by_group(
    kind: AccumulatorKind, columns: Sequence[pa.Array], parts: list[list[int]]
) -> list[pa.Array]:
    number = np.empty(len(columns[0]), np.int64)
    for group, rows in enumerate(parts):
        number[rows] = group
    groups = Groups(number, np.array([rows[0] for rows in parts], np.int64))
    return combine(kind, columns, groups)


def by_stretch(
    kind: AccumulatorKind, columns: Sequence[pa.Array], parts: list[list[int]]
) -> list[pa.Array]:
    low = np.array([rows[0] for rows in parts], np.int64)
    high = np.array([rows[-1] + 1 for rows in parts], np.int64)
    return slide(kind, columns, low, high)


Way = tuple[Any, Callable[..., list[pa.Array]]]
WAYS = pytest.mark.parametrize(
    "way", [(grouped, by_group), (stretched, by_stretch)], ids=["combine", "slide"]
)


def same(column: pa.Array, expected: Sequence[Any]) -> bool:
    return [order(value) for value in column.to_pylist()] == [order(value) for value in expected]


@WAYS
def test_add(way: Way) -> None:
    draw_parts, reduce = way

    @settings(max_examples=60)
    @given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=15), st.data())
    def check(values: list[int], data: st.DataObject) -> None:
        parts = data.draw(draw_parts(len(values)))
        expected = [sum(values[row] for row in rows) for rows in parts]
        limbs = [pa.array(limb) for limb in limbs_of_integers(np.array(values))]
        limbs_of_sums = reduce(AccumulatorKind.ADD, limbs, parts)
        assert as_integers([column.to_numpy() for column in limbs_of_sums]) == expected
        assert all(0 <= low < 2**32 for low in limbs_of_sums[0].to_pylist())  # carries are settled
        counts = reduce(AccumulatorKind.ADD, [pa.array([1] * len(values))], parts)
        assert counts[0].to_pylist() == [len(rows) for rows in parts]

    check()


@WAYS
def test_add_decimals(way: Way) -> None:
    draw_parts, reduce = way

    @settings(max_examples=60)
    @given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1), min_size=1, max_size=15), st.data())
    def check(values: list[int], data: st.DataObject) -> None:
        parts = data.draw(draw_parts(len(values)))
        digits = [tuple(map(int, str(abs(value)))) for value in values]
        signs = [int(value < 0) for value in values]
        exact = [Decimal((s, d, 0)) for s, d in zip(signs, digits, strict=True)]
        limbs = [pa.array(limb) for limb in limbs_of_decimals(pa.array(exact, pa.decimal128(38)))]
        limbs_of_sums = reduce(AccumulatorKind.ADD, limbs, parts)
        assert as_integers([column.to_numpy() for column in limbs_of_sums]) == [
            sum(values[row] for row in rows) for rows in parts
        ]

    check()


@WAYS
def test_add_exactly(way: Way) -> None:
    draw_parts, reduce = way

    @settings(max_examples=60)
    @given(st.lists(COARSE, min_size=1, max_size=15), st.data())
    def check(values: list[float], data: st.DataObject) -> None:
        parts = data.draw(draw_parts(len(values)))
        columns = [pa.array(values), pa.array([0.0] * len(values))]
        high, low = reduce(AccumulatorKind.ADD_EXACTLY, columns, parts)
        sums = [Fraction(h.as_py()) + Fraction(w.as_py()) for h, w in zip(high, low, strict=True)]
        assert sums == [sum((Fraction(values[r]) for r in rows), Fraction()) for rows in parts]

    check()


@WAYS
@TYPES
def test_extremes(way: Way, type_: pa.DataType) -> None:
    draw_parts, reduce = way

    @settings(max_examples=40)
    @given(st.lists(st.one_of(st.none(), VALUES[type_]), min_size=1, max_size=12), st.data())
    def check(values: Rows, data: st.DataObject) -> None:
        parts = data.draw(draw_parts(len(values)))
        column = pa.array(values, type_)
        (least,) = reduce(AccumulatorKind.LEAST, [column], parts)
        (greatest,) = reduce(AccumulatorKind.GREATEST, [column], parts)
        assert least.type == greatest.type == type_
        assert same(least, [aggregates.least([values[r] for r in rows]) for rows in parts])
        assert same(greatest, [aggregates.greatest([values[r] for r in rows]) for rows in parts])

    check()


@WAYS
@TYPES
def test_edges(way: Way, type_: pa.DataType) -> None:
    """A row with a null tick does not count; a row with a null value does."""
    draw_parts, reduce = way
    ticks = st.one_of(st.none(), st.integers(0, 2), st.sampled_from([-(2**63), 2**63 - 1]))

    @settings(max_examples=40)
    @given(
        st.lists(st.tuples(ticks, st.one_of(st.none(), VALUES[type_])), min_size=1, max_size=12),
        st.data(),
    )
    def check(pairs: Rows, data: st.DataObject) -> None:
        parts = data.draw(draw_parts(len(pairs)))
        columns = [
            pa.array([tick for tick, _ in pairs], pa.int64()),
            pa.array([value for _, value in pairs], type_),
        ]
        for kind, pick, edge in (
            (AccumulatorKind.EARLIEST, aggregates.first, min),
            (AccumulatorKind.LATEST, aggregates.last, max),
        ):
            found_ticks, found_values = reduce(kind, columns, parts)
            kept = [[pairs[r] for r in rows if pairs[r][0] is not None] for rows in parts]
            assert found_ticks.to_pylist() == [
                edge((tick for tick, _ in some), default=None) for some in kept
            ]
            assert same(found_values, [pick(some) for some in kept])
            assert found_values.type == type_

    check()


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        (AccumulatorKind.ADD, [pa.array([], pa.int64())]),
        (AccumulatorKind.ADD, [pa.array([], pa.int64())] * 4),
        (AccumulatorKind.ADD_EXACTLY, [pa.array([], pa.float64())] * 2),
        (AccumulatorKind.LEAST, [pa.array([], pa.string())]),
        (AccumulatorKind.GREATEST, [pa.array([], pa.float64())]),
        (AccumulatorKind.EARLIEST, [pa.array([], pa.int64()), pa.array([], pa.string())]),
        (AccumulatorKind.LATEST, [pa.array([], pa.int64()), pa.array([], pa.string())]),
    ],
)
def test_nothing_stays_nothing(kind: AccumulatorKind, columns: list[pa.Array]) -> None:
    none = np.empty(0, np.int64)
    for combined in (combine(kind, columns, Groups(none, none)), slide(kind, columns, none, none)):
        assert [column.type for column in combined] == [column.type for column in columns]
        assert [len(column) for column in combined] == [0] * len(columns)


#   tick    5    5    5    7
#   value   b   null  a    c
def test_ties_go_to_the_least_value_and_null_is_least() -> None:
    columns = [pa.array([5, 5, 5, 7]), pa.array(["b", None, "a", "c"])]
    single_group = [[0, 1, 2, 3]]
    assert [c.to_pylist() for c in by_group(AccumulatorKind.EARLIEST, columns, single_group)] == [
        [5],
        [None],
    ]
    assert [c.to_pylist() for c in by_group(AccumulatorKind.LATEST, columns, single_group)] == [
        [7],
        ["c"],
    ]
    assert [c.to_pylist() for c in by_group(AccumulatorKind.LATEST, columns, [[0, 1, 2], [3]])] == [
        [5, 7],
        ["b", "c"],
    ]


def test_the_reduction_can_be_repeated() -> None:
    """Combining in two steps gives the same as combining in one."""
    columns = [pa.array(limb) for limb in limbs_of_integers(np.array([2**62] * 6))]
    halves = by_group(AccumulatorKind.ADD, columns, [[0, 1, 2], [3, 4, 5]])
    once = by_group(AccumulatorKind.ADD, columns, [[0, 1, 2, 3, 4, 5]])
    twice = by_group(AccumulatorKind.ADD, halves, [[0, 1]])
    assert [c.to_pylist() for c in twice] == [c.to_pylist() for c in once]
    assert as_integers([c.to_numpy() for c in once]) == [6 * 2**62]
