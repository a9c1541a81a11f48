"""Clusters against every stretch of rows, tried one after the other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.kernels.arrays import NEVER
from muntin.kernels.frames.clusters import Scan, clusters, log_chance
from muntin.kernels.numbers.order_keys import doubles_order
from muntin.specs.axis import Axis, Domain

Ints = npt.NDArray[np.int64]
WHOLE = Axis(Domain.INTEGER)
TENTHS = Axis(Domain.DOUBLE, digits=1)
Stretch = tuple[int, int]


def ints(values: object) -> Ints:
    return np.array(values, np.int64)


def exact_chance(rows: int, mean: float) -> Fraction:
    """Return the chance 1 - P(N < rows - 1), with a Taylor series of exp in exact fractions."""
    at = Fraction(mean)
    power = Fraction(1)
    below = whole = Fraction(0)
    for n in range(rows + 3 * math.ceil(mean) + 60):
        below += power if n < rows - 1 else 0
        whole += power
        power = power * at / (n + 1)
    return (whole - below) / whole


def log10(fraction: Fraction) -> float:
    """Also where the fraction is too small for a double."""
    shift = len(str(fraction.denominator)) - len(str(fraction.numerator))
    return math.log10(fraction * Fraction(10) ** shift) - shift


@pytest.mark.parametrize("mean", [1e-12, 0.001, 0.3, 1.0, 2.5, 6.99, 7.0, 20.0])
def test_chance(mean: float) -> None:
    for rows in (1, 2, 3, 4, 7, 8, 9, 15, 20, 21, 22, 40, 80):
        wanted = log10(exact_chance(rows, mean))
        assert log_chance(rows, mean) == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@given(st.integers(2, 60), st.floats(1e-3, 30.0))
def test_chance_anywhere(rows: int, mean: float) -> None:
    wanted = log10(exact_chance(rows, mean))
    assert log_chance(rows, mean) == pytest.approx(wanted, rel=1e-11, abs=1e-11)


def test_chance_where_doubles_end() -> None:
    assert log_chance(2, 0.0) == -math.inf
    assert log_chance(500, 1e-6) < -4000
    assert log_chance(100_000, 100_000.0) == pytest.approx(math.log10(0.5), abs=0.01)


def durations(places: list[int], axis: Axis) -> list[float]:
    return [p / 10 if axis.domain is Domain.DOUBLE else float(p) for p in places]


def candidates(
    places: list[int], axis: Axis, scan: Scan, weight: Ints
) -> list[tuple[float, int, int]]:
    """Return unlikely stretches in the order in which they are taken: (chance, -rows, start)."""
    on = durations(places, axis)
    unit = 10.0 if axis.domain is Domain.DOUBLE else 1.0
    found = []
    for low, high in itertools.combinations(range(len(on)), 2):
        rows, duration = high - low + 1, on[high] - on[low]
        within = (scan.min_count or 2) <= rows <= (scan.max_count or rows)
        within &= duration >= (scan.min_duration or 0) / unit
        within &= scan.max_duration is None or duration <= scan.max_duration / unit
        if within:
            mean = scan.rate * duration / (scan.per / unit)
            chance = log10(exact_chance(1 + int(weight[low + 1 : high + 1].sum()), mean))
            if chance < math.log10(scan.p):
                found.append((round(chance, 9), -rows, low))
    return sorted(found)


def wanted(places: list[int], axis: Axis, scan: Scan, weight: Ints | None = None) -> list[Stretch]:
    taken: list[Stretch] = []
    counted = np.ones(len(places), np.int64) if weight is None else weight
    for _, fewer, low in candidates(places, axis, scan, counted):
        high = low - fewer - 1
        if all(high < first or last < low for first, last in taken):
            taken.append((low, high))
    return sorted(taken)


def orders(places: list[int], axis: Axis) -> Ints:
    return doubles_order(np.array(durations(places, axis))) if axis is TENTHS else ints(places)


PLACES = st.lists(st.integers(0, 40), max_size=12, unique=True).map(sorted)
AXES = st.sampled_from([WHOLE, TENTHS])
#: Weights of as many rows as there are, or none.
WEIGHTS = st.none() | st.lists(st.integers(0, 4), min_size=12, max_size=12).map(ints)


@st.composite
def scans(draw: st.DrawFn) -> Scan:
    least, most = draw(st.none() | st.integers(1, 4)), draw(st.none() | st.integers(4, 6))
    short, long = draw(st.none() | st.integers(1, 3)), draw(st.none() | st.integers(3, 12))
    if most is None and long is None:
        most = 5
    p, rate = draw(st.sampled_from([0.05, 0.3, 0.7])), draw(st.sampled_from([0.3, 1.0, 2.5]))
    return Scan(p, rate, draw(st.sampled_from([4, 10])), least, most, short, long)


def test_the_least_likely_of_overlapping_clusters() -> None:
    """
    on    0    10 11 12    20    30 31       one row in ten is usual
               [      ]          [   ]
    """
    scan = Scan(p=0.1, rate=1.0, per=10, max_count=4)
    order = ints([0, 10, 11, 12, 20, 30, 31])
    found = clusters(ints([0, 7]), order, ints([NEVER]), True, WHOLE, scan)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 5], [3, 6])
    assert found.needed.tolist() == [7]
    # A row at 100 or later cannot be near enough to make four unlikely rows.
    sure = clusters(ints([0, 7]), order, ints([100]), False, WHOLE, scan)
    assert (sure.low.tolist(), sure.needed.tolist()) == ([1, 5], [7])
    # A row at 32 may be: 20 cannot begin an unlikely stretch, 30 may.
    unsure = clusters(ints([0, 7]), order, ints([32]), False, WHOLE, scan)
    assert (unsure.low.tolist(), unsure.needed.tolist()) == ([1], [5])


def test_nothing_given() -> None:
    found = clusters(
        ints([0, 0]), ints([]), ints([NEVER]), False, WHOLE, Scan(0.1, 1.0, 1, None, 3)
    )
    assert (found.low.tolist(), found.needed.tolist()) == ([], [0])


@settings(max_examples=200, deadline=None)
@given(st.lists(PLACES, min_size=1, max_size=3), AXES, scans(), WEIGHTS)
def test_clusters(keys: list[list[int]], axis: Axis, scan: Scan, weight: Ints | None) -> None:
    starts = ints([0, *itertools.accumulate(map(len, keys))])
    order = orders([place for places in keys for place in places], axis)
    each = [None if weight is None else weight[: len(places)] for places in keys]
    of_all = None if weight is None else np.concatenate(each)  # type: ignore[arg-type]
    found = clusters(starts, order, np.full(len(keys), NEVER), True, axis, scan, of_all)
    told = zip(found.key.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    assert list(told) == [
        (key, starts[key] + low, starts[key] + high)
        for key, places in enumerate(keys)
        for low, high in wanted(places, axis, scan, each[key])
    ]
    assert found.needed.tolist() == starts[1:].tolist()


@settings(max_examples=300, deadline=None)
@given(PLACES, AXES, scans(), st.lists(st.integers(0, 50), max_size=6).map(sorted), WEIGHTS)
def test_any_split_finds_the_same(
    places: list[int], axis: Axis, scan: Scan, punctuations: list[int], weight: Ints | None
) -> None:
    told: list[Stretch] = []
    dropped = known = 0
    for complete in (*punctuations, None):
        ended = complete is None
        upto = len(places) if complete is None else sum(place < complete for place in places)
        known = max(known, upto)
        given_ = places[dropped:known]
        found = clusters(
            ints([0, len(given_)]),
            orders(given_, axis),
            orders([complete or 0], axis),
            ended,
            axis,
            scan,
            None if weight is None else weight[dropped:known],
        )
        told += [
            (dropped + low, dropped + high)
            for low, high in zip(found.low.tolist(), found.high.tolist(), strict=True)
        ]
        (needed,) = found.needed.tolist()
        assert all(high < needed for high in found.high.tolist())
        dropped += needed
    assert told == wanted(places, axis, scan, None if weight is None else weight[: len(places)])
