"""Right rows of an as-of join key by key in their order, one for each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import by_key_and_order
from muntin.kernels.numbers.order_keys import tie_ranks
from muntin.kernels.stretches import stretches


@dataclass(frozen=True)
class SortedRightRows:
    """``place`` says where rows stand in their table; rows of a key begin at its ``starts``."""

    place: Ints
    key: Ints
    order: Ints
    starts: Ints

    @classmethod
    def of(
        cls, rows: pa.Table, key: Ints, order: Ints, keys: int, ties: Sequence[str]
    ) -> SortedRightRows:
        """Of rows that share key and order the one with the greatest ties; null is the greatest."""
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
        """For keys and stretches of orders the last row inside, or -1."""
        first, behind = stretches(self.starts, self.order, key, low, high)
        return np.where(behind > first, behind - 1, -1)

    def first(self, key: Ints, low: Ints, high: Ints) -> Ints:
        """For keys and stretches of orders the first row inside, or -1."""
        first, behind = stretches(self.starts, self.order, key, low, high)
        return np.where(behind > first, first, -1)

    def latest(self, cut: Ints, count: int) -> Mask:
        """The last ``count`` rows of every key up to its cut."""
        passed = np.bincount(self.key[self.order <= cut[self.key]], minlength=len(cut))
        behind = (self.starts[:-1] + passed)[self.key]
        row = np.arange(len(self.key))
        return (row < behind) & (row >= behind - count)
