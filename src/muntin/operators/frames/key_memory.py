"""What is remembered about every key between micro-batches, and the context of the step it is for.

The memory of a key is the record of its open frame, and more. The context of a step has its rows in
order, and what its punctuation decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames.records import FOUND, NEVER, STATE, UNTIL_NEXT, fresh, is_open
from muntin.kernels.frames.walk import MOST_QUIET, look_at_quiet
from muntin.kernels.grouping import KeyedTables
from muntin.kernels.ticks import order_of_ticks
from muntin.operators.common.buckets import BUCKETS, BucketedTable, key_buckets
from muntin.operators.frames.ordered_rows import Missing, OrderedRows, held_until
from muntin.operators.frames.sequencer import OrderedBatch
from muntin.operators.protocol import Changes, ChunkKey, Punctuation, State, ints
from muntin.specs.axis import Axis

KEYS = "keys"


@dataclass(frozen=True)
class KeyMemory:
    """The layout of the remembered table: keys, the record, and ``also`` columns of other types."""

    keys: tuple[pa.Field, ...]
    also: tuple[pa.Field, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        record = [
            pa.field(name, pa.float64() if STATE[name].kind == "f" else pa.int64())
            for name in STATE.names or ()
        ]
        return pa.schema([*self.keys, *record, *self.also])

    def load(self, state: State) -> pa.Table:
        return BucketedTable(state, KEYS).load(self.schema)

    def records(self, keyed: KeyedTables, table: pa.Table) -> np.ndarray:
        """Return a record for every key; a key without one gets a fresh record."""
        records = fresh(len(keyed))
        for name in STATE.names or ():
            records[name][keyed.numbers[0]] = table[name].to_numpy()
        return records

    def spread(self, keyed: KeyedTables, table: pa.Table, name: str) -> pa.Array:
        """Return one of the ``also`` columns for every key, null for new keys."""
        row = np.full(len(keyed), -1, np.int64)
        row[keyed.numbers[0]] = np.arange(table.num_rows)
        column = table[name].combine_chunks()
        return column.take(pa.array(row, pa.int64(), mask=row < 0))

    def whole(self, keyed: KeyedTables, table: pa.Table, name: str) -> Ints:
        """Return one of the ``also`` columns, of integers, for every key; NEVER for new keys."""
        return ints(self.spread(keyed, table, name).fill_null(NEVER))

    def table(
        self, keyed: KeyedTables, records: np.ndarray, also: Mapping[str, pa.Array]
    ) -> pa.Table:
        """Return a row for every key, as it is kept."""
        columns = [column.combine_chunks() for column in keyed.keys.columns]
        columns += [pa.array(np.ascontiguousarray(records[name])) for name in STATE.names or ()]
        columns += [also[field.name] for field in self.also]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def open_counts(self, changes: Changes) -> dict[ChunkKey, int]:
        """Count the keys with an open frame in the chunks that changed."""
        return {
            key: int(is_open({"mode": ints(chunk["mode"])}).sum())
            for key, chunk in changes.items()
            if key[0] == KEYS and chunk is not None
        }

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.keys]


@dataclass(frozen=True)
class KeyBuckets:
    """Which chunk of state the keys of a step are kept in, and which chunks are written."""

    of_key: Ints
    dirty: tuple[int, ...]

    @classmethod
    def of(
        cls, keyed: KeyedTables, names: Sequence[str], changed: Mask, buckets: int = BUCKETS
    ) -> KeyBuckets:
        of_key = key_buckets(keyed.keys, names, buckets)
        return cls(of_key, tuple(np.unique(of_key[changed]).tolist()))

    def write(self, state: State, name: str, rows: pa.Table, key: Ints) -> Changes:
        """Return the chunks of a table in which a key changed; ``key`` is the key of each row."""
        return BucketedTable(state, name).write(rows, self.of_key[key], self.dirty)


@dataclass(frozen=True)
class StepContext:
    """The data that a step has read and put in order.

    ``keyed`` numbers the keys of ``remembered``, of the rows, and of the ``kept`` cells or rows.
    """

    state: State
    keyed: KeyedTables
    remembered: pa.Table
    kept: pa.Table
    arranged: OrderedBatch
    punctuation: Punctuation

    @property
    def ended(self) -> bool:
        return self.punctuation.ended


@dataclass(frozen=True)
class Certainty:
    """What punctuation alone decides: how far last rows hold, and which open frames are over.

    ``asked`` is the framing as a record of the kernels. If ``between_rows``, open frames are also
    reported when punctuation comes without a row.
    """

    axis: Axis
    asked: np.ndarray
    missing: Missing
    between_rows: bool

    def to_the_end(self, now: StepContext, rows: OrderedRows, records: np.ndarray) -> OrderedRows:
        """Return rows; at the end of input their last rows hold as far as the input is known."""
        if not now.ended:
            return rows
        known = np.maximum(records["previous"], self.complete(now))
        return self.held_to(rows, known, now.punctuation.largest)

    def held_to(self, rows: OrderedRows, known: Ints, largest: int | None) -> OrderedRows:
        """Let last rows that hold until the next one hold as far as the input is known to reach."""
        if self.asked["reading"][0] != UNTIL_NEXT:
            return rows
        if largest is not None:
            known = np.maximum(known, self._order(np.array([largest])))
        some = np.diff(rows.starts) > 0
        last = np.append(rows.order, NEVER)[np.where(some, rows.starts[1:] - 1, len(rows))]
        return held_until(rows, np.maximum(last, known))

    def complete(self, now: StepContext) -> Ints:
        """Return the order below which no row of a key will come; NEVER if nothing is known."""
        _, complete = now.punctuation.of(now.keyed.keys)
        known = np.where(complete == NEVER, 0, complete)
        return np.where(complete == NEVER, NEVER, self._order(known))

    def _order(self, tick: Ints) -> Ints:
        return order_of_ticks(np.maximum(tick, -self.axis.limit), self.axis)

    def with_quiet(
        self, now: StepContext, found: np.ndarray, records: np.ndarray, horizon: Ints
    ) -> tuple[np.ndarray, Mask]:
        """Add the reports that punctuation alone decides; also return the keys they are about."""
        if now.ended:
            return found, np.zeros(len(records), np.bool_)
        mode, reported = records["mode"].copy(), records["reported"].copy()
        joins = np.maximum(horizon, self.complete(now)) if self.missing == "carry" else horizon
        rules = int(self.missing == "break"), int(self.between_rows)
        room = np.zeros(MOST_QUIET * len(records), FOUND)
        n = look_at_quiet(self.asked, horizon, joins, *rules, records, room)
        both = np.concatenate([found, room[:n]])
        changed: Mask = (mode != records["mode"]) | (reported != records["reported"])
        return both[np.argsort(both["key"], kind="stable")], changed
