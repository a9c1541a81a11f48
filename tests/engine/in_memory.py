"""A stream of the engine in memory: the network of queries without Spark, with several shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.engine.commit import of_all_shards
from muntin.operators.progress.progress import Progress, ProgressMessages
from muntin.operators.protocol import MemoryState, ScopedState
from muntin.operators.shared.beginnings import Seed
from muntin.operators.shared.network import InputProgress, QueryNetwork, StreamRule
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.row_filters import by_member
from muntin.spark.exchange.network_driver import shard_of_group
from muntin.spark.exchange.routing import split_by_shard
from muntin.specs.overload import PinnedOverload


@dataclass
class Answered:
    """The answers, failures and row counts of a micro-batch, by member."""

    answers: dict[int, pa.Table]
    failed: dict[int, str]
    used: dict[int, int]
    refused: dict[int, int]
    shed: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)


@dataclass
class MemoryStream:
    """Runs micro-batches of rows on the programs of a version.

    ``seeds`` returns the state with which a query begins in a shard. ``others`` has the progress of
    the other inputs of the stream for each shard.
    """

    rule: StreamRule
    shards: int
    states: list[MemoryState] = field(default_factory=list)
    seeds: Callable[[int, str], Seed] | None = None
    progress: list[Progress] = field(default_factory=list)
    others: list[tuple[Progress, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = self.states or [MemoryState() for _ in range(self.shards)]
        self.progress = self.progress or [Progress() for _ in range(self.shards)]
        beside = (Progress(),) * (self.inputs - 1)
        self.others = self.others or [beside for _ in range(self.shards)]

    @property
    def inputs(self) -> int:
        return len(self.rule.inputs)

    def run(
        self,
        tasks: Sequence[pa.Table],
        programs: Sequence[QueryProgram],
        *,
        ended: bool = False,
        micro_batch: int = 0,
        of: Sequence[int] = (),
        overload: PinnedOverload | None = None,
    ) -> Answered:
        """Run a micro-batch whose rows are read by several tasks; ``of`` has the input of each."""
        network = QueryNetwork(self.rule, tuple(programs), overload or PinnedOverload())
        arrived: list[dict[tuple[str, int], list[pa.Table]]] = [{} for _ in range(self.shards)]
        seen: list[list[int | None]] = [[] for _ in range(self.inputs)]
        everywhere: list[list[pa.Table]] = [[] for _ in range(self.inputs)]
        keyed: list[list[list[pa.Table]]] = [
            [[] for _ in range(self.inputs)] for _ in range(self.shards)
        ]
        chosen: list[list[pa.Table]] = [[] for _ in range(self.shards)]
        done = Answered({}, {}, {}, {})
        for task, rows in enumerate(tasks, 1):
            source = of[task - 1] if of else 0
            routed = network.route(rows, source)
            seen[source].append(routed.progress)
            if routed.observed.everywhere is not None:
                everywhere[source].append(routed.observed.everywhere)
            if routed.observed.keyed is not None:
                for shard, table in self._split("", routed.observed.keyed, ("k0",), False):
                    keyed[shard][source].append(table)
            for group, part in routed.parts:
                own = network.receivers[group].inputs[part.source]
                split = self._split(group, part.routed.partial, own.shard_keys, own.everywhere)
                for shard, table in split:
                    arrived[shard].setdefault((group, part.source), []).append(table)
                for member, refused in part.refused.items():
                    _add(done.refused, member, sum(refused.values()))
            tapped, failed = network.row_taps().take(rows)
            chosen[task % self.shards] += [*routed.answers, *tapped]
            done.failed |= {**routed.failed, **failed}
        for shard in range(self.shards):
            heard = [
                ProgressMessages(
                    seen=seen[number],
                    ended=ended,
                    everywhere=everywhere[number],
                    keyed=keyed[shard][number],
                )
                for number in range(self.inputs)
            ]
            brought = (arrived[shard], chosen[shard])
            self._step(network, shard, brought, heard, done, micro_batch)
        done.answers = {m: t for m, t in done.answers.items() if m not in done.failed}
        return done

    def _split(
        self, group: str, table: pa.Table, keys: Sequence[str], everywhere: bool
    ) -> list[tuple[int, pa.Table]]:
        if keys or everywhere or not table.num_rows:
            return [*split_by_shard(table, keys, self.shards, everywhere)]
        return [(shard_of_group(group, self.shards), table)]

    def _step(
        self,
        network: QueryNetwork,
        shard: int,
        brought: tuple[Mapping[tuple[str, int], Sequence[pa.Table]], Sequence[pa.Table]],
        heard: Sequence[ProgressMessages],
        done: Answered,
        micro_batch: int,
    ) -> None:
        state, before = self.states[shard], (self.progress[shard], *self.others[shard])
        scopes = [ScopedState(state, f"{place}:" if place else "") for place in range(len(heard))]
        advanced = [
            rule.punctuator.advance(scope, old, told)
            for rule, scope, old, told in zip(self.rule.inputs, scopes, before, heard, strict=True)
        ]
        progress = [
            InputProgress(own.punctuation, old.largest)
            for own, old in zip(advanced, before, strict=True)
        ]
        planted = self.seeds
        arrived, chosen = brought
        step = network.step(
            state,
            arrived,
            progress[0].punctuation,
            progress[0].largest_before,
            shard,
            self.shards,
            None if planted is None else lambda name: planted(shard, name),
            chosen,
            micro_batch,
            progress[1:],
        )
        state.apply(step.changes)
        for scope, own in zip(scopes, advanced, strict=True):
            state.apply(scope.named(dict(own.changes)))
        self.progress[shard], *others = (own.progress for own in advanced)
        self.others[shard] = tuple(others)
        done.failed |= step.failed
        for table in step.chosen:
            for member, own in by_member(table):
                _append(done.answers, member, own)
                _add(done.used, member, own.num_rows)
        for member, table in step.answers.items():
            _append(done.answers, member, table)
        for member, counts in step.counts.items():
            _add(done.used, member, sum(part.used for part in counts))
            _add(done.refused, member, sum(part.late for part in counts))
        for member, refused in step.refused.items():
            _add(done.refused, member, refused)
        for member, shed in step.shed.items():
            _add(done.shed, member, sum(shed.values()))
        for member, waiting in step.waiting.items():
            _add(done.waiting, member, waiting)


def _add(totals: dict[int, int], member: int, count: int) -> None:
    totals[member] = totals.get(member, 0) + count


def _append(tables: dict[int, pa.Table], member: int, table: pa.Table) -> None:
    tables[member] = of_all_shards([tables[member], table]) if member in tables else table
