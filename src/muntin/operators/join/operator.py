"""Two streams joined by where their rows lie: the distance join and the zipper.

Rows meet as soon as both are there. A row waits as long as a partner may still come; then it is
let go, and reported without one if the join asks for that and none has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.operators.common.arrow_columns import key_fields
from muntin.operators.common.completeness import Front, careful
from muntin.operators.common.keys import KeyedTables
from muntin.operators.fill.held_rows import reached
from muntin.operators.join.candidate_pairs import PairCondition, PairSearch
from muntin.operators.join.eviction import evict
from muntin.operators.join.held_rows import GONE, MET, HeldSide, Marks, Pool
from muntin.operators.join.reach import JoinReach
from muntin.operators.join.side import SideRows
from muntin.operators.protocol import Changes, InputBatch, MapSide, State, Step
from muntin.specs.join import left_only, pads_left, pads_right


@dataclass(frozen=True)
class PairJoinOperator:
    """Left and right rows of equal keys that are within ``reach``, and for which ``where`` holds.

    Results have the keys ``k0..``, ``left0..`` and, unless left rows are reported by themselves
    (semi, anti), ``right0..``. Where rows that are held weigh more than ``limit`` bytes the oldest
    are let go [FJ-16].
    """

    reach: JoinReach
    sides: tuple[SideRows, SideRows]
    how: str = "inner"
    where: PairCondition | None = None
    limit: int | None = None

    def __getstate__(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def map_sides(self) -> Sequence[MapSide]:
        return self.sides

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return [side.key_names for side in self.sides]

    @property
    def may_refuse(self) -> bool:
        return False

    @cached_property
    def result_schema(self) -> pa.Schema:
        left, right = self.sides
        partner = [] if left_only(self.how) else right.told("right")
        return pa.schema([*key_fields(left.keys), *left.told("left"), *partner])

    @property
    def remembers(self) -> tuple[bool, bool]:
        """Whether it matters, for each side, which rows have met or were reported."""
        return pads_left(self.how) or left_only(self.how), pads_right(self.how)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        came = [side.in_time(one) for side, one in zip(self.sides, inputs, strict=True)]
        fronts = [Front(self.reach.axis, one.punctuation) for one in inputs]
        stores = self.stores(state)
        pools = self._pools(stores, [rows for rows, _ in came], fronts)
        keyed = KeyedTables.of(self.sides[0].key_names, [pool.rows for pool in pools])
        results, met = self._meet(pools, keyed)
        changes: Changes = {}
        for place, pool in enumerate(pools):
            complete = fronts[1 - place].after(keyed.keys)[keyed.numbers[place]]
            over = self.over(place, pool.order, complete)
            results.append(self.unmet(pools, place, over & ~met[place]))
            changes |= stores[place].change(pool, self._marks(place, pool, met[place], over))
        evicted = 0
        if self.limit is not None:
            more, evicted = evict(self, self.limit, state, changes, fronts)
            results += more
        return Step(pa.concat_tables(results), changes, [counts for _, counts in came], evicted)

    def stores(self, state: State) -> list[HeldSide]:
        return [
            HeldSide.of(state, f"side{place}:", side.schema, remembers=remembers)
            for place, (side, remembers) in enumerate(zip(self.sides, self.remembers, strict=True))
        ]

    def _pools(
        self, stores: Sequence[HeldSide], new: Sequence[pa.Table], fronts: Sequence[Front]
    ) -> list[Pool]:
        """New rows, and the held ones that they may meet or that may be over now."""
        reach = self.reach
        left, right = (table["order"].to_numpy() for table in new)
        least, most = stores[0].held.bounds
        low, high = careful(reach.low, least), careful(reach.high, most)
        asked = reached(low, high, right, right)
        asked |= reached(careful(reach.high, least), high, *_moved(*fronts[1].lifted()))
        least, most = stores[1].held.bounds
        wanted = reached(least, most, reach.low(left), reach.high(left))
        lifted = [careful(reach.low, order) for order in fronts[0].lifted()]
        wanted |= reached(least, most, *_moved(*lifted))
        return [
            store.pool(rows, store.held.chosen(mask))
            for store, rows, mask in zip(stores, new, (asked, wanted), strict=True)
        ]

    def _meet(self, pools: Sequence[Pool], keyed: KeyedTables) -> tuple[list[pa.Table], list[Mask]]:
        """The pairs, and which rows of each side have met one by now."""
        met = [pool.mark == MET for pool in pools]
        before = met[0].copy()
        results = [self.result_schema.empty_table()]
        meeting = PairSearch(self.reach, pools[0], pools[1], keyed)
        if left_only(self.how) and self.where is None:
            met[0] |= meeting.some()
        else:
            for left, right in self._pairs(meeting, pools):
                met[0][left] = True
                met[1][right] = True
                if not left_only(self.how):
                    results.append(self._told(pools, left, right))
        if self.how == "semi":
            results.append(self._told(pools, np.flatnonzero(met[0] & ~before), None))
        return results, met

    def _pairs(self, meeting: PairSearch, pools: Sequence[Pool]) -> Iterator[tuple[Ints, Ints]]:
        for left, right in meeting.pairs():
            if self.where is None:
                yield left, right
                continue
            holds = self.where.holds([pool.rows for pool in pools], (left, right))
            yield left[holds], right[holds]

    def over(self, place: int, order: Ints, complete: Ints) -> Mask:
        """Which rows no partner can come for, when the other side is complete so far."""
        if place:
            return order < careful(self.reach.low, complete)
        return careful(self.reach.high, order) < complete

    def _marks(self, place: int, pool: Pool, met: Mask, over: Mask) -> Marks:
        gone = over | (pool.mark == GONE)
        if place == 0 and left_only(self.how):
            gone |= met  # it has been reported, or never will be
        return np.where(gone, GONE, np.where(met, MET, 0)).astype(np.uint8)

    def unmet(self, pools: Sequence[Pool], place: int, alone: Mask) -> pa.Table:
        """Rows of a side that are let go without ever having had a partner."""
        if not (pads_right(self.how) if place else pads_left(self.how)):
            return self.result_schema.empty_table()
        rows = np.flatnonzero(alone & (pools[place].mark != GONE))
        return self._told(pools, None, rows) if place else self._told(pools, rows, None)

    def _told(self, pools: Sequence[Pool], left: Ints | None, right: Ints | None) -> pa.Table:
        """Pairs as results; a side without rows has nulls."""
        names, rows = self.sides[0].key_names, [left, right]
        count = len(right if left is None else left)  # type: ignore[arg-type]
        keys = pools[1 if left is None else 0].rows.select(names)
        columns = keys.take(pa.array(right if left is None else left)).columns
        for place in range(1 if left_only(self.how) else 2):
            side, own = self.sides[place], rows[place]
            if own is None:
                columns += [pa.nulls(count, type_) for type_ in side.columns]
            else:
                told = pools[place].rows.select(side.column_names)
                columns += told.take(pa.array(own)).columns
        return pa.Table.from_arrays(columns, schema=self.result_schema)


def _moved(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The stretches ``[low, high)`` that are not empty, with their last order."""
    some = low < high
    return low[some], high[some] - 1
