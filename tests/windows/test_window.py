from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import Duration, Number
from muntin.specs.windows import (
    Context,
    Edges,
    Landmark,
    Window,
    column_name,
    unfinished_policy,
)
from tests.windows.strategies import edges

MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE


# -- specifications --------------------------------------------------------------------------------


def test_a_window_reads_its_lengths() -> None:
    window = Window(range="5 minutes", slide=timedelta(minutes=1), on="ts")
    assert window.range == Duration(5 * MINUTE)
    assert window.slide == Duration(MINUTE)
    assert (window.on, window.origin) == ("ts", None)
    assert str(window) == "RANGE 5 minutes SLIDE 1 minute WATTR ts"
    assert str(Window(10, 0.5, "x", origin=3)) == "RANGE 10 SLIDE 0.5 WATTR x ORIGIN 3"


def test_tumbling_has_one_length() -> None:
    assert Window.tumbling("1 day", "ts", origin="2026-01-01") == Window(
        "1 day", "1 day", "ts", "2026-01-01"
    )


def test_a_landmark_window_reads_its_length() -> None:
    landmark = Landmark("1 hour", "ts", "2026-01-01")
    assert landmark.slide == Duration(60 * MINUTE)
    assert str(landmark) == "LANDMARK 2026-01-01 SLIDE 1 hour WATTR ts"


def test_specifications_are_frozen_values() -> None:
    assert Window("60 s", "1 min", "ts") == Window("1 minute", "60 seconds", "ts")
    assert hash(Window(1, 1, "x")) == hash(Window("1", 1.0, "x"))
    assert Window(1, 1, "x") != Window(1, 1, "x", origin=0)
    with pytest.raises(FrozenInstanceError):
        Window(1, 1, "x").on = "y"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Landmark(1, "x", 0).on = "y"  # type: ignore[misc]


LONGER = "it must be longer than zero, such as '5 minutes' or 10"
BOTH = "and slide must both be durations or both numbers"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, "x"), f"range=0 cannot be used: {LONGER}"),
        ((-1, 1, "x"), f"range=-1 cannot be used: {LONGER}"),
        ((1, 0, "x"), f"slide=0 cannot be used: {LONGER}"),
        (("1 minute", "0 s", "x"), f"slide='0 s' cannot be used: {LONGER}"),
        ((1, "1 minute", "x"), f"slide='1 minute' cannot be used: range=1 {BOTH}"),
        (("1 minute", 1, "x"), f"slide=1 cannot be used: range='1 minute' {BOTH}"),
        (
            ("1 month", "1 day", "x"),
            "range='1 month' cannot be used: it has no fixed length; say '1 calendar month', "
            "or use days",
        ),
        ((1, 1, ""), "on='' cannot be used: it must be the name of a column"),
        ((1, 1, None), "on=None cannot be used: it must be the name of a column"),
    ],
)
def test_a_window_that_cannot_be(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Window(*arguments)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_tumbling_window_names_its_own_argument() -> None:
    with pytest.raises(ArgumentError) as caught:
        Window.tumbling(0, "x")
    assert str(caught.value) == f"length=0 cannot be used: {LONGER}"


def test_a_landmark_window_needs_its_landmark() -> None:
    with pytest.raises(ArgumentError) as caught:
        Landmark("1 hour", "ts", None)
    assert str(caught.value) == (
        "origin=None cannot be used: "
        "a landmark window needs its landmark, such as origin='2026-01-01'"
    )
    with pytest.raises(ArgumentError, match=r"^slide=0 cannot be used: "):
        Landmark(0, "ts", "2026-01-01")
    with pytest.raises(ArgumentError, match=r"^on='' cannot be used: "):
        Landmark(1, "", "2026-01-01")


def test_unfinished() -> None:
    assert [unfinished_policy(policy) for policy in ("keep", "drop", "flag")] == [
        "keep",
        "drop",
        "flag",
    ]
    with pytest.raises(ArgumentError) as caught:
        unfinished_policy("maybe")
    assert str(caught.value) == (
        "unfinished='maybe' cannot be used: it is 'keep', 'drop' or 'flag'"
    )


def test_column_name() -> None:
    assert column_name("on", "event time") == "event time"
    with pytest.raises(ArgumentError) as caught:
        column_name("by", 3)
    assert str(caught.value) == "by=3 cannot be used: it must be the name of a column"


def test_context() -> None:
    """Which windows depend on earlier rows, and which on later ones [Window-ids 4]."""
    assert Window(1, 1, "x").context is Context.CF
    assert Landmark(1, "x", 0).context is Context.CF
    assert [context.name for context in Context if context.forward_context_free] == ["CF", "FCF"]
    assert not Context.FCA.forward_context_free


# -- laid on an axis -------------------------------------------------------------------------------


def test_edges_in_ticks() -> None:
    window = Window("5 minutes", "1 minute", "ts")
    axis = window.axis(Domain.TIMESTAMP, scale=0, zone="UTC")
    assert window.edges(axis) == Edges(5 * MINUTE, MINUTE, origin=0, clipped=False)
    with_origin = Window("5 minutes", "1 minute", "ts", origin="1970-01-01 00:00:30")
    assert with_origin.edges(axis) == Edges(5 * MINUTE, MINUTE, origin=MINUTE // 2, clipped=True)


def test_days_follow_the_time_zone_unless_an_origin_is_given() -> None:
    window = Window("7 days", "1 day", "ts")
    tokyo = window.axis(Domain.TIMESTAMP, scale=0, zone="Asia/Tokyo")
    assert window.edges(tokyo) == Edges(7 * DAY, DAY, origin=-9 * 60 * MINUTE, clipped=False)
    hourly = Window("1 day", "1 hour", "ts")
    assert hourly.edges(tokyo).origin == 0
    with_origin = Window("7 days", "1 day", "ts", origin="1970-01-01")
    assert with_origin.edges(tokyo) == Edges(7 * DAY, DAY, origin=-9 * 60 * MINUTE, clipped=True)


def test_an_axis_is_as_fine_as_its_lengths() -> None:
    window = Window("0.3", "0.1", "x", origin="0.25")
    assert window.axis(Domain.DOUBLE, scale=0, zone="UTC").digits == 2
    assert window.axis(Domain.DECIMAL, scale=4, zone="UTC").digits == 4
    finer = Number(Decimal("0.00001"))
    assert window.axis(Domain.DECIMAL, scale=4, zone="UTC", also=finer).digits == 5
    assert Window(1, 1, "x").axis(Domain.INTEGER, scale=0, zone="UTC").digits == 0
    landmark = Landmark("0.5", "x", "0.125")
    assert landmark.axis(Domain.DOUBLE, scale=0, zone="UTC", also=finer).digits == 5
    assert landmark.edges(Axis(Domain.DOUBLE, 3)) == Edges(500, 500, 125, True, landmark=True)


def test_three_tenths_every_tenth_has_one_pane_a_slide() -> None:
    window = Window(0.3, 0.1, "x")
    laid = window.edges(window.axis(Domain.DOUBLE, scale=0, zone="UTC"))
    assert laid == Edges(3, 1, origin=0, clipped=False)
    assert (laid.panes_per_slide, laid.panes_per_window) == (1, 3)


@pytest.mark.parametrize(
    ("window", "domain", "message"),
    [
        (
            Window(10, 5, "ts"),
            Domain.TIMESTAMP,
            "slide='5' cannot be used: on a timestamp column it needs a unit: '5 minutes'",
        ),
        (
            Window("1 day", "1 hour", "day"),
            Domain.DATE,
            "slide='1 hour' cannot be used: a date column moves in whole days, such as '7 days'",
        ),
        (
            Window("36 hours", "1 day", "day"),
            Domain.DATE,
            "range='36 hours' cannot be used: a date column moves in whole days, such as '7 days'",
        ),
        (
            Window(1, 1, "n", origin="yesterday"),
            Domain.INTEGER,
            "origin='yesterday' cannot be used: "
            "it must be a value of the integer column, such as 0",
        ),
        (
            Landmark("1 day", "day", date(2026, 1, 1)),
            Domain.INTEGER,
            "slide='1 day' cannot be used: on a number column (integer) it is a plain number: 10",
        ),
    ],
)
def test_a_window_that_does_not_suit_its_column(
    window: Window | Landmark, domain: Domain, message: str
) -> None:
    axis = window.axis(domain, scale=0, zone="UTC")
    with pytest.raises(ArgumentError) as caught:
        window.edges(axis)
    assert str(caught.value) == message


# -- edges and panes -------------------------------------------------------------------------------


#   RANGE 5 SLIDE 2: windows end on even ticks and start on odd ones, so both cut panes.
#
#   tick   0   1   2   3   4   5   6   7   8
#   w 1   -1...........4
#   w 2       1...................6
#   w 3               3...................8
#   pane   0 | 1 | 2 | 3 | 4 | 5 | 6 | 7
def test_two_panes_a_slide() -> None:
    laid = Edges(5, 2, origin=0, clipped=False)
    assert (laid.panes_per_slide, laid.panes_per_window) == (2, 5)
    assert [(laid.start(w), laid.end(w)) for w in (1, 2, 3)] == [(-1, 4), (1, 6), (3, 8)]
    assert [laid.pane(tick) for tick in range(8)] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert (laid.start_pane(2), laid.end_pane(2)) == (1, 6)
    assert (laid.first_wid(4), laid.last_wid(4)) == (2, 3)


#   RANGE 4 SLIDE 2: starts are ends of other windows, one pane a slide.
#
#   tick   0   1   2   3   4   5   6
#   w 1    0...............4
#   w 2            2...............6
#   pane   0       | 1     | 2
def test_one_pane_a_slide() -> None:
    laid = Edges(4, 2, origin=0, clipped=False)
    assert (laid.panes_per_slide, laid.panes_per_window, laid.start_offset) == (1, 2, 0)
    assert [laid.pane(tick) for tick in range(6)] == [0, 0, 1, 1, 2, 2]
    assert (laid.first_wid(1), laid.last_wid(1)) == (1, 2)


#   RANGE 1 SLIDE 3: gaps between windows belong to none.
#
#   tick   0   1   2   3   4   5   6
#   w 0            2...3
#   w 1                        5...6
#   pane   0       | 1 | 2     | 3
def test_a_slide_longer_than_the_range_leaves_gaps() -> None:
    laid = Edges(1, 3, origin=0, clipped=False)
    assert [laid.pane(tick) for tick in range(6)] == [0, 0, 1, 2, 2, 3]
    assert (laid.first_wid(0), laid.last_wid(0)) == (0, -1)  # in the gap: no window
    assert (laid.first_wid(1), laid.last_wid(1)) == (0, 0)


def test_an_awkward_slide_has_two_panes_and_not_thousands() -> None:
    laid = Edges(3600, 3599, origin=0, clipped=False)
    assert laid.panes_per_slide == 2
    assert laid.panes_per_window == 3
    assert [laid.pane(tick) for tick in (-1, 0, 3597, 3598, 3599)] == [-1, 0, 0, 1, 2]


#   with origin 0 the first windows are partial [Window-ids 3.3]
#
#   tick   0   1   2   3
#   w 0    0...1
#   w 1    0.......2
#   w 2    0...........3
def test_starts_are_clipped_to_a_given_origin() -> None:
    laid = Edges(3, 1, origin=0, clipped=True)
    assert [(laid.start(w), laid.end(w)) for w in range(5)] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 4),
        (2, 5),
    ]


def test_landmark_windows_only_grow() -> None:
    laid = Edges(10, 10, origin=5, clipped=True, landmark=True)
    assert [(laid.start(w), laid.end(w)) for w in range(3)] == [(5, 15), (5, 25), (5, 35)]
    assert (laid.panes_per_slide, laid.panes_per_window, laid.start_offset) == (1, 1, 0)
    assert (laid.start_pane(7), laid.end_pane(7)) == (0, 8)
    assert (laid.first_wid(3), laid.last_wid(3)) == (3, None)


@pytest.mark.parametrize(
    ("punctuation", "closed"), [(-1, -2), (0, -1), (1, -1), (9, -1), (10, 0), (19, 0), (20, 1)]
)
def test_a_punctuation_closes_the_windows_that_end_by_it(punctuation: int, closed: int) -> None:
    assert Edges(30, 10, origin=0, clipped=False).last_closed(punctuation) == closed


def holds(laid: Edges, wid: int, tick: int) -> bool:
    return laid.start(wid) <= tick < laid.end(wid) and (wid >= 0 or not laid.clipped)


@given(edges(), st.integers(-300, 300))
def test_a_pane_lies_in_the_windows_of_its_rows(laid: Edges, tick: int) -> None:
    assume(not laid.clipped or tick >= laid.origin)  # else refused before it reaches a pane
    pane = laid.pane(tick)
    last = laid.last_wid(pane)
    for wid in range(laid.first_wid(pane) - 70, laid.first_wid(pane) + 140):
        inside = laid.first_wid(pane) <= wid and (last is None or wid <= last)
        assert inside == holds(laid, wid, tick)


@given(edges(), st.integers(-300, 300), st.integers(-80, 80))
def test_a_window_is_made_of_whole_panes(laid: Edges, tick: int, wid: int) -> None:
    assume(not laid.clipped or (tick >= laid.origin and wid >= 0))
    inside = laid.start_pane(wid) <= laid.pane(tick) < laid.end_pane(wid)
    assert inside == holds(laid, wid, tick)


@given(edges(), st.integers(-300, 300))
def test_panes_are_in_order_and_at_most_two_a_slide(laid: Edges, tick: int) -> None:
    panes = [laid.pane(t) for t in range(tick, tick + laid.slide + 1)]
    assert panes == sorted(panes)
    assert laid.pane(tick + laid.slide) == laid.pane(tick) + laid.panes_per_slide
    assert set(panes) == set(range(panes[0], panes[-1] + 1))
    assert laid.panes_per_slide in (1, 2)


@given(edges(), st.integers(-300, 300))
def test_a_punctuation_closes_exactly_what_is_complete(laid: Edges, punctuation: int) -> None:
    closed = laid.last_closed(punctuation)
    assert laid.end(closed) <= punctuation < laid.end(closed + 1)


@given(
    st.integers(1, 2**61),
    st.integers(1, 2**61),
    st.integers(-(2**61), 2**61),
    st.integers(-(2**61), 2**61),
)
def test_panes_of_large_numbers(length: int, slide: int, origin: int, tick: int) -> None:
    laid = Edges(length, slide, origin, clipped=False)
    pane = laid.pane(tick)
    last = laid.last_wid(pane)
    assert last is not None
    first = laid.first_wid(pane)
    assert not holds(laid, first - 1, tick)
    assert not holds(laid, last + 1, tick)
    if first <= last:
        assert holds(laid, first, tick) and holds(laid, last, tick)
    else:
        assert laid.range < laid.slide
