"""The bucket operator [Window-ids 5.2.1]: every row with the windows it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, MuntinError
from muntin.kernels.ticks import from_ticks, to_ticks
from muntin.spark.exchange.shipping import shipped
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.types import bound_type, to_spark
from muntin.specs.axis import Axis
from muntin.specs.windows import Edges, Landmark, Latch, Window

#: Copies of rows that are made together, however many windows a row is in.
ROWS_AT_ONCE = 100_000


@dataclass(frozen=True)
class WindowTags:
    """What a worker needs to find the windows of rows."""

    axis: Axis
    edges: Edges
    on: str
    bound_type: pa.DataType
    explode: bool


def bucketed(compiled: WindowPlan, *, explode: bool) -> DataFrame:
    """The input rows with ``first_wid`` and ``last_wid``, or one row per window."""
    if not isinstance(compiled.spec, Window | Landmark | Latch):
        raise MuntinError(
            f"{compiled.spec}: the windows of a row depend on other rows, so they cannot be told "
            "row by row; use .agg(...)"
        )
    edges = compiled.spec.edges(compiled.axis)
    if edges.landmark:
        raise MuntinError(
            "a landmark window holds a row for ever, so its rows have no last_wid; use .agg(...)"
        )
    on_type = compiled.schema[compiled.source.on].dataType
    type_ = bound_type(on_type, compiled.axis.digits)
    whole = spark_types.LongType()
    if explode:
        added = {"wid": whole, "window_start": to_spark(type_), "window_end": to_spark(type_)}
    else:
        added = {"first_wid": whole, "last_wid": whole}
    added = {compiled.prefix + name: kind for name, kind in added.items()}
    for name in added:
        if name in compiled.schema.names:
            raise ArgumentError(
                "prefix",
                compiled.prefix,
                f"the DataFrame has a column {name!r} already; give prefix='mt_'",
            )
    fields = [spark_types.StructField(name, kind) for name, kind in added.items()]
    schema = spark_types.StructType([*compiled.schema.fields, *fields])
    work = WindowTags(compiled.axis, edges, compiled.source.on, type_, explode)
    names = list(added)
    return compiled.source.df.mapInArrow(shipped(__name__, "tag", work, names), schema)


def tag(
    work: WindowTags, names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Worker side; rows in no window have null ids, and vanish when exploded."""
    for batch in batches:
        first, last, inside = _wids(work, batch)
        if not work.explode:
            for name, wid in zip(names, (first, last), strict=True):
                batch = batch.append_column(name, pa.array(wid, pa.int64(), mask=~inside))
            yield batch
            continue
        copies = np.where(inside, last - first + 1, 0)
        behind = np.cumsum(copies)  # of each row, where its copies end among all
        total = int(behind[-1]) if len(behind) else 0
        for start in range(0, total, ROWS_AT_ONCE):
            place = np.arange(start, min(start + ROWS_AT_ONCE, total))
            row = np.searchsorted(behind, place, side="right")
            wid = first[row] + place - (behind - copies)[row]
            yield _copied(work, names, batch.take(pa.array(row)), wid)


def _copied(
    work: WindowTags, names: list[str], rows: pa.RecordBatch, wid: np.ndarray
) -> pa.RecordBatch:
    """Rows with a window each."""
    ends = work.edges.origin + (wid + 1) * work.edges.slide
    starts = ends - work.edges.range
    if work.edges.clipped:
        starts = np.maximum(starts, work.edges.origin)
    made = [pa.array(wid), *(from_ticks(t, work.axis, work.bound_type) for t in (starts, ends))]
    for name, column in zip(names, made, strict=True):
        rows = rows.append_column(name, column)
    return rows


def _wids(work: WindowTags, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ticks = to_ticks(batch.column(work.on), work.axis)
    edges = work.edges
    from_origin = np.where(ticks.refusal == 0, ticks.tick, edges.origin) - edges.origin
    first = from_origin // edges.slide
    last = (from_origin + edges.range) // edges.slide - 1
    inside = (ticks.refusal == 0) & (first <= last)
    if edges.clipped:
        inside &= from_origin >= 0
    return first, last, inside
