"""Operators with several inputs, each with its own punctuation.

Sources progress at different speeds, so what is complete in one input says nothing of another. An
operator with one input is the simplest of them, and that is how the drivers run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from muntin.operators.protocol import Changes, Operator, Punctuation, Routed, State, Step


class MapSide(Protocol):
    """The map side of one input."""

    @property
    def shard_keys(self) -> Sequence[str]:
        """The key columns whose rows must meet in one shard."""

    def route(self, rows: pa.Table) -> Routed:
        """Take rows in, refuse what has no place, combine what can be combined."""

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """Make fewer partial rows of several tables."""


@dataclass(frozen=True)
class InputBatch:
    """What a micro-batch brought of one input.

    Rows of an input that every shard gets are ``counted`` in one of them.
    """

    partials: Sequence[pa.Table]
    punctuation: Punctuation
    rows: Sequence[pa.Table] = ()
    counted: bool = True


@dataclass(frozen=True)
class RowCounts:
    """What became of the rows of one input."""

    used: int = 0
    late: int = 0
    between: int = 0
    late_rows: pa.Table | None = None
    fallen: pa.Table | None = None


@dataclass(frozen=True)
class JointStep:
    """What a step knows for sure, what it wants remembered, and what became of each input."""

    results: pa.Table
    changes: Changes
    taken: Sequence[RowCounts]
    evicted: int = 0


class Joint(Protocol):
    """A stateful operator with one input or several, as the drivers see it."""

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of ``JointStep.results``."""

    @property
    def senders(self) -> Sequence[MapSide]:
        """The map side of each input."""

    def step(self, state: State, arrived: Sequence[InputBatch]) -> JointStep:
        """Take in what arrived of each input, report what is complete."""


@dataclass(frozen=True)
class Alone:
    """An operator with one input."""

    operator: Operator

    @property
    def result_schema(self) -> pa.Schema:
        return self.operator.result_schema

    @property
    def senders(self) -> Sequence[MapSide]:
        return (self.operator,)

    def step(self, state: State, arrived: Sequence[InputBatch]) -> JointStep:
        (only,) = arrived
        step = self.operator.step(state, only.partials, only.punctuation, only.rows)
        return JointStep(step.results, dict(step.changes), (taken(step),))


def taken(step: Step) -> RowCounts:
    """What became of the rows of an operator with one input."""
    return RowCounts(step.rows_used, step.rows_late, step.rows_between, step.late_rows, step.fallen)


@dataclass(frozen=True)
class ScopedState:
    """State under names of one's own, so that two parts of an operator keep theirs apart."""

    state: State
    prefix: str

    def buckets(self, table: str) -> Sequence[int]:
        return self.state.buckets(self.prefix + table)

    def read(self, table: str, bucket: int) -> pa.Table:
        return self.state.read(self.prefix + table, bucket)

    def named(self, changes: Changes) -> Changes:
        """Changes as the state itself knows them."""
        return {(self.prefix + table, bucket): c for (table, bucket), c in changes.items()}
