"""The numbers of windows (``wid``): of results, and of every row [Window-ids 3.3, 5.2.1]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, Mention, MuntinError
from muntin.kernels.calendar_units import on_line, ticks_at
from muntin.kernels.ticks import from_ticks, to_ticks
from muntin.spark.columns import bound_type, to_spark
from muntin.spark.exchange.shipping import shipped
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.windows import WindowPlan, window_number
from muntin.specs.axis import Axis
from muntin.specs.windows import Edges, Landmark, Latch, Window

#: The most copies of rows in one batch, however many windows a row is in.
ROWS_AT_ONCE = 100_000


def with_wid(plan: PlanParts, results: DataFrame) -> DataFrame:
    """Return results of a plan with a column ``wid``, computed from where a window ends."""
    return results.withColumn("wid", _wid(plan))


def _wid(plan: PlanParts) -> Column:
    if not isinstance(plan, WindowPlan):
        raise _unnumbered("these windows")
    number = window_number(plan.spec, plan.axis)
    if number is None:
        raise _unnumbered(str(plan.spec))
    return F.expr(number)


def _unnumbered(windows: str) -> ArgumentError:
    expected = "only sliding, tumbling, landmark, row and tuple windows have numbers"
    return ArgumentError("wid", windows, expected)


@dataclass(frozen=True)
class WindowTags:
    """What a worker needs to find the windows of rows."""

    axis: Axis
    edges: Edges
    on: str
    bound_type: pa.DataType
    explode: bool


def rows_with_windows(plan: WindowPlan, *, explode: bool) -> DataFrame:
    """Return the rows with ``first_wid`` and ``last_wid``; with ``explode`` one row per window."""
    if not isinstance(plan.spec, Window | Landmark | Latch):
        raise MuntinError(
            f"{plan.spec}: the windows of a row depend on other rows, so they are not known "
            "row by row; use .agg(...), or .fill().rows() for the rows between their bounds"
        )
    edges = plan.spec.edges(plan.axis)
    if edges.landmark:
        raise MuntinError(
            "a landmark window holds a row for ever, so its rows have no last_wid; use .agg(...)"
        )
    on_type = plan.schema[plan.source.on].dataType
    type_ = bound_type(on_type, plan.axis.digits)
    whole = spark_types.LongType()
    if explode:
        added = {"wid": whole, "window_start": to_spark(type_), "window_end": to_spark(type_)}
    else:
        added = {"first_wid": whole, "last_wid": whole}
    added = {plan.prefix + name: kind for name, kind in added.items()}
    for name in added:
        if name in plan.schema.names:
            raise ArgumentError(
                "prefix",
                plan.prefix,
                f"the DataFrame has a column {name!r} already; give ",
                Mention("prefix", "mt_"),
            )
    fields = [spark_types.StructField(name, kind) for name, kind in added.items()]
    schema = spark_types.StructType([*plan.schema.fields, *fields])
    work = WindowTags(plan.axis, edges, plan.source.on, type_, explode)
    names = list(added)
    return plan.source.df.mapInArrow(shipped(__name__, "tag", work, names), schema)


def tag(
    work: WindowTags, names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Add window numbers to rows; runs on a worker.

    Rows in no window have null numbers; with ``explode`` they are left out.
    """
    for batch in batches:
        first, last, inside = _wids(work, batch)
        if not work.explode:
            for name, wid in zip(names, (first, last), strict=True):
                batch = batch.append_column(name, pa.array(wid, pa.int64(), mask=~inside))
            yield batch
            continue
        copies = np.where(inside, last - first + 1, 0)
        ends = np.cumsum(copies)  # where the copies of each row end among all copies
        total = int(ends[-1]) if len(ends) else 0
        for start in range(0, total, ROWS_AT_ONCE):
            place = np.arange(start, min(start + ROWS_AT_ONCE, total))
            row = np.searchsorted(ends, place, side="right")
            wid = first[row] + place - (ends - copies)[row]
            yield _copied(work, names, batch.take(pa.array(row)), wid)


def _copied(
    work: WindowTags, names: list[str], rows: pa.RecordBatch, wid: np.ndarray
) -> pa.RecordBatch:
    """Return rows with one window each."""
    ends = work.edges.origin + (wid + 1) * work.edges.slide
    starts = ends - work.edges.range
    if work.edges.clipped:
        starts = np.maximum(starts, work.edges.origin)
    bounds = [ticks_at(work.edges, points) for points in (starts, ends)]
    columns = [pa.array(wid), *(from_ticks(t, work.axis, work.bound_type) for t in bounds)]
    for name, column in zip(names, columns, strict=True):
        rows = rows.append_column(name, column)
    return rows


def _wids(work: WindowTags, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ticks = to_ticks(batch.column(work.on), work.axis)
    edges = work.edges
    placed = np.where(ticks.refusal == 0, ticks.tick, edges.first_tick)
    from_origin = on_line(edges, placed) - edges.origin
    first = from_origin // edges.slide
    last = (from_origin + edges.range) // edges.slide - 1
    inside = (ticks.refusal == 0) & (first <= last)
    if edges.clipped:
        inside &= from_origin >= 0
    return first, last, inside
