"""When frames are reported: in the step that makes them certain, even if their key is quiet."""

from __future__ import annotations

from typing import Any

import pytest

import muntin as mt
from muntin.specs.frames.kinds import Delta, Threshold
from muntin.specs.frames.schemes import schedule
from tests.frames.feeding import COUNT, SUM, feeding, line
from tests.properties.measures import Turned

HOLDS = Threshold("v > 0")


def held(*rows: tuple[int, int, int], k: str = "a") -> list[dict[str, Any]]:
    """Rows that hold over ``[on, until)``."""
    return [{"on": on, "k": k, "v": v, "reach": until} for on, until, v in rows]


# on      0 1 ...   100     1000       2000
# v       1 1                          0           until_next
# upto              |100    |1000      |2001
#         [=========|                              partial: nothing comes below 100
#         [=================|                      partial
#         [============================|           final
def test_a_value_that_stays_is_reported_while_no_row_comes() -> None:
    fed = feeding(HOLDS, [COUNT, SUM], readings="until_next", min_duration=2, fragments=2)
    assert fed.frames(line("1 1"), upto=1) == []
    assert fed.frames(upto=100) == [(0, 0, 100, 2, 0, "partial")]
    assert fed.frames(upto=101) == []  # it has not grown enough
    assert fed.kept == {"keys": 1, "open": 1}
    (again,) = fed.step(upto=1000)
    assert (again["frame_end"], again["r0"], again["r1"]) == (1000, 2, 2)
    assert fed.frames(line("0", 2000), upto=2001) == [(0, 0, 2000, 2, 0, "final")]


# Of two keys only the complete one is reported, and other keys do not change it.
def test_each_key_by_its_own_punctuation() -> None:
    fed = feeding(HOLDS, readings="until_next", fragments=5)
    rows = [*line("1"), *line("1", k="b")]
    assert len(fed.frames(rows, upto=1)) == 2
    assert fed.frames(upto_of={"b": 7}) == [(0, 0, 7, 1, 0, "partial")]
    assert fed.frames(upto=6) == [(0, 0, 6, 1, 0, "partial")]
    # At the end, a last row holds as far as the input is known.
    ended = fed.frames(end=True)
    assert sorted(ended) == [(0, 0, 6, 1, 0, "final"), (0, 0, 7, 1, 0, "final")]


# on     0 1 2 3 4 5 6 7
# v      [--1--)                       nothing holds from 3 on
# upto         |3                      a row at 3 would join
# upto           |4                    none can: what comes leaves a gap
def test_a_quiet_key_of_intervals_is_over_when_no_row_can_join() -> None:
    fed = feeding(HOLDS, [COUNT], readings="interval", until="until")
    assert fed.frames(held((0, 3, 1)), upto=3) == []
    assert fed.frames(upto=4) == [(0, 0, 3, 1, 0, "final")]
    assert fed.kept == {"keys": 1}
    assert fed.frames(held((9, 12, 1)), upto=10) == []
    assert fed.frames(end=True) == [(1, 9, 12, 1, 0, "final")]
    for missing in ("satisfy", "carry"):  # then the gap may be bridged
        fed = feeding(HOLDS, readings="interval", until="until", missing=missing)
        assert fed.frames(held((0, 3, 1)), upto=50) == []


# on     0 1 2 3 4 5 6 7 8 9
# v      [--------1--------)           a row below 9 would end the frame before that
#             [1-)
# upto                |6      |9
def test_an_interval_beyond_the_next_row_is_sure_when_punctuation_has_passed() -> None:
    fed = feeding(HOLDS, readings="interval", until="until", max_count=2, cut=True)
    assert fed.frames(held((0, 9, 1), (3, 4, 1)), upto=6) == []
    assert fed.frames(upto=9) == [(0, 0, 9, 2, 0, "final")]
    fed = feeding(HOLDS, readings="interval", until="until", max_count=2, cut=True)
    rows = held((0, 9, 1), (3, 4, 1), (7, 8, 0))
    assert fed.frames(rows, upto=8) == [(0, 0, 7, 2, 0, "final")]


# on     0 1 2 3           at most two rows
# v      1 1
#        [=]               no third can join, whatever it is
def test_a_full_frame_is_over_at_once() -> None:
    fed = feeding(HOLDS, max_count=2, cut=True)
    assert fed.frames(line("1 1"), upto=2) == [(0, 0, 1, 2, 0, "final")]
    assert fed.frames(line("1 ? 1", 2), upto=5) == [(1, 2, 2, 1, 0, "final")]
    assert fed.frames(end=True) == [(2, 4, 4, 1, 0, "final")]
    missing = feeding(HOLDS, max_count=2, cut=True, missing="satisfy")
    assert missing.frames(line("1 ?"), upto=2) == [(0, 0, 1, 1, 1, "final")]
    # A later start does not fall inside the frame, so it drops nothing.
    dropped = feeding(Delta("v", 9, start="v = 1", restart="drop"), max_count=2, cut=True)
    assert dropped.frames(line("1 2"), upto=2) == [(0, 0, 1, 2, 0, "final")]
    assert dropped.frames(line("1", 2), end=True) == [(1, 2, 2, 1, 0, "final")]


# on     0 1 2 3 4 5       at most three long
# v      1 1
# upto         |3          a row at 3 would fit
# upto           |4        none does
def test_a_frame_is_over_when_rows_that_come_are_too_far() -> None:
    fed = feeding(HOLDS, max_duration=3, cut=True)
    assert fed.frames(line("1 1"), upto=3) == []
    assert fed.frames(upto=4) == [(0, 0, 1, 2, 0, "final")]
    carried = feeding(HOLDS, max_duration=3, cut=True, missing="carry")
    assert carried.frames(line("1 ?"), upto=3) == []
    assert carried.frames(upto=4) == [(0, 0, 0, 1, 0, "final")]
    # The next row is due after 3, which is known without punctuation.
    slots = feeding(HOLDS, max_duration=3, cut=True, schedule=schedule(5))
    assert slots.frames(line("1"), upto=5) == [(0, 0, 0, 1, 0, "final")]


# on     0 1 2 3 4 5 6     minimal frames with sum(v) >= 3 and four rows
# v      3 0 0 0 1 2 0
#        [=====]           3 are reached with the first row, and the frame grows to four
#                [===..    3 are reached with two rows
def test_a_minimal_frame_grows_across_steps_until_it_is_large_enough() -> None:
    kind = mt.aggregate("sum(v) >= 3")
    for at_once in (1, 2, 7):
        fed, found = feeding(kind, min_count=4), []
        rows = line("3 0 0 0 1 2 0")
        for first in range(0, 7, at_once):
            reported = fed.frames(rows[first : first + at_once], upto=min(first + at_once, 7))
            # It is reported with its fourth row, and not later.
            assert [row[2] for row in reported if row[2] < first] == []
            found += reported
        assert found + fed.frames(end=True) == [(0, 0, 3, 4, 0, "final")]
    assert feeding(kind, min_count=4).frames([*rows, *line("0", 7)], end=True)[-1][1:3] == (4, 7)


# on     0 1 2 3 4 5       sum(v) >= 3 for at least three; a row holds until the next one
# v      3 0 0 0 3
#        [=====)           known with the row at 3
#              [=..        the row at 3 holds until 4, and at 4 the sum is reached
def test_a_minimal_frame_of_held_values_is_as_long_as_its_last_row_holds() -> None:
    fed = feeding(mt.aggregate("sum(v) >= 3"), min_duration=3, readings="until_next")
    assert fed.frames(line("3 0 0"), upto=3) == []
    assert fed.frames(line("0 3", 3), upto=5) == [(0, 0, 3, 3, 0, "final")]
    assert fed.frames(line("0", 9), upto=10) == [(1, 3, 9, 2, 0, "final")]
    assert fed.frames(end=True) == []


# on     0 1 2 3 4 5       sum(v) >= 3 with three rows; v ? at 1, which satisfies
# v      3 ? 0 3 ? ?
#        [===]             the missing row counts
#              [===]       and may be the last one
@pytest.mark.parametrize("sum_of", ["sum(v) >= 3", "turned(v, v) >= 2"])
def test_missing_rows_make_a_minimal_frame_large_enough(sum_of: str) -> None:
    kind = mt.aggregate(sum_of, functions={"turned": Turned()})
    fed = feeding(kind, min_count=3, missing="satisfy")
    found = fed.frames(line("3 ? 0 3"), upto=4)
    found += fed.frames(line("? ?", 4), upto=6) + fed.frames(end=True)
    assert found == [(0, 0, 2, 2, 1, "final"), (1, 3, 5, 1, 2, "final")]


# on     0 1 2 3 4 5 6     rows hold over [0, 2) and [4, 6), and the gap between them satisfies
def test_a_gap_that_fills_a_frame_ends_it() -> None:
    kept = {"readings": "interval", "until": "until", "missing": "satisfy"}
    rows = held((0, 2, 1), (4, 6, 1))
    fed = feeding(HOLDS, max_count=2, cut=True, **kept)
    assert fed.frames(rows, end=True) == [(0, 0, 4, 1, 1, "final"), (1, 4, 6, 1, 0, "final")]
    fed = feeding(mt.aggregate("sum(v) >= 1"), min_count=2, **kept)
    assert fed.frames(rows, end=True) == [(0, 0, 4, 1, 1, "final")]


# on     0 1 2 3 4 5       a value moves by more than 2 from the first one, and four rows
# v      5 9 5 5 1
#        [=====]           it did with the second row, and the frame grew to four
@pytest.mark.parametrize("against", ["range", "first"])
def test_a_minimal_delta_frame_grows(against: str) -> None:
    fed = feeding(Delta("v", 2, against=against, span="minimal"), min_count=4)
    assert fed.frames(line("5 9 5 5 1"), end=True) == [(0, 0, 3, 4, 0, "final")]


# on     0 1 2 3 4 5 6 7 8 9       two different values and five rows, or three long
# v      1 2 1 1 1 3 4 4 4 4
#        [=======] [=======]
@pytest.mark.parametrize("split", [1, 3, 10])
def test_sketches_decide_about_minimal_frames_that_grow(split: int) -> None:
    for limits in ({"min_count": 5}, {"min_duration": 4}):
        fed = feeding(mt.aggregate("approx_count_distinct(v) >= 2"), **limits)
        rows, found = line("1 2 1 1 1 3 4 4 4 4"), []
        for first in range(0, 10, split):
            found += fed.frames(rows[first : first + split], upto=min(first + split, 10))
        assert [row[1:3] for row in found] == [(0, 4), (5, 9)]


# on     0 1 2 3 4 5 6 7 8 9 10 11
# v      1 2 3 2 2 2 5 ? 5 4  ?  7
#        [===] | [=] |   [=]     |     a first row goes where the second does
#        up   down flat up down  alone
@pytest.mark.parametrize("split", [1, 5, 12])
def test_runs_of_any_direction(split: int) -> None:
    fed, rows, found = feeding(mt.trend("v")), line("1 2 3 2 2 2 5 ? 5 4 ? 7"), []
    for first in range(0, 12, split):
        found += fed.step(rows[first : first + split], upto=min(first + split, 12))
    found += fed.step(end=True)
    assert [(row["frame_start"], row["frame_end"], row["direction"]) for row in found] == [
        (0, 2, "increasing"),
        (3, 3, "decreasing"),
        (4, 5, "flat"),
        (6, 6, "increasing"),
        (8, 9, "decreasing"),
        (11, 11, None),
    ]


# on     0 1 2 3 4      v 1 ? 3 ? 2     a missing row that satisfies lies between two real ones
@pytest.mark.parametrize(("missing", "last"), [("satisfy", 3), ("carry", 2)])
def test_runs_of_any_direction_bridge_missing_rows(missing: str, last: int) -> None:
    found = feeding(mt.trend("v"), missing=missing).step(line("1 ? 3 ? 2"), end=True)
    assert [(row["frame_start"], row["frame_end"], row["direction"]) for row in found] == [
        (0, last, "increasing"),
        (4, 4, "decreasing"),
    ]


# on     0 1 2 3 4        v 0 1 ? 0     liberal, and the missing row may have satisfied
@pytest.mark.parametrize("missing", ["satisfy", "carry"])
def test_liberal_frames_wait_for_a_row_that_bounds_them(missing: str) -> None:
    fed = feeding(HOLDS, bounds="liberal", missing=missing)
    assert fed.frames(line("0 ? 1"), upto=3) == []
    assert fed.frames(line("?", 3), upto=4) == []
    assert [row[1:3] for row in fed.frames(line("0", 4), upto=5)] == [(0, 4)]
