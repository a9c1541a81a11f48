"""Rows that tie, are late or have no place: which of them count, and what happens to the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from muntin.errors import TieError
from muntin.reference.windows import END, MicroBatch, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.kinds import Boundary, Delta, Threshold
from muntin.specs.frames.schemes import schedule
from tests.frames.definitions.timelines import drawn, framed, spans

HOLDS = Threshold("x")

# -- Ties ------------------------------------------------------------------------------------------

TIED = [
    {"on": 0, "k": "a", "x": 2, "seq": 1},
    {"on": 1, "k": "a", "x": 2, "seq": 7},
    {"on": 1, "k": "a", "x": 4, "seq": 3},
    {"on": 1, "k": "b", "x": 4, "seq": 3},
]


def test_a_tie_fails() -> None:
    with pytest.raises(TieError) as failed:
        framed(Boundary("x"), TIED)
    assert (failed.value.key, failed.value.on) == (("a",), 1)
    assert str(failed.value) == (
        "key 'a' has more than one row at 1, or in its slot of the schedule; refuse them with "
        "ties='refuse', with which a stopped stream goes on, or keep one with ties='first' or "
        "ties='last' and tie_order=, or make them one row with ties='mean', 'max', 'min' or 'sum'"
    )
    with pytest.raises(TieError, match="there is more than one row at 1"):
        framed(Boundary("x"), TIED, by=[])
    assert isinstance(failed.value, ValueError)


@pytest.mark.parametrize(
    ("ties", "left_out", "expected"),
    [("first", 7, [(0, 0), (1, 1)]), ("last", 3, [(0, 1)])],
)
def test_one_of_the_rows_that_tie(
    ties: str, left_out: int, expected: list[tuple[int, int]]
) -> None:
    outcome = framed(
        Boundary("x"), TIED[:3], ties=ties, tie_order="seq", tie=lambda row: row["seq"]
    )
    assert spans(outcome) == expected
    assert [(row["seq"], reason) for row, reason in outcome.refused] == [(left_out, "tie")]
    assert outcome.used == 2


def test_all_of_the_rows_that_tie_are_refused() -> None:
    outcome = framed(Boundary("x"), TIED[:3], ties="refuse")
    assert spans(outcome) == [(0, 0)]
    assert sorted((row["seq"], reason) for row, reason in outcome.refused) == [
        (3, "tie"),
        (7, "tie"),
    ]
    assert outcome.used == 1


def test_rows_that_tie_in_the_tie_order_too_go_by_arrival() -> None:
    rows = [{"on": 0, "k": "a", "x": 1, "seq": 5, "came": came} for came in (1, 2, 3)]
    for ties, kept in (("first", 1), ("last", 3)):
        outcome = framed(Boundary("x"), rows, ties=ties, tie_order="seq", tie=lambda r: r["seq"])
        assert {row["came"] for row, _ in outcome.refused} == {1, 2, 3} - {kept}


def test_one_row_of_those_that_tie() -> None:
    def mean(rows: Sequence[Row]) -> Row:
        return {**rows[0], "x": sum(row["x"] for row in rows) / len(rows)}

    outcome = framed(Delta("x", 1), TIED[:3], ties="mean", combine=mean)
    assert spans(outcome) == [(0, 0), (1, 1)]  # 2 and 3
    assert (outcome.used, outcome.refused) == (3, [])


#   slots of 5       [0       5          rows at 7 and 9 share one
#   rows              1        7 9
def test_two_rows_in_a_slot_tie() -> None:
    rows = [{"on": on, "k": "a", "x": True, "seq": seq} for on, seq in ((1, 1), (7, 3), (9, 2))]
    with pytest.raises(TieError, match="more than one row at 9"):
        framed(HOLDS, rows, schedule=schedule(5))
    choices: dict[str, Any] = {"schedule": schedule(5), "tie": lambda row: row["seq"]}
    for ties, end in (("first", 9), ("last", 7)):
        assert spans(framed(HOLDS, rows, ties=ties, tie_order="seq", **choices)) == [(1, end)]
    assert spans(framed(HOLDS, rows[::-1], ties="max", **choices)) == [(1, 7)]


# -- Keys, lateness and refusals -------------------------------------------------------------------


def test_frames_are_found_per_key() -> None:
    rows = [
        {"on": on, "k": k, "x": x}
        for on, k, x in ((0, None, True), (1, "a", True), (2, None, True), (3, "a", False))
    ]
    outcome = framed(HOLDS, rows)
    assert {row["k"]: (row["frame_start"], row["frame_end"]) for row in outcome.results} == {
        None: (0, 2),
        "a": (1, 1),
    }


def test_late_rows_count_nowhere() -> None:
    outcome = framed(
        HOLDS,
        MicroBatch(drawn("T . . . T"), 3),
        MicroBatch(drawn(". F . . . T"), 1, {("b",): 9}, punctuations=2),
        MicroBatch(drawn(". . . F . . T"), END),
        MicroBatch(drawn(". . . . . . . . T", k="b"), END),
    )
    assert [(row["on"], reason) for row, reason in outcome.refused] == [(1, "late"), (8, "late")]
    assert spans(outcome) == [(0, 0), (4, 6)]
    assert outcome.used == 5 + 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [(None, "null_on"), (float("nan"), "nan_on"), (float("inf"), "out_of_range")],
)
def test_values_without_a_place(value: Any, reason: str) -> None:
    rows = [{"on": value, "k": "a", "x": True}]
    outcome = framed(HOLDS, rows, axis=Axis(Domain.DOUBLE, 1))
    assert [why for _, why in outcome.refused] == [reason]
    assert outcome.results == []
