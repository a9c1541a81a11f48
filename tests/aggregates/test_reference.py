from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.reference import aggregates as agg

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("name", agg.FUNCTIONS)
@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_of_nothing_comes_nothing(name: str, values: list[None]) -> None:
    nothing = {"count": 0, "count_distinct": 0, "collect_set": []}
    assert agg.FUNCTIONS[name](values) == nothing.get(name)


def test_count_skips_nulls() -> None:
    assert agg.count([1, None, 0, None, NAN]) == 3


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1, 2, None, 3], 6),
        ([2**63 - 1, 2**63 - 1], 2**64 - 2),
        ([0.1] * 10, 1.0),  # adding one by one gives 0.9999999999999999
        ([1e100, 1.0, -1e100], 1.0),
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308, 1e308], INF),
        ([-1e308, -1e308], -INF),
        ([INF, 1.0], INF),
        ([Decimal("0.1"), Decimal("0.2"), None], Decimal("0.3")),
        ([Decimal("9" * 38), Decimal("9" * 38)], Decimal("1" + "9" * 37 + "8")),
    ],
)
def test_sum(values: Sequence[Any], total: object) -> None:
    assert agg.total(values) == total
    assert agg.total(list(reversed(values))) == total


def test_a_sum_without_a_value() -> None:
    assert math.isnan(agg.total([INF, -INF]))
    assert math.isnan(agg.total([NAN, 1.0]))


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([1, 2, None], 1.5),
        ([1, 1, 2], 4 / 3),
        ([0.1, 0.2, 0.3], 0.2),
        ([1e308, 1e308], 1e308),
        ([2**53, 2**53 + 1], float(2**53)),
        ([INF, 1.0], INF),
    ],
)
def test_mean(values: Sequence[Any], mean: float) -> None:
    assert agg.mean(values) == mean


def test_the_mean_of_decimals_is_rounded_half_up() -> None:
    assert agg.mean([Decimal("0.01"), Decimal("0.02")], scale=2) == Decimal("0.02")
    assert agg.mean([Decimal("-0.01"), Decimal("-0.02")], scale=2) == Decimal("-0.02")
    third = agg.mean([Decimal(1), Decimal(0), Decimal(0)], scale=6)
    assert str(third) == "0.333333"


#   values 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares of distances 9+1+1+1+0+0+4+16 = 32
def test_variance() -> None:
    values = [2, 4, 4, 4, 5, 5, 7, 9, None]
    assert agg.variance(values, sample=False) == 4.0
    assert agg.variance(values, sample=True) == 32 / 7
    assert agg.deviation(values, sample=False) == 2.0
    assert agg.deviation(values, sample=True) == math.sqrt(32 / 7)


def test_variance_of_one_value() -> None:
    assert agg.variance([3.0], sample=True) is None
    assert agg.deviation([3.0], sample=True) is None
    assert agg.variance([3.0], sample=False) == 0.0


def test_a_large_mean_does_not_drown_the_variance() -> None:
    assert agg.variance([1e9 + 1, 1e9 + 2, 1e9 + 3], sample=True) == 1.0


def test_variance_beyond_doubles() -> None:
    assert agg.variance([1e200, -1e200], sample=True) == INF
    for odd in (NAN, INF):
        varied = agg.variance([1.0, odd], sample=True)
        assert varied is not None
        assert math.isnan(varied)


@pytest.mark.parametrize(
    ("values", "least", "greatest"),
    [
        ([3, None, 1, 2], 1, 3),
        ([0.5, INF, -INF], -INF, INF),
        (["b", "a", "é", "z"], "a", "é"),
        (["\uffff", "\U00010000"], "\uffff", "\U00010000"),  # bytes, not UTF-16 units
        ([Decimal("1.5"), Decimal("-1")], Decimal("-1"), Decimal("1.5")),
        ([True, False], False, True),
        ([b"\xff", b"\x00"], b"\x00", b"\xff"),
    ],
)
def test_extremes(values: Sequence[Any], least: object, greatest: object) -> None:
    assert agg.least(values) == least
    assert agg.greatest(values) == greatest


def test_nan_is_above_every_number() -> None:
    assert agg.least([NAN, INF]) == INF
    assert math.isnan(agg.greatest([NAN, INF]))
    assert math.isnan(agg.least([NAN, None]))


#   on     1      1       2      3      3
#   value  5     null     9      7      2
def test_first_and_last() -> None:
    pairs = [(2, 9), (1, 5), (3, 7), (1, None), (3, 2)]
    assert agg.first(pairs) is None  # null comes before every value of the same on
    assert agg.last(pairs) == 7
    assert agg.first([(1, 5), (1, 4)]) == 4
    assert agg.last([(1, 5), (1, None)]) == 5
    assert agg.first([]) is None
    assert agg.last([]) is None


def test_weighted_mean() -> None:
    assert agg.weighted_mean([(10.0, 1.0), (20.0, 3.0)]) == 17.5
    assert agg.weighted_mean([(10.0, 1.0), (None, 3.0), (20.0, None)]) == 10.0
    assert agg.weighted_mean([(10.0, 1.0), (20.0, -1.0)]) is None
    assert agg.weighted_mean([(None, 1.0)]) is None


@pytest.mark.parametrize(
    ("values", "some", "every"),
    [
        ([True, None], True, True),
        ([False, None], False, False),
        ([True, False], True, False),
    ],
)
def test_conditions(values: Sequence[Any], some: bool, every: bool) -> None:
    assert agg.any_true(values) is some
    assert agg.all_true(values) is every


def test_order() -> None:
    values = [NAN, "x", 3, None]
    assert [agg.order(value) for value in values] == [(2, 0), (1, b"x"), (1, 3), (0, 0)]


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, min_size=1, max_size=20), st.randoms())
def test_sums_of_doubles_are_rounded_once(values: list[float], random: Any) -> None:
    exact = sum(map(Fraction, values), Fraction())
    shuffled = list(values)
    random.shuffle(shuffled)
    total = agg.total(values)
    assert agg.total(shuffled) == total
    if math.isfinite(total):
        below, above = math.nextafter(total, -INF), math.nextafter(total, INF)
        for other in filter(math.isfinite, (below, above)):
            assert abs(exact - Fraction(total)) <= abs(exact - Fraction(other))


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_integers_as_python_has_them(values: list[int | None]) -> None:
    kept = [value for value in values if value is not None]
    assert agg.count(values) == len(kept)
    assert agg.total(values) == (sum(kept) if kept else None)
    assert agg.least(values) == min(kept, default=None)
    assert agg.greatest(values) == max(kept, default=None)
    assert agg.mean(values) == (float(Fraction(sum(kept), len(kept))) if kept else None)


# -- holistic ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "share", "quantile"),
    [
        ([3, None, 1, 2], 0.5, 2.0),
        ([1, 2], 0.5, 1.5),
        ([1, 2, 4], 0.75, 3.0),
        ([7], 0.3, 7.0),
        ([1, 2, 3], 0.0, 1.0),
        ([1, 2, 3], 1.0, 3.0),
        ([Decimal("0.1"), Decimal("0.3")], 0.5, 0.2),
        ([1.0, NAN], 0.0, 1.0),
        ([INF, INF], 0.5, INF),
        ([], 0.5, None),
        ([None], 0.5, None),
    ],
)
def test_quantile(values: Sequence[Any], share: float, quantile: float | None) -> None:
    assert agg.quantile(values, share) == quantile


def test_a_quantile_next_to_nan_is_nan() -> None:
    assert math.isnan(agg.quantile([1.0, NAN], 0.5) or 0.0)
    assert math.isnan(agg.quantile([1.0, NAN], 1.0) or 0.0)


@given(st.lists(st.integers(-50, 50), min_size=1))
def test_the_median_has_as_many_below_as_above(values: list[int]) -> None:
    middle = agg.median(values)
    assert middle is not None
    below, above = (sum(v < middle for v in values), sum(v > middle for v in values))
    assert max(below, above) <= len(values) / 2
    assert middle == statistics.median(values)


def test_mode_and_frequent_items() -> None:
    values = ["b", "a", None, "b", "a", "c", None, None]
    assert agg.mode(values) == "a"  # as often as b, and less
    assert agg.frequencies(values) == [("a", 2), ("b", 2), ("c", 1)]
    assert agg.top_k(values, 1) == [{"item": "a", "count": 2}]
    # Nulls do not count for the share: two of five are four tenths.
    assert [one["item"] for one in agg.heavy_hitters(values, "0.4")] == ["a", "b"]
    assert agg.heavy_hitters(values, "0.41") == []
    assert agg.heavy_hitters([None], "0.05") == agg.top_k([], 3) == []
    assert agg.mode([None]) is None


def test_distinct_values() -> None:
    assert agg.distinct([2.0, None, 1.0, 2.0]) == [1.0, 2.0]
    assert agg.distinct([0.0, -0.0]) == [0.0]
    assert agg.count_distinct([NAN, NAN, 1.0, None]) == 2
    assert agg.distinct([]) == []


def test_collect_goes_by_on_then_by_value() -> None:
    assert agg.collect([(2, "a"), (1, "z"), (2, None), (1, "b")]) == ["b", "z", "a"]
    assert agg.collect([(1, None)]) == []
