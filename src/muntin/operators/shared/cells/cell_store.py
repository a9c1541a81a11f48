"""The store of the cells of a group: one for all members, in chunks along the axis.

A chunk has the cells whose panes begin within a stretch of the axis, with the sets they have, so it
can be read whatever members there are later. Cells of one set are kept until no member of the set
needs them; those of members that are gone are deleted in the next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints, Mask
from muntin.operators.common.buckets import BucketedTable
from muntin.operators.protocol import Changes, Punctuation, State, forget, ints
from muntin.operators.shared.cells.set_cells import SET, SetCellLayout, SetCells
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Members
from muntin.operators.windows.closing import FOREVER
from muntin.specs.axis import TICK_LIMIT

CELLS = "cells"
#: A chunk with the members that the cells may be for; its number is the length of a chunk of CELLS.
LAYOUT = "layout"
#: The longest window has about this many chunks.
_CHUNKS = 32
#: Chunks are cut anew if their length differs by more than this factor from what suits now.
_MUCH = 4


@dataclass(frozen=True)
class CellStore:
    """The cells of a group in a state, as one step reads and changes them."""

    state: State
    layout: SetCellLayout
    members: Members
    punctuation: Punctuation

    def step(self, arrived: SetCells) -> tuple[list[pa.Table], Changes]:
        """Take in new cells; return the cells that windows which close are made of, and changes.

        The cells are in tables as they are kept, in the order of their panes.
        """
        if not len(self.members):
            return [], forget(self.state, CELLS, LAYOUT)
        sizes = self.state.buckets(LAYOUT)
        size = sizes[0] if sizes else self._size
        stored = np.sort(np.array(self.state.buckets(CELLS), np.int64))
        if self._gone or not self._size <= _MUCH * size <= _MUCH * _MUCH * self._size:
            return self._written_anew(arrived, stored)
        touched = np.unique(ints(arrived.table["pane"]) // size)
        cells = self._with_stored(arrived, stored[np.isin(stored, touched)])
        unchanged = stored[self._closing(stored, size) & ~np.isin(stored, touched)]
        read = {bucket: self.state.read(CELLS, bucket) for bucket in unchanged.tolist()}
        changes = self._outdated(stored, size)
        changes |= self._written(cells, size, touched)
        changes |= self._thinned(read, size)
        tables = read | self._by_bucket(cells, size, touched) if self._closes else {}
        return [tables[bucket] for bucket in sorted(tables)], self._described(changes, size, stored)

    @property
    def _size(self) -> int:
        """The length of a chunk that suits the members."""
        edges = self.members.edges
        return max(1, max(edges.longest, int(edges.slides.max())) // _CHUNKS)

    @property
    def _gone(self) -> bool:
        """True if the cells may be for members that are not there any more."""
        return any(
            not np.isin(ints(self.state.read(LAYOUT, size)["member"]), self.members.known).all()
            for size in self.state.buckets(LAYOUT)
        )

    def _written_anew(self, arrived: SetCells, stored: Ints) -> tuple[list[pa.Table], Changes]:
        """Take in new cells, and write all cells that are needed in chunks of another length."""
        cells = self._with_stored(arrived, stored)
        touched = np.unique(ints(cells.table["pane"]) // self._size)
        changes = forget(self.state, CELLS, LAYOUT)
        changes |= self._written(cells, self._size, touched)
        if any(name == CELLS and chunk is not None for (name, _), chunk in changes.items()):
            changes[LAYOUT, self._size] = self._known
        return [self.layout.lasting(cells)] if self._closes else [], changes

    @property
    def _known(self) -> pa.Table:
        return pa.table({"member": pa.array(self.members.known)})

    def _described(self, changes: Changes, size: int, stored: Ints) -> Changes:
        """Add to changes what describes the cells, or delete it after the last of them."""
        kept = set(stored.tolist())
        for (_, bucket), chunk in changes.items():
            (kept.discard if chunk is None else kept.add)(bucket)
        sizes = self.state.buckets(LAYOUT)
        if not kept:
            return changes | ({(LAYOUT, size): None} if sizes else {})
        if sizes and self.state.read(LAYOUT, size)["member"].equals(self._known["member"]):
            return changes
        return changes | {(LAYOUT, size): self._known}

    def _with_stored(self, arrived: SetCells, read: Ints) -> SetCells:
        if not len(read):
            return arrived
        kept = [self.state.read(CELLS, bucket) for bucket in read.tolist()]
        return self.layout.merged([self.layout.lasting(arrived), *kept])

    @property
    def _before(self) -> int:
        return NEVER if self.punctuation.before is None else self.punctuation.before

    @property
    def _after(self) -> int:
        return NEVER if self.punctuation.after is None else self.punctuation.after

    @property
    def _closes(self) -> bool:
        """True if a window may close in the step."""
        return self.punctuation.ended or self.punctuation.latest > self._before

    def _closing(self, stored: Ints, size: int) -> Mask:
        """Mask of the stored chunks with cells of windows that close in the step.

        Such a window ends after what was complete, so it begins less than its length before that.
        Keys that are ahead of the stream close later windows.
        """
        if not self._closes:
            return np.zeros(len(stored), np.bool_)
        low = -TICK_LIMIT if self._before == NEVER else self._before - self.members.edges.longest
        high = TICK_LIMIT if self.punctuation.ended else self.punctuation.latest
        closing: Mask = (stored >= low // size) & (stored <= high // size)
        return closing

    def _outdated(self, stored: Ints, size: int) -> Changes:
        """Delete the chunks that no member needs, without reading them."""
        if self.punctuation.ended:
            return forget(self.state, CELLS)
        first = self._first
        return {(CELLS, bucket): None for bucket in stored[stored < first // size].tolist()}

    @property
    def _first(self) -> int:
        """No open window begins before this tick."""
        return max(self._after, -TICK_LIMIT) - self.members.edges.longest + 1

    def _written(self, cells: SetCells, size: int, touched: Ints) -> Changes:
        """Write the cells of some chunks that are still needed."""
        if self.punctuation.ended:
            return {}
        changed = touched[touched >= self._first // size].tolist()
        bucket = ints(cells.table["pane"]) // size
        table = BucketedTable(self.state, CELLS)
        written = table.write(cells.table, bucket, changed, self._needed(cells))
        return {
            key: None if chunk is None else self.layout.kept(cells, chunk)
            for key, chunk in written.items()
        }

    def _thinned(self, read: Mapping[int, pa.Table], size: int) -> Changes:
        """Write chunks of which at most half of the cells are needed.

        A chunk is looked at when it is 1, 2, 4 ... chunks old, because members need cells for
        different times; and always if keys are ahead of the stream.
        """
        if self.punctuation.ended:
            return {}
        changes: Changes = {}
        by_key = self.punctuation.by_key
        always = by_key is not None and by_key.num_rows > 0
        before, after = (max(tick, -TICK_LIMIT) // size for tick in (self._before, self._after))
        for bucket, table in read.items():
            if bucket < self._first // size:
                continue
            if not always and (before - bucket).bit_length() == (after - bucket).bit_length():
                continue
            if not always and self._all_needed(bucket * size, table):
                continue
            cells = self.layout.loaded([table])
            needed = self._needed(cells)
            if 2 * needed.sum() <= len(needed):
                kept = cells.table.filter(pa.array(needed))
                changes[CELLS, bucket] = self.layout.kept(cells, kept) if needed.any() else None
        return changes

    def _all_needed(self, first: int, table: pa.Table) -> bool:
        """Return True if all sets of a chunk, which begins at a tick, need all of its cells."""
        packed = [chunk.dictionary for chunk in table[SET].chunks]
        least = min(self._longest(MemberSets.unpacked(each)).min() for each in packed)
        return bool(first > self._after - least)

    def _longest(self, sets: MemberSets) -> Ints:
        """Return how long the cells of each set are needed; below zero if nobody needs them."""
        ranges = self.members.edges.ranges[self.members.edges_of]
        return self.members.wanting(sets).greatest(ranges, -FOREVER)

    def _by_bucket(self, cells: SetCells, size: int, buckets: Ints) -> dict[int, pa.Table]:
        """Return the cells of each chunk, in the form in which they are kept."""
        bucket = ints(cells.table["pane"]) // size
        return {
            number: self.layout.lasting(cells, cells.table.filter(pa.array(bucket == number)))
            for number in buckets.tolist()
        }

    def _needed(self, cells: SetCells) -> Mask:
        """Mask of the cells that a window which is still open may have.

        Such a window ends after what is complete, so it begins less than its length before that.
        """
        table = cells.table
        longest = self._longest(cells.sets)[ints(table[self.layout.set_name])]
        by_key = self.punctuation.by_key
        if by_key is not None and by_key.num_rows:
            _, complete = self.punctuation.of(table.select(self.layout.key_names))
        else:
            complete = np.full(table.num_rows, self._after)
        started = np.maximum(complete, -TICK_LIMIT) - longest
        needed: Mask = (ints(table["pane"]) > started) | (complete == NEVER)
        return needed & (longest > 0)
