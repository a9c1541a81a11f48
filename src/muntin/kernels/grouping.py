"""Numbering groups: rows with equal keys, in one table or several, or with equal key and pane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.compile import (
    FLOATS,
    INT,
    INTS,
    NONE,
    OUT_FLOATS,
    OUT_INTS,
    kernel,
)
from muntin.kernels.numbers.double_double import add_exactly


@dataclass(frozen=True)
class Groups:
    """A group number for every row, and for every group a row that belongs to it.

    Groups are numbered in the order of the values that they are grouped by.
    """

    number: Ints
    member: Ints

    def __len__(self) -> int:
        return len(self.member)


def key_codes(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> tuple[Ints, int]:
    """Return a small number for each row, equal for equal keys; null is a key like any other."""
    if not columns:
        return np.zeros(rows, np.int64), 1
    codes, size = _codes(columns[0])
    for column in columns[1:]:
        more, values = _codes(column)
        codes = codes * values + more
        size *= max(1, values)
        if size > 4 * rows + 1024:
            # Many combinations do not occur; renumber so that the product cannot overflow.
            groups = _by_sorting(codes)
            codes, size = groups.number, len(groups)
    return codes, max(1, size)


def _codes(column: pa.Array | pa.ChunkedArray) -> tuple[Ints, int]:
    """Return a number for each value of a column, and how many there are."""
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    # The chunks of a column share one dictionary.
    chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    if not chunks:
        return np.zeros(0, np.int64), 0
    codes = np.empty(len(encoded), np.int64)
    start = 0
    for chunk in chunks:
        codes[start : start + len(chunk)] = chunk.indices.to_numpy(zero_copy_only=False)
        start += len(chunk)
    return codes, len(chunks[0].dictionary)


def find_keys(keys: pa.Table, among: pa.Table) -> Ints:
    """Return for each row of ``keys`` the row of ``among`` with the same key, or -1.

    Rows of ``keys`` may repeat; those of ``among`` are all different.
    """
    if not keys.column_names:
        return np.zeros(keys.num_rows, np.int64) if among.num_rows else np.full(keys.num_rows, -1)
    both = pa.concat_tables([among, keys])
    codes, size = key_codes(both.columns, both.num_rows)
    place = np.full(size, -1, np.int64)
    place[codes[: among.num_rows]] = np.arange(among.num_rows)
    rows: Ints = place[codes[among.num_rows :]]
    return rows


def greatest_of_keys(keys: pa.Table, ticks: Ints) -> tuple[pa.Table, Ints]:
    """Return every key once, with its greatest tick."""
    groups = of_codes(*key_codes(keys.columns, keys.num_rows))
    greatest = np.full(len(groups), np.iinfo(np.int64).min)
    np.maximum.at(greatest, groups.number, ticks)
    return keys.take(pa.array(groups.member)), greatest


def key_and_pane(codes: Ints, size: int, panes: Ints) -> Groups:
    """Return the groups of equal key and pane."""
    if len(codes) == 0:
        return Groups(codes, codes)
    least = panes.min()
    span = int(panes.max()) - int(least) + 1
    if span * size <= 8 * len(codes) + 65_536:
        cell = codes * span + (panes - least)
        number = np.empty(len(cell), np.int64)
        member = np.empty(len(cell), np.int64)
        first = np.full(span * size, -1, np.int64)
        return Groups(number, member[: _number_cells(cell, first, number, member)])
    if span >= 2**62 // size:
        ranked = _by_sorting(panes)
        return _by_sorting(codes * len(ranked) + ranked.number)
    return _by_sorting(codes * span + (panes - least))


def of_codes(codes: Ints, size: int) -> Groups:
    """Return the groups of equal codes, which are less than ``size``."""
    if len(codes) == 0:
        return Groups(codes, codes)
    if size > 8 * len(codes) + 65_536:
        return _by_sorting(codes)
    number, member = np.empty(len(codes), np.int64), np.empty(size, np.int64)
    first = np.full(size, -1, np.int64)
    groups = _number_cells(codes, first, number, member)
    return Groups(number, member[:groups])


@kernel(INT, INTS, OUT_INTS, OUT_INTS, OUT_INTS, in_python=True)
def _number_cells(cell: Ints, first: Ints, number: Ints, member: Ints) -> int:
    """Number the cells that occur, in order; ``first`` comes with -1 for every cell."""
    for row in range(len(cell)):
        if first[cell[row]] < 0:
            first[cell[row]] = row
    groups = 0
    for place in range(len(first)):
        if first[place] >= 0:
            member[groups] = first[place]
            first[place] = groups
            groups += 1
    for row in range(len(cell)):
        number[row] = first[cell[row]]
    return groups


def _by_sorting(codes: Ints) -> Groups:
    _, member, number = np.unique(codes, return_index=True, return_inverse=True)
    return Groups(number.astype(np.int64), member.astype(np.int64))


def by_key_and_order(key: Ints, order: Ints, keys: int) -> tuple[Ints, Ints]:
    """Return a stable permutation that sorts rows by key and order, and where each key begins."""
    starts = np.zeros(keys + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=keys), out=starts[1:])
    place = np.empty(len(key), np.int64)
    _sort(key, order, starts, place)
    return place, starts


@kernel(NONE, INTS, INTS, INTS, OUT_INTS)
def _sort(key: Ints, order: Ints, starts: Ints, place: Ints) -> None:
    filled = starts.copy()
    for row in range(len(key)):
        place[filled[key[row]]] = row
        filled[key[row]] += 1
    for number in range(len(starts) - 1):
        rows = place[starts[number] : starts[number + 1]]
        for at in range(1, len(rows)):
            if order[rows[at]] < order[rows[at - 1]]:
                rows[:] = rows[np.argsort(order[rows], kind="mergesort")]
                break


def by_key_order_and_ties(
    key: Ints, order: Ints, keys: int, ranks: Callable[[Ints], Sequence[Ints]]
) -> Ints:
    """Return a stable permutation that sorts rows by key, order and ties.

    Few rows have equal key and order. ``ranks`` is given these rows, and returns what orders them.
    """
    place, _ = by_key_and_order(key, order, keys)
    same = np.zeros(len(place) + 1, np.bool_)
    same[1:-1] = (key[place[1:]] == key[place[:-1]]) & (order[place[1:]] == order[place[:-1]])
    tied = np.flatnonzero(same[:-1] | same[1:])
    if len(tied):
        group = np.cumsum(~same[:-1])[tied]
        rows = place[tied]
        place[tied] = rows[np.lexsort((*reversed(ranks(rows)), group))]
    return place


@kernel(NONE, INTS, INTS, OUT_INTS, in_python=True)
def add_by_group(group: Ints, values: Ints, out: Ints) -> None:
    for row in range(len(group)):
        out[group[row]] += values[row]


@kernel(NONE, INTS, INTS, OUT_INTS, in_python=True)
def least_by_group(group: Ints, values: Ints, out: Ints) -> None:
    for row in range(len(group)):
        if values[row] < out[group[row]]:
            out[group[row]] = values[row]


@kernel(NONE, INTS, FLOATS, FLOATS, OUT_FLOATS, OUT_FLOATS, in_python=True)
def add_exactly_by_group(
    group: Ints, high: Floats, low: Floats, out_high: Floats, out_low: Floats
) -> None:
    for row in range(len(group)):
        target = group[row]
        out_high[target], out_low[target] = add_exactly(
            out_high[target], out_low[target], high[row], low[row]
        )


@dataclass(frozen=True)
class KeyedTables:
    """The distinct keys of some tables, and for each row of each table the number of its key."""

    keys: pa.Table
    numbers: tuple[Ints, ...]

    def __len__(self) -> int:
        return int(self.keys.num_rows)

    @classmethod
    def of(cls, names: Sequence[str], tables: Sequence[pa.Table]) -> KeyedTables:
        rows = sum(table.num_rows for table in tables)
        if not names:
            # Without key columns, all rows have the same key.
            no_columns = pa.table({"": pa.nulls(1)}).select([])
            return cls(no_columns, tuple(np.zeros(table.num_rows, np.int64) for table in tables))
        stacked = pa.concat_tables([table.select(names) for table in tables])
        groups = of_codes(*key_codes(stacked.columns, rows))
        cuts = np.cumsum([table.num_rows for table in tables])[:-1]
        return cls(stacked.take(pa.array(groups.member)), tuple(np.split(groups.number, cuts)))

    def spread(self, table: int, values: pa.ChunkedArray, missing: int) -> Ints:
        """Return the column of a table with one row per key as an array with one entry per key.

        Keys that are not in the table have the entry ``missing``.
        """
        entries = np.full(len(self), missing, np.int64)
        entries[self.numbers[table]] = values.to_numpy()
        return entries


def places(key: Ints) -> Ints:
    """Number the rows of each key from 0; rows are sorted by key."""
    if not len(key):
        return key
    first = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
    numbers: Ints = np.arange(len(key)) - np.repeat(first, np.diff(np.append(first, len(key))))
    return numbers
