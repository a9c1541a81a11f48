"""From a stream and where its values are wanted to one operator and the DataFrames that feed it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import types as spark_types

from muntin.operators.join.asof_reach import AsofReach
from muntin.operators.protocol import Operator
from muntin.operators.resample.at_grid import Regular
from muntin.operators.resample.at_instants import Given
from muntin.operators.resample.neighbours import Neighbours
from muntin.spark.plan.inputs import Source
from muntin.spark.plan.join import PlanSide
from muntin.spark.plan.protocol import PlanInput
from muntin.spark.plan.result_names import RenamedColumns
from muntin.spark.plan.second_input import shared_axis
from muntin.spark.plan.windows import struct
from muntin.specs.axis import Axis
from muntin.specs.join import Asof
from muntin.specs.resample import Resampling


@dataclass(frozen=True, eq=False)
class ResamplePlan:
    """Rows, the columns of which values are wanted, and the stream that says where, if any."""

    spec: Resampling
    rows: Source
    at: Source | None
    columns: tuple[str, ...]
    tiebreak: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def sources(self) -> tuple[Source, ...]:
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
            return Regular(rows.side, grid, values, rows.on_type)
        look = AsofReach.of(looked_for(self.spec), self.axis)
        return Given(look, (self.sides[0].side, rows.side), values, rows.on_type)

    @property
    def batch_operator(self) -> Operator:
        return self.operator

    @property
    def feeds(self) -> Sequence[PlanInput]:
        names = ("at", "rows")[-len(self.sides) :]
        return [side.feed(name) for side, name in zip(self.sides, names, strict=True)]

    @property
    def shards(self) -> int:
        return self.rows.shards if self.rows.by else 1

    @property
    def is_streaming(self) -> bool:
        return self.rows.df.isStreaming

    @cached_property
    def flat_schema(self) -> spark_types.StructType:
        return struct(self.operator.result_schema)

    @cached_property
    def finisher(self) -> RenamedColumns:
        keys = [(f"k{place}", name) for place, name in enumerate(self.rows.by)]
        values = [(f"r{place}", name) for place, name in enumerate(self.columns)]
        return RenamedColumns((*keys, ("at", self.rows.on), *values, ("gap", f"{self.prefix}gap")))

    @cached_property
    def identity(self) -> Mapping[str, str]:
        made = {"resampling": f"{self.spec} ({self.axis.domain})"}
        for side, feed in zip(self.sides, self.feeds, strict=True):
            disorder = side.source.disorder
            types = zip(side.keys, side.types, strict=True)
            by = [f"{name} {type_.simpleString()}" for name, type_ in types]
            fields = [f"{n} {side.schema[n].dataType.simpleString()}" for n in side.travels]
            made[feed.name] = (
                f"on {side.source.on}; by {', '.join(by) or 'nothing'}; {', '.join(fields)}"
            )
            made[f"disorder of {feed.name}"] = disorder.state_kind if disorder else "told"
        made["resolution"] = f"{self.axis.digits} decimals"
        made["shard count"] = str(self.shards)
        return made

    @property
    def label(self) -> str:
        digest = hashlib.sha256(repr((self.identity, self.finisher)).encode()).hexdigest()[:8]
        return "_".join(["muntin", *self.rows.by, self.rows.on, "resample", digest])

    def explained(self) -> str:
        """Where values are wanted, and what a stream holds for it."""
        where = "between the first and the last row of each key"
        if self.at is not None:
            where = f"where rows of the other stream lie, on {self.at.on}"
        return "\n".join(
            [
                f"resample    {self.spec}",
                f"instants    {where}",
                f"values      {', '.join(self.columns)}",
                f"exchange    {self.shards} shard{'s' * (self.shards > 1)}",
                f"state       {self._held() if self.is_streaming else 'none: a batch is one pass'}",
            ]
        )

    def _held(self) -> str:
        if self.at is None:
            return "bounded: rows until they are final, and the last final one of every key"
        if looked_for(self.spec).waits_for_ever:
            return (
                "not bounded: instants wait for the next row of their key, which may never come; "
                "how='previous' does not wait"
            )
        return (
            "bounded: rows and instants until both sides are complete there; the last row of every "
            "key"
        )


def looked_for(spec: Resampling) -> Asof:
    """The rows that an instant of another stream needs."""
    if spec.how == "linear":
        return Asof(None, "nearest")
    return Asof(spec.max_gap, "backward" if spec.how == "previous" else "nearest")
