"""Windows over a stream, waiting for what to compute in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.text import Column
from muntin.semantics.errors import ArgumentError
from muntin.semantics.filling import Empty, Filling
from muntin.semantics.sequence import RowWindow
from muntin.semantics.window import Unfinished
from muntin.spark.buckets import bucketed
from muntin.spark.compile import AnySpec, Compiled, Details
from muntin.spark.explain import explanation, measure
from muntin.spark.filled import Filled, Key, filled
from muntin.spark.plan import Plan
from muntin.spark.segmented import Segmented

if TYPE_CHECKING:
    from muntin.spark.stream import Stream


@dataclass(frozen=True, eq=False)
class Windowed(Segmented):
    """Windows over a stream, waiting for what to compute in them."""

    spec: AnySpec
    unfinished: Unfinished
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
        return self._planned(aggregates)

    def rows(self, *, explode: bool = False) -> DataFrame:
        """Every input row with ``first_wid`` and ``last_wid``, the windows it belongs to.

        For windows over values, whose edges are known ahead of the rows. Rows in no window (no
        ``on``, before the origin, between windows) have null there. ``explode=True`` gives one
        row per row and window, with ``wid``, ``window_start`` and ``window_end``. Works on
        streams without any state.
        """
        return bucketed(self.compiled(()), explode=explode)

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
        """Fill windows with rows of another stream or table.

        Rows fill a window when their key matches and they lie in ``[window_start,
        window_end)``. Windows are those of this stream that hold a row; one is reported when it is
        closed and all rows that may fill it are there.

        Args:
            other: The rows: what ``mt.stream`` returns, a batch DataFrame, or nothing for the
                stream's own rows.
            on: Their column that progresses, unless it has the name that it has here.
            key: The columns that match the keys here: nothing where they have the same names,
                ``"router_id"``, a list in the order of ``by``, ``{"router": "router_id"}`` for
                some of them, or ``()``: every window sees all rows.
            before: So much before the start belongs to it.
            after: So much after the end belongs to it.
            shrink: So much at both ends does not belong to it.
            shift: Fill from another time, such as ``"-7 days"``; of several in a list each has a
                result of its own, told apart by the column ``shift``.
            where: Only rows for which this holds fill.
            empty: ``"keep"`` windows without rows, or ``"drop"`` them.
        """
        filling = Filling(before, after, shrink, shift, empty)
        return filled(self, other, on, key, where, filling)

    def explain(self, *aggregates: str | Aggregate, measured: bool = False) -> None:
        """Print panes, shards, state and cost; with ``measured`` look at some of the rows."""
        plan = self.plan(*(aggregates or ("count(*)",)))
        if measured and plan.is_streaming:
            raise ArgumentError("measured", True, "only a batch DataFrame can be looked at ahead")
        assert isinstance(plan.compiled, Compiled)
        found = measure(plan.compiled) if measured else None
        print(explanation(plan.compiled, streaming=plan.is_streaming, measured=found))

    def compiled(self, columns: Sequence[Column]) -> Compiled:
        return Compiled(
            self.source, self.spec, tuple(columns), self.unfinished, self.prefix, self.details
        )

    @property
    def needs_disorder(self) -> bool:
        """Rows ranked by arrival are final when they arrive."""
        return not (isinstance(self.spec, RowWindow) and self.spec.order == "arrival")
