"""Values at other instants than those of rows: ``stream.resample``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.operators.fill.user_function import Function
from muntin.operators.resample.at_grid import Regular
from muntin.spark.api.fill import Filled, returned
from muntin.spark.api.segments import Segments
from muntin.spark.plan.fill import FillPlan, FillSource
from muntin.spark.plan.inputs import Source
from muntin.spark.plan.join import PlanSide
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.resample import ResamplePlan
from muntin.spark.plan.result_names import ResultNames
from muntin.spark.plan.second_input import check_other, matching, other_source, same_kind
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.fill import Filling
from muntin.specs.lengths import positive_length
from muntin.specs.resample import Instants, Resampling

GAP = "gap"


@dataclass(frozen=True, eq=False)
class Resampled:
    """A stream and where its values are wanted. Nothing runs."""

    compiled: ResamplePlan | InstantRowsPlan

    @property
    def df(self) -> DataFrame:
        """The results: the keys, ``on``, the values, and whether the instant lies in a ``gap``."""
        return self.plan().df

    def plan(self) -> Plan:
        """As :attr:`df`, but a plan: for :func:`muntin.write`, and refused rows."""
        return Plan(self.compiled)

    def explain(self) -> None:
        """Print where values are wanted, and what a stream holds for it."""
        self.plan().explain()


def resampled(
    own: Source,
    other: Any,
    spec: Resampling,
    columns: Sequence[str] | None,
    tiebreak: Sequence[str],
    prefix: str,
) -> Resampled:
    """Values by the rows before and behind each instant."""
    rows, at = _sources(own, other)
    plain = [n for n in rows.df.columns if n not in rows.by and n != rows.on]
    chosen = tuple(plain if columns is None else columns)
    for argument, names in {"columns": chosen, "tiebreak": tiebreak}.items():
        for name in names:
            if name not in rows.df.columns:
                raise UnknownColumnError(argument, name, rows.df.columns)
    compiled = ResamplePlan(spec, rows, at, chosen, tuple(tiebreak), prefix)
    _check_names(compiled.finisher.columns)
    compiled.operator.result_schema  # noqa: B018  (a type that does not suit is said here)
    _check(compiled.sources, compiled.feeds)
    return Resampled(compiled)


def _check_names(columns: Sequence[tuple[str, str]]) -> None:
    """Refuse results that would have a column twice."""
    seen: set[str] = set()
    for _, name in columns:
        if name in seen:
            raise ArgumentError(
                "prefix", "", f"column {name!r} would be there twice; give prefix='mt_'"
            )
        seen.add(name)


def _sources(own: Source, other: Any) -> tuple[Source, Source | None]:
    """The rows, and the stream that says where they are wanted."""
    if other is None:
        return own, None
    source, described = other_source(own, other, None)
    by, matches = matching(own.by, own.df.schema, source, None, described)
    same_kind(own, source)
    return replace(own, by=tuple(own.by[n] for n in matches)), replace(source, by=by)


def _check(sources: Sequence[Source], feeds: Sequence[Any]) -> None:
    for source, feed in zip(sources, feeds, strict=True):
        feed.punctuator  # noqa: B018  (an expected value that does not suit is said here)
        if source.df.isStreaming:
            check_other(source, "is resampled")


@dataclass(frozen=True, eq=False)
class InstantPlan(WindowPlan):
    """Instants, typed, to be filled with the rows around them."""

    @property
    def instants(self) -> Instants:
        assert isinstance(self.spec, Instants)
        return self.spec

    @cached_property
    def operator(self) -> Regular:
        types = tuple(self.schema[name].dataType for name in self.source.by)
        side = PlanSide(self.source, self.axis, types).side
        return Regular(side, self.instants.grid(self.axis), None, self.on_type)

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        return ("frame_start",)

    def explained(self) -> object:
        return f"instants    {self.instants}"


@dataclass(frozen=True, eq=False)
class InstantRows(Segments):
    """Instants that wait for the rows around them."""

    spec: Instants

    def compiled(self, columns: Sequence[Column]) -> InstantPlan:
        return InstantPlan(self.source, self.spec, tuple(columns), prefix=self.prefix)


@dataclass(frozen=True, eq=False)
class InstantRowsPlan(FillPlan):
    """Instants with what a function or aggregates make of the rows around them."""

    on: str = ""

    @cached_property
    def naming(self) -> ResultNames:
        return replace(super().naming, instead=(("frame_start", self.on),))


@dataclass(frozen=True)
class SkipsEmptyInstants:
    """A function that is not asked where there are no rows: that is a gap, told in a column."""

    function: Function
    gap: str

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, rows: pa.Table) -> Mapping[str, Any]:
        if not rows.num_rows:
            return {self.gap: True}
        made: Any = self.function(rows)
        return {**made, self.gap: False} if isinstance(made, Mapping) else made


def resampled_by(
    own: Source,
    other: Any,
    function: Function,
    every: object,
    origin: object,
    within: object,
    schema: str | spark_types.StructType | None,
    prefix: str,
) -> Resampled:
    """Values by a function of the rows that are at most ``within`` away from each instant."""
    if within is None:
        raise ArgumentError("within", None, "a function needs to know how far it sees: '1 minute'")
    if schema is None:
        raise ArgumentError("schema", None, "say what the function returns: 'speed DOUBLE'")
    rows, at = _sources(own, other)
    returns = returned(own.df, schema)
    gap = prefix + GAP
    taken = {*rows.by, rows.on, gap}
    for name in returns.names:
        if name in taken:
            raise ArgumentError("schema", name, "the results have a column of this name already")
    told = spark_types.StructType(
        [*returns.fields, spark_types.StructField(gap, spark_types.BooleanType())]
    )
    filled = _around(rows, at, every, origin, within)
    marked = SkipsEmptyInstants(function, gap)
    source = replace(filled.compiled((), whole_rows=True), function=marked, returns=told)
    return _surrounded(filled, source)


def resampled_of(
    own: Source,
    other: Any,
    aggregates: Sequence[str | Aggregate],
    every: object,
    origin: object,
    within: object,
    prefix: str,
) -> Resampled:
    """Aggregates of the rows that are at most ``within`` away from each instant."""
    if within is None:
        raise ArgumentError("within", None, "aggregates need to know how far they see: '1 minute'")
    if not aggregates:
        raise ArgumentError("how", aggregates, "name at least one, such as 'avg(speed) AS speed'")
    rows, at = _sources(own, other)
    filled = _around(rows, at, every, origin, within)
    told = (*aggregates, f"count(*) = 0 AS {GAP}")
    *columns, gap = [filled.segmented.column(one, rows.functions) for one in told]
    return _surrounded(filled, filled.compiled([*columns, replace(gap, name=prefix + GAP)]))


def _around(
    rows: Source, at: Source | None, every: object, origin: object, within: object
) -> Filled:
    """Instants, and the rows around them."""
    base = rows if at is None else at
    length = None if every is None else positive_length("every", every)
    instants = InstantRows(base, "", Instants(base.on, length, origin))
    reach = positive_length("within", within)
    filling = Filling(before=reach, after=reach)
    return Filled(instants, rows, filling, tuple(range(len(rows.by))))


def _surrounded(filled: Filled, source: FillSource) -> Resampled:
    """Instants with what is made of the rows around them, checked."""
    instants, rows = filled.segmented, filled.source
    compiled = InstantRowsPlan(instants.compiled(()), (source,), on=rows.on)
    compiled.naming.check()
    compiled.operator.result_schema  # noqa: B018  (a type that does not suit is said here)
    _check((instants.source, rows), compiled.feeds)
    return Resampled(compiled)
