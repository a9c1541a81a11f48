"""An own aggregate over groups and stretches: compared with plain Python, and few calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.accumulators import OwnAccumulator
from muntin.aggregates.own_aggregate import CheckedAggregate, OwnAggregate, checked
from muntin.kernels.grouping import Groups
from muntin.operators.aggregation import own_aggregate as own_module
from muntin.operators.aggregation.combine_accumulators import combine, gather, slide
from tests.aggregates.examples import Columns, Gathered, Ints, Longest, Squares
from tests.thorough import examples

INTEGERS = st.one_of(st.none(), st.integers(-(2**31), 2**31))
TEXTS = st.one_of(st.none(), st.text("abc", max_size=4))


def squares(values: list[int]) -> int:
    whole = sum(value * value for value in values) % 2**64
    return whole - 2**64 if whole >= 2**63 else whole


CASES: list[tuple[OwnAggregate, pa.DataType, Any, Callable[[list[Any]], Any]]] = [
    (Squares(), pa.int64(), INTEGERS, squares),
    (Longest(3), pa.string(), TEXTS, lambda v: max((min(3, len(s)) for s in v), default=None)),
    (Gathered(), pa.string(), TEXTS, sorted),
]
AGGREGATES = pytest.mark.parametrize("case", CASES, ids=["squares", "longest", "gathered"])


@st.composite
def stretches(draw: st.DrawFn, rows: int) -> tuple[Ints, Ints]:
    """Draw stretches like those of windows: none is empty, both ends only move forward."""
    lows = sorted(draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=12)))
    highs, reached = [], 0
    for low in lows:
        reached = max(reached, draw(st.integers(low + 1, rows)))
        highs.append(reached)
    return np.array(lows, np.int64), np.array(highs, np.int64)


def lifted(
    own: OwnAggregate, type_: pa.DataType, values: list[Any]
) -> tuple[CheckedAggregate, Columns]:
    typed = checked(own, "own", [type_])
    accumulator = OwnAccumulator((0,), None, typed)
    return typed, accumulator.lift([pa.array(values, type_)], np.arange(len(values)))


def present(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


@AGGREGATES
def test_stretches(case: Any) -> None:
    own, type_, drawn, expected = case

    @examples(700)
    @given(st.lists(drawn, min_size=1, max_size=40), st.data())
    def check(values: list[Any], data: st.DataObject) -> None:
        low, high = data.draw(stretches(len(values)))
        typed, columns = lifted(own, type_, values)
        results = typed.finish(slide(typed, columns, low, high)).to_pylist()
        ends = zip(low.tolist(), high.tolist(), strict=True)
        assert results == [expected(present(values[a:b])) for a, b in ends]

    check()


@AGGREGATES
def test_cuts_change_nothing(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own, type_, drawn, _ = case

    @settings(max_examples=60)
    @given(st.lists(drawn, min_size=1, max_size=40), st.data())
    def check(values: list[Any], data: st.DataObject) -> None:
        low, high = data.draw(stretches(len(values)))
        typed, columns = lifted(own, type_, values)
        monkeypatch.setattr(own_module, "BYTES_AT_ONCE", 2**26)
        whole = slide(typed, columns, low, high)
        monkeypatch.setattr(own_module, "BYTES_AT_ONCE", 1)
        assert slide(typed, columns, low, high) == whole

    check()


@AGGREGATES
def test_groups(case: Any) -> None:
    own, type_, drawn, expected = case

    @settings(max_examples=100)
    @given(st.lists(st.tuples(drawn, st.integers(0, 4)), min_size=1, max_size=20))
    def check(rows: list[tuple[Any, int]]) -> None:
        kinds, number = np.unique([group for _, group in rows], return_inverse=True)
        groups = Groups(number.astype(np.int64), np.zeros(len(kinds), np.int64))
        values = [value for value, _ in rows]
        typed, columns = lifted(own, type_, values)
        direct = gather(
            OwnAccumulator((0,), None, typed), [pa.array(values, type_)], number, groups
        )
        wanted = [expected(present([v for v, g in rows if g == kind])) for kind in kinds]
        assert typed.finish(combine(typed, columns, groups)).to_pylist() == wanted
        assert typed.finish(direct).to_pylist() == wanted

    check()


class Counting(Squares):
    """Counts its calls and the rows in them."""

    def __init__(self, differential: bool) -> None:
        self.differential = differential
        self.calls = self.rows = self.removed = 0

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        self.calls += 1
        self.rows += len(groups)
        return super().merge(partials, groups, count)

    def remove(self, whole: Columns, part: Columns) -> Columns:
        self.removed += len(whole[0])
        return super().remove(whole, part)


@pytest.mark.parametrize("differential", [False, True])
@pytest.mark.parametrize("overlap", [2, 60, 1000])
def test_few_calls_and_little_work_whatever_the_overlap(overlap: int, differential: bool) -> None:
    panes = 20_000
    low = np.maximum(0, np.arange(panes) - overlap + 1)
    own = Counting(differential)
    typed = checked(own, "own", [pa.int64()])
    values = np.arange(panes)
    (sums,) = slide(typed, [pa.array(values * values)], low, np.arange(1, panes + 1))
    running = np.append(0, np.cumsum(values * values))
    assert sums.to_numpy().tolist() == (running[1:] - running[low]).tolist()
    longest = panes if differential else overlap
    assert own.calls <= 4 * math.ceil(math.log2(longest)) + 5
    assert own.rows <= (4 if differential else 10) * panes
    assert own.removed == (panes - overlap if differential else 0)


def test_no_stretch_gives_no_row() -> None:
    typed, columns = lifted(Longest(), pa.string(), ["a"])
    none = np.empty(0, np.int64)
    assert slide(typed, columns, none, none) == [pa.array([], pa.int64())]


class Recording(Longest):
    """Fails when rows of two keys are merged."""

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        values = partials[0].to_numpy()
        for group in range(count):
            assert len(set((values[groups == group] // 1000).tolist())) == 1
        return super().merge(partials, groups, count)


def test_stretches_that_do_not_overlap_are_never_merged() -> None:
    """Panes of one key follow those of another; no merge crosses from one key to the next."""
    typed = checked(Recording(), "own", [pa.string()])
    columns = [pa.array([1000 * key + pane for key in range(5) for pane in range(7)], pa.int64())]
    stretches = [(7 * key + max(0, e - 3), 7 * key + e) for key in range(5) for e in range(1, 8)]
    low, high = np.array(stretches, np.int64).T.copy()
    (results,) = slide(typed, columns, low, high)
    assert results.to_pylist() == [1000 * key + e - 1 for key in range(5) for e in range(1, 8)]
