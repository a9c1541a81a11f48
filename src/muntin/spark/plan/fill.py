"""The plan of frames or windows that rows of other inputs fill: one operator for all inputs.

Frames that were found before have a plan here too, because they are only there to be filled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError
from muntin.expressions.spark_expressions import CastTo, Name, Travelling
from muntin.operators.common.forgetting import Forgetting
from muntin.operators.fill.operator import FillOperator
from muntin.operators.fill.segments import OperatorSegments, StoredFrameSegments
from muntin.operators.fill.source import FillInput, FillReach, Function, UserFunction
from muntin.operators.protocol import Operator, key_fields
from muntin.operators.rows.ordered_rows import OrderedRowsOperator
from muntin.spark.columns import condition, to_arrow, to_spark
from muntin.spark.exchange.routing import digest
from muntin.spark.plan.inputs import PlanInput, StreamInput
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.results import ResultNames
from muntin.spark.plan.second_attribute import SecondPlace
from muntin.spark.plan.second_input import SecondInput, digits_of
from muntin.spark.plan.windows import AnySpec, WindowPlan
from muntin.specs.axis import Axis
from muntin.specs.fill import CLOSED, HALF_OPEN, LEFT_OPEN, OPEN, Edge, Filling, StoredFramesSpec
from muntin.specs.frames.framing import Framing
from muntin.specs.may_change import MAY_CHANGE
from muntin.specs.resample import Instants
from muntin.specs.row_windows import Landmarks, RowWindow, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Window


@dataclass(frozen=True, eq=False)
class StoredFramesPlan(WindowPlan):
    """Stored frames; their other columns come back in the results."""

    @property
    def stored(self) -> StoredFramesSpec:
        assert isinstance(self.spec, StoredFramesSpec)
        return self.spec

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The columns that are neither keys nor bounds."""
        own = {*self.source.by, self.source.on, self.stored.end}
        return tuple(name for name in self.schema.names if name not in own)

    @property
    def region_bounds(self) -> tuple[str, str] | None:
        if self.stored.along is None:
            return None
        low, high = (f"r{self.kept.index(name)}" for name in self.stored.along)
        return low, high

    def _for_the_window(self) -> list[Travelling]:
        kept = [(f"r{place}", Name(name)) for place, name in enumerate(self.kept)]
        return [("until", Name(self.stored.end)), *kept]

    @cached_property
    def operator(self) -> StoredFrameSegments:
        return StoredFrameSegments(
            axis=self.axis,
            keys=self.key_types,
            kept=tuple(to_arrow(self.schema[name].dataType, name) for name in self.kept),
            bound_type=self.on_type,
            lateness_type=self.lateness_type,
            names=self.stored.names,
        )

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        return self.stored.names

    @cached_property
    def naming(self) -> ResultNames:
        kept = tuple((name, 1, None) for name in self.kept)
        return ResultNames(self.keys, self.bounds, self.prefix, kept, first=self.stored.first)


@dataclass(frozen=True, eq=False)
class FillSource(SecondInput, WindowPlan):
    """Rows that fill: a stream whose ``by`` are the columns that match keys of the segments.

    ``matches`` are the numbers of those keys. Rows that fill regions lie ``along`` a column.
    """

    filling: Filling = field(default_factory=Filling)
    edge: Edge = field(default_factory=lambda: CLOSED)
    shared: Axis | None = None
    types: tuple[spark_types.DataType, ...] = ()
    matches: tuple[int, ...] = ()
    sharded_by: tuple[int, ...] = ()
    where: str | SparkColumn | None = None
    whole_rows: bool = False
    #: It is called when a frame is whole, so a new one holds for the frames to come.
    function: Function | None = field(default=None, metadata=MAY_CHANGE)
    returns: spark_types.StructType | None = None
    along: SecondPlace | None = None

    @property
    def ranks(self) -> bool:
        return False  # filling rows have a place in ``on``, whatever they fill

    def _for_the_window(self) -> list[Travelling]:
        columns: list[Travelling] = []
        if self.where is not None:
            columns.append(("w", condition(self.where)))
        if self.along is not None:
            wanted = to_spark(self.along.type).simpleString()
            columns.append(("along", CastTo(Name(self.along.column), wanted)))
        if self.whole_rows:
            columns += [(f"c{place}", Name(name)) for place, name in enumerate(self.schema.names)]
        return columns

    @cached_property
    def fill(self) -> FillInput:
        """The rows as the operator knows them."""
        axis, filling = self.axis, self.filling

        def ticks(argument: str, length: object) -> int:
            return 0 if length is None else axis.length(argument, length)  # type: ignore[arg-type]

        lengths = [ticks(name, getattr(filling, name)) for name in ("before", "after", "shrink")]
        keys = [f.name for f in key_fields(self.key_types)]
        return FillInput(
            reach=FillReach(axis, self.edge, *lengths),
            names=tuple(f"k{place}" for place in self.matches),
            keys=self.key_types,
            shards=tuple(keys[self.matches.index(n)] for n in self.sharded_by if not self.apart),
            calls=self.calls,
            lateness_type=self.lateness_type,
            shifts=tuple(ticks("shift", shift) for shift in filling.shifts),
            columns=tuple(self._columns()) if self.whole_rows else (),
            chosen=self.where is not None,
            drops_empty=filling.empty == "drop",
            mapped=self._mapped(),
            along=None if self.along is None else self.along.type,
        )

    def _mapped(self) -> UserFunction | None:
        """Return the user's function with the columns that it gets and those that it returns."""
        if self.function is None or self.returns is None:
            return None
        fields = [(f.name, to_arrow(f.dataType, f.name)) for f in self.returns.fields]
        return UserFunction(self.function, tuple(self.schema.names), pa.schema(fields))

    @property
    def results(self) -> list[tuple[str, int, str | None]]:
        """The result columns: name, number of the operator's columns, and SQL over them."""
        if self.returns is not None:
            return [(name, 1, None) for name in self.returns.names]
        if self.whole_rows:
            return [(name, 1, None) for name in self.schema.names]
        return [(c.name, len(c.aggregates), c.outer) for c in self.columns]

    @property
    def apart(self) -> bool:
        """True if filling rows lack the shard keys, so they go to every shard."""
        return not set(self.sharded_by) <= set(self.matches)

    def _columns(self) -> list[pa.Field]:
        return [
            pa.field(f"c{place}", to_arrow(f.dataType, f.name))
            for place, f in enumerate(self.schema.fields)
        ]

    def plan_input(self, name: str) -> PlanInput:
        return replace(super().plan_input(name), everywhere=self.apart)


@dataclass(frozen=True, eq=False)
class FillPlan(PlanParts):
    """Segments (frames or windows) and the inputs that fill them.

    ``plain`` is the plan of the segments alone, ``segments`` the same on the axis of all inputs.
    """

    plain: WindowPlan
    sources: tuple[FillSource, ...]

    @property
    def stream(self) -> StreamInput:
        return self.plain.source

    @cached_property
    def axis(self) -> Axis:
        """One axis for all inputs, fine enough for each of them."""
        axis = self.plain.axis
        digits = [
            digits_of(source.source, axis.domain, source.filling.lengths) for source in self.sources
        ]
        return replace(axis, digits=max(axis.digits, *digits))

    @cached_property
    def segments(self) -> WindowPlan:
        """Frames or windows on the axis that all inputs share."""
        if self.axis == self.plain.axis:
            return self.plain
        return replace(self.plain, digits=self.axis.digits)

    @cached_property
    def fills(self) -> tuple[FillSource, ...]:
        return tuple(
            replace(source, shared=self.axis, edge=self.edge, sharded_by=self._sharded_by)
            for source in self.sources
        )

    @cached_property
    def _sharded_by(self) -> tuple[int, ...]:
        """The keys that all keyed sources share; all keys if they share none.

        Groups inside a window are no such keys: its bounds depend on the rows of all groups.
        """
        every = range(len(self.plain.source.by))
        keyed = [set(source.matches) for source in self.sources if source.matches]
        shared = set(every).intersection(*keyed) if keyed else set(every)
        return tuple(sorted(shared or every))

    @property
    def edge(self) -> Edge:
        """Says whether rows exactly on a bound are inside."""
        spec = self.plain.spec
        if isinstance(spec, StoredFramesSpec | Instants):
            return spec.edge
        if isinstance(spec, RowWindow):
            return CLOSED  # from its first row to its last
        if isinstance(spec, TupleWindow | SlideOnWindow):
            return LEFT_OPEN
        if not isinstance(spec, Framing):
            return HALF_OPEN
        if spec.bounds == "liberal":
            return OPEN
        return HALF_OPEN if spec.readings == "until_next" else CLOSED

    @property
    def bounds(self) -> tuple[str, str]:
        """The columns between which rows fill; those of windows over rows count ranks."""
        spec = self.plain.spec
        if isinstance(spec, StoredFramesSpec):
            return spec.names
        if isinstance(spec, RowWindow):
            return "on_start", "on_end"
        frames = isinstance(spec, Framing | Instants)
        return ("frame_start", "frame_end") if frames else ("window_start", "window_end")

    @cached_property
    def operator(self) -> FillOperator:
        return self._filled(self.segments.operator)

    @property
    def batch_operator(self) -> FillOperator:
        return self._filled(self.segments.batch_operator)

    def _filled(self, operator: Operator) -> FillOperator:
        spec = self.plain.spec
        if isinstance(operator, OrderedRowsOperator):
            operator = replace(operator, tells_open=True)
        elif isinstance(operator, Forgetting):
            operator = operator.telling_open()
        segments = OperatorSegments(
            operator,
            self.axis,
            self.segments.key_types,
            *self.bounds,
            edge=self.edge,
            edges=spec.edges(self.axis) if isinstance(spec, Window | Landmark) else None,
            fragments=isinstance(spec, Framing) and spec.fragments is not None,
            along=self.segments.region_bounds,
            overlapping=isinstance(spec, Framing) and spec.readings == "interval",
            back=_reach_back(spec, self.axis),
            points=spec.points(self.axis) if isinstance(spec, Landmarks) else (),
        )
        shards = tuple(f"k{place}" for place in self._sharded_by)
        return FillOperator(segments, tuple(source.fill for source in self.fills), shards)

    @cached_property
    def inputs(self) -> tuple[PlanInput, ...]:
        names = ["fill"] if len(self.fills) == 1 else [f"fill{n}" for n in range(len(self.fills))]
        filling = [s.plan_input(name) for s, name in zip(self.fills, names, strict=True)]
        return (replace(self.segments.plan_input("rows"), stored=self.stored), *filling)

    @property
    def shards(self) -> int:
        return self.segments.shards

    @property
    def is_streaming(self) -> bool:
        return self.plain.is_streaming or self.stored

    @property
    def stored(self) -> bool:
        """True if streams fill frames that are stored."""
        streams = any(source.source.df.isStreaming for source in self.sources)
        return streams and not self.plain.is_streaming

    def check_streams(self) -> None:
        if self.plain.is_streaming:
            self.plain.check_streams()
            self.check_longest()
            self.check_forgetting()
        tables = [source for source in self.sources if not source.source.df.isStreaming]
        if tables and self.stored:
            raise ArgumentError(
                "plans",
                "a table and a stream",
                "one plan is filled by tables or by streams, not both",
            )
        if not tables:
            for source in self.sources:
                source.source.check_other("fills")

    def check_longest(self) -> None:
        """Raise if only the longest frame of a stream is filled: all rows would be kept for it."""
        if getattr(self.plain.spec, "longest", False):
            raise ArgumentError(
                "longest",
                True,
                "which frame of a stream is the longest is known only when it ends, and until then "
                "every row that may fill it would be kept; fill it in a batch, or fill all frames",
            )

    def check_forgetting(self) -> None:
        """Raise if keys of a stream are forgotten: rows that fill their extents would be, too."""
        forget = getattr(self.plain.spec, "forget", None)
        if forget is not None:
            raise ArgumentError(
                "forget",
                str(forget),
                "frames and windows of a stream that forgets keys are not filled, because rows "
                "that may fill them are kept by the stream's own progress; fill them in a batch, "
                "or without forget=",
            )

    @property
    def compares(self) -> tuple[str, ...]:
        """The texts of the shifts, if each of them has its own result."""
        many = [source.filling.labels for source in self.sources if source.filling.compares]
        return many[0] if many else ()

    @cached_property
    def naming(self) -> ResultNames:
        own = self.plain.naming
        counts = ("n", "n_missing")
        bounds = tuple(name for name in own.bounds if name not in counts)
        filling = [column for source in self.sources for column in source.results]
        return ResultNames(
            by=own.by,
            bounds=(*bounds, *(("shift",) if self.compares else ())),
            prefix=own.prefix,
            results=(*own.results, *filling),
            shifts=self.compares,
            first=own.first,
            beside=own.beside,
        )

    @property
    def finisher(self) -> ResultNames:
        return self.naming

    @property
    def zone(self) -> str:
        return self.axis.zone

    def read_in(self, zone: str) -> object:
        return self.plain.read_in(zone)

    @cached_property
    def identity(self) -> Mapping[str, str]:
        identity = dict(self.segments.identity)
        if self.stored:
            identity["frames"] = digest(self.plain.source.df)
        for place, source in enumerate(self.fills):
            by = [f"{n} {t.simpleString()}" for n, t in zip(source.keys, source.types, strict=True)]
            types = [str(t) for call in source.calls for t in call.types]
            rows = [f"{f.name} {f.dataType.simpleString()}" for f in source.schema.fields]
            results = rows if source.whole_rows else [call.label for call in source.calls]
            results += [] if source.returns is None else [f"to {source.returns.simpleString()}"]
            identity[f"fill {place}"] = (
                f"{source.filling}; on {source.source.on}; by {', '.join(by) or 'nothing'}; "
                f"{'' if source.along is None else f'along {source.along.column}; '}"
                f"{', '.join(results)}; arguments {', '.join(types) or 'none'}"
            )
            disorder = source.source.disorder
            kind = disorder.state_kind if disorder else "told"
            identity[f"disorder of fill {place}"] = kind
        return identity

    @property
    def _digested(self) -> tuple[tuple[str, ...], str]:
        fills = [text for name, text in self.identity.items() if name.startswith("fill")]
        return ("fill",), f"({self.segments.label!r}, {fills!r}, {self.naming.label_text})"


def _reach_back(spec: AnySpec, axis: Axis) -> int:
    """Return how many ticks before a later row a window that ends at it may begin."""
    if not isinstance(spec, TupleWindow | SlideOnWindow):
        return 0
    # Two more ticks, because a difference of doubles is rounded by less than that.
    return axis.length("range", spec.range) + 2
