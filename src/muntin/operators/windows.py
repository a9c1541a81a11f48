"""Windows over values, by panes (panes.txt 3.1; window-id.txt 5.2).

Rows become panes on the map side: one row of accumulators per key and pane. A step merges panes
that arrive with those it remembers and makes windows of them when punctuation says that they are
complete. Every row of a pane belongs to the same windows, so lateness is decided per pane too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.binding import Call
from muntin.operators.kernels.sliding import intervals
from muntin.operators.kernels.ticks import from_ticks, lengths_from_ticks
from muntin.operators.panes import Panes, ints
from muntin.operators.protocol import ChunkKey, Punctuation, Routed, State, Step
from muntin.operators.reduction import slide
from muntin.semantics.axis import Axis
from muntin.semantics.disorder import Late
from muntin.semantics.window import Edges, Unfinished

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
PANES = "panes"
#: Beyond every window; small enough that panes of it fit 64 bits.
_FOREVER = 2**60


@dataclass(frozen=True)
class Windows:
    """Sliding, tumbling and landmark windows with their aggregates.

    Results have the keys ``k0..``, the bounds of the window and ``r0..``, one for each call.
    """

    axis: Axis
    edges: Edges
    keys: tuple[pa.DataType, ...]
    calls: tuple[Call, ...]
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

    def route(self, rows: pa.Table) -> Routed:
        """Map side: rows to panes."""
        return self.panes.route(rows)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """One row per key and pane."""
        return self.panes.merge(partials)

    def step(
        self,
        state: State,
        partials: Sequence[pa.Table],
        punctuation: Punctuation,
        rows: Sequence[pa.Table] = (),
    ) -> Step:
        closed = self._closed(punctuation.before, punctuation.over, None)
        closing = self._closed(punctuation.after, punctuation.ended, punctuation.largest)
        closing = max(closed, closing)
        arrived, used, late, between = self._on_time(self.merge(partials), closed)
        touched = self._buckets(ints(arrived["pane"]))
        remembered = state.buckets(PANES)
        wanted = set(remembered) & set(touched)
        if closing > closed:
            wanted |= {b for b in remembered if b * self.panes_per_bucket < self._end_pane(closing)}
        panes = self.merge([arrived, *(state.read(PANES, bucket) for bucket in sorted(wanted))])
        results = self._close(panes, closed, closing, punctuation)
        return Step(
            results=results,
            changes=self._remember(panes, closing, remembered, wanted, touched),
            rows_used=used,
            rows_late=late,
            rows_between=between,
            late_rows=self._late_rows(rows, closed, punctuation.before) if rows else None,
        )

    def _closed(self, punctuation: int | None, ended: bool, largest: int | None) -> int:
        """The last window that is closed; far below all windows when none is."""
        if ended:
            if self.edges.landmark and largest is not None:
                return self.edges.last_closed(largest) + 1
            return _FOREVER
        return -_FOREVER if punctuation is None else self.edges.last_closed(punctuation)

    def _end_pane(self, wid: int) -> int:
        return min(self.edges.end_pane(wid), 2 * _FOREVER)

    def _on_time(self, panes: pa.Table, closed: int) -> tuple[pa.Table, int, int, int]:
        """Panes that may still enter a window, and rows used, late and between windows."""
        pane, rows = ints(panes["pane"]), ints(panes["a0_0"])
        late = self._late(pane, closed)
        between = ~late & self._in_no_window(pane)
        counted = rows[~late].sum(), rows[late].sum(), rows[between].sum()
        if late.any() or between.any():
            panes = panes.filter(pa.array(~late & ~between))
        if self.edges.landmark and closed >= 0:
            # A late row of a generous query enters the windows that are still open.
            clamped = np.maximum(ints(panes["pane"]), closed)
            place = panes.schema.get_field_index("pane")
            panes = panes.set_column(place, "pane", pa.array(clamped))
        return panes, int(counted[0]), int(counted[1]), int(counted[2])

    def _late(self, pane: Ints, closed: int) -> Mask:
        """Refused for lateness: all windows of the pane are closed, or one where that is enough."""
        first = pane // self.edges.panes_per_slide
        if closed >= _FOREVER:
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

    def _late_rows(self, rows: Sequence[pa.Table], closed: int, before: int | None) -> pa.Table:
        """The original rows that were refused, and how far behind the punctuation they came."""
        table = pa.concat_tables(rows)
        late = table.filter(pa.array(self._late(ints(table["pane"]), closed)))
        if before is None:
            lateness = pa.nulls(late.num_rows, self.lateness_type)
        else:
            behind = before - ints(late["tick"])
            lateness = lengths_from_ticks(behind, self.axis, self.lateness_type)
            # A row can be refused without being behind: after the end of its stream.
            lateness = pc.if_else(pa.array(behind > 0), lateness, None)
        why = pa.array(["late"] * late.num_rows, pa.string())
        late = late.drop_columns([*self.panes.key_names, "pane", "tick"]).append_column(
            "reason", why
        )
        return late.append_column("lateness", lateness)

    def _close(
        self, panes: pa.Table, closed: int, closing: int, punctuation: Punctuation
    ) -> pa.Table:
        """The windows behind ``closed`` up to ``closing`` that hold a row."""
        if closing <= closed or panes.num_rows == 0:
            return self.result_schema.empty_table()
        codes, _ = self.panes.codes(panes)
        pane = ints(panes["pane"])
        starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1)).astype(np.int64)
        key_starts = np.append(starts, len(codes))
        key, wid, low, high = self._intervals(key_starts, pane, closed + 1, closing)
        results = self._finish(panes, starts[key], wid, low, high)
        complete = self._complete(wid, punctuation)
        if self.unfinished == "drop" and not complete.all():
            return results.filter(pa.array(complete))
        if self.unfinished == "flag":
            place = self.result_schema.get_field_index("complete")
            results = results.set_column(place, "complete", pa.array(complete))
        return results

    def _intervals(
        self, key_starts: Ints, pane: Ints, first: int, last: int
    ) -> tuple[Ints, Ints, Ints, Ints]:
        slides = -1 if self.edges.landmark else self.edges.whole_slides
        given = key_starts, pane, self.edges.panes_per_slide, slides, first, last
        none = np.empty(0, np.int64)
        found = intervals(*given, none, none, none, none)
        filled = [np.empty(found, np.int64) for _ in range(4)]
        intervals(*given, *filled)
        return filled[0], filled[1], filled[2], filled[3]

    def _finish(self, panes: pa.Table, row: Ints, wid: Ints, low: Ints, high: Ints) -> pa.Table:
        columns = [panes[name].combine_chunks() for name in panes.column_names]
        slid = {
            accumulator: slide(accumulator.kind, parts, low, high)
            for accumulator, parts in self.panes.by_accumulator(columns[len(self.keys) + 1 :])
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
        if self.edges.landmark:
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
        return [int(bucket) for bucket in np.unique(pane // self.panes_per_bucket)]

    def _remember(
        self,
        panes: pa.Table,
        closing: int,
        remembered: Sequence[int],
        loaded: set[int],
        touched: Sequence[int],
    ) -> dict[ChunkKey, pa.Table | None]:
        """Write the buckets that rows fell into, forget those that no open window reaches."""
        if self.edges.landmark:
            return self._remember_landmark(panes, closing, loaded, touched)
        needed = self.edges.start_pane(closing + 1)
        changes: dict[ChunkKey, pa.Table | None] = {}
        pane = ints(panes["pane"])
        for bucket in sorted({*touched, *remembered}):
            end = (bucket + 1) * self.panes_per_bucket
            if end <= needed:
                if bucket in remembered:
                    changes[PANES, bucket] = None
            elif bucket in touched:
                inside = (pane >= max(needed, end - self.panes_per_bucket)) & (pane < end)
                kept = panes.filter(pa.array(inside))
                if kept.num_rows or bucket in remembered:
                    changes[PANES, bucket] = kept if kept.num_rows else None
        return changes

    def _remember_landmark(
        self, panes: pa.Table, closing: int, loaded: set[int], touched: Sequence[int]
    ) -> dict[ChunkKey, pa.Table | None]:
        """Landmark windows only grow: what is closed is kept as one pane a key."""
        place = panes.schema.get_field_index("pane")
        pane = np.maximum(ints(panes["pane"]), closing)
        panes = self.merge([panes.set_column(place, "pane", pa.array(pane))])
        buckets = ints(panes["pane"]) // self.panes_per_bucket
        changes: dict[ChunkKey, pa.Table | None] = {(PANES, b): None for b in {*loaded, *touched}}
        for bucket in np.unique(buckets).tolist():
            changes[PANES, bucket] = panes.filter(pa.array(buckets == bucket))
        return changes
