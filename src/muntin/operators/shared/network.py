"""The network of all queries of one version of a stream: rows go in once, for all of them.

A network is built from the programs of a version. Its map side hands the rows that a task reads to
every group of queries, and its step runs every group in a shard. A query that raises an error does
not stop the others: the error is reported with the number of the member, and the commit of the
micro-batch withholds the answers of that query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.predicate_sets import PredicateSets
from muntin.kernels.arrays import Floats, Mask
from muntin.kernels.ticks import to_ticks, valid_ticks
from muntin.operators.progress.per_key import PerKeyPunctuator
from muntin.operators.progress.progress import ObservedRows, Punctuator
from muntin.operators.protocol import (
    Changes,
    InputBatch,
    ListedState,
    Punctuation,
    RowCounts,
    ScopedState,
    State,
    forget,
)
from muntin.operators.shared.asking.standing_answers import StandingAnswers
from muntin.operators.shared.base_panes import BASE, BasePanes
from muntin.operators.shared.beginnings import WITHIN, Beginnings, Seeds
from muntin.operators.shared.costs.meter import CHOSEN_ROWS, NO_METER, READING, Meter
from muntin.operators.shared.overload.expected_share import expected_shares, with_shares
from muntin.operators.shared.overload.gate import gate_name
from muntin.operators.shared.overload.gates import GateInputs, Gates
from muntin.operators.shared.predicates import WantedSets, input_predicates
from muntin.operators.shared.program import COMPLETE, QueryProgram
from muntin.operators.shared.query_group import Birth, QueryGroup, RoutedInput, failure
from muntin.operators.shared.row_filters import MEMBER, RowFilters, by_member
from muntin.operators.shared.single_query import SingleQuery
from muntin.operators.shared.taps import RowTaps, tap_of, tapped_answers, tapped_cells
from muntin.operators.shared.view_rows import ViewRows
from muntin.operators.shared.window_group import WindowGroup, can_share, sharing_key
from muntin.specs.axis import Axis
from muntin.specs.emission import FINAL
from muntin.specs.overload import PinnedOverload

#: How many rows were shed, by policy and reason.
ShedRows = Mapping[tuple[str, str], int]

#: The place of a row among those that a task reads, beside what the punctuator reads.
_PLACE = "_place"


@dataclass(frozen=True)
class StreamRule:
    """How a stream progresses: its axis, and what its punctuator reads of the rows.

    A stream with several inputs has the rules of the ``others`` after that of its first input. They
    all have one axis. ``base`` has the windows whose panes are kept whatever queries there are, if
    any are.
    """

    axis: Axis
    columns: ArrowColumns
    punctuator: Punctuator
    others: tuple[StreamRule, ...] = ()
    base: QueryProgram | None = None

    @property
    def inputs(self) -> tuple[StreamRule, ...]:
        """The rule of each input."""
        return (self, *self.others)

    @property
    def by_key(self) -> bool:
        """Whether keys may have a punctuation of their own."""
        return any(isinstance(own.punctuator, PerKeyPunctuator) for own in self.inputs)


@dataclass(frozen=True)
class InputProgress:
    """How far an input of the stream is: its punctuation, and its largest tick before the step."""

    punctuation: Punctuation
    largest_before: int | None


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
    ``shed`` counts the rows that a member did not use because of its budget, by policy and reason.
    ``refused`` counts rows that it refused beside those in ``counts``, and ``waiting`` those that
    wait until there is room.
    """

    answers: Mapping[int, pa.Table]
    counts: Mapping[int, Sequence[RowCounts]]
    failed: Mapping[int, str]
    changes: Changes
    chosen: Sequence[pa.Table] = ()
    made: Mapping[int, int] = field(default_factory=dict)
    shed: Mapping[int, ShedRows] = field(default_factory=dict)
    refused: Mapping[int, int] = field(default_factory=dict)
    waiting: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RowReaders:
    """The queries that read the same rows: those of an input of the stream, or of one view."""

    of: int
    view: ViewRows | None
    filters: RowFilters
    groups: tuple[QueryGroup, ...]

    def rows(self, stream_rows: pa.Table) -> pa.Table:
        """Return the rows that they read, of rows of the stream."""
        return stream_rows if self.view is None else self.view.rows(stream_rows)

    @cached_property
    def predicates(self) -> PredicateSets:
        """The predicates of queries that have a group of their own."""
        singles = [group.program for group in self.groups if isinstance(group, SingleQuery)]
        return input_predicates(singles, self.of)

    @property
    def members(self) -> list[int]:
        """All queries that read these rows."""
        chosen = [program.member for program in self.filters.programs]
        return [*chosen, *(member for group in self.groups for member in group.members)]


@dataclass(frozen=True)
class QueryNetwork:
    """All queries of one version of a stream, and what each of them may spend."""

    rule: StreamRule
    programs: tuple[QueryProgram, ...]
    overload: PinnedOverload = field(default_factory=PinnedOverload)

    @cached_property
    def by_member(self) -> Mapping[int, QueryProgram]:
        # Of a lazy query nothing is computed here.
        return {p.member: p for p in self.programs if p.answer != "lazy" and p.tap is None}

    @cached_property
    def taps(self) -> tuple[QueryProgram, ...]:
        """What copies rows that pass here."""
        return tuple(program for program in self.programs if program.tap is not None)

    def row_taps(self) -> RowTaps:
        """Return the taps on rows, for one task."""
        return RowTaps([p for p in self.taps if tap_of(p).place == "rows"])

    @cached_property
    def filters(self) -> RowFilters:
        """The queries that only choose rows."""
        chosen = [p for p in self.by_member.values() if p.operator is None and not p.paused]
        return RowFilters(tuple(chosen))

    @cached_property
    def groups(self) -> Mapping[str, QueryGroup]:
        """The groups of the other queries, by name."""
        shared: dict[str, list[QueryProgram]] = {}
        groups: list[QueryGroup] = [] if self.rule.base is None else [BasePanes(self.rule.base)]
        for program in self.by_member.values():
            if can_share(program):
                shared.setdefault(sharing_key(program), []).append(program)
            elif program.operator is not None:
                groups.append(SingleQuery(program, program.member in self.gates.gates))
        gated = frozenset(self.gates.gates)
        for programs in shared.values():
            own = gated & {program.member for program in programs}
            groups.append(WindowGroup(tuple(programs), own))
        return {group.name: group for group in groups}

    @cached_property
    def gates(self) -> Gates:
        """The gates of queries with a budget."""
        rows = [(rule.axis, rule.columns) for rule in self.rule.inputs]
        return Gates(self.by_member, self.overload, rows, self.rule.by_key)

    @cached_property
    def receivers(self) -> Mapping[str, QueryGroup | GateInputs]:
        """What rows travel to, by name: groups, and gates."""
        return {**self.groups, **self.gates.receivers(self.groups)}

    @cached_property
    def _readers(self) -> Sequence[Sequence[RowReaders]]:
        """The queries by the rows that they read, for each input of the stream."""
        return [self._readers_of(of) for of in range(len(self.rule.inputs))]

    def _readers_of(self, of: int) -> list[RowReaders]:
        """Return the queries that read an input of the stream, or views of it."""
        reading = [program for program in self.by_member.values() if of in program.reads]
        views: dict[str, ViewRows | None] = {repr(None): None}  # base panes read every row
        views |= {repr(program.view): program.view for program in reading}
        places = {key: place for place, key in enumerate(views)}
        chosen: list[list[QueryProgram]] = [[] for _ in views]
        groups: list[list[QueryGroup]] = [[] for _ in views]
        for program in self.filters.programs:
            if of in program.reads and program.member not in self.gates.gates:
                chosen[places[repr(program.view)]].append(program)
        for group in self.groups.values():
            if of in {own.of for own in group.inputs}:
                view = self.by_member[group.members[0]].view if group.members else None
                groups[places[repr(view)]].append(group)
        return [
            RowReaders(of, view, RowFilters(tuple(own_chosen)), tuple(own_groups))
            for view, own_chosen, own_groups in zip(views.values(), chosen, groups, strict=True)
        ]

    def route(self, rows: pa.Table, of: int = 0, meter: Meter = NO_METER) -> RoutedRows:
        """Map side: hand rows of an input of the stream to every query that wants them."""
        rule = self.rule.inputs[of]
        with meter.work(READING):
            ruled = rule.columns.evaluate(rows)
            places = pa.array(np.arange(rows.num_rows))
            observed = rule.punctuator.observe(ruled.append_column(_PLACE, places))
            ticks = valid_ticks(observed.rows["on"], self.rule.axis)
            progress = int(ticks.max()) if len(ticks) else None
        # Rows that are punctuation are no data, except to queries that only choose rows.
        data = rows
        if observed.rows.num_rows < rows.num_rows:
            data = rows.take(observed.rows[_PLACE].combine_chunks())
        parts: list[tuple[str, RoutedInput]] = []
        failed: dict[int, str] = {}
        answers: list[pa.Table] = []
        for readers in self._readers[of]:
            try:
                with meter.work(CHOSEN_ROWS):
                    chosen, chosen_failed = readers.filters.choose(readers.rows(rows))
                    chosen = [self._with_rate(table) for table in chosen]
                answers, failed = [*answers, *chosen], failed | chosen_failed
                read = readers.rows(data)
                if self.gates.gates:
                    gated, gates_failed = self.gates.route(
                        readers.rows(rows), read, of, readers.view
                    )
                    parts, failed = [*parts, *gated], failed | gates_failed
            except Exception as error:
                if readers.view is None:
                    raise  # no query of its own: what all queries share is broken
                failed |= dict.fromkeys(readers.members, failure(error))
                continue
            with meter.work(READING):
                wanted = WantedSets(readers.predicates.evaluate(read))
            for group in readers.groups:
                try:
                    with meter.work(group.name):
                        parts += [(group.name, routed) for routed in group.route(read, wanted, of)]
                except Exception as error:  # whatever a query raises stops that query only
                    if not group.members:  # base panes without some rows would fill queries wrongly
                        raise
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
        others: Sequence[InputProgress] = (),
        meter: Meter = NO_METER,
    ) -> NetworkStep:
        """Run every group with what has arrived for each of its inputs in a shard.

        Args:
            state: The state of the shard.
            arrived: The partial tables of each group's inputs, by the name of the group.
            punctuation: The punctuation of the stream, or of its first input.
            largest_before: The largest tick of the stream before this micro-batch.
            shard: The number of the shard.
            shards: How many shards there are.
            seeds: Returns the states with which queries begin that are filled from history.
            chosen: Chosen rows that have arrived in the shard, with the member of each.
            micro_batch: The number of the micro-batch.
            others: How far the other inputs of the stream are.
            meter: Measures how long the groups work.
        """
        progress = (InputProgress(punctuation, largest_before), *others)
        now = {m: _born([progress[of] for of in p.reads]) for m, p in self.by_member.items()}
        if self.rule.base is not None:
            now[BASE] = _born(progress[:1])
        begun = Beginnings.of(state, self.groups, self.by_member, now, seeds)
        changes = {**begun.changes, **self._forgotten(state)}
        gated = self.gates.step(
            state, self.groups, arrived, [own.punctuation for own in progress], shards
        )
        changes |= gated.changes
        answers = {member: self._with_rate(table) for member, table in gated.answers.items()}
        counts: dict[int, Sequence[RowCounts]] = {m: [own] for m, own in gated.counts.items()}
        failed: dict[int, str] = {**begun.failed, **gated.failed}
        for group in self.groups.values():
            within = begun.states.get(group.name)
            scoped = ScopedState(within or state, group.name + WITHIN)
            batches = [
                InputBatch(
                    gated.arrived.get((group.name, source), ()),
                    gated.punctuation(group, source, progress[own.of].punctuation),
                    counted=not own.everywhere or shard == 0,
                )
                for source, own in enumerate(group.inputs)
            ]
            try:
                planted = begun.cells.get(group.name, ())
                with meter.work(group.name):
                    step = group.step(scoped, batches, begun.births, shards, planted)
            except Exception as error:
                if not group.members:  # base panes without some rows would fill queries wrongly
                    raise
                failed |= dict.fromkeys(group.members, failure(error))
                continue
            failed |= step.failed
            for member, answer in step.answers.items():
                counts[member] = [*counts.get(member, ()), *answer.counts]
                try:
                    results = pa.concat_tables([*begun.past.get(member, ()), answer.results])
                    results = gated.finished(member, results)
                    birth = begun.births[member]
                    answers |= self._answered(member, results, birth, progress)
                except Exception as error:
                    failed[member] = failure(error)
            changes |= {} if within is None else within.chunks
            changes |= scoped.named(step.changes)
        answers = {member: table for member, table in answers.items() if member not in failed}
        made = NetworkStep(
            *(answers, counts, failed, changes, chosen),
            shed=gated.shed,
            refused=gated.refused,
            waiting=gated.waiting,
        )
        return self._tapped(made, self._told(state, made, micro_batch), arrived)

    def _tapped(
        self,
        made: NetworkStep,
        step: NetworkStep,
        arrived: Mapping[tuple[str, int], Sequence[pa.Table]],
    ) -> NetworkStep:
        """Return a step with what taps copy of the answers that were made, and of cells."""
        if not self.taps:
            return step
        answers, chosen, failed = dict(step.answers), [*step.chosen], dict(step.failed)
        for tap in self.taps:
            try:
                cells = tapped_cells(tap, self.groups, arrived)
                of_operator, rows = tapped_answers(tap, made.answers, made.chosen)
            except Exception as error:  # whatever a tap raises stops that tap only
                failed[tap.member] = failure(error)
                continue
            copied = of_operator if cells is None else cells
            if copied is not None:
                answers[tap.member] = copied
            chosen += rows
        return replace(step, answers=answers, chosen=chosen, failed=failed)

    def _told(self, state: State, step: NetworkStep, micro_batch: int) -> NetworkStep:
        """Return a step whose answers that wait for somebody who asks stay in the shard."""
        standing = StandingAnswers.of(state, self.by_member)
        if not standing.programs and not standing.before:
            return step
        waiting = {**standing.programs, **standing.leaving}
        made: dict[int, int] = {}
        chosen = []
        kept = [(m, table) for m, table in step.answers.items() if m in waiting]
        for table in step.chosen:
            waits = pc.is_in(table[MEMBER], pa.array([*waiting], pa.int64()))
            kept += by_member(table.filter(waits)) if pc.any(waits).as_py() else ()
            chosen += [table.filter(pc.invert(waits))] if not pc.all(waits).as_py() else []
        fresh: dict[int, list[pa.Table]] = {}
        for member, table in kept:
            made[member] = made.get(member, 0) + table.num_rows
            if member in standing.programs:
                standing.add(member, table, micro_batch)
            else:
                fresh.setdefault(member, []).append(table)
        answers = {m: table for m, table in step.answers.items() if m not in waiting}
        answers |= standing.told()
        together = {member: pa.concat_tables(tables) for member, tables in fresh.items()}
        answers |= standing.left(together, micro_batch)
        changes = {**step.changes, **standing.changes()}
        return replace(step, answers=answers, changes=changes, chosen=chosen, made=made)

    def _forgotten(self, state: ListedState) -> Changes:
        """Return the changes that delete the state of groups that are gone."""
        kept = {*self.groups, *map(gate_name, self.by_member)}
        gone = [
            name
            for name in state.tables()
            if WITHIN in name and name.partition(WITHIN)[0] not in kept
        ]
        return forget(state, *gone)

    def _answered(
        self, member: int, results: pa.Table, birth: Birth, progress: Sequence[InputProgress]
    ) -> dict[int, pa.Table]:
        """Return the answers that are made of results, if there are any."""
        program = self.by_member[member]
        if program.until is not None and program.extent is not None and not program.reach.joined:
            # A window that ends later lacks rows, however far punctuation comes at once.
            end = results[program.extent[1]].combine_chunks()
            within = to_ticks(end, self.rule.axis).tick <= program.until
            results = results.filter(pa.array(within))
        if not results.num_rows or program.paused:
            return {}
        complete = self._complete(program, results, birth, progress)
        if self.overload.rates:
            share = self._shares(program, results)
            complete = pc.and_(complete, pa.array(share >= 1))
            results = with_shares(results, share)
        if FINAL in results.column_names:  # an early answer: rows of its extent may still come
            complete = pc.and_(complete, results[FINAL].combine_chunks())
        if COMPLETE in results.column_names:
            place = results.schema.get_field_index(COMPLETE)
            complete = pc.and_(results[COMPLETE], complete)
            results = results.set_column(place, COMPLETE, complete)
        else:
            results = results.append_column(COMPLETE, complete)
        answers = results if program.answers is None else program.answers.of(results)
        return {member: answers} if answers.num_rows else {}

    def _with_rate(self, chosen: pa.Table) -> pa.Table:
        """Return chosen rows with the share of all rows that the micro-batch looked at."""
        if not self.overload.rates:
            return chosen
        return with_shares(chosen, np.full(chosen.num_rows, self.overload.kept))

    def _shares(self, program: QueryProgram, results: pa.Table) -> Floats:
        """Return the share of its rows that each result is expected to have, by native rates."""
        if program.extent is None:
            return np.full(results.num_rows, self.overload.kept)
        start, end = program.reach.ticks(program.extent, results, self.rule.axis)
        return expected_shares(self.overload.rates, start, end)

    def _complete(
        self,
        program: QueryProgram,
        results: pa.Table,
        birth: Birth,
        progress: Sequence[InputProgress],
    ) -> pa.Array:
        """Return whether each result has all rows of its extent.

        It may lack rows if it begins before the member did, or ends after the stream.
        """
        complete: Mask = np.ones(results.num_rows, np.bool_)
        if program.extent is None:
            return pa.array(complete)
        start, end = program.reach.ticks(program.extent, results, self.rule.axis)
        if birth.largest is not None:
            complete &= start > birth.largest
        read = [progress[of].punctuation for of in program.reads]
        largest = [own.largest for own in read if own.largest is not None]
        if largest and all(own.ended for own in read):
            complete &= end <= max(largest)
        return pa.array(complete)


def _born(inputs: Sequence[InputProgress]) -> Birth:
    """Return that a member begins now which reads some inputs of the stream."""
    before = [own.punctuation.before for own in inputs]
    largest = [own.largest_before for own in inputs if own.largest_before is not None]
    # As far as all of its inputs are complete, and no farther than rows of any of them.
    known = [tick for tick in before if tick is not None]
    return Birth(min(known) if len(known) == len(before) else None, max(largest, default=None))
