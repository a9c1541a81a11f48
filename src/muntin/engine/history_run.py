"""Running a new query over kept rows, as if it had been there when they came.

The run makes the answers of the past and the state in which the query goes on: its seed. It steps
through the kept micro-batches one by one, so every kind of query is filled exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.engine.kept_rows import HistoryRows
from muntin.errors import EngineError
from muntin.operators.protocol import ChunkKey, MemoryState
from muntin.operators.shared.network import BIRTHS, QueryNetwork, StreamRule, births_table
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import Birth
from muntin.operators.shared.row_filters import by_member
from muntin.spark.exchange.network_driver import split_by_group


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
        # A seed is the state of one query, which shares nothing.
        paused = self.program.paused or self.silent
        alone = replace(self.program, seed=str(self.program.member), paused=paused)
        self.network = QueryNetwork(self.rule, (alone,))

    def advance(self, upto: int, most: int | None = None) -> None:
        """Run the kept micro-batches up to one, at most so many of them."""
        due = [number for number in self.kept.batches(self.done) if number <= upto]
        for number in due if most is None else due[:most]:
            self._step(number)
            self.done = number

    def behind(self, upto: int) -> int:
        """Return how many kept micro-batches up to one are still to be run."""
        return sum(number <= upto for number in self.kept.batches(self.done))

    def _step(self, number: int) -> None:
        progress = self.kept.progress(number)
        if self.birth is None:
            self._begin(Birth(progress.before, progress.largest_before))
        routed = self.network.route(self.kept.read(number))
        self._check(routed.failed)
        self.answers += [own for table in routed.answers for _, own in by_member(table)]
        arrived: list[dict[tuple[str, int], list[pa.Table]]] = [{} for _ in self.states]
        for group, part in routed.parts:
            own = self.network.groups[group].inputs[part.source]
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

    def seed(self) -> list[dict[ChunkKey, pa.Table]]:
        """Return the state in which the query goes on, for each shard."""
        prefix = f"q{self.program.member}/"
        return [
            {
                (table.removeprefix(prefix), bucket): chunk
                for (table, bucket), chunk in state.chunks.items()
                if table != BIRTHS
            }
            for state in self.states
        ]
