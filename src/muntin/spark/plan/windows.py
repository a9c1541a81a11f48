"""The plan of windows: their operator, and the columns of a stream that travel to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import types as spark_types

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, slots_of
from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError
from muntin.expressions.spark_expressions import Expression, Name, Native, Travelling
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.protocol import Operator
from muntin.spark.columns import named, progressing, to_arrow
from muntin.spark.exchange.fingerprint import SHARD_COUNT
from muntin.spark.plan.inputs import PlanInput, StreamInput, TypedInput
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.results import ResultNames
from muntin.spark.requirements import setting
from muntin.specs.axis import Axis, Domain
from muntin.specs.disorder import PerKey, Punctuated
from muntin.specs.fill import StoredFramesSpec
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.schemes import Schedule
from muntin.specs.may_change import MAY_CHANGE
from muntin.specs.resample import Instants
from muntin.specs.row_windows import (
    Landmarks,
    RowWindow,
    SequenceSpec,
    SlideOnWindow,
    TupleWindow,
)
from muntin.specs.windows import Landmark, Latch, Unfinished, Window, WindowSpec

#: The cached properties of a plan that its result columns do not change.
_OF_THE_STREAM = ("schema", "axis", "lag", "keys", "key_types", "punctuator", "slide_axis")
AnySpec = WindowSpec | SequenceSpec | Framing | StoredFramesSpec | Instants


def window_number(spec: AnySpec, axis: Axis) -> str | None:
    """Return the SQL of a result's ``wid``, computed from where its window ends.

    None if the windows have no numbers [Window-ids 3.3].
    """
    if isinstance(spec, RowWindow):
        return f"window_end div {spec.slide} - 1"
    if isinstance(spec, TupleWindow):
        return "window_end"  # the paper numbers them by the value that they end at
    if not isinstance(spec, Window | Landmark | Latch):
        return None
    if isinstance(spec, Window) and spec.by_calendar:
        return None
    edges = spec.edges(axis)
    return f"({_ticks_of_end(axis)} - {edges.origin}) div {edges.slide} - 1"


def _ticks_of_end(axis: Axis) -> str:
    """Return the SQL of where a window ends as a whole number, as the axis counts them."""
    match axis.domain:
        case Domain.TIMESTAMP:
            return "unix_micros(window_end)"
        case Domain.TIMESTAMP_NTZ:
            epoch = "TIMESTAMP_NTZ '1970-01-01'"
            return f"timestampdiff(MICROSECOND, {epoch}, window_end)"
        case Domain.DATE:
            return "unix_date(window_end)"
        case Domain.INTEGER:
            return "cast(window_end AS bigint)"
        case Domain.DECIMAL | Domain.DOUBLE:
            return f"cast(round(window_end * {10**axis.digits}) AS bigint)"


@dataclass(frozen=True, eq=False)
class WindowDetails:
    """Settings of some kinds of windows: groups, tiebreak columns, landmarks and gaps of rows."""

    group: tuple[str, ...] = ()
    tiebreak: tuple[str, ...] = ()
    starts: SparkColumn | None = None
    gap: SparkColumn | None = None
    #: The same as ``starts``, which is in the fingerprint.
    start_condition: Expression | None = field(default=None, metadata=MAY_CHANGE)


@dataclass(frozen=True, eq=False)
class WindowPlan(TypedInput, PlanParts):
    """Windows over a stream, and the columns of their results.

    ``digits`` are decimals that the axis must have in addition to those that the windows need.
    """

    spec: AnySpec
    columns: tuple[Column, ...] = ()
    unfinished: Unfinished = "keep"
    prefix: str = field(default="", metadata=MAY_CHANGE)
    details: WindowDetails = field(default_factory=WindowDetails)
    digits: int = 0

    def with_columns(self, columns: Sequence[Column]) -> Self:
        """Return the plan with other result columns; what they do not change is computed once."""
        plan = replace(self, columns=tuple(columns))
        # Cached properties are kept in the instance's dictionary.
        shared = {name: vars(self)[name] for name in _OF_THE_STREAM if name in vars(self)}
        vars(plan).update(shared)
        return plan

    @property
    def stream(self) -> StreamInput:
        return self.source

    @cached_property
    def axis(self) -> Axis:
        domain, scale = progressing(self.schema[self.source.on].dataType, self.source.on)
        zone = setting(self.source.df.sparkSession, "spark.sql.session.timeZone", "UTC")
        finest = None if self.source.disorder is None else self.source.disorder.finest
        scale = max(scale, self.digits)
        return self.spec.axis(domain, scale=scale, zone=zone, also=finest)

    @property
    def region_bounds(self) -> tuple[str, str] | None:
        """The operator's columns with the bounds of regions along their second attribute."""
        return None

    @cached_property
    def lag(self) -> int:
        """How far the punctuation is behind the rows by the lengths of the disorder, in ticks."""
        disorder = self.source.disorder
        lengths = () if disorder is None else disorder.lengths
        return sum(self.axis.length("slack", length) for length in lengths)

    @property
    def ranks(self) -> bool:
        """True if windows are bounded by ranks, so that results have ``on_start``, ``on_end``."""
        return isinstance(self.spec, RowWindow)

    @cached_property
    def slots(self) -> list[Expression]:
        """Every expression that Spark evaluates for the aggregates, once each."""
        wanted = [slot for c in self.columns for a in c.aggregates for slot in slots_of(a)]
        if self.ranks:
            wanted.append(Name(self.source.on))  # for on_start and on_end
        return list(dict.fromkeys(wanted))

    @property
    def expressions(self) -> str:
        return ", ".join(column.name for column in self.columns)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of a result: ``by``, and the groups inside a window."""
        return (*self.source.by, *self.details.group)

    def _evaluated(self) -> list[Travelling]:
        return [(f"s{place}", slot) for place, slot in enumerate(self.slots)]

    def _for_the_window(self) -> list[Travelling]:
        """Return what only some windows read: the slide attribute, landmarks, gaps, ties."""
        columns: list[Travelling] = []
        if isinstance(self.spec, SlideOnWindow):
            columns.append(("slide_on", Name(self.spec.slide_on)))
        if self.details.start_condition is not None:
            columns.append(("starts", self.details.start_condition))
        if self.details.gap is not None:
            columns.append(("reach", Native(self._reach(self.details.gap))))
        if isinstance(self.spec, RowWindow):
            ties = [*map(Name, self.details.tiebreak), self._row_hash()]
            columns += [(f"t{place}", tie) for place, tie in enumerate(ties)]
        return columns

    def _reach(self, gap: SparkColumn) -> SparkColumn:
        """Return the end up to which a row holds its session open, computed as Spark would."""
        if self.axis.domain.temporal and isinstance(
            self.source.df.select(gap).schema[0].dataType, spark_types.StringType
        ):
            gap = gap.cast("interval")
        return (named(self.source.on) + gap).cast(self.schema[self.source.on].dataType)

    @cached_property
    def operator(self) -> Operator:
        # Frames, stored frames and instants have their own plans.
        assert not isinstance(self.spec, Framing | StoredFramesSpec | Instants)
        return build(self.spec, self.typed)

    @cached_property
    def typed(self) -> WindowOperatorInputs:
        """The inputs of an operator except its windows."""
        return WindowOperatorInputs(
            axis=self.axis,
            keys=self.key_types,
            ranked_keys=len(self.source.by),
            calls=self.calls,
            bound_type=self.on_type,
            lateness_type=self.lateness_type,
            late=self.source.disorder.late if self.source.disorder else "generous",
            unfinished=self.unfinished,
            lag=self.lag,
            slide_axis=self.slide_axis if isinstance(self.spec, SlideOnWindow) else None,
            ties=self._tie_types(),
        )

    @cached_property
    def slide_axis(self) -> Axis:
        assert isinstance(self.spec, SlideOnWindow)
        name = self.spec.slide_on
        domain, scale = progressing(self.schema[name].dataType, name)
        return self.spec.slide_axis(domain, scale=scale, zone=self.axis.zone)

    def _tie_types(self) -> tuple[pa.DataType, ...]:
        if not isinstance(self.spec, RowWindow):
            return ()
        names = self.details.tiebreak
        types = [to_arrow(self.schema[n].dataType, f"tiebreak={n!r}") for n in names]
        return (*types, pa.int64())

    @cached_property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates with their types."""
        calls = []
        if self.ranks:
            place = self.slots.index(Name(self.source.on))
            type_ = to_arrow(self.schema[self.source.on].dataType, "on")
            calls = [
                AggregateCall(f, f"{f}(on)", (place,), (type_,), True) for f in ("first", "last")
            ]
        aggregates = [a for result in self.columns for a in result.aggregates]
        return (*calls, *self._calls_of(aggregates))

    @cached_property
    def slot_types(self) -> tuple[spark_types.DataType, ...]:
        """The types of what Spark evaluates for the aggregates."""
        types = {field.name: field.dataType for field in self.prepared().schema}
        return tuple(types[f"s{place}"] for place in range(len(self.slots)))

    def _calls_of(self, aggregates: Sequence[Aggregate]) -> list[AggregateCall]:
        calls = []
        for aggregate in aggregates:
            places = tuple(self.slots.index(slot) for slot in slots_of(aggregate))
            arrow = tuple(to_arrow(self.slot_types[p], str(aggregate)) for p in places)
            label, constants = str(aggregate), aggregate.options
            calls.append(
                AggregateCall(aggregate.function, label, places, arrow, self.ansi, constants)
            )
        return calls

    @cached_property
    def inputs(self) -> tuple[PlanInput, ...]:
        return (self.plan_input("rows"),)

    def plan_input(self, name: str) -> PlanInput:
        """Return the stream as an input with a name."""
        return PlanInput(name, self, may_refuse=self.operator.may_refuse)

    @property
    def batch_operator(self) -> Operator:
        return self.operator

    @property
    def finisher(self) -> ResultNames:
        return self.naming

    @property
    def needs_disorder(self) -> bool:
        """False for rows ranked by arrival, which are final when they arrive."""
        return not (isinstance(self.spec, RowWindow) and self.spec.order == "arrival")

    def check_operator(self) -> None:
        """Raise if a length or a type does not suit the windows."""
        if not self.operator.result_schema.names:
            raise AssertionError("windows have results")

    def check_streams(self) -> None:
        if self.needs_disorder:
            self.source.check_windowed()
        self.source.check_run()
        rule = self.source.disorder
        by_key = isinstance(rule, PerKey) or (isinstance(rule, Punctuated) and rule.key)
        if isinstance(self.spec, RowWindow | Framing) and self.spec.forget is not None and by_key:
            raise ArgumentError(
                "forget",
                str(self.spec.forget),
                f"with {rule} every key is remembered for ever, with how far it has come; use a "
                "rule for the whole stream, such as mt.slack('10 seconds')",
            )

    @cached_property
    def identity(self) -> Mapping[str, str]:
        schema, source = self.schema, self.source
        by = [f"{n} {schema[n].dataType.simpleString()}" for n in self.keys]
        arguments = [str(t) for call in self.calls for t in call.types]
        return {
            "window": f"{self.spec} ({self.axis.domain}{self._days()})",
            "aggregates": ", ".join(call.label for call in self.calls),
            "schema": f"on {schema[source.on].dataType.simpleString()}; by "
            f"{', '.join(by) or 'nothing'}; arguments {', '.join(arguments) or 'none'}",
            "resolution": f"{self.axis.digits} decimals",
            SHARD_COUNT: self.shard_text,
            "unfinished": self.unfinished,
            "disorder": source.disorder.state_kind if source.disorder else "told",
        }

    @property
    def zone(self) -> str:
        return self.axis.zone

    def read_in(self, zone: str) -> object:
        return self._anchors(zone)

    def _days(self) -> str:
        """Return the time zone if windows depend on it, else nothing: machines differ in it."""
        zone = self.axis.zone
        return "" if self._anchors(zone) == self._anchors("UTC") else f", days in {zone}"

    def _anchors(self, zone: str) -> tuple[int | str, ...]:
        """Return the ticks from which windows are counted, or the zone of calendar windows."""
        axis, spec = replace(self.axis, zone=zone), self.spec
        match spec:
            case Window(by_calendar=True) if axis.domain is Domain.TIMESTAMP:
                return (zone,)
            case Window() | Landmark() | Latch():
                return (spec.edges(axis).origin,)
            case Landmarks(origins=origins):
                return tuple(axis.point("origin", origin) for origin in origins)
            case Framing(schedule=Schedule() as schedule):
                return (schedule.start(axis),)
            case Instants():
                grid = spec.grid(axis)
                return () if grid is None else (grid.origin,)
            case SlideOnWindow():
                return (spec.slide_origin(replace(self.slide_axis, zone=zone)),)
        return ()

    @property
    def _digested(self) -> tuple[tuple[str, ...], str]:
        identity, names = self.identity, self.naming
        windows = (identity["window"], identity["unfinished"], names.by, names.prefix)
        return (), repr((*windows, identity["aggregates"], names.results))

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        """Muntin's own columns of a result."""
        ranks = ("on_start", "on_end") if isinstance(self.spec, RowWindow) else ()
        flag = ("complete",) if self.unfinished == "flag" else ()
        return ("window_start", "window_end", *ranks, *flag)

    @cached_property
    def naming(self) -> ResultNames:
        """The names of the results, as the user knows them."""
        return ResultNames(
            by=self.keys,
            bounds=self.bounds,
            prefix=self.prefix,
            results=tuple((c.name, len(c.aggregates), c.outer) for c in self.columns),
            beside=self.beside,
        )

    @cached_property
    def beside(self) -> tuple[tuple[str, str], ...]:
        """Columns that results may mention: their names, and SQL over the operator's columns."""
        wid = window_number(self.spec, self.axis)
        return () if wid is None else (("wid", wid),)
