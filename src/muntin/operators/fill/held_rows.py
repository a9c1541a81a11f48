"""Rows that may still be asked for, in chunks of state.

An index has the least and the greatest order of each chunk. A step reads only the chunks with rows
that it needs or drops, and rewrites a chunk when few of its rows are left.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.operators.protocol import Changes, State, ints

ROWS, INDEX = "rows", "index"
#: The most rows in a chunk, and the number of chunks above which they are merged.
_CHUNK_ROWS, _CHUNKS = 16_384, 256
_INDEX = pa.schema([(name, pa.int64()) for name in ("chunk", "least", "most", "bytes")])


@dataclass(frozen=True)
class HeldChunks:
    """The chunks in the state; ``index`` has their names, least and greatest orders, and bytes."""

    state: State
    index: pa.Table

    @classmethod
    def of(cls, state: State) -> HeldChunks:
        stored = state.buckets(INDEX)
        return cls(state, state.read(INDEX, 0) if stored else _INDEX.empty_table())

    @property
    def weight(self) -> int:
        """The bytes of all rows."""
        return int(ints(self.index["bytes"]).sum())

    @property
    def bounds(self) -> tuple[Ints, Ints]:
        """The least and the greatest order of each chunk."""
        return ints(self.index["least"]), ints(self.index["most"])

    def touched(self, low: Ints, high: Ints) -> list[int]:
        """Return the chunks that overlap a stretch ``[low, high]``; all if there are too many."""
        return self.chosen(reached(*self.bounds, low, high))

    def chosen(self, wanted: Mask) -> list[int]:
        """Return the wanted chunks; all chunks if there are too many, so that they are merged."""
        names = ints(self.index["chunk"])
        return [int(name) for name in (names if len(names) > _CHUNKS else names[wanted])]

    def read(self, chunks: Sequence[int]) -> dict[int, pa.Table]:
        return {chunk: self.state.read(ROWS, chunk) for chunk in chunks}

    def change(
        self,
        read: Mapping[int, pa.Table],
        keep: Sequence[Mask],
        new: pa.Table,
        *,
        at_once: bool = False,
    ) -> Changes:
        """Return the changes that keep some rows of the chunks that were read, and ``new`` rows.

        ``keep`` has a mask for each chunk. A chunk is rewritten when at most half of its rows are
        kept; with ``at_once``, when any row is dropped.
        """
        changes: Changes = {}
        loose = [new] if new.num_rows else []
        crowded = len(read) > _CHUNKS
        for (chunk, rows), stay in zip(read.items(), keep, strict=True):
            left = int(stay.sum())
            if left == rows.num_rows if at_once else 2 * left > rows.num_rows and not crowded:
                continue  # the chunk stays as it is
            changes[ROWS, chunk] = None
            if left:
                loose.append(rows.filter(pa.array(stay)))
        gone = {chunk for _, chunk in changes}
        added = self._chunks(loose, gone, changes)
        if gone or added:
            stays = [int(name) not in gone for name in ints(self.index["chunk"])]
            kept = self.index.filter(pa.array(stays, pa.bool_()))
            index = pa.concat_tables([kept, pa.Table.from_pylist(added, _INDEX)])
            changes[INDEX, 0] = index if index.num_rows else None
        return changes

    def _chunks(
        self, loose: Sequence[pa.Table], gone: set[int], changes: Changes
    ) -> list[dict[str, int]]:
        """Cut rows by order into chunks named by their least order; return their index rows."""
        if not loose:
            return []
        rows = pa.concat_tables(loose)
        order = ints(rows["order"])
        place = np.argsort(order, kind="stable")
        rows, order = rows.take(pa.array(place)), order[place]
        taken = {int(name) for name in ints(self.index["chunk"])} - gone
        index_rows = []
        cuts = [*range(0, len(order), _CHUNK_ROWS), len(order)]
        for start, stop in itertools.pairwise(cuts):
            name = int(order[start])
            while name in taken:
                name += 1
            taken.add(name)
            chunk = rows.slice(start, stop - start)
            changes[ROWS, name] = chunk
            least, most = int(order[start]), int(order[stop - 1])
            index_rows.append({"chunk": name, "least": least, "most": most, "bytes": chunk.nbytes})
        return index_rows


def reached(least: Ints, most: Ints, low: Ints, high: Ints) -> Mask:
    """Return the mask of chunks that overlap one of the stretches ``[low, high]``.

    A stretch that ends before a chunk also begins before the chunk ends. So a chunk overlaps one if
    more stretches begin by its end than end before its start.
    """
    if not len(least):
        return np.zeros(0, np.bool_)
    asked = low <= high
    begun = np.searchsorted(np.sort(low[asked]), most, side="right")
    ended = np.searchsorted(np.sort(high[asked]), least, side="left")
    overlaps: Mask = begun > ended
    return overlaps
