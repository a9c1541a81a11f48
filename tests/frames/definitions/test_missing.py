"""Missing rows and schedules (appendices C and F), on timelines worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from muntin.errors import TieError
from muntin.reference.windows import END, MicroBatch, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.kinds import Between, Boundary, Crossing, Delta, Threshold
from muntin.specs.frames.schemes import schedule
from tests.frames.definitions.timelines import counted, drawn, framed, reported, spans

HOLDS = Threshold("x")
SLOTS = schedule(1)

# -- Missing rows ----------------------------------------------------------------------------------


#   on        0 1 2 3 4 5
#   value     1 ? 1 ? 2 ?
#   break     |   |   |
#   satisfy   [=====] [=]
#   carry     [===]   |
@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("break", [(0, 0, 1, 0), (2, 2, 1, 0), (4, 4, 1, 0)]),
        ("satisfy", [(0, 3, 2, 2), (4, 5, 1, 1)]),
        ("carry", [(0, 2, 2, 1), (4, 4, 1, 0)]),
    ],
)
def test_rows_without_a_value(missing: str, expected: list[tuple[int, ...]]) -> None:
    for line in ("1 ? 1 ? 2 ?", "1 . 1 . 2 ?"):
        assert counted(framed(Boundary("x"), line, missing=missing, schedule=SLOTS)) == expected


def test_nan_is_no_value() -> None:
    rows = [{**row, "x": row["x"] or float("nan")} for row in drawn("1 ? 1")]
    for kind in (Boundary("x"), Delta("x", 5)):
        assert counted(framed(kind, rows, missing="carry")) == [(0, 2, 2, 1)]


def test_a_condition_sees_the_real_rows_around_all_missing_ones() -> None:
    seen = []

    def bridged(before: Row, after: Row) -> bool:
        seen.append((before["on"], after["on"]))
        return bool(after["on"] - before["on"] < 4)

    outcome = framed(HOLDS, "T ? . T . . ? T ?", missing="near", schedule=SLOTS, bridged=bridged)
    assert counted(outcome) == [(0, 3, 2, 2), (7, 7, 1, 0)]
    assert set(seen) == {(0, 3), (3, 7)}  # after the last real row the condition is not evaluated


def test_a_frame_does_not_begin_with_a_missing_row() -> None:
    for missing in ("satisfy", "carry"):
        assert counted(framed(HOLDS, "? ? T", missing=missing)) == [(2, 2, 1, 0)]
        assert counted(framed(HOLDS, "F ? T", missing=missing)) == [(2, 2, 1, 0)]


def test_counts_look_at_both_durations_at_the_end_that_is_reported() -> None:
    assert counted(framed(HOLDS, "T ? F", missing="satisfy", min_count=2, min_duration=1)) == [
        (0, 1, 1, 1)
    ]
    assert counted(framed(HOLDS, "T ? F", missing="carry", min_count=2)) == []


def test_a_minimal_frame_that_a_missing_row_ends_is_none() -> None:
    kind = Crossing("sum(x)", ">", Decimal(5))
    assert counted(framed(kind, "3 ? 4 3")) == [(2, 3, 2, 0)]
    assert counted(framed(kind, "3 ? 4 3", missing="satisfy")) == [(0, 2, 2, 1)]
    assert counted(framed(kind, "3 ? 4 3", missing="carry")) == [(0, 2, 2, 1)]


#   on         0 1 2 3 4      the slot at 2 is empty
#              s - . - e
def test_between_over_missing_rows() -> None:
    def policy(line: str, missing: str, inclusive: str = "both") -> list[tuple[Any, ...]]:
        outcome = framed(Between("s", "e", inclusive), line, missing=missing, schedule=SLOTS)
        return [row[1:] for row in reported(outcome)]

    assert policy("s - . - e", "break") == [(0, 1, 2, 0, "partial")]
    assert policy("s - . - e", "satisfy") == [(0, 4, 4, 1, "final")]
    assert policy("s - . - e", "carry") == [(0, 4, 4, 1, "final")]
    # The row that ends it is outside, so a carried row has no row to lead to.
    assert policy("s - . e", "satisfy", "start") == [(0, 2, 2, 1, "final")]
    assert policy("s - . e", "carry", "start") == [(0, 1, 2, 0, "final")]
    # Without the row that starts it, its first row is the one after the empty slot.
    assert policy("s . - e", "satisfy", "end") == [(2, 3, 2, 0, "final")]
    assert policy("s . - e", "carry", "end") == [(2, 3, 2, 0, "final")]
    assert policy("s . - e", "break", "end") == []


def test_aggregates_see_rows_without_a_value_but_no_empty_slots() -> None:
    (frame,) = framed(HOLDS, "T ? . T", missing="satisfy", schedule=SLOTS).results
    assert frame["got"] == [0, 1, 3]
    assert [*frame] == [
        "k",
        "frame_id",
        "frame_start",
        "frame_end",
        "n",
        "n_missing",
        "status",
        "got",
    ]


def test_cut_at_missing_rows() -> None:
    def cut(line: str, missing: str, most: int) -> list[tuple[Any, ...]]:
        return counted(
            framed(HOLDS, line, missing=missing, schedule=SLOTS, max_count=most, cut=True)
        )

    assert cut("T . . . T", "satisfy", 2) == [(0, 1, 1, 1), (4, 4, 1, 0)]
    # Carried rows join together with the row that they lead to, or not at all.
    assert cut("T . . T F", "carry", 3) == [(0, 0, 1, 0), (3, 3, 1, 0)]
    assert cut("T . . T F", "carry", 4) == [(0, 3, 2, 2)]


# -- Schedules -------------------------------------------------------------------------------------


#   slots of 5 from 2       [2  7  12  17  22
#   rows                     3        16          the largest `on` is 18, of another key
def test_empty_slots_lie_where_they_start() -> None:
    rows = [{"on": on, "k": k, "x": True} for on, k in ((3, "a"), (16, "a"), (18, "b"))]
    outcome = framed(HOLDS, rows, schedule=schedule(5, origin=2), missing="satisfy")
    assert [
        (row["k"], *told) for row, told in zip(outcome.results, counted(outcome), strict=True)
    ] == [
        ("a", 3, 17, 2, 2),  # the slot at 7, and that at 17 which holds 18
        ("b", 18, 18, 1, 0),
    ]


@pytest.mark.parametrize(("upto", "end"), [(4, 1), (5, 1), (10, 5), (14, 5), (15, 10)])
def test_slots_below_the_punctuation_are_missing(upto: int, end: int) -> None:
    batches = [MicroBatch(drawn(". T"), upto), MicroBatch([], END)]
    outcome = framed(HOLDS, *batches, schedule=schedule(5), missing="satisfy")
    assert spans(outcome) == [(1, end)]
    of_the_key = [MicroBatch(drawn(". T"), None, {("a",): upto})]
    assert spans(framed(HOLDS, *of_the_key, schedule=schedule(5), missing="satisfy")) == [(1, end)]


BERLIN = ZoneInfo("Europe/Berlin")


def daily(*days: int, hour: int) -> list[Row]:
    """Readings at an hour on clocks of Berlin, which go forward on 29 March 2026."""
    hours = [datetime(2026, 3, day, hour, 30, tzinfo=BERLIN) for day in days]
    return [{"on": at.astimezone(UTC), "k": "a", "x": True} for at in hours]


#   March      27   28   29   30   31      a slot is 24 hours from midnight, in summer from one
#   at 12:30    T    T    T    .    T
def test_slots_of_a_day_across_a_change_of_clocks() -> None:
    axis = Axis(Domain.TIMESTAMP, zone="Europe/Berlin")
    rows, slots = daily(27, 28, 29, 31, hour=12), schedule("1 day")
    first, last = rows[0]["on"], rows[-1]["on"]
    outcome = framed(HOLDS, rows, axis=axis, schedule=slots, missing="satisfy")
    assert counted(outcome) == [(first, last, 4, 1)]
    # A missing row lies where its slot starts, which is one o'clock by then.
    (frame, _) = framed(
        HOLDS, rows, axis=axis, schedule=slots, missing="satisfy", max_count=4, cut=True
    ).results
    assert frame["frame_end"] == datetime(2026, 3, 30, 1, tzinfo=BERLIN)
    assert spans(framed(HOLDS, rows, axis=axis, schedule=slots)) == [
        (first, rows[2]["on"]),
        (last, last),
    ]
    # Half past midnight in summer belongs to the slot that began at one in the night before.
    with pytest.raises(TieError, match="in its slot of the schedule"):
        framed(HOLDS, daily(28, 29, 30, hour=0), axis=axis, schedule=slots)
    plain = [
        {**row, "on": row["on"].astimezone(BERLIN).replace(tzinfo=None)}
        for row in daily(28, 29, 30, hour=0)
    ]
    on_clocks = framed(HOLDS, plain, axis=Axis(Domain.TIMESTAMP_NTZ), schedule=slots)
    assert [row["n"] for row in on_clocks.results] == [3]
