"""Window queries of one stream that group rows in the same way, as one group over shared panes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.predicate_sets import PredicateSets
from muntin.expressions.spark_expressions import Expression
from muntin.operators.protocol import InputBatch, State, numbered
from muntin.operators.shared.cells.set_cells import shareable
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Member
from muntin.operators.shared.predicates import member_predicates
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import (
    Birth,
    GroupInput,
    GroupStep,
    RoutedInput,
    WantedRows,
)
from muntin.operators.shared.shared_windows import SharedWindows
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.windows import Edges


def can_share(program: QueryProgram) -> bool:
    """Return whether a query's windows can be made from panes that others use, too.

    A landmark window keeps all that is closed as one pane, a window that takes late rows
    consistently refuses some that others take, cells of a user's own aggregate have no name that
    lasts, and a seed is the state of one query.
    """
    operator = program.operator
    return (
        isinstance(operator, WindowOperator)
        and not operator.edges.landmark
        and operator.late == "generous"
        and shareable(operator.calls)
        and program.seed is None
    )


def sharing_key(program: QueryProgram) -> str:
    """Return a text that is equal for queries that can be in one group."""
    operator = _operator(program)
    keys = [part for name, part in program.inputs[0].columns.columns if name.startswith("k")]
    parts = (keys, operator.keys, operator.axis, operator.bound_type, program.keyed)
    of = program.inputs[0].of
    # Without the number of the first input, as it was before streams had several.
    own = (*parts, of) if of else parts
    # Readers of a view have rows of their own; other groups keep the names that they had.
    return repr(own) if program.view is None else repr((own, program.view))


def _operator(program: QueryProgram) -> WindowOperator:
    assert isinstance(program.operator, WindowOperator)  # checked by can_share
    return program.operator


def edges_of(program: QueryProgram) -> Edges:
    """Return the edges of the windows of a query that can share panes."""
    return _operator(program).edges


@dataclass(frozen=True)
class WindowGroup:
    """Window queries with the same keys; their rows are combined once for all of them.

    The rows of ``gated`` members come through gates, because these have a budget.
    """

    programs: tuple[QueryProgram, ...]
    gated: frozenset[int] = frozenset()

    @cached_property
    def name(self) -> str:
        digest = hashlib.sha256(sharing_key(self.programs[0]).encode()).hexdigest()
        return f"w{digest[:16]}"

    @cached_property
    def members(self) -> Sequence[int]:
        return [program.member for program in self.programs]

    @cached_property
    def inputs(self) -> Sequence[GroupInput]:
        return [GroupInput(tuple(self.windows.shard_keys), of=self.programs[0].inputs[0].of)]

    @cached_property
    def _slots(self) -> dict[str, tuple[Expression, pa.DataType]]:
        """The slots of all members by their texts, each once, in an order that stays."""
        slots: dict[str, tuple[Expression, pa.DataType]] = {}
        for program in self.programs:
            columns = program.inputs[0].columns
            for name in numbered(columns.schema.names, "s"):
                part = dict(columns.columns)[name]
                slots[_slot_text(part, columns.schema.field(name).type)] = (
                    part,
                    columns.schema.field(name).type,
                )
        return dict(sorted(slots.items()))

    @cached_property
    def columns(self) -> ArrowColumns:
        """What is evaluated of the stream's rows: ``on``, the keys, and the slots of all."""
        own = self.programs[0].inputs[0].columns
        first = [(name, part) for name, part in own.columns if not _is_slot(name)]
        slots = list(self._slots.values())
        named = [(f"s{place}", part) for place, (part, _) in enumerate(slots)]
        fields = [own.schema.field(name) for name, _ in first]
        fields += [pa.field(f"s{place}", type_) for place, (_, type_) in enumerate(slots)]
        return ArrowColumns((*first, *named), pa.schema(fields))

    @cached_property
    def windows(self) -> SharedWindows:
        operator = _operator(self.programs[0])
        return SharedWindows(
            axis=operator.axis,
            keys=operator.keys,
            bound_type=operator.bound_type,
            queries=tuple(self._member(program) for program in self.programs),
            slots=tuple(self._slots),
            name=self.name,
        )

    def _member(self, program: QueryProgram) -> Member:
        operator = _operator(program)
        columns = program.inputs[0].columns
        parts = dict(columns.columns)
        places = {text: place for place, text in enumerate(self._slots)}
        moved = {
            int(name[1:]): places[_slot_text(parts[name], columns.schema.field(name).type)]
            for name in numbered(columns.schema.names, "s")
        }
        calls = tuple(_moved(call, moved) for call in operator.calls)
        return Member(program.member, operator.edges, calls, operator.unfinished, program.donors)

    @cached_property
    def _predicates(self) -> PredicateSets:
        return member_predicates([p for p in self.programs if p.member not in self.gated])

    def route(self, rows: pa.Table, wanted: WantedRows, of: int = 0) -> Sequence[RoutedInput]:
        sets = self._predicates.evaluate(rows)
        evaluated = self.columns.evaluate(rows)
        members = MemberSets(sets.offsets, sets.members)
        return [self.windows.route(evaluated, sets.code, members)]

    def route_of(self, member: int, source: int, rows: pa.Table) -> RoutedInput:
        (program,) = (p for p in self.programs if p.member == member)
        columns = program.inputs[0].columns
        known = {
            _slot_text(part, columns.schema.field(name).type): rows[name]
            for name, part in columns.columns
            if _is_slot(name)
        }
        slots = [
            known.get(text, pa.nulls(rows.num_rows, type_))
            for text, (_, type_) in self._slots.items()
        ]
        first = [name for name in self.columns.schema.names if not _is_slot(name)]
        own = rows.select(first)
        for place, column in enumerate(slots):
            own = own.append_column(f"s{place}", column)
        sets = MemberSets(np.array([0, 1]), np.array([member]))
        return self.windows.route(own, np.zeros(rows.num_rows, np.int64), sets)

    def merge(self, source: int, partials: Sequence[pa.Table]) -> pa.Table:
        return self.windows.merge(partials)

    def step(
        self,
        state: State,
        inputs: Sequence[InputBatch],
        births: Mapping[int, Birth],
        shards: int,
        planted: Sequence[pa.Table] = (),
    ) -> GroupStep:
        """Take in the rows of a micro-batch; ``planted`` are cells of the past of new members."""
        (batch,) = inputs
        if not self.programs[0].keyed:
            batch = replace(batch, punctuation=replace(batch.punctuation, by_key=None))
        return self.windows.step(state, batch, planted)


def _is_slot(name: str) -> bool:
    return bool(numbered([name], "s"))


def _slot_text(part: Expression, type_: pa.DataType) -> str:
    return f"{part!r} {type_}"


def _moved(call: AggregateCall, places: Mapping[int, int]) -> AggregateCall:
    """Return a call that reads the slots of the group."""
    return replace(call, slots=tuple(places[place] for place in call.slots))
