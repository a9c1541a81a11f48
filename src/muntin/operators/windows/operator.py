"""Windows over values, by panes [Panes 3.1; Window-ids 5.2].

Rows become panes on the map side: one row of accumulators per key and pane. A step merges panes
that arrive with those it remembers and makes windows of them when punctuation says that they are
complete. Every row of a pane belongs to the same windows, so lateness is decided per pane too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import key_and_pane
from muntin.kernels.sliding import LANDMARK, LATCH, intervals
from muntin.kernels.ticks import from_ticks
from muntin.operators.aggregation.combine import slide
from muntin.operators.common.columns import ints
from muntin.operators.protocol import (
    ChunkKey,
    InputBatch,
    OneInput,
    Punctuation,
    Routed,
    RowCounts,
    State,
    Step,
)
from muntin.operators.windows.closed_windows import FOREVER, Closing, Last
from muntin.operators.windows.panes import Panes
from muntin.specs.axis import Axis
from muntin.specs.disorder import Late
from muntin.specs.windows import Edges, Unfinished

PANES = "panes"
#: A chunk without columns whose bucket is the number of panes in a bucket of PANES.
LAYOUT = "layout"
_NO_COLUMNS = pa.table({})


@dataclass(frozen=True)
class Windows(OneInput):
    """Sliding, tumbling and landmark windows with their aggregates.

    Results have the keys ``k0..``, the bounds of the window and ``r0..``, one for each call.
    """

    axis: Axis
    edges: Edges
    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    bound_type: pa.DataType
    late: Late = "generous"
    unfinished: Unfinished = "keep"
    panes_per_bucket: int = 1

    def __getstate__(self) -> dict[str, object]:
        # What is derived holds closures and is derived again where this arrives.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def panes(self) -> Panes:
        return Panes(self.axis, self.edges, self.keys, self.calls, self.lateness_type)

    @cached_property
    def result_schema(self) -> pa.Schema:
        made = [*self.panes.key_fields]
        made += [pa.field(name, self.bound_type) for name in ("window_start", "window_end")]
        if self.unfinished == "flag":
            made.append(pa.field("complete", pa.bool_()))
        results = enumerate(self.panes.bound)
        return pa.schema([*made, *(pa.field(f"r{place}", b.type) for place, b in results)])

    @cached_property
    def lateness_type(self) -> pa.DataType:
        """How late a row came: a length of time, or a number like those of the column."""
        return pa.duration("us") if self.axis.domain.temporal else self.bound_type

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.panes.key_names,)

    def route(self, rows: pa.Table) -> Routed:
        """Map side: rows to panes."""
        return self.panes.route(rows)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """One row per key and pane."""
        return self.panes.merge(partials)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        layout = state.buckets(LAYOUT)
        if layout and layout[0] != self.panes_per_bucket:
            # Written under another slack, which sets the size of buckets.
            work = replace(self, panes_per_bucket=layout[0])
            return work.step(state, inputs)
        closing = Closing(self.edges, only.punctuation)
        arrived, used, late, between = self._on_time(self.merge(only.partials), closing)
        touched = self._buckets(ints(arrived["pane"]))
        remembered = state.buckets(PANES)
        loaded = set(remembered) & set(touched)
        for start, end in closing.panes():
            loaded |= {bucket for bucket in remembered if self._overlaps(bucket, start, end)}
        panes = arrived
        if loaded:
            panes = self.merge([arrived, *(state.read(PANES, bucket) for bucket in sorted(loaded))])
        ends = self._ends(panes, closing)
        changes = self._remember(panes, ends, closing, remembered, loaded, touched)
        if changes and not layout:
            changes[LAYOUT, self.panes_per_bucket] = _NO_COLUMNS
        late_rows = self._late_rows(only.rows, closing) if only.rows else None
        return Step(
            results=self._close(panes, ends, only.punctuation),
            changes=changes,
            rows=(RowCounts(used, late, between, late_rows),),
        )

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

    def _on_time(self, panes: pa.Table, closing: Closing) -> tuple[pa.Table, int, int, int]:
        """Panes that may still enter a window, and rows used, late and between windows."""
        pane, rows = ints(panes["pane"]), ints(panes["a0_0"])
        closed, _ = closing.of(panes)
        late = self._late(pane, closed)
        between = ~late & self._in_no_window(pane)
        used, lost, idle = (int(rows[those].sum()) for those in (~late, late, between))
        if late.any() or between.any():
            panes, pane = panes.filter(pa.array(~late & ~between)), pane[~late & ~between]
            closed = closed if isinstance(closed, int) else closed[~late & ~between]
        least = -FOREVER + 1 if self.edges.latch else 0
        if self.edges.landmark and np.any(np.greater_equal(closed, least)):
            # A late row of a generous query enters the windows that are still open.
            place = panes.schema.get_field_index("pane")
            moved = panes.set_column(place, "pane", pa.array(np.maximum(pane, closed)))
            panes = self.merge([moved])
        return panes, used, lost, idle

    def _late(self, pane: Ints, closed: Last) -> Mask:
        """Refused for lateness: all windows of the pane are closed, or one where that is enough."""
        first = pane // self.edges.panes_per_slide
        if isinstance(closed, int) and closed >= FOREVER:
            return np.ones(len(pane), np.bool_)
        if self.late == "consistent":
            missed: Mask = (first <= closed) & ~self._in_no_window(pane)
            return missed
        if self.edges.landmark:
            return np.zeros(len(pane), np.bool_)
        return (self._last_wids(pane) <= closed) & ~self._in_no_window(pane)

    def _in_no_window(self, pane: Ints) -> Mask:
        """Panes in the gaps of a slide that is longer than the range."""
        if self.edges.landmark or self.edges.range >= self.edges.slide:
            return np.zeros(len(pane), np.bool_)
        gaps: Mask = pane % 2 == 0
        return gaps

    def _last_wids(self, pane: Ints) -> Ints:
        if self.edges.panes_per_slide == 1:
            return pane + (self.edges.whole_slides - 1)
        return self.edges.whole_slides + (pane - 1) // 2

    def _late_rows(self, rows: Sequence[pa.Table], closing: Closing) -> pa.Table:
        """The original rows that were refused, and how far behind the punctuation they came."""
        table = pa.concat_tables(rows)
        closed, _ = closing.of(table)
        before, _ = closing.punctuation.of(table.select(self.panes.key_names))
        late = self._late(ints(table["pane"]), closed)
        return self.panes.admission.late_rows(table, late, before)

    def _close(self, panes: pa.Table, ends: KeyEnds, punctuation: Punctuation) -> pa.Table:
        """The windows behind what was closed that close now and hold a row."""
        if not np.any(ends.closing > ends.closed):
            return self.result_schema.empty_table()
        key, wid, low, high = self._intervals(panes, ends)
        results = self._finish(panes, ends.starts[key], wid, low, high)
        complete = self._complete(wid, punctuation)
        if self.unfinished == "drop" and not complete.all():
            return results.filter(pa.array(complete))
        if self.unfinished == "flag":
            place = self.result_schema.get_field_index("complete")
            results = results.set_column(place, "complete", pa.array(complete))
        return results

    def _intervals(self, panes: pa.Table, ends: KeyEnds) -> tuple[Ints, Ints, Ints, Ints]:
        slides = self.edges.whole_slides
        if self.edges.landmark:
            slides = LATCH if self.edges.latch else LANDMARK
        bounds = ends.closed + 1, np.ascontiguousarray(ends.closing)
        given = ends.starts, ints(panes["pane"]), self.edges.panes_per_slide, slides, *bounds
        none = np.empty(0, np.int64)
        found = intervals(*given, none, none, none, none)
        filled = [np.empty(found, np.int64) for _ in range(4)]
        intervals(*given, *filled)
        return filled[0], filled[1], filled[2], filled[3]

    def _finish(self, panes: pa.Table, row: Ints, wid: Ints, low: Ints, high: Ints) -> pa.Table:
        columns = [panes[name].combine_chunks() for name in panes.column_names]
        wanted = {a for bound in self.panes.bound for a in bound.accumulators}
        slid = {
            accumulator: slide(accumulator.kind, parts, low, high)
            for accumulator, parts in self.panes.by_accumulator(columns[len(self.keys) + 1 :])
            if accumulator in wanted
        }
        made = [column.take(pa.array(row)) for column in columns[: len(self.keys)]]
        ends = self.edges.origin + (wid + 1) * self.edges.slide
        made += [from_ticks(self._starts(ends), self.axis, self.bound_type)]
        made += [from_ticks(ends, self.axis, self.bound_type)]
        if self.unfinished == "flag":
            made.append(pa.nulls(len(wid), pa.bool_()))
        made += [bound.finish([slid[a] for a in bound.accumulators]) for bound in self.panes.bound]
        return pa.Table.from_arrays(made, schema=self.result_schema)

    def _starts(self, ends: Ints) -> Ints:
        if self.edges.landmark and not self.edges.latch:
            return np.full(len(ends), self.edges.origin)
        starts = ends - self.edges.range
        return np.maximum(starts, self.edges.origin) if self.edges.clipped else starts

    def _complete(self, wid: Ints, punctuation: Punctuation) -> Mask:
        """Windows are complete unless the input ended before they did."""
        if not punctuation.ended or punctuation.largest is None:
            return np.ones(len(wid), np.bool_)
        ends = self.edges.origin + (wid + 1) * self.edges.slide
        complete: Mask = ends <= punctuation.largest
        return complete

    def _buckets(self, pane: Ints) -> list[int]:
        buckets = pane // self.panes_per_bucket
        groups = key_and_pane(np.zeros(len(pane), np.int64), 1, buckets)
        found: list[int] = buckets[groups.member].tolist()
        return found

    def _remember(
        self,
        panes: pa.Table,
        ends: KeyEnds,
        closing: Closing,
        remembered: Sequence[int],
        loaded: set[int],
        touched: Sequence[int],
    ) -> dict[ChunkKey, pa.Table | None]:
        """Write the buckets that rows fell into, forget those that no open window reaches."""
        if self.edges.landmark:
            return self._remember_landmark(panes, ends, loaded, touched)
        needed = self.edges.start_pane(closing.closing + 1)
        changes: dict[ChunkKey, pa.Table | None] = {}
        pane = ints(panes["pane"])
        looked_at = {*touched}
        live: Mask | None = None
        if closing.by_key:
            # Where keys move by themselves, old panes of some lie among live ones of others.
            looked_at |= loaded
            live = pane >= np.repeat(self._needed(ends.closing), np.diff(ends.starts))
        near = pane >= needed
        if not near.all():
            # Few of many panes, so that what follows costs what is kept, not what arrived.
            panes, pane = panes.filter(pa.array(near)), pane[near]
            live = None if live is None else live[near]
        bucket_of = pane // self.panes_per_bucket
        for bucket in sorted({*looked_at, *remembered}):
            if (bucket + 1) * self.panes_per_bucket <= needed:
                if bucket in remembered:
                    changes[PANES, bucket] = None
            elif bucket in looked_at:
                inside = bucket_of == bucket
                kept = inside if live is None else inside & live
                count = np.count_nonzero(kept)
                if count and (bucket in touched or 2 * count <= np.count_nonzero(inside)):
                    changes[PANES, bucket] = panes.filter(pa.array(kept))
                elif not count and bucket in remembered:
                    changes[PANES, bucket] = None
        return changes

    def _needed(self, closing: Ints) -> Ints:
        """The first panes that windows behind these may need, as ``Edges.start_pane`` has them."""
        return self.edges.start_pane(0) + (closing + 1) * self.edges.panes_per_slide

    def _remember_landmark(
        self, panes: pa.Table, ends: KeyEnds, loaded: set[int], touched: Sequence[int]
    ) -> dict[ChunkKey, pa.Table | None]:
        """Landmark windows only grow: what is closed is kept as one pane a key."""
        place = panes.schema.get_field_index("pane")
        closing = np.repeat(ends.closing, np.diff(ends.starts))
        pane = np.maximum(ints(panes["pane"]), closing)
        panes = self.merge([panes.set_column(place, "pane", pa.array(pane))])
        buckets = ints(panes["pane"]) // self.panes_per_bucket
        changes: dict[ChunkKey, pa.Table | None] = {(PANES, b): None for b in {*loaded, *touched}}
        for bucket in np.unique(buckets).tolist():
            changes[PANES, bucket] = panes.filter(pa.array(buckets == bucket))
        return changes


@dataclass(frozen=True)
class KeyEnds:
    """The keys of sorted panes: where each begins, and its last windows closed and closing."""

    starts: Ints
    closed: Ints
    closing: Ints
