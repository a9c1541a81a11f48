"""The inputs of a plan: a stream and the roles of its columns, and what travels of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.errors import ArgumentError, ExpressionError
from muntin.expressions.spark_expressions import Expression, KeyOf, Name, Native, Sql, Travelling
from muntin.operators.build import punctuator
from muntin.operators.progress.ahead import AHEAD, AheadOfClock, AheadOfEarlier, AheadRule
from muntin.operators.progress.progress import Punctuator
from muntin.spark.columns import (
    bound_type,
    column,
    condition,
    named,
    problem,
    quoted,
    to_arrow,
    to_spark,
    watermark_of,
)
from muntin.spark.described import Described, Line
from muntin.spark.exchange.shards import PER_PARTITION
from muntin.spark.requirements import check_stream, partitions, setting
from muntin.spark.scan.choose import InputRows, input_rows
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.axis import Axis
from muntin.specs.disorder import CHOICES, Disorder, Each, Punctuated
from muntin.specs.frames.schemes import Schedule
from muntin.specs.lengths import Duration
from muntin.specs.may_change import MAY_CHANGE


@dataclass(frozen=True, eq=False, repr=False)
class StreamInput(Described):
    """A DataFrame, batch or streaming, with the roles of its columns: the data of a stream.

    :class:`muntin.Stream` adds the methods. ``clock`` is true if a heartbeat is among the control
    rows; ``functions`` are the user's own aggregates by name.
    """

    df: DataFrame = field(metadata=MAY_CHANGE)
    on: str
    by: tuple[str, ...]
    #: Only its kind must not change, which is in the identity of a plan, as is the shard count.
    disorder: Disorder | None = field(default=None, metadata=MAY_CHANGE)
    control: DataFrame | None = field(default=None, metadata=MAY_CHANGE)
    shards: int | None = field(default=None, metadata=MAY_CHANGE)
    clock: bool = field(default=False, metadata=MAY_CHANGE)
    #: Those that are called are among the aggregates.
    functions: Mapping[str, OwnAggregate] = field(default_factory=dict, metadata=MAY_CHANGE)
    schedule: Schedule | None = None
    #: The files that the DataFrame is made of, if workers may read them themselves.
    files: WorkerRows | None = field(default=None, metadata=MAY_CHANGE)

    @property
    def description(self) -> str:
        kind = "stream" if self.df.isStreaming else "batch"
        type_ = self.df.schema[self.on].dataType.simpleString()
        parts = [f"{kind} along {self.on} ({type_})"]
        parts.append(f"by {', '.join(self.by)}" if self.by else "without keys")
        parts += [] if self.disorder is None else [str(self.disorder)]
        parts += [] if self.schedule is None else [str(self.schedule)]
        return ", ".join(parts)

    def shown_lines(self) -> Sequence[Line]:
        roles = {self.on: "on", **dict.fromkeys(self.by, "by")}
        return [
            (field.name, f"{field.dataType.simpleString()} {roles.get(field.name, '')}".rstrip())
            for field in self.df.schema
        ]

    @property
    def scannable(self) -> WorkerRows | None:
        """The files, unless the rows are no longer those of the files: filtered, or with more."""
        return self.files if self.files is not None and self.files.df is self.df else None

    @property
    def shard_count(self) -> int:
        """The number of shards: as given, or one for each partition.

        Spark fixes the partitions of a stream in its checkpoint, so only its tasks know them.
        """
        if self.shards is not None:
            return self.shards
        return PER_PARTITION if self.df.isStreaming else partitions(self.df.sparkSession)

    def check_windowed(self) -> None:
        """Raise if there is neither disorder nor control: no window would ever close."""
        if self.disorder is None and self.control is None:
            reason = "a stream must say how disordered it is, or no window would ever close: "
            watermark = watermark_of(self.df)
            if watermark is not None:
                name, seconds = watermark
                reason = f"withWatermark({name!r}, '{seconds}') is written here as "
                raise ArgumentError(
                    "disorder",
                    None,
                    f"{reason}mt.stream(df, on={name!r}, disorder=mt.slack('{seconds}')); Spark's "
                    f"watermark closes no window of Muntin. All choices: disorder={CHOICES}",
                )
            choices = f"disorder={CHOICES}; or control=mt.control(...) or mt.heartbeat(...)"
            raise ArgumentError("disorder", None, f"{reason}{choices}")

    def check_other(self, role: str) -> None:
        """Raise if this second stream cannot be run; ``role`` says what it does."""
        if self.disorder is None and self.control is None:
            raise ArgumentError(
                "other",
                "a stream",
                f"a stream that {role} must say how disordered it is, or nothing would ever be "
                f"complete: mt.stream(other, on=..., by=..., disorder={CHOICES})",
            )
        self.check_run()

    def check_run(self) -> None:
        """Raise if the disorder needs a clock that no control row brings, or Spark lacks a part."""
        if self.disorder is not None and self.disorder.needs_clock and not self.clock:
            raise ArgumentError(
                "disorder",
                str(self.disorder),
                "nothing tells the stream the time; add control=mt.heartbeat(spark, "
                "every='5 seconds', punctuate=False), or control=[mt.control(...), "
                "mt.heartbeat(...)]",
            )
        told = isinstance(self.disorder, Punctuated) and self.disorder.from_outside
        if told and self.control is None:
            raise ArgumentError(
                "disorder",
                str(self.disorder),
                "nothing punctuates the stream; add control=mt.control(spark, folder) for "
                "mt.punctuate, or a condition on rows that are punctuation",
            )
        check_stream(self.df.sparkSession)


@dataclass(frozen=True, eq=False)
class PlanInput:
    """One input of a plan: what Spark needs to know of it, next to the operator.

    ``name`` is the name of the input in refused rows, and ``typed`` has its rows. A streaming plan
    may have inputs that are ``stored``: batches that are complete when it starts.
    """

    name: str
    typed: TypedInput
    everywhere: bool = False
    stored: bool = False
    may_refuse: bool = False

    def prepared(self, originals: bool) -> DataFrame:
        """Return the columns that travel; with ``originals`` all columns as well."""
        return self.typed.prepared(originals=originals)

    def rows(self, originals: bool) -> InputRows:
        """Return the rows as the map side gets them."""
        return self.typed.rows(originals=originals)

    @property
    def schema(self) -> spark_types.StructType:
        return self.typed.schema

    @property
    def lateness_type(self) -> pa.DataType:
        return self.typed.lateness_type

    @property
    def punctuator(self) -> Punctuator:
        return self.typed.punctuator

    @property
    def axis(self) -> Axis:
        return self.typed.axis

    @property
    def control(self) -> DataFrame | None:
        return self.typed.source.control

    @property
    def refused_schema(self) -> spark_types.StructType:
        """The original columns, why a row was refused, and how late it was."""
        reason = spark_types.StructField("reason", spark_types.StringType())
        lateness = spark_types.StructField("lateness", to_spark(self.lateness_type))
        return spark_types.StructType([*self.schema.fields, reason, lateness])


@dataclass(frozen=True, eq=False)
class TypedInput:
    """Rows of a stream, typed: what travels of them, and the rule of their disorder."""

    source: StreamInput

    @cached_property
    def schema(self) -> spark_types.StructType:
        return self.source.df.schema

    @cached_property
    def axis(self) -> Axis:
        """The line that ``on`` progresses along."""
        raise NotImplementedError

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key columns: rows with different keys never meet."""
        return self.source.by

    @property
    def expressions(self) -> str:
        """The expressions that the user wrote, for the message if Spark cannot evaluate one."""
        return ""

    @property
    def is_streaming(self) -> bool:
        return self.source.df.isStreaming

    def prepared(self, *, originals: bool = False) -> DataFrame:
        """Return what travels: ``on``, the keys and the slots; all columns with ``originals``."""
        return self._with_originals if originals else self._needed

    @cached_property
    def _needed(self) -> DataFrame:
        """What travels without the originals; cached, because Spark analyses it at each use."""
        return self._analysed(self.travelling(originals=False))

    @cached_property
    def _with_originals(self) -> DataFrame:
        return self._analysed(self.travelling(originals=True))

    def rows(self, *, originals: bool = False) -> InputRows:
        """Return who reads the columns that travel, Spark or the workers."""
        return self._all_rows if originals else self._needed_rows

    @cached_property
    def _needed_rows(self) -> InputRows:
        travelling = self.travelling(originals=False)
        return input_rows(self.source.scannable, self._needed, travelling)

    @cached_property
    def _all_rows(self) -> InputRows:
        travelling = self.travelling(originals=True)
        return input_rows(self.source.scannable, self._with_originals, travelling)

    def travelling(self, *, originals: bool) -> list[Travelling]:
        """Return the columns that travel, by name; with ``originals`` all columns as well."""
        names = self.schema.names if originals else ()
        rows = [(f"o{place}", Name(name)) for place, name in enumerate(names)]
        return [*self._selected(), *rows]

    def _selected(self) -> list[Travelling]:
        keys = [(f"k{place}", self._key(name)) for place, name in enumerate(self.keys)]
        rows = [*self._evaluated(), *self._for_the_rule(), *self._for_the_window()]
        return [("on", Name(self.source.on)), *keys, *rows]

    def _evaluated(self) -> list[Travelling]:
        """Return the columns that aggregates read."""
        return []

    def _for_the_rule(self) -> list[Travelling]:
        """Return what only the rule reads: ``p``, the ``v0..`` of ``mt.each``, and ``ahead``."""
        columns = self._for_the_punctuator()
        if isinstance(self.ahead, AheadOfClock):
            columns.append((AHEAD, self._above_the_clock()))
        return columns

    def _above_the_clock(self) -> Expression:
        """Return whether a row lies too far above the time at which its micro-batch began."""
        disorder = self.source.disorder
        assert disorder is not None  # because it has a length ahead
        assert isinstance(disorder.ahead, Duration)  # because the axis is temporal
        seconds = F.lit(Decimal(disorder.ahead.micros).scaleb(-6)).cast("decimal(18, 6)")
        limit = F.current_timestamp() + F.make_dt_interval(secs=seconds)
        return Native(named(self.source.on).cast("timestamp") > limit)

    def _for_the_punctuator(self) -> list[Travelling]:
        match self.source.disorder:
            case Punctuated(where=where):
                return [("p", condition(where))]
            case Each(columns=names):
                return [(f"v{place}", self._key(name)) for place, name in enumerate(names)]
        return []

    def _for_the_window(self) -> list[Travelling]:
        """Return what else an operator reads."""
        return []

    def _row_hash(self) -> Expression:
        """Return a hash of the whole row, the same on any machine, which orders rows that tie."""
        if any(_is_collated(self.schema[name].dataType) for name in self._hashable):
            # Texts that are equal under a collation may have different bytes.
            return Native(F.xxhash64(*map(named, self._hashable)))
        return Sql(f"xxhash64({', '.join(map(quoted, self._hashable))})")

    @cached_property
    def _hashable(self) -> list[str]:
        return [
            field.name
            for field in self.schema.fields
            if "map<" not in field.dataType.simpleString()
            and "variant" not in field.dataType.simpleString()
        ]

    def _key(self, name: str) -> Expression:
        """Return a key column; -0.0 is 0.0 and NaN is one value, as in Spark's GROUP BY."""
        kind = self.schema[name].dataType
        floating = isinstance(kind, spark_types.FloatType | spark_types.DoubleType)
        return KeyOf(name, kind.simpleString()) if floating else Name(name)

    def _analysed(self, travelling: Sequence[Travelling]) -> DataFrame:
        selected = [column(expression).alias(name) for name, expression in travelling]
        try:
            prepared = self.source.df.select(*selected)
            prepared.schema.fieldNames()  # Spark Connect analyses only here
        except AnalysisException as error:
            raise ExpressionError(
                f"Spark cannot evaluate this: {problem(error)}; "
                f"the columns are {', '.join(self.schema.names)}",
                self.expressions,
            ) from error
        return prepared

    @property
    def ansi(self) -> bool:
        """True if arithmetic that leaves its type is an error."""
        return setting(self.source.df.sparkSession, "spark.sql.ansi.enabled", "true") == "true"

    @cached_property
    def key_types(self) -> tuple[pa.DataType, ...]:
        return tuple(to_arrow(self.schema[n].dataType, f"by={n!r}") for n in self.keys)

    @property
    def on_type(self) -> pa.DataType:
        """The type of bounds that lie where values of ``on`` do."""
        return bound_type(self.schema[self.source.on].dataType, self.axis.digits)

    @property
    def lateness_type(self) -> pa.DataType:
        """The type of how late a row came."""
        return pa.duration("us") if self.axis.domain.temporal else self.on_type

    @cached_property
    def ahead(self) -> AheadRule | None:
        """The rule for rows that lie too far ahead; None in a batch, where no row is ahead."""
        disorder = self.source.disorder
        if disorder is None or disorder.ahead is None or not self.is_streaming:
            return None
        if self.axis.domain.temporal:
            return AheadOfClock(self.axis, self.lateness_type)
        most = self.axis.length("ahead", disorder.ahead)
        return AheadOfEarlier(most, self.axis, self.lateness_type)

    def check_ahead(self) -> None:
        """Raise if the column cannot have this length ahead, or the rule cannot judge numbers."""
        disorder = self.source.disorder
        if disorder is None or disorder.ahead is None:
            return
        self.axis.length("ahead", disorder.ahead)
        if not self.axis.domain.temporal and not disorder.judges_numbers:
            raise ArgumentError(
                "ahead",
                str(disorder.ahead),
                f"on numbers ({self.source.on}) rows are judged by the rows of all keys before "
                f"them, which {disorder.order} has not; use mt.slack(length, ahead=...) or "
                "mt.ordered(ahead=...), or leave it out",
            )

    @cached_property
    def punctuator(self) -> Punctuator:
        disorder = self.source.disorder
        names = disorder.columns if isinstance(disorder, Each) else ()
        values = [to_arrow(self.schema[n].dataType, f"each={n!r}") for n in names]
        by = self.key_types[: len(self.source.by)]
        return punctuator(disorder, self.axis, by, values)


def _is_collated(type_: spark_types.DataType) -> bool:
    """Return whether a type has texts that are not compared byte by byte."""
    return " collate " in type_.simpleString()
