"""The pane store: which panes are kept, where, and until when; windows are made from it.

A store takes in partial tables and refuses panes whose windows are closed. It keeps the others in
buckets of panes, and deletes panes that no open window needs. All rows of a pane belong to the same
windows, so lateness is decided per pane. Several windows may share a store. Its panes then lie
between the edges of all windows, and each window has its own numbers for them. :class:`Closing`
finds the windows that punctuation has closed: for the whole stream, and for keys ahead of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.kernels.arrays import NEVER, Ints, Mask
from muntin.kernels.grouping import key_and_pane
from muntin.operators.common.buckets import BucketedTable
from muntin.operators.protocol import Changes, InputBatch, Punctuation, RowCounts, State, ints
from muntin.operators.windows.panes import Panes
from muntin.specs.axis import TICK_LIMIT
from muntin.specs.disorder import Late
from muntin.specs.windows import Edges

#: The last closed window: one number per row, or one number for all rows.
Last = int | Ints
#: A number above every window; it is small enough that the numbers of its panes fit 64 bits.
FOREVER = 2**60


@dataclass(frozen=True)
class Closing:
    """The last windows that are closed before and after a step; ``-FOREVER`` if none is closed.

    If no key is ahead of the stream, these are two numbers and need no work per row.
    """

    edges: Edges
    punctuation: Punctuation

    @cached_property
    def by_key(self) -> bool:
        """True if some key is ahead of the stream."""
        keys = self.punctuation.by_key
        return keys is not None and keys.num_rows > 0 and not self.punctuation.over

    @cached_property
    def closed(self) -> int:
        """The last window of the whole stream that was closed before the step."""
        if self.punctuation.over:
            return self._last_of_all(None)
        return self._last(self.punctuation.before)

    @cached_property
    def closing(self) -> int:
        """The last window of the whole stream that is closed after the step."""
        if self.punctuation.ended:
            return max(self.closed, self._last_of_all(self.punctuation.largest))
        return max(self.closed, self._last(self.punctuation.after))

    def of(self, rows: pa.Table) -> tuple[Last, Last]:
        """Return the last window closed before and after the step, for each row of a table."""
        if not self.by_key:
            return self.closed, self.closing
        return self._of_ticks(*self.punctuation.of(rows.select(self._names.column_names)))

    def panes(self) -> Sequence[tuple[int, int]]:
        """Return ranges of panes: those of windows that close, or that no open window needs."""
        ranges = [(self.closed, self.closing)] if self.closing > self.closed else []
        if self.by_key:
            closed, closing = self._of_ticks(*self.punctuation.of(self._names))
            moved = closing > closed
            pairs = {*zip(closed[moved].tolist(), closing[moved].tolist(), strict=True)}
            ranges += sorted(pairs)
        return [(self._start(closed), self._end(closing)) for closed, closing in ranges]

    @property
    def _names(self) -> pa.Table:
        assert self.punctuation.by_key is not None  # used only if some key is ahead
        return self.punctuation.by_key.drop_columns(["before", "after"])

    def _of_ticks(self, before: Ints, after: Ints) -> tuple[Ints, Ints]:
        closed = self._lasts(before)
        closing = np.maximum(closed, self._lasts(after))
        return closed, np.maximum(closing, self.closing) if self.punctuation.ended else closing

    def _last_of_all(self, largest: int | None) -> int:
        """Return the last window to close at the end of input.

        Landmark windows are reported up to the first that ends after the largest value.
        """
        if self.edges.landmark and largest is not None:
            return self.edges.last_closed(largest) + 1
        return FOREVER

    def _last(self, tick: int | None) -> int:
        return -FOREVER if tick is None else self.edges.last_closed(tick)

    def _lasts(self, ticks: Ints) -> Ints:
        # No row lies below the least tick, so lower punctuations all have the same effect.
        wids = (np.maximum(ticks, -TICK_LIMIT) - self.edges.origin) // self.edges.slide - 1
        return np.where(ticks == NEVER, -FOREVER, wids)

    def _start(self, closed: int) -> int:
        """Return the first pane of the windows after ``closed``."""
        return closed if self.edges.landmark else self.edges.start_pane(closed + 1)

    def _end(self, closing: int) -> int:
        return min(self.edges.end_pane(closing), 2 * FOREVER)


PANES = "panes"
#: A chunk without columns; its bucket number is how many panes a bucket of PANES has.
LAYOUT = "layout"
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
    may be in time for another.
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
        """The edges of each window that uses the store."""
        return self.panes.edges.windows

    def step(self, state: State, batch: InputBatch) -> StoreStep:
        """Take in new panes, and return for each window the panes that it may close."""
        layout = state.buckets(LAYOUT)
        if layout and layout[0] != self.panes_per_bucket:
            # The state was written with another slack, which sets the size of buckets.
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

    def _loaded(
        self, state: State, closings: Sequence[Closing], touched: Sequence[int]
    ) -> set[int]:
        """Return the stored buckets with new rows or with panes of windows that close."""
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

    def _buckets(self, pane: Ints) -> list[int]:
        buckets = pane // self.panes_per_bucket
        groups = key_and_pane(np.zeros(len(pane), np.int64), 1, buckets)
        numbers: list[int] = buckets[groups.member].tolist()
        return numbers

    def _remember(
        self,
        state: State,
        panes: pa.Table,
        ends: Sequence[KeyEnds],
        closings: Sequence[Closing],
        loaded: set[int],
        touched: Sequence[int],
    ) -> Changes:
        """Write the buckets with new rows, and delete those that no open window needs."""
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
            # Keys progress at different speeds, so a bucket may hold live and outdated panes.
            sparse = loaded
            first = [self._needed(e, own) for e, own in zip(self.edges, ends, strict=True)]
            live = pane >= np.minimum.reduce(first)
        near = pane >= needed
        if not near.all():
            # Drop outdated panes first, so that the next steps work on the kept panes only.
            panes, pane = panes.filter(pa.array(near)), pane[near]
            live = None if live is None else live[near]
        over = {b for b in state.buckets(PANES) if (b + 1) * self.panes_per_bucket <= needed}
        changed = [b for b in touched if (b + 1) * self.panes_per_bucket > needed]
        changes: Changes = {(PANES, bucket): None for bucket in sorted(over)}
        if not changed and not sparse - over:
            return changes
        table = BucketedTable(state, PANES)
        bucket_of = pane // self.panes_per_bucket
        return changes | table.write(panes, bucket_of, changed, live, sparse - over)

    def _needed(self, edges: Edges, ends: KeyEnds) -> Ints:
        """Return for each pane the first pane that open windows of its key need."""
        return np.repeat(self.panes.edges.needed(edges, ends.closing), np.diff(ends.starts))

    def _remember_landmark(
        self, panes: pa.Table, ends: KeyEnds, loaded: set[int], touched: Sequence[int]
    ) -> Changes:
        """Write landmark windows, which only grow: all closed panes of a key become one."""
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
