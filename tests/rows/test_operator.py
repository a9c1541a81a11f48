"""Windows over rows step by step: when they are reported, and what is remembered."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pyarrow as pa
import pytest

from muntin.operators.common import buckets
from muntin.operators.common.buckets import PENDING
from muntin.operators.rows import operator as cells
from muntin.operators.rows.operator import CELLS
from muntin.operators.rows.ordered_rows import MEMORY
from muntin.specs.axis import TICK_LIMIT
from muntin.specs.row_windows import Landmarks, RowWindow, SlideOnWindow, TupleWindow
from tests.operators.stepping import COUNT, Stepping, at, ordered


def ends(results: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["window_end"], row["r0"]) for row in results]


#   on        1   2  |3   4
#   complete             4          the third row is final, the fourth is not
#   windows   [---)2         of ranks, SLIDE 1 RANGE 2
def test_a_window_is_told_in_the_step_of_its_punctuation() -> None:
    stepping = Stepping(ordered(RowWindow(2, 1, "on")))
    assert ends(stepping.step(at(2, 1))) == []
    assert ends(stepping.step(at(4, 3), upto=4)) == [(1, 1), (2, 2), (3, 2)]
    assert ends(stepping.step(upto=5)) == [(4, 2)]
    assert ends(stepping.step(end=True)) == [(5, 1)]


def test_a_row_at_the_punctuation_is_not_final() -> None:
    stepping = Stepping(ordered(TupleWindow(5, "on")))
    assert stepping.step(at(4), upto=4) == []
    assert ends(stepping.step(at(4))) == []
    assert ends(stepping.step(upto=5)) == [(4, 2)]


def test_keys_move_by_themselves() -> None:
    stepping = Stepping(ordered(TupleWindow(5, "on")))
    rows = [*at(1, 3), *at(1, 3, k="b")]
    results = stepping.step(rows, upto_of={"b": 2})
    assert [(row["k0"], row["window_end"]) for row in results] == [("b", 1)]
    results = stepping.step(upto=4)
    assert sorted((row["k0"], row["window_end"], row["r0"]) for row in results) == [
        ("a", 1, 1),
        ("a", 3, 2),
        ("b", 3, 2),
    ]


def test_by_arrival_row_windows_wait_for_nothing() -> None:
    stepping = Stepping(ordered(RowWindow(2, 2, "on", order="arrival")))
    assert ends(stepping.step(at(9, 1, 5), upto=9)) == [(2, 2)]
    assert stepping.rows_of(PENDING) == 0
    # Rows are never late either.
    assert ends(stepping.step(at(0))) == [(4, 2)]


def test_by_tuple_remembers_the_rows_within_its_range() -> None:
    stepping = Stepping(ordered(TupleWindow(10, "on")))
    most = 0
    for now in range(0, 1000, 2):
        results = stepping.step(at(now, now + 1), upto=now + 1)
        assert ends(results)[-1] == (now, min(now + 1, 10))
        most = max(most, stepping.rows_of(CELLS))
        assert len(stepping.state.buckets(CELLS)) <= 32
    # Ten are within the range; others are in a chunk that is still needed.
    assert most <= 10 + 2 * 32
    assert stepping.rows_of(PENDING) == 1
    assert not stepping.state.buckets(MEMORY)
    stepping.step(end=True)
    assert not stepping.state.chunks


def test_cells_of_quiet_steps_are_put_together() -> None:
    """No cell is deleted, because the range is long; yet 40 steps leave few chunks."""
    stepping = Stepping(ordered(TupleWindow(1000, "on")))
    counts = []
    for now in range(40):
        stepping.step(at(now), upto=now + 1)
        counts.append(len(stepping.state.buckets(CELLS)))
    assert counts[:31] == list(range(1, 32))
    assert max(counts) == cells._CHUNKS
    assert counts[32] == 1
    assert stepping.rows_of(CELLS) == 40


def test_rows_of_a_pane_are_one_cell() -> None:
    stepping = Stepping(ordered(RowWindow(100, 10, "on")))
    stepping.step(at(*range(95)), upto=95)
    assert stepping.rows_of(CELLS) == 10
    assert ends(stepping.step(at(*range(95, 130)), upto=130))[-1] == (130, 100)
    assert stepping.rows_of(CELLS) <= 10 + 4


def test_rows_before_a_landmark_are_one_cell_once_they_are_in_every_window() -> None:
    stepping = Stepping(ordered(Landmarks("on", 10, [0])))
    for now in range(0, 100, 10):
        results = stepping.step(at(*range(now, now + 10)), upto=now + 10)
        assert ends(results) == [(now + 10, now + 10)]
        assert stepping.rows_of(CELLS) == 1


def test_grouped_inside_windows_rows_have_one_order() -> None:
    stepping = Stepping(ordered(RowWindow(3, 3, "on"), grouped=True))
    rows = [*at(1, 4), *at(2, 3, k="b"), *at(5, k=None)]
    results = stepping.step(rows, upto=4)
    assert sorted((row["k0"], row["on_start"], row["on_end"], row["r0"]) for row in results) == [
        ("a", 1, 1, 1),
        ("b", 2, 3, 2),
    ]
    results = stepping.step(end=True)
    assert {(row["k0"], row["r0"]) for row in results} == {("a", 1), (None, 1)}


#   on          1      2      3
#   slide_on   10      5     12           5 < 10 while `on` rises: refused when it is final
def test_a_row_that_breaks_the_order_comes_out_again() -> None:
    stepping = Stepping(ordered(SlideOnWindow(9, 5, "on", "slide_on")))
    rows = [{"on": 3, "slide_on": 12}, {"on": 2, "slide_on": 5}, {"on": 1, "slide_on": 10}]
    stepping.step(rows)
    assert stepping.last is not None and stepping.last.rows[0].used == 3
    stepping.step(upto=4)
    assert stepping.last.rows[0].fallen is not None
    assert stepping.last.rows[0].fallen.to_pylist() == [
        {"o0": 2, "reason": "slide_on_fell", "lateness": None}
    ]
    assert stepping.last.rows[0].used == -1
    assert ends(stepping.step(end=True)) == [(3, 2)]


def test_keys_whose_windows_are_over_are_forgotten() -> None:
    stepping = Stepping(ordered(Landmarks("on", 5, [0, 10, 10_000])))
    for key in range(9):
        stepping.step(at(key, k=f"key {key}"))
    assert stepping.rows_of(MEMORY) == 0  # nothing is final
    assert len(stepping.step(upto=9)) == 5
    assert stepping.rows_of(MEMORY) == 9
    stepping.step(upto=10)
    assert not stepping.state.chunks
    # A key that comes back starts anew.
    assert ends(stepping.step(at(12, k="key 3"), upto=15)) == [(15, 1)]


def test_nothing_is_written_where_nothing_happened() -> None:
    stepping = Stepping(ordered(RowWindow(3, 2, "on")))
    stepping.step(at(1, 2, 3), upto=3)
    stepping.step(upto=3)
    assert stepping.last is not None
    assert not stepping.last.changes


def played(rows: list[list[int]], upto: list[int]) -> list[dict[str, Any]]:
    stepping = Stepping(ordered(RowWindow(3, 2, "on")))
    results = []
    for arrived, reached in zip(rows, upto, strict=True):
        results += stepping.step(at(*arrived), upto=reached)
        chunks = [stepping.state.read(PENDING, c) for c in stepping.state.buckets(PENDING)]
        for least, chunk in zip(stepping.state.buckets(PENDING), chunks, strict=True):
            assert min(chunk["tick"].to_pylist()) == least
    return [*results, *stepping.step(end=True)]


@pytest.mark.parametrize("seed", range(20))
def test_rows_wait_in_chunks_of_any_size(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    upto = sorted(chance.choices(range(40), k=9))
    rows = [[chance.randint(low, 45) for _ in range(6)] for low in [0, *upto[:-1]]]
    whole = played(rows, upto)
    for size, most in ((1, 256), (4, 256), (4, 2), (1, 0)):
        monkeypatch.setattr(buckets, "_CHUNK_ROWS", size)
        monkeypatch.setattr(buckets, "_CHUNKS", most)
        assert played(rows, upto) == whole


#   the slack grows much between two steps, and waiting rows are still found
def test_rows_wait_however_the_punctuation_moves() -> None:
    stepping = Stepping(ordered(TupleWindow(5, "on")))
    stepping.step(at(10, 20, 10**9), upto=5)
    assert ends(stepping.step(upto=21)) == [(10, 1), (20, 1)]
    assert stepping.rows_of(PENDING) == 1
    assert ends(stepping.step(end=True)) == [(10**9, 1)]


def test_windows_at_both_ends_of_the_axis() -> None:
    far = TICK_LIMIT - 1
    stepping = Stepping(ordered(TupleWindow(TICK_LIMIT - 1, "on")))
    assert ends(stepping.step(at(-far), upto=-(2**63) + 2)) == []
    assert ends(stepping.step(at(-far + 1, far), upto=far)) == [(-far, 1), (-far + 1, 2)]
    assert ends(stepping.step(end=True)) == [(far, 1)]


def test_an_operator_travels_as_its_fields() -> None:
    work = ordered(RowWindow(3, 2, "on"), calls=(COUNT,))
    assert work.result_schema.names[:4] == ["k0", "window_start", "window_end", "on_start"]
    sent = pickle.loads(pickle.dumps(work))
    assert sent == work
    assert sent.result_schema == work.result_schema


def test_behind_the_end_every_row_is_late() -> None:
    for order in ("on", "arrival"):
        stepping = Stepping(ordered(RowWindow(1, 1, "on", order=order)))
        stepping.step(at(1), end=True)
        assert stepping.step(at(5)) == []
        assert stepping.last is not None and stepping.last.rows[0].late == 1


def test_no_rows_at_all() -> None:
    stepping = Stepping(ordered(RowWindow(3, 2, "on")))
    assert stepping.step() == []
    assert stepping.last is not None and stepping.last.results.schema.field("r0").type == pa.int64()
    assert stepping.step(end=True) == []
    assert not stepping.state.chunks
