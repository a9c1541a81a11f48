"""A stream cut into windows or frames, waiting for what to compute in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.own import OwnAggregate
from muntin.aggregates.text import Column, parse_column
from muntin.semantics.disorder import CHOICES
from muntin.semantics.errors import ArgumentError
from muntin.spark.compile import Compiled, Source
from muntin.spark.disorder import check_clock
from muntin.spark.expressions import text_of
from muntin.spark.plan import Plan
from muntin.spark.requirements import check_stream


@dataclass(frozen=True, eq=False)
class Segmented:
    """What windows and frames have in common: a source, and aggregates to be named."""

    source: Source
    prefix: str

    @property
    def needs_disorder(self) -> bool:
        """Whether a stream has to say how disordered it is."""
        return True

    def compiled(self, columns: Sequence[Column]) -> Compiled:
        """The segments with some result columns, typed."""
        raise NotImplementedError

    def _planned(self, aggregates: Sequence[str | Aggregate]) -> Plan:
        functions = self.source.functions
        columns = tuple(self.column(aggregate, functions) for aggregate in aggregates)
        compiled = self.compiled(columns)
        compiled.check_names()
        compiled.operator.result_schema  # noqa: B018  (a type that does not suit is said here)
        compiled.punctuator  # noqa: B018  (and an expected value that does not)
        if self.source.df.isStreaming:
            self.check_stream()
        return Plan(compiled)

    def column(self, given: object, functions: Mapping[str, OwnAggregate]) -> Column:
        """A result column from what the user wrote; ``functions`` are the user's own."""
        if isinstance(given, Aggregate):
            return Column(given.column_name, (given,))
        if isinstance(given, str):
            plain = self.compiled(())
            bounds = [self.prefix + bound for bound in plain.bounds]
            return parse_column(given, [*plain.keys, *bounds], functions)
        if isinstance(given, SparkColumn):
            raise ArgumentError(
                "aggregates",
                given,
                f"a PySpark aggregate is not Muntin's; write {text_of(given)!r} as text",
            )
        raise ArgumentError(
            "aggregates", given, "write SQL text such as 'max(speed) AS hi', or mt.max('speed')"
        )

    def check_stream(self) -> None:
        """Refuse a stream that would never know what is complete."""
        source = self.source
        if source.disorder is None and source.control is None and self.needs_disorder:
            raise ArgumentError(
                "disorder",
                None,
                "a stream must say how disordered it is, or no window would ever close: "
                f"disorder={CHOICES}; or control=mt.control(...) or mt.heartbeat(...)",
            )
        check_clock(source.disorder, source.clock)
        check_stream(source.df.sparkSession)
