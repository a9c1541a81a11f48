"""Windows over a stream: ``stream.window(...)`` and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError
from muntin.spark.api.plan import AggregatedResult, Plan
from muntin.spark.api.segments import Segments
from muntin.spark.explain.explanation import explained, measure
from muntin.spark.plan.window_ids import rows_with_windows
from muntin.spark.plan.windows import AnySpec, WindowDetails, WindowPlan
from muntin.specs.windows import Unfinished


@dataclass(frozen=True, eq=False)
class Windowed(AggregatedResult, Segments):
    """Windows over a stream, in which aggregates are computed."""

    spec: AnySpec
    unfinished: Unfinished
    details: WindowDetails = field(default_factory=WindowDetails)

    def plan(self, *aggregates: str | Aggregate | Column) -> Plan:
        """Return the same as :meth:`agg`, but a plan: for :func:`muntin.write`, refused rows."""
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, such as 'count(*) AS n'")
        return self._checked_plan(aggregates)

    def rows(self, *, explode: bool = False) -> DataFrame:
        """Return every input row with ``first_wid`` and ``last_wid``, the windows it is in.

        For windows over values, whose edges are known ahead of the rows. Rows in no window (no
        ``on``, before the origin, between windows) have null there. ``explode=True`` gives one
        row per row and window, with ``wid``, ``window_start`` and ``window_end``. Works on
        streams without any state.
        """
        return rows_with_windows(self.bare, explode=explode)

    def explain(self, *aggregates: str | Aggregate, measured: bool = False) -> None:
        """Print panes, shards, state and cost; with ``measured`` look at some of the rows."""
        plan = self.plan(*(aggregates or ("count(*)",)))
        if measured and plan.is_streaming:
            raise ArgumentError("measured", True, "only a batch DataFrame can be looked at ahead")
        assert isinstance(plan.parts, WindowPlan)
        print(explained(plan.parts, measure(plan.parts) if measured else None))

    def plan_of(self, columns: Sequence[Column]) -> WindowPlan:
        return WindowPlan(
            self.source, self.spec, tuple(columns), self.unfinished, self.prefix, self.details
        )


Windows = Windowed
"""Another name of :class:`Windowed`."""
