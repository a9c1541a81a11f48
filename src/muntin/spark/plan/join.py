"""From two streams and how they are joined to one operator and the DataFrames that feed it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.aggregates.parse import parse_bridge
from muntin.errors import ArgumentError, ExpressionError, UnknownColumnError
from muntin.expressions.types import check, no_aggregate
from muntin.operators.join.asof import AsofJoinOperator
from muntin.operators.join.asof_reach import AsofReach
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.join.pair_condition import PairCondition
from muntin.operators.join.reach import Around, IntervalReach
from muntin.operators.join.side import SideRows
from muntin.spark.columns import named
from muntin.spark.plan.inputs import Source, TypedInput
from muntin.spark.plan.protocol import PlanInput
from muntin.spark.plan.result_names import RenamedColumns
from muntin.spark.plan.second_input import SecondInput, shared_axis
from muntin.spark.plan.windows import struct
from muntin.spark.types import to_arrow
from muntin.specs.axis import Axis
from muntin.specs.join import Asof, Distance, Zipper, left_only

JoinSpec = Distance | Zipper | Asof
SIDES = ("left", "right")


@dataclass(frozen=True, eq=False)
class PlanSide(SecondInput, TypedInput):
    """One side of a join: columns travel, and ties if only one of several rows counts."""

    shared: Axis | None = None
    types: tuple[spark_types.DataType, ...] = ()
    tiebreak: tuple[str, ...] = ()
    tied: bool = False
    travels: tuple[str, ...] = ()

    def _for_the_window(self) -> list[SparkColumn]:
        made = [named(n).alias(f"c{place}") for place, n in enumerate(self.travels)]
        return made + [tie.alias(f"t{place}") for place, tie in enumerate(self._ties)]

    @property
    def _ties(self) -> list[SparkColumn]:
        """What tells rows in one place apart; in the end what is in them."""
        if not self.tied:
            return []
        hashed = F.xxhash64(*(named(name) for name in self._hashable))
        return [*(named(name) for name in self.tiebreak), hashed]

    @cached_property
    def side(self) -> SideRows:
        columns = [to_arrow(self.schema[name].dataType, name) for name in self.travels]
        ties = [to_arrow(self.schema[n].dataType, f"tiebreak={n!r}") for n in self.tiebreak]
        return SideRows(
            axis=self.axis,
            keys=self.key_types,
            columns=tuple(columns),
            lateness_type=self.lateness_type,
            ties=(*ties, pa.int64()) if self.tied else (),
        )


@dataclass(frozen=True, eq=False)
class JoinPlan:
    """Two streams and how they are joined, typed."""

    spec: JoinSpec
    sources: tuple[Source, Source]
    prefix: str = "right_"
    where: str | None = None
    limit: int | None = None
    tiebreak: tuple[str, ...] = ()

    @cached_property
    def axis(self) -> Axis:
        return shared_axis(self.sources, self.spec.lengths)

    @cached_property
    def sides(self) -> tuple[PlanSide, PlanSide]:
        left, right = self.sources
        types = tuple(left.df.schema[name].dataType for name in left.by)
        nearest = isinstance(self.spec, Asof)
        one = PlanSide(left, shared=self.axis, types=types, travels=tuple(left.df.columns))
        travels = tuple(right.df.columns)
        other = PlanSide(right, self.axis, types, self.tiebreak, nearest, travels)
        return one, other

    @property
    def how(self) -> str:
        return "left" if isinstance(self.spec, Asof) else self.spec.how

    @cached_property
    def operator(self) -> PairJoinOperator | AsofJoinOperator:
        left, right = (side.side for side in self.sides)
        match self.spec:
            case Asof():
                return AsofJoinOperator(AsofReach.of(self.spec, self.axis), (left, right))
            case Zipper():
                reach: Around | IntervalReach = IntervalReach.of(self.spec, self.axis)
            case Distance():
                reach = Around.of(self.spec, self.axis)
        # The limit is for all shards together, and each may hold its share.
        share = None if self.limit is None else max(1, self.limit // self.shards)
        return PairJoinOperator(reach, (left, right), self.how, self.pairing, share)

    @property
    def batch_operator(self) -> PairJoinOperator | AsofJoinOperator:
        # A batch holds nothing, so there is nothing to let go for want of room.
        return (
            replace(self.operator, limit=None)
            if isinstance(self.operator, PairJoinOperator)
            else self.operator
        )

    @cached_property
    def pairing(self) -> PairCondition | None:
        """The condition on pairs, which Muntin evaluates itself."""
        if self.where is None:
            return None
        tree, written = parse_bridge(self.where, self.axis.zone)
        slots = tuple(self._slot(one) for one in written)
        types = [self.sides[side].side.columns[column] for side, column in slots]
        check(tree, types, no_aggregate, self.where)
        return PairCondition(tree, slots)

    def _slot(self, written: str) -> tuple[int, int]:
        """Which side a column of the condition belongs to, and its number there."""
        assert self.where is not None
        side, _, name = written.replace("`", "").partition(".")
        if side.lower() not in SIDES or not name:
            raise ExpressionError(
                f"{written} belongs to no side; write left.{written} or right.{written}",
                self.where,
                max(0, self.where.find(written)),
            )
        place = SIDES.index(side.lower())
        names = self.sides[place].schema.names
        if name not in names:
            raise UnknownColumnError("where", name, names)
        return place, names.index(name)

    @property
    def feeds(self) -> Sequence[PlanInput]:
        return [side.feed(name) for side, name in zip(self.sides, SIDES, strict=True)]

    @property
    def shards(self) -> int:
        return self.sources[0].shards if self.sources[0].by else 1

    @property
    def is_streaming(self) -> bool:
        return self.sources[0].df.isStreaming

    @cached_property
    def flat_schema(self) -> spark_types.StructType:
        return struct(self.operator.result_schema)

    @cached_property
    def finisher(self) -> RenamedColumns:
        """A key that both sides call the same stands once, where the left side has it."""
        left, right = self.sides
        keys = dict(zip(left.keys, (f"k{place}" for place in range(len(left.keys))), strict=True))
        made = [
            (keys.get(name, f"left{place}"), name) for place, name in enumerate(left.schema.names)
        ]
        if left_only(self.how):
            return RenamedColumns(tuple(made))
        taken = {*left.schema.names}
        same = {name for name, other in zip(left.keys, right.keys, strict=True) if name == other}
        for place, name in enumerate(right.schema.names):
            if name not in same:
                told = self.prefix + name if name in taken else name
                if told in {known for _, known in made}:
                    raise ArgumentError(
                        "prefix", self.prefix, f"a column {told!r} is there already; use another"
                    )
                made.append((f"right{place}", told))
        return RenamedColumns(tuple(made))

    @cached_property
    def identity(self) -> Mapping[str, str]:
        made = {"join": f"{self.spec}{f' WHERE {self.where}' if self.where else ''}"}
        for name, side in zip(SIDES, self.sides, strict=True):
            fields = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in side.schema.fields)
            source = side.source
            made[name] = f"on {source.on}; by {', '.join(source.by) or 'nothing'}; {fields}"
            rule = source.disorder
            made[f"disorder of {name}"] = rule.state_kind if rule else "told"
        made["resolution"] = f"{self.axis.digits} decimals"
        made["shard count"] = str(self.shards)
        return made

    @property
    def label(self) -> str:
        digest = hashlib.sha256(repr((self.identity, self.finisher)).encode()).hexdigest()[:8]
        source = self.sources[0]
        return "_".join(["muntin", *source.by, source.on, "join", digest])

    def explained(self) -> str:
        """What is joined, and what a stream holds for it."""
        left, right = self.sources
        pairs = zip(left.by, right.by, strict=True)
        matched = ", ".join(f"left.{one} = right.{other}" for one, other in pairs)
        lines = [
            f"join        {self.identity['join']}",
            f"on          left.{left.on}, right.{right.on}"
            f"{f'; {matched}' if matched else '; keys do not matter'}",
            f"exchange    both meet in one call; {self.shards} shard{'s' * (self.shards > 1)}",
            f"state       {self._held() if self.is_streaming else 'none: a batch is one pass'}",
        ]
        return "\n".join(lines)

    def _held(self) -> str:
        room = "" if self.limit is None else f", at most {self.limit:,} bytes, the oldest go first"
        match self.spec:
            case Asof(waits_for_ever=True):
                return (
                    "not bounded: left rows wait for the next right row of their key, which may "
                    "never come; a tolerance bounds it"
                )
            case Asof(tolerance=None):
                return (
                    "bounded: left rows until their partner is certain; right rows behind the left "
                    "punctuation, and the last one before it for every key"
                )
            case Asof(tolerance=tolerance):
                return f"bounded: rows of both sides until {tolerance} behind the other's progress"
            case Zipper():
                return f"bounded: rows of the intervals that are not complete on both sides{room}"
            case _:
                return (
                    "bounded: rows of each side until the other is complete "
                    f"{self.spec.within} behind them{room}"
                )
