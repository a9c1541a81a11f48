"""Windows over a stream, waiting for what to compute in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError
from muntin.spark.api.segments import Segments
from muntin.spark.explain.windows import explanation, measure
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.window_tags import bucketed
from muntin.spark.plan.windows import AnySpec, WindowDetails, WindowPlan
from muntin.specs.row_windows import RowWindow
from muntin.specs.windows import Unfinished


@dataclass(frozen=True, eq=False)
class Windowed(Segments):
    """Windows over a stream, waiting for what to compute in them."""

    spec: AnySpec
    unfinished: Unfinished
    details: WindowDetails = field(default_factory=WindowDetails)

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

    def explain(self, *aggregates: str | Aggregate, measured: bool = False) -> None:
        """Print panes, shards, state and cost; with ``measured`` look at some of the rows."""
        plan = self.plan(*(aggregates or ("count(*)",)))
        if measured and plan.is_streaming:
            raise ArgumentError("measured", True, "only a batch DataFrame can be looked at ahead")
        assert isinstance(plan.compiled, WindowPlan)
        found = measure(plan.compiled) if measured else None
        print(explanation(plan.compiled, streaming=plan.is_streaming, measured=found))

    def compiled(self, columns: Sequence[Column]) -> WindowPlan:
        return WindowPlan(
            self.source, self.spec, tuple(columns), self.unfinished, self.prefix, self.details
        )

    @property
    def needs_disorder(self) -> bool:
        """Rows ranked by arrival are final when they arrive."""
        return not (isinstance(self.spec, RowWindow) and self.spec.order == "arrival")
