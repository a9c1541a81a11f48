"""Frames that are reported in fragments: each fragment matches only rows after the one before it.

Two things are kept of an open frame: where its last fragment ended and, for every fill, one cell
(a row of accumulators) that combines all rows so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints, Mask
from muntin.kernels.grouping import Groups, find_keys, key_codes
from muntin.operators.fill.between_join import MatchedRows
from muntin.operators.frames.frame_aggregates import FrameAggregates
from muntin.operators.protocol import Changes, Open, State, forget, ints

FRAGMENTS, RUNNING = "fragments", "running"


@dataclass(frozen=True)
class Fragments:
    """Open frames with at least one reported fragment: their keys, ids and ends so far."""

    names: Sequence[str]  # the columns that identify a frame
    known: pa.Table

    @classmethod
    def load(cls, state: State, names: Sequence[str], schema: pa.Schema) -> Fragments:
        stored = state.buckets(FRAGMENTS)
        empty = pa.schema([*(schema.field(n) for n in names), pa.field("end", pa.int64())])
        return cls(names, state.read(FRAGMENTS, 0) if stored else empty.empty_table())

    def since(self, results: pa.Table, end: Ints) -> Ints:
        """Return where the fragment before each result ended; NEVER if there was none.

        Results of one frame are adjacent, in the order in which they were reported.
        """
        frames = results.select(self.names)
        place = find_keys(frames, self.known.select(self.names))
        ends = np.append(ints(self.known["end"]), NEVER)
        previous_ends = ends[place]
        if results.num_rows > 1:
            same = _equals_row_before(frames)
            previous_ends[1:][same] = end[:-1][same]
        return previous_ends

    def after(self, results: pa.Table, end: Ints, whole: Mask) -> Fragments:
        """Add the fragments that a step reports; forget final frames and older ones of a key."""
        keys = list(self.names[:-1])  # the last name is that of the frame id
        frames = results.select(self.names)
        last = np.ones(results.num_rows, np.bool_)
        if results.num_rows > 1:
            last[:-1] = ~_equals_row_before(results.select(keys))
        fresh = frames.append_column("end", pa.array(end)).filter(pa.array(last & ~whole))
        touched = frames.select(keys).filter(pa.array(last))
        stays = find_keys(self.known.select(keys), touched) < 0
        if not keys and results.num_rows:
            stays[:] = False
        return Fragments(self.names, pa.concat_tables([self.known.filter(pa.array(stays)), fresh]))

    def only(self, opened: Open | None) -> Fragments:
        """Return the fragments of keys with an open frame; the frames of other keys are over."""
        if opened is None:
            return self
        keys = self.known.select(self.names[:-1])
        stays = find_keys(keys, opened.keys) >= 0
        return Fragments(self.names, self.known.filter(pa.array(stays)))

    def changes(self, state: State) -> Changes:
        return {(FRAGMENTS, 0): self.known} if self.known.num_rows else forget(state, FRAGMENTS)


def _equals_row_before(table: pa.Table) -> Mask:
    """Return, for all rows except the first, whether they equal the row before."""
    if not table.column_names:
        return np.ones(max(0, table.num_rows - 1), np.bool_)
    columns = [column.combine_chunks() for column in table.columns]
    number, _ = key_codes(columns, table.num_rows)
    same: Mask = number[1:] == number[:-1]
    return same


@dataclass(frozen=True)
class OpenFills:
    """The fills of open frames so far: ``cells`` has one cell for each row of ``frames``."""

    contents: FrameAggregates
    frames: pa.Table
    cells: pa.Table

    @classmethod
    def load(cls, state: State, contents: FrameAggregates, schema: pa.Schema) -> OpenFills:
        if not state.buckets(RUNNING):
            return cls(contents, schema.empty_table(), contents.cells.schema.empty_table())
        table = state.read(RUNNING, 0)
        return cls(contents, table.select(schema.names), table.select(contents.cells.schema.names))

    def fill(
        self, frames: pa.Table, matched: MatchedRows, whole: Mask
    ) -> tuple[list[pa.Array], Ints, OpenFills]:
        """Return the results of fragments, the rows in each so far, and the fills after them.

        Fragments of one frame are adjacent and in order. Each asked for rows after the one before.
        """
        count = frames.num_rows
        first = np.ones(count, np.bool_)
        if count > 1:
            first[1:] = ~_equals_row_before(frames)
        group = np.cumsum(first) - 1
        head = np.flatnonzero(first)
        tail = np.append(head[1:], count)[: len(head)] - 1
        base = find_keys(frames.take(pa.array(head)), self.frames)
        has = (base >= 0).astype(np.int64)
        begins, ends = matched.first[head], np.maximum(matched.stop[tail], matched.first[head])
        length = has + ends - begins
        start = np.cumsum(length) - length
        joined = self._joined(matched.rows, base, begins, length, start)
        low = start[group]
        high = low + has[group] + np.maximum(matched.stop, begins[group]) - begins[group]
        results = self.contents.of_stretches(joined, low, high)
        before = np.append(ints(self.cells["a0_0"]), 0)[np.where(base >= 0, base, -1)]
        rows = before[group] + high - low - has[group]
        return results, rows, self._after(frames, joined, (head, tail), length, start, whole)

    def _joined(
        self, rows: pa.Table, base: Ints, begins: Ints, length: Ints, start: Ints
    ) -> pa.Table:
        """Return for each frame its cell, if it has one, then its new rows as cells."""
        kept = self.cells.num_rows
        total = int(length.sum())
        frame = np.repeat(np.arange(len(length)), length)
        place = np.arange(total) - start[frame]
        has = base[frame] >= 0
        source = np.where(has & (place == 0), base[frame], kept + begins[frame] + place - has)
        both = pa.concat_tables([self.cells, self.contents.lifted(rows)])
        return both.take(pa.array(source))

    def _after(
        self,
        frames: pa.Table,
        joined: pa.Table,
        edges: tuple[Ints, Ints],
        length: Ints,
        start: Ints,
        whole: Mask,
    ) -> OpenFills:
        """Return new cells of frames that go on, and the cells of frames without a fragment."""
        head, tail = edges
        goes_on = ~whole[tail]
        columns = [column.combine_chunks() for column in joined.columns]
        # A frame that has no rows yet has no cell to keep.
        some = np.flatnonzero(length > 0)
        number = np.repeat(np.arange(len(some)), length[some])
        combined = self.contents.cells.grouped(columns, Groups(number, start[some]))
        kept = goes_on[some]
        fresh = frames.take(pa.array(head[some])).filter(pa.array(kept))
        untouched = find_keys(self.frames, frames.take(pa.array(head))) < 0
        return OpenFills(
            self.contents,
            pa.concat_tables([self.frames.filter(pa.array(untouched)), fresh]),
            pa.concat_tables(
                [self.cells.filter(pa.array(untouched)), combined.filter(pa.array(kept))]
            ),
        )

    def only(self, open_frames: pa.Table) -> OpenFills:
        """Return the fills of these frames, which are still open or wait to be filled."""
        names = open_frames.column_names
        stays = pa.array(find_keys(self.frames.select(names), open_frames) >= 0)
        return OpenFills(self.contents, self.frames.filter(stays), self.cells.filter(stays))

    def changes(self, state: State) -> Changes:
        if not self.frames.num_rows:
            return forget(state, RUNNING)
        columns = [*self.frames.columns, *self.cells.columns]
        names = [*self.frames.column_names, *self.cells.column_names]
        return {(RUNNING, 0): pa.table(columns, names=names)}
