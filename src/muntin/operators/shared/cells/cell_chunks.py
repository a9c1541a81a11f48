"""Chunks of cells as sweeps read them: in runs of one key and pane, with common numbers for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.accumulators import Accumulator
from muntin.kernels.arrays import Ints, SmallInts
from muntin.kernels.grouping import KeyedTables, key_codes
from muntin.kernels.set_sweeps import CellRuns, find_runs
from muntin.operators.protocol import ints
from muntin.operators.shared.cells.set_cells import SET, SetCellLayout, whole
from muntin.operators.shared.member_sets import MemberSets


@dataclass(frozen=True)
class CellChunk:
    """A chunk of cells, sorted by key and pane, and where its runs begin."""

    table: pa.Table
    rows: Ints
    key: Ints

    @classmethod
    def of(cls, layout: SetCellLayout, table: pa.Table) -> CellChunk:
        columns = [whole(table[name]) for name in layout.key_names]
        if len(columns) == 1 and pa.types.is_dictionary(columns[0].type):
            key = columns[0].indices.to_numpy(zero_copy_only=False)
        else:
            key = key_codes(columns, table.num_rows)[0].astype(np.int32)
        starts = np.empty(table.num_rows, np.int64)
        count = find_runs(key, ints(whole(table["pane"])), starts)
        starts = starts[:count].copy()
        return cls(table, np.append(starts, table.num_rows), key[starts].astype(np.int64))

    @cached_property
    def panes(self) -> Ints:
        """The pane of each run."""
        return np.ascontiguousarray(ints(whole(self.table["pane"]))[self.rows[:-1]])

    @cached_property
    def _key_starts(self) -> Ints:
        """The first run of each key."""
        return np.flatnonzero(np.diff(self.key, prepend=-1)).astype(np.int64)

    def keys(self, layout: SetCellLayout) -> pa.Table:
        """Return the distinct keys, in order."""
        rows = pa.array(self.rows[self._key_starts])
        first = self.table.select(layout.key_names).take(rows)
        return pa.table({name: layout.column_of(first, name) for name in layout.key_names})

    @cached_property
    def set_column(self) -> pa.DictionaryArray:
        return whole(self.table[SET])

    def runs(self, number: Ints, entry: Ints, count: int) -> CellRuns:
        """Return the runs, given common numbers of its keys and sets, of which there are many."""
        first, last = np.zeros(count, np.int64), np.zeros(count, np.int64)
        first[number] = self._key_starts
        last[number] = np.append(self._key_starts[1:], len(self.key))
        return CellRuns(self.panes, self.rows, first, last, entry)

    @cached_property
    def set_places(self) -> SmallInts:
        """For each row, the place of its set among those of the chunk."""
        places: SmallInts = self.set_column.indices.to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(places)


@dataclass(frozen=True)
class CellChunks:
    """Chunks in the order of their panes, with common numbers for keys and sets."""

    layout: SetCellLayout
    chunks: tuple[CellChunk, ...]

    @classmethod
    def of(cls, layout: SetCellLayout, tables: Sequence[pa.Table]) -> CellChunks:
        return cls(layout, tuple(CellChunk.of(layout, table) for table in tables))

    @cached_property
    def _keyed(self) -> KeyedTables:
        keys = [chunk.keys(self.layout) for chunk in self.chunks]
        keyed = KeyedTables.of(self.layout.key_names, keys)
        if self.layout.key_names:
            return keyed
        # A table without columns forgets how many rows are taken; all rows have the same key.
        return replace(keyed, numbers=(np.zeros(1, np.int64),) * len(self.chunks))

    @property
    def keys(self) -> pa.Table:
        """The distinct keys of all chunks."""
        return self._keyed.keys

    @cached_property
    def _encoded(self) -> tuple[pa.Array, list[Ints]]:
        """The distinct packed sets of all chunks, and for each chunk the numbers of its own."""
        packed = [chunk.set_column.dictionary for chunk in self.chunks]
        encoded = pc.dictionary_encode(pa.concat_arrays(packed))
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        cuts = np.cumsum([len(each) for each in packed])[:-1]
        return encoded.dictionary, np.split(codes, cuts)

    @cached_property
    def sets(self) -> MemberSets:
        """The distinct sets of all chunks."""
        return MemberSets.unpacked(self._encoded[0])

    @cached_property
    def runs(self) -> list[CellRuns]:
        """The runs of each chunk."""
        numbers, (_, entries) = self._keyed.numbers, self._encoded
        return [
            chunk.runs(number, np.ascontiguousarray(entry), len(self._keyed))
            for chunk, number, entry in zip(self.chunks, numbers, entries, strict=True)
        ]

    @cached_property
    def panes(self) -> Ints:
        """The distinct panes, in order."""
        return np.unique(np.concatenate([chunk.panes for chunk in self.chunks]))

    def equal(self, one: Accumulator, other: Accumulator) -> bool:
        """Return True if two accumulators are equal in all cells."""
        both = [self.columns(self.layout.names_of(each)) for each in (one, other)]
        return all(a == b for a, b in zip(*both, strict=True))

    def columns(self, names: Sequence[str]) -> list[list[pa.Array]]:
        """Return some columns of accumulators, for each chunk."""
        return [
            [self.layout.column_of(chunk.table, name) for name in names] for chunk in self.chunks
        ]
