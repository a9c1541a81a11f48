"""Eviction: a join over its limit of bytes drops rows, the oldest of both sides first [FJ-16]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.operators.common.completeness import Front
from muntin.operators.join.held_rows import GONE, MET, HeldSide, Pool
from muntin.operators.join.side import SideRows
from muntin.operators.protocol import Changes, State, ints


class EvictingJoin(Protocol):
    """The parts of a join that eviction needs."""

    @property
    def sides(self) -> tuple[SideRows, SideRows]:
        """The rows of each side."""

    def stores(self, state: State) -> Sequence[HeldSide]:
        """Return the held rows of each side."""

    def over(self, place: int, order: Ints, complete: Ints) -> Mask:
        """Return the mask of rows for which no partner can arrive."""

    def unmet(self, pools: Sequence[Pool], place: int, alone: Mask) -> pa.Table:
        """Return the results of rows that are dropped without a partner."""


@dataclass(frozen=True)
class StateAfterChanges:
    """The state as it will be after some changes."""

    state: State
    changes: Changes

    def buckets(self, table: str) -> Sequence[int]:
        known = set(self.state.buckets(table))
        for (name, bucket), chunk in self.changes.items():
            if name == table:
                (known.discard if chunk is None else known.add)(bucket)
        return sorted(known)

    def read(self, table: str, bucket: int) -> pa.Table:
        chunk = self.changes.get((table, bucket))
        return self.state.read(table, bucket) if chunk is None else chunk


def evict(
    work: EvictingJoin, limit: int, state: State, changes: Changes, fronts: Sequence[Front]
) -> tuple[list[pa.Table], int]:
    """Drop rows until the held ones take no more bytes than the limit; update ``changes``.

    Return the results of dropped rows that never had a partner, and the number of dropped rows.
    """
    results: list[pa.Table] = []
    count = 0
    # The bytes of a row are estimated from its chunk, so one round may not be enough.
    while True:
        stores = work.stores(StateAfterChanges(state, changes))
        excess = sum(store.held.weight for store in stores) - limit
        if excess <= 0:
            _forget_unwritten(state, changes)
            return results, count
        pools, evicted, idle = _oldest(work, stores, fronts, excess)
        for place, (store, pool) in enumerate(zip(stores, pools, strict=True)):
            results.append(work.unmet(pools, place, evicted[place] & (pool.mark != MET)))
            count += int(evicted[place].sum())
            mark = np.where(evicted[place] | idle[place], GONE, pool.mark).astype(np.uint8)
            changes.update(store.change(pool, mark, at_once=True))


def _forget_unwritten(state: State, changes: Changes) -> None:
    """Remove deletions of chunks that were never stored: this step added and dropped them."""
    for name, bucket in [key for key, chunk in changes.items() if chunk is None]:
        if bucket not in state.buckets(name):
            del changes[name, bucket]


def _oldest(
    work: EvictingJoin, stores: Sequence[HeldSide], fronts: Sequence[Front], excess: int
) -> tuple[list[Pool], list[Mask], list[Mask]]:
    """Return the chunks with the oldest rows, the rows to evict, and the rows without use."""
    chunks = _by_age(stores)
    least, side, name, weight = chunks
    taken = int(np.searchsorted(np.cumsum(weight), excess)) + 1
    while True:
        pools = [
            store.pool(store.schema.empty_table(), name[:taken][side[:taken] == place].tolist())
            for place, store in enumerate(stores)
        ]
        idle = [_idle(work, place, pool, fronts) for place, pool in enumerate(pools)]
        order = np.concatenate([pool.order for pool in pools])
        needless = np.concatenate(idle)
        # Rows without use go first; they do not count as evicted.
        place = np.lexsort((order, ~needless))
        share = np.concatenate([_shares(pool) for pool in pools])[place]
        going = place[: int(np.searchsorted(np.cumsum(share), excess)) + 1]
        youngest = order[going].max()
        unread = least[taken:]
        if not len(unread) or youngest <= unread.min():
            break
        taken = int(np.searchsorted(least, youngest))  # chunks up to there may hold older rows
    evicted = np.zeros(len(order), np.bool_)
    evicted[going] = True
    evicted &= ~needless
    return pools, np.split(evicted, [len(pools[0].order)]), idle


def _by_age(stores: Sequence[HeldSide]) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the least order, side, name and bytes of all chunks, the oldest first."""
    tables = [store.held.index for store in stores]
    side = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
    both = pa.concat_tables(tables)
    least, name, weight = (ints(both[column]) for column in ("least", "chunk", "bytes"))
    place = np.argsort(least, kind="stable")
    return least[place], side[place], name[place], weight[place]


def _idle(work: EvictingJoin, place: int, pool: Pool, fronts: Sequence[Front]) -> Mask:
    """Return the mask of rows that are still in a chunk but no longer needed."""
    complete = fronts[1 - place].after(pool.rows.select(work.sides[place].key_names))
    idle: Mask = work.over(place, pool.order, complete) | (pool.mark == GONE)
    return idle


def _shares(pool: Pool) -> npt.NDArray[np.float64]:
    """Return the bytes of each row, as an equal share of its chunk."""
    sizes = [chunk.num_rows for chunk in pool.chunks.values()]
    weights = [chunk.nbytes / chunk.num_rows for chunk in pool.chunks.values()]
    return np.repeat(np.array(weights, np.float64), sizes)
