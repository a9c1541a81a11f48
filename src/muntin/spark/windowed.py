"""Windows over a stream, waiting for what to compute in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.text import Column, parse_column
from muntin.semantics.disorder import CHOICES
from muntin.semantics.errors import ArgumentError
from muntin.semantics.sequence import RowWindow
from muntin.semantics.window import Unfinished
from muntin.spark.buckets import bucketed
from muntin.spark.compile import AnySpec, Compiled, Details, Source
from muntin.spark.disorder import check_clock
from muntin.spark.explain import explanation, measure
from muntin.spark.expressions import text_of
from muntin.spark.plan import Plan
from muntin.spark.requirements import check_stream


@dataclass(frozen=True, eq=False)
class Windowed:
    """Windows over a stream, waiting for what to compute in them."""

    source: Source
    spec: AnySpec
    unfinished: Unfinished
    prefix: str
    details: Details = field(default_factory=Details)

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
        compiled.operator.result_schema  # noqa: B018  (a type that does not suit is said here)
        compiled.punctuator  # noqa: B018  (and an expected value that does not)
        if self.source.df.isStreaming:
            self._check_stream()
        return Plan(compiled)

    def rows(self, *, explode: bool = False) -> DataFrame:
        """Every input row with ``first_wid`` and ``last_wid``, the windows it belongs to.

        For windows over values, whose edges are known ahead of the rows. Rows in no window (no
        ``on``, before the origin, between windows) have null there. ``explode=True`` gives one
        row per row and window, with ``wid``, ``window_start`` and ``window_end``. Works on
        streams without any state.
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
        return Compiled(
            self.source, self.spec, tuple(columns), self.unfinished, self.prefix, self.details
        )

    def _column(self, given: object) -> Column:
        if isinstance(given, Aggregate):
            return Column(given.column_name, (given,))
        if isinstance(given, str):
            plain = self.compiled(())
            bounds = [self.prefix + bound for bound in plain.bounds]
            return parse_column(given, [*plain.keys, *bounds], self.source.functions)
        if isinstance(given, SparkColumn):
            raise ArgumentError(
                "aggregates",
                given,
                f"a PySpark aggregate is not Muntin's; write {text_of(given)!r} as text",
            )
        raise ArgumentError(
            "aggregates", given, "write SQL text such as 'max(speed) AS hi', or mt.max('speed')"
        )

    def _check_stream(self) -> None:
        source = self.source
        at_once = isinstance(self.spec, RowWindow) and self.spec.order == "arrival"
        if source.disorder is None and source.control is None and not at_once:
            raise ArgumentError(
                "disorder",
                None,
                "a stream must say how disordered it is, or no window would ever close: "
                f"disorder={CHOICES}; or control=mt.control(...) or mt.heartbeat(...)",
            )
        check_clock(source.disorder, source.clock)
        check_stream(source.df.sparkSession)
