"""A query with an operator and a state of its own: a group with one member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from muntin.operators.common.early_answers import EarlyAnswers
from muntin.operators.protocol import InputBatch, LimitedOperator, Operator, State
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import (
    Birth,
    GroupInput,
    GroupStep,
    MemberAnswer,
    RoutedInput,
    WantedRows,
)


@dataclass(frozen=True)
class SingleQuery:
    """A query that shares nothing but the rows of the stream.

    If it is ``gated``, its rows come through a gate, because it has a budget.
    """

    program: QueryProgram
    gated: bool = False

    @property
    def name(self) -> str:
        return f"q{self.program.member}"

    @property
    def members(self) -> Sequence[int]:
        return (self.program.member,)

    @property
    def operator(self) -> Operator:
        assert self.program.operator is not None  # filters are in a group of their own
        return self.program.operator

    @cached_property
    def inputs(self) -> Sequence[GroupInput]:
        keys = self.operator.shard_keys
        return [
            GroupInput(tuple(names), own.everywhere, own.of)
            for names, own in zip(keys, self.program.inputs, strict=True)
        ]

    def route(self, rows: pa.Table, wanted: WantedRows, of: int = 0) -> Sequence[RoutedInput]:
        if self.gated:
            return []
        reading = [source for source, own in enumerate(self.inputs) if own.of == of]
        return [self._routed(rows, wanted, source) for source in reading]

    def route_of(self, member: int, source: int, rows: pa.Table) -> RoutedInput:
        routed = self.operator.map_sides[source].route(rows)
        return RoutedInput(source, routed, {member: routed.refused})

    def _routed(self, rows: pa.Table, wanted: WantedRows, source: int) -> RoutedInput:
        mask = wanted.of(self.program.member, source)
        taken = rows if mask is None else rows.filter(mask)
        travelling = self.program.inputs[source].columns.evaluate(taken)
        routed = self.operator.map_sides[source].route(travelling)
        return RoutedInput(source, routed, {self.program.member: routed.refused})

    def merge(self, source: int, partials: Sequence[pa.Table]) -> pa.Table:
        return self.operator.map_sides[source].merge(partials)

    def step(
        self,
        state: State,
        inputs: Sequence[InputBatch],
        births: Mapping[int, Birth],
        shards: int,
        planted: Sequence[pa.Table] = (),
    ) -> GroupStep:
        operator = self.operator
        if isinstance(operator, LimitedOperator):
            operator = operator.among(shards)
        if self.program.paused and isinstance(operator, EarlyAnswers):
            # What is open is reported when the query goes on, against what was reported before.
            operator = operator.silenced()
        if not self.program.keyed:
            inputs = [_of_stream(batch) for batch in inputs]
        step = operator.step(state, inputs)
        answer = MemberAnswer(step.results, step.rows)
        return GroupStep({self.program.member: answer}, step.changes)


def _of_stream(batch: InputBatch) -> InputBatch:
    """Return the input with the punctuation of the whole stream, without that of keys."""
    return replace(batch, punctuation=replace(batch.punctuation, by_key=None))
