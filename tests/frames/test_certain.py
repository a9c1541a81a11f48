"""When frames are reported: in the step that makes them certain, even if their key is quiet."""

from __future__ import annotations

from typing import Any

import pytest

from muntin.specs.frames.kinds import Delta, Threshold
from muntin.specs.frames.schemes import schedule
from tests.frames.feeding import COUNT, SUM, feeding, line

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


# on     0 1 2 3 4        v 0 1 ? 0     liberal, and the missing row may have satisfied
@pytest.mark.parametrize("missing", ["satisfy", "carry"])
def test_liberal_frames_wait_for_a_row_that_bounds_them(missing: str) -> None:
    fed = feeding(HOLDS, bounds="liberal", missing=missing)
    assert fed.frames(line("0 ? 1"), upto=3) == []
    assert fed.frames(line("?", 3), upto=4) == []
    assert [row[1:3] for row in fed.frames(line("0", 4), upto=5)] == [(0, 4)]
