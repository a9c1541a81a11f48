"""Plans of resampling: values at the instants of a grid or of another stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from muntin.operators.fill.source import Function
from muntin.operators.join.reach import AsofReach
from muntin.operators.protocol import Operator
from muntin.operators.resample.neighbours import Neighbours
from muntin.operators.resample.operator import GridResampleOperator, InstantResampleOperator
from muntin.spark.exchange.fingerprint import SHARD_COUNT
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.inputs import PlanInput, StreamInput
from muntin.spark.plan.join import PlanSide
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.results import RenamedColumns, ResultNames
from muntin.spark.plan.second_input import shared_axis
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.axis import Axis
from muntin.specs.join import Asof
from muntin.specs.may_change import MAY_CHANGE
from muntin.specs.resample import Instants, Resampling


@dataclass(frozen=True, eq=False)
class ResamplePlan(PlanParts):
    """Values of some columns at instants between the rows of a stream.

    The instants are the rows of ``at``, or those of a grid if it is None.
    """

    spec: Resampling
    rows: StreamInput
    at: StreamInput | None
    columns: tuple[str, ...]
    tiebreak: tuple[str, ...] = ()
    prefix: str = field(default="", metadata=MAY_CHANGE)

    @property
    def stream(self) -> StreamInput:
        return self.rows

    @property
    def sources(self) -> tuple[StreamInput, ...]:
        return (self.rows,) if self.at is None else (self.at, self.rows)

    @cached_property
    def axis(self) -> Axis:
        return shared_axis(self.sources, self.spec.lengths)

    @cached_property
    def sides(self) -> tuple[PlanSide, ...]:
        types = tuple(self.rows.df.schema[name].dataType for name in self.rows.by)
        rows = PlanSide(self.rows, self.axis, types, self.tiebreak, True, self.columns)
        if self.at is None:
            return (rows,)
        return PlanSide(self.at, self.axis, types), rows

    @cached_property
    def operator(self) -> Operator:
        rows = self.sides[-1]
        far = self.spec.max_gap
        ticks = None if far is None else self.axis.length("max_gap", far)
        values = Neighbours(self.spec.how, self.axis, ticks, rows.side.columns)
        if self.at is None:
            grid = self.spec.grid(self.axis)
            return GridResampleOperator(rows.side, grid, values, rows.on_type)
        look = AsofReach.of(looked_for(self.spec), self.axis)
        return InstantResampleOperator(look, (self.sides[0].side, rows.side), values, rows.on_type)

    @cached_property
    def inputs(self) -> Sequence[PlanInput]:
        names = ("at", "rows")[-len(self.sides) :]
        return [side.plan_input(name) for side, name in zip(self.sides, names, strict=True)]

    def check_streams(self) -> None:
        for source in self.sources:
            source.check_other("is resampled")

    @cached_property
    def finisher(self) -> RenamedColumns:
        keys = [(f"k{place}", name) for place, name in enumerate(self.rows.by)]
        values = [(f"r{place}", name) for place, name in enumerate(self.columns)]
        return RenamedColumns((*keys, ("at", self.rows.on), *values, ("gap", f"{self.prefix}gap")))

    @property
    def zone(self) -> str:
        return self.axis.zone

    def read_in(self, zone: str) -> object:
        return self.spec.grid(replace(self.axis, zone=zone))

    @cached_property
    def identity(self) -> Mapping[str, str]:
        identity = {"resampling": f"{self.spec} ({self.axis.domain})"}
        for side, plan_input in zip(self.sides, self.inputs, strict=True):
            name, disorder = plan_input.name, side.source.disorder
            types = zip(side.keys, side.types, strict=True)
            by = [f"{name} {type_.simpleString()}" for name, type_ in types]
            fields = [f"{n} {side.schema[n].dataType.simpleString()}" for n in side.travels]
            identity[name] = (
                f"on {side.source.on}; by {', '.join(by) or 'nothing'}; {', '.join(fields)}"
            )
            identity[f"disorder of {name}"] = disorder.state_kind if disorder else "told"
        identity["resolution"] = f"{self.axis.digits} decimals"
        identity[SHARD_COUNT] = self.shard_text
        return identity

    @property
    def _digested(self) -> tuple[tuple[str, ...], str]:
        return ("resample",), f"({self.identity!r}, {self.finisher.label_text})"


def looked_for(spec: Resampling) -> Asof:
    """Return the as-of join that finds the rows that an instant of another stream needs."""
    if spec.how == "linear":
        return Asof(None, "nearest")
    return Asof(spec.max_gap, "backward" if spec.how == "previous" else "nearest")


@dataclass(frozen=True, eq=False)
class InstantPlan(WindowPlan):
    """Instants that are filled with the rows around them."""

    @property
    def instants(self) -> Instants:
        assert isinstance(self.spec, Instants)
        return self.spec

    @cached_property
    def operator(self) -> GridResampleOperator:
        types = tuple(self.schema[name].dataType for name in self.source.by)
        side = PlanSide(self.source, self.axis, types).side
        return GridResampleOperator(side, self.instants.grid(self.axis), None, self.on_type)

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        return ("frame_start",)


@dataclass(frozen=True, eq=False)
class InstantRowsPlan(FillPlan):
    """Instants with what a function or aggregates make of the rows around them."""

    on: str = ""

    @cached_property
    def naming(self) -> ResultNames:
        return replace(super().naming, instead=(("frame_start", self.on),))

    def check_streams(self) -> None:
        for source in (self.plain.source, *(fill.source for fill in self.sources)):
            source.check_other("is resampled")


@dataclass(frozen=True)
class SkipsEmptyInstants:
    """Wraps a function: an instant without rows gets no call, and its column ``gap`` is true."""

    function: Function
    gap: str

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, rows: pa.Table) -> Mapping[str, Any]:
        if not rows.num_rows:
            return {self.gap: True}
        values: Any = self.function(rows)
        return {**values, self.gap: False} if isinstance(values, Mapping) else values
