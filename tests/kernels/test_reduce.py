from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.grouping import (
    add_by_group,
    add_exactly_by_group,
    least_by_group,
)
from muntin.kernels.numbers.double_double import add_exactly

LONGS = st.integers(-(2**63), 2**63 - 1)
GROUPS = 4
#: Multiples of 2**-20 below 2**40, whose sums fit a double-double exactly.
COARSE = st.integers(-(2**60), 2**60).map(lambda n: float(n) * 2.0**-20)


@given(st.lists(st.tuples(st.integers(0, GROUPS - 1), LONGS), max_size=30))
def test_add(rows: list[tuple[int, int]]) -> None:
    group = np.array([g for g, _ in rows], np.int64)
    out = np.zeros(GROUPS, np.int64)
    add_by_group(group, np.array([v for _, v in rows], np.int64), out)
    sums = [sum(v for g, v in rows if g == place) for place in range(GROUPS)]
    assert out.tolist() == [(total + 2**63) % 2**64 - 2**63 for total in sums]


@given(st.lists(st.tuples(st.integers(0, GROUPS - 1), LONGS), max_size=30))
def test_least(rows: list[tuple[int, int]]) -> None:
    group = np.array([g for g, _ in rows], np.int64)
    out = np.full(GROUPS, 2**63 - 1)
    least_by_group(group, np.array([v for _, v in rows], np.int64), out)
    assert out.tolist() == [
        min((v for g, v in rows if g == place), default=2**63 - 1) for place in range(GROUPS)
    ]


@given(st.lists(st.tuples(st.integers(0, GROUPS - 1), COARSE), max_size=30))
def test_add_exactly(rows: list[tuple[int, float]]) -> None:
    group = np.array([g for g, _ in rows], np.int64)
    high = np.array([h for _, h in rows], np.float64)
    out_high, out_low = np.zeros(GROUPS), np.zeros(GROUPS)
    add_exactly_by_group(group, high, np.zeros(len(rows)), out_high, out_low)
    for place in range(GROUPS):
        exact = sum((Fraction(h) for g, h in rows if g == place), Fraction())
        assert Fraction(out_high[place]) + Fraction(out_low[place]) == exact
        assert out_high[place] == float(exact)


def test_low_parts_are_added() -> None:
    high, low = add_exactly(1.0, 2.0**-60, 1.0, 2.0**-60)
    assert (high, low) == (2.0, 2.0**-59)
    high, low = add_exactly(1.0, 2.0**-60, -1.0, 2.0**-60)
    assert (high, low) == (2.0**-59, 0.0)


def test_what_is_not_finite_absorbs() -> None:
    assert add_exactly(math.inf, 0.0, 1.0, 0.0) == (math.inf, 0.0)
    assert add_exactly(1e308, 0.0, 1e308, 0.0) == (math.inf, 0.0)
    high, low = add_exactly(math.inf, 0.0, -math.inf, 0.0)
    assert math.isnan(high)
    assert low == 0.0
