"""Rows of one side that may still find a partner, with a mark for those that have found one.

A chunk of rows is not rewritten for each change. Its marks, one byte per row, are stored next to
it, until so few rows are left that the chunk is rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.operators.fill.held_rows import ROWS, HeldChunks
from muntin.operators.protocol import Changes, ScopedState, State, ints

Marks = npt.NDArray[np.uint8]
MARKS, MARK = "marks", "mark"
#: The marks of a row: no partner yet, has had a partner, no longer needed.
WAITS, MET, GONE = 0, 1, 2


@dataclass(frozen=True)
class Pool:
    """The rows of a step: the first ``new`` rows are new, then come those of the chunks read."""

    rows: pa.Table
    order: Ints
    mark: Marks
    new: int
    chunks: dict[int, pa.Table]

    def parts(self, values: Marks) -> list[Marks]:
        """Split a value per row into the values of the new rows and those of each chunk."""
        sizes = [self.new, *(chunk.num_rows for chunk in self.chunks.values())]
        return np.split(values, np.cumsum(sizes)[:-1])


@dataclass(frozen=True)
class HeldSide:
    """The held rows of one side; marks are stored only if it ``remembers`` them."""

    scope: ScopedState
    held: HeldChunks
    schema: pa.Schema
    remembers: bool

    @classmethod
    def of(cls, state: State, prefix: str, schema: pa.Schema, *, remembers: bool) -> HeldSide:
        scope = ScopedState(state, prefix)
        return cls(scope, HeldChunks.of(scope), schema, remembers)

    def pool(self, new: pa.Table, names: Sequence[int]) -> Pool:
        """Return new rows together with those of some chunks."""
        chunks = self.held.read(names)
        rows = [chunk.select(self.schema.names) for chunk in chunks.values()]
        together = pa.concat_tables([new, *rows]).combine_chunks()
        marks = [np.zeros(new.num_rows, np.uint8), *self._marks(chunks)]
        order = ints(together["order"])
        return Pool(together, order, np.concatenate(marks), new.num_rows, chunks)

    def _marks(self, chunks: dict[int, pa.Table]) -> list[Marks]:
        if not self.remembers:
            return [np.zeros(chunk.num_rows, np.uint8) for chunk in chunks.values()]
        beside = set(self.scope.buckets(MARKS))
        tables = [
            self.scope.read(MARKS, name) if name in beside else chunk
            for name, chunk in chunks.items()
        ]
        return [table[MARK].to_numpy() for table in tables]

    def change(self, pool: Pool, mark: Marks, *, at_once: bool = False) -> Changes:
        """Return the changes that hold rows with their marks and drop those marked GONE.

        With ``at_once`` a chunk is rewritten as soon as one of its rows is dropped.
        """
        fresh, *others = pool.parts(mark)
        _, *before = pool.parts(pool.mark)
        rows = self._marked(pool.rows.slice(0, pool.new), fresh)
        chunks = {
            name: self._marked(chunk, own)
            for (name, chunk), own in zip(pool.chunks.items(), others, strict=True)
        }
        kept = rows.filter(pa.array(fresh != GONE))
        keep = [own != GONE for own in others]
        changes = self.held.change(chunks, keep, kept, at_once=at_once)
        if self.remembers:
            beside = set(self.scope.buckets(MARKS))
            for name, old, own in zip(chunks, before, others, strict=True):
                if (ROWS, name) in changes:
                    if name in beside:
                        changes[MARKS, name] = None
                elif (old != own).any():
                    changes[MARKS, name] = pa.table({MARK: own})
        return self.scope.named(changes)

    def _marked(self, rows: pa.Table, mark: Marks) -> pa.Table:
        if not self.remembers:
            return rows
        return rows.select(self.schema.names).append_column(MARK, pa.array(mark))
