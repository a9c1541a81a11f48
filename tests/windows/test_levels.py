"""Levels over panes: the same results as from panes alone, and few chunks read for any RANGE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.protocol import Changes, InputBatch, MemoryState, Punctuation
from muntin.operators.windows.level_tables import PANES, table_of
from muntin.operators.windows.levels import Levels
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.pane_reach import Span
from muntin.operators.windows.pane_store import FANOUT, LAYOUT
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges, Window
from tests.thorough import examples
from tests.windows.test_pane_store import (
    CALLS,
    KEYS,
    MicroBatch,
    Outcome,
    alone,
    batches_of,
    left,
    windows,
)

DOUBLE = (pa.float64(),)
MEAN = AggregateCall("avg", "avg(x)", (0,), DOUBLE, ansi=True)
LARGEST = AggregateCall("max", "max(x)", (0,), DOUBLE, ansi=True)


@st.composite
def long_edges(draw: st.DrawFn) -> Edges:
    slide = draw(st.integers(1, 3))
    clipped = draw(st.booleans())
    return Edges(draw(st.integers(10, 60)), slide, draw(st.integers(-7, 7)), clipped)


@st.composite
def moving(draw: st.DrawFn) -> list[MicroBatch]:
    """Draw many micro-batches of a stream that moves on, some of whose rows are late."""
    batches, reached = [], draw(st.integers(-10, 10))
    for _ in range(draw(st.integers(3, 12))):
        place = st.integers(reached - draw(st.sampled_from([0, 3, 40])), reached + 20)
        rows = st.tuples(st.sampled_from(KEYS), place, st.integers(-5, 5))
        reached += draw(st.integers(0, 15))
        ahead = st.dictionaries(st.sampled_from(KEYS), st.integers(0, 40), max_size=2)
        after_of = {key: reached + further for key, further in draw(ahead).items()}
        after = draw(st.sampled_from([None, reached, reached]))
        drawn = draw(st.lists(rows, max_size=12))
        batches.append(MicroBatch(drawn, after, after_of if draw(st.booleans()) else {}))
    return batches


@examples(400)
@given(
    long_edges(),
    moving(),
    st.sampled_from(["generous", "consistent"]),
    st.integers(1, 5),
    st.integers(2, 4),
)
def test_windows_made_from_levels_equal_windows_made_from_panes(
    edges: Edges, batches: list[MicroBatch], late: Any, size: int, fanout: int
) -> None:
    work = windows(edges, *CALLS, late=late, panes_per_bucket=size)
    assert alone(replace(work, fanout=fanout), batches) == alone(work, batches)


@pytest.mark.parametrize("jump", range(36, 49))
def test_windows_after_a_step_that_completes_many_nodes(jump: int) -> None:
    """The next window may begin at a node that the step before completed: that node is made."""
    leveled = windows(Edges(40, 1, 0, False), *CALLS, panes_per_bucket=3, fanout=3)
    batches = [MicroBatch([("a", on, on % 7 - 3) for on in range(jump)], jump, {})]
    batches += [MicroBatch([("a", on, 1)], on + 1, {}) for on in range(jump, jump + 12)]
    assert alone(leveled, batches) == alone(replace(leveled, fanout=0), batches)


@examples(300)
@given(long_edges(), moving(), st.integers(1, 5), st.integers(2, 4), st.integers(0, 12))
def test_a_state_without_levels_goes_on_with_levels(
    edges: Edges, batches: list[MicroBatch], size: int, fanout: int, restart: int
) -> None:
    panes_only = windows(edges, *CALLS, panes_per_bucket=size)
    leveled = replace(panes_only, panes_per_bucket=size + 2, fanout=fanout)
    state, outcome = MemoryState(), Outcome.none()
    for number, (batch, refused) in enumerate(batches_of(leveled.panes, batches)):
        step = (panes_only if number < restart else leveled).step(state, [batch])
        state.apply(step.changes)
        outcome.take(step.results, step.rows[0])
        outcome.before_origin += refused["before_origin"]
    assert left(state) == set()
    assert outcome == alone(panes_only, batches)


def test_a_state_is_written_with_levels_once() -> None:
    panes_only = windows(Edges(40, 1, 0, False), *CALLS, panes_per_bucket=10)
    leveled = replace(panes_only, panes_per_bucket=2, fanout=4)
    batches = [MicroBatch([("a", on, 1)], on, {}) for on in range(100)]
    state = MemoryState()
    for number, (batch, _) in enumerate(batches_of(leveled.panes, batches)[:-1]):
        state.apply((panes_only if number < 50 else leveled).step(state, [batch]).changes)
        if number == 49:
            assert left(state) == {PANES}
    assert [*state.buckets(LAYOUT), *state.buckets(FANOUT)] == [2, 4]
    assert left(state) == {PANES, table_of(1), table_of(2)}
    # Open windows end after 99, so they begin after 59: panes 60 and 61 are one chunk.
    assert sorted(state.buckets(PANES)) == list(range(30, 50))


#   level 1       [4    )[8    )[12   )
#   panes   1 2 3                      16 17
def test_closing_windows_are_made_of_panes_at_their_ends_and_nodes_between() -> None:
    levels = Levels(panes_per_bucket=4, longest=15, fanout=4)
    panes, nodes = levels.cover(span(1, 3, 16, 18), np.array([17]))
    everything = np.arange(20)
    assert np.flatnonzero(panes.hold(everything)).tolist() == [1, 2, 3, 16, 17]
    assert np.flatnonzero(nodes.hold(everything)).tolist() == list(range(4, 16))


def span(*numbers: int) -> Span:
    return Span(*(np.array([number]) for number in numbers))


@examples(400)
@given(st.integers(1, 6), st.integers(2, 5), st.integers(1, 300), st.data())
def test_a_cover_has_every_pane_once(
    size: int, fanout: int, longest: int, data: st.DataObject
) -> None:
    levels = Levels(size, longest, fanout)
    low, shared_low, shared_high, high = sorted(
        data.draw(st.lists(st.integers(-50, 400), min_size=4, max_size=4))
    )
    sealed = data.draw(st.integers(-50, 450))
    covers = levels.cover(span(low, shared_low, shared_high, high), np.array([sealed]))
    held: list[int] = []
    for level, numbers in enumerate(covers):
        length = levels.length(level)
        for start in range(-400, 500):
            if start % length == 0 and numbers.hold(np.array([start]))[0]:
                held += range(start, start + length)
                if level:
                    assert shared_low <= start
                    assert start + length <= min(shared_high, sealed)
    assert sorted(held) == list(range(low, high))


@dataclass
class CountingState(MemoryState):
    """State in memory that counts what is read from it and written to it."""

    chunks_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def read(self, table: str, bucket: int) -> pa.Table:
        chunk = super().read(table, bucket)
        self.chunks_read += 1
        self.bytes_read += chunk.nbytes
        return chunk

    def write(self, changes: Changes) -> None:
        self.apply(changes)
        self.bytes_written += sum(c.nbytes for c in changes.values() if c is not None)


@dataclass(frozen=True)
class Traffic:
    """The means of what steps read and wrote, in the steady state."""

    chunks_read: float
    bytes_read: float
    bytes_written: float


def planned(range_: int, *calls: AggregateCall, slide: int = 1, lag: int = 0) -> WindowOperator:
    inputs = WindowOperatorInputs(
        axis=Axis(Domain.INTEGER),
        keys=(pa.string(),),
        ranked_keys=1,
        calls=calls,
        bound_type=pa.int64(),
        lateness_type=pa.int64(),
        late="generous",
        unfinished="keep",
        lag=lag,
        slide_axis=None,
        ties=(),
    )
    work = build(Window(range_, slide, "on"), inputs)
    assert isinstance(work, WindowOperator)
    return work


def traffic(work: WindowOperator, length: int, steps: int = 40, keys: int = 3) -> Traffic:
    """Run micro-batches of ``length`` panes after one that fills the first window."""
    state = CountingState()
    filled = work.edges.range
    _step(work, state, 0, filled, keys)
    state.chunks_read = state.bytes_read = state.bytes_written = 0
    for start in range(filled, filled + steps * length, length):
        _step(work, state, start, start + length, keys)
    counts = state.chunks_read, state.bytes_read, state.bytes_written
    return Traffic(*(count / steps for count in counts))


def _step(work: WindowOperator, state: CountingState, start: int, stop: int, keys: int) -> None:
    on = np.repeat(np.arange(start, stop), keys)
    rows = pa.table(
        {
            "on": pa.array(on),
            "k0": pa.array([f"k{n % keys}" for n in range(len(on))]),
            "s0": pa.array(on % 7 / 3),
        }
    )
    now = Punctuation(start or None, stop, stop - 1)
    step = work.step(state, [InputBatch([work.route(rows).partial], now)])
    assert step.results.num_rows == keys * (stop - start)
    state.write(step.changes)


@pytest.mark.parametrize("length", [1, 10])
def test_what_a_step_reads_does_not_grow_with_range(length: int) -> None:
    minute, short, *longer = (
        traffic(planned(range_, MEAN, LARGEST), length, steps=160)
        for range_ in (60, 600, 6_000, 24_000)
    )
    for long in longer:
        assert long.chunks_read <= short.chunks_read + 3  # a level more
        assert long.bytes_written <= 1.1 * short.bytes_written
        # Windows of 60 panes have no levels.
        assert long.chunks_read < minute.chunks_read
        assert long.bytes_read <= 1.4 * minute.bytes_read


@pytest.mark.parametrize("length", [1, 7, 16, 60])
@pytest.mark.parametrize("range_", [320, 1_000, 3_600])
def test_levels_write_little_more_than_panes_alone(range_: int, length: int) -> None:
    leveled = planned(range_, MEAN, LARGEST)
    panes_only = replace(leveled, fanout=0, panes_per_bucket=range_ // 16)
    both = [traffic(work, length, steps=64).bytes_written for work in (leveled, panes_only)]
    assert both[0] <= 1.3 * both[1]


@pytest.mark.parametrize(
    ("work", "fanout", "panes_per_bucket"),
    [
        (planned(319, MEAN), 0, 19),
        (planned(320, MEAN), 16, 16),
        (planned(3_200, MEAN, slide=10), 16, 16),
        (planned(3_190, MEAN, slide=10), 0, 19),
        (planned(65_536, MEAN), 16, 32),
        (planned(320, MEAN, lag=65_536), 16, 32),
        (planned(3_600, MEAN, AggregateCall("median", "median(x)", (0,), DOUBLE, True)), 0, 225),
    ],
)
def test_the_plan_decides_which_windows_have_levels(
    work: WindowOperator, fanout: int, panes_per_bucket: int
) -> None:
    assert (work.fanout, work.panes_per_bucket) == (fanout, panes_per_bucket)


def test_sums_of_doubles_are_the_same_bits_with_levels() -> None:
    leveled = windows(Edges(200, 1, 0, False), MEAN, panes_per_bucket=4, fanout=4)
    found = []
    for work in (leveled, replace(leveled, fanout=0)):
        state, results = MemoryState(), []
        random = np.random.default_rng(1)
        for start in range(0, 600, 10):
            results += _doubles(work, state, random, start)
        found.append(results)
    assert len(found[0]) == 599
    assert found[0] == found[1]


def _doubles(
    work: WindowOperator, state: MemoryState, random: np.random.Generator, start: int
) -> Sequence[Any]:
    on = np.arange(start, start + 10)
    values = random.normal(size=10) * 10.0 ** random.integers(-12, 12, 10)
    rows = pa.table({"on": pa.array(on), "k0": pa.array(["a"] * 10), "s0": pa.array(values)})
    now = Punctuation(start - 1 if start else None, start + 9, start + 9)
    step = work.step(state, [InputBatch([work.route(rows).partial], now)])
    state.apply(step.changes)
    return [float(mean).hex() for mean in step.results["r0"].to_pylist()]
