"""From a plan to an operator and the DataFrame that feeds it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, slots_of
from muntin.aggregates.parse import Column
from muntin.expressions.spark_expressions import Expression, Name
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.frames.batch_runs import in_batch
from muntin.operators.protocol import Operator
from muntin.spark.columns import column, named
from muntin.spark.plan.fingerprint import fingerprint
from muntin.spark.plan.inputs import TypedInput
from muntin.spark.plan.protocol import PlanInput
from muntin.spark.plan.result_names import ResultNames
from muntin.spark.requirements import setting
from muntin.spark.types import progressing, to_arrow, to_spark
from muntin.specs.axis import Axis
from muntin.specs.fill import StoredFrames
from muntin.specs.frames.framing import Framing
from muntin.specs.resample import Instants
from muntin.specs.row_windows import RowWindow, SequenceSpec, SlideOnWindow
from muntin.specs.windows import Unfinished, WindowSpec

AnySpec = WindowSpec | SequenceSpec | Framing | StoredFrames | Instants


@dataclass(frozen=True, eq=False)
class WindowDetails:
    """What only some windows have: groups inside them, what breaks ties, what rows say."""

    group: tuple[str, ...] = ()
    tiebreak: tuple[str, ...] = ()
    starts: SparkColumn | None = None
    gap: SparkColumn | None = None


@dataclass(frozen=True, eq=False)
class WindowPlan(TypedInput):
    """Windows of a source, typed: everything the drivers, ``explain`` and ``write`` ask for."""

    spec: AnySpec
    columns: tuple[Column, ...]
    unfinished: Unfinished = "keep"
    prefix: str = ""
    details: WindowDetails = field(default_factory=WindowDetails)

    @cached_property
    def axis(self) -> Axis:
        domain, scale = progressing(self.schema[self.source.on].dataType, self.source.on)
        zone = setting(self.source.df.sparkSession, "spark.sql.session.timeZone", "UTC")
        finest = None if self.source.disorder is None else self.source.disorder.finest
        scale = max(scale, self.source.digits)
        return self.spec.axis(domain, scale=scale, zone=zone, also=finest)

    @cached_property
    def behind(self) -> int:
        """How far the punctuation follows the rows by the rule's own lengths, in ticks."""
        disorder = self.source.disorder
        lengths = () if disorder is None else disorder.lengths
        return sum(self.axis.length("slack", length) for length in lengths)

    @cached_property
    def shards(self) -> int:
        """Without keys everything meets in one shard, combined to panes before it gets there."""
        return self.source.shards if self.source.by else 1

    @cached_property
    def slots(self) -> list[Expression]:
        """Every expression that Spark evaluates for the aggregates, once each."""
        wanted = [slot for c in self.columns for a in c.aggregates for slot in slots_of(a)]
        if isinstance(self.spec, RowWindow):
            wanted.append(Name(self.source.on))  # for on_start and on_end
        return list(dict.fromkeys(wanted))

    @property
    def asked(self) -> str:
        return ", ".join(column.name for column in self.columns)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of a result: ``by``, and the groups inside a window."""
        return (*self.source.by, *self.details.group)

    def _evaluated(self) -> list[SparkColumn]:
        return [column(slot).alias(f"s{place}") for place, slot in enumerate(self.slots)]

    def _for_the_window(self) -> list[SparkColumn]:
        """What only some windows look at: the slide attribute, landmarks, gaps, ties."""
        made: list[SparkColumn] = []
        if isinstance(self.spec, SlideOnWindow):
            made.append(named(self.spec.slide_on).alias("slide_on"))
        if self.details.starts is not None:
            made.append(self.details.starts.alias("starts"))
        if self.details.gap is not None:
            made.append(self._reach(self.details.gap).alias("reach"))
        if isinstance(self.spec, RowWindow):
            ties = [named(name) for name in self.details.tiebreak]
            # Rows that still tie are told apart by what else is in them, here as on any machine.
            ties.append(F.xxhash64(*(named(n) for n in self._hashable)))
            made += [tie.alias(f"t{place}") for place, tie in enumerate(ties)]
        return made

    def _reach(self, gap: SparkColumn) -> SparkColumn:
        """Up to where a row holds its session open, computed as Spark would."""
        if self.axis.domain.temporal and isinstance(
            self.source.df.select(gap).schema[0].dataType, spark_types.StringType
        ):
            gap = gap.cast("interval")
        return (named(self.source.on) + gap).cast(self.schema[self.source.on].dataType)

    @cached_property
    def operator(self) -> Operator:
        # Others have compilers of their own.
        assert not isinstance(self.spec, Framing | StoredFrames | Instants)
        return build(self.spec, self.typed)

    @cached_property
    def typed(self) -> WindowOperatorInputs:
        """Everything an operator is made of, beside its windows."""
        return WindowOperatorInputs(
            axis=self.axis,
            keys=self.key_types,
            ranked_keys=len(self.source.by),
            calls=self.calls,
            bound_type=self.on_type,
            lateness_type=self.lateness_type,
            late=self.source.disorder.late if self.source.disorder else "generous",
            unfinished=self.unfinished,
            behind=self.behind,
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
        if isinstance(self.spec, RowWindow):
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
    def flat_schema(self) -> spark_types.StructType:
        """The operator's result schema in Spark's types."""
        return struct(self.operator.result_schema)

    @cached_property
    def feeds(self) -> tuple[PlanInput, ...]:
        return (self.feed("rows"),)

    def feed(self, name: str) -> PlanInput:
        """The stream as an input under a name."""
        return PlanInput(
            name=name,
            prepared=lambda originals: self.prepared(originals=originals),
            schema=self.schema,
            lateness_type=self.lateness_type,
            punctuator=self.punctuator,
            axis=self.axis,
            control=self.source.control,
            may_refuse=self.operator.may_refuse,
        )

    @property
    def batch_operator(self) -> Operator:
        return in_batch(self.operator)

    @property
    def finisher(self) -> ResultNames:
        return self.naming

    @cached_property
    def identity(self) -> Mapping[str, str]:
        return fingerprint(self)

    @property
    def label(self) -> str:
        """The columns it is about, and a digest of window and results.

        A query may hold two plans over the same columns; the label is the same at every start.
        """
        told, names = self.identity, self.naming
        windows = (told["window"], told["unfinished"], names.by, names.prefix)
        what = repr((*windows, told["aggregates"], names.results))
        digest = hashlib.sha256(what.encode()).hexdigest()[:8]
        return "_".join(["muntin", *self.source.by, self.source.on, digest])

    def explained(self) -> object:
        from muntin.spark.explain.windows import explanation  # which looks at every kind of plan

        return explanation(self, streaming=self.is_streaming)

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
        )


def struct(schema: pa.Schema) -> spark_types.StructType:
    """The columns that an operator makes, in Spark's types."""
    return spark_types.StructType(
        [spark_types.StructField(field.name, to_spark(field.type)) for field in schema]
    )
