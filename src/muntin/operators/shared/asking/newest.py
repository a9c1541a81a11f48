"""The answer of a micro-batch: for each key the newest rows that a query has reported so far.

It does not matter in which parts, or in which order, rows are brought together: the newest of the
newest are the newest. So a shard can keep its own newest rows, and whoever asks takes the newest of
all shards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import key_codes

#: The column of kept answers with the micro-batch in which a row became certain.
CERTAIN_IN = "_certain_in"


@dataclass(frozen=True)
class NewestOf:
    """Which columns of an answer are keys, and which tell newer from older, the first one first.

    A query that selects neither keys nor bounds has one answer: the rows of the last micro-batch in
    which it reported any.
    """

    keys: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()

    def of(self, rows: pa.Table) -> pa.Table:
        """Return the newest rows of each key; the micro-batch counts before the bounds."""
        if not rows.num_rows:
            return rows
        rows = rows.combine_chunks()
        group, size = key_codes([_one(rows[name]) for name in self.keys], rows.num_rows)
        chosen: Mask = np.ones(rows.num_rows, np.bool_)
        for name in (CERTAIN_IN, *self.bounds):
            rank = _ranks(rows[name])
            greatest: Ints = np.full(size, -1, np.int64)
            np.maximum.at(greatest, group[chosen], rank[chosen])
            chosen &= rank == greatest[group]
        return rows.filter(pa.array(chosen))


def certain_in(answers: pa.Table, micro_batch: int) -> pa.Table:
    """Return answers with the micro-batch in which they became certain, as the last column."""
    column = pa.repeat(pa.scalar(micro_batch, pa.int64()), answers.num_rows)
    return answers.append_column(CERTAIN_IN, column)


def orderable(type_: pa.DataType) -> bool:
    """Return whether values of a type can be compared here."""
    return not (pa.types.is_nested(type_) or pa.types.is_null(type_))


def _ranks(column: pa.ChunkedArray) -> Ints:
    """Return numbers in the order of the values; null is before all others."""
    values = _one(column)
    ranks: Ints = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64)
    ranks[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return ranks


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
