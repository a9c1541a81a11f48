from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.reference.definitions import extent, windows
from muntin.reference.disorder import Rule
from muntin.reference.windows import END, MicroBatch, Outcome, Reference, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.disorder import slack
from muntin.specs.windows import Edges, Window
from tests.windows.strategies import edges

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
INTEGER = Axis(Domain.INTEGER)


def noon(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def values(rows: Sequence[Row]) -> list[Any]:
    return sorted(row["x"] for row in rows)


def over_integers(spec: Edges, **choices: Any) -> Reference:
    return Reference(spec, INTEGER, "x", choices.pop("by", ()), {"got": values}, **choices)


def rows(*ticks: Any) -> list[Row]:
    return [{"x": tick} for tick in ticks]


def found(outcome: Outcome) -> list[tuple[Any, ...]]:
    return [(r["window_start"], r["window_end"], r["got"]) for r in outcome.results]


# -- [Window-ids, Q1] ------------------------------------------------------------------------------


Q1 = Window("300 seconds", "60 seconds", "ts", origin=NOON)
AXIS = Q1.axis(Domain.TIMESTAMP, scale=0, zone="UTC")


def q1(batches: Sequence[MicroBatch], **choices: Any) -> Outcome:
    aggregates = {
        "hi": lambda rows: max(row["speed"] for row in rows),
        "lo": lambda rows: min(row["speed"] for row in rows),
    }
    return Reference(Q1.edges(AXIS), AXIS, "ts", ["seg"], aggregates, **choices).run(batches)


def reading(minutes: float, speed: int, seg: str | None = "s6") -> Row:
    return {"ts": noon(minutes), "speed": speed, "seg": seg}


#   12:05:30  10           windows 5 to 9
#   12:07     60           windows 7 to 11
#   12:10     40           windows 10 to 14
#   12:11     punctuation  closes 10
ROWS = [reading(10, 40), reading(5.5, 10), reading(7, 60)]


def test_q1() -> None:
    outcome = q1([MicroBatch(ROWS, noon(11))])
    assert outcome.results == [
        {"seg": "s6", "window_start": noon(w - 4), "window_end": noon(w + 1), "hi": hi, "lo": lo}
        for w, hi, lo in [
            (5, 10, 10),
            (6, 10, 10),
            (7, 60, 10),
            (8, 60, 10),
            (9, 60, 10),
            (10, 60, 40),
        ]
    ]
    assert (outcome.used, outcome.refused) == (3, [])


def test_the_end_closes_what_is_open() -> None:
    outcome = q1([MicroBatch(ROWS, noon(11)), MicroBatch([], END)])
    assert [(r["window_end"], r["hi"], r["lo"]) for r in outcome.results[6:]] == [
        (noon(12), 60, 40),
        (noon(13), 40, 40),
        (noon(14), 40, 40),
        (noon(15), 40, 40),
    ]


def test_partial_windows_start_at_the_origin() -> None:
    outcome = q1([MicroBatch([reading(0, 7)], END)])
    assert [(r["window_start"], r["window_end"]) for r in outcome.results] == [
        (noon(0), noon(w + 1)) for w in range(5)
    ]


def test_keys_are_separate_and_null_is_one() -> None:
    batch = [reading(0, 1, "a"), reading(0, 2, None), reading(0, 4, "a"), reading(0, 8, None)]
    outcome = q1([MicroBatch(batch, noon(1))])
    assert [(r["seg"], r["hi"], r["lo"]) for r in outcome.results] == [("a", 4, 1), (None, 8, 2)]


# -- lateness --------------------------------------------------------------------------------------


#   RANGE 4 SLIDE 2, punctuation 6 closes window 2 = [2, 6)
#
#   tick   0   2   4   6   8
#   w 2        [.......)
#   w 3            [.......)
#   row 5 lies in both, row 3 in windows 1 and 2 only
SLIDING = Edges(4, 2, origin=0, clipped=False)


def late_run(late: Any) -> Outcome:
    batches = [MicroBatch(rows(1), 6), MicroBatch(rows(5, 3, 7), 8)]
    return over_integers(SLIDING, late=late).run(batches)


def test_generous_counts_a_late_row_where_a_window_is_open() -> None:
    outcome = late_run("generous")
    assert found(outcome) == [(-2, 2, [1]), (0, 4, [1]), (4, 8, [5, 7])]
    assert outcome.refused == [({"x": 3}, "late")]
    assert outcome.used == 3


def test_consistent_counts_a_late_row_nowhere() -> None:
    outcome = late_run("consistent")
    assert found(outcome) == [(-2, 2, [1]), (0, 4, [1]), (4, 8, [7])]
    assert outcome.refused == [({"x": 5}, "late"), ({"x": 3}, "late")]


def test_a_punctuation_takes_effect_at_the_end_of_its_micro_batch() -> None:
    outcome = over_integers(SLIDING).run([MicroBatch(rows(7, 1), 8)])
    assert outcome.refused == []
    assert found(outcome) == [(-2, 2, [1]), (0, 4, [1]), (4, 8, [7])]


def test_a_smaller_punctuation_takes_nothing_back() -> None:
    batches = [MicroBatch(rows(1), 6), MicroBatch(rows(), 2), MicroBatch(rows(3), None)]
    outcome = over_integers(SLIDING).run(batches)
    assert outcome.refused == [({"x": 3}, "late")]


def test_a_row_between_windows_is_used_and_never_late() -> None:
    gaps = Edges(1, 10, origin=0, clipped=False)  # [9, 10), [19, 20), ...
    outcome = over_integers(gaps).run([MicroBatch(rows(9), 10), MicroBatch(rows(5, 9), END)])
    assert outcome.refused == [({"x": 9}, "late")]
    assert outcome.used == 2
    assert found(outcome) == [(9, 10, [9])]


@pytest.mark.parametrize("spec", [SLIDING, Edges(2, 2, 0, clipped=True, landmark=True)])
def test_after_the_end_every_row_is_late(spec: Edges) -> None:
    outcome = over_integers(spec).run([MicroBatch(rows(1), END), MicroBatch(rows(1, 99), END)])
    assert outcome.refused == [({"x": 1}, "late"), ({"x": 99}, "late")]
    assert outcome.used == 1


def test_rows_without_a_place() -> None:
    axis = Axis(Domain.DOUBLE, 0)
    reference = Reference(Edges(2, 2, 10, clipped=True), axis, "x", (), {"got": values})
    outcome = reference.run([MicroBatch(rows(None, math.nan, 1e300, 9.5, 10.0), END)])
    assert [reason for _, reason in outcome.refused] == [
        "null_on",
        "nan_on",
        "out_of_range",
        "before_origin",
    ]
    assert found(outcome) == [(10.0, 12.0, [10.0])]
    assert outcome.used == 1


# -- the end of input ------------------------------------------------------------------------------


#   largest row 5:  [2, 6) and [4, 8) end beyond it
@pytest.mark.parametrize(
    ("unfinished", "ends"),
    [("keep", [2, 4, 6, 8]), ("drop", [2, 4]), ("flag", [2, 4, 6, 8])],
)
def test_unfinished(unfinished: Any, ends: list[int]) -> None:
    outcome = over_integers(SLIDING, unfinished=unfinished).run([MicroBatch(rows(1, 5), END)])
    assert [r["window_end"] for r in outcome.results] == ends
    if unfinished == "flag":
        assert [r["complete"] for r in outcome.results] == [True, True, False, False]
    else:
        assert all("complete" not in r for r in outcome.results)


#   the largest row says that nothing below it is missing, so [2, 6) is complete at 6
def test_a_window_that_ends_at_the_largest_row_is_complete() -> None:
    outcome = over_integers(SLIDING, unfinished="flag").run([MicroBatch(rows(5, 6), END)])
    assert [(r["window_end"], r["complete"]) for r in outcome.results] == [
        (6, True),
        (8, False),
        (10, False),
    ]


def test_what_a_punctuation_closes_is_complete() -> None:
    outcome = over_integers(SLIDING, unfinished="flag").run([MicroBatch(rows(5), 8)])
    assert [(r["window_end"], r["complete"]) for r in outcome.results] == [(6, True), (8, True)]


def test_an_input_without_rows() -> None:
    assert over_integers(SLIDING).run([MicroBatch([], END)]) == Outcome()
    landmark = Edges(10, 10, 0, clipped=True, landmark=True)
    assert over_integers(landmark).run([MicroBatch([], 50), MicroBatch([], END)]) == Outcome()


# -- landmark windows ------------------------------------------------------------------------------


#   slide 10, landmark 0
#
#   tick   0        10        20        30
#   w 0    [---------)
#   w 1    [-------------------)
#   w 2    [-----------------------------)     the first that ends beyond 25
#   a      3                       25
#   b               12
def test_landmark_windows_are_reported_for_every_key_seen() -> None:
    spec = Edges(10, 10, 0, clipped=True, landmark=True)
    reference = Reference(spec, INTEGER, "x", ["k"], {"got": values})
    batch = [{"k": "a", "x": 3}, {"k": "b", "x": 12}, {"k": "a", "x": 25}]
    outcome = reference.run([MicroBatch(batch, END)])
    assert [(r["k"], r["window_start"], r["window_end"], r["got"]) for r in outcome.results] == [
        ("a", 0, 10, [3]),
        ("a", 0, 20, [3]),
        ("a", 0, 30, [3, 25]),
        ("b", 0, 20, [12]),
        ("b", 0, 30, [12]),
    ]


def test_a_late_row_of_a_landmark_window() -> None:
    spec = Edges(10, 10, 0, clipped=True, landmark=True)
    batches = [MicroBatch(rows(3), 20), MicroBatch(rows(5), 30)]
    generous = over_integers(spec).run(batches)
    assert found(generous) == [(0, 10, [3]), (0, 20, [3]), (0, 30, [3, 5])]
    consistent = over_integers(spec, late="consistent").run(batches)
    assert found(consistent) == [(0, 10, [3]), (0, 20, [3]), (0, 30, [3])]
    assert consistent.refused == [({"x": 5}, "late")]


# -- against the definitions -----------------------------------------------------------------------


TICKS = st.lists(st.integers(-60, 60), max_size=12)


@given(edges(longest=12), TICKS)
def test_in_one_batch_every_window_is_its_extent(spec: Edges, ticks: list[int]) -> None:
    outcome = over_integers(spec).run([MicroBatch(rows(*ticks), END)])
    kept = [tick for tick in ticks if not spec.clipped or tick >= spec.origin]
    last = spec.last_closed(max(kept, default=0)) + 1
    expected = [
        (spec.start(wid), spec.end(wid), sorted(extent(wid, kept, INTEGER, spec)))
        for wid in sorted(windows(kept, INTEGER, spec, until=last))
    ]
    assert found(outcome) == expected
    assert outcome.used == len(kept)


@given(edges(longest=12), st.lists(TICKS, max_size=4), st.sampled_from(["generous", "consistent"]))
def test_every_row_is_used_or_refused(spec: Edges, split: list[list[int]], late: Any) -> None:
    batches = Rule(slack(5), INTEGER, "x").punctuate([rows(*ticks) for ticks in split])
    outcome = over_integers(spec, late=late).run(batches)
    assert outcome.used + len(outcome.refused) == sum(map(len, split))
    ends = Counter((r["window_start"], r["window_end"]) for r in outcome.results)
    assert set(ends.values()) <= {1}  # a window is reported once


@given(edges(longest=12), TICKS, st.integers(0, 12))
def test_the_split_into_micro_batches_changes_nothing_within_the_slack(
    spec: Edges, ticks: list[int], cut: int
) -> None:
    whole = over_integers(spec).run([MicroBatch(rows(*ticks), END)])
    split = [rows(*ticks[:cut]), rows(*ticks[cut:])]
    batches = Rule(slack(120), INTEGER, "x").punctuate(split)
    parts = over_integers(spec).run(batches)
    assert sorted(found(parts)) == sorted(found(whole))
    assert parts.used == whole.used
