"""Stored frames as segments: every row is a frame that was found before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.ticks import from_order, to_ticks
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.common.arrow_columns import ints, key_fields
from muntin.operators.protocol import InputBatch, OneInput, Routed, RowCounts, State, Step
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class StoredFrameSegments(OneInput):
    """Reports each row as a frame, from ``on`` to ``until``, with its columns ``r0..``.

    A frame is final when its row arrives, so there is no state.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    kept: tuple[pa.DataType, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    names: tuple[str, str] = ("frame_start", "frame_end")

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.axis, self.lateness_type)

    @cached_property
    def row_schema(self) -> pa.Schema:
        place = [pa.field(name, pa.int64()) for name in ("tick", "order", "reach")]
        return pa.schema([*key_fields(self.keys), *place, *self._kept])

    @property
    def _kept(self) -> list[pa.Field]:
        return [pa.field(f"r{place}", type_) for place, type_ in enumerate(self.kept)]

    @cached_property
    def result_schema(self) -> pa.Schema:
        bounds = [pa.field(name, self.bound_type) for name in self.names]
        return pa.schema([*key_fields(self.keys), *bounds, *self._kept])

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.key_names,)

    def route(self, rows: pa.Table) -> Routed:
        on = to_ticks(rows["on"].combine_chunks(), self.axis)
        until = to_ticks(rows["until"].combine_chunks(), self.axis)
        endless = (until.refusal != 0) | ((on.refusal == 0) & (until.order < on.order))
        admitted = self.admission.admit(rows, np.where(endless, "no_until", "").astype(object))
        reach = to_ticks(admitted.rows["until"].combine_chunks(), self.axis).order
        own = {"reach": pa.array(reach)}
        partial = admitted.partial(self.row_schema, own, with_originals=False)
        return admitted.routed(partial, admitted.originals(self.key_names))

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables([self.row_schema.empty_table(), *partials])

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        arrived = self.merge(only.partials)
        late = is_late(arrived, self.key_names, only.punctuation)
        arrived = arrived.filter(pa.array(~late)) if late.any() else arrived
        bounds = [
            from_order(ints(arrived[name]), self.axis, self.bound_type)
            for name in ("order", "reach")
        ]
        columns = [*(arrived[n] for n in self.key_names), *bounds]
        columns += [arrived[field.name] for field in self._kept]
        results = pa.Table.from_arrays(columns, schema=self.result_schema)
        late_rows = self.admission.late_among(only.rows, self.key_names, only.punctuation)
        counts = RowCounts(arrived.num_rows, int(late.sum()), late_rows=late_rows)
        return Step(results, {}, (counts,))
