"""``mt.extent`` and ``mt.wids`` are each other's inverse, for every kind of window."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.specs.row_windows import RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Latch, Window
from tests.thorough import examples

KINDS = [
    Window(range=5, slide=2, on="n"),
    Window(range=2, slide=5, on="n", origin=-3),
    Landmark(slide=4, on="n", origin=-2),
    Latch(every=4, on="n", origin=None),
    RowWindow(range=3, slide=2, on="n"),
    RowWindow(range=3, slide=2, on="n", within=4),
    TupleWindow(range=5, on="n", every=2),
    Session(on="n", gap=3),
]


@examples(300)
@given(st.sampled_from(KINDS), st.lists(st.integers(-9, 20), max_size=12))
def test_each_is_the_inverse_of_the_other(spec: Any, values: list[int]) -> None:
    numbers = {value: mt.wids(value, values, spec) for value in values}
    for wid in {wid for held in numbers.values() for wid in held}:
        inside = mt.extent(wid, values, spec)
        assert {*inside} == {value for value, held in numbers.items() if wid in held}


@examples(300)
@given(st.integers(1, 9), st.integers(1, 9), st.lists(st.integers(-9, 30), max_size=9))
def test_sliding_windows_by_plain_arithmetic(range_: int, slide: int, values: list[int]) -> None:
    spec = Window(range=range_, slide=slide, on="n")
    for wid in range(-12, 40):
        end = (wid + 1) * slide
        assert mt.extent(wid, values, spec) == [v for v in values if end - range_ <= v < end]


def test_other_windows_by_hand() -> None:
    values = [0, 2, 3, 5, 6, 9, 14]
    assert mt.extent(0, values, Session(on="n", gap=4)) == [0, 2, 3, 5, 6, 9]
    assert mt.wids(14, values, Session(on="n", gap=4)) == [1]
    assert mt.extent(5, values, TupleWindow(range=3, on="n", every=2)) == [3, 5]
    assert mt.wids(3, values, TupleWindow(range=3, on="n", every=2)) == [5]
    assert mt.wids(9, values, Landmark(slide=5, on="n", origin=0)) == [1, 2]
    assert mt.extent(0, values, Landmark(slide=5, on="n", origin=0)) == [0, 2, 3]
    assert mt.extent(9, [], Window(range=3, slide=3, on="n")) == []


def test_values_of_every_type() -> None:
    noon = datetime(2026, 1, 5, 12)
    hours = [noon + timedelta(hours=n) for n in range(30)]
    days = Window(range="1 day", slide="1 day", on="ts")
    (wid,) = mt.wids(noon, hours, days)
    assert mt.extent(wid, hours, days) == hours[:12]
    aware = [moment.replace(tzinfo=UTC) for moment in hours]
    (in_berlin,) = mt.wids(aware[0], aware, days, zone="Europe/Berlin")
    assert mt.extent(in_berlin, aware, days, zone="Europe/Berlin") == aware[:11]
    assert mt.extent(0, [date(1970, 1, 2), date(1970, 1, 4)], Window("3 days", "3 days", "d")) == [
        date(1970, 1, 2)
    ]
    tenths = Window(range=0.3, slide=0.1, on="x")
    assert mt.wids(Decimal("0.5"), [Decimal("0.5")], tenths) == [5, 6, 7]
    assert mt.wids(0.5, [0.5], tenths) == [5, 6, 7]


def test_windows_without_extents_are_refused() -> None:
    with pytest.raises(mt.ArgumentError, match="these windows depend on more than one column"):
        mt.wids(1, [1], SlideOnWindow(5, 5, "n", "m"))
    with pytest.raises(mt.ArgumentError, match="they are datetimes, dates, integers, decimals"):
        mt.extent(0, ["a"], Window(range=3, slide=3, on="n"))
