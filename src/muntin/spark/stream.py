"""``mt.stream``: a DataFrame described as a stream, and the windows over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.text import Column, parse_column
from muntin.semantics.disorder import CHOICES, Disorder
from muntin.semantics.errors import ArgumentError, UnknownColumnError
from muntin.semantics.window import (
    Landmark,
    Unfinished,
    Window,
    WindowSpec,
    column_name,
    unfinished_policy,
)
from muntin.spark.buckets import bucketed
from muntin.spark.compile import Compiled, Source
from muntin.spark.disorder import check_clock, checked_control, checked_disorder
from muntin.spark.explain import explanation, measure
from muntin.spark.plan import Plan
from muntin.spark.requirements import check_stream, setting
from muntin.spark.types import progressing

#: Shards of a streaming query. A constant rather than the number of cores, because the state is
#: kept by shard and must be found again on a machine with more or fewer cores.
DEFAULT_SHARDS = 16


@dataclass(frozen=True, eq=False)
class Stream:
    """A DataFrame, batch or streaming, with the roles of its columns. Nothing runs."""

    df: DataFrame
    on: str
    by: tuple[str, ...]
    disorder: Disorder | None
    control: DataFrame | None
    shards: int | None
    clock: bool = False

    def window(
        self,
        range: object,
        slide: object,
        origin: object = None,
        *,
        unfinished: Unfinished = "keep",
        prefix: str = "",
    ) -> Windowed:
        """Sliding windows ``[end - range, end)``, one every ``slide``.

        A slide that does not divide the range and a slide longer than the range both work.
        ``unfinished`` says what happens at the end of input to windows that end beyond the data:
        keep them, drop them, or flag them in a column ``complete``.
        """
        return self._windowed(Window(range, slide, self.on, origin), unfinished, prefix)

    def tumbling(
        self,
        length: object,
        origin: object = None,
        *,
        unfinished: Unfinished = "keep",
        prefix: str = "",
    ) -> Windowed:
        """Windows one after the other: every row lies in exactly one."""
        return self._windowed(Window.tumbling(length, self.on, origin), unfinished, prefix)

    def landmark(
        self,
        slide: object,
        origin: object = None,
        *,
        unfinished: Unfinished = "keep",
        prefix: str = "",
    ) -> Windowed:
        """Windows that all start at ``origin`` and end one ``slide`` later each."""
        return self._windowed(Landmark(slide, self.on, origin), unfinished, prefix)

    def _windowed(self, spec: WindowSpec, unfinished: Unfinished, prefix: str) -> Windowed:
        if not isinstance(prefix, str):
            raise ArgumentError("prefix", prefix, "it must be text such as 'mt_'")
        windowed = Windowed(self, spec, unfinished_policy(unfinished), prefix)
        windowed.compiled(()).operator  # noqa: B018  (a length that does not suit is said here)
        return windowed


@dataclass(frozen=True, eq=False)
class Windowed:
    """Windows over a stream, waiting for what to compute in them."""

    stream: Stream
    spec: WindowSpec
    unfinished: Unfinished
    prefix: str

    def agg(self, *aggregates: str | Aggregate) -> DataFrame:
        """Aggregates per key and window, as an ordinary Spark DataFrame.

        The ``by`` columns, ``window_start``, ``window_end``, then one column per aggregate:
        SQL text (``"max(speed) AS hi"``) or ``mt.*`` functions.
        """
        return self.plan(*aggregates).df

    def plan(self, *aggregates: str | Aggregate) -> Plan:
        """As :meth:`agg`, but a plan: for :func:`muntin.write` and for refused rows."""
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, such as 'count(*) AS n'")
        columns = tuple(self._column(aggregate) for aggregate in aggregates)
        compiled = self.compiled(columns)
        compiled.check_names()
        compiled.operator.panes.accumulators  # noqa: B018  (a type that does not suit is said here)
        compiled.punctuator  # noqa: B018  (and an expected value that does not)
        if self.stream.df.isStreaming:
            self._check_stream()
        return Plan(compiled, self.stream.control)

    def rows(self, *, explode: bool = False) -> DataFrame:
        """Every input row with ``first_wid`` and ``last_wid``, the windows it belongs to.

        Rows in no window (no ``on``, before the origin, between windows) have null there.
        ``explode=True`` gives one row per row and window, with ``wid``, ``window_start`` and
        ``window_end``. Works on streams without any state.
        """
        return bucketed(self.compiled(()), explode=explode)

    def explain(self, *aggregates: str | Aggregate, measured: bool = False) -> None:
        """Print panes, shards, state and cost; with ``measured`` look at some of the rows."""
        plan = self.plan(*(aggregates or ("count(*)",)))
        if measured and plan.is_streaming:
            raise ArgumentError("measured", True, "only a batch DataFrame can be looked at ahead")
        found = measure(plan.compiled) if measured else None
        print(explanation(plan.compiled, streaming=plan.is_streaming, measured=found))

    def compiled(self, columns: Sequence[Column]) -> Compiled:
        stream = self.stream
        source = Source(stream.df, stream.on, stream.by, stream.disorder, self._shards())
        return Compiled(source, self.spec, tuple(columns), self.unfinished, self.prefix)

    def _shards(self) -> int:
        if self.stream.shards is not None:
            return self.stream.shards
        if self.stream.df.isStreaming:
            return DEFAULT_SHARDS
        return int(setting(self.stream.df.sparkSession, "spark.sql.shuffle.partitions", "200"))

    def _column(self, given: object) -> Column:
        if isinstance(given, Aggregate):
            return Column(given.column_name, (given,))
        if isinstance(given, str):
            bounds = (self.prefix + "window_start", self.prefix + "window_end")
            return parse_column(given, [*self.stream.by, *bounds])
        if isinstance(given, SparkColumn):
            text = str(given).removeprefix("Column<'").removesuffix("'>")
            raise ArgumentError(
                "aggregates", given, f"a PySpark aggregate is not Muntin's; write {text!r} as text"
            )
        raise ArgumentError(
            "aggregates", given, "write SQL text such as 'max(speed) AS hi', or mt.max('speed')"
        )

    def _check_stream(self) -> None:
        if self.stream.disorder is None and self.stream.control is None:
            raise ArgumentError(
                "disorder",
                None,
                "a stream must say how disordered it is, or no window would ever close: "
                f"disorder={CHOICES}; or control=mt.control(...) or mt.heartbeat(...)",
            )
        check_clock(self.stream.disorder, self.stream.clock)
        check_stream(self.stream.df.sparkSession)


def stream(
    df: DataFrame,
    on: str,
    by: str | Sequence[str] | None = None,
    disorder: Disorder | None = None,
    *,
    control: DataFrame | Sequence[DataFrame] | None = None,
    shards: int | None = None,
) -> Stream:
    """Describe a DataFrame, batch or streaming, as a stream.

    Args:
        df: Any Spark DataFrame.
        on: The column that progresses: timestamp (with or without zone), date, integer,
            decimal or double.
        by: The column or columns that windows are made for separately; none means one for all.
        disorder: How much disorder a streaming DataFrame has: ``mt.ordered()``,
            ``mt.slack("10 seconds")``, ``mt.slack(rows=100)``, ``mt.punctuated("condition")``,
            ``mt.per_key("10 seconds")``, ``mt.each("sensor", "10 seconds")`` or
            ``mt.per_partition()``. A batch needs none: no row is late in it.
        control: The rows of ``mt.control(spark, folder)``, with which a running stream can be
            told that it is complete up to a point, or over; those of ``mt.heartbeat(spark)``,
            which tell it the time; or a list of both.
        shards: How many parts the state of a streaming query has; at least the number of cores
            that should work on it. It stays with the checkpoint.
    """
    if not hasattr(df, "isStreaming"):
        raise ArgumentError("df", df, "it must be a Spark DataFrame")
    keys = _keys(by)
    for argument, name in [("on", column_name("on", on)), *(("by", key) for key in keys)]:
        if name not in df.columns:
            raise UnknownColumnError(argument, name, df.columns)
    if len(set(keys)) != len(keys):
        raise ArgumentError("by", by, "it names a column twice")
    progressing(df.schema[on].dataType, on)
    if shards is not None and not (type(shards) is int and shards > 0):
        raise ArgumentError("shards", shards, "it must be a whole number above zero")
    told, clock = checked_control(control, df, on)
    return Stream(df, on, keys, checked_disorder(disorder, df, keys), told, shards, clock)


def _keys(by: str | Sequence[str] | None) -> tuple[str, ...]:
    if by is None:
        return ()
    given = (by,) if isinstance(by, str) else by
    if not isinstance(given, Sequence):
        raise ArgumentError("by", by, "it must be a column name or several")
    return tuple(column_name("by", name) for name in given)
