"""The plan of a stream's frames or windows that a stored table fills.

Stored rows are complete, so bounds are filled in the micro-batch that reports them and nothing is
held. Spark joins each micro-batch's bounds with the table by key and by the bounds, and reads the
table again every time. Muntin then aggregates what each pair of bounds has matched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError
from muntin.kernels.grouping import by_key_and_order, key_and_pane, key_codes
from muntin.kernels.ticks import to_ticks
from muntin.operators.fill.between_join import MatchedRows
from muntin.operators.fill.source import FillInput
from muntin.operators.protocol import Operator, numbered
from muntin.spark.columns import named
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.shipping import shipped
from muntin.spark.plan.fill import FillPlan, FillSource
from muntin.spark.plan.inputs import PlanInput, StreamInput
from muntin.spark.plan.plan import PlanParts, spark_schema
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.axis import Axis, Domain

#: The column that is null where no stored row fills the bounds.
_MATCHED = "matched"
#: The column that is true once a row of some table has filled the bounds.
_FILLED = "filled"


@dataclass(frozen=True, eq=False)
class TableFillPlan(PlanParts):
    """A stream's frames or windows and what fills them: stored rows, and streams beside them.

    Streams fill the bounds in the operator. The plan is its own finisher: one table after the other
    fills the bounds that the operator reports.
    """

    filled: FillPlan

    @property
    def stream(self) -> StreamInput:
        return self.filled.stream

    @cached_property
    def inner(self) -> FillPlan | WindowPlan:
        """The part that the operator runs: the bounds, and the streams that fill them."""
        streams = tuple(s for s in self.filled.sources if s.source.df.isStreaming)
        # All sources share one axis.
        segments = self.filled.segments
        return FillPlan(segments, streams) if streams else segments

    @cached_property
    def arranged(self) -> FillPlan:
        """The same plan with streams first, as they are computed."""
        sources = sorted(self.filled.sources, key=lambda source: not source.source.df.isStreaming)
        return replace(self.filled, sources=tuple(sources))

    @property
    def tables(self) -> tuple[FillSource, ...]:
        """The sources that are tables, with the axis of all sources."""
        return tuple(s for s in self.arranged.fills if not s.source.df.isStreaming)

    @property
    def inputs(self) -> Sequence[PlanInput]:
        return self.inner.inputs

    @property
    def operator(self) -> Operator:
        return self.inner.operator

    @property
    def shards(self) -> int:
        return self.inner.shards

    @property
    def finisher(self) -> TableFillPlan:
        return self

    @property
    def identity(self) -> Mapping[str, str]:
        return self.inner.identity

    @property
    def fingerprint(self) -> Fingerprint:
        """That of the bounds and streams: the state holds nothing of tables that fill them."""
        return self.inner.fingerprint

    @property
    def label(self) -> str:
        return self.filled.label

    def check(self) -> None:
        """Raise if this cannot be filled from a table while the bounds are a stream."""
        self.filled.check()
        self.inner.check()
        drops = any(source.filling.empty == "drop" for source in self.filled.sources)
        if drops and isinstance(self.inner, FillPlan):
            raise ArgumentError(
                "empty",
                "drop",
                "where a table and a stream fill, which frames are empty is known in no one place; "
                "use 'keep' and a filter on the counts",
            )
        if self.filled.operator.segments.fragments and self.filled.sources[0].whole_rows:
            raise ArgumentError(
                "fragments",
                "the rows of a table",
                "every fragment would bring the rows of those before it again; aggregate them, or "
                "leave fragments out",
            )

    @property
    def renamed(self) -> None:
        """None, because the results are joined."""

    def apply(self, flat: DataFrame) -> DataFrame:
        """Fill the bounds that the operator reports, and return the results."""
        tables = self.tables
        bounds = self._shifted(flat).withColumn(_FILLED, F.lit(False))
        if tables[0].whole_rows and tables[0].function is None:
            joined = self._joined(bounds, tables[0])
            if tables[0].filling.empty == "drop":
                joined = joined.where(F.col(_MATCHED))
            return self.filled.naming.apply(self._paired(joined, tables[0]))
        for source in tables:
            bounds = self._gathered(bounds, source)
        if any(source.filling.empty == "drop" for source in tables):
            bounds = bounds.where(F.col(_FILLED))
        results = self.arranged.naming.apply(bounds.drop(_FILLED))
        return results.select(*(named(name) for name in self._result_names(results)))

    def _result_names(self, results: DataFrame) -> list[str]:
        """Return the names of the results in the order in which the sources were given."""
        own = [name for name, _, _ in self.filled.naming.results]
        before = [name for name in results.columns if name not in own]
        return [*before, *own] if not self.filled.naming.first else list(results.columns)

    def _joined(self, bounds: DataFrame, source: FillSource) -> DataFrame:
        return bounds.join(self._stored(source), self._condition(source), "left")

    def _gathered(self, bounds: DataFrame, source: FillSource) -> DataFrame:
        """Return bounds with the results of one more table."""
        own = tuple(field.name for field in self.filled.segments.flat_schema.fields)
        carried = tuple(name for name in bounds.columns if name not in (*own, "shifted"))
        work = TableFillTask(own, carried, source.fill)
        apart = self._joined(bounds, source).repartition(*map(F.col, (*own, "shifted")))
        first = len(numbered([*own, *carried], "r"))
        types = [pa.field(f"r{first + n}", type_) for n, type_ in enumerate(source.fill.types)]
        fields = [*bounds.schema.fields, *spark_schema(pa.schema(types)).fields]
        schema = spark_types.StructType(sorted(fields, key=lambda f: f.name == _FILLED))
        return apart.mapInArrow(shipped(__name__, "gather", work), schema)

    def _shifted(self, flat: DataFrame) -> DataFrame:
        """Return every pair of bounds once for each shift."""
        count = max(len(source.fill.shifts) for source in self.tables)
        if "shifted" in flat.columns and count == 1:
            return flat
        if isinstance(self.inner, FillPlan) and self.inner.operator.shifts > 1:
            return flat  # streams and tables share one list of shifts
        shifts = F.array(*(F.lit(place).cast("bigint") for place in range(count)))
        return flat.withColumn("shifted", F.explode(shifts))

    def _stored(self, source: FillSource) -> DataFrame:
        """Return the rows that can fill, under names that bounds do not have."""
        rows = source.prepared()
        if source.where is not None:
            rows = rows.where(F.col("w")).drop("w")
        renamed = {name: f"h_{name}" for name in rows.columns}
        return rows.withColumnsRenamed(renamed).withColumn(_MATCHED, F.lit(True))

    def _condition(self, source: FillSource) -> SparkColumn:
        fill, edge = source.fill, self.filled.edge
        segments = self.filled.operator.segments
        low = self._moved(segments.start, fill.reach.shrink - fill.reach.before, fill.shifts)
        after = fill.reach.after
        high = self._moved(segments.end, after - fill.reach.shrink, fill.shifts)
        if segments.fragments and after:
            part = self._moved(segments.end, -fill.reach.shrink, fill.shifts)
            high = F.when(F.col("status") == "final", high).otherwise(part)
        on = F.col("h_on")
        inside = (on >= low if edge.start else on > low) & (on <= high if edge.end else on < high)
        for place, name in enumerate(fill.names):
            inside = inside & F.col(name).eqNullSafe(F.col(f"h_k{place}"))
        if segments.along is not None:
            low_along, high_along = map(F.col, segments.along)
            inside = inside & F.col("h_along").between(low_along, high_along)
        return inside

    def _moved(self, name: str, ticks: int, shifts: Sequence[int]) -> SparkColumn:
        """Return a bound moved by a length and by the shift of its row."""
        axis = self.filled.axis
        base = plus(F.col(name), ticks, axis)
        moved = plus(base, shifts[0], axis)
        for place, shift in enumerate(shifts[1:], 1):
            moved = F.when(F.col("shifted") == place, plus(base, shift, axis)).otherwise(moved)
        return moved

    def _paired(self, joined: DataFrame, source: FillSource) -> DataFrame:
        """Return every pair of bounds and stored row, named as an operator would report them."""
        flat = self.filled.segments.flat_schema
        bounds_columns = [F.col(field.name) for field in flat.fields]
        first = len(numbered(flat.names, "r"))
        rows = [
            F.col(f"h_c{place}").alias(f"r{first + place}") for place in range(len(source.schema))
        ]
        return joined.select(*bounds_columns, "shifted", *rows)


def plus(column: SparkColumn, ticks: int, axis: Axis) -> SparkColumn:
    """Return a value of ``on`` moved by ticks, as a Spark column."""
    if not ticks:
        return column
    match axis.domain:
        case Domain.TIMESTAMP | Domain.TIMESTAMP_NTZ:
            return column + F.expr(f"INTERVAL {int(ticks)} MICROSECONDS")
        case Domain.DATE:
            return F.date_add(column, ticks)
        case Domain.DOUBLE:
            return column + F.lit(ticks / 10**axis.digits)
        case Domain.DECIMAL:
            return column + F.lit(axis.value(ticks))
    return column.cast("bigint") + F.lit(ticks)


@dataclass(frozen=True)
class TableFillTask:
    """What a worker needs to aggregate the rows that bounds have matched.

    ``carried`` are columns of the bounds with the results of other sources.
    """

    bounds: tuple[str, ...]
    carried: tuple[str, ...]
    fill: FillInput


def gather(work: TableFillTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Aggregate the matches of each pair of bounds to one row; runs on a worker."""
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    rows = pa.Table.from_batches(held)
    names = [*work.bounds, "shifted"]
    bounds = [rows[name].combine_chunks() for name in names]
    codes, size = key_codes(bounds, rows.num_rows)
    groups = key_and_pane(codes, size, np.zeros(rows.num_rows, np.int64))
    matched = rows[_MATCHED].combine_chunks().fill_null(False).to_numpy(zero_copy_only=False)
    filling = rows.filter(pa.array(matched))
    filling = filling.rename_columns([name.removeprefix("h_") for name in filling.column_names])
    order = to_ticks(filling["on"].combine_chunks(), work.fill.reach.axis).order
    place, starts = by_key_and_order(groups.number[matched], order, len(groups))
    filling = filling.append_column("order", pa.array(order)).take(pa.array(place))
    results = _results(work.fill, MatchedRows(filling, starts[:-1], starts[1:]))
    distinct = rows.select([*names, *work.carried]).take(pa.array(groups.member))
    first = len(numbered([*work.bounds, *work.carried], "r"))
    labels = [f"r{first + n}" for n in range(len(results))]
    table = distinct
    for label, result in zip(labels, results, strict=True):
        table = table.append_column(label, result)
    some = np.bincount(groups.number[matched], minlength=len(groups)) > 0
    filled = pc.or_(table[_FILLED], pa.array(some))
    yield from table.drop_columns([_FILLED]).append_column(_FILLED, filled).to_batches()


def _results(fill: FillInput, matched: MatchedRows) -> list[pa.Array]:
    """Return the results of the rows that bounds have matched."""
    if fill.mapped is not None:
        return fill.mapped.of(matched)
    slots = fill.contents.cells.slot_types.items()
    needed = pa.schema([("order", pa.int64()), *((f"s{n}", type_) for n, type_ in slots)])
    cells = fill.contents.lifted(matched.rows.select(needed.names).cast(needed))
    return fill.contents.of_stretches(cells, matched.first, matched.stop)
