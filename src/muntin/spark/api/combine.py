"""Several plans over the same frames or windows, computed in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muntin.errors import ArgumentError
from muntin.spark.api.plan import Plan
from muntin.spark.api.segments import fill_plan
from muntin.spark.plan.early import EarlyPlan
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.fill_from_table import TableFillPlan
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.windows import WindowPlan


def combine(*plans: Plan) -> Plan:
    """Combine plans over the same frames or windows into one plan with all their columns.

    ``frames.plan("avg(speed) AS now")`` and
    ``frames.fill(history, shift="-7 days").plan("avg(speed) AS then")`` together give one row per
    frame with both. The rows that frames are found in are read once, and a frame is reported when
    everything that fills it is complete.
    """
    if not plans or not all(isinstance(plan, Plan) for plan in plans):
        raise ArgumentError("plans", plans, "they are what .plan(...) returns, at least one")
    if any(isinstance(plan.parts, EarlyPlan) for plan in plans):
        reason = "plans are combined when their frames or windows are final; give them no emit="
        raise ArgumentError("emit", "early", reason)
    parts = [_part(plan) for plan in plans]
    plain = [part.plain if isinstance(part, FillPlan) else part for part in parts]
    first = plain[0]
    if not isinstance(first, WindowPlan) or not all(_same(first, other) for other in plain):
        raise ArgumentError(
            "plans",
            [plan.name for plan in plans],
            "they have to be over the same frames or windows of the same stream",
        )
    own = [column for part in plain if isinstance(part, WindowPlan) for column in part.columns]
    base = replace(first, columns=tuple(own))
    sources = [s for part in parts if isinstance(part, FillPlan) for s in part.sources]
    if not sources:
        return Plan.checked(base)
    _check_shifts([source.filling.shifts for source in sources if source.filling.compares])
    if any(source.whole_rows for source in sources):
        raise ArgumentError(
            "plans", "rows_plan()", "rows and functions cannot be combined with aggregates"
        )
    return fill_plan(FillPlan(base, tuple(sources)))


def _part(plan: Plan) -> PlanParts:
    return plan.parts.filled if isinstance(plan.parts, TableFillPlan) else plan.parts


def _same(first: WindowPlan, other: object) -> bool:
    """True if two plans have the same segments."""
    if not isinstance(other, WindowPlan) or type(first) is not type(other):
        return False
    here, there = first.source, other.source
    sources = here.df is there.df and (here.on, here.by) == (there.on, there.by)
    rules = here.disorder == there.disorder and here.control is there.control
    windows = (first.spec, first.unfinished, first.prefix) == (
        other.spec,
        other.unfinished,
        other.prefix,
    )
    return sources and rules and windows


def _check_shifts(shifts: Sequence[object]) -> None:
    if any(shift != shifts[0] for shift in shifts):
        raise ArgumentError(
            "shift", [str(shift) for shift in shifts], "several fillings share one list of shifts"
        )
