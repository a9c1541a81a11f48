"""What is remembered about every key between micro-batches: its open frame's record, and more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames.records import NEVER, STATE, fresh, is_open
from muntin.operators.common.arrow_columns import ints
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.common.keys import KeyedTables
from muntin.operators.protocol import Changes, ChunkKey, State

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
    def of(cls, keyed: KeyedTables, names: Sequence[str], changed: Mask) -> KeyBuckets:
        of_key = key_buckets(keyed.keys, names)
        return cls(of_key, tuple(np.unique(of_key[changed]).tolist()))

    def write(self, state: State, name: str, rows: pa.Table, key: Ints) -> Changes:
        """Return the chunks of a table in which a key changed; ``key`` is the key of each row."""
        return BucketedTable(state, name).write(rows, self.of_key[key], self.dirty)
