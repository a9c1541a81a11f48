"""Readings, extents and fragments (appendices C and F), on timelines worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from muntin.reference.windows import END, MicroBatch, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.kinds import Between, Crossing, Delta, Threshold, Trend
from muntin.specs.frames.schemes import schedule
from tests.frames.definitions.timelines import counted, drawn, framed, reported, spans

HOLDS = Threshold("x")
SLOTS = schedule(1)

# -- Readings --------------------------------------------------------------------------------------


#   on     0 1 2 3 4 5 6      F T T . F T T
#            [=====|   [|     until the next row, or up to the end of input
def test_a_row_holds_until_the_next() -> None:
    assert spans(framed(HOLDS, "F T T . F T T", readings="until_next")) == [(1, 4), (5, 6)]
    assert spans(framed(HOLDS, "T ? F", readings="until_next")) == [(0, 1)]
    outcome = framed(HOLDS, "F T . . F", readings="until_next", min_duration=3)
    assert spans(outcome) == [(1, 4)]
    # With a schedule the next row may be a missing one.
    assert spans(framed(HOLDS, "F T . . F", readings="until_next", schedule=SLOTS)) == [(1, 2)]


#   on     0 1 2 3 4 5
#   a      T T                holds as far as the input is known to reach, by the rows of all keys
#   b            F     F
#   a      [=========|
def test_the_last_row_holds_as_far_as_the_input_is_known() -> None:
    rows = [*drawn("T T"), *({**row, "k": "b"} for row in drawn(". . . F . F"))]
    assert spans(framed(HOLDS, rows, readings="until_next")) == [(0, 5)]
    assert spans(framed(HOLDS, rows, readings="until_next", min_duration=5)) == [(0, 5)]
    batches = [MicroBatch(rows, 9), MicroBatch([], END)]
    assert spans(framed(HOLDS, *batches, readings="until_next")) == [(0, 9)]


def held(*rows: tuple[Any, Any, Any]) -> list[Row]:
    """Rows that hold over ``[on, until)``."""
    return [{"on": on, "k": "a", "x": x, "until": until} for on, until, x in rows]


#   on   0    10    20 25 30        nothing is known of [20, 25)
#        [-T--)[-T--)  [-T)[F
@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("break", [(0, 20, 2, 0), (25, 30, 1, 0)]),
        ("satisfy", [(0, 30, 3, 1)]),
        ("carry", [(0, 30, 3, 1)]),
        ("next.on - prev.until < 6", [(0, 30, 3, 1)]),
        ("next.on - prev.until < 5", [(0, 20, 2, 0), (25, 30, 1, 0)]),
    ],
)
def test_a_gap_between_intervals_is_a_missing_row(
    missing: str, expected: list[tuple[int, ...]]
) -> None:
    rows = held((0, 10, True), (10, 20, True), (25, 30, True), (30, 40, False))

    def bridged(before: Row, after: Row) -> bool:
        return bool(after["on"] - before["until"] < int(missing[-1]))

    outcome = framed(HOLDS, rows, readings="interval", missing=missing, bridged=bridged)
    assert counted(outcome) == expected


#   on   0                 30       the first row outlasts the others
#        [-------T---------)
#           [-T-)    [-T-)
def test_a_frame_of_intervals_ends_with_the_one_that_ends_last() -> None:
    rows = held((0, 30, True), (5, 10, True), (20, 25, True))
    assert counted(framed(HOLDS, rows, readings="interval")) == [(0, 30, 3, 0)]
    assert counted(framed(HOLDS, rows, readings="interval", max_duration=29)) == []
    # The first row holds for too long to share a frame, and then only until the next begins.
    cut = framed(HOLDS, rows, readings="interval", max_duration=29, cut=True)
    assert spans(cut) == [(0, 5), (5, 10), (20, 25)]
    assert counted(framed(HOLDS, rows, readings="interval", min_duration=30)) == [(0, 30, 3, 0)]


#   on   0 1 2 3 4 5 6 7 8 9 10     a row that does not satisfy while others still hold
#        [----------T--------)
#                  [-F-)
#                    [--T--)
#        [=========| [=====|        frames share no time
def test_a_frame_of_intervals_ends_no_later_than_the_row_behind_it() -> None:
    rows = held((0, 10, True), (5, 7, False), (6, 9, True))
    assert counted(framed(HOLDS, rows, readings="interval")) == [(0, 5, 1, 0), (6, 9, 1, 0)]
    assert spans(framed(HOLDS, rows, readings="interval", min_duration=5)) == [(0, 5)]
    # Frames that may overlap end where their rows do.
    sums = held((0, 10, 3), (5, 7, 3), (6, 9, 3))
    kind = Crossing("sum(x)", ">=", Decimal(3))
    assert spans(framed(kind, sums, readings="interval")) == [(0, 5), (5, 6), (6, 9)]
    outcome = framed(kind, sums, readings="interval", scheme="unconstrained")
    assert spans(outcome) == [(0, 10), (5, 7), (6, 9)]


#   on   0    10   15   20         nothing is known of [10, 15)
#        [-T--)    [-F--)
#   satisfy [====|                 a missing row may end a frame, and lasts until the next
#   carry   [==|
def test_a_gap_at_the_end_of_a_frame() -> None:
    rows = held((0, 10, True), (15, 20, False))
    assert counted(framed(HOLDS, rows, readings="interval", missing="carry")) == [(0, 10, 1, 0)]
    satisfied = framed(HOLDS, rows, readings="interval", missing="satisfy")
    assert counted(satisfied) == [(0, 15, 1, 1)]
    for least, expected in ((15, [(0, 15)]), (16, [])):
        outcome = framed(HOLDS, rows, readings="interval", missing="satisfy", min_duration=least)
        assert spans(outcome) == expected


#   on   0    10    20    30
#        [-T--)[-?--)[-T--)
def test_a_row_without_a_value_fills_its_interval() -> None:
    rows = held((0, 10, True), (10, 20, None), (20, 30, True))
    for missing in ("satisfy", "carry"):
        outcome = framed(HOLDS, rows, readings="interval", missing=missing)
        assert counted(outcome) == [(0, 30, 2, 1)]
    rows = held((0, 10, True), (12, 20, None), (25, 30, True))
    assert counted(framed(HOLDS, rows, readings="interval", missing="carry")) == [(0, 30, 2, 3)]


def test_between_over_gaps() -> None:
    rows = held((0, 5, "s"), (5, 8, "-"), (10, 12, "e"))
    kind = Between("s", "e")
    assert reported(framed(kind, rows, readings="interval")) == [(0, 0, 8, 2, 0, "partial")]
    assert reported(framed(kind, rows, readings="interval", missing="carry")) == [
        (0, 0, 12, 3, 1, "final")
    ]
    # A row that starts a frame without being in it leaves no gap after it.
    apart = held((0, 1, "s"), (5, 8, "-"), (8, 12, "e"))
    outcome = framed(Between("s", "e", "neither"), apart, readings="interval")
    assert reported(outcome) == [(0, 5, 8, 1, 0, "final")]


@pytest.mark.parametrize("until", [None, 4, float("nan"), float("inf")])
def test_a_row_must_say_until_when(until: Any) -> None:
    rows = held((5, 5, True), (5.5, until, True))
    outcome = framed(HOLDS, rows, readings="interval", axis=Axis(Domain.DOUBLE, 1))
    assert [(row["on"], reason) for row, reason in outcome.refused] == [(5.5, "no_until")]
    assert spans(outcome) == [(5, 5)]
    assert outcome.used == 1


# -- Extents ---------------------------------------------------------------------------------------


#   on            0 1 2 3 4
#                 F T T F T
#   conservative    [=]   |
#   liberal       [=====]
#                       [=]
def test_liberal_frames_reach_to_the_rows_around_them() -> None:
    assert spans(framed(HOLDS, "F T T F T", bounds="liberal")) == [(0, 3), (3, 4)]
    assert spans(framed(HOLDS, "T T", bounds="liberal")) == [(0, 1)]
    assert spans(framed(HOLDS, "T ? T", bounds="liberal")) == [(0, 1), (1, 2)]
    assert spans(framed(HOLDS, "T . T", bounds="liberal", schedule=SLOTS)) == [(0, 1), (1, 2)]
    assert spans(framed(Delta("x", 5), "1 2 9 8", bounds="liberal")) == [(0, 2), (1, 3)]
    assert spans(framed(Between("s", "e", "neither"), "s - e", bounds="liberal")) == [(0, 2)]


#   on            0 1 2 3 4 5 6
#                 F ? T ? T ? F      and the same with empty slots
#   break           [==)[==)         a missing row does not satisfy, so it bounds a frame
#   satisfy       [===========]      it may satisfy for all that is known, so it does not
#   carry         [===========]
@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("break", [(1, 3, 1, 0), (3, 5, 1, 0)]),
        ("satisfy", [(0, 6, 2, 2)]),
        ("carry", [(0, 6, 2, 1)]),
    ],
)
def test_liberal_bounds_are_rows_that_do_not_satisfy(
    missing: str, expected: list[tuple[int, ...]]
) -> None:
    choices: dict[str, Any] = {"bounds": "liberal", "missing": missing, "schedule": SLOTS}
    for line in ("F ? T ? T ? F", "F . T . T . F"):
        assert counted(framed(HOLDS, line, **choices)) == expected


#   on            0 1 2 3 4
#                 F ? ? T F         the mirror image of F T ? ? F
#   liberal       [=======]
def test_liberal_bounds_are_the_same_from_both_sides() -> None:
    for missing in ("satisfy", "carry"):
        for line in ("F ? ? T F", "F T ? ? F"):
            assert spans(framed(HOLDS, line, bounds="liberal", missing=missing)) == [(0, 4)]
        # Without a row that does not satisfy, the frame's own rows are its bounds.
        assert spans(framed(HOLDS, "? T F", bounds="liberal", missing=missing)) == [(1, 2)]
    assert spans(framed(HOLDS, "F T ?", bounds="liberal", missing="satisfy")) == [(0, 2)]
    assert spans(framed(HOLDS, "F T ?", bounds="liberal", missing="carry")) == [(0, 1)]
    # A condition decides for each missing row whether it satisfies.
    near = {"missing": "near", "bridged": lambda before, after: after["on"] - before["on"] < 3}
    assert spans(framed(HOLDS, "F ? T ? ? F", bounds="liberal", **near)) == [(0, 3)]


def test_durations_are_measured_before_widening() -> None:
    assert spans(framed(HOLDS, "F T F", bounds="liberal", min_duration=1)) == []
    assert spans(framed(HOLDS, "F T T F", bounds="liberal", max_duration=1)) == [(0, 3)]
    outcome = framed(HOLDS, "T . . T T . F T . . . F", bounds="liberal", longest=True)
    assert spans(outcome) == [(0, 6)]


def test_durations_on_doubles_are_double_arithmetic() -> None:
    rows = [{"on": on, "k": "a", "x": True} for on in (0.1, 0.2, 0.3)]
    tenths = Axis(Domain.DOUBLE, 1)
    assert 0.3 - 0.1 < 0.2
    assert spans(framed(HOLDS, rows, axis=tenths, min_duration="0.2")) == []
    exact = [{**row, "on": Decimal(str(row["on"]))} for row in rows]
    outcome = framed(HOLDS, exact, axis=Axis(Domain.DECIMAL, 1), min_duration="0.2")
    assert spans(outcome) == [(Decimal("0.1"), Decimal("0.3"))]


def test_durations_of_time() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    rows = [{"on": noon + timedelta(minutes=m), "k": "a", "x": True} for m in (0, 2, 5)]
    time = Axis(Domain.TIMESTAMP)
    assert spans(framed(HOLDS, rows, axis=time, min_duration="5 minutes")) == [
        (noon, noon + timedelta(minutes=5))
    ]
    slots = framed(HOLDS, rows, axis=time, schedule=schedule("1 minute"), missing="satisfy")
    assert counted(slots) == [(noon, noon + timedelta(minutes=5), 3, 3)]


# -- Fragments -------------------------------------------------------------------------------------


#   on   0 1 2 3 4 5 6 7       certain with two rows, then every 2
#        T T T T T T T F
#        [=]
#        [=====]
#        [=========]
#        [===========]         final
def test_fragments_of_a_long_frame() -> None:
    outcome = framed(HOLDS, "T T T T T T T F T", min_count=2, fragments=2)
    assert reported(outcome) == [
        (0, 0, 1, 2, 0, "partial"),
        (0, 0, 3, 4, 0, "partial"),
        (0, 0, 5, 6, 0, "partial"),
        (0, 0, 6, 7, 0, "final"),
    ]
    assert [len(row["got"]) for row in outcome.results] == [2, 4, 6, 7]


def test_fragments_of_other_readings_and_extents() -> None:
    def ends(line: str, **choices: Any) -> list[tuple[Any, ...]]:
        outcome = framed(choices.pop("kind", HOLDS), line, fragments=2, **choices)
        return [(start, end, status) for _, start, end, _, _, status in reported(outcome)]

    # How long the row holds is not known yet, so an open frame ends at its last row.
    assert ends("F T T T F", readings="until_next") == [
        (1, 1, "partial"),
        (1, 3, "partial"),
        (1, 4, "final"),
    ]
    assert ends("F T T T F", readings="until_next", min_duration=2) == [
        (1, 3, "partial"),
        (1, 4, "final"),
    ]
    assert ends("F T T T F", bounds="liberal") == [
        (0, 1, "partial"),
        (0, 3, "partial"),
        (0, 4, "final"),
    ]
    assert ends("5 4 5 6 7", kind=Trend("x", "increasing")) == [
        (1, 2, "partial"),
        (1, 4, "partial"),
        (1, 4, "final"),
    ]


#   on       0 1 2 3 4 5 6 7 8 9 ...
#            T T                       then a row at 12, and punctuation at 4, 5, 9 and 10
#   until    [=======|                 4: the row at 1 holds at least as long
#   next     [=================|       9: it has grown by five
#            [=======================| 12: final
def test_punctuation_tells_how_long_a_frame_lasts_at_the_least() -> None:
    def told(*batches: MicroBatch, **choices: Any) -> list[tuple[Any, ...]]:
        outcome = framed(HOLDS, *batches, fragments=5, **choices)
        return [(end, n, status) for _, _, end, n, _, status in reported(outcome)]

    rows, later = drawn("T T"), [{"on": 12, "k": "a", "x": False}]
    upto = [MicroBatch(rows, 4), *(MicroBatch([], tick) for tick in (5, 9, 10))]
    end = MicroBatch(later, END)
    assert told(*upto, end, readings="until_next", min_duration=2) == [
        (4, 2, "partial"),
        (9, 2, "partial"),
        (12, 2, "final"),
    ]
    # Without a later row the frame ends no earlier than was reported.
    assert told(*upto, readings="until_next", min_duration=10)[-1] == (10, 2, "final")
    # Also by the punctuation of its key.
    of_the_key = MicroBatch(rows, None, {("a",): 4})
    assert told(of_the_key, end, readings="until_next", min_duration=2)[0] == (4, 2, "partial")
    # Points show only where they are.
    assert told(*upto, end, min_duration=2) == []
    # A carried row bounds what is certain, because it is not known yet whether it leads on.
    rows[1]["x"] = None
    carried = told(*upto, end, readings="until_next", missing="carry")
    assert carried == [(0, 1, "partial"), (1, 1, "final")]


#   on       0 1 2 3 4 5 6 7 8      [0, 8) holds, and nothing may contradict it below punctuation
#   upto 3   [=====|
#   upto 7   [=============|
def test_punctuation_tells_how_much_of_an_interval_is_sure() -> None:
    upto = [MicroBatch(held((0, 8, True)), 3), MicroBatch([], 7), MicroBatch([], 20)]
    outcome = framed(HOLDS, *upto, readings="interval", fragments=4, min_duration=2)
    assert [row[2:] for row in reported(outcome)] == [
        (3, 1, 0, "partial"),
        (7, 1, 0, "partial"),
        (8, 1, 0, "final"),
    ]


def test_fragments_with_missing_rows() -> None:
    satisfied = framed(HOLDS, "T ? ? F", missing="satisfy", fragments=1)
    assert reported(satisfied) == [
        (0, 0, 0, 1, 0, "partial"),
        (0, 0, 1, 1, 1, "partial"),
        (0, 0, 2, 1, 2, "partial"),
        (0, 0, 2, 1, 2, "final"),
    ]
    # Carried rows join together with the row after them.
    carried = framed(HOLDS, "T ? ? T F", missing="carry", fragments=1)
    assert reported(carried) == [
        (0, 0, 0, 1, 0, "partial"),
        (0, 0, 3, 2, 2, "partial"),
        (0, 0, 3, 2, 2, "final"),
    ]
    assert [row["got"] for row in carried.results][1] == [0, 1, 2, 3]


def test_fragments_of_a_frame_that_never_ends() -> None:
    outcome = framed(Between("s", "e"), "s - -", fragments=2)
    assert reported(outcome) == [
        (0, 0, 0, 1, 0, "partial"),
        (0, 0, 2, 3, 0, "partial"),
        (0, 0, 2, 3, 0, "partial"),
    ]


def test_fragments_of_frames_that_are_cut() -> None:
    outcome = framed(HOLDS, "T T T T", fragments=5, max_count=2, cut=True)
    assert [(row[0], row[1], row[2], row[5]) for row in reported(outcome)] == [
        (0, 0, 0, "partial"),
        (0, 0, 1, "final"),
        (1, 2, 2, "partial"),
        (1, 2, 3, "final"),
    ]
