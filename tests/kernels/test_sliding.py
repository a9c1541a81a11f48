from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.sliding import (
    intervals,
    slide_add,
    slide_add_exactly,
    slide_least,
)
from muntin.specs.windows import Edges
from tests.windows.strategies import edges

Bounds = list[tuple[int, int]]
LONGS = st.integers(-(2**63), 2**63 - 1)
COARSE = st.integers(-(2**60), 2**60).map(lambda n: float(n) * 2.0**-20)


# -- which panes a window covers -------------------------------------------------------------------


def covered(
    keys: list[list[int]], spec: Edges, bounds: Bounds, room: int | None = None
) -> tuple[int, list[tuple[int, int, int, int]]]:
    panes = np.array([pane for mine in keys for pane in mine], np.int64)
    starts = np.cumsum([0, *map(len, keys)])
    slides = -1 if spec.landmark else spec.whole_slides
    first, last = (np.array([pair[end] for pair in bounds], np.int64) for end in (0, 1))
    given_ = starts, panes, spec.panes_per_slide, slides, first, last
    none = np.empty(0, np.int64)
    found = intervals(*given_, none, none, none, none)
    filled = [np.empty(found if room is None else room, np.int64) for _ in range(4)]
    assert intervals(*given_, *filled) == found
    rows = zip(*(column.tolist() for column in filled), strict=True)
    return found, [(key, wid, low, high) for key, wid, low, high in rows]


def naive(keys: list[list[int]], spec: Edges, bounds: Bounds) -> list[tuple[int, int, int, int]]:
    found = []
    start = 0
    for key, mine in enumerate(keys):
        first, last = bounds[key]
        for wid in range(first, last + 1):
            inside = [
                start + place
                for place, pane in enumerate(mine)
                if spec.start_pane(wid) <= pane < spec.end_pane(wid)
            ]
            if inside:
                found.append((key, wid, inside[0], inside[-1] + 1))
        start += len(mine)
    return found


#   RANGE 3 SLIDE 1: panes 0, 1 and 5 of a key
#
#   pane   0   1   2   3   4   5
#          x   x               x
#   w 0    ----)                       panes [0, 1)
#   w 1    --------)                   panes [0, 2)
#   w 2    ------------)               panes [0, 2)
#   w 3        ------------)           panes [1, 2)
#   w 4    holds none
#   w 5                ------------)   panes [2, 3)
def test_windows_of_a_key() -> None:
    spec = Edges(3, 1, origin=0, clipped=False)
    _, windows = covered([[0, 1, 5]], spec, [(-10, 6)])
    assert windows == [
        (0, 0, 0, 1),
        (0, 1, 0, 2),
        (0, 2, 0, 2),
        (0, 3, 1, 2),
        (0, 5, 2, 3),
        (0, 6, 2, 3),
    ]


def test_a_long_gap_is_jumped_over() -> None:
    spec = Edges(1, 1, origin=0, clipped=False)
    _, found = covered([[-(2**59), 2**59]], spec, [(-(2**60), 2**60)])
    assert found == [(0, -(2**59), 0, 1), (0, 2**59, 1, 2)]


#   RANGE 1 SLIDE 1: keys that move by themselves have first and last windows of their own
def test_every_key_has_its_own_first_and_last_window() -> None:
    spec = Edges(1, 1, origin=0, clipped=False)
    _, found = covered([[0, 1, 5], [0, 1, 5], [0, 1]], spec, [(1, 5), (0, 0), (2, 1)])
    assert found == [(0, 1, 1, 2), (0, 5, 2, 3), (1, 0, 3, 4)]


_PANES = st.sets(st.integers(-30, 60), min_size=1, max_size=10)


@given(
    edges(longest=12),
    st.lists(st.tuples(_PANES, st.integers(-40, 40), st.integers(-5, 50)), max_size=4),
)
def test_as_the_definition_says(spec: Edges, keys: list[tuple[set[int], int, int]]) -> None:
    lowest = 0 if spec.landmark else -30  # a landmark window has no pane below 0
    sorted_keys = [sorted(p for p in panes if p >= lowest) or [lowest] for panes, _, _ in keys]
    bounds = [(first, first + length) for _, first, length in keys]
    found, rows = covered(sorted_keys, spec, bounds)
    assert rows == naive(sorted_keys, spec, bounds)
    assert found == len(rows)


def test_counting_writes_nothing() -> None:
    spec = Edges(3, 1, origin=0, clipped=False)
    found, rows = covered([[0, 1, 5], [2]], spec, [(0, 9)] * 2, room=2)
    assert (found, rows) == (10, [(0, 0, 0, 1), (0, 1, 0, 2)])


# -- aggregates of stretches -----------------------------------------------------------------------


@st.composite
def stretches(draw: st.DrawFn, rows: int) -> list[tuple[int, int]]:
    """Draw non-empty stretches of so many rows, whose ends only move forward."""
    lows = sorted(draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=20)))
    highs, reached = [], 0
    for low in lows:
        reached = max(reached, draw(st.integers(low + 1, rows)))
        highs.append(reached)
    return list(zip(lows, highs, strict=True))


def ends(of: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([low for low, _ in of], np.int64), np.array([high for _, high in of], np.int64)


@given(st.lists(LONGS, min_size=1, max_size=20), st.data())
def test_the_least_of_each_stretch(values: list[int], data: st.DataObject) -> None:
    of = data.draw(stretches(len(values)))
    out = np.empty(len(of), np.int64)
    slide_least(np.array(values), *ends(of), out)
    assert out.tolist() == [min(values[low:high]) for low, high in of]


@given(st.lists(LONGS, min_size=1, max_size=20), st.data())
def test_the_sum_of_each_stretch(values: list[int], data: st.DataObject) -> None:
    of = data.draw(stretches(len(values)))
    sums = slide_add(np.array(values), *ends(of))
    exact = [sum(values[low:high]) for low, high in of]
    assert sums.tolist() == [(total + 2**63) % 2**64 - 2**63 for total in exact]


def exact_sums(values: list[float], of: list[tuple[int, int]]) -> list[tuple[float, float]]:
    high, low = np.empty(len(of)), np.empty(len(of))
    slide_add_exactly(np.array(values), np.zeros(len(values)), *ends(of), high, low)
    return list(zip(high.tolist(), low.tolist(), strict=True))


@given(st.lists(COARSE, min_size=1, max_size=20), st.data())
def test_the_exact_sum_of_each_stretch(values: list[float], data: st.DataObject) -> None:
    of = data.draw(stretches(len(values)))
    for (high, low), (start, stop) in zip(exact_sums(values, of), of, strict=True):
        exact = sum(map(Fraction, values[start:stop]), Fraction())
        assert Fraction(high) + Fraction(low) == exact
        assert high == float(exact)


def test_what_is_not_finite_leaves_with_its_row() -> None:
    values = [1.0, math.inf, 2.0, 3.0, math.nan, 4.0, 5.0]
    of = [(place, place + 2) for place in range(6)]
    sums = [high for high, _ in exact_sums(values, of)]
    assert sums[:3] == [math.inf, math.inf, 5.0]
    assert math.isnan(sums[3])
    assert math.isnan(sums[4])
    assert sums[5] == 9.0


def test_a_large_value_leaves_nothing_behind() -> None:
    sums = exact_sums([1e100, 0.1, 0.2], [(0, 2), (1, 3)])
    assert sums[1][0] == 0.1 + 0.2


def test_no_windows() -> None:
    out = np.empty(0, np.int64)
    slide_least(np.array([1, 2]), np.empty(0, np.int64), np.empty(0, np.int64), out)
    assert len(slide_add(np.array([1, 2]), out, out)) == 0
    assert exact_sums([1.0], []) == []
