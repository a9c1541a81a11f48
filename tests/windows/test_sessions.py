"""Sessions step by step: which rows join, when sessions are reported, and what is written."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from muntin.operators.windows.sessions import SESSIONS
from muntin.specs.row_windows import Session
from tests.operators.stepping import Stepping, at, sessions, table

FIVE = Session("on", 5)


def found(rows: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    return sorted((row["window_start"], row["window_end"], row["r0"]) for row in rows)


#   on   0    4         9              15      gap 5: 9 = 4 + 5 just joins, 15 > 9 + 5 does not
#        [--------------------)14      [---
@pytest.mark.parametrize("order", list(itertools.permutations([0, 4, 9, 15])))
def test_rows_join_in_whatever_order_they_come(order: tuple[int, ...]) -> None:
    stepping = Stepping(sessions(FIVE))
    for on in order:
        assert stepping.step(at(on)) == []
    assert found(stepping.step(upto=15)) == [(0, 14, 3)]
    assert found(stepping.step(end=True)) == [(15, 20, 1)]
    assert not stepping.state.chunks


def test_a_row_just_at_the_end_may_still_come() -> None:
    stepping = Stepping(sessions(FIVE))
    assert stepping.step(at(0), upto=5) == []
    assert stepping.step(at(5), upto=10) == []
    assert found(stepping.step(upto=11)) == [(0, 10, 2)]


#   0 [----)5        10 [----)15
#           5 ..... 10          a row at 5 that reaches to 10 joins both
def test_a_row_joins_two_sessions_that_were_open() -> None:
    stepping = Stepping(sessions(FIVE))
    stepping.step(at(0, 10))
    assert stepping.rows_of(SESSIONS) == 2
    stepping.step(at(5))
    assert stepping.rows_of(SESSIONS) == 1
    assert found(stepping.step(end=True)) == [(0, 15, 3)]


#   on 0 reaches 20, on 3 reaches 5, on 18 reaches 19: one session up to 20
def test_rows_with_a_gap_of_their_own() -> None:
    stepping = Stepping(sessions(Session("on", label="gap")))
    rows = [{"on": on, "reach": reach} for on, reach in ((0, 20), (3, 5), (18, 19), (21, 22))]
    refused = [{"on": 1, "reach": 1}, {"on": 1, "reach": None}]
    assert stepping.step([*rows, *refused], upto=21)[0]["window_end"] == 20
    assert found(stepping.step(end=True)) == [(21, 22, 1)]
    assert stepping.work.map_sides[0].route(table(refused)).refused == {"no_gap": 2}


def test_keys_have_sessions_of_their_own() -> None:
    stepping = Stepping(sessions(FIVE))
    closed = stepping.step([*at(0), *at(3, k="b")], upto_of={"b": 9})
    assert [(row["k0"], row["window_end"]) for row in closed] == [("b", 8)]
    assert stepping.rows_of(SESSIONS) == 1


def test_late_rows_join_nothing() -> None:
    stepping = Stepping(sessions(FIVE))
    stepping.step(at(20), upto=17)
    stepping.step(at(16, 17))
    assert stepping.last is not None and stepping.last.rows[0].late == 1
    assert stepping.last.rows[0].late_rows is not None
    assert stepping.last.rows[0].late_rows["lateness"].to_pylist() == [1]
    assert found(stepping.step(end=True)) == [(17, 25, 2)]


def test_only_chunks_with_a_change_are_written() -> None:
    stepping = Stepping(sessions(FIVE))
    keys = [f"key {n}" for n in range(500)]
    stepping.step([row for key in keys for row in at(0, k=key)])
    every = len(stepping.state.buckets(SESSIONS))
    assert every == 13
    stepping.step(at(1, k="key 7"))
    assert stepping.last is not None
    assert len(stepping.last.changes) == 1
    stepping.step(upto=3)
    assert not stepping.last.changes
    assert len(stepping.step(upto=100)) == 500
    assert not stepping.state.chunks
