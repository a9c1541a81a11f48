"""Frames and windows filled from a stream or a table: ``frames.fill(other, ...)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin.aggregates.bind import parse_condition
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError
from muntin.operators.fill.user_function import Function
from muntin.spark.api.segments import Segments
from muntin.spark.columns import condition, problem
from muntin.spark.plan.fill import FillPlan, FillSource
from muntin.spark.plan.fill_from_table import TableFillPlan, check_history
from muntin.spark.plan.inputs import Source
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.second_input import Key, check_other, matching, other_source
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.fill import Filling, StoredFrames
from muntin.specs.frames.framing import Framing
from muntin.specs.windows import Window

if TYPE_CHECKING:
    from muntin.spark.api.stream import Stream


@dataclass(frozen=True, eq=False)
class Filled:
    """Frames or windows and what fills them, waiting for what to compute of it."""

    segmented: Segments
    source: Source
    filling: Filling
    matches: tuple[int, ...]
    where: SparkColumn | None = None

    def agg(self, *aggregates: str | Aggregate) -> DataFrame:
        """Aggregates of the rows in each frame or window, as an ordinary Spark DataFrame.

        The columns of the frame or window, ``shift`` where several were given, then one column
        per aggregate of the *filling* rows: SQL text (``"count(*) AS updates"``) or ``mt.*``.
        """
        return self.plan(*aggregates).df

    def plan(self, *aggregates: str | Aggregate) -> Plan:
        """As :meth:`agg`, but a plan: for :func:`muntin.write`, and to be combined."""
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, such as 'count(*) AS n'")
        columns = [self.segmented.column(one, self.source.functions) for one in aggregates]
        return self._planned(columns, whole_rows=False)

    def rows(self) -> DataFrame:
        """Every filling row with the frame or window that it fills, one row for each pair."""
        return self.rows_plan().df

    def rows_plan(self) -> Plan:
        """As :meth:`rows`, but a plan."""
        return self._planned((), whole_rows=True)

    def apply(self, function: Function, schema: str | spark_types.StructType) -> DataFrame:
        """A function of your own over the rows of each frame or window (a windowed map).

        It is called with an Arrow table, the rows in their order, and returns a mapping with a
        value for each column of the schema; what it leaves out is null.

        Args:
            function: Runs on the workers; ``lambda rows: {"n": rows.num_rows}``.
            schema: What it returns, as DDL text: ``"n BIGINT, spread DOUBLE"``.
        """
        return self.apply_plan(function, schema).df

    def apply_plan(self, function: Function, schema: str | spark_types.StructType) -> Plan:
        """As :meth:`apply`, but a plan."""
        if not callable(function):
            raise ArgumentError("function", function, "it is a function of an Arrow table")
        spec = self.segmented.compiled(()).spec
        if isinstance(spec, Framing) and spec.fragments is not None:
            raise ArgumentError(
                "fragments", str(spec.fragments), "a function sees a frame when it is whole"
            )
        returns = returned(self.source.df, schema)
        source = replace(self.compiled((), whole_rows=True), function=function, returns=returns)
        return planned(self.segmented, self.segmented.compiled(()), [source])

    def explain(self, *aggregates: str | Aggregate) -> None:
        """Print what is filled with what, and what a stream holds for it."""
        self.plan(*(aggregates or ("count(*)",))).explain()

    def _planned(self, columns: Sequence[Column], *, whole_rows: bool) -> Plan:
        plain = self.segmented.compiled(())
        return planned(self.segmented, plain, [self.compiled(columns, whole_rows=whole_rows)])

    def compiled(self, columns: Sequence[Column], *, whole_rows: bool = False) -> FillSource:
        plain = self.segmented.compiled(())
        return FillSource(
            self.source,
            plain.spec,
            tuple(columns),
            filling=self.filling,
            matches=self.matches,
            types=tuple(plain.schema[plain.keys[n]].dataType for n in self.matches),
            where=self.where,
            whole_rows=whole_rows,
        )


def planned(segmented: Segments, plain: WindowPlan, sources: Sequence[FillSource]) -> Plan:
    """The plan of segments and everything that fills them."""
    compiled = FillPlan(plain, tuple(sources))
    compiled.naming.check()
    compiled.operator.result_schema  # noqa: B018  (a type that does not suit is said here)
    for feed in compiled.feeds:
        feed.punctuator  # noqa: B018
    if plain.is_streaming:
        segmented.check_stream()
    return filled_plan(compiled)


def filled_plan(compiled: FillPlan) -> Plan:
    """The plan of what streams on both sides or on none; or of a stream's bounds and a table."""
    stored = [not source.source.df.isStreaming for source in compiled.sources]
    if not compiled.is_streaming:
        return Plan(compiled)
    if any(stored) and compiled.preset:
        raise ArgumentError(
            "plans", "a table and a stream", "one plan is filled by tables or by streams, not both"
        )
    if any(stored):
        check_history(compiled)
        return Plan(TableFillPlan(compiled))
    for source in compiled.sources:
        check_other(source.source, "fills")
    return Plan(compiled)


def filled(
    segmented: Segments,
    other: DataFrame | Stream | None,
    on: str | None,
    key: Key,
    where: str | SparkColumn | None,
    filling: Filling,
) -> Filled:
    """What ``fill`` returns: a source found and checked."""
    plain = segmented.compiled(())
    if not isinstance(plain.spec, Framing | Window | StoredFrames):
        raise ArgumentError(
            "fill", str(plain.spec), "frames, sliding and tumbling windows can be filled"
        )
    source, described = other_source(segmented.source, other, on)
    if source.df.isStreaming and not plain.is_streaming:
        check_other(source, "fills")
        segmented = _told_before(segmented, other)
        plain = segmented.compiled(())
        source = replace(source, shards=plain.source.shards)
    by, matches = matching(plain.keys, plain.schema, source, key, described)
    source = replace(source, by=by)
    chosen = None if where is None else _condition(where)
    made = Filled(segmented, source, filling, matches, chosen)
    made._planned((), whole_rows=False)  # what does not suit is said here
    return made


def _told_before(segmented: Segments, other: Any) -> Segments:
    """Frames or windows of a batch as stored ones, in the shards of the stream that fills them."""
    from muntin.spark.api.stored_frames import (
        stored,  # which is made of streams, which make what is filled
    )

    return stored(segmented, other.described().shards)


def returned(df: DataFrame, schema: object) -> spark_types.StructType:
    """The columns that a function returns, from DDL text or as they are."""
    if isinstance(schema, spark_types.StructType):
        return schema
    if not isinstance(schema, str):
        raise ArgumentError("schema", schema, "it is DDL text such as 'n BIGINT, mean DOUBLE'")
    try:
        return df.sparkSession.createDataFrame([], schema).schema
    except PySparkException as error:
        raise ArgumentError("schema", schema, f"Spark says: {problem(error)}") from error


def _condition(where: object) -> SparkColumn:
    if isinstance(where, SparkColumn):
        return where
    if not isinstance(where, str):
        raise ArgumentError("where", where, "it is SQL text or a PySpark column")
    return condition(parse_condition(where))
