"""The reference of windows over rows, on timelines computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from muntin.reference.rows import SequenceReference
from muntin.reference.windows import END, MicroBatch, Outcome, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import Landmarks, RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Window

INTEGER = Axis(Domain.INTEGER)


def at(*on: Any, **more: Any) -> list[Row]:
    return [{"on": value, "k": "a", **more} for value in on]


def run(spec: Any, *batches: MicroBatch, **choices: Any) -> Outcome:
    reference = SequenceReference(
        spec,
        choices.pop("axis", INTEGER),
        ["k"],
        [],
        {"got": lambda rows: [row["on"] for row in rows]},
        slide_axis=INTEGER,
        **choices,
    )
    return reference.run(batches)


def found(outcome: Outcome) -> list[tuple[Any, ...]]:
    return [(row["window_start"], row["window_end"], row["got"]) for row in outcome.results]


def whole(*on: Any) -> MicroBatch:
    return MicroBatch(at(*on), END)


#   ranks    0  1  2  3          RANGE 3 SLIDE 2; the row at 1 is more than 5 before that at 9
#   on       1  4  7  9
def test_row_windows_within_a_length() -> None:
    assert found(run(RowWindow(3, 2, "on"), whole(9, 4, 1, 7))) == [
        (0, 2, [1, 4]),
        (1, 4, [4, 7, 9]),
        (3, 6, [9]),
    ]
    assert found(run(RowWindow(3, 2, "on", within=5), whole(9, 4, 1, 7))) == [
        (0, 2, [1, 4]),
        (1, 4, [7, 9]),
        (3, 6, [9]),
    ]


def test_equal_values_share_one_window_of_tuples() -> None:
    assert found(run(TupleWindow(5, "on"), whole(3, 3, 8))) == [(-2, 3, [3, 3]), (3, 8, [8])]


#   on      1   2   3   5        slides of 10: a window ends before a row of another slide
#   mile    3   9  12  31
def test_slides_over_another_attribute() -> None:
    rows = [{"on": o, "k": "a", "mile": m} for o, m in ((1, 3), (2, 9), (3, 12), (5, 31), (4, 2))]
    spec = SlideOnWindow(3, 10, "on", "mile")
    outcome = run(spec, MicroBatch([*rows, {"on": 6, "k": "a", "mile": None}]), unfinished="flag")
    assert found(outcome) == [(-1, 2, [1, 2]), (0, 3, [1, 2, 3]), (2, 5, [3, 5])]
    assert [row["complete"] for row in outcome.results] == [True, True, False]
    assert [reason for _, reason in outcome.refused] == ["null_slide_on", "slide_on_fell"]
    assert outcome.used == 4


#   landmarks      0           12           30
#   on        -1     3     11      14            25 is the largest value, of another key
def test_given_landmarks() -> None:
    outcome = run(
        Landmarks("on", 5, [0, 12, 30]),
        MicroBatch([*at(-1, 3, 11, 14), {"on": 25, "k": "b"}]),
        unfinished="flag",
    )
    assert [
        (*shown, r["complete"]) for shown, r in zip(found(outcome), outcome.results, strict=True)
    ] == [
        (0, 5, [3], True),
        (0, 10, [3], True),
        (0, 12, [3, 11], True),
        (12, 17, [14], True),
        (12, 22, [14], True),
        (12, 27, [14], False),
        (12, 27, [25], False),
    ]
    assert [reason for _, reason in outcome.refused] == ["before_origin"]


def test_without_slide_a_landmark_has_one_window() -> None:
    outcome = run(Landmarks("on", origins=[0, 12]), whole(3, 11, 14), unfinished="flag")
    assert found(outcome) == [(0, 12, [3, 11]), (12, None, [14])]
    assert [row["complete"] for row in outcome.results] == [True, False]


def test_landmarks_found_in_the_data() -> None:
    rows = [*at(1, 5, start=False), *at(3, 8, start=True)]
    spec = Landmarks("on", start="start")
    outcome = run(spec, MicroBatch(rows, END), landmark=lambda row: row["start"])
    assert found(outcome) == [(3, 8, [3, 5]), (8, None, [8])]
    assert outcome.used == 4


#   the only row is at 3, and the punctuation is 16: windows that end up to 16 are complete
@pytest.mark.parametrize("spec", [Landmarks("on", 5, [0]), Landmark(5, "on", 0)])
def test_windows_that_punctuation_has_closed_are_complete(spec: Any) -> None:
    outcome = run(spec, MicroBatch(at(3), 16), MicroBatch([], END), unfinished="flag")
    assert [(r["window_end"], r["complete"]) for r in outcome.results] == [
        (5, True),
        (10, True),
        (15, True),
    ]


def test_windows_that_only_the_end_closes_are_not() -> None:
    outcome = run(Window(10, 5, "on"), MicroBatch(at(3), 5), unfinished="flag")
    assert [(r["window_end"], r["complete"]) for r in outcome.results] == [(5, True), (10, False)]
    assert found(run(Window(10, 5, "on"), MicroBatch(at(3), 5), unfinished="drop")) == [
        (-5, 5, [3])
    ]


#   on     0    5     11       gap 5: a row exactly at the end still joins
def test_sessions() -> None:
    assert found(run(Session("on", 5), whole(11, 0, 5))) == [(0, 10, [0, 5]), (11, 16, [11])]
    rows = [*at(0, gap=20), *at(3, gap=1), *at(21, gap=1), *at(4, gap=0), *at(5, gap=None)]
    outcome = run(Session("on"), MicroBatch(rows, END), gap=lambda row: row["gap"])
    assert found(outcome) == [(0, 20, [0, 3]), (21, 22, [21])]
    assert [reason for _, reason in outcome.refused] == ["no_gap", "no_gap"]


def test_a_punctuation_never_goes_back_and_may_be_of_one_key() -> None:
    rows = [{"on": 4, "k": k} for k in "ab"]
    outcome = run(
        TupleWindow(5, "on"),
        MicroBatch([], 3, {("a",): 5}),
        MicroBatch([], 1, {("a",): 2}),
        MicroBatch([*rows, *at(2, k="b")]),
        MicroBatch([], punctuations=2),
    )
    assert [(row["k"], reason) for row, reason in outcome.refused] == [("a", "late"), ("b", "late")]
    assert outcome.used == 1 + 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [(None, "null_on"), (float("nan"), "nan_on"), (float("inf"), "out_of_range")],
)
def test_values_without_a_place(value: Any, reason: str) -> None:
    outcome = run(RowWindow(1, 1, "on"), whole(value), axis=Axis(Domain.DOUBLE, 1))
    assert [why for _, why in outcome.refused] == [reason]
    assert outcome.results == []


def test_by_arrival_no_row_is_late() -> None:
    spec = RowWindow(2, 2, "on", order="arrival")
    outcome = run(spec, MicroBatch(at(9), 9), MicroBatch(at(1), END))
    assert found(outcome) == [(0, 2, [9, 1])]
    assert {name: outcome.results[0][name] for name in ("on_start", "on_end")} == {
        "on_start": 9,
        "on_end": 1,
    }
