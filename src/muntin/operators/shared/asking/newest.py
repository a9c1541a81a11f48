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
from muntin.operators.common.changes import FIRST, WITHDRAWN
from muntin.specs.emission import CHANGE, FINAL

#: The column of kept answers with the micro-batch in which a row became certain.
CERTAIN_IN = "_certain_in"


@dataclass(frozen=True)
class NewestOf:
    """Which columns of an answer are keys, and which tell newer from older, the first one first.

    A query that selects neither keys nor bounds has one answer: the rows of the last micro-batch in
    which it reported any. If rows are ``changes`` of early answers, the answer is all that is open,
    and of each key the newest that is final.
    """

    keys: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    changes: bool = False

    def of(self, rows: pa.Table) -> pa.Table:
        """Return the newest rows of each key; the micro-batch counts before the bounds.

        If they are changes, they are in the order in which they were made.
        """
        if not rows.num_rows:
            return rows
        rows = rows.combine_chunks()
        if self.changes:
            rows = self.applied(rows)
            final = rows.filter(rows[FINAL])
            still_open = rows.filter(pc.invert(rows[FINAL]))
            return pa.concat_tables([self._newest(final) if len(final) else final, still_open])
        return self._newest(rows)

    def applied(self, changes: pa.Table) -> pa.Table:
        """Return what changes make of an empty table: the last of each answer, if it is there."""
        identity = [_one(changes[name]) for name in (*self.keys, *self.bounds)]
        group, size = key_codes(identity, changes.num_rows)
        last: Ints = np.full(size, -1, np.int64)
        np.maximum.at(last, group, np.arange(changes.num_rows))
        rows = changes.take(pa.array(np.sort(last[last >= 0])))
        rows = rows.filter(pc.not_equal(rows[CHANGE], WITHDRAWN))
        firsts = pa.repeat(pa.scalar(FIRST), rows.num_rows)
        return rows.set_column(rows.schema.get_field_index(CHANGE), CHANGE, firsts)

    def _newest(self, rows: pa.Table) -> pa.Table:
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
