"""One numbering of the keys of all tables that a step uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.grouping import key_and_pane, key_codes


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
        codes, size = key_codes([column.combine_chunks() for column in stacked.columns], rows)
        groups = key_and_pane(codes, size, np.zeros(rows, np.int64))
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
