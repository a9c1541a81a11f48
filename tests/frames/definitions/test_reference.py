"""The reference of frames, kind by kind, on timelines worked out by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from muntin.reference.windows import Row
from muntin.specs.frames.kinds import Between, Boundary, Crossing, Delta, Edge, Threshold, Trend
from muntin.specs.frames.own_function import FramingFunction, OwnKind
from muntin.specs.frames.row_kinds import Density
from muntin.specs.frames.schemes import schedule
from tests.frames.definitions.timelines import counted, drawn, framed, reported, spans

HOLDS = Threshold("x")
TEMPERATURES = ". 30 31 33 34 30 34 33 34 35 32"


def above(limit: int) -> dict[str, Any]:
    return {"reading": lambda row: row["x"] > limit}


# -- Appendix B ------------------------------------------------------------------------------------

#   on           1  2  3  4  5  6  7  8  9 10
#   temperature 30 31 33 34 30 34 33 34 35 32
#   above 32          [===]    [========]
#   rising      [========]       [=====]         at least three rows


def test_f1_maximal_periods_above_32() -> None:
    assert spans(framed(HOLDS, TEMPERATURES, **above(32))) == [(3, 4), (6, 9)]


def test_f2_the_longest_period_above_32() -> None:
    outcome = framed(HOLDS, TEMPERATURES, longest=True, **above(32))
    assert reported(outcome) == [(0, 6, 9, 4, 0, "final")]


def test_f3_maximal_periods_of_rise() -> None:
    assert spans(framed(Trend("x", "increasing"), TEMPERATURES, min_count=3)) == [(1, 4), (7, 9)]


def test_of_equally_long_frames_the_first_is_the_longest() -> None:
    assert spans(framed(HOLDS, "T F T T F T T", longest=True)) == [(2, 3)]
    assert spans(framed(HOLDS, "F F", longest=True)) == []


# -- Appendix C, Figure 9 --------------------------------------------------------------------------

#   on    0 1 2 3 4 5 6 7 8 9
#         F T T A B T T T T F


@pytest.mark.parametrize(
    ("line", "lengths"),
    [
        ("F T T T F T T T T F", [3, 4]),  # A is true and B is false
        ("F T T T T T T T T F", [8]),  # both are true
        ("F T T F F T T T T F", [2, 4]),
        ("F T T F T T T T T F", [2, 5]),
    ],
)
def test_figure_9_with_a_and_b_given(line: str, lengths: list[int]) -> None:
    assert [row["n"] for row in framed(HOLDS, line, schedule=schedule(1)).results] == lengths


@pytest.mark.parametrize("a_and_b", [". .", "? ?", ". ?"])
def test_figure_9_with_a_and_b_missing(a_and_b: str) -> None:
    def policy(missing: str, **more: Any) -> list[tuple[Any, ...]]:
        line = f"F T T {a_and_b} T T T T F"
        return counted(framed(HOLDS, line, schedule=schedule(1), missing=missing, **more))

    apart, together = [(1, 2, 2, 0), (5, 8, 4, 0)], [(1, 8, 6, 2)]
    assert policy("break") == apart
    assert policy("satisfy") == together
    assert policy("carry") == together
    assert policy("prev.x AND next.x", bridged=lambda prev, after: prev["x"] and after["x"]) == (
        together
    )
    assert policy("next.on < prev.on", bridged=lambda prev, after: after["on"] < prev["on"]) == (
        apart
    )
    assert policy("NULL", bridged=lambda prev, after: None) == apart


#   on    0 1 2 3 4 5 6 7 8 9      A is missing and B is false
#         F T T A F T T T T F
def test_figure_9_with_a_missing() -> None:
    def policy(missing: str) -> list[tuple[Any, ...]]:
        return counted(framed(HOLDS, "F T T . F T T T T F", schedule=schedule(1), missing=missing))

    assert policy("break") == policy("carry") == [(1, 2, 2, 0), (5, 8, 4, 0)]
    assert policy("satisfy") == [(1, 3, 2, 1), (5, 8, 4, 0)]


# -- Kinds -----------------------------------------------------------------------------------------


#   on      0 1 2 3 4 5
#   value   1 1 2 2 2 1
#           [=] [===] |
def test_boundary() -> None:
    assert spans(framed(Boundary("x"), "1 1 2 2 2 1")) == [(0, 1), (2, 4), (5, 5)]
    assert spans(framed(Boundary("x"), "on on off")) == [(0, 1), (2, 2)]


#   on      0 1 2 3 4 5 6
#   value   0 3 4 5 9 8 2
#   range   [===] [===] |     max - min < 5
#   first   [===] [=====]     less than 5 from the first
#   minimal [=======] [=]     until max - min > 5
@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, [(0, 2), (3, 5), (6, 6)]),
        ({"against": "first"}, [(0, 2), (3, 6)]),
        ({"span": "minimal"}, [(0, 4), (5, 6)]),
        ({"span": "minimal", "against": "first"}, [(0, 4), (5, 6)]),
    ],
)
def test_delta(choices: dict[str, str], expected: list[tuple[int, int]]) -> None:
    assert spans(framed(Delta("x", 5, **choices), "0 3 4 5 9 8 2")) == expected


def test_a_delta_is_exact_on_decimals_and_double_on_doubles() -> None:
    tenths = [{"on": on, "k": "a", "x": x} for on, x in enumerate((0.1, 0.4))]
    exact = [{**row, "x": Decimal(str(row["x"]))} for row in tenths]
    assert spans(framed(Delta("x", "0.3"), exact)) == [(0, 0), (1, 1)]
    assert 0.4 - 0.1 > 0.3
    assert spans(framed(Delta("x", "0.3", span="minimal"), tenths)) == [(0, 1)]
    assert spans(framed(Delta("x", "0.3", span="minimal"), exact)) == []


#   on          0 1 2 3 4 5 6
#   value       4 5 3 12 7 3 1
#   sum <= 10   [=] |    [=] |     12 alone is too much
#   sum >= 10   [===] |  [=]       1 is not enough
def test_aggregate() -> None:
    line = "4 5 3 12 7 3 1"
    assert spans(framed(Crossing("s", "<=", Decimal(10)), line)) == [
        (0, 1),
        (2, 2),
        (4, 5),
        (6, 6),
    ]
    assert spans(framed(Crossing("s", ">=", Decimal(10)), line)) == [(0, 2), (3, 3), (4, 5)]
    asked = Crossing("s", ">=", Decimal(10), span="maximal")
    assert spans(framed(asked, line)) == [(3, 6)]
    asked = Crossing("s", "<=", Decimal(10), span="minimal")
    assert spans(framed(asked, line)) == [(0, 0), (1, 1), (2, 2)]


def test_an_aggregate_without_a_value_meets_no_condition() -> None:
    for nothing in (None, float("nan")):
        for sign in ("<", ">="):
            kind = Crossing("s", sign, Decimal(10))
            assert spans(framed(kind, "1 2", aggregate=lambda rows, got=nothing: got)) == []


#   on          0 1 2 3 4 5
#   value       1 2 2 3 1 0
#   increasing  [=] [=]          not strict: [=====]
#   decreasing        [===]
#   flat          [=]
@pytest.mark.parametrize(
    ("direction", "strict", "expected"),
    [
        ("increasing", True, [(0, 1), (2, 3)]),
        ("increasing", False, [(0, 3)]),
        ("decreasing", True, [(3, 5)]),
        ("decreasing", False, [(1, 2), (3, 5)]),
        ("flat", True, [(1, 2)]),
    ],
)
def test_trend(direction: str, strict: bool, expected: list[tuple[int, int]]) -> None:
    assert spans(framed(Trend("x", direction, strict), "1 2 2 3 1 0")) == expected


def test_a_trend_has_two_real_rows() -> None:
    assert framed(Trend("x", "flat"), "1 ? ?", missing="satisfy").results == []
    assert counted(framed(Trend("x", "flat"), "1 ? 1", missing="satisfy")) == [(0, 2, 2, 1)]


#   on       0 1 2 3 4 5 6 7 8 9 10      s starts, e ends, b does both
#            - s - e - s s e e b s
#   both       [===]   [===]   | [
@pytest.mark.parametrize(
    ("inclusive", "expected"),
    [
        (
            "both",
            [(1, 3, "final"), (5, 7, "final"), (9, 9, "final"), (10, 10, "partial")],
        ),
        (
            "start",
            [(1, 2, "final"), (5, 6, "final"), (9, 9, "final"), (10, 10, "partial")],
        ),
        ("end", [(2, 3, "final"), (6, 7, "final"), (9, 9, "final")]),
        ("neither", [(2, 2, "final"), (6, 6, "final")]),
    ],
)
def test_between(inclusive: Edge, expected: list[tuple[Any, ...]]) -> None:
    outcome = framed(Between("s", "e", inclusive), "- s - e - s s e e b s")
    assert [(row[1], row[2], row[5]) for row in reported(outcome)] == expected


#   on       0 1 2 3 4       b ends the first frame; where it is not in it, it opens another,
#            s - b - e       and ends that too
@pytest.mark.parametrize(
    ("inclusive", "expected"),
    [
        ("both", [(0, 2)]),
        ("end", [(1, 2)]),
        ("start", [(0, 1), (2, 2)]),
        ("neither", [(1, 1)]),
    ],
)
def test_a_row_that_ends_a_frame_and_starts_one(
    inclusive: Edge, expected: list[tuple[int, int]]
) -> None:
    assert spans(framed(Between("s", "e", inclusive), "s - b - e")) == expected


#   on      0 1 2 3 4 5 6 . . . 10      sum > 5 in (v - 3, v]
#   value   1 3 2 0 0 0 6       6
#   windows (---] (---]      (---]
#   frames  [===]   [===]       |       6 and 10 are neighbours, but not their windows
def test_density() -> None:
    dense = Density("sum(x)", ">", Decimal(5), 3)
    assert spans(framed(dense, "1 3 2 0 0 0 6 . . . 6")) == [(0, 2), (4, 6), (10, 10)]
    assert spans(framed(dense, "1 3 2 0 0 0 6 . . . 6", min_count=2)) == [(0, 2), (4, 6)]


def test_windows_that_touch_are_one_frame() -> None:
    dense = Density("sum(x)", ">", Decimal(5), 3)
    assert spans(framed(dense, "6 . . 6")) == [(0, 3)]  # (-3, 0] and (0, 3]
    assert spans(framed(dense, "6 . . . 6")) == [(0, 0), (4, 4)]


def test_density_has_the_properties_of_a_threshold() -> None:
    dense = Density("sum(x)", ">", Decimal(5), 3)
    line = "1 3 2 0 0 0 6 . . . 6"
    assert spans(framed(dense, line, bounds="liberal")) == [(0, 3), (3, 10), (6, 10)]
    assert spans(framed(dense, line, readings="until_next")) == [(0, 3), (4, 10), (10, 10)]
    assert spans(framed(dense, line, max_count=2, cut=True)) == [
        (0, 1),
        (2, 2),
        (4, 5),
        (6, 6),
        (10, 10),
    ]


def test_a_users_own_kind_is_its_own_definition() -> None:
    with pytest.raises(NotImplementedError, match=r"own\(Mine\) has no condition over its rows"):
        framed(OwnKind(FramingFunction(), "Mine"), "1 2")


# -- Explicit starts [Frames, appendix A] ----------------------------------------------------------


def started(line: str, starts: set[int]) -> list[Row]:
    return [{**row, "s": row["on"] in starts} for row in drawn(line)]


#   on          0 1 2 3 4 5 6       frames may start at 0, 2 and 5
#   value       1 2 3 4 2 2 2
#   sum > 5     [=] [=]             at 2 the first is closed, though 1 + 2 is not above 5
#   continue    [===]
#   sum <= 5    [=] |     [=]       3 breaks the first, so it is not inside; 4 is no start
@pytest.mark.parametrize(
    ("sign", "restart", "expected"),
    [
        (">", "close", [(0, 1), (2, 3)]),
        (">", "drop", [(2, 3)]),
        (">", "continue", [(0, 2), (2, 3)]),
        ("<=", "close", [(0, 1), (2, 2), (5, 6)]),
        ("<=", "drop", [(0, 1), (2, 2), (5, 6)]),
        ("<=", "continue", [(0, 1), (2, 2), (5, 6)]),
    ],
)
def test_starts(sign: str, restart: str, expected: list[tuple[int, int]]) -> None:
    rows = started("1 2 3 4 2 2 2", {0, 2, 5})
    kind = Crossing("sum(x)", sign, Decimal(5), start="s", restart=restart)
    assert spans(framed(kind, rows, starts=lambda row: row["s"])) == expected
    numbers = [row["frame_id"] for row in framed(kind, rows, starts=lambda row: row["s"]).results]
    assert numbers == list(range(len(expected)))


#   on          0 1   2   3         frames may start at 0 and 2
#   value       1 2   9   1
#   sum <= 5    [=]                 over before the row at 2 comes, whatever that row is
def test_a_start_that_alone_breaks_the_condition_does_not_fall_inside() -> None:
    for restart in ("close", "drop", "continue"):
        kind = Crossing("sum(x)", "<=", Decimal(5), start="s", restart=restart)
        rows = started("1 2 9 1", {0, 2})
        assert spans(framed(kind, rows, starts=lambda row: row["s"])) == [(0, 1)]


#   on          0 1  2  3   4   5   6    frames may start at 0, 2, 3 and 5
#   value       0 1  2 100 101 102 103
#   within 5    [=~)                     the row at 2 falls inside
#                    |                   the row at 3 does not: the frame was over
#                       [=~~)
#                               [===]
def test_only_a_start_that_falls_inside_drops_a_frame() -> None:
    def under(restart: str, **properties: Any) -> list[tuple[Any, Any]]:
        kind = Delta("x", 5, start="s", restart=restart)
        rows = started("0 1 2 100 101 102 103", {0, 2, 3, 5})
        return spans(framed(kind, rows, starts=lambda row: row["s"], **properties))

    assert under("drop") == [(2, 2), (5, 6)]
    assert under("close") == [(0, 1), (2, 2), (3, 4), (5, 6)]
    assert under("continue") == [(0, 2), (2, 2), (3, 6), (5, 6)]
    # A frame that is cut before a start is over too.
    assert under("drop", max_count=2, cut=True) == [(0, 1), (2, 2), (3, 4), (5, 6)]


def test_a_row_without_a_value_starts_nothing() -> None:
    kind = Delta("x", 5, start="s")
    rows = started("1 ? 2", {0, 1})
    assert counted(framed(kind, rows, starts=lambda row: row["s"], missing="satisfy")) == [
        (0, 2, 2, 1)
    ]


# -- Local conditions ------------------------------------------------------------------------------


#   on      0 1 2 3 4 5 6
#           T T T T T F T
#   cut     [=] [=] |   |
@pytest.mark.parametrize("most", [{"max_count": 2}, {"max_duration": 1}])
def test_a_longer_frame_is_none_or_is_cut(most: dict[str, int]) -> None:
    assert spans(framed(HOLDS, "T T T T T F T", **most)) == [(6, 6)]
    assert spans(framed(HOLDS, "T T T T T F T", cut=True, **most)) == [
        (0, 1),
        (2, 3),
        (4, 4),
        (6, 6),
    ]


def test_a_shorter_frame_is_none() -> None:
    line = "T F T T F T T T"
    assert spans(framed(HOLDS, line, min_count=2)) == [(2, 3), (5, 7)]
    assert spans(framed(HOLDS, line, min_duration=2)) == [(5, 7)]
    assert spans(framed(HOLDS, line, min_count=2, max_count=2)) == [(2, 3)]
    assert [row["frame_id"] for row in framed(HOLDS, line, min_count=2).results] == [0, 1]


def test_a_cut_frame_with_starts_waits_for_the_next_start() -> None:
    kind = Delta("x", 5, start="s")
    rows = started("1 1 1 1 1", {0, 3})
    assert spans(framed(kind, rows, starts=lambda row: row["s"], max_count=2, cut=True)) == [
        (0, 1),
        (3, 4),
    ]
