"""Rows that may still be asked for, in chunks of state that are read when somebody asks.

An index says from where to where each chunk reaches. A step reads the chunks in which something
is asked for or let go, and writes again those of which little is left.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.operators.common.arrow_columns import ints
from muntin.operators.protocol import Changes, State

ROWS, INDEX = "rows", "index"
#: About so many rows are a chunk, unless fewer came; so many chunks are put together again.
_CHUNK_ROWS, _CHUNKS = 16_384, 256
_INDEX = pa.schema([(name, pa.int64()) for name in ("chunk", "least", "most", "bytes")])


@dataclass(frozen=True)
class HeldChunks:
    """The chunks there are: their names, the least and greatest order in each, and their size."""

    state: State
    index: pa.Table

    @classmethod
    def of(cls, state: State) -> HeldChunks:
        found = state.buckets(INDEX)
        return cls(state, state.read(INDEX, 0) if found else _INDEX.empty_table())

    @property
    def weight(self) -> int:
        """How many bytes the rows are."""
        return int(ints(self.index["bytes"]).sum())

    @property
    def bounds(self) -> tuple[Ints, Ints]:
        """The least and the greatest order of each chunk."""
        return ints(self.index["least"]), ints(self.index["most"])

    def touched(self, low: Ints, high: Ints) -> list[int]:
        """The chunks that reach into one of the stretches ``[low, high]``; all, if too many."""
        return self.chosen(reached(*self.bounds, low, high))

    def chosen(self, wanted: Mask) -> list[int]:
        """The chunks that are wanted; all, if they have become too many."""
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
        """Keep what is to be kept of the chunks that were read, and the ``new`` rows.

        Rows that are not kept leave their chunk when it is half empty, or ``at_once``.
        """
        changes: Changes = {}
        loose = [new] if new.num_rows else []
        crowded = len(read) > _CHUNKS
        for (chunk, rows), stay in zip(read.items(), keep, strict=True):
            left = int(stay.sum())
            if left == rows.num_rows if at_once else 2 * left > rows.num_rows and not crowded:
                continue  # not worth writing again yet
            changes[ROWS, chunk] = None
            if left:
                loose.append(rows.filter(pa.array(stay)))
        gone = {chunk for _, chunk in changes}
        made = self._chunks(loose, gone, changes)
        if gone or made:
            stays = [int(name) not in gone for name in ints(self.index["chunk"])]
            kept = self.index.filter(pa.array(stays, pa.bool_()))
            index = pa.concat_tables([kept, pa.Table.from_pylist(made, _INDEX)])
            changes[INDEX, 0] = index if index.num_rows else None
        return changes

    def _chunks(
        self, loose: Sequence[pa.Table], gone: set[int], changes: Changes
    ) -> list[dict[str, int]]:
        """Cut rows into chunks by their order, named by the least; returns their index."""
        if not loose:
            return []
        rows = pa.concat_tables(loose)
        order = ints(rows["order"])
        place = np.argsort(order, kind="stable")
        rows, order = rows.take(pa.array(place)), order[place]
        taken = {int(name) for name in ints(self.index["chunk"])} - gone
        made = []
        cuts = [*range(0, len(order), _CHUNK_ROWS), len(order)]
        for start, stop in itertools.pairwise(cuts):
            name = int(order[start])
            while name in taken:
                name += 1
            taken.add(name)
            chunk = rows.slice(start, stop - start)
            changes[ROWS, name] = chunk
            least, most = int(order[start]), int(order[stop - 1])
            made.append({"chunk": name, "least": least, "most": most, "bytes": chunk.nbytes})
        return made


def reached(least: Ints, most: Ints, low: Ints, high: Ints) -> Mask:
    """Which of the chunks reach into one of the stretches ``[low, high]``.

    Stretches that end before a chunk are among those that begin before its end: it is enough to
    count both.
    """
    asked = low <= high
    begun = np.searchsorted(np.sort(low[asked]), most, side="right")
    over = np.searchsorted(np.sort(high[asked]), least, side="left")
    inside: Mask = begun > over
    return inside
