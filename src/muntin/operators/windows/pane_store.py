"""The pane store: which panes are kept, where, and until when; windows read it.

A store takes partial tables in, refuses panes whose windows are closed, keeps the others in buckets
of panes and forgets those that no open window reaches. Every row of a pane belongs to the same
windows, so lateness is decided per pane. Several windows may read one store: its panes then lie
between the edges of all of them, and each window sees them under its own numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import key_and_pane
from muntin.operators.common.arrow_columns import ints
from muntin.operators.common.buckets import BucketedTable
from muntin.operators.protocol import Changes, InputBatch, RowCounts, State
from muntin.operators.windows.closed_windows import FOREVER, Closing, Last
from muntin.operators.windows.panes import Panes
from muntin.specs.disorder import Late
from muntin.specs.windows import Edges

PANES = "panes"
#: A chunk without columns whose bucket is the number of panes in a bucket of PANES.
LAYOUT = "layout"
_NO_COLUMNS = pa.table({})


@dataclass(frozen=True)
class KeyEnds:
    """The keys of sorted panes: where each begins, and its last windows closed and closing."""

    starts: Ints
    closed: Ints
    closing: Ints

    def of(self, shown: Mask) -> KeyEnds:
        """The same for some of the panes, and the keys that have any of them."""
        before = np.concatenate([[0], np.cumsum(shown)])
        starts: Ints = before[self.starts]
        some = np.diff(starts) > 0
        starts = np.append(starts[:-1][some], starts[-1])
        return KeyEnds(starts, self.closed[some], self.closing[some])


@dataclass(frozen=True)
class WindowPanes:
    """What one window sees of a store after a step: panes under its own numbers, sorted by key.

    ``before_origin`` counts rows that other windows use and that lie before this one's origin.
    """

    panes: pa.Table
    ends: KeyEnds
    rows: RowCounts
    before_origin: int = 0


@dataclass(frozen=True)
class StoreStep:
    """What each window sees after a step, and what changes in the state."""

    windows: tuple[WindowPanes, ...]
    changes: Changes


@dataclass(frozen=True)
class _Taken:
    """What became of rows that arrived in one window, and which panes it may still use."""

    rows: RowCounts
    before_origin: int
    usable: Mask


@dataclass(frozen=True)
class PaneStore:
    """Panes in the state, with what is refused for lateness and what is kept.

    A store that several windows read takes late rows generously: what is late for one window may
    be in time for another.
    """

    panes: Panes
    late: Late = "generous"
    panes_per_bucket: int = 1

    def __post_init__(self) -> None:
        if len(self.edges) > 1 and self.late == "consistent":
            raise ArgumentError(
                "late", self.late, "windows that share panes take late rows generously"
            )

    @cached_property
    def edges(self) -> tuple[Edges, ...]:
        """The edges of each window that reads the store."""
        return self.panes.edges.windows

    def step(self, state: State, batch: InputBatch) -> StoreStep:
        """Take in what arrived, and give each window what it may close."""
        layout = state.buckets(LAYOUT)
        if layout and layout[0] != self.panes_per_bucket:
            # Written under another slack, which sets the size of buckets.
            return replace(self, panes_per_bucket=layout[0]).step(state, batch)
        closings = [Closing(edges, batch.punctuation) for edges in self.edges]
        arrived = self.panes.merge(batch.partials)
        taken = [self._take(arrived, closing, batch) for closing in closings]
        arrived = self._on_time(arrived, [own.usable for own in taken], closings[0])
        touched = self._buckets(ints(arrived["pane"]))
        loaded = self._loaded(state, closings, touched)
        panes = arrived
        if loaded:
            kept = [state.read(PANES, bucket) for bucket in sorted(loaded)]
            panes = self.panes.merge([arrived, *kept])
        ends = [self._ends(panes, closing) for closing in closings]
        changes = self._remember(state, panes, ends, closings, loaded, touched)
        if changes and not layout:
            changes[LAYOUT, self.panes_per_bucket] = _NO_COLUMNS
        views = [
            self._view(panes, edges, own_ends, own)
            for edges, own_ends, own in zip(self.edges, ends, taken, strict=True)
        ]
        return StoreStep(tuple(views), changes)

    def _view(self, panes: pa.Table, edges: Edges, ends: KeyEnds, taken: _Taken) -> WindowPanes:
        """The panes that a window may hold, under its numbers."""
        if len(self.edges) == 1:
            return WindowPanes(panes, ends, taken.rows)
        number = self.panes.edges.numbers(edges, ints(panes["pane"]))
        place = panes.schema.get_field_index("pane")
        panes = panes.set_column(place, "pane", pa.array(number))
        shown = ~in_no_window(edges, number)
        if not shown.all():
            panes, ends = panes.filter(pa.array(shown)), ends.of(shown)
        return WindowPanes(panes, ends, taken.rows, taken.before_origin)

    def _loaded(
        self, state: State, closings: Sequence[Closing], touched: Sequence[int]
    ) -> set[int]:
        """The buckets that rows fell into, and those with panes of windows that close."""
        remembered = state.buckets(PANES)
        loaded = set(remembered) & set(touched)
        for closing in closings:
            for start, end in closing.panes():
                first, last = (self.panes.edges.first(closing.edges, n) for n in (start, end))
                loaded |= {b for b in remembered if self._overlaps(b, first, last)}
        return loaded

    def _overlaps(self, bucket: int, start: int, end: int) -> bool:
        first = bucket * self.panes_per_bucket
        return first < end and start < first + self.panes_per_bucket

    def _ends(self, panes: pa.Table, closing: Closing) -> KeyEnds:
        """Where each key begins, and its last windows closed before and after."""
        if not closing.by_key and closing.closed == closing.closing:
            # Nothing closes, for nobody: the keys need not be told apart.
            one = np.array([closing.closed])
            return KeyEnds(np.array([0, panes.num_rows]), one, one)
        codes, _ = self.panes.codes(panes)
        starts = np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64)
        names = panes.select(self.panes.key_names)
        firsts = names.take(pa.array(starts)) if closing.by_key else names
        closed, after = (np.broadcast_to(last, len(starts)) for last in closing.of(firsts))
        return KeyEnds(np.append(starts, len(codes)), closed, after)

    def _take(self, arrived: pa.Table, closing: Closing, batch: InputBatch) -> _Taken:
        """What becomes of panes that arrived in one window."""
        edges = closing.edges
        pane, rows = self.panes.edges.numbers(edges, ints(arrived["pane"])), ints(arrived["a0_0"])
        closed, _ = closing.of(arrived)
        outside = before_origin(edges, pane)
        idle = in_no_window(edges, pane)
        late = self._late(edges, pane, closed) & ~outside
        used, refused, between = (
            int(rows[those].sum()) for those in (~late & ~outside, late, ~late & idle & ~outside)
        )
        originals = self._late_rows(batch, closing) if batch.rows else None
        counts = RowCounts(used, refused, between, originals)
        return _Taken(counts, int(rows[outside].sum()), ~late & ~idle)

    def _on_time(self, panes: pa.Table, usable: Sequence[Mask], closing: Closing) -> pa.Table:
        """The panes that may still enter a window."""
        some = np.logical_or.reduce(usable)
        panes = panes if some.all() else panes.filter(pa.array(some))
        return self._moved(panes, closing) if closing.edges.landmark else panes

    def _moved(self, panes: pa.Table, closing: Closing) -> pa.Table:
        """A late row of a generous landmark window enters the windows that are still open."""
        closed, _ = closing.of(panes)
        least = -FOREVER + 1 if closing.edges.latch else 0
        if not np.any(np.greater_equal(closed, least)):
            return panes
        place = panes.schema.get_field_index("pane")
        pane = np.maximum(ints(panes["pane"]), closed)
        return self.panes.merge([panes.set_column(place, "pane", pa.array(pane))])

    def _late(self, edges: Edges, pane: Ints, closed: Last) -> Mask:
        """Refused for lateness: all windows of the pane are closed, or one where that is enough."""
        if isinstance(closed, int) and closed >= FOREVER:
            return np.ones(len(pane), np.bool_)
        if self.late == "consistent":
            missed: Mask = (pane // edges.panes_per_slide <= closed) & ~in_no_window(edges, pane)
            return missed
        if edges.landmark:
            return np.zeros(len(pane), np.bool_)
        return (_last_wids(edges, pane) <= closed) & ~in_no_window(edges, pane)

    def _late_rows(self, batch: InputBatch, closing: Closing) -> pa.Table:
        """The original rows that were refused, and how far behind the punctuation they came."""
        table = pa.concat_tables(batch.rows)
        closed, _ = closing.of(table)
        before, _ = closing.punctuation.of(table.select(self.panes.key_names))
        pane = self.panes.edges.numbers(closing.edges, ints(table["pane"]))
        late = self._late(closing.edges, pane, closed) & ~before_origin(closing.edges, pane)
        return self.panes.admission.late_rows(table, late, before)

    def _buckets(self, pane: Ints) -> list[int]:
        buckets = pane // self.panes_per_bucket
        groups = key_and_pane(np.zeros(len(pane), np.int64), 1, buckets)
        found: list[int] = buckets[groups.member].tolist()
        return found

    def _remember(
        self,
        state: State,
        panes: pa.Table,
        ends: Sequence[KeyEnds],
        closings: Sequence[Closing],
        loaded: set[int],
        touched: Sequence[int],
    ) -> Changes:
        """Write the buckets that rows fell into, forget those that no open window reaches."""
        if self.edges[0].landmark:
            return self._remember_landmark(panes, ends[0], loaded, touched)
        needed = min(
            self.panes.edges.first(closing.edges, closing.edges.start_pane(closing.closing + 1))
            for closing in closings
        )
        pane = ints(panes["pane"])
        sparse: set[int] = set()
        live: Mask | None = None
        if closings[0].by_key:
            # Where keys move by themselves, old panes of some lie among live ones of others.
            sparse = loaded
            first = [self._needed(e, own) for e, own in zip(self.edges, ends, strict=True)]
            live = pane >= np.minimum.reduce(first)
        near = pane >= needed
        if not near.all():
            # Few of many panes, so that what follows costs what is kept, not what arrived.
            panes, pane = panes.filter(pa.array(near)), pane[near]
            live = None if live is None else live[near]
        over = {b for b in state.buckets(PANES) if (b + 1) * self.panes_per_bucket <= needed}
        changed = [b for b in touched if (b + 1) * self.panes_per_bucket > needed]
        changes: Changes = {(PANES, bucket): None for bucket in sorted(over)}
        table = BucketedTable(state, PANES)
        bucket_of = pane // self.panes_per_bucket
        return changes | table.write(panes, bucket_of, changed, live, sparse - over)

    def _needed(self, edges: Edges, ends: KeyEnds) -> Ints:
        """For each pane the first that open windows of its key may need."""
        return np.repeat(self.panes.edges.needed(edges, ends.closing), np.diff(ends.starts))

    def _remember_landmark(
        self, panes: pa.Table, ends: KeyEnds, loaded: set[int], touched: Sequence[int]
    ) -> Changes:
        """Landmark windows only grow: what is closed is kept as one pane a key."""
        place = panes.schema.get_field_index("pane")
        closing = np.repeat(ends.closing, np.diff(ends.starts))
        pane = np.maximum(ints(panes["pane"]), closing)
        panes = self.panes.merge([panes.set_column(place, "pane", pa.array(pane))])
        buckets = ints(panes["pane"]) // self.panes_per_bucket
        changes: Changes = {(PANES, b): None for b in {*loaded, *touched}}
        for bucket in np.unique(buckets).tolist():
            changes[PANES, bucket] = panes.filter(pa.array(buckets == bucket))
        return changes


def before_origin(edges: Edges, pane: Ints) -> Mask:
    """Panes before the origin of windows that are clipped to it."""
    outside: Mask = pane < 0 if edges.clipped else np.zeros(len(pane), np.bool_)
    return outside


def in_no_window(edges: Edges, pane: Ints) -> Mask:
    """Panes before the origin, or in the gaps of a slide that is longer than the range."""
    outside = before_origin(edges, pane)
    if edges.landmark or edges.range >= edges.slide:
        return outside
    gaps: Mask = outside | (pane % 2 == 0)
    return gaps


def _last_wids(edges: Edges, pane: Ints) -> Ints:
    """The last window that holds each pane."""
    if edges.panes_per_slide == 1:
        return pane + (edges.whole_slides - 1)
    return edges.whole_slides + (pane - 1) // 2
