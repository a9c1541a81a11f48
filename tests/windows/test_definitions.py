from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from muntin.reference.definitions import bounds, extent, holds, wids, windows
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges, Window
from tests.windows.strategies import AXES, Laid, edges, laid

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
Q1 = Window("300 seconds", "60 seconds", "ts", origin=NOON)
AXIS = Q1.axis(Domain.TIMESTAMP, scale=0, zone="UTC")
EDGES = Q1.edges(AXIS)


def noon(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


#   Q1 of [Window-ids]: RANGE 300 seconds SLIDE 60 seconds, started at 12:00.
#
#            12:00                     12:06           12:10 t1 12:11           12:15
#   w 10                                 [-------------------)
#   w 11                                     [-------------------)
#   w 14                                                  [------------------------)
def test_the_windows_of_t1() -> None:
    assert bounds(10, AXIS, EDGES) == (noon(6), noon(11))
    assert bounds(11, AXIS, EDGES) == (noon(7), noon(12))
    for t1 in (noon(10), noon(10.5), noon(11) - timedelta(microseconds=1)):
        assert wids(t1, AXIS, EDGES) == range(10, 15)
    assert wids(noon(11), AXIS, EDGES) == range(11, 16)


#   12:00 12:01 12:02 12:03 12:04 12:05
#   w 0 [----)
#   w 1 [----------)
#   w 2 [----------------)
#   w 3 [----------------------)
#   w 4 [----------------------------)
def test_window_extents_0_to_3_are_partial() -> None:
    lengths = [end - start for start, end in (bounds(w, AXIS, EDGES) for w in range(6))]
    assert lengths == [timedelta(minutes=m) for m in (1, 2, 3, 4, 5, 5)]
    assert {bounds(w, AXIS, EDGES)[0] for w in range(5)} == {NOON}
    assert wids(NOON, AXIS, EDGES) == range(5)
    assert wids(noon(3), AXIS, EDGES) == range(3, 8)


def test_no_window_is_below_0_and_no_row_before_the_start() -> None:
    assert not holds(-1, NOON, AXIS, EDGES)
    assert list(wids(noon(-1), AXIS, EDGES)) == []
    assert extent(0, [noon(-1), noon(0), noon(0.5), noon(1)], AXIS, EDGES) == [noon(0), noon(0.5)]


def test_the_papers_formula() -> None:
    """Section 3.4: (t - min) / SLIDE - 1 < w <= (t + RANGE - min) / SLIDE - 1, w at least 0."""
    for t in range(40):
        spec = Edges(7, 3, origin=0, clipped=True)
        expected = [w for w in range(60) if t / 3 - 1 < w <= (t + 7) / 3 - 1]
        assert list(wids(t, Axis(Domain.INTEGER), spec)) == expected


def test_tumbling_windows_cut_the_line() -> None:
    spec = Edges(10, 10, origin=0, clipped=False)
    assert windows([0, 5, 9, 10, 25, -1], Axis(Domain.INTEGER), spec) == {-1, 0, 1, 2}


#   0.3 lies in [0.3, 0.6), although the double is below 0.3
def test_three_tenths() -> None:
    axis, spec = Axis(Domain.DOUBLE, 1), Edges(3, 3, origin=0, clipped=False)
    assert wids(0.3, axis, spec) == range(1, 2)
    assert bounds(1, axis, spec) == (0.3, 0.6)
    assert wids(0.1 + 0.2, axis, spec) == range(1, 2)
    assert wids(0.3 - 1e-16, axis, spec) == range(0, 1)


def test_landmark_windows_hold_a_row_for_ever() -> None:
    axis, spec = Axis(Domain.INTEGER), Edges(10, 10, 100, clipped=True, landmark=True)
    assert wids(125, axis, spec, until=6) == range(2, 7)
    assert list(wids(99, axis, spec, until=6)) == []
    assert windows([125, 141], axis, spec, until=5) == {2, 3, 4, 5}
    assert extent(2, [99, 100, 125, 129, 130], axis, spec) == [100, 125, 129]
    with pytest.raises(ValueError, match="a landmark window holds a row for ever"):
        wids(125, axis, spec)


@given(laid())
def test_wids_is_the_inverse_of_extent(case: Laid) -> None:
    holding = wids(case.value, case.axis, case.edges, until=150)
    near = range(-150, 150)
    assert set(holding) & set(near) == {
        w for w in near if extent(w, [case.value], case.axis, case.edges) == [case.value]
    }


@given(edges(), st.lists(st.integers(-200, 200), max_size=8), st.sampled_from(AXES))
def test_windows_are_those_with_an_extent(spec: Edges, ticks: list[int], axis: Axis) -> None:
    values = [axis.value(tick) for tick in ticks]
    nonempty = windows(values, axis, spec, until=150)
    assert nonempty & set(range(-150, 150)) == {
        w for w in range(-150, 150) if extent(w, values, axis, spec)
    }


@given(laid(), st.integers(-100, 100))
def test_a_window_holds_a_value_where_it_holds_its_tick(case: Laid, wid: int) -> None:
    spec = case.edges
    inside = spec.start(wid) <= case.tick < spec.end(wid) and (wid >= 0 or not spec.clipped)
    assert holds(wid, case.value, case.axis, spec) == inside


@given(laid())
def test_as_many_windows_as_the_range_has_slides(case: Laid) -> None:
    spec = case.edges
    assume(not spec.clipped)
    count = len(wids(case.value, case.axis, spec))
    assert count in (spec.range // spec.slide, -(-spec.range // spec.slide))


@given(st.floats(-1e6, 1e6), st.integers(1, 50), st.integers(1, 50), st.integers(0, 3))
def test_any_double_lies_in_its_windows(value: float, length: int, slide: int, digits: int) -> None:
    axis, spec = Axis(Domain.DOUBLE, digits), Edges(length, slide, origin=0, clipped=False)
    holding = wids(value, axis, spec)
    tick = axis.tick(value)
    assert tick is not None
    assert holding == wids(axis.value(tick), axis, spec)
    for wid in holding:
        start, end = bounds(wid, axis, spec)
        assert start <= value < end
