"""What looking for frames will do and cost, in words."""

from __future__ import annotations

from muntin.operators.frames.kinds.aggregate import AggregateRowByRow
from muntin.operators.frames.overlapping import OverlappingFrames
from muntin.spark.explain.shared import PENDING, OrderedExplanation, ordered_explanation
from muntin.spark.explain.state import KeptPart
from muntin.spark.plan.frames import FramePlan
from muntin.specs.frames.framing import Framing


def frames_explanation(
    compiled: FramePlan, disorder: str | None = None, *, streaming: bool
) -> OrderedExplanation:
    framing = compiled.framing
    slower = []
    if isinstance(compiled.operator, AggregateRowByRow):
        slower = ["decided     row by row in Python, which is slower than what kernels know"]
    return ordered_explanation(
        compiled,
        f"frames      {framing}",
        f"scheme      {framing.scheme}, {framing.kind.span}{_walked(compiled, streaming)}",
        *slower,
        order=f"by {framing.on}",
        disorder=disorder,
        state=_state(compiled) if streaming else None,
    )


def _walked(compiled: FramePlan, streaming: bool) -> str:
    """What frames that overlap cost: how often their rows are looked at."""
    if not isinstance(compiled.operator, OverlappingFrames):
        return ""
    if compiled.operator.in_one_pass:
        return "; all frames are found in one pass"
    again = ", again in every micro-batch until it is over" if streaming else ""
    return f"; every frame is walked from its first row{again}"


def _state(compiled: FramePlan) -> str:
    """What a stream keeps, and whether that is bounded."""
    framing = compiled.framing
    held, bounded = _held(framing)
    if isinstance(compiled.operator, AggregateRowByRow):
        held = f"{held} with a partial row of the aggregate that decides"
    kept = KeptPart(compiled.operator.contents.cells.accumulators, "frame")
    said = "bounded" if bounded else "not bounded"
    parts = f"{PENDING}, and {held}"
    if compiled.columns:
        each = f"the aggregates of each open frame, {kept.size} each{kept.more}"
        parts = f"{PENDING}, {held}, and {each}"
    unbounded = compiled.columns and not kept.bounded and not framing.overlapping
    said = "frames are bounded, what they keep is not" if unbounded else said
    return f"{said}: {parts}"


def _held(framing: Framing) -> tuple[str, bool]:
    """What is kept of each key, and whether there is an end to it."""
    record = "a record for every key"
    rows = framing.kind.held_rows(framing)
    if rows is not None:
        return f"{record} with {rows[0]}", rows[1]
    if not framing.overlapping:
        return record, True
    held = f"{record} with the rows since the oldest open frame began"
    if framing.scheme.name == "adjacent":
        return f"{held} (where the next one starts is known only when it ends)", False
    if framing.max_duration is None and framing.max_count is None:
        return f"{held} (with max_duration or max_count they end)", False
    return held, True
