"""Framing schemes [Frames 4.2], on timelines worked out by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

import muntin as mt
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import Crossing, Delta
from muntin.specs.frames.schemes import Scheme, adjacent, cover
from tests.frames.definitions.timelines import framed, reported, spans
from tests.frames.feeding import feeding, line

#   on      0 1 2 3 4 5        minimal frames with sum > 5, from each row
#   value   3 1 4 2 6 1
#   c(0)    [===]
#   c(1)      [===]
#   c(2)        [=]
#   c(3)          [=]
#   c(4)            |
#   c(5)                       never enough
MINIMAL = Crossing("sum(x)", ">", Decimal(5))
SUMS = "3 1 4 2 6 1"

#   on      0 1 2 3 4 5        maximal frames with max - min < 3, from each row
#   value   1 2 3 5 4 9
#   c(0)    [===]
#   c(1)      [=]
#   c(2)        [===]
#   c(3)          [=]
#   c(4)            |
#   c(5)              |
MAXIMAL = Delta("x", 3)
VALUES = "1 2 3 5 4 9"


@pytest.mark.parametrize(
    ("kind", "line", "scheme", "expected"),
    [
        (MINIMAL, SUMS, Scheme("partition"), [(0, 2), (3, 4)]),
        (MINIMAL, SUMS, Scheme("advancing"), [(0, 2), (2, 3), (4, 4)]),
        (MINIMAL, SUMS, adjacent(0), [(0, 2), (2, 3), (3, 4), (4, 4)]),
        (MINIMAL, SUMS, adjacent(1), [(0, 2), (1, 3), (2, 3), (3, 4), (4, 4)]),
        (MINIMAL, SUMS, cover("drained"), [(0, 2), (3, 4)]),
        (MINIMAL, SUMS, cover("saturated"), [(0, 2), (1, 3), (2, 3), (3, 4), (4, 4)]),
        (MINIMAL, SUMS, Scheme("unconstrained"), [(0, 2), (1, 3), (2, 3), (3, 4), (4, 4)]),
        (MAXIMAL, VALUES, Scheme("partition"), [(0, 2), (3, 4), (5, 5)]),
        (MAXIMAL, VALUES, Scheme("advancing"), [(0, 2), (2, 4), (5, 5)]),
        (MAXIMAL, VALUES, adjacent(0), [(0, 2), (2, 4), (4, 4), (5, 5)]),
        (MAXIMAL, VALUES, cover("drained"), [(0, 2), (3, 4), (5, 5)]),
        (
            MAXIMAL,
            VALUES,
            Scheme("unconstrained"),
            [(0, 2), (1, 2), (2, 4), (3, 4), (4, 4), (5, 5)],
        ),
    ],
)
def test_schemes(
    kind: FrameKind, line: str, scheme: Scheme, expected: list[tuple[int, int]]
) -> None:
    outcome = framed(kind, line, scheme=scheme)
    assert spans(outcome) == expected
    assert [row["frame_id"] for row in outcome.results] == list(range(len(expected)))


def test_adjacent_frames_also_follow_those_that_are_not_reported() -> None:
    # c(4) is too short, and still says where the next one starts.
    assert spans(framed(MAXIMAL, VALUES, scheme=adjacent(0), min_count=2)) == [(0, 2), (2, 4)]


def test_other_schemes_choose_among_those_that_are() -> None:
    # Without the long ones, c(1) lies in no other frame.
    assert spans(framed(MAXIMAL, VALUES, scheme="advancing", max_count=2)) == [
        (1, 2),
        (3, 4),
        (5, 5),
    ]
    assert spans(framed(MAXIMAL, VALUES, scheme=cover(), max_count=2)) == [(1, 2), (3, 4), (5, 5)]


#   on      0  1  2  3  4  5  6  7 8 9 ...   12 13 14 15 16      minimal, sum >= 100, 6 rows
#   value   30 40 50 20 10 60 70 5 5 5 5 5 5    60 40 30 20
#   c(0)    [=====]--------]                   120 are reached with 3 rows, and it grows to 6
#   c(6)                      [==============]  100 are reached with 7 rows
#   c(7)                         [===============] the same for the rows after it
LARGE = Crossing("sum(x)", ">=", Decimal(100))
HUNDREDS = "30 40 50 20 10 60 70 5 5 5 5 5 5 60 40 30 20"
EVERY_LARGE = [*((i, i + 5) for i in range(6)), (6, 12), (7, 14), (8, 14), (9, 14)]
EVERY_LARGE += [(10, 15), (11, 16)]


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (Scheme("partition"), [(0, 5), (6, 12)]),
        (adjacent(1), [(0, 5), (4, 9), (8, 14)]),
        (Scheme("advancing"), [f for f in EVERY_LARGE if f not in ((7, 14), (8, 14))]),
        (cover("drained"), [(0, 5), (6, 12), (11, 16)]),
        (cover("saturated"), EVERY_LARGE),
        (Scheme("unconstrained"), EVERY_LARGE),
    ],
)
def test_minimal_frames_grow_until_they_meet_their_minima(
    scheme: Scheme, expected: list[tuple[int, int]]
) -> None:
    assert spans(framed(LARGE, HUNDREDS, scheme=scheme, min_count=6)) == expected
    assert spans(framed(LARGE, HUNDREDS, scheme=scheme, min_duration=5)) == expected
    fed = feeding(mt.aggregate("sum(v) >= 100"), scheme=scheme, min_count=6)
    assert [row[1:3] for row in fed.frames(line(HUNDREDS), end=True)] == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        # From 6 on six rows have 95, and the seventh opens the next frame.
        ({"min_count": 6, "max_count": 6}, [(0, 5)]),
        ({"min_count": 4, "max_count": 4}, [(0, 3), (4, 7), (12, 15)]),
        ({"min_duration": 3, "max_duration": 3}, [(0, 3), (4, 7), (12, 15)]),
        ({"max_count": 3}, [(0, 2), (12, 14)]),
    ],
)
def test_a_minimal_frame_beyond_its_maximum_is_given_up(
    limits: dict[str, int], expected: list[tuple[int, int]]
) -> None:
    assert spans(framed(LARGE, HUNDREDS, **limits)) == expected
    for at_once in (1, 17):
        fed, found = feeding(mt.aggregate("sum(v) >= 100"), **limits), []
        for first in range(0, 17, at_once):
            rows = line(HUNDREDS)[first : first + at_once]
            found += fed.frames(rows, upto=first + at_once)
        assert [row[1:3] for row in found] == expected


#   on      0 1 2 3 4 5      the row at 1 has no value, so no frame begins there
#   value   3 ? 3 2 ? 9
def test_frames_do_not_begin_with_missing_rows() -> None:
    every = Scheme("unconstrained")
    outcome = framed(MINIMAL, "3 ? 3 2 ? 9", scheme=every, missing="satisfy")
    assert reported(outcome) == [
        (0, 0, 2, 2, 1, "final"),
        (1, 2, 5, 3, 1, "final"),
        (2, 3, 5, 2, 1, "final"),
        (3, 5, 5, 1, 0, "final"),
    ]
    # A minimal frame that breaks off is no frame.
    assert spans(framed(MINIMAL, "3 ? 3 2 ? 9", scheme=every)) == [(5, 5)]


def test_a_maximal_frame_that_a_missing_row_ends_is_one() -> None:
    outcome = framed(MAXIMAL, "1 2 ? 2", scheme="advancing")
    assert spans(outcome) == [(0, 1), (3, 3)]


def test_adjacent_by_the_end_that_is_reported() -> None:
    # A row holds until the next: c(0) ends at 3, where the first row after it lies.
    outcome = framed(MAXIMAL, VALUES, scheme=adjacent(0), readings="until_next")
    assert spans(outcome) == [(0, 3), (3, 5), (5, 5)]


def test_the_longest_of_overlapping_frames() -> None:
    assert spans(framed(MAXIMAL, VALUES, scheme="unconstrained", longest=True)) == [(0, 2)]


@pytest.mark.parametrize("scheme", ["advancing", "cover", "unconstrained"])
def test_no_rows_no_frames(scheme: str) -> None:
    assert spans(framed(MINIMAL, "1 1 1", scheme=scheme)) == []
