"""What a join would do with some of its new rows: how many pairs it would probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import KeyedTables, by_key_and_order
from muntin.kernels.stretches import stretches
from muntin.operators.common.completeness import Front
from muntin.operators.join.held_rows import GONE, Pool
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.protocol import Punctuation, State


@dataclass(frozen=True)
class JoinWork:
    """The new and held rows of a join; nothing is probed, pairs are only counted."""

    operator: PairJoinOperator
    pools: Sequence[Pool]
    keyed: KeyedTables

    @classmethod
    def of(
        cls,
        operator: PairJoinOperator,
        state: State,
        new: Sequence[pa.Table],
        punctuation: Sequence[Punctuation],
    ) -> JoinWork:
        """Return the work of new rows, in the form in which the operator gets them."""
        fronts = [Front(operator.reach.axis, own) for own in punctuation]
        pools = operator.pools(operator.stores(state), new, fronts)
        return cls(operator, pools, KeyedTables.of(operator.sides[0].key_names, [*_rows(pools)]))

    def units(self, chosen: Sequence[Mask]) -> int:
        """Return the units of some new rows: each is read and kept, and each pair is probed."""
        new = [np.flatnonzero(mask) for mask in chosen]
        held = [np.arange(pool.new, len(pool.order)) for pool in self.pools]
        waiting = held[0][self.pools[0].mark[held[0]] != GONE]
        pairs = self._pairs(new[0], np.concatenate([new[1], held[1]]))
        pairs += self._pairs(waiting, new[1])
        return pairs + 2 * sum(map(len, new))

    def _pairs(self, left: Ints, right: Ints) -> int:
        pools, numbers = self.pools, self.keyed.numbers
        order = pools[1].order[right]
        place, starts = by_key_and_order(numbers[1][right], order, len(self.keyed))
        own = pools[0].order[left]
        reach = self.operator.reach
        first, stops = stretches(
            starts, order[place], numbers[0][left], reach.low(own), reach.high(own)
        )
        return int((stops - first).sum())


def _rows(pools: Sequence[Pool]) -> list[pa.Table]:
    return [pool.rows for pool in pools]
