"""Windows over values, by panes [Panes 3.1; Window-ids 5.2].

The map side combines rows into panes: one row of accumulators per key and pane. A pane store merges
new panes with those it keeps. The operator makes a window from its panes when punctuation says that
the window is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.calendar_units import ticks_at
from muntin.kernels.sliding import LANDMARK, LATCH, intervals
from muntin.kernels.ticks import from_ticks
from muntin.operators.aggregation.combine_accumulators import slide
from muntin.operators.common.listed_places import check_listed
from muntin.operators.protocol import (
    InputBatch,
    OneInput,
    Punctuation,
    Routed,
    State,
    Step,
    ints,
    open_rows,
)
from muntin.operators.windows.level_tables import PANES
from muntin.operators.windows.pane_store import KeyEnds, PaneStore, WindowPanes
from muntin.operators.windows.panes import Cells, PaneEdges, Panes
from muntin.specs.axis import Axis
from muntin.specs.disorder import Late
from muntin.specs.windows import Edges, Unfinished


@dataclass(frozen=True)
class WindowOperator(OneInput):
    """Sliding, tumbling and landmark windows with their aggregates.

    Results have the keys ``k0..``, the bounds of the window and one column ``r0..`` per call.
    """

    axis: Axis
    edges: Edges
    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    bound_type: pa.DataType
    late: Late = "generous"
    unfinished: Unfinished = "keep"
    panes_per_bucket: int = 1
    fanout: int = 0

    def __getstate__(self) -> dict[str, object]:
        # Cached properties hold closures and are not pickled; the receiver computes them again.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def panes(self) -> Panes:
        edges = PaneEdges((self.edges,))
        return Panes(self.keys, self.calls, self.axis, edges, self.lateness_type)

    @cached_property
    def store(self) -> PaneStore:
        return PaneStore(self.panes, self.late, self.panes_per_bucket, self.fanout)

    @cached_property
    def result_schema(self) -> pa.Schema:
        columns = [*self.panes.key_fields]
        columns += [pa.field(name, self.bound_type) for name in ("window_start", "window_end")]
        if self.unfinished == "flag":
            columns.append(pa.field("complete", pa.bool_()))
        results = enumerate(self.panes.bound)
        return pa.schema([*columns, *(pa.field(f"r{place}", b.type) for place, b in results)])

    @cached_property
    def lateness_type(self) -> pa.DataType:
        """The type of the lateness of a row: a duration, or the type of the bounds."""
        return pa.duration("us") if self.axis.domain.temporal else self.bound_type

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.panes.key_names,)

    def route(self, rows: pa.Table) -> Routed:
        """Map side: combine rows into panes."""
        return self.panes.route(rows)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """Combine partial tables into one row per key and pane."""
        return self.panes.merge(partials)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (batch,) = inputs
        stored = self.store.step(state, batch)
        (seen,) = stored.windows
        return Step(
            results=self.close(self.panes, seen, batch.punctuation),
            changes=stored.changes,
            rows=(seen.rows,),
            open_counts=open_rows(stored.changes, PANES),
        )

    def close(self, cells: Cells, seen: WindowPanes, punctuation: Punctuation) -> pa.Table:
        """Return the windows that close now and hold a row, made from the panes of a store.

        ``cells`` is the layout of the panes. If windows share panes, it has the accumulators of all
        of them.
        """
        panes, ends = seen.panes, seen.ends
        if not np.any(ends.closing > ends.closed):
            return self.result_schema.empty_table()
        key, wid, low, high = self._intervals(panes, ends)
        results = self._finish(cells, panes, ends.starts[key], wid, low, high)
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
        if slides == LANDMARK:
            # Counted without a loop over them: every window after a key's first pane holds rows.
            first_pane = ints(panes["pane"])[ends.starts[:-1]] // self.edges.panes_per_slide
            first = np.maximum(ends.closed + 1, first_pane)
            counted = np.maximum(ends.closing - first + 1, 0)
            check_listed(counted, panes.num_rows, "landmark windows")
        bounds = ends.closed + 1, np.ascontiguousarray(ends.closing)
        arguments = ends.starts, ints(panes["pane"]), self.edges.panes_per_slide, slides, *bounds
        none = np.empty(0, np.int64)
        count = intervals(*arguments, none, none, none, none)
        filled = [np.empty(count, np.int64) for _ in range(4)]
        intervals(*arguments, *filled)
        return filled[0], filled[1], filled[2], filled[3]

    def _finish(
        self, cells: Cells, panes: pa.Table, row: Ints, wid: Ints, low: Ints, high: Ints
    ) -> pa.Table:
        columns = [panes[name].combine_chunks() for name in panes.column_names]
        wanted = {a for bound in self.panes.bound for a in bound.accumulators}
        slid = {
            accumulator: slide(accumulator.kind, parts, low, high)
            for accumulator, parts in cells.by_accumulator(columns[len(self.keys) + 1 :])
            if accumulator in wanted
        }
        arrays = [column.take(pa.array(row)) for column in columns[: len(self.keys)]]
        ends = self.edges.origin + (wid + 1) * self.edges.slide
        arrays += [
            from_ticks(ticks_at(self.edges, points), self.axis, self.bound_type)
            for points in (self._starts(ends), ends)
        ]
        if self.unfinished == "flag":
            arrays.append(pa.nulls(len(wid), pa.bool_()))
        arrays += [
            bound.finish([slid[a] for a in bound.accumulators]) for bound in self.panes.bound
        ]
        return pa.Table.from_arrays(arrays, schema=self.result_schema)

    def _starts(self, ends: Ints) -> Ints:
        if self.edges.landmark and not self.edges.latch:
            return np.full(len(ends), self.edges.origin)
        starts = ends - self.edges.range
        return np.maximum(starts, self.edges.origin) if self.edges.clipped else starts

    def _complete(self, wid: Ints, punctuation: Punctuation) -> Mask:
        """Mask of the windows that are complete.

        A window is not complete if the input has ended and the window ends after its largest value.
        """
        if not punctuation.ended or punctuation.largest is None:
            return np.ones(len(wid), np.bool_)
        ends = ticks_at(self.edges, self.edges.origin + (wid + 1) * self.edges.slide)
        complete: Mask = ends <= punctuation.largest
        return complete
