"""Values at other instants than those of rows: ``stream.resample``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import types as spark_types

from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.operators.fill.source import Function
from muntin.spark.api.plan import PlannedResult
from muntin.spark.api.segments import Filled, Segments, returned
from muntin.spark.plan.fill import FillSource
from muntin.spark.plan.inputs import StreamInput
from muntin.spark.plan.resample import (
    InstantPlan,
    InstantRowsPlan,
    ResamplePlan,
    SkipsEmptyInstants,
)
from muntin.spark.plan.second_input import matching, other_source, same_kind
from muntin.specs.fill import Filling
from muntin.specs.lengths import positive_length
from muntin.specs.resample import Instants, Resampling

GAP = "gap"


class Resampled(PlannedResult):
    """Values at instants: the keys, ``on``, the values, and whether there is a ``gap``."""


@dataclass(frozen=True, eq=False, repr=False)
class InstantRows(Segments):
    """Instants, to be filled with the rows around them."""

    spec: Instants

    @cached_property
    def bare(self) -> InstantPlan:
        return InstantPlan(self.source, self.spec, prefix=self.prefix)


def resampled(
    own: StreamInput,
    other: Any,
    spec: Resampling,
    columns: Sequence[str] | None,
    tiebreak: Sequence[str],
    prefix: str,
) -> Resampled:
    """Return values made from the rows before and after each instant."""
    rows, at = _sources(own, other)
    plain = [n for n in rows.df.columns if n not in rows.by and n != rows.on]
    chosen = tuple(plain if columns is None else columns)
    for argument, names in {"columns": chosen, "tiebreak": tiebreak}.items():
        for name in names:
            if name not in rows.df.columns:
                raise UnknownColumnError(argument, name, rows.df.columns)
    parts = ResamplePlan(spec, rows, at, chosen, tuple(tiebreak), prefix)
    parts.check()
    return Resampled(parts)


def _sources(own: StreamInput, other: Any) -> tuple[StreamInput, StreamInput | None]:
    """Return the rows, and the stream that has the instants."""
    if other is None:
        return own, None
    source, described = other_source(own, other, None)
    by, matches = matching(own.by, own.df.schema, source, None, described)
    same_kind(own, source)
    return replace(own, by=tuple(own.by[n] for n in matches)), replace(source, by=by)


def resampled_by(
    own: StreamInput,
    other: Any,
    function: Function,
    every: object,
    origin: object,
    within: object,
    schema: str | spark_types.StructType | None,
    prefix: str,
) -> Resampled:
    """Return what a function makes of the rows at most ``within`` away from each instant."""
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
    schema_with_gap = spark_types.StructType(
        [*returns.fields, spark_types.StructField(gap, spark_types.BooleanType())]
    )
    filled = _around(rows, at, every, origin, within)
    marked = SkipsEmptyInstants(function, gap)
    source = filled.fill_source((), whole_rows=True)
    return _surrounded(filled, replace(source, function=marked, returns=schema_with_gap))


def resampled_of(
    own: StreamInput,
    other: Any,
    aggregates: Sequence[str | Aggregate | SparkColumn],
    every: object,
    origin: object,
    within: object,
    prefix: str,
) -> Resampled:
    """Return aggregates of the rows at most ``within`` away from each instant."""
    if within is None:
        raise ArgumentError("within", None, "aggregates need to know how far they see: '1 minute'")
    if not aggregates:
        raise ArgumentError("how", aggregates, "name at least one, such as 'avg(speed) AS speed'")
    rows, at = _sources(own, other)
    filled = _around(rows, at, every, origin, within)
    wanted = (*aggregates, f"count(*) = 0 AS {GAP}")
    *columns, gap = [filled.segments.column(aggregate, rows) for aggregate in wanted]
    return _surrounded(filled, filled.fill_source([*columns, replace(gap, name=prefix + GAP)]))


def _around(
    rows: StreamInput, at: StreamInput | None, every: object, origin: object, within: object
) -> Filled:
    """Return instants, filled with the rows around them."""
    base = rows if at is None else at
    length = None if every is None else positive_length("every", every)
    instants = InstantRows(base, "", Instants(base.on, length, origin))
    reach = positive_length("within", within)
    filling = Filling(before=reach, after=reach)
    return Filled(instants, rows, filling, tuple(range(len(rows.by))))


def _surrounded(filled: Filled, source: FillSource) -> Resampled:
    """Return instants with what is made of the rows around them, checked."""
    parts = InstantRowsPlan(filled.segments.bare, (source,), on=filled.source.on)
    parts.check()
    return Resampled(parts)
