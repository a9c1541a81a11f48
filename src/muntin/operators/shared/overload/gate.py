"""The gate of a query under a budget: which of its rows are looked at in a micro-batch of a shard.

Rows come to the gate as they were read. Those for which there are units go on to the query, others
wait in the state, and those that can wait no longer are shed. Nothing is decided by a clock, by the
order in which rows came, or by who read them. [Promising tuples 4.1.2, AV-38]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Floats, Ints, Mask
from muntin.operators.common.admission import is_late
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.protocol import Changes, Punctuation, State, forget
from muntin.operators.shared.overload.chosen_rows import Work, by_rank, first_of
from muntin.operators.shared.overload.join_work import JoinWork
from muntin.operators.shared.overload.ledger import SHED_ROWS, USED_ROWS, WindowLedger
from muntin.operators.shared.overload.preferred_rows import SortKey, preferred_keys
from muntin.operators.shared.overload.priorities import ranks
from muntin.operators.shared.overload.waiting_rows import TICK, plain
from muntin.operators.shared.overload.whole_windows import rows_of_windows
from muntin.operators.shared.program import COMPLETE, COMPLETENESS, COMPLETENESS_BY, QueryProgram
from muntin.operators.summaries.zones import SummaryZones
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.join import pads_left, pads_right
from muntin.specs.overload import Policy, QueryBudget

#: Why rows are shed.
CLOSED, NO_ROOM, LEFT_OUT = "its windows closed", "no room to wait", "its windows are left out"
#: The tables of a gate: rows that wait, by input, the ledger, and punctuation that was held back.
_ROWS, _LEDGER, _HELD = "rows", "ledger", "held"
_HELD_COLUMNS = pa.schema([("after", pa.int64())])


def gate_name(member: int) -> str:
    """Return the name of the gate of a member, under which its rows travel and wait."""
    return f"g{member}"


@dataclass(frozen=True)
class Passed:
    """What a gate lets through in a step, and what becomes of other rows.

    Attributes:
        rows: The rows of each input that go on to the query, without the columns of the gate.
        punctuation: The punctuation of each input for the query.
        shed: Rows that are shed, by policy and reason.
        waiting: How many rows wait.
        late: Rows of each input that came too late, which the query never sees.
        changes: The changes of the gate's state.
        used: How many rows went on.
    """

    rows: Sequence[pa.Table | None]
    punctuation: Sequence[Punctuation]
    shed: Mapping[tuple[str, str], int]
    waiting: int
    late: Sequence[int]
    changes: Changes
    used: int
    entries: pa.Table | None = None
    waiting_rows: pa.Table | None = None


@dataclass(frozen=True)
class Gate:
    """The gate of a query; without a budget it lets through what waited."""

    program: QueryProgram
    budget: QueryBudget = field(default_factory=QueryBudget)

    @property
    def ledger(self) -> WindowLedger | None:
        """The ledger, if the query is over windows."""
        operator = self.program.operator
        if not isinstance(operator, WindowOperator):
            return None
        return WindowLedger(operator.edges, operator.axis, tuple(operator.panes.key_names))

    @property
    def policy(self) -> Policy:
        return self.budget.policy

    @property
    def keeps_all(self) -> bool:
        """Whether no row may be shed: an outer join would report that it has no partner."""
        operator = self.program.operator
        if not isinstance(operator, PairJoinOperator):
            return False
        return pads_left(operator.how) or pads_right(operator.how)

    def step(
        self,
        state: State,
        inner: State,
        arrived: Sequence[Sequence[pa.Table]],
        punctuation: Sequence[Punctuation],
        shards: int,
    ) -> Passed | None:
        """Choose among the rows that arrived and those that waited; None if there are none.

        Args:
            state: The state of the gate.
            inner: The state of the query.
            arrived: The rows of each input.
            punctuation: The punctuation of each input.
            shards: How many shards there are.
        """
        waited = [self._stored(state, f"{_ROWS}{source}") for source in range(len(arrived))]
        inputs = [_Input.of(before, tables) for before, tables in zip(waited, arrived, strict=True)]
        entries = self._stored(state, _LEDGER)
        held = self._stored(state, _HELD)
        if all(own is None for own in inputs) and entries is None and held is None:
            return None
        step = _GateStep(self, inner, inputs, punctuation, shards, entries)
        return step.passed(state, held)

    def _stored(self, state: State, table: str) -> pa.Table | None:
        return state.read(table, 0) if state.buckets(table) else None

    def finished(self, passed: Passed, results: pa.Table) -> pa.Table:
        """Return results with how complete they are; ``windows`` leaves out those that are not."""
        if not results.num_rows:
            return results
        complete = self._completeness(passed, results)
        results = results.append_column(COMPLETENESS, pa.array(complete))
        by = pa.repeat(pa.scalar("count"), results.num_rows)
        results = results.append_column(COMPLETENESS_BY, by)
        if self.policy.name == "windows":
            return results.filter(pa.array(complete == 1))
        whole = pa.array(complete == 1)
        if COMPLETE not in results.column_names:
            return results.append_column(COMPLETE, whole)
        place = results.schema.get_field_index(COMPLETE)
        return results.set_column(place, COMPLETE, pc.and_(results[COMPLETE], whole))

    def _completeness(self, passed: Passed, results: pa.Table) -> Floats:
        ledger = self.ledger
        if ledger is not None:
            if passed.entries is None:
                return np.ones(results.num_rows)
            return ledger.completeness(results, passed.entries, passed.waiting_rows)
        whole = passed.used + sum(passed.shed.values()) + passed.waiting
        return np.full(results.num_rows, passed.used / whole if whole else 1.0)


@dataclass(frozen=True)
class _Input:
    """The rows of an input: first those that waited, then those that arrived."""

    rows: pa.Table
    waited: int

    @classmethod
    def of(cls, waited: pa.Table | None, arrived: Sequence[pa.Table]) -> _Input | None:
        tables = [*([] if waited is None else [waited]), *arrived]
        if not tables:
            return None
        # The rows that waited may have travelled for another policy.
        rows = pa.concat_tables(tables, promote_options="default")
        return cls(rows, 0 if waited is None else waited.num_rows)

    @property
    def is_new(self) -> Mask:
        return np.arange(self.rows.num_rows) >= self.waited

    @property
    def placed(self) -> Mask:
        """Which rows have a place on the axis."""
        placed: Mask = pc.is_valid(self.rows[TICK]).to_numpy().astype(np.bool_)
        return placed


@dataclass
class _GateStep:
    """A step of a gate."""

    gate: Gate
    inner: State
    inputs: Sequence[_Input | None]
    punctuation: Sequence[Punctuation]
    shards: int
    entries: pa.Table | None
    shed: dict[tuple[str, str], int] = field(default_factory=dict)
    summaries: Sequence[SummaryZones] = ()

    def passed(self, state: State, held: pa.Table | None) -> Passed:
        sources = [place for place, own in enumerate(self.inputs) if own is not None]
        rows = [own.rows for own in self.inputs if own is not None]
        summarized = self._summarize(state)
        free, late = self._free_and_late()
        open_rows = [~f & ~gone for f, gone in zip(free, late, strict=True)]
        admitted, waiting = self._chosen(rows, open_rows)
        passing = [a | f for a, f in zip(admitted, free, strict=True)]
        entries = self._entries(rows, passing, waiting, free)
        taken: list[pa.Table | None] = [None] * len(self.inputs)
        kept: list[pa.Table | None] = [None] * len(self.inputs)
        for source, table, own, stays in zip(sources, rows, passing, waiting, strict=True):
            taken[source] = table.filter(pa.array(own))
            kept[source] = table.filter(pa.array(stays)) if stays.any() else None
        changes = summarized
        for source, table in enumerate(kept):
            name = f"{_ROWS}{source}"
            changes |= forget(state, name) if table is None else {(name, 0): table}
        punctuation, held_changes = self._held_back(state, held, kept)
        changes |= held_changes | self._ledger_changes(state, entries)
        lates = [0] * len(self.inputs)
        for source, gone in zip(sources, late, strict=True):
            lates[source] = int(gone.sum())
        return Passed(
            rows=[None if table is None else plain(table) for table in taken],
            punctuation=punctuation,
            shed=self.shed,
            waiting=sum(table.num_rows for table in kept if table is not None),
            late=lates,
            changes=changes,
            used=int(sum(own.sum() for own in admitted)),
            entries=entries,
            waiting_rows=next((table for table in kept if table is not None), None),
        )

    # Which rows are no question of the budget

    def _free_and_late(self) -> tuple[list[Mask], list[Mask]]:
        """Return the rows that the query refuses or skips itself, and those that never reach it.

        A join is told less than the stream's punctuation while rows wait, so that it would not
        notice which rows are late.
        """
        free, late = [], []
        ledger = self.gate.ledger
        for own, punctuation in zip(self.inputs, self.punctuation, strict=True):
            if own is None:
                continue
            placed = own.placed
            outside, behind = ~placed, np.zeros(len(placed), np.bool_)
            rows = own.rows.filter(pa.array(placed))
            if ledger is not None and rows.num_rows:
                before = ledger.before(rows, punctuation, keyed=self._keyed)
                own_late = ledger.closed(rows, before) & own.is_new[placed]
                outside[placed] = own_late | ledger.without_window(rows)
            elif self.gate.program.operator is not None and rows.num_rows:
                behind[placed] = self._late(rows, punctuation) & own.is_new[placed]
            free.append(outside)
            late.append(behind)
        return free, late

    @property
    def _keyed(self) -> bool:
        return self.gate.program.keyed

    def _late(self, rows: pa.Table, punctuation: Punctuation) -> Mask:
        ticks = rows.select([]).append_column("tick", rows[TICK])
        return is_late(ticks, [], replace(punctuation, by_key=None))

    # What the budget reaches for

    def _chosen(
        self, rows: Sequence[pa.Table], asked: Sequence[Mask]
    ) -> tuple[list[Mask], list[Mask]]:
        """Return the rows that are looked at, and those that wait; count those that are shed."""
        budget, everything = self.gate.budget, [mask.copy() for mask in asked]
        nothing = [np.zeros(len(mask), np.bool_) for mask in asked]
        ended = all(own.ended for own in self.punctuation)
        if ended or not budget.is_limit or not any(mask.any() for mask in asked):
            return everything, nothing
        new = [
            mask & own.is_new
            for mask, own in zip(asked, (o for o in self.inputs if o is not None), strict=True)
        ]
        work = self._work(rows, asked)
        units = budget.units_here(self.shards, 0 if budget.share is None else work(new))
        if work(asked) <= units and self.gate.policy.name != "windows":
            return everything, nothing
        if self.gate.policy.name == "windows":
            return self._whole_windows(rows[0], asked[0], units), nothing
        own = [table.filter(pa.array(mask)) for table, mask in zip(rows, asked, strict=True)]
        found = ranks(self.gate.policy, own, self._preferred(own))
        order = [_spread(rank, mask) for rank, mask in zip(found, asked, strict=True)]
        admitted = by_rank(order, lambda chosen: work(_both(chosen, asked)), units)
        admitted = _both(admitted, asked)
        rest = [mask & ~own for mask, own in zip(asked, admitted, strict=True)]
        rest = self._still_open(rows, rest)
        waiting = first_of(order, rest, budget.waiting // self.shards)
        beyond = [mask & ~own for mask, own in zip(rest, waiting, strict=True)]
        if self.gate.keeps_all:
            # What cannot wait is looked at, whatever it costs: nothing wrong may be reported.
            return [a | b for a, b in zip(admitted, beyond, strict=True)], waiting
        self._count(NO_ROOM, beyond)
        return admitted, waiting

    def _whole_windows(self, rows: pa.Table, asked: Mask, units: int) -> list[Mask]:
        ledger = self.gate.ledger
        assert ledger is not None  # other queries have no such policy
        own = rows.filter(pa.array(asked))
        entries = self._known_entries(ledger, own)
        admitted = np.zeros(len(asked), np.bool_)
        admitted[asked] = rows_of_windows(ledger, entries, own, units, self.gate.policy.seed)
        self._count(LEFT_OUT, [asked & ~admitted])
        return [admitted]

    def _still_open(self, rows: Sequence[pa.Table], rest: list[Mask]) -> list[Mask]:
        """Return the rows that can still count in a later step."""
        ledger = self.gate.ledger
        if ledger is None or not rest[0].any():
            return rest
        own = rows[0].filter(pa.array(rest[0]))
        after = ledger.after(own, self.punctuation[0], keyed=self._keyed)
        closed = np.zeros(len(rest[0]), np.bool_)
        closed[rest[0]] = ledger.closed(own, after)
        self._count(CLOSED, [closed])
        return [rest[0] & ~closed]

    def _count(self, reason: str, masks: Sequence[Mask]) -> None:
        if count := int(sum(mask.sum() for mask in masks)):
            key = (self.gate.policy.name, reason)
            self.shed[key] = self.shed.get(key, 0) + count

    def _work(self, rows: Sequence[pa.Table], asked: Sequence[Mask]) -> Work:
        """Return what counts the units of some rows."""
        operator = self.gate.program.operator
        if not isinstance(operator, PairJoinOperator):
            return lambda chosen: int(sum(mask.sum() for mask in chosen))
        sources = [place for place, own in enumerate(self.inputs) if own is not None]
        new = [side.schema.empty_table() for side in operator.sides]
        for source, table, mask in zip(sources, rows, asked, strict=True):
            new[source] = operator.sides[source].route(plain(table.filter(pa.array(mask)))).partial
        join = JoinWork.of(operator, self.inner, new, self.punctuation)

        def units(chosen: Sequence[Mask]) -> int:
            masks = [np.zeros(side.num_rows, np.bool_) for side in new]
            for source, own, mask in zip(sources, chosen, asked, strict=True):
                masks[source] = own[mask]
            return join.units(masks)

        return units

    # What is preferred

    def _summarize(self, state: State) -> Changes:
        """Add new rows to the summaries of the query's rows, if it prefers some."""
        prefer = self.gate.program.prefer
        if prefer is None or self.gate.policy.name != "preference":
            return forget(state, "summary0", "summary1")
        new = [None if own is None else own.rows.slice(own.waited) for own in self.inputs]
        self.summaries, changes = prefer.summarized(state, new)
        return changes

    def _preferred(self, rows: Sequence[pa.Table]) -> list[SortKey] | None:
        """Return what rows are sorted by, if the query prefers some."""
        prefer = self.gate.program.prefer
        if prefer is None or self.gate.policy.name != "preference":
            return None
        sources = [place for place, own in enumerate(self.inputs) if own is not None]
        return preferred_keys(prefer.order, prefer.promises(self.summaries, sources, rows))

    # What is remembered

    def _known_entries(self, ledger: WindowLedger, rows: pa.Table) -> pa.Table:
        return ledger.counted(rows.slice(0, 0), USED_ROWS) if self.entries is None else self.entries

    def _entries(
        self,
        rows: Sequence[pa.Table],
        passing: Sequence[Mask],
        waiting: Sequence[Mask],
        free: Sequence[Mask],
    ) -> pa.Table | None:
        """Return the ledger after this step, for the windows that close in it, too."""
        ledger = self.gate.ledger
        if ledger is None:
            return None
        if not rows:
            return self.entries
        used = rows[0].filter(pa.array(passing[0] & ~free[0]))
        shed = rows[0].filter(pa.array(~passing[0] & ~waiting[0]))
        parts = [self._known_entries(ledger, rows[0])]
        parts += [ledger.counted(used, USED_ROWS), ledger.counted(shed, SHED_ROWS)]
        return ledger.added(*parts)

    def _ledger_changes(self, state: State, entries: pa.Table | None) -> Changes:
        """Return the changes that keep the entries of windows that are open."""
        ledger = self.gate.ledger
        if ledger is None or entries is None:
            return forget(state, _LEDGER)
        after = ledger.after(entries, self.punctuation[0], keyed=self._keyed)
        left = entries.filter(pa.array(~ledger.closed(entries, after)))
        if not self.gate.budget.is_limit and not pc.any(pc.greater(left[SHED_ROWS], 0)).as_py():
            return forget(state, _LEDGER)
        return {(_LEDGER, 0): left} if left.num_rows else forget(state, _LEDGER)

    def _held_back(
        self, state: State, held: pa.Table | None, kept: Sequence[pa.Table | None]
    ) -> tuple[list[Punctuation], Changes]:
        """Return the punctuation for the query: a join waits for the rows that wait."""
        if not isinstance(self.gate.program.operator, PairJoinOperator):
            return [*self.punctuation], {}
        befores = [own.before for own in self.punctuation]
        if held is not None:
            befores = held["after"].to_pylist()
        told = []
        for own, before, waiting in zip(self.punctuation, befores, kept, strict=True):
            after = own.after
            if waiting is not None and after is not None:
                after = min(after, int(pc.min(waiting[TICK]).as_py()))
            told.append(replace(own, before=before, after=after))
        if all(own.after == real.after for own, real in zip(told, self.punctuation, strict=True)):
            return told, forget(state, _HELD)
        afters = pa.array([own.after for own in told], pa.int64())
        return told, {(_HELD, 0): pa.Table.from_arrays([afters], schema=_HELD_COLUMNS)}


def _spread(rank: Ints, mask: Mask) -> Ints:
    """Return the ranks of some rows in the places of all; others come last."""
    whole = np.full(len(mask), np.iinfo(np.int64).max)
    whole[mask] = rank
    return whole


def _both(masks: Sequence[Mask], among: Sequence[Mask]) -> list[Mask]:
    return [mask & own for mask, own in zip(masks, among, strict=True)]
