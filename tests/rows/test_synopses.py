"""Synopses step by step: which keys are remembered, and what is written."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.synopses.count_sum_avg import ApproxCount
from muntin.aggregates.synopses.extremes import SlidingExtreme
from muntin.operators.rows.cut_values import ValueCut
from muntin.operators.rows.ordered_rows import MEMORY
from muntin.operators.rows.synopses import SYNOPSES, SynopsisOperator
from muntin.specs.windows import Edges
from tests.operators.stepping import INTEGER, Stepping, at


def synopses(edges: Edges) -> Stepping:
    kinds = (ApproxCount(0.1), SlidingExtreme(greatest=True))
    work = SynopsisOperator(
        axis=INTEGER,
        keys=(pa.string(),),
        ranked_keys=1,
        calls=tuple(AggregateCall("s", "s", (0,), (pa.float64(),), ansi=True) for _ in kinds),
        cut=ValueCut(edges, INTEGER),
        bound_type=pa.int64(),
        lateness_type=pa.int64(),
        ties=(pa.int64(),),
        kinds=kinds,
        within=(None, None),
    )
    return Stepping(work)


#   on   1  2     6         complete up to 10: windows [-5, 5), [0, 10)
def test_windows_are_answered_when_they_are_complete() -> None:
    stepping = synopses(Edges(10, 5, 0, clipped=False))
    assert stepping.step(at(6, 2, 1)) == []
    results = stepping.step(upto=10)
    assert [(r["window_end"], r["r0"], r["r1"]) for r in results] == [(5, 2.0, 2.0), (10, 3.0, 6.0)]
    assert [(r["window_end"], r["r0"]) for r in stepping.step(end=True)] == [(15, 1.0)]
    assert not stepping.state.chunks


def test_keys_whose_windows_are_over_are_forgotten() -> None:
    stepping = synopses(Edges(10, 5, 0, clipped=False))
    for now in range(0, 2000, 10):
        stepping.step(at(now, k=f"key {now}"), upto=now)
        assert stepping.rows_of(SYNOPSES) <= 2
        assert stepping.rows_of(MEMORY) <= 2
    # A key that comes back starts anew.
    results = stepping.step(at(2001, k="key 0"), upto=2005)
    assert [(r["k0"], r["window_end"], r["r0"]) for r in results if r["k0"] == "key 0"] == [
        ("key 0", 2005, 1.0)
    ]


def test_keys_that_nobody_asked_about_are_not_written() -> None:
    stepping = synopses(Edges(1000, 1000, 0, clipped=False))
    stepping.step([row for n in range(100) for row in at(1, k=f"key {n}")], upto=2)
    assert len(stepping.state.buckets(SYNOPSES)) == 13
    stepping.step(at(2, k="key 5"), upto=3)
    assert stepping.last is not None
    assert len([name for name, _ in stepping.last.changes if name == SYNOPSES]) == 1


def test_without_keys_there_is_one_synopsis() -> None:
    stepping = synopses(Edges(10, 5, 0, clipped=False))
    stepping.work = replace(stepping.work, keys=(), ranked_keys=0)
    stepping.step(at(1, 2))
    assert [r["r0"] for r in stepping.step(at(6, k="b"), upto=10)] == [2.0, 3.0]
    assert stepping.rows_of(SYNOPSES) == stepping.rows_of(MEMORY) == 1
    assert [r["r0"] for r in stepping.step(end=True)] == [1.0]
    assert not stepping.state.chunks
