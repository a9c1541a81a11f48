"""Frames that are reported in fragments: each joins only what is new since the one before it.

What is remembered of an open frame is where its last fragment ended and, of every filling, one row
of accumulators as if all rows so far were one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints, Mask
from muntin.kernels.grouping import Groups, find_keys, key_codes
from muntin.operators.common.arrow_columns import ints
from muntin.operators.fill.between_join import MatchedRows
from muntin.operators.frames.frame_aggregates import FrameAggregates
from muntin.operators.protocol import Changes, Open, State, forget

FRAGMENTS, RUNNING = "fragments", "running"


@dataclass(frozen=True)
class Fragments:
    """The open frames of which something was reported: their keys, ids and ends so far."""

    names: Sequence[str]  # of the columns that tell frames apart
    known: pa.Table

    @classmethod
    def load(cls, state: State, names: Sequence[str], schema: pa.Schema) -> Fragments:
        found = state.buckets(FRAGMENTS)
        empty = pa.schema([*(schema.field(n) for n in names), pa.field("end", pa.int64())])
        return cls(names, state.read(FRAGMENTS, 0) if found else empty.empty_table())

    def since(self, results: pa.Table, end: Ints) -> Ints:
        """Where the fragment before each result ended, NEVER if there was none.

        Results of one frame stand together, in the order in which they were reported.
        """
        frames = results.select(self.names)
        place = find_keys(frames, self.known.select(self.names))
        ends = np.append(ints(self.known["end"]), NEVER)
        made = ends[place]
        if results.num_rows > 1:
            same = _equal_to_the_one_before(frames)
            made[1:][same] = end[:-1][same]
        return made

    def after(self, results: pa.Table, end: Ints, whole: Mask) -> Fragments:
        """With what a step reports; a frame that is final is forgotten, as is an older one."""
        keys = list(self.names[:-1])  # the last tells the frames of a key apart
        frames = results.select(self.names)
        last = np.ones(results.num_rows, np.bool_)
        if results.num_rows > 1:
            last[:-1] = ~_equal_to_the_one_before(results.select(keys))
        fresh = frames.append_column("end", pa.array(end)).filter(pa.array(last & ~whole))
        touched = frames.select(keys).filter(pa.array(last))
        stays = find_keys(self.known.select(keys), touched) < 0
        if not keys and results.num_rows:
            stays[:] = False
        return Fragments(self.names, pa.concat_tables([self.known.filter(pa.array(stays)), fresh]))

    def only(self, opened: Open | None) -> Fragments:
        """Those of keys of which a frame is open: the others are over, whatever was said last."""
        if opened is None:
            return self
        keys = self.known.select(self.names[:-1])
        stays = find_keys(keys, opened.keys) >= 0
        return Fragments(self.names, self.known.filter(pa.array(stays)))

    def changes(self, state: State) -> Changes:
        return {(FRAGMENTS, 0): self.known} if self.known.num_rows else forget(state, FRAGMENTS)


def _equal_to_the_one_before(table: pa.Table) -> Mask:
    """For all rows but the first whether they equal the row before."""
    if not table.column_names:
        return np.ones(max(0, table.num_rows - 1), np.bool_)
    columns = [column.combine_chunks() for column in table.columns]
    number, _ = key_codes(columns, table.num_rows)
    same: Mask = number[1:] == number[:-1]
    return same


@dataclass(frozen=True)
class OpenFills:
    """What open frames are filled with so far: one cell for each, and the frames they are of."""

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
        """The results of fragments, how many rows each has by now, and what runs on.

        Fragments of one frame stand together, in order; each asked for rows behind the last one's.
        """
        count = frames.num_rows
        first = np.ones(count, np.bool_)
        if count > 1:
            first[1:] = ~_equal_to_the_one_before(frames)
        group = np.cumsum(first) - 1
        head = np.flatnonzero(first)
        tail = np.append(head[1:], count)[: len(head)] - 1
        base = find_keys(frames.take(pa.array(head)), self.frames)
        has = (base >= 0).astype(np.int64)
        begins, ends = matched.first[head], np.maximum(matched.behind[tail], matched.first[head])
        length = has + ends - begins
        start = np.cumsum(length) - length
        joined = self._joined(matched.rows, base, begins, length, start)
        low = start[group]
        high = low + has[group] + np.maximum(matched.behind, begins[group]) - begins[group]
        results = self.contents.of_stretches(joined, low, high)
        before = np.append(ints(self.cells["a0_0"]), 0)[np.where(base >= 0, base, -1)]
        rows = before[group] + high - low - has[group]
        return results, rows, self._after(frames, joined, (head, tail), length, start, whole)

    def _joined(
        self, rows: pa.Table, base: Ints, begins: Ints, length: Ints, start: Ints
    ) -> pa.Table:
        """Frame by frame its cell, if it has one, and its new rows as cells."""
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
        """The cells of frames that are not over, those of others and of before left alone."""
        head, tail = edges
        goes_on = ~whole[tail]
        columns = [column.combine_chunks() for column in joined.columns]
        # A frame without any row yet has no cell to keep.
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
        """What belongs to frames that are still open, or wait to be filled."""
        names = open_frames.column_names
        stays = pa.array(find_keys(self.frames.select(names), open_frames) >= 0)
        return OpenFills(self.contents, self.frames.filter(stays), self.cells.filter(stays))

    def changes(self, state: State) -> Changes:
        if not self.frames.num_rows:
            return forget(state, RUNNING)
        columns = [*self.frames.columns, *self.cells.columns]
        names = [*self.frames.column_names, *self.cells.column_names]
        return {(RUNNING, 0): pa.table(columns, names=names)}
