"""Cells for each key, predicate set and pane: how they are made, merged, sent and kept.

A *set* is the members that want a row. In memory a cell has a number for its set, as one more key.
Sent or kept, it has the set itself, in a column whose distinct values are stored once; and the
columns of accumulators are named after what they hold. So tables of any version of a group can be
read by any other: an accumulator that a table does not have is one that nobody wanted then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.accumulators import Accumulator, Count, OwnAccumulator
from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import Ints
from muntin.kernels.grouping import key_and_pane, key_codes
from muntin.kernels.numbers.order_keys import ranked
from muntin.operators.aggregation.combine_accumulators import gather
from muntin.operators.protocol import ints, key_fields, typed
from muntin.operators.shared.member_sets import SET_TYPE, MemberSets
from muntin.operators.shared.window_edges import PlacedPanes
from muntin.operators.windows.panes import Cells

SET = "set"


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a copy if it is one."""
    if column.num_chunks == 1 and not column.chunk(0).offset:
        return column.chunk(0)
    return column.combine_chunks()


def shareable(calls: Sequence[AggregateCall]) -> bool:
    """Return True if cells of the calls can be shared and kept from version to version.

    A user's own aggregate cannot: what its cells hold has no name that lasts.
    """
    accumulators = [a for call in calls for a in bind(call).accumulators]
    return not any(isinstance(accumulator, OwnAccumulator) for accumulator in accumulators)


@dataclass(frozen=True)
class SetCells:
    """Cells in memory: the last key column of ``table`` is a place among ``packed`` sets."""

    table: pa.Table
    packed: pa.Array

    @cached_property
    def sets(self) -> MemberSets:
        return MemberSets.unpacked(self.packed)


@dataclass(frozen=True)
class SetCellLayout:
    """The columns of cells of a version: its keys, and the accumulators of all its calls.

    ``slots`` names the slots in a way that lasts from version to version.
    """

    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    slots: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> Cells:
        """The cells in memory, with the set as the last key."""
        return Cells((*self.keys, pa.int64()), self.calls)

    @cached_property
    def panes(self) -> Cells:
        """The cells of one member, without sets."""
        return Cells(self.keys, self.calls)

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    @property
    def set_name(self) -> str:
        """The column of sets in memory."""
        return f"k{len(self.keys)}"

    @cached_property
    def lasting_names(self) -> list[str]:
        """The names of the columns of accumulators that are sent and kept."""
        return [
            f"{self._name(accumulator)} {part}"
            for accumulator in self.cells.accumulators
            for part in range(len(accumulator.columns))
        ]

    def _name(self, accumulator: Accumulator) -> str:
        slots = [self.slots[s] if s < len(self.slots) else f"s{s}" for s in accumulator.slots]
        own = [f.name for f in fields(accumulator) if f.name not in ("slots", "type")]
        choices = [f"{name}={getattr(accumulator, name)!r}" for name in own]
        words = [type(accumulator).__name__, f"({', '.join(slots)})", str(accumulator.type)]
        return " ".join([*words, *choices])

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of cells that are sent and kept."""
        columns = [*key_fields(self.keys), pa.field(SET, SET_TYPE), pa.field("pane", pa.int64())]
        types = self.cells.schema.types[len(self.keys) + 2 :]
        return pa.schema([*columns, *map(pa.field, self.lasting_names, types)])

    def gathered(
        self, rows: pa.Table, order: Ints, panes: PlacedPanes, code: Ints, packed: pa.Array
    ) -> SetCells:
        """Return the cells of rows, given the order, pane and set of each, sorted by key."""
        keys = [typed(rows, n, t) for n, t in zip(self.key_names, self.keys, strict=True)]
        slots = self._slots(rows)
        codes, size = key_codes(keys, rows.num_rows)
        groups = key_and_pane(codes, size, panes.place * len(packed) + code)
        member = pa.array(groups.member)
        pane = panes.distinct[panes.place[groups.member]]
        arrays = [column.take(member) for column in (*keys, pa.array(code))] + [pa.array(pane)]
        rows = gather(Count(()), slots, order, groups)
        for accumulator in self.cells.accumulators:
            if isinstance(accumulator, Count) and not any(
                slots[slot].null_count for slot in accumulator.slots
            ):
                arrays += rows
            else:
                arrays += gather(accumulator, slots, order, groups)
        return SetCells(pa.Table.from_arrays(arrays, schema=self.cells.schema), packed)

    def _slots(self, rows: pa.Table) -> list[pa.Array]:
        """Return the slots by their places; a slot that no call reads is empty."""
        types: Mapping[int, pa.DataType] = self.cells.slot_types
        unread = pa.nulls(rows.num_rows)
        return [
            typed(rows, f"s{place}", types[place]) if place in types else unread
            for place in range(max(types, default=-1) + 1)
        ]

    def lasting(self, cells: SetCells, table: pa.Table | None = None) -> pa.Table:
        """Return cells as they are sent and kept, or some of them, with the sets they have."""
        table = cells.table if table is None else table
        code = ints(table[self.set_name])
        used = np.zeros(len(cells.packed), np.bool_)
        used[code] = True
        place = np.cumsum(used) - 1
        packed = cells.packed if used.all() else cells.packed.filter(pa.array(used))
        indices = pa.array(place[code].astype(np.int32))
        column = pa.DictionaryArray.from_arrays(indices, packed)
        columns = [*table.columns[: len(self.keys)], column, *table.columns[len(self.keys) + 1 :]]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def loaded(self, tables: Sequence[pa.Table]) -> SetCells:
        """Return cells that were sent or kept, side by side."""
        tables = [table for table in tables if table.num_rows]
        if not tables:
            return SetCells(self.cells.schema.empty_table(), pa.array([], pa.binary()))
        chunks = [chunk for table in tables for chunk in table[SET].chunks]
        column = pa.chunked_array(chunks, SET_TYPE).unify_dictionaries()
        packed = column.chunk(0).dictionary
        code = [chunk.indices.cast(pa.int64()) for chunk in column.chunks]
        arrays: list[pa.ChunkedArray] = [
            *(self._column(tables, name) for name in self.key_names),
            pa.chunked_array(code, pa.int64()),
            self._column(tables, "pane"),
            *(self._column(tables, name) for name in self.lasting_names),
        ]
        return SetCells(pa.Table.from_arrays(arrays, schema=self.cells.schema), packed)

    def _column(self, tables: Sequence[pa.Table], name: str) -> pa.ChunkedArray:
        chunks = [self.column_of(table, name) for table in tables]
        return pa.chunked_array(chunks, self.schema.field(name).type)

    def column_of(self, table: pa.Table, name: str) -> pa.Array:
        """Return a column of cells that were sent or kept."""
        if name not in table.column_names:
            return self._nothing(name, table)
        column = whole(table[name])
        return column.dictionary_decode() if name in self._encoded(table) else column

    def _encoded(self, table: pa.Table) -> list[str]:
        """Return the keys of a table that are kept with their distinct values beside them."""
        return [n for n in self.key_names if pa.types.is_dictionary(table.schema.field(n).type)]

    def kept(self, cells: SetCells, table: pa.Table) -> pa.Table:
        """Return some cells as they are kept: as they are sent, but with distinct keys once."""
        lasting = self.lasting(cells, table)
        for place, name in enumerate(self.key_names):
            encoded = pc.dictionary_encode(lasting[name], null_encoding="encode")
            lasting = lasting.set_column(place, name, encoded)
        return lasting

    def names_of(self, accumulator: Accumulator) -> list[str]:
        """Return the columns of an accumulator that are sent and kept."""
        name = self._name(accumulator)
        return [f"{name} {part}" for part in range(len(accumulator.columns))]

    def _nothing(self, name: str, table: pa.Table) -> pa.Array:
        """Return a column of an accumulator that nobody wanted when a table was made."""
        place = len(self.keys) + 2 + self.lasting_names.index(name)
        (value,) = self.cells.nothing.column(place).chunks
        return value.take(pa.array(np.zeros(table.num_rows, np.int64)))

    def merged(self, tables: Sequence[pa.Table]) -> SetCells:
        """Return cells as one for each key, set and pane, sorted by key, pane and set."""
        loaded = self.loaded(tables)
        columns = [column.combine_chunks() for column in loaded.table.columns]
        codes, size = key_codes(columns[: len(self.keys)], loaded.table.num_rows)
        rank = ranked(columns[len(self.keys) + 1]).rank
        groups = key_and_pane(
            codes, size, rank * len(loaded.packed) + ints(columns[len(self.keys)])
        )
        if len(groups) < loaded.table.num_rows:
            return SetCells(self.cells.grouped(columns, groups), loaded.packed)
        return SetCells(loaded.table.take(pa.array(groups.member)), loaded.packed)
