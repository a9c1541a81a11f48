"""The plan of a join of two streams: one operator, and what travels of both sides."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import types as spark_types

from muntin.aggregates.parse_conditions import parse_bridge
from muntin.errors import ArgumentError, ExpressionError, UnknownColumnError
from muntin.expressions.spark_expressions import Expression, Name, Travelling
from muntin.expressions.types import check, no_aggregate
from muntin.operators.join.asof import AsofJoinOperator
from muntin.operators.join.candidate_pairs import PairCondition
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.join.reach import Around, AsofReach, IntervalReach
from muntin.operators.join.side import SideRows
from muntin.spark.columns import to_arrow
from muntin.spark.exchange.fingerprint import SHARD_COUNT
from muntin.spark.plan.inputs import PlanInput, StreamInput, TypedInput
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.results import RenamedColumns
from muntin.spark.plan.second_input import SecondInput, shared_axis
from muntin.specs.axis import Axis
from muntin.specs.join import Asof, Distance, Zipper, left_only
from muntin.specs.may_change import MAY_CHANGE

JoinSpec = Distance | Zipper | Asof
SIDES = ("left", "right")


@dataclass(frozen=True, eq=False)
class PlanSide(SecondInput, TypedInput):
    """One side of a join: the columns that travel, and what orders rows with equal ``on``."""

    shared: Axis | None = None
    types: tuple[spark_types.DataType, ...] = ()
    tiebreak: tuple[str, ...] = ()
    tied: bool = False
    travels: tuple[str, ...] = ()

    def _for_the_window(self) -> list[Travelling]:
        columns = [(f"c{place}", Name(name)) for place, name in enumerate(self.travels)]
        return [*columns, *((f"t{place}", tie) for place, tie in enumerate(self._ties))]

    @property
    def _ties(self) -> list[Expression]:
        """What orders rows with equal ``on``; last a hash of the whole row."""
        return [*map(Name, self.tiebreak), self._row_hash()] if self.tied else []

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
class JoinPlan(PlanParts):
    """Two streams and how they are joined."""

    spec: JoinSpec
    sources: tuple[StreamInput, StreamInput]
    prefix: str = field(default="right_", metadata=MAY_CHANGE)
    where: str | None = None
    limit: int | None = field(default=None, metadata=MAY_CHANGE)
    tiebreak: tuple[str, ...] = ()

    @property
    def stream(self) -> StreamInput:
        return self.sources[0]

    @cached_property
    def axis(self) -> Axis:
        return shared_axis(self.sources, self.spec.lengths)

    @cached_property
    def sides(self) -> tuple[PlanSide, PlanSide]:
        left, right = self.sources
        types = tuple(left.df.schema[name].dataType for name in left.by)
        nearest = isinstance(self.spec, Asof)
        left_side = PlanSide(left, self.axis, types, travels=self._travelling(left, left.by))
        travels = self._travelling(right, self._same_keys)
        right_side = PlanSide(right, self.axis, types, self.tiebreak, nearest, travels)
        return left_side, right_side

    def _travelling(self, source: StreamInput, keys: Collection[str]) -> tuple[str, ...]:
        """Return the columns that travel beside the keys.

        Results take ``keys`` from those, so that the rows of a batch need not bring them twice. A
        stream brings all columns, as its state has them, and so does a join with a condition.
        """
        if source.df.isStreaming or self.where is not None:
            return tuple(source.df.columns)
        return tuple(name for name in source.df.columns if name not in keys)

    @property
    def _same_keys(self) -> set[str]:
        """The keys that have one name on both sides, and so appear once in results."""
        left, right = self.sources
        return {name for name, other in zip(left.by, right.by, strict=True) if name == other}

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
        return PairJoinOperator(reach, (left, right), self.how, self.pairing, self.limit)

    @property
    def batch_operator(self) -> PairJoinOperator | AsofJoinOperator:
        # A batch holds no rows, so it has no limit.
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
        slots = tuple(self._slot(column) for column in written)
        types = [self.sides[side].side.columns[column] for side, column in slots]
        check(tree, types, no_aggregate, self.where)
        return PairCondition(tree, slots)

    def _slot(self, written: str) -> tuple[int, int]:
        """Return the side of a column in the condition, and its number there."""
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

    @cached_property
    def inputs(self) -> Sequence[PlanInput]:
        return [side.plan_input(name) for side, name in zip(self.sides, SIDES, strict=True)]

    def check_streams(self) -> None:
        for source in self.sources:
            source.check_other("is joined")

    @cached_property
    def finisher(self) -> RenamedColumns:
        """Names the columns of both sides; a key with one name on both sides appears once."""
        left, right = self.sides
        keys = dict(zip(left.keys, (f"k{place}" for place in range(len(left.keys))), strict=True))
        places = {name: place for place, name in enumerate(left.travels)}
        columns = [
            (keys[name] if name in keys else f"left{places[name]}", name)
            for name in left.schema.names
        ]
        if left_only(self.how):
            return RenamedColumns(tuple(columns))
        same = self._same_keys
        places = {name: place for place, name in enumerate(right.travels)}
        for name in right.schema.names:
            if name not in same:
                renamed = self.prefix + name if name in left.schema.names else name
                if renamed in {known for _, known in columns}:
                    raise ArgumentError(
                        "prefix", self.prefix, f"a column {renamed!r} is there already; use another"
                    )
                columns.append((f"right{places[name]}", renamed))
        return RenamedColumns(tuple(columns))

    @property
    def zone(self) -> str:
        return self.axis.zone

    def read_in(self, zone: str) -> object:
        axis = replace(self.axis, zone=zone)
        return self.spec.intervals(axis) if isinstance(self.spec, Zipper) else None

    @cached_property
    def identity(self) -> Mapping[str, str]:
        identity = {"join": f"{self.spec}{f' WHERE {self.where}' if self.where else ''}"}
        for name, side in zip(SIDES, self.sides, strict=True):
            fields = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in side.schema.fields)
            source = side.source
            identity[name] = f"on {source.on}; by {', '.join(source.by) or 'nothing'}; {fields}"
            disorder = source.disorder
            identity[f"disorder of {name}"] = disorder.state_kind if disorder else "told"
        identity["resolution"] = f"{self.axis.digits} decimals"
        identity[SHARD_COUNT] = self.shard_text
        return identity

    @property
    def _digested(self) -> tuple[tuple[str, ...], str]:
        return ("join",), f"({self.identity!r}, {self.finisher.label_text})"
