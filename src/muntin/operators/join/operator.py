"""The distance join and the zipper: rows of two streams match by where they lie.

A pair is reported as soon as both rows have arrived. A row is held while a partner may still
arrive, then dropped. An outer or anti join reports a dropped row that had no partner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import KeyedTables
from muntin.operators.common.completeness import Front, careful
from muntin.operators.fill.held_rows import reached
from muntin.operators.join.candidate_pairs import PairCondition, PairSearch
from muntin.operators.join.eviction import evict
from muntin.operators.join.held_rows import GONE, MET, HeldSide, Marks, Pool
from muntin.operators.join.reach import JoinReach
from muntin.operators.join.side import SideRows, TwoSides
from muntin.operators.protocol import Changes, InputBatch, State, Step, key_fields
from muntin.specs.join import left_only, pads_left, pads_right


@dataclass(frozen=True)
class PairJoinOperator(TwoSides):
    """Joins left and right rows that have equal keys, lie within ``reach``, and meet ``where``.

    Results have the keys ``k0..``, the columns ``left0..`` and, unless only left rows are reported
    (semi, anti), ``right0..``. If held rows take more than ``limit`` bytes, the oldest are dropped
    [FJ-16].
    """

    reach: JoinReach
    sides: tuple[SideRows, SideRows]
    how: str = "inner"
    where: PairCondition | None = None
    limit: int | None = None

    def __getstate__(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def result_schema(self) -> pa.Schema:
        left, right = self.sides
        partner = [] if left_only(self.how) else right.result_fields("right")
        return pa.schema([*key_fields(left.keys), *left.result_fields("left"), *partner])

    def among(self, shards: int) -> PairJoinOperator:
        """Return the operator of one of several shards, which may hold its share of the limit."""
        if self.limit is None:
            return self
        return replace(self, limit=max(1, self.limit // shards))

    @property
    def remembers(self) -> tuple[bool, bool]:
        """Whether results depend on which rows of each side have had a partner."""
        return pads_left(self.how) or left_only(self.how), pads_right(self.how)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        arrived = [side.in_time(batch) for side, batch in zip(self.sides, inputs, strict=True)]
        fronts = [Front(self.reach.axis, batch.punctuation) for batch in inputs]
        stores = self.stores(state)
        pools = self.pools(stores, [rows for rows, _ in arrived], fronts)
        keyed = KeyedTables.of(self.sides[0].key_names, [pool.rows for pool in pools])
        results, met = self._match(pools, keyed)
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
        return Step(pa.concat_tables(results), changes, [counts for _, counts in arrived], evicted)

    def stores(self, state: State) -> list[HeldSide]:
        return [
            HeldSide.of(state, f"side{place}:", side.schema, remembers=remembers)
            for place, (side, remembers) in enumerate(zip(self.sides, self.remembers, strict=True))
        ]

    def pools(
        self, stores: Sequence[HeldSide], new: Sequence[pa.Table], fronts: Sequence[Front]
    ) -> list[Pool]:
        """Return for each side its new rows, and held rows that may match or may be over now."""
        reach = self.reach
        left, right = (table["order"].to_numpy() for table in new)
        least, most = stores[0].held.bounds
        low, high = careful(reach.low, least), careful(reach.high, most)
        left_chunks = reached(low, high, right, right)
        left_chunks |= reached(careful(reach.high, least), high, *_closed(*fronts[1].lifted()))
        least, most = stores[1].held.bounds
        right_chunks = reached(least, most, reach.low(left), reach.high(left))
        lifted = [careful(reach.low, order) for order in fronts[0].lifted()]
        right_chunks |= reached(least, most, *_closed(*lifted))
        return [
            store.pool(rows, store.held.chosen(mask))
            for store, rows, mask in zip(stores, new, (left_chunks, right_chunks), strict=True)
        ]

    def _match(
        self, pools: Sequence[Pool], keyed: KeyedTables
    ) -> tuple[list[pa.Table], list[Mask]]:
        """Return the results of pairs, and the masks of rows that have had a partner by now."""
        met = [pool.mark == MET for pool in pools]
        before = met[0].copy()
        results = [self.result_schema.empty_table()]
        search = PairSearch(self.reach, pools[0], pools[1], keyed)
        if left_only(self.how) and self.where is None:
            met[0] |= search.some()
        else:
            for left, right in self._pairs(search, pools):
                met[0][left] = True
                met[1][right] = True
                if not left_only(self.how):
                    results.append(self._result_table(pools, left, right))
        if self.how == "semi":
            results.append(self._result_table(pools, np.flatnonzero(met[0] & ~before), None))
        return results, met

    def _pairs(self, search: PairSearch, pools: Sequence[Pool]) -> Iterator[tuple[Ints, Ints]]:
        for left, right in search.pairs():
            if self.where is None:
                yield left, right
                continue
            holds = self.where.holds([pool.rows for pool in pools], (left, right))
            yield left[holds], right[holds]

    def over(self, place: int, order: Ints, complete: Ints) -> Mask:
        """Return the mask of rows for which no partner can arrive any more.

        ``complete`` is the order up to which the other side is complete.
        """
        if place:
            return order < careful(self.reach.low, complete)
        return careful(self.reach.high, order) < complete

    def _marks(self, place: int, pool: Pool, met: Mask, over: Mask) -> Marks:
        gone = over | (pool.mark == GONE)
        if place == 0 and left_only(self.how):
            gone |= met  # reported already (semi), or never to be reported (anti)
        return np.where(gone, GONE, np.where(met, MET, 0)).astype(np.uint8)

    def unmet(self, pools: Sequence[Pool], place: int, alone: Mask) -> pa.Table:
        """Return the results of rows of a side that are dropped and never had a partner."""
        if not (pads_right(self.how) if place else pads_left(self.how)):
            return self.result_schema.empty_table()
        rows = np.flatnonzero(alone & (pools[place].mark != GONE))
        return (
            self._result_table(pools, None, rows)
            if place
            else self._result_table(pools, rows, None)
        )

    def _result_table(
        self, pools: Sequence[Pool], left: Ints | None, right: Ints | None
    ) -> pa.Table:
        """Return pairs as results; a side that is None has nulls."""
        names, rows = self.sides[0].key_names, [left, right]
        count = len(right if left is None else left)  # type: ignore[arg-type]
        keys = pools[1 if left is None else 0].rows.select(names)
        columns = keys.take(pa.array(right if left is None else left)).columns
        for place in range(1 if left_only(self.how) else 2):
            side, chosen = self.sides[place], rows[place]
            if chosen is None:
                columns += [pa.nulls(count, type_) for type_ in side.columns]
            else:
                side_columns = pools[place].rows.select(side.column_names)
                columns += side_columns.take(pa.array(chosen)).columns
        return pa.Table.from_arrays(columns, schema=self.result_schema)


def _closed(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the stretches ``[low, high)`` that are not empty, as first and last orders."""
    nonempty = low < high
    return low[nonempty], high[nonempty] - 1
