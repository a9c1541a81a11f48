"""Rows of a query under a budget as they travel: with their ticks, hashes and values.

They are not combined before the shard, because the shard decides which of them are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import UnknownColumnError
from muntin.kernels.arrays import Floats, Ints, Words
from muntin.kernels.hashing import mixed, value_hashes
from muntin.kernels.ticks import to_ticks
from muntin.specs.axis import Axis
from muntin.specs.overload import Policy

#: The tick of a row, null if it has no place on the axis; its hash; and what its value is.
TICK, HASH, VALUE = "_tick", "_hash", "_value"
#: All columns that rows have beside those of their query: also the hash of the value that a summary
#: counts, and how the names of columns begin that a preference reads.
BESIDE = (TICK, HASH, VALUE, "_counted", "_read_")
_SEED = np.uint64(0x9E37_79B9_7F4A_7C15)


def travelling(
    rows: pa.Table,
    on: pa.ChunkedArray,
    axis: Axis,
    policy: Policy,
    read: pa.Table,
    preferred: Mapping[str, pa.Array],
) -> pa.Table:
    """Return rows of a query as they travel.

    ``read`` are the same rows with all their columns, and ``preferred`` what a preference reads.
    """
    ticks = to_ticks(on.combine_chunks(), axis)
    tick = pa.array(ticks.tick, mask=ticks.refusal != 0)
    hashed = pa.array(row_hashes(rows, policy.seed).view(np.int64))
    values = pa.nulls(rows.num_rows, pa.float64())
    if policy.column is not None:
        values = _values(policy.column, read)
    for name, column in {TICK: tick, HASH: hashed, VALUE: values, **preferred}.items():
        rows = rows.append_column(name, column)
    return rows


def plain(rows: pa.Table) -> pa.Table:
    """Return rows with the columns of their query only."""
    first = rows.schema.get_field_index(TICK)
    return rows.select(rows.column_names[:first])


def row_hashes(rows: pa.Table, seed: int) -> Words:
    """Return a hash of each row, the same wherever the row is read."""
    hashed = np.full(rows.num_rows, np.uint64(seed % 2**64) ^ _SEED)
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not pa.types.is_nested(column.type):
            hashed = mixed(hashed * np.uint64(31) + value_hashes(column))
    return hashed


def repeated(hashed: Ints) -> Ints:
    """Number the rows with the same hash from 0, in any order: equal rows can be exchanged."""
    order = np.argsort(hashed, kind="stable")
    ordered = hashed[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1 if len(ordered) else ordered))
    counts = np.diff(np.append(first, len(ordered)))
    numbers = np.empty(len(hashed), np.int64)
    numbers[order] = np.arange(len(hashed)) - np.repeat(first, counts)
    return numbers


def draws(rows: pa.Table) -> Words:
    """Return a number for each row that orders rows at random, equal rows apart."""
    hashed = rows[HASH].to_numpy().astype(np.int64)
    again = repeated(hashed).view(np.uint64)
    return mixed(hashed.view(np.uint64) + mixed(again + _SEED))


def graph_values(x: Floats, policy: Policy) -> Floats:
    """Return the values of rows by the graph of a policy; a null is worth nothing."""
    places, values = zip(*policy.graph, strict=True)
    found: Floats = np.interp(x, places, values)
    return np.where(np.isnan(x), -np.inf, found)


def concatenated(tables: Sequence[pa.Table]) -> pa.Table | None:
    """Return tables of one input as one; None if there are none."""
    return pa.concat_tables(tables) if tables else None


def _values(name: str, read: pa.Table) -> pa.ChunkedArray:
    """Return the column that says what rows are worth, as doubles."""
    known = {own.casefold(): own for own in read.column_names}
    if name.casefold() not in known:
        raise UnknownColumnError("policy", name, read.column_names)
    return pc.cast(read[known[name.casefold()]], pa.float64())
