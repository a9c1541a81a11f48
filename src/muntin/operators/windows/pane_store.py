"""The pane store: which panes are kept, where, and until when; windows are made from it.

A store takes in partial tables and refuses panes whose windows are closed. It keeps the others in
buckets of panes, and deletes panes that no open window needs. All rows of a pane belong to the same
windows, so lateness is decided per pane. Several windows may share a store. Its panes then lie
between the edges of all windows, and each window has its own numbers for them. A store for long
windows also keeps levels over its panes (:mod:`muntin.operators.windows.levels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.kernels.arrays import Ints, Mask
from muntin.operators.protocol import Changes, InputBatch, MemoryState, RowCounts, State, ints
from muntin.operators.windows.closing import FOREVER, Closing, Last
from muntin.operators.windows.level_tables import PANES, LevelTables
from muntin.operators.windows.levels import Levels
from muntin.operators.windows.pane_reach import StepReach
from muntin.operators.windows.panes import Panes
from muntin.specs.disorder import Late
from muntin.specs.windows import Edges

#: A chunk without columns; its bucket number is how many panes a bucket of PANES has.
LAYOUT = "layout"
#: A chunk without columns; its bucket number is the fan-out of the levels. A state that was written
#: without levels has none.
FANOUT = "fanout"
_NO_COLUMNS = pa.table({})


@dataclass(frozen=True)
class KeyEnds:
    """For each key of sorted panes: where it begins, and its last closed windows.

    ``closed`` are those closed before the step, ``closing`` those closed after it.
    """

    starts: Ints
    closed: Ints
    closing: Ints

    def of(self, shown: Mask) -> KeyEnds:
        """Return the same for the panes in a mask, without keys that have none of them."""
        before = np.concatenate([[0], np.cumsum(shown)])
        starts: Ints = before[self.starts]
        some = np.diff(starts) > 0
        starts = np.append(starts[:-1][some], starts[-1])
        return KeyEnds(starts, self.closed[some], self.closing[some])


@dataclass(frozen=True)
class WindowPanes:
    """The panes of a store after a step, as one window numbers them, sorted by key.

    ``before_origin`` counts rows that lie before the origin of this window and that other windows
    use.
    """

    panes: pa.Table
    ends: KeyEnds
    rows: RowCounts
    before_origin: int = 0


@dataclass(frozen=True)
class StoreStep:
    """The panes of each window after a step, and the changes of the state."""

    windows: tuple[WindowPanes, ...]
    changes: Changes


@dataclass(frozen=True)
class _Taken:
    """The counts of new rows for one window, and a mask of the panes that it may still use."""

    rows: RowCounts
    before_origin: int
    usable: Mask


@dataclass(frozen=True)
class PaneStore:
    """Keeps panes in the state, and refuses those that are late.

    A store that several windows share takes late rows generously: a row that is late for one window
    may be in time for another. ``fanout`` is how many panes or nodes a node of a level combines; 0
    if the store keeps panes only.
    """

    panes: Panes
    late: Late = "generous"
    panes_per_bucket: int = 1
    fanout: int = 0

    def __post_init__(self) -> None:
        if len(self.edges) > 1 and self.late == "consistent":
            raise ArgumentError(
                "late", self.late, "windows that share panes take late rows generously"
            )

    @cached_property
    def edges(self) -> tuple[Edges, ...]:
        """The edges of each window that uses the store."""
        return self.panes.edges.windows

    @cached_property
    def levels(self) -> Levels:
        """The sizes of the chunks and of the levels."""
        if len(self.edges) > 1:
            longest = max(edges.range for edges in self.edges)
        else:
            longest = self.edges[0].panes_per_window
        landmark = self.edges[0].landmark  # keeps one pane for everything that is closed
        return Levels(self.panes_per_bucket, longest, 0 if landmark else self.fanout)

    def step(self, state: State, batch: InputBatch) -> StoreStep:
        """Take in new panes, and return for each window the panes that it may close."""
        size, fanout = self._layout(state)
        if fanout != self.fanout and not fanout:
            return self._rebuilt(state, batch)
        if (size, fanout) != (self.panes_per_bucket, self.fanout):
            # The state was written with another slack, which sets the size of buckets.
            return replace(self, panes_per_bucket=size, fanout=fanout).step(state, batch)
        return self._step(state, batch, [])

    def _layout(self, state: State) -> tuple[int, int]:
        """Return the size of buckets and the fan-out of levels, of the state or of the plan."""
        sizes, fanouts = state.buckets(LAYOUT), state.buckets(FANOUT)
        if not sizes:
            return self.panes_per_bucket, self.fanout
        return sizes[0], fanouts[0] if fanouts else 0

    def _rebuilt(self, state: State, batch: InputBatch) -> StoreStep:
        """Take in new panes with all panes of a state without levels, and write it with levels."""
        kept = [state.read(PANES, bucket) for bucket in state.buckets(PANES)]
        step = self._step(MemoryState(), batch, kept)
        old: Changes = {(name, b): None for name in (PANES, LAYOUT) for b in state.buckets(name)}
        return replace(step, changes=old | step.changes | self._layout_chunks)

    @property
    def _layout_chunks(self) -> Changes:
        layout: Changes = {(LAYOUT, self.panes_per_bucket): _NO_COLUMNS}
        return layout | ({(FANOUT, self.fanout): _NO_COLUMNS} if self.fanout else {})

    def _step(self, state: State, batch: InputBatch, kept: Sequence[pa.Table]) -> StoreStep:
        """Take in new panes; ``kept`` are those of a state without levels."""
        closings = [Closing(edges, batch.punctuation) for edges in self.edges]
        arrived = self.panes.merge(batch.partials)
        taken = [self._take(arrived, closing, batch) for closing in closings]
        arrived = self._on_time(arrived, [own.usable for own in taken], closings[0])
        known = bool(state.buckets(LAYOUT))
        reach = StepReach(self.panes.edges, closings, leveled=known)
        tables = LevelTables(state, self.panes, self.levels, reach)
        if self.edges[0].landmark:
            rows = [tables.with_stored(arrived).rows]
            changes = self._remember_landmark(rows[0], self._ends(rows[0], closings[0]))
        else:
            rows, changes = tables.take(self.panes.merge([arrived, *kept]) if kept else arrived)
        if changes and not known:
            changes |= self._layout_chunks
        windows = []
        for place, (closing, own) in enumerate(zip(closings, taken, strict=True)):
            panes = tables.choose(rows, place) if self.levels.count else rows[0]
            ends = self._ends(panes, closing)
            windows.append(self._view(panes, closing.edges, ends, own))
        return StoreStep(tuple(windows), changes)

    def _view(self, panes: pa.Table, edges: Edges, ends: KeyEnds, taken: _Taken) -> WindowPanes:
        """Return the panes of a window, with the numbers that it gives them."""
        if len(self.edges) == 1:
            return WindowPanes(panes, ends, taken.rows)
        number = self.panes.edges.numbers(edges, ints(panes["pane"]))
        place = panes.schema.get_field_index("pane")
        panes = panes.set_column(place, "pane", pa.array(number))
        shown = ~in_no_window(edges, number)
        if not shown.all():
            panes, ends = panes.filter(pa.array(shown)), ends.of(shown)
        return WindowPanes(panes, ends, taken.rows, taken.before_origin)

    def _ends(self, panes: pa.Table, closing: Closing) -> KeyEnds:
        """Return where each key begins, and its last windows closed before and after the step."""
        if not closing.by_key and closing.closed == closing.closing:
            # No window of any key closes, so all panes can count as one key.
            last_closed = np.array([closing.closed])
            return KeyEnds(np.array([0, panes.num_rows]), last_closed, last_closed)
        codes, _ = self.panes.codes(panes)
        starts = np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64)
        names = panes.select(self.panes.key_names)
        firsts = names.take(pa.array(starts)) if closing.by_key else names
        closed, after = (np.broadcast_to(last, len(starts)) for last in closing.of(firsts))
        return KeyEnds(np.append(starts, len(codes)), closed, after)

    def _take(self, arrived: pa.Table, closing: Closing, batch: InputBatch) -> _Taken:
        """Count the rows of new panes for one window, and find the panes that it may use."""
        edges = closing.edges
        pane, rows = self.panes.edges.numbers(edges, ints(arrived["pane"])), ints(arrived["a0_0"])
        closed, _ = closing.of(arrived)
        outside = before_origin(edges, pane)
        unused = in_no_window(edges, pane)
        late = self._late(edges, pane, closed) & ~outside
        used, refused, between = (
            int(rows[mask].sum()) for mask in (~late & ~outside, late, ~late & unused & ~outside)
        )
        originals = self._late_rows(batch, closing) if batch.rows else None
        counts = RowCounts(used, refused, between, originals)
        return _Taken(counts, int(rows[outside].sum()), ~late & ~unused)

    def _on_time(self, panes: pa.Table, usable: Sequence[Mask], closing: Closing) -> pa.Table:
        """Return the panes that some window may still use."""
        some = np.logical_or.reduce(usable)
        panes = panes if some.all() else panes.filter(pa.array(some))
        return self._moved(panes, closing) if closing.edges.landmark else panes

    def _moved(self, panes: pa.Table, closing: Closing) -> pa.Table:
        """Move late panes of a generous landmark window into its first open window."""
        closed, _ = closing.of(panes)
        least = -FOREVER + 1 if closing.edges.latch else 0
        if not np.any(np.greater_equal(closed, least)):
            return panes
        place = panes.schema.get_field_index("pane")
        pane = np.maximum(ints(panes["pane"]), closed)
        return self.panes.merge([panes.set_column(place, "pane", pa.array(pane))])

    def _late(self, edges: Edges, pane: Ints, closed: Last) -> Mask:
        """Mask of the late panes.

        A pane is late if all its windows are closed, or if one is and ``late`` is "consistent".
        """
        if isinstance(closed, int) and closed >= FOREVER:
            return np.ones(len(pane), np.bool_)
        if self.late == "consistent":
            missed: Mask = (pane // edges.panes_per_slide <= closed) & ~in_no_window(edges, pane)
            return missed
        if edges.landmark:
            return np.zeros(len(pane), np.bool_)
        return (_last_wids(edges, pane) <= closed) & ~in_no_window(edges, pane)

    def _late_rows(self, batch: InputBatch, closing: Closing) -> pa.Table:
        """Return the original rows that were refused as late, with their lateness."""
        table = pa.concat_tables(batch.rows)
        closed, _ = closing.of(table)
        before, _ = closing.punctuation.of(table.select(self.panes.key_names))
        pane = self.panes.edges.numbers(closing.edges, ints(table["pane"]))
        late = self._late(closing.edges, pane, closed) & ~before_origin(closing.edges, pane)
        return self.panes.admission.late_rows(table, late, before)

    def _remember_landmark(self, panes: pa.Table, ends: KeyEnds) -> Changes:
        """Write landmark windows, which only grow: all closed panes of a key become one."""
        read = np.unique(ints(panes["pane"]) // self.panes_per_bucket)
        place = panes.schema.get_field_index("pane")
        closing = np.repeat(ends.closing, np.diff(ends.starts))
        pane = np.maximum(ints(panes["pane"]), closing)
        panes = self.panes.merge([panes.set_column(place, "pane", pa.array(pane))])
        buckets = ints(panes["pane"]) // self.panes_per_bucket
        changes: Changes = {(PANES, b): None for b in read.tolist()}
        for bucket in np.unique(buckets).tolist():
            changes[PANES, bucket] = panes.filter(pa.array(buckets == bucket))
        return changes


def before_origin(edges: Edges, pane: Ints) -> Mask:
    """Mask of the panes before the origin, if windows are clipped to it."""
    outside: Mask = pane < 0 if edges.clipped else np.zeros(len(pane), np.bool_)
    return outside


def in_no_window(edges: Edges, pane: Ints) -> Mask:
    """Mask of the panes before the origin, or in the gaps between windows shorter than a slide."""
    outside = before_origin(edges, pane)
    if edges.landmark or edges.range >= edges.slide:
        return outside
    gaps: Mask = outside | (pane % 2 == 0)
    return gaps


def _last_wids(edges: Edges, pane: Ints) -> Ints:
    """Return the last window that holds each pane."""
    if edges.panes_per_slide == 1:
        return pane + (edges.whole_slides - 1)
    return edges.whole_slides + (pane - 1) // 2
