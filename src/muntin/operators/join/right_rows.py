"""Right rows of an as-of join: sorted by key and order, and the last rows before the cut.

Rows up to the cut have been passed: of them only the last of each key may still be a partner. A
passed row may be of any age, so passed rows are stored by key, not by order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import by_key_and_order
from muntin.kernels.numbers.order_keys import tie_ranks
from muntin.kernels.stretches import first_within, last_within
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.protocol import Changes, ScopedState, State, forget, ints

PASSED, LEAST = "rows", "least"
_LEAST = pa.schema([(name, pa.int64()) for name in ("bucket", "least")])


@dataclass(frozen=True)
class PassedRows:
    """The passed rows in buckets by key, and the least order in each bucket."""

    scope: ScopedState
    names: Sequence[str]

    @classmethod
    def of(cls, state: State, prefix: str, names: Sequence[str]) -> PassedRows:
        return cls(ScopedState(state, prefix), names)

    def read(self, keys: Sequence[pa.Table], floor: int) -> dict[int, pa.Table]:
        """Read the buckets of some keys, and those with a row below the floor."""
        known = self._least
        if not known:
            return {}
        wanted = {int(b) for table in keys for b in np.unique(self.buckets(table))}
        wanted |= {bucket for bucket, least in known.items() if least < floor}
        return {bucket: self.scope.read(PASSED, bucket) for bucket in known if bucket in wanted}

    @property
    def some(self) -> bool:
        """True if there are passed rows."""
        return bool(self.scope.buckets(LEAST))

    def buckets(self, table: pa.Table) -> Ints:
        return key_buckets(table, self.names)

    @property
    def _least(self) -> dict[int, int]:
        if not self.scope.buckets(LEAST):
            return {}
        table = self.scope.read(LEAST, 0)
        return dict(zip(*(ints(table[name]).tolist() for name in _LEAST.names), strict=True))

    def change(self, read: dict[int, pa.Table], rows: pa.Table, old: Mask) -> Changes:
        """Return the changes that replace the buckets ``read`` by ``rows``.

        ``old`` is the mask of rows that were already in these buckets.
        """
        least = self._least
        bucket = self.buckets(rows)
        changed = {*np.unique(bucket[~old]).tolist()}
        changed |= {n for n, chunk in read.items() if chunk.num_rows != (bucket == n).sum()}
        changes = BucketedTable(self.scope, PASSED).write(rows, bucket, changed)
        for (_, number), chunk in changes.items():
            least.pop(number, None)
            if chunk is not None:
                least[number] = int(ints(chunk["order"]).min())
        if changes:
            changes[LEAST, 0] = self._table(least)
        return self.scope.named(changes)

    def _table(self, least: dict[int, int]) -> pa.Table | None:
        if not least:
            return None
        return pa.Table.from_arrays([list(least), list(least.values())], schema=_LEAST)

    def forget(self) -> Changes:
        return self.scope.named(forget(self.scope, PASSED, LEAST))


@dataclass(frozen=True)
class SortedRightRows:
    """Rows sorted by key and order, one for each pair of both.

    ``place`` has their indexes in their table; the rows of key n begin at ``starts[n]``.
    """

    place: Ints
    key: Ints
    order: Ints
    starts: Ints

    @classmethod
    def of(
        cls, rows: pa.Table, key: Ints, order: Ints, keys: int, ties: Sequence[str]
    ) -> SortedRightRows:
        """Sort rows; where key and order are equal, keep the row with the greatest ties.

        Null is greater than any value.
        """
        place, starts = by_key_and_order(key, order, keys)
        key, order = key[place], order[place]
        same = np.zeros(len(place), np.bool_)
        same[1:] = (key[1:] == key[:-1]) & (order[1:] == order[:-1])
        if not same.any():
            return cls(place, key, order, starts)
        group = np.cumsum(~same)
        tied = np.flatnonzero(np.bincount(group, minlength=len(group) + 1)[group] > 1)
        ranks = [
            tie_ranks(rows[name].take(pa.array(place[tied])).combine_chunks()) for name in ties
        ]
        sorted_ = np.arange(len(place))
        sorted_[tied] = tied[np.lexsort((*reversed(ranks), group[tied]))]
        kept = sorted_[np.append(~same[1:], True)]
        counts = np.bincount(key[kept], minlength=keys)
        return cls(place[kept], key[kept], order[kept], np.append(0, np.cumsum(counts)))

    def last(self, key: Ints, low: Ints, high: Ints) -> Ints:
        """Return for keys and stretches of orders the last row inside, or -1."""
        return last_within(self.starts, self.order, key, low, high)

    def first(self, key: Ints, low: Ints, high: Ints) -> Ints:
        """Return for keys and stretches of orders the first row inside, or -1."""
        return first_within(self.starts, self.order, key, low, high)

    def latest(self, cut: Ints, count: int) -> Mask:
        """Return the mask of the last ``count`` rows of each key up to its cut."""
        passed = np.bincount(self.key[self.order <= cut[self.key]], minlength=len(cut))
        stop = (self.starts[:-1] + passed)[self.key]
        row = np.arange(len(self.key))
        return (row < stop) & (row >= stop - count)
