"""Windows that share a pane store have the same results as windows with their own stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.errors import ArgumentError
from muntin.kernels.arrays import NEVER
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation, RowCounts
from muntin.operators.windows.level_tables import PANES
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.pane_store import FANOUT, LAYOUT, PaneStore
from muntin.operators.windows.panes import PaneEdges, Panes
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges

INTEGER = Axis(Domain.INTEGER)
COUNT = AggregateCall("count", "count(*)", (), (), ansi=True)
SUM = AggregateCall("sum", "sum(v)", (0,), (pa.int64(),), ansi=True)
MOST = AggregateCall("max", "max(v)", (0,), (pa.int64(),), ansi=True)
FIRST = AggregateCall("first", "first(v)", (0,), (pa.int64(),), ansi=True)
CALLS = (COUNT, SUM, MOST, FIRST)
KEYS = ("a", "b", "c")


@dataclass(frozen=True)
class MicroBatch:
    """Rows ``(key, on, value)``, and the punctuation of the stream and of some keys after them."""

    rows: Sequence[tuple[str, int, int]]
    after: int | None
    after_of: dict[str, int]


def windows(edges: Edges, *calls: AggregateCall, **choices: Any) -> WindowOperator:
    return WindowOperator(INTEGER, edges, (pa.string(),), calls, pa.int64(), **choices)


def table(rows: Sequence[tuple[str, int, int]]) -> pa.Table:
    key, on, value = zip(*rows, strict=True) if rows else ((), (), ())
    whole = pa.array(on, pa.int64())
    names = {"on": whole, "k0": pa.array(key, pa.string()), "s0": pa.array(value, pa.int64())}
    return pa.table({**names, "o0": whole})


def punctuations(batches: Sequence[MicroBatch]) -> list[Punctuation]:
    """Return the punctuation of each micro-batch, and then that of the end."""
    steps: list[Punctuation] = []
    before, largest = NEVER, NEVER
    of_keys: dict[str, int] = {}
    for batch in batches:
        largest = max([largest, *(on for _, on, _ in batch.rows)])
        after = before if batch.after is None else max(before, batch.after)
        moved = {key: max(of_keys.get(key, NEVER), on) for key, on in batch.after_of.items()}
        after_of = {**of_keys, **moved}
        steps.append(punctuation(before, after, largest, of_keys, after_of))
        before, of_keys = after, after_of
    return [*steps, replace(punctuation(before, before, largest, of_keys, of_keys), ended=True)]


def punctuation(
    before: int, after: int, largest: int, of_keys: dict[str, int], after_of: dict[str, int]
) -> Punctuation:
    by_key = pa.table(
        {
            "k0": pa.array(list(after_of), pa.string()),
            "before": pa.array([of_keys.get(key, NEVER) for key in after_of], pa.int64()),
            "after": pa.array(list(after_of.values()), pa.int64()),
        }
    )
    stream = [None if tick == NEVER else tick for tick in (before, after, largest)]
    return Punctuation(*stream, by_key=by_key if after_of else None)


@dataclass
class Outcome:
    """The results of a window, batch by batch, and the counts of its rows."""

    results: list[list[tuple[Any, ...]]]
    counts: list[tuple[int, int, int]]
    before_origin: int = 0

    @classmethod
    def none(cls) -> Outcome:
        return cls([], [])

    def take(self, results: pa.Table, rows: RowCounts) -> None:
        self.results.append(sorted(tuple(row.values()) for row in results.to_pylist()))
        self.counts.append((rows.used, rows.late, rows.between))
        if rows.late_rows is not None:
            assert rows.late_rows.num_rows == rows.late


def batches_of(
    panes: Panes, batches: Sequence[MicroBatch]
) -> list[tuple[InputBatch, dict[str, int]]]:
    """Return micro-batches as the map side sends them, each from two tasks."""
    sent = []
    with_end = [*batches, MicroBatch([], None, {})]
    for batch, now in zip(with_end, punctuations(batches), strict=True):
        half = len(batch.rows) // 2
        tasks = [batch.rows[:half], batch.rows[half:]]
        routed = [panes.route(table(rows)) for rows in tasks if rows]
        originals = [task.rows for task in routed if task.rows is not None]
        refused = {"before_origin": sum(task.refused.get("before_origin", 0) for task in routed)}
        sent.append((InputBatch([task.partial for task in routed], now, originals), refused))
    return sent


def alone(work: WindowOperator, batches: Sequence[MicroBatch]) -> Outcome:
    state, outcome = MemoryState(), Outcome.none()
    for batch, refused in batches_of(work.panes, batches):
        step = work.step(state, [batch])
        state.apply(step.changes)
        outcome.take(step.results, step.rows[0])
        outcome.before_origin += refused["before_origin"]
    assert left(state) == set()
    return outcome


def together(
    works: Sequence[WindowOperator], batches: Sequence[MicroBatch], size: int, fanout: int
) -> list[Outcome]:
    edges = PaneEdges(tuple(work.edges for work in works))
    calls = tuple(dict.fromkeys(call for work in works for call in work.calls))
    panes = Panes((pa.string(),), calls, INTEGER, edges, pa.int64())
    store = PaneStore(panes, panes_per_bucket=size, fanout=fanout)
    state, outcomes = MemoryState(), [Outcome.none() for _ in works]
    for batch, refused in batches_of(panes, batches):
        step = store.step(state, batch)
        state.apply(step.changes)
        for work, seen, outcome in zip(works, step.windows, outcomes, strict=True):
            outcome.take(work.close(panes, seen, batch.punctuation), seen.rows)
            outcome.before_origin += seen.before_origin + refused["before_origin"]
    assert left(state) == set()
    return outcomes


def left(state: MemoryState) -> set[str]:
    """Return the tables that are not empty, without those that describe the layout."""
    return {table for table, _ in state.chunks} - {LAYOUT, FANOUT}


@st.composite
def edges_of_windows(draw: st.DrawFn) -> Edges:
    clipped = draw(st.booleans())
    range_, slide = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    return Edges(range_, slide, draw(st.integers(-7, 20 if clipped else 7)), clipped)


@st.composite
def micro_batches(draw: st.DrawFn) -> list[MicroBatch]:
    rows = st.tuples(st.sampled_from(KEYS), st.integers(-10, 40), st.integers(-5, 5))
    return [
        MicroBatch(
            draw(st.lists(rows, max_size=12)),
            draw(st.none() | st.integers(-10, 45)),
            draw(st.dictionaries(st.sampled_from(KEYS), st.integers(-10, 45), max_size=2)),
        )
        for _ in range(draw(st.integers(1, 5)))
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(edges_of_windows(), min_size=2, max_size=3),
    st.lists(st.sets(st.sampled_from(CALLS), min_size=1), min_size=3, max_size=3),
    st.sampled_from(["keep", "drop", "flag"]),
    micro_batches(),
    st.integers(1, 30),
    st.sampled_from([0, 2, 3]),
)
def test_windows_that_share_a_store_equal_windows_alone(
    edges: list[Edges],
    calls: list[set[AggregateCall]],
    unfinished: Any,
    batches: list[MicroBatch],
    size: int,
    fanout: int,
) -> None:
    ordered = [sorted(own, key=lambda call: call.label) for own in calls]
    works = [
        windows(own, *own_calls, unfinished=unfinished)
        for own, own_calls in zip(edges, ordered, strict=False)
    ]
    assert together(works, batches, size, fanout) == [alone(work, batches) for work in works]


#   RANGE 4 SLIDE 2    |   |   |   |   |      edges at 0 2 4 6 8
#   RANGE 5 SLIDE 5    |         |         |  edges at 0 5 10
#   panes              0   2   4 5 6   8  10
def test_panes_lie_between_the_edges_of_all_windows() -> None:
    edges = PaneEdges((Edges(4, 2, 0, False), Edges(5, 5, 0, False)))
    ticks = np.arange(11)
    assert edges.panes_of(ticks).tolist() == [0, 0, 2, 2, 4, 5, 6, 6, 8, 8, 10]
    starts = np.array([0, 2, 4, 5, 6, 8, 10])
    assert edges.numbers(edges.windows[1], starts).tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert edges.first(edges.windows[1], 2) == 10


def test_a_shared_store_forgets_what_no_window_reaches() -> None:
    short, long = windows(Edges(2, 2, 0, False), COUNT), windows(Edges(20, 10, 0, False), COUNT)
    edges = PaneEdges((short.edges, long.edges))
    panes = Panes((pa.string(),), (COUNT,), INTEGER, edges, pa.int64())
    state, kept = MemoryState(), []
    for on in range(0, 60, 2):
        routed = panes.route(table([("a", on, 1)]))
        now = Punctuation(on or None, on + 2, on)
        state.apply(PaneStore(panes).step(state, InputBatch([routed.partial], now)).changes)
        kept.append(len(state.buckets(PANES)))
    assert max(kept) == 9  # the panes of a long window, before its last rows
    assert kept[-1] == 5  # from 50 to 60: the next long window ends at 70


def test_what_cannot_share_panes_is_refused() -> None:
    sliding, landmark = Edges(4, 2, 0, False), Edges(2, 2, 0, True, landmark=True)
    with pytest.raises(ArgumentError, match="landmark windows have panes of their own"):
        PaneEdges((sliding, landmark))
    shared = replace(
        windows(sliding, COUNT).panes, edges=PaneEdges((sliding, Edges(5, 5, 0, False)))
    )
    with pytest.raises(ArgumentError, match="windows that share panes take late rows generously"):
        PaneStore(shared, late="consistent")
