"""Running a new query over kept rows, as if it had been there when they came.

The run makes the answers of the past and the state in which the query goes on: its seed. It steps
through the kept micro-batches in order, so every kind of query is filled exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.engine.kept_rows import HistoryRows, KeptProgress
from muntin.errors import EngineError
from muntin.kernels.ticks import valid_ticks
from muntin.operators.protocol import ChunkKey, MemoryState
from muntin.operators.shared.beginnings import BIRTHS, WITHIN, births_table
from muntin.operators.shared.network import QueryNetwork, StreamRule
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import Birth
from muntin.operators.shared.row_filters import by_member
from muntin.operators.shared.window_group import can_share
from muntin.spark.exchange.network_driver import split_by_group

#: Micro-batches that are run together have at most so many rows.
_ROWS = 200_000


@dataclass
class HistoryRun:
    """A query on its way through kept rows; ``done`` is the last micro-batch that it has seen.

    ``cut`` is the tick at which its history begins, if not with the first kept row. A ``silent``
    one makes no answers: those of the past belong to the generation before it.
    """

    rule: StreamRule
    program: QueryProgram
    kept: HistoryRows
    shards: int
    cut: int | None = None
    silent: bool = False
    done: int = -1
    birth: Birth | None = None
    states: list[MemoryState] = field(default_factory=list)
    answers: list[pa.Table] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = [MemoryState() for _ in range(self.shards)]
        # History is that of one query; what it leaves is shared if the query can share it.
        paused = self.program.paused or self.silent
        alone = replace(self.program, seed=None, cells=None, panes=None, paused=paused)
        self.network = QueryNetwork(replace(self.rule, base=None), (alone,))

    def advance(self, upto: int, most: int | None = None) -> None:
        """Run the kept micro-batches up to one, in at most so many steps."""
        due = [number for number in self.kept.batches(self.done) if number <= upto]
        steps = 0
        while due and (most is None or steps < most):
            rows, progress, count = self._together(due)
            self._step(rows, progress)
            self.done = due[count - 1]
            due, steps = due[count:], steps + 1

    def _together(self, due: Sequence[int]) -> tuple[pa.Table, KeptProgress, int]:
        """Return the rows of the first micro-batches that are due, which are run in one step.

        How rows are split makes no difference if none of them is late. So micro-batches are run
        together up to one with a row below the punctuation before it. Early answers are those of
        every micro-batch, so theirs are run one by one.
        """
        progress = self.kept.progress(due[0])
        tables = [self.kept.read(due[0])]
        rows = tables[0].num_rows
        following_ones = () if self.program.newest.changes else due[1:]
        for number in following_ones:
            following = self.kept.progress(number)
            rows += following.rows
            if progress.ended or progress.over or following.over or rows > _ROWS:
                break
            table = self.kept.read(number)
            if self._has_late(table, following.before):
                break
            tables.append(table)
            progress = replace(
                progress, after=following.after, largest=following.largest, ended=following.ended
            )
        return pa.concat_tables(tables), progress, len(tables)

    def _has_late(self, rows: pa.Table, before: int | None) -> bool:
        if before is None or not rows.num_rows:
            return False
        ticks = valid_ticks(self.rule.columns.evaluate(rows)["on"], self.rule.axis)
        return bool(len(ticks) and ticks.min() < before)

    def behind(self, upto: int) -> int:
        """Return how many kept micro-batches up to one are still to be run."""
        return sum(number <= upto for number in self.kept.batches(self.done))

    def _step(self, rows: pa.Table, progress: KeptProgress) -> None:
        if self.birth is None:
            self._begin(Birth(progress.before, progress.largest_before))
        routed = self.network.route(rows)
        self._check(routed.failed)
        self.answers += [own for table in routed.answers for _, own in by_member(table)]
        arrived: list[dict[tuple[str, int], list[pa.Table]]] = [{} for _ in self.states]
        for group, part in routed.parts:
            own = self.network.receivers[group].inputs[part.source]
            for shard, table in split_by_group(group, part.routed.partial, own, self.shards):
                arrived[shard].setdefault((group, part.source), []).append(table)
        for shard, state in enumerate(self.states):
            step = self.network.step(
                *(state, arrived[shard], progress.punctuation, progress.largest_before),
                *(shard, self.shards),
            )
            self._check(step.failed)
            self.answers += step.answers.values()
            state.apply(step.changes)

    def _begin(self, first: Birth) -> None:
        """Note what lies before the history of the query, so extents before it are incomplete."""
        largest = first.largest
        if self.cut is not None:
            largest = self.cut - 1 if largest is None else max(largest, self.cut - 1)
        self.birth = Birth(first.punctuation, largest)
        for state in self.states:
            state.chunks[BIRTHS, 0] = births_table({self.program.member: self.birth})

    def _check(self, failed: Mapping[int, str]) -> None:
        for reason in failed.values():
            raise EngineError(f"over history it raises {reason}")

    @property
    def begun(self) -> QueryProgram:
        """The program with which the query goes on from its seed."""
        name = str(self.program.member)
        cells = can_share(replace(self.program, seed=None))
        return replace(self.program, seed=None if cells else name, cells=name if cells else None)

    def seed(self) -> list[dict[ChunkKey, pa.Table]]:
        """Return the state in which the query goes on, for each shard."""
        prefix = "".join(self.network.groups) + WITHIN
        return [
            {
                (table.removeprefix(prefix), bucket): chunk
                for (table, bucket), chunk in state.chunks.items()
                if table != BIRTHS
            }
            for state in self.states
        ]
