"""Pairs of doubles against exact fractions; ``rounding`` derives the bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from muntin.kernels.grouping import add_exactly_by_group
from muntin.kernels.numbers import double_double as dd
from tests.aggregates.rounding import (
    MODERATE,
    QUOTIENT_ERROR,
    U,
    exactly,
    sum_error,
    within,
)

NONZERO = MODERATE.filter(bool)


def array(*values: float) -> Any:
    return np.array(values, np.float64)


def fraction(pair: dd.Pair) -> Fraction:
    high, low = pair
    return Fraction(float(high[0])) + Fraction(float(low[0]))


def summed(values: Sequence[float]) -> dd.Pair:
    """Add values as panes add rows: one after the other, in double-double."""
    group = np.zeros(len(values), np.int64)
    high, low = np.zeros(1), np.zeros(1)
    add_exactly_by_group(group, np.array(values), np.zeros(len(values)), high, low)
    return high, low


# -- the exact steps -------------------------------------------------------------------------------


@given(MODERATE, MODERATE)
def test_a_sum_and_its_error_are_the_exact_sum(left: float, right: float) -> None:
    pair = dd.two_sum(array(left), array(right))
    assert fraction(pair) == Fraction(left) + Fraction(right)
    assert pair[0][0] == left + right


@given(MODERATE, MODERATE)
def test_a_product_and_its_error_are_the_exact_product(left: float, right: float) -> None:
    pair = dd.two_product(array(left), array(right))
    assert fraction(pair) == Fraction(left) * Fraction(right)
    assert pair[0][0] == left * right


@given(MODERATE)
def test_a_square_is_exact(value: float) -> None:
    assert fraction(dd.square(array(value))) == Fraction(value) ** 2


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
def test_integers_are_exact(high: int, low: int) -> None:
    pair = dd.of_integers(np.array([high]), np.array([low]))
    assert fraction(pair) == high * 2**32 + low


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [(1e308, 1e308, math.inf), (-1e308, -1e308, -math.inf), (math.inf, 1.0, math.inf)],
)
def test_an_infinite_sum_has_no_error_term(left: float, right: float, total: float) -> None:
    high, low = dd.two_sum(array(left), array(right))
    assert (high[0], low[0]) == (total, 0.0)


def test_nan_stays_nan() -> None:
    for left, right in ((math.nan, 1.0), (math.inf, -math.inf)):
        high, low = dd.two_sum(array(left), array(right))
        assert math.isnan(high[0])
        assert low[0] == 0.0


@pytest.mark.parametrize("value", [1.4e300, -1.4e300, 1.7e308])
def test_a_product_whose_halves_overflow_has_no_error_term(value: float) -> None:
    high, low = dd.two_product(array(value), array(1.5e-3))
    assert (high[0], low[0]) == (value * 1.5e-3, 0.0)


# -- sums ------------------------------------------------------------------------------------------


@given(st.lists(MODERATE, min_size=1, max_size=40), st.randoms())
def test_a_sum_is_rounded_once_whatever_the_order(values: list[float], order: Any) -> None:
    exact = exactly(values)
    for _ in range(4):
        high, low = summed(values)
        assert abs(fraction((high, low)) - exact) <= sum_error(values)
        assert within(float(high[0] + low[0]), exact, sum_error(values))
        order.shuffle(values)


#: Multiples of 2**-20 below 2**40: every partial sum and error term fits a pair exactly.
COARSE = st.integers(-(2**60), 2**60).map(lambda n: float(n) * 2.0**-20)


@given(st.lists(COARSE, min_size=1, max_size=60), st.randoms())
def test_sums_that_fit_106_bits_do_not_depend_on_order_at_all(
    values: list[float], order: Any
) -> None:
    for _ in range(4):
        assert fraction(summed(values)) == exactly(values)
        order.shuffle(values)


def test_a_thousand_doubles_in_a_hundred_orders() -> None:
    order = random.Random(1)
    values = [order.uniform(-1e3, 1e3) for _ in range(1000)]
    exact = exactly(values)
    # Not near the middle of two doubles, where the bound could not decide which is nearer.
    assert float(exact - sum_error(values)) == float(exact + sum_error(values))
    for _ in range(100):
        order.shuffle(values)
        high, low = summed(values)
        assert high[0] + low[0] == math.fsum(values) == float(exact)


# -- quotients -------------------------------------------------------------------------------------


@given(NONZERO, st.floats(-1, 1), st.integers(1, 2**52))
def test_a_quotient_is_rounded_once(high: float, part: float, count: int) -> None:
    low = part * high * 2.0**-53
    exact = (Fraction(high) + Fraction(low)) / count
    result = float(dd.divide((array(high), array(low)), array(float(count)))[0])
    assert within(result, exact, abs(exact) * QUOTIENT_ERROR)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_the_mean_of_integers_is_rounded_once(values: list[int]) -> None:
    total, count = sum(values), len(values)
    assume(-(2**84) < total < 2**84)
    pair = dd.of_integers(np.array([total >> 32]), np.array([total & 0xFFFFFFFF]))
    mean = float(dd.divide(pair, array(float(count)))[0])
    exact = Fraction(total, count)
    assert within(mean, exact, abs(exact) * QUOTIENT_ERROR)


@pytest.mark.parametrize(
    ("high", "divisor", "quotient"),
    [(math.inf, 2.0, math.inf), (-math.inf, 2.0, -math.inf), (1.0, 0.0, math.inf)],
)
def test_an_infinite_quotient(high: float, divisor: float, quotient: float) -> None:
    assert dd.divide((array(high), array(0.0)), array(divisor))[0] == quotient


def test_a_quotient_that_is_no_number() -> None:
    assert math.isnan(dd.divide((array(math.nan), array(0.0)), array(2.0))[0])
    assert math.isnan(dd.divide((array(0.0), array(0.0)), array(0.0))[0])


# -- the spread of values --------------------------------------------------------------------------


@given(NONZERO, st.floats(-1, 1), st.integers(1, 2**26))
def test_a_pair_times_a_count(high: float, part: float, count: int) -> None:
    """The high product is exact; the low one rounds by u**2, its sum with the error, at most 2u,
    by 2u**2; with terms of higher order less than 4u**2."""
    pair = array(high), array(part * high * 2.0**-53)
    exact = fraction(pair) * count
    assert abs(fraction(dd.times(pair, array(float(count)))) - exact) <= 4 * U**2 * abs(exact)


@given(NONZERO, NONZERO, st.floats(-1, 1), st.floats(-1, 1))
def test_a_pair_minus_a_square(high: float, root: float, part: float, root_part: float) -> None:
    """With low parts of at most u: the three terms of the square's low part are at most
    u + 2u + u**2 and their sums and product round by 2u, 3u and 3u of u; the difference of the
    low parts, 4u, by 4u of u; the last sum, at most 5u, by 5u: less than 20u**2 in all."""
    pair = array(high), array(part * high * 2.0**-53)
    of = array(root), array(root_part * root * 2.0**-53)
    exact = fraction(pair) - fraction(of) ** 2
    size = abs(fraction(pair)) + fraction(of) ** 2
    assert abs(fraction(dd.minus_product(pair, of, of)) - exact) <= 20 * U**2 * size
