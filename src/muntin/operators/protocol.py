"""The step protocol: the interface between operators and the drivers that run them.

    step(state, inputs) -> results and changes of the state

An operator is a pure function over Arrow tables. A step is given the state, the rows that arrived
and the punctuation, which tells up to where each input is complete. It returns the results that are
now final and the changes of the state. An operator does not use Spark, files or the clock.

The columns of these tables have short names: ``k0..`` for keys, ``o0..`` for the original columns
of refused rows, and so on (docs/architecture.md, "Letter columns").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import find_keys

T = TypeVar("T")
#: The key of a chunk of state: the name of a table, and the number of a bucket of it.
ChunkKey = tuple[str, int]
#: The chunks that a step writes; None deletes a chunk.
Changes = dict[ChunkKey, pa.Table | None]
#: The reasons for refusing a row, in the order in which they are reported.
REASONS = (
    "late",
    "ahead",
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
    """Up to where an input is complete: no more rows with a tick below ``before`` or ``after``.

    ``before`` holds before the micro-batch and ``after`` holds after it; None promises nothing.
    ``largest`` is the largest tick of the whole input so far. ``over`` is true if the input ended
    before this micro-batch, ``ended`` if it has ended by the end of it. ``by_key`` has a row for
    every key that is ahead of the whole stream: the key columns ``k0..`` and the key's own
    ``before`` and ``after``.
    """

    before: int | None
    after: int | None
    largest: int | None
    ended: bool = False
    over: bool = False
    by_key: pa.Table | None = None

    @property
    def latest(self) -> int:
        """The greatest tick up to which any key is complete after the micro-batch, or NEVER."""
        of_stream = NEVER if self.after is None else self.after
        if self.by_key is None or not self.by_key.num_rows:
            return of_stream
        return max(of_stream, int(self.by_key["after"].to_numpy().max()))

    def of(self, keys: pa.Table) -> tuple[Ints, Ints]:
        """Return ``before`` and ``after`` for each row of a table of keys; NEVER for None."""
        stream = [NEVER if tick is None else tick for tick in (self.before, self.after)]
        before, after = (np.full(keys.num_rows, tick, np.int64) for tick in stream)
        if self.by_key is not None and self.by_key.num_rows:
            place = find_keys(keys, self.by_key.select(keys.column_names))
            listed = place >= 0
            for ticks, column in ((before, "before"), (after, "after")):
                own_ticks = self.by_key[column].to_numpy()[place[listed]]
                ticks[listed] = np.maximum(ticks[listed], own_ticks)
        return before, after


class State(Protocol):
    """The state of an operator, in chunks that are read only when they are needed."""

    def buckets(self, table: str) -> Sequence[int]:
        """Return the buckets of a table that have a chunk."""

    def read(self, table: str, bucket: int) -> pa.Table:
        """Return the chunk of a bucket."""


class ListedState(State, Protocol):
    """The whole state of a shard, which knows the names of its tables."""

    def tables(self) -> Sequence[str]:
        """Return the names of the tables that have a chunk, each once."""


def forget(state: State, *names: str) -> Changes:
    """Return the changes that delete all chunks of these tables."""
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
    """What the map side makes of some rows: partial results, progress and refused rows.

    ``progress`` is the largest tick of the rows. ``refused`` counts the refused rows by reason, and
    ``refused_rows`` has the rows themselves if they are wanted. ``rows`` has the original rows if
    refused rows are wanted, because some of them may turn out to be late. Tables have the key
    columns ``k0..``, which decide the shard of a row. ``passed`` counts rows that are used but need
    not be sent.
    """

    partial: pa.Table
    progress: int | None
    refused: Mapping[str, int]
    rows: pa.Table | None = None
    refused_rows: pa.Table | None = None
    passed: int = 0


@dataclass(frozen=True)
class Open:
    """Keys with something open, and for each key the order at which an open result begins.

    A key may be there several times.
    """

    keys: pa.Table
    since: Ints


@dataclass(frozen=True)
class InputBatch:
    """The part of one input that a micro-batch brings to a shard.

    Some inputs are sent to every shard. Their rows are ``counted`` in one shard only.
    """

    partials: Sequence[pa.Table]
    punctuation: Punctuation
    rows: Sequence[pa.Table] = ()
    counted: bool = True


@dataclass(frozen=True)
class RowCounts:
    """How many rows of one input were used and refused.

    ``between`` counts used rows that lie in no window. ``late_rows`` has the original rows that
    were late. ``fallen`` has rows of this or an earlier step that are refused because of other
    rows.
    """

    used: int = 0
    late: int = 0
    between: int = 0
    late_rows: pa.Table | None = None
    fallen: pa.Table | None = None


@dataclass(frozen=True)
class Step:
    """The results of a step, the changes of the state, and the row counts of each input.

    ``open_counts`` has, for each changed chunk, how many frames or parts of windows are open in it.
    """

    results: pa.Table
    changes: Changes
    rows: Sequence[RowCounts]
    evicted: int = 0
    open: Open | None = None
    open_counts: Mapping[ChunkKey, int] = field(default_factory=dict)


class MapSide(Protocol):
    """The map side of one input: it prepares rows before they are sent to the shards."""

    def route(self, rows: pa.Table) -> Routed:
        """Refuse rows without a place on the axis, and combine the others where possible."""

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """Combine several partial tables into one with fewer rows."""


class Operator(Protocol):
    """A stateful operator with one input or several, as the drivers use it.

    Inputs progress at different speeds, so each input has its own punctuation.
    """

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of ``Step.results``."""

    @property
    def map_sides(self) -> Sequence[MapSide]:
        """The map side of each input."""

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        """For each input, the key columns that decide the shard of a row."""

    @property
    def may_refuse(self) -> bool:
        """True if a step may refuse rows because of other rows, as ``RowCounts.fallen``."""

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        """Take in the new rows of each input, and report the results that are now complete."""


@runtime_checkable
class LimitedOperator(Protocol):
    """An operator with a limit that holds for all shards together."""

    def among(self, shards: int) -> Operator:
        """Return the operator of one of several shards, with its share of the limit."""


class OneInput:
    """Base class of operators with one input, which are their own map side."""

    @property
    def map_sides(self: MapSide) -> Sequence[MapSide]:
        return (self,)

    @property
    def may_refuse(self) -> bool:
        return False


@dataclass
class MemoryState:
    """State in memory, for the batch driver and for tests of steps."""

    chunks: dict[ChunkKey, pa.Table] = field(default_factory=dict)

    def buckets(self, table: str) -> Sequence[int]:
        return [bucket for name, bucket in self.chunks if name == table]

    def read(self, table: str, bucket: int) -> pa.Table:
        return self.chunks[table, bucket]

    def tables(self) -> Sequence[str]:
        return list(dict.fromkeys(name for name, _ in self.chunks))

    def whole(self, table: str) -> pa.Table:
        """Return all chunks of a table, of which there is one or more."""
        chunks = [self.read(table, bucket) for bucket in sorted(self.buckets(table))]
        return pa.concat_tables(chunks, promote_options="default").combine_chunks()

    def apply(self, changes: Mapping[ChunkKey, pa.Table | None]) -> None:
        for key, chunk in changes.items():
            if chunk is None:
                self.chunks.pop(key, None)
            else:
                self.chunks[key] = chunk


@dataclass(frozen=True)
class ScopedState:
    """State whose tables have a prefix, so that two parts of an operator can share a state."""

    state: State
    prefix: str

    def buckets(self, table: str) -> Sequence[int]:
        return self.state.buckets(self.prefix + table)

    def read(self, table: str, bucket: int) -> pa.Table:
        return self.state.read(self.prefix + table, bucket)

    def named(self, changes: Mapping[ChunkKey, T]) -> dict[ChunkKey, T]:
        """Return changes, or counts, with the prefix added to the names of their tables."""
        return {(self.prefix + table, bucket): c for (table, bucket), c in changes.items()}


def ints(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Return an integer column without nulls as a contiguous array."""
    values: Ints = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
    return values


def typed(rows: pa.Table, name: str, type_: pa.DataType) -> pa.Array:
    """Return a column in a type.

    Spark labels timestamps with the time zone of the session; operators have them in UTC.
    """
    column = rows[name].combine_chunks()
    return column if column.type == type_ else column.cast(type_)


def original_names(rows: pa.Table) -> list[str]:
    """Return the names of the original columns ``o0..``, sent if refused rows are wanted."""
    return numbered(rows.column_names, "o")


def numbered(names: Sequence[str], letter: str) -> list[str]:
    """Return the names that consist of a letter and a number."""
    return [name for name in names if name.startswith(letter) and name[1:].isdigit()]


def key_fields(types: Sequence[pa.DataType]) -> list[pa.Field]:
    """Return the key columns ``k0..`` of a table."""
    return [pa.field(f"k{place}", type_) for place, type_ in enumerate(types)]
