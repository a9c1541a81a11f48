"""One numbering of the keys for everything that a step looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.grouping import key_and_pane, key_codes


@dataclass(frozen=True)
class KeyedTables:
    """Tables with key columns: the different keys, and for each row of each table its key."""

    keys: pa.Table
    numbers: tuple[Ints, ...]

    def __len__(self) -> int:
        return int(self.keys.num_rows)

    @classmethod
    def of(cls, names: Sequence[str], tables: Sequence[pa.Table]) -> KeyedTables:
        rows = sum(table.num_rows for table in tables)
        if not names:
            # No key at all: one order for everything.
            one = pa.table({"": pa.nulls(1)}).select([])
            return cls(one, tuple(np.zeros(table.num_rows, np.int64) for table in tables))
        both = pa.concat_tables([table.select(names) for table in tables])
        codes, size = key_codes([column.combine_chunks() for column in both.columns], rows)
        groups = key_and_pane(codes, size, np.zeros(rows, np.int64))
        cuts = np.cumsum([table.num_rows for table in tables])[:-1]
        return cls(both.take(pa.array(groups.member)), tuple(np.split(groups.number, cuts)))

    def spread(self, table: int, values: pa.ChunkedArray, missing: int) -> Ints:
        """A column of a table that has each key once, as an entry for every key."""
        made = np.full(len(self), missing, np.int64)
        made[self.numbers[table]] = values.to_numpy()
        return made


def places(key: Ints) -> Ints:
    """Number the rows of each key from 0; the keys are sorted."""
    if not len(key):
        return key
    first = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
    counted: Ints = np.arange(len(key)) - np.repeat(first, np.diff(np.append(first, len(key))))
    return counted
