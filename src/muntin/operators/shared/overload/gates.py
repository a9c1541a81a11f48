"""The gates of a network: rows of queries under a budget on their way to the queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.arrow_columns import ArrowColumns
from muntin.operators.protocol import (
    Changes,
    ListedState,
    Punctuation,
    Routed,
    RowCounts,
    ScopedState,
)
from muntin.operators.shared.beginnings import WITHIN
from muntin.operators.shared.overload.budgeted import preferring, why_not_budgeted
from muntin.operators.shared.overload.gate import Gate, Passed, gate_name
from muntin.operators.shared.overload.waiting_rows import HASH, travelling
from muntin.operators.shared.program import COMPLETE, QueryProgram
from muntin.operators.shared.query_group import GroupInput, QueryGroup, RoutedInput, failure
from muntin.operators.shared.view_rows import ViewRows
from muntin.specs.axis import Axis
from muntin.specs.overload import PinnedOverload, Policy, QueryBudget


@dataclass(frozen=True)
class GateInputs:
    """Where rows of a member go: to the shards of its query; it is a receiver like a group."""

    program: QueryProgram
    inputs: Sequence[GroupInput]

    @property
    def name(self) -> str:
        return gate_name(self.program.member)

    @property
    def members(self) -> Sequence[int]:
        return (self.program.member,)

    def merge(self, source: int, partials: Sequence[pa.Table]) -> pa.Table:
        """Return the rows of several tables; rows under a budget are not combined."""
        return pa.concat_tables(partials)


@dataclass
class GatedStep:
    """What gates let through in a step of a shard.

    Attributes:
        arrived: What has arrived for each input of each group, with what gates let through.
        passed: What the gate of each member let through.
        changes: The changes of the state.
        answers: The answers of members that only choose rows.
        counts: Row counts beside those of the groups.
        refused: Rows that were let through and refused, by member.
        failed: Why a member's gate failed.
    """

    arrived: dict[tuple[str, int], list[pa.Table]]
    passed: dict[int, Passed] = field(default_factory=dict)
    changes: Changes = field(default_factory=dict)
    answers: dict[int, pa.Table] = field(default_factory=dict)
    counts: dict[int, RowCounts] = field(default_factory=dict)
    refused: dict[int, int] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    gates: dict[int, Gate] = field(default_factory=dict)

    @property
    def shed(self) -> dict[int, Mapping[tuple[str, str], int]]:
        """The rows that were shed, by member, policy and reason."""
        return {member: own.shed for member, own in self.passed.items() if own.shed}

    @property
    def waiting(self) -> dict[int, int]:
        """How many rows wait, by member."""
        return {member: own.waiting for member, own in self.passed.items()}

    def punctuation(self, group: QueryGroup, source: int, real: Punctuation) -> Punctuation:
        """Return the punctuation for an input of a group: it may wait for rows that wait."""
        members = group.members
        told = self.passed.get(members[0]) if len(members) == 1 else None
        return real if told is None else told.punctuation[source]

    def finished(self, member: int, results: pa.Table) -> pa.Table:
        """Return results of a member with how complete they are, if it has a gate."""
        if member not in self.passed:
            return results
        return self.gates[member].finished(self.passed[member], results)


@dataclass(frozen=True)
class Gates:
    """The gates of a version.

    Args:
        programs: The queries that run.
        overload: What they may spend.
        rows: For each input of the stream the axis, and what its punctuator reads.
        by_key: Whether keys of the stream have a punctuation of their own.
    """

    programs: Mapping[int, QueryProgram]
    overload: PinnedOverload
    rows: Sequence[tuple[Axis, ArrowColumns]]
    by_key: bool = False

    @cached_property
    def gates(self) -> Mapping[int, Gate]:
        """The gates of members with a budget that can have one."""
        return {
            member: Gate(self.programs[member], own)
            for member, own in self._budgets()
            if self._why_not(member, own.policy) is None
        }

    def _budgets(self) -> Iterator[tuple[int, QueryBudget]]:
        for member, budget in self.overload.budgets.items():
            if member in self.programs:
                yield member, preferring(self.programs[member], budget)

    def _why_not(self, member: int, policy: Policy) -> str | None:
        return why_not_budgeted(self.programs[member], policy, by_key=self.by_key)

    def receivers(self, groups: Mapping[str, QueryGroup]) -> dict[str, GateInputs]:
        """Return where the rows of gated members go, by the names of the gates."""
        group_of = {member: group for group in groups.values() for member in group.members}
        made = []
        for member, gate in self.gates.items():
            inputs = [GroupInput((HASH,), of=own.of) for own in gate.program.inputs]
            if member in group_of:
                inputs = [*group_of[member].inputs]
            made.append(GateInputs(gate.program, inputs))
        return {own.name: own for own in made}

    def route(
        self, rows: pa.Table, data: pa.Table, of: int, view: ViewRows | None
    ) -> tuple[list[tuple[str, RoutedInput]], dict[int, str]]:
        """Map side: return the rows of gated members, uncombined, and members that failed.

        Args:
            rows: All rows that readers of a view or of the stream read.
            data: Those that are not punctuation.
            of: The input of the stream that they are of.
            view: The view.
        """
        parts: list[tuple[str, RoutedInput]] = []
        failed: dict[int, str] = {}
        for member, gate in self.gates.items():
            if gate.program.view != view:
                continue
            for source, own in enumerate(gate.program.inputs):
                if own.of != of:
                    continue
                try:
                    table = self._travelling(gate, source, rows, data)
                except Exception as error:  # whatever a query raises stops that query only
                    failed[member] = failure(error)
                    continue
                parts.append((gate_name(member), RoutedInput(source, Routed(table, None, {}))))
        return parts, failed

    def _travelling(self, gate: Gate, source: int, rows: pa.Table, data: pa.Table) -> pa.Table:
        own = gate.program.inputs[source]
        read = data if gate.program.operator is not None else rows
        if own.predicate is not None:
            read = read.filter(pc.fill_null(own.predicate.evaluate(read), False))
        axis, ruled = self.rows[own.of]
        if gate.program.operator is not None:
            table = own.columns.evaluate(read)
            on = table["on"]
        else:
            assert gate.program.answers is not None  # else the query was refused
            table, on = gate.program.answers.of(read), ruled.evaluate(read)["on"]
        prefer = gate.program.prefer if gate.policy.name == "preference" else None
        preferred = {} if prefer is None else prefer.inputs[source].beside(read)
        return travelling(table, on, axis, gate.policy, read, preferred)

    def step(
        self,
        state: ListedState,
        groups: Mapping[str, QueryGroup],
        arrived: Mapping[tuple[str, int], Sequence[pa.Table]],
        punctuation: Sequence[Punctuation],
        shards: int,
    ) -> GatedStep:
        """Let rows through in a shard, also those that wait for members without a budget now."""
        step = GatedStep({place: [*tables] for place, tables in arrived.items()})
        group_of = {member: group for group in groups.values() for member in group.members}
        step.gates = {**self._left_over(state), **self.gates}
        for member, gate in step.gates.items():
            scoped = ScopedState(state, gate_name(member) + WITHIN)
            group = group_of.get(member)
            inner = ScopedState(state, (group.name if group else "") + WITHIN)
            reads = range(len(gate.program.inputs))
            rows = [arrived.get((gate_name(member), source), ()) for source in reads]
            told = [punctuation[own.of] for own in gate.program.inputs]
            try:
                passed = gate.step(scoped, inner, rows, told, shards)
                if passed is None:
                    continue
                self._let_through(step, gate, group, passed)
            except Exception as error:  # whatever a query raises stops that query only
                step.failed[member] = failure(error)
                continue
            step.passed[member] = passed
            step.changes |= scoped.named(passed.changes)
        return step

    def _let_through(
        self, step: GatedStep, gate: Gate, group: QueryGroup | None, passed: Passed
    ) -> None:
        member = gate.program.member
        late = sum(passed.late)
        if group is None:
            tables = [table for table in passed.rows if table is not None and table.num_rows]
            step.counts[member] = RowCounts(sum(table.num_rows for table in tables), late)
            if tables and not gate.program.paused:
                answers = pa.concat_tables(tables)
                whole = pa.repeat(pa.scalar(True), answers.num_rows)
                step.answers[member] = gate.finished(passed, answers.append_column(COMPLETE, whole))
            return
        used = 0
        for source, table in enumerate(passed.rows):
            if table is None:
                continue
            part = group.route_of(member, source, table)
            step.arrived.setdefault((group.name, source), []).append(part.routed.partial)
            used += part.routed.passed
            if refused := sum(part.refused.get(member, {}).values()):
                step.refused[member] = step.refused.get(member, 0) + refused
        step.counts[member] = RowCounts(used, late)

    def _left_over(self, state: ListedState) -> dict[int, Gate]:
        """Return the gates of members that had a budget, with rows that wait or were shed."""
        names = {table.partition(WITHIN)[0] for table in state.tables()}
        return {
            member: Gate(program)
            for member, program in self.programs.items()
            if gate_name(member) in names
        }
