"""Clusters that chance would rarely bring, and regions [Frames, appendix H], by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import TieError
from muntin.reference.frames.kinds import by_chance
from muntin.reference.frames.places import LocalConditions, OnNumbers, RowPlace
from muntin.reference.windows import Outcome, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.row_kinds import Cluster, Region
from tests.frames.definitions.timelines import INTEGER, counted, framed, spans

# -- Clusters --------------------------------------------------------------------------------------

ONE_IN_TEN = Cluster(0.05, 1, 10)


def events(*on: int) -> list[Row]:
    return [{"on": value, "k": "a", "x": None} for value in on]


#   on     0        50 51 52       100       one row in 10: two more within 2 are a chance of 1.8 %
#                   [=====]                  and one more within 1 is one of 9.5 %
def test_rows_that_chance_would_rarely_bring() -> None:
    outcome = framed(ONE_IN_TEN, events(0, 50, 51, 52, 100), max_duration=10)
    assert counted(outcome) == [(50, 52, 3, 0)]
    assert framed(ONE_IN_TEN, events(0, 50, 51, 100), max_duration=10).results == []


def test_of_clusters_that_overlap_the_least_likely() -> None:
    rows = events(0, 1, 2, 3, 90, 91, 92)
    assert spans(framed(ONE_IN_TEN, rows, max_duration=10)) == [(0, 3), (90, 92)]
    # Of equally likely ones the first to start is taken; those that share a row with it are not.
    assert spans(framed(ONE_IN_TEN, rows, max_count=3)) == [(0, 2), (90, 92)]
    # Frames are numbered by their start, however unlikely they are.
    rows = events(0, 1, 2, 90, 91, 92, 93)
    outcome = framed(ONE_IN_TEN, rows, max_duration=10)
    assert spans(outcome) == [(0, 2), (90, 93)]
    assert [row["frame_id"] for row in outcome.results] == [0, 1]


def test_clusters_meet_the_local_conditions() -> None:
    rows = events(0, 1, 2, 3, 20)
    assert spans(framed(ONE_IN_TEN, rows, max_duration=2)) == [(0, 2)]
    assert spans(framed(ONE_IN_TEN, rows, max_duration=10, min_count=5)) == []
    assert spans(framed(ONE_IN_TEN, rows, max_duration=10, longest=True)) == [(0, 3)]


# on   0  5  9     30 31          a row of five events stands out more than two rows close together
# w    1  1  1      1  5
def test_a_weight_counts_events() -> None:
    rows = [
        {**row, "x": w} for row, w in zip(events(0, 5, 9, 30, 31), (1, 1, 1, 1, 5), strict=True)
    ]
    weighted = Cluster(0.05, 1, 10, weight="x")
    outcome = framed(weighted, rows, max_duration=10, reading=lambda row: row["x"])
    assert spans(outcome) == [(30, 31)]
    # P(N >= 5) for a mean of 0.1
    assert [row["chance"] for row in outcome.results] == [7.6678e-08]
    # Null and numbers below zero count as none; the weight of the first row does not matter.
    for first, last in ((5, 1), (1, None), (1, -5)):
        rows = [{**row, "x": w} for row, w in zip(events(30, 31), (first, last), strict=True)]
        assert spans(framed(weighted, rows, max_duration=10, reading=lambda row: row["x"])) == []


@pytest.mark.parametrize(("count", "duration"), [(2, 1), (2, 90), (3, 2), (6, 40), (4, 300)])
def test_the_chance_of_a_cluster(count: int, duration: int) -> None:
    framing = Framing(ONE_IN_TEN, "on", max_count=10)
    local = LocalConditions(framing, OnNumbers(INTEGER))
    on = [*range(count - 1), duration]
    rows = [RowPlace(i, at, {}, None, real=True, held_until=at) for i, at in enumerate(on)]
    mean = duration / 10
    fewer = sum(math.exp(-mean) * mean**j / math.factorial(j) for j in range(count - 1))
    assert float(by_chance(ONE_IN_TEN, local, rows)) == pytest.approx(1 - fewer, abs=1e-12)


def test_chances_too_small_for_a_double_still_differ() -> None:
    kind = Cluster(0.05, 1, 10**9)
    local = LocalConditions(Framing(kind, "on", max_count=99), OnNumbers(INTEGER))
    rows = [RowPlace(i, i, {}, None, real=True, held_until=i) for i in range(60)]
    assert 0 < by_chance(kind, local, rows) < by_chance(kind, local, rows[:59]) < Decimal("1e-300")


# -- Regions ---------------------------------------------------------------------------------------


def grid(*lines: str) -> list[Row]:
    """Return the rows of a grid: a line per milepost from 0, a word per value of ``on``."""
    words = {"T": True, "F": False, "?": None}
    return [
        {"on": on, "k": "a", "mile": mile, "x": words[word]}
        for mile, line in enumerate(lines)
        for on, word in enumerate(line.split())
        if word != "."
    ]


def regions(rows: Sequence[Row], prefer: str = "all", **choices: Any) -> Outcome:
    kind = Region("x", "mile", choices.pop("min_extent", None), prefer)
    return framed(kind, rows, along=lambda row: row["mile"], **choices)


def boxes(outcome: Outcome) -> list[tuple[Any, ...]]:
    names = ("frame_start", "frame_end", "along_start", "along_end")
    return [tuple(row[name] for name in names) for row in outcome.results]


#   mile 0   T T T F F     [=====]
#   mile 1   T T T T T     [=====]     [=========]
#   mile 2   T T T T T     [=====]     [=========]
STRETCHES = grid("T T T F F", "T T T T T", "T T T T T")


def test_maximal_regions_overlap_and_some_are_preferred() -> None:
    assert boxes(regions(STRETCHES)) == [(0, 2, 0, 2), (0, 4, 1, 2)]
    assert boxes(regions(STRETCHES, "longest")) == [(0, 4, 1, 2)]
    assert boxes(regions(STRETCHES, "widest")) == [(0, 2, 0, 2)]


def test_regions_meet_the_local_conditions() -> None:
    assert boxes(regions(STRETCHES, min_extent=2)) == [(0, 2, 0, 2)]
    assert boxes(regions(STRETCHES, min_duration=3)) == [(0, 4, 1, 2)]
    assert boxes(regions(STRETCHES, max_duration=3)) == [(0, 2, 0, 2)]
    assert boxes(regions(STRETCHES, min_count=10)) == [(0, 4, 1, 2)]
    assert boxes(regions(STRETCHES, max_count=9)) == [(0, 2, 0, 2)]
    assert boxes(regions(STRETCHES, longest=True)) == [(0, 4, 1, 2)]
    # If the longest is too narrow, another that shares cells with it is taken.
    assert boxes(regions(STRETCHES, "longest", min_extent=2)) == [(0, 2, 0, 2)]
    assert boxes(regions(STRETCHES, "longest", min_extent=3)) == []


#   mile 0   T T T        mile 1 is there only from 2 on, so nothing speaks against it before
#   mile 1   . . F
#   mile 2   T T T
def test_a_position_that_is_not_there_yet() -> None:
    rows = grid("T T T", ". . F", "T T T")
    assert boxes(regions(rows)) == [(0, 1, 0, 2), (0, 2, 0, 0), (0, 2, 2, 2)]
    assert [(row["n"], row["n_missing"]) for row in regions(rows).results] == [
        (4, 0),
        (3, 0),
        (3, 0),
    ]
    # The edges of a region exist from its first column on.
    assert boxes(regions(grid("T T T", ". T T"))) == [(0, 2, 0, 0), (1, 2, 0, 1)]


#   mile 0   T . T      or without a value: T ? T
#   mile 1   T T T
@pytest.mark.parametrize("gap", [".", "?"])
def test_missing_cells(gap: str) -> None:
    rows = grid(f"T {gap} T", "T T T")
    assert boxes(regions(rows)) == [(0, 0, 0, 1), (0, 2, 1, 1), (2, 2, 0, 1)]
    (bridged,) = regions(rows, missing="satisfy").results
    assert (bridged["n"], bridged["n_missing"]) == (5, 1)
    assert len(bridged["got"]) == len(rows)
    assert [*bridged] == [
        "k",
        "frame_id",
        "frame_start",
        "frame_end",
        "along_start",
        "along_end",
        "n",
        "n_missing",
        "status",
        "got",
    ]


def test_a_row_must_say_where_it_is() -> None:
    rows = [{"on": 0, "k": "a", "mile": mile, "x": True} for mile in (None, float("nan"), 1.5)]
    outcome = regions(rows)
    assert boxes(outcome) == [(0, 0, 1.5, 1.5)]
    assert [reason for _, reason in outcome.refused] == ["no_along", "no_along"]


def test_one_row_for_each_position() -> None:
    rows = grid("T", "T")
    assert boxes(regions(rows)) == [(0, 0, 0, 1)]
    with pytest.raises(TieError, match="key 'a' has more than one row at 0"):
        regions([*rows, rows[0]])


def test_extents_on_doubles() -> None:
    rows = [{"on": 0, "k": "a", "mile": mile, "x": True} for mile in (0.1, 0.3)]
    assert regions(rows, min_extent="0.2").results == []  # 0.3 - 0.1 is a little less
    exact = [{**row, "mile": Decimal(str(row["mile"]))} for row in rows]
    assert len(regions(exact, min_extent="0.2", axis=Axis(Domain.INTEGER)).results) == 1


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=4
        )
    )
)
@settings(max_examples=200, deadline=None)
def test_on_a_full_grid_regions_are_the_maximal_rectangles(held: list[list[bool]]) -> None:
    """If every cell has a row: rectangles that hold and cannot grow by a line on any side."""

    def holds(left: int, right: int, low: int, high: int) -> bool:
        inside = 0 <= left <= right < len(held[0]) and 0 <= low <= high < len(held)
        return inside and all(all(row[left : right + 1]) for row in held[low : high + 1])

    sides = [range(len(held[0]))] * 2 + [range(len(held))] * 2
    expected = [
        (left, right, low, high)
        for left, right, low, high in itertools.product(*sides)
        if holds(left, right, low, high)
        and not holds(left - 1, right, low, high)
        and not holds(left, right + 1, low, high)
        and not holds(left, right, low - 1, high)
        and not holds(left, right, low, high + 1)
    ]
    rows = [
        {"on": on, "k": "a", "mile": mile, "x": x}
        for mile, line in enumerate(held)
        for on, x in enumerate(line)
    ]
    assert sorted(boxes(regions(rows))) == sorted(expected)
    cells: list[tuple[int, int]] = []
    for prefer in ("longest", "widest"):
        cells = [
            (on, mile)
            for start, end, low, high in boxes(regions(rows, prefer))
            for on in range(start, end + 1)
            for mile in range(low, high + 1)
        ]
        assert len(cells) == len(set(cells))
