"""The network of all queries of one version of a stream: rows go in once, for all of them.

A network is built from the programs of a version. Its map side hands the rows that a task reads to
every group of queries, and its step runs every group in a shard. A query that raises an error does
not stop the others: the error is reported with the number of the member, and the commit of the
micro-batch withholds the answers of that query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.predicate_sets import PredicateSets
from muntin.kernels.arrays import Mask
from muntin.kernels.ticks import to_ticks, valid_ticks
from muntin.operators.progress.progress import ObservedRows, Punctuator
from muntin.operators.protocol import (
    Changes,
    ChunkKey,
    InputBatch,
    ListedState,
    MemoryState,
    Punctuation,
    RowCounts,
    ScopedState,
    State,
    forget,
)
from muntin.operators.shared.asking.standing_answers import StandingAnswers
from muntin.operators.shared.predicates import WantedSets, input_predicates
from muntin.operators.shared.program import COMPLETE, QueryProgram
from muntin.operators.shared.query_group import Birth, QueryGroup, RoutedInput, failure
from muntin.operators.shared.row_filters import MEMBER, RowFilters, by_member
from muntin.operators.shared.single_query import SingleQuery
from muntin.operators.shared.window_group import WindowGroup, can_share, sharing_key
from muntin.specs.axis import Axis

#: The table of the state that has, for each member, the progress of the stream when it began.
BIRTHS = "births"
#: Returns the state with which a query begins in a shard, from the name of its seed.
Seeds = Callable[[str], "Seed"]
#: Every table of a group has the name of the group and this sign before its own.
_WITHIN = "/"
#: The place of a row among those that a task reads, beside what the punctuator reads.
_PLACE = "_place"
_BIRTH_COLUMNS = pa.schema(
    [("member", pa.int64()), ("punctuation", pa.int64()), ("largest", pa.int64())]
)


@dataclass(frozen=True)
class Seed:
    """The state with which a query begins in a shard, and when its history began."""

    chunks: Mapping[ChunkKey, pa.Table]
    birth: Birth


@dataclass(frozen=True)
class StreamRule:
    """How a stream progresses: its axis, and what its punctuator reads of the rows."""

    axis: Axis
    columns: ArrowColumns
    punctuator: Punctuator


@dataclass(frozen=True)
class RoutedRows:
    """What the map side of a network makes of some rows.

    ``parts`` has, for each group by its name, what travels to the shards. ``answers`` are those of
    queries that only choose rows, with the member of each row. ``failed`` has the reason for each
    member that raised an error.
    """

    observed: ObservedRows
    progress: int | None
    parts: Sequence[tuple[str, RoutedInput]]
    answers: Sequence[pa.Table]
    failed: Mapping[int, str]


@dataclass(frozen=True)
class NetworkStep:
    """The answers of members in a shard, their row counts, and the changes of the state.

    An answer has the columns of the select list and ``complete``. If only Spark can evaluate the
    select list, it has the columns of the operator and ``complete``. ``chosen`` are rows that are
    answers now, with the member of each; ``made`` counts the rows of answers that only stand.
    """

    answers: Mapping[int, pa.Table]
    counts: Mapping[int, Sequence[RowCounts]]
    failed: Mapping[int, str]
    changes: Changes
    chosen: Sequence[pa.Table] = ()
    made: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QueryNetwork:
    """All queries of one version of a stream."""

    rule: StreamRule
    programs: tuple[QueryProgram, ...]

    @cached_property
    def by_member(self) -> Mapping[int, QueryProgram]:
        # Of a lazy query nothing is computed here.
        return {p.member: p for p in self.programs if p.answer != "lazy"}

    @cached_property
    def filters(self) -> RowFilters:
        """The queries that only choose rows."""
        chosen = [p for p in self.by_member.values() if p.operator is None and not p.paused]
        return RowFilters(tuple(chosen))

    @cached_property
    def groups(self) -> Mapping[str, QueryGroup]:
        """The groups of the other queries, by name."""
        shared: dict[str, list[QueryProgram]] = {}
        groups: list[QueryGroup] = []
        for program in self.by_member.values():
            if can_share(program):
                shared.setdefault(sharing_key(program), []).append(program)
            elif program.operator is not None:
                groups.append(SingleQuery(program))
        groups += [WindowGroup(tuple(programs)) for programs in shared.values()]
        return {group.name: group for group in groups}

    @cached_property
    def _predicates(self) -> PredicateSets:
        """The predicates of queries that have a group of their own."""
        singles = [g.program for g in self.groups.values() if isinstance(g, SingleQuery)]
        return input_predicates(singles)

    def route(self, rows: pa.Table) -> RoutedRows:
        """Map side: hand rows to every query that wants them."""
        ruled = self.rule.columns.evaluate(rows)
        places = pa.array(np.arange(rows.num_rows))
        observed = self.rule.punctuator.observe(ruled.append_column(_PLACE, places))
        ticks = valid_ticks(observed.rows["on"], self.rule.axis)
        progress = int(ticks.max()) if len(ticks) else None
        # Rows that are punctuation are no data, except to queries that only choose rows.
        answers, failed = self.filters.choose(rows)
        if observed.rows.num_rows < rows.num_rows:
            rows = rows.take(observed.rows[_PLACE].combine_chunks())
        wanted = WantedSets(self._predicates.evaluate(rows))
        parts: list[tuple[str, RoutedInput]] = []
        for group in self.groups.values():
            try:
                parts += [(group.name, routed) for routed in group.route(rows, wanted)]
            except Exception as error:  # whatever a query raises stops that query only
                failed |= dict.fromkeys(group.members, failure(error))
        return RoutedRows(observed, progress, parts, answers, failed)

    def step(
        self,
        state: ListedState,
        arrived: Mapping[tuple[str, int], Sequence[pa.Table]],
        punctuation: Punctuation,
        largest_before: int | None,
        shard: int = 0,
        shards: int = 1,
        seeds: Seeds | None = None,
        chosen: Sequence[pa.Table] = (),
        micro_batch: int = 0,
    ) -> NetworkStep:
        """Run every group with what has arrived for each of its inputs in a shard.

        Args:
            state: The state of the shard.
            arrived: The partial tables of each group's inputs, by the name of the group.
            punctuation: The punctuation of the stream.
            largest_before: The largest tick of the stream before this micro-batch.
            shard: The number of the shard.
            shards: How many shards there are.
            seeds: Returns the states with which queries begin that are filled from history.
            chosen: Chosen rows that have arrived in the shard, with the member of each.
            micro_batch: The number of the micro-batch.
        """
        now = Birth(punctuation.before, largest_before)
        births, planted, changes = self._births(state, now, seeds)
        changes |= self._forgotten(state)
        answers: dict[int, pa.Table] = {}
        counts: dict[int, Sequence[RowCounts]] = {}
        failed: dict[int, str] = {}
        for group in self.groups.values():
            within = planted.get(group.name)
            scoped = ScopedState(within or state, group.name + _WITHIN)
            batches = [
                InputBatch(
                    arrived.get((group.name, source), ()),
                    punctuation,
                    counted=not own.everywhere or shard == 0,
                )
                for source, own in enumerate(group.inputs)
            ]
            try:
                step = group.step(scoped, batches, births, shards)
            except Exception as error:
                failed |= dict.fromkeys(group.members, failure(error))
                continue
            failed |= step.failed
            for member, answer in step.answers.items():
                counts[member] = answer.counts
                try:
                    answers |= self._answered(member, answer.results, births[member], punctuation)
                except Exception as error:
                    failed[member] = failure(error)
            changes |= {} if within is None else within.chunks
            changes |= scoped.named(step.changes)
        answers = {member: table for member, table in answers.items() if member not in failed}
        return self._told(state, NetworkStep(answers, counts, failed, changes, chosen), micro_batch)

    def _told(self, state: State, step: NetworkStep, micro_batch: int) -> NetworkStep:
        """Return a step whose answers that wait for somebody who asks stay in the shard."""
        standing = StandingAnswers.of(state, self.by_member)
        if not standing.programs and not standing.before:
            return step
        made: dict[int, int] = {}
        chosen = []
        kept = [(m, table) for m, table in step.answers.items() if m in standing.programs]
        for table in step.chosen:
            waits = pc.is_in(table[MEMBER], pa.array([*standing.programs], pa.int64()))
            kept += by_member(table.filter(waits)) if pc.any(waits).as_py() else ()
            chosen += [table.filter(pc.invert(waits))] if not pc.all(waits).as_py() else []
        for member, table in kept:
            standing.add(member, table, micro_batch)
            made[member] = made.get(member, 0) + table.num_rows
        answers = {m: table for m, table in step.answers.items() if m not in standing.programs}
        answers |= standing.told()
        changes = {**step.changes, **standing.changes()}
        return replace(step, answers=answers, changes=changes, chosen=chosen, made=made)

    def _births(
        self, state: State, now: Birth, seeds: Seeds | None
    ) -> tuple[dict[int, Birth], dict[str, MemoryState], Changes]:
        """Return when each member began, states of history, and the changes that remember it."""
        known: dict[int, Birth] = {}
        for bucket in state.buckets(BIRTHS):
            for row in state.read(BIRTHS, bucket).to_pylist():
                known[row["member"]] = Birth(row["punctuation"], row["largest"])
        births = {member: known.get(member, now) for member in self.by_member}
        planted = {}
        for group in self.groups.values():
            for member in group.members:
                seed = self.by_member[member].seed
                # A seed belongs to the member that it names, not to later generations.
                if seed == str(member) and member not in known and seeds is not None:
                    found = seeds(seed)
                    births[member] = found.birth
                    named = {(group.name + _WITHIN + t, b): c for (t, b), c in found.chunks.items()}
                    planted[group.name] = MemoryState(named)
        if births == known:
            return births, planted, {}
        return births, planted, {(BIRTHS, 0): births_table(births) if births else None}

    def _forgotten(self, state: ListedState) -> Changes:
        """Return the changes that delete the state of groups that are gone."""
        gone = [
            name
            for name in state.tables()
            if _WITHIN in name and name.partition(_WITHIN)[0] not in self.groups
        ]
        return forget(state, *gone)

    def _answered(
        self, member: int, results: pa.Table, birth: Birth, punctuation: Punctuation
    ) -> dict[int, pa.Table]:
        """Return the answers that are made of results, if there are any."""
        program = self.by_member[member]
        if program.until is not None and program.extent is not None and results.num_rows:
            # A window that ends later lacks rows, however far punctuation comes at once.
            within = self._ticks(results, program.extent[1]) <= program.until
            results = results.filter(pa.array(within))
        if not results.num_rows or program.paused:
            return {}
        complete = self._complete(program, results, birth, punctuation)
        if COMPLETE in results.column_names:
            place = results.schema.get_field_index(COMPLETE)
            complete = pc.and_(results[COMPLETE], complete)
            results = results.set_column(place, COMPLETE, complete)
        else:
            results = results.append_column(COMPLETE, complete)
        answers = results if program.answers is None else program.answers.of(results)
        return {member: answers} if answers.num_rows else {}

    def _complete(
        self, program: QueryProgram, results: pa.Table, birth: Birth, punctuation: Punctuation
    ) -> pa.Array:
        """Return whether each result has all rows of its extent.

        It may lack rows if it begins before the member did, or ends after the stream.
        """
        complete: Mask = np.ones(results.num_rows, np.bool_)
        if program.extent is None:
            return pa.array(complete)
        start, end = program.extent
        if birth.largest is not None:
            complete &= self._ticks(results, start) > birth.largest
        if punctuation.ended and punctuation.largest is not None:
            complete &= self._ticks(results, end) <= punctuation.largest
        return pa.array(complete)

    def _ticks(self, results: pa.Table, name: str) -> np.ndarray:
        return to_ticks(results[name].combine_chunks(), self.rule.axis).tick


def births_table(births: Mapping[int, Birth]) -> pa.Table:
    """Return when members began as a table of the state."""
    rows = [(member, birth.punctuation, birth.largest) for member, birth in births.items()]
    arrays = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_BIRTH_COLUMNS)
