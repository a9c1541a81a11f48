"""The step protocol: what an operator is to the drivers that run it.

    step(state, inputs) -> results, and what changes in the state

An operator is a pure function over Arrow tables. It is given what has arrived, what is now known
to be complete and what it remembered; it returns what it knows for sure and what it must
remember. It knows nothing of Spark, files or time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import find_keys

#: A chunk of state: the name of a table, and a bucket of it.
ChunkKey = tuple[str, int]
#: What a step wants remembered; None forgets a chunk.
Changes = dict[ChunkKey, pa.Table | None]
#: Why rows are refused, in the order in which they are reported.
REASONS = (
    "late",
    "null_on",
    "nan_on",
    "before_origin",
    "out_of_range",
    "null_slide_on",
    "slide_on_fell",
    "no_gap",
    "no_until",
    "no_along",
    "tie",
)


@dataclass(frozen=True)
class Punctuation:
    """What is complete before and after a micro-batch: no more rows below these ticks.

    ``largest`` is the largest tick of the whole input so far; ``ended`` says the input is over
    after this micro-batch, ``over`` that it was over before it. ``by_key`` has the keys ``k0..``
    that are ahead of the whole stream, with their own ``before`` and ``after``.
    """

    before: int | None
    after: int | None
    largest: int | None
    ended: bool = False
    over: bool = False
    by_key: pa.Table | None = None

    @property
    def latest(self) -> int:
        """The furthest that any key is complete after the micro-batch; NEVER if none is."""
        told = NEVER if self.after is None else self.after
        if self.by_key is None or not self.by_key.num_rows:
            return told
        return max(told, int(self.by_key["after"].to_numpy().max()))

    def of(self, keys: pa.Table) -> tuple[Ints, Ints]:
        """What is complete before and after for each row of a table of keys; NEVER if nothing."""
        stream = [NEVER if tick is None else tick for tick in (self.before, self.after)]
        before, after = (np.full(keys.num_rows, tick, np.int64) for tick in stream)
        if self.by_key is not None and self.by_key.num_rows:
            place = find_keys(keys, self.by_key.select(keys.column_names))
            found = place >= 0
            for own, column in ((before, "before"), (after, "after")):
                told = self.by_key[column].to_numpy()[place[found]]
                own[found] = np.maximum(own[found], told)
        return before, after


class State(Protocol):
    """What was remembered, in chunks that are read only when asked for."""

    def buckets(self, table: str) -> Sequence[int]:
        """The buckets of a table that hold something."""

    def read(self, table: str, bucket: int) -> pa.Table:
        """One chunk."""


def forget(state: State, *names: str) -> Changes:
    """Everything that tables hold is over."""
    return {(name, bucket): None for name in names for bucket in state.buckets(name)}


def open_rows(changes: Changes, table: str) -> dict[ChunkKey, int]:
    """Count the rows of the changed chunks of a table whose rows are parts of open windows."""
    return {
        key: chunk.num_rows
        for key, chunk in changes.items()
        if key[0] == table and chunk is not None
    }


@dataclass(frozen=True)
class Routed:
    """What the map side sends for some rows: partial results, progress, and what it refused.

    Tables have the key columns ``k0..``, by which their rows go to shards. Rows that ``passed`` are
    used without having to travel.
    """

    partial: pa.Table
    progress: int | None
    refused: Mapping[str, int]
    rows: pa.Table | None = None
    refused_rows: pa.Table | None = None
    passed: int = 0


@dataclass(frozen=True)
class Open:
    """Keys of which something is open, and the order that what is reported of it begins at."""

    keys: pa.Table
    since: Ints


@dataclass(frozen=True)
class InputBatch:
    """What a micro-batch brings of one input.

    Rows of an input that every shard gets are ``counted`` in one of them.
    """

    partials: Sequence[pa.Table]
    punctuation: Punctuation
    rows: Sequence[pa.Table] = ()
    counted: bool = True


@dataclass(frozen=True)
class RowCounts:
    """What became of the rows of one input.

    ``fallen`` are rows of this or an earlier step that are refused because of other rows.
    """

    used: int = 0
    late: int = 0
    between: int = 0
    late_rows: pa.Table | None = None
    fallen: pa.Table | None = None


@dataclass(frozen=True)
class Step:
    """What a step knows for sure, what it wants remembered, and what became of each input.

    ``open_counts`` is how much is open in the chunks that it changes: frames, or parts of windows.
    """

    results: pa.Table
    changes: Changes
    rows: Sequence[RowCounts]
    evicted: int = 0
    open: Open | None = None
    open_counts: Mapping[ChunkKey, int] = field(default_factory=dict)


class MapSide(Protocol):
    """The map side of one input: what becomes of its rows before they travel."""

    def route(self, rows: pa.Table) -> Routed:
        """Take rows in, refuse what has no place, combine what can be combined."""

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """Make fewer partial rows of several tables."""


class Operator(Protocol):
    """A stateful operator with one input or several, as the drivers see it.

    Inputs progress at different speeds, so each has its own punctuation.
    """

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of ``Step.results``."""

    @property
    def map_sides(self) -> Sequence[MapSide]:
        """The map side of each input."""

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        """For each input the key columns whose rows must meet in one shard."""

    @property
    def may_refuse(self) -> bool:
        """True if a step may refuse rows because of other rows, as ``RowCounts.fallen``."""

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        """Take in what arrived of each input, report what is complete."""


class OneInput:
    """Base of operators with one input, which are their own map side."""

    @property
    def map_sides(self: MapSide) -> Sequence[MapSide]:
        return (self,)

    @property
    def may_refuse(self) -> bool:
        return False


@dataclass
class MemoryState:
    """State in memory: for the batch driver, and for tests of the step function."""

    chunks: dict[ChunkKey, pa.Table] = field(default_factory=dict)

    def buckets(self, table: str) -> Sequence[int]:
        return [bucket for name, bucket in self.chunks if name == table]

    def read(self, table: str, bucket: int) -> pa.Table:
        return self.chunks[table, bucket]

    def apply(self, changes: Mapping[ChunkKey, pa.Table | None]) -> None:
        for key, chunk in changes.items():
            if chunk is None:
                self.chunks.pop(key, None)
            else:
                self.chunks[key] = chunk


@dataclass(frozen=True)
class ScopedState:
    """State under a prefix, so that two parts of an operator keep their tables apart."""

    state: State
    prefix: str

    def buckets(self, table: str) -> Sequence[int]:
        return self.state.buckets(self.prefix + table)

    def read(self, table: str, bucket: int) -> pa.Table:
        return self.state.read(self.prefix + table, bucket)

    def named(self, changes: Changes) -> Changes:
        """Changes under the names that the state itself has for the tables."""
        return {(self.prefix + table, bucket): c for (table, bucket), c in changes.items()}
