"""Which operator makes which windows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from muntin.aggregates.binding import Call
from muntin.operators.cuts import Cut, RankCut, SlideCut, TupleCut
from muntin.operators.landmark_cut import LandmarkCut
from muntin.operators.ordered import Ordered
from muntin.operators.protocol import Operator
from muntin.operators.sessions import Sessions
from muntin.operators.windows import Windows
from muntin.semantics.axis import Axis
from muntin.semantics.disorder import Late
from muntin.semantics.sequence import (
    Landmarks,
    RowWindow,
    SequenceSpec,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.semantics.window import Landmark, Unfinished, Window, WindowSpec

#: Live state is cut into about this many buckets, so that a micro-batch rewrites little of it.
_BUCKETS = 16


@dataclass(frozen=True)
class Typed:
    """Axis, types and policies: what an operator is made of, beside its windows.

    ``behind`` is how far punctuation follows the rows, in ticks.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    ranked_keys: int
    calls: tuple[Call, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    late: Late
    unfinished: Unfinished
    behind: int
    slide_axis: Axis | None
    ties: tuple[pa.DataType, ...]
    own_gap: bool


def build(spec: WindowSpec | SequenceSpec, typed: Typed) -> Operator:
    """The operator of a specification."""
    match spec:
        case Window() | Landmark():
            return _windows(spec, typed)
        case Session():
            return _sessions(spec, typed)
        case _:
            return _ordered(spec, typed)


def _windows(spec: WindowSpec, typed: Typed) -> Windows:
    edges = spec.edges(typed.axis)
    reach = max(edges.range, edges.slide, typed.behind)
    panes = max(1, reach * edges.panes_per_slide // edges.slide)
    return Windows(
        axis=typed.axis,
        edges=edges,
        keys=typed.keys,
        calls=typed.calls,
        bound_type=typed.bound_type,
        late=typed.late,
        unfinished=typed.unfinished,
        panes_per_bucket=max(1, panes // _BUCKETS),
    )


def _sessions(spec: Session, typed: Typed) -> Sessions:
    gap = None if spec.gap is None else typed.axis.length("gap", spec.gap)
    return Sessions(
        axis=typed.axis,
        keys=typed.keys,
        calls=typed.calls,
        gap=gap,
        bound_type=typed.bound_type,
        lateness_type=typed.lateness_type,
        ticks_per_bucket=max(1, (gap or 0), typed.behind),
    )


def _ordered(spec: RowWindow | TupleWindow | SlideOnWindow | Landmarks, typed: Typed) -> Ordered:
    points = spec.points(typed.axis) if isinstance(spec, Landmarks) else ()
    return Ordered(
        axis=typed.axis,
        keys=typed.keys,
        ranked_keys=typed.ranked_keys,
        calls=typed.calls,
        cut=_cut(spec, typed),
        bound_type=typed.bound_type,
        lateness_type=typed.lateness_type,
        order=spec.order if isinstance(spec, RowWindow | TupleWindow) else "on",
        by_rank=isinstance(spec, RowWindow),
        unfinished=typed.unfinished,
        origin=points[0] if points else None,
        ties=typed.ties,
        ticks_per_bucket=max(1, typed.behind // _BUCKETS),
    )


def _cut(spec: RowWindow | TupleWindow | SlideOnWindow | Landmarks, typed: Typed) -> Cut:
    axis = typed.axis
    match spec:
        case RowWindow(within=within):
            return RankCut(
                spec.edges, axis, None if within is None else axis.length("within", within)
            )
        case TupleWindow():
            return TupleCut(axis.length("range", spec.range), spec.every, axis)
        case Landmarks(slide=slide):
            every = None if slide is None else axis.length("slide", slide)
            return LandmarkCut(spec.points(axis), every, axis)
        case SlideOnWindow():
            assert typed.slide_axis is not None
            other = typed.slide_axis
            step = other.length("slide", spec.slide)
            origin = spec.slide_origin(other)
            return SlideCut(axis.length("range", spec.range), axis, step, origin, other)
