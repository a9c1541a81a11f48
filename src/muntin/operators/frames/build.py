"""From a framing and the types of its columns to the operator that finds its frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from muntin.operators.common.forgetting import Forgetting
from muntin.operators.frames.arrow_kind import ArrowKind, FrameOperatorInputs, record_fields
from muntin.operators.frames.held_rows import OverlappingFrames
from muntin.operators.frames.kinds.aggregate import ArrowAggregate
from muntin.operators.frames.kinds.between import ArrowBetween
from muntin.operators.frames.kinds.boundary import ArrowBoundary
from muntin.operators.frames.kinds.delta import ArrowDelta
from muntin.operators.frames.kinds.density import ArrowCluster, ArrowDensity
from muntin.operators.frames.kinds.own import ArrowOwn
from muntin.operators.frames.kinds.pattern import ArrowPattern
from muntin.operators.frames.kinds.region import ArrowRegion
from muntin.operators.frames.kinds.threshold import ArrowThreshold
from muntin.operators.frames.kinds.trend import ArrowTrend, ArrowTrendRuns
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import Missing, Ties
from muntin.operators.frames.sequencer import Slots
from muntin.specs.axis import Axis
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import (
    AggregateCondition,
    Between,
    Boundary,
    Crossing,
    Delta,
    Threshold,
    Trend,
    TrendRuns,
)
from muntin.specs.frames.own_function import OwnKind
from muntin.specs.frames.pattern import Pattern
from muntin.specs.frames.row_kinds import Cluster, Density, Region

#: The class of each kind of frame on Arrow columns.
KINDS: dict[type[FrameKind], type[ArrowKind]] = {
    Threshold: ArrowThreshold,
    Boundary: ArrowBoundary,
    Delta: ArrowDelta,
    Crossing: ArrowAggregate,
    AggregateCondition: ArrowAggregate,
    Trend: ArrowTrend,
    TrendRuns: ArrowTrendRuns,
    Between: ArrowBetween,
    Density: ArrowDensity,
    Cluster: ArrowCluster,
    Region: ArrowRegion,
    Pattern: ArrowPattern,
    OwnKind: ArrowOwn,
}


def build(framing: Framing, inputs: FrameOperatorInputs) -> FrameOperator | Forgetting:
    """Return the operator of a framing; raise if a type is not supported."""
    plain = build_framer(framing, inputs)
    if framing.forget is None:
        return plain
    lives = replace(inputs, keys=(*inputs.keys, pa.int64()))
    gap = inputs.axis.length("forget", framing.forget)
    inside = replace(build_framer(framing, lives), buckets=1)
    return Forgetting(plain, inside, len(inputs.keys), inputs.axis, gap)


def build_framer(framing: Framing, inputs: FrameOperatorInputs) -> FrameOperator:
    """Return the operator that finds the frames of keys that are never forgotten."""
    kind = KINDS[type(framing.kind)].of(framing, inputs)
    missing: Missing = inputs.bridge if inputs.bridge is not None else framing.missing
    slots = None
    if framing.schedule is not None:
        slots = Slots(framing.schedule.period(inputs.axis), framing.schedule.start(inputs.axis))
    operator, more = kind.own_operator(framing, inputs) or _usual_operator(framing, inputs.axis)
    built: FrameOperator = operator(
        axis=inputs.axis,
        keys=inputs.keys,
        calls=inputs.calls,
        bound_type=inputs.bound_type,
        lateness_type=inputs.lateness_type,
        kind=kind,
        record_fields=record_fields(framing, inputs.axis, kind),
        missing=missing,
        ties=Ties(str(framing.ties), inputs.ties),
        slots=slots,
        longest=framing.longest,
        combined=inputs.combined,
        **more,
    )
    return built


def _usual_operator(framing: Framing, axis: Axis) -> tuple[type[FrameOperator], dict[str, Any]]:
    """Return the operator of kinds without one of their own, for frames that overlap or do not."""
    if not framing.overlapping:
        return FrameOperator, {}
    scheme = framing.scheme
    overlap = 0 if scheme.overlap is None else axis.length("overlap", scheme.overlap)
    # A cover to which no frame can be added has all frames, and so has restart='continue'.
    every_frame = scheme.fill == "saturated" or framing.kind.continues
    name = "unconstrained" if every_frame else scheme.name
    return OverlappingFrames, {"scheme": name, "overlap": overlap}
