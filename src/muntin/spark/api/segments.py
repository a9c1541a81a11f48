"""A stream cut into windows or frames, waiting for what to compute in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.parse import Column, parse_column
from muntin.errors import ArgumentError
from muntin.operators.fill.user_function import Function
from muntin.spark.api.disorder_checks import check_clock
from muntin.spark.columns import text_of
from muntin.spark.plan.inputs import Source
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.requirements import check_stream
from muntin.specs.disorder import CHOICES
from muntin.specs.fill import Empty, Filling

if TYPE_CHECKING:
    from muntin.spark.api.fill import Filled
    from muntin.spark.api.stream import Stream
    from muntin.spark.plan.second_input import Key


@dataclass(frozen=True, eq=False)
class Segments:
    """What windows and frames have in common: a source, and aggregates to be named."""

    source: Source
    prefix: str

    @property
    def needs_disorder(self) -> bool:
        """Whether a stream has to say how disordered it is."""
        return True

    def compiled(self, columns: Sequence[Column]) -> WindowPlan:
        """The segments with some result columns, typed."""
        raise NotImplementedError

    def fill(
        self,
        other: DataFrame | Stream | None = None,
        on: str | None = None,
        key: Key = None,
        *,
        before: object = None,
        after: object = None,
        shrink: object = None,
        shift: object = None,
        where: str | SparkColumn | None = None,
        empty: Empty = "keep",
    ) -> Filled:
        """Fill frames or windows with the rows of another stream or table.

        A row fills a frame when its key matches and it lies between ``frame_start`` and
        ``frame_end``, both inside (neither for liberal bounds; only ``frame_start`` where a row
        holds until the next). It fills a window when it lies in ``[window_start, window_end)``. A
        result comes when its bounds are final and all rows that may fill it are there; with
        fragments each of them does, with all that fills the frame so far.

        Args:
            other: The rows: what ``mt.stream`` returns, a batch DataFrame, or nothing for the
                stream's own rows.
            on: Their column that progresses, unless it has the name that it has here.
            key: The columns that match the keys here: nothing where they have the same names,
                ``"router_id"``, a list in the order of ``by``, ``{"router": "router_id"}`` for
                some of them, or ``()``: every frame sees all rows.
            before: So much before the start belongs to it.
            after: So much after the end belongs to it.
            shrink: So much at both ends does not belong to it.
            shift: Fill from another time, such as ``"-7 days"``; of several in a list each has a
                result of its own, told apart by the column ``shift``.
            where: Only rows for which this holds fill.
            empty: ``"keep"`` what no row fills, or ``"drop"`` it.
        """
        from muntin.spark.api.fill import filled  # which makes plans of what is segmented

        return filled(self, other, on, key, where, Filling(before, after, shrink, shift, empty))

    def apply(self, function: Function, schema: str | StructType) -> DataFrame:
        """A function of your own over the rows in each frame or window (a windowed map).

        As ``fill().apply(function, schema)``: the stream is read once for its bounds and once for
        the rows in them. The function is called with an Arrow table, the rows in their order, and
        returns a mapping with a value for each column of the schema, which is DDL text.
        """
        return self.fill().apply(function, schema)

    def _planned(self, aggregates: Sequence[str | Aggregate]) -> Plan:
        functions = self.source.functions
        columns = tuple(self.column(aggregate, functions) for aggregate in aggregates)
        compiled = self.compiled(columns)
        compiled.naming.check()
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
