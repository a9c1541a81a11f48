"""Windows of keys that progress at different speeds: what is kept, written and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import NEVER
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.windows.level_tables import PANES
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import TICK_LIMIT, Axis, Domain
from muntin.specs.windows import Edges

TUMBLING = Edges(5, 5, origin=0, clipped=False)
LANDMARK = Edges(5, 5, origin=0, clipped=True, landmark=True)
#: Results: the key, the end of the window, and its count of rows.
Found = set[tuple[str, int, int]]


def windows(edges: Edges = TUMBLING, panes_per_bucket: int = 4) -> WindowOperator:
    count = AggregateCall("count", "count(*)", (), (), ansi=True)
    return WindowOperator(
        Axis(Domain.INTEGER),
        edges,
        (pa.string(),),
        (count,),
        pa.int64(),
        panes_per_bucket=panes_per_bucket,
    )


@dataclass
class Stepping:
    """Runs micro-batches through a step function, with the punctuation of each key."""

    work: WindowOperator
    state: MemoryState = field(default_factory=MemoryState)
    reached: dict[str, int] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)

    def step(self, rows: Mapping[str, list[int]], reaching: Mapping[str, int]) -> Found:
        after = {**self.reached, **reaching}
        by_key = pa.table(
            {
                "k0": pa.array(list(after), pa.string()),
                "before": pa.array([self.reached.get(k, NEVER) for k in after], pa.int64()),
                "after": pa.array(list(after.values()), pa.int64()),
            }
        )
        pairs = [(k, on) for k, values in rows.items() for on in values]
        table = pa.table(
            {
                "on": pa.array([on for _, on in pairs], pa.int64()),
                "k0": pa.array([k for k, _ in pairs], pa.string()),
            }
        )
        partials = [self.work.route(table).partial] if pairs else []
        punctuation = Punctuation(None, None, 0, by_key=by_key)
        step = self.work.step(self.state, [InputBatch(partials, punctuation)])
        self.state.apply(step.changes)
        self.written = {bucket for name, bucket in step.changes if name == PANES}
        self.reached = after
        return {(r["k0"], r["window_end"], r["r0"]) for r in step.results.to_pylist()}

    @property
    def held(self) -> dict[int, int]:
        """How many panes each bucket has."""
        return {b: self.state.read(PANES, b).num_rows for b in self.state.buckets(PANES)}


#   a   1 6 | 12 | 30          a moves on, b waits at 2: b's pane [0, 5) stays, a's do not
#   b   2   |    |     3
def test_a_waiting_key_keeps_its_panes_and_no_others() -> None:
    run = Stepping(windows())
    assert run.step({"a": [1, 6], "b": [2]}, {"a": 6, "b": 2}) == {("a", 5, 1)}
    assert run.step({"a": [12]}, {"a": 12}) == {("a", 10, 1)}
    assert run.step({"a": [30]}, {"a": 30}) == {("a", 15, 1)}
    assert run.held == {0: 1, 1: 1}
    assert run.step({"b": [3, 9]}, {"b": 9}) == {("b", 5, 2)}


def test_a_bucket_is_written_again_when_half_of_it_is_out_of_date() -> None:
    names = [f"k{n}" for n in range(4)]
    run = Stepping(windows())
    run.step({name: [1] for name in names}, dict.fromkeys(names, 1))
    assert run.held == {0: 4}
    run.step({}, {"k0": 5})
    assert run.written == set()  # one pane of four is outdated, so the bucket is not written
    run.step({}, {"k1": 5})
    assert run.held == {0: 2}
    run.step({}, {"k2": 5, "k3": 5})
    assert run.held == {}


def test_only_buckets_of_what_closes_are_read() -> None:
    class Watched(MemoryState):
        def read(self, table: str, bucket: int) -> pa.Table:
            seen.append(bucket)
            return super().read(table, bucket)

    seen: list[int] = []
    run = Stepping(windows(), Watched())
    run.step({"a": [1], "b": [101], "c": [201]}, {"a": 1, "b": 101, "c": 201})
    seen.clear()
    assert run.step({}, {"b": 120}) == {("b", 105, 1)}
    assert seen == [5]


def test_landmark_windows_of_keys_apart() -> None:
    run = Stepping(windows(LANDMARK))
    assert run.step({"a": [1, 6], "b": [2]}, {"a": 10, "b": 2}) == {("a", 5, 1), ("a", 10, 2)}
    assert run.step({"b": [3]}, {"b": 12}) == {("b", 5, 2), ("b", 10, 2)}
    # 4 is late for two windows of a, and enters the third.
    assert run.step({"a": [4]}, {"a": 15}) == {("a", 15, 3)}
    assert sum(run.held.values()) == 2


def test_state_written_with_buckets_of_another_size_is_read() -> None:
    run = Stepping(windows(panes_per_bucket=4))
    run.step({"a": [1, 22, 43]}, {"a": 1})
    run.work = windows(panes_per_bucket=100)
    assert run.step({"a": [2, 23, 60]}, {"a": 50}) == {("a", 5, 2), ("a", 25, 2), ("a", 45, 1)}
    assert run.held == {3: 1}


def test_a_key_complete_below_the_axis_has_closed_nothing() -> None:
    """A punctuation is the largest value minus the slack, and may lie below the least tick."""
    origin = TICK_LIMIT - 10
    edges = Edges(5, 5, origin=origin, clipped=False)
    stepping = Stepping(windows(edges, panes_per_bucket=2**40))
    assert stepping.step({"a": [origin]}, {"a": -(2**63) + 2}) == set()
    assert stepping.step({}, {"a": origin + 5}) == {("a", origin + 5, 1)}
