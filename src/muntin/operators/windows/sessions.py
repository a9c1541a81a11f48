"""Session windows: rows of a key that follow each other within a gap.

A single row is a session from its ``on`` to its ``on`` plus the gap. Sessions that touch are
joined, in whatever order they arrive. So the state has one row of accumulators per open session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import NEVER, Mask
from muntin.kernels.grouping import Groups
from muntin.kernels.row_windows import join_sessions
from muntin.kernels.ticks import from_order, order_of_ticks, shift_order, to_ticks
from muntin.operators.aggregation.combine_accumulators import slide
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.protocol import (
    Changes,
    InputBatch,
    OneInput,
    Open,
    Routed,
    RowCounts,
    State,
    Step,
    ints,
    open_rows,
)
from muntin.operators.windows.panes import Cells
from muntin.specs.axis import Axis

SESSIONS = "sessions"


@dataclass(frozen=True)
class SessionOperator(OneInput):
    """The sessions of each key with their aggregates.

    Rows have ``on``, the keys ``k0..`` and the slots ``s0..``. If rows have their own gaps, the
    column ``reach`` has the value up to which a row keeps its session open.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    gap: int | None
    bound_type: pa.DataType
    lateness_type: pa.DataType

    def __getstate__(self) -> dict[str, object]:
        # Cached properties hold closures and are not pickled; the receiver computes them again.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def cells(self) -> Cells:
        """Cells of sessions; the number of a session is its start."""
        return Cells(self.keys, self.calls)

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.axis, self.lateness_type)

    @cached_property
    def row_schema(self) -> pa.Schema:
        whole = [pa.field(name, pa.int64()) for name in ("tick", "order", "reach")]
        slots = [pa.field(f"s{place}", type_) for place, type_ in self.cells.slot_types.items()]
        return pa.schema([*self.cells.key_fields, *whole, *slots])

    @cached_property
    def result_schema(self) -> pa.Schema:
        columns = [*self.cells.key_fields]
        columns += [pa.field(name, self.bound_type) for name in ("window_start", "window_end")]
        results = enumerate(self.cells.bound)
        return pa.schema([*columns, *(pa.field(f"r{place}", b.type) for place, b in results)])

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.cells.key_names,)

    def route(self, rows: pa.Table) -> Routed:
        """Map side: return rows with their place and reach; shards decide which are late."""
        reasons = None
        if self.gap is None:
            reasons = self._without_gap(rows)
        admitted = self.admission.admit(rows, reasons)
        rows = admitted.rows
        if self.gap is None:
            reach = to_ticks(rows["reach"].combine_chunks(), self.axis).order
        else:
            reach = shift_order(admitted.order, self.axis, self.gap)
        own = {"reach": pa.array(reach)}
        partial = admitted.partial(self.row_schema, own, with_originals=False)
        return admitted.routed(partial, admitted.originals(self.cells.key_names))

    def _without_gap(self, rows: pa.Table) -> npt.NDArray[np.object_]:
        """Return "no_gap" for rows whose gap is null or not above zero; Spark drops these too."""
        on = to_ticks(rows["on"].combine_chunks(), self.axis)
        reach = to_ticks(rows["reach"].combine_chunks(), self.axis)
        none = (reach.refusal != 0) | (reach.order <= on.order)
        return np.where(none, "no_gap", "").astype(object)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(partials) if partials else self.row_schema.empty_table()

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        punctuation, arrived = only.punctuation, self.merge(only.partials)
        late = is_late(arrived, self.cells.key_names, punctuation)
        arrived = arrived.filter(pa.array(~late)) if late.any() else arrived
        old = [state.read(SESSIONS, bucket) for bucket in sorted(state.buckets(SESSIONS))]
        sessions, changed = self._join([*old, self._lifted(arrived)], arrived.num_rows)
        _, complete = punctuation.of(sessions.select(self.cells.key_names))
        closed = np.ones(sessions.num_rows, np.bool_)
        if not punctuation.ended:
            # A row exactly at the end still joins, so punctuation must be above the end.
            front = order_of_ticks(complete, self.axis)
            closed = (complete != NEVER) & (ints(sessions["reach"]) < front)
        late_rows = self.admission.late_among(only.rows, self.cells.key_names, punctuation)
        changes = self._remember(state, sessions, changed, closed)
        return Step(
            results=self._results(sessions.filter(pa.array(closed))),
            changes=changes,
            rows=(RowCounts(arrived.num_rows, int(late.sum()), late_rows=late_rows),),
            open=self._open(sessions.filter(pa.array(~closed))),
            open_counts=open_rows(changes, SESSIONS),
        )

    def _open(self, sessions: pa.Table) -> Open:
        """Return where the open sessions of each key begin."""
        return Open(sessions.select(self.cells.key_names), ints(sessions["pane"]))

    def _lifted(self, rows: pa.Table) -> pa.Table:
        order = ints(rows["order"])
        return self.cells.lifted(rows, order, order).append_column("reach", rows["reach"])

    def _join(self, tables: Sequence[pa.Table], new_rows: int) -> tuple[pa.Table, Mask]:
        """Join sessions that touch; return them and a mask of those with a new row."""
        parts = pa.concat_tables(tables)
        new = np.arange(parts.num_rows) >= parts.num_rows - new_rows
        codes, _ = self.cells.codes(parts)
        order = np.lexsort((ints(parts["pane"]), codes))
        parts, codes, new = parts.take(pa.array(order)), codes[order], new[order]
        number = np.empty(len(codes), np.int64)
        end = np.empty(len(codes), np.int64)
        count = join_sessions(codes, ints(parts["pane"]), ints(parts["reach"]), number, end)
        member = np.searchsorted(number, np.arange(count)).astype(np.int64)
        columns = [column.combine_chunks() for column in parts.columns[:-1]]
        sessions = self.cells.grouped(columns, Groups(number, member))
        sessions = sessions.append_column("reach", pa.array(end[:count]))
        changed = np.zeros(count, np.bool_)
        changed[number[new]] = True
        return sessions, changed

    def _results(self, closed: pa.Table) -> pa.Table:
        columns = [column.combine_chunks() for column in closed.columns]
        each = np.arange(closed.num_rows)
        kept = {
            accumulator: slide(accumulator.kind, parts, each, each + 1)
            for accumulator, parts in self.cells.by_accumulator(columns[len(self.keys) + 1 : -1])
        }
        arrays = columns[: len(self.keys)]
        for bound in ("pane", "reach"):
            arrays.append(from_order(ints(closed[bound]), self.axis, self.bound_type))
        arrays += [b.finish([kept[a] for a in b.accumulators]) for b in self.cells.bound]
        return pa.Table.from_arrays(arrays, schema=self.result_schema)

    def _remember(self, state: State, sessions: pa.Table, changed: Mask, closed: Mask) -> Changes:
        """Write the buckets with a changed or closed session; the key decides the bucket."""
        bucket = key_buckets(sessions, self.cells.key_names)
        written = set(bucket[changed | closed].tolist())
        return BucketedTable(state, SESSIONS).write(sessions, bucket, written, ~closed)
