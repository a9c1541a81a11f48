"""Build the operator of a window specification."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from muntin.aggregates.bind import synopses
from muntin.aggregates.definition import AggregateCall
from muntin.errors import ArgumentError
from muntin.operators.protocol import Operator
from muntin.operators.rows.cut import Cut, RankCut, SlideCut, TupleCut
from muntin.operators.rows.cut_landmarks import LandmarkCut
from muntin.operators.rows.cut_values import ValueCut
from muntin.operators.rows.operator import RowWindowOperator
from muntin.operators.rows.synopses import SynopsisOperator
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.sessions import SessionOperator
from muntin.specs.axis import Axis, Domain
from muntin.specs.disorder import Late
from muntin.specs.row_windows import (
    Landmarks,
    RowWindow,
    SequenceSpec,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.specs.windows import Landmark, Latch, Unfinished, Window, WindowSpec

#: The state is split into about this many buckets, so that a micro-batch rewrites few of them.
_BUCKETS = 16


@dataclass(frozen=True)
class WindowOperatorInputs:
    """The axis, types and policies of an operator: everything except its windows.

    ``lag`` is the distance in ticks from the largest value seen down to the punctuation.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    ranked_keys: int
    calls: tuple[AggregateCall, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    late: Late
    unfinished: Unfinished
    lag: int
    slide_axis: Axis | None
    ties: tuple[pa.DataType, ...]


def build(spec: WindowSpec | SequenceSpec, typed: WindowOperatorInputs) -> Operator:
    """Return the operator of a specification."""
    if any(call.function in synopses() for call in typed.calls):
        return _synopses(spec, typed)
    match spec:
        case Window() | Landmark() | Latch():
            return _windows(spec, typed)
        case Session():
            return _sessions(spec, typed)
        case _:
            return _ordered(spec, typed)


def _windows(spec: WindowSpec, typed: WindowOperatorInputs) -> WindowOperator:
    edges = spec.edges(typed.axis)
    reach = max(edges.range, edges.slide, typed.lag)
    panes = max(1, reach * edges.panes_per_slide // edges.slide)
    return WindowOperator(
        axis=typed.axis,
        edges=edges,
        keys=typed.keys,
        calls=typed.calls,
        bound_type=typed.bound_type,
        late=typed.late,
        unfinished=typed.unfinished,
        panes_per_bucket=max(1, panes // _BUCKETS),
    )


def _sessions(spec: Session, typed: WindowOperatorInputs) -> SessionOperator:
    gap = None if spec.gap is None else typed.axis.length("gap", spec.gap)
    return SessionOperator(
        axis=typed.axis,
        keys=typed.keys,
        calls=typed.calls,
        gap=gap,
        bound_type=typed.bound_type,
        lateness_type=typed.lateness_type,
    )


def _ordered(
    spec: RowWindow | TupleWindow | SlideOnWindow | Landmarks, typed: WindowOperatorInputs
) -> RowWindowOperator:
    points = spec.points(typed.axis) if isinstance(spec, Landmarks) else ()
    return RowWindowOperator(
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
    )


def _synopses(spec: WindowSpec | SequenceSpec, typed: WindowOperatorInputs) -> SynopsisOperator:
    """Return an operator that answers windows by synopses.

    A synopsis takes its rows in order, so rows are held until their order is final.
    """
    synopsis = next(call.function for call in typed.calls if call.function in synopses())
    cut: Cut
    origin, length = 0, None
    match spec:
        case Window() | Landmark():
            edges = spec.edges(typed.axis)
            cut = ValueCut(edges, typed.axis)
            origin, length = edges.origin, None if edges.landmark else edges.range
        case TupleWindow(order="on") if typed.axis.domain is not Domain.DOUBLE:
            length = typed.axis.length("range", spec.range)
            cut = TupleCut(length, spec.every, typed.axis)
        case _:
            raise ArgumentError(
                "aggregates",
                synopsis,
                "a synopsis answers windows over values (window, tumbling, landmark), and by_tuple "
                "where `on` is not a double",
            )
    exact = [call.label for call in typed.calls if call.function not in synopses()]
    if exact:
        raise ArgumentError(
            "aggregates",
            exact[0],
            f"it goes through panes and cannot stand beside {synopsis}, which is a synopsis; use a "
            "second .agg(...)",
        )
    clipped = isinstance(spec, Window | Landmark) and spec.origin is not None
    return SynopsisOperator(
        axis=typed.axis,
        keys=typed.keys,
        ranked_keys=typed.ranked_keys,
        calls=typed.calls,
        cut=cut,
        bound_type=typed.bound_type,
        lateness_type=typed.lateness_type,
        unfinished=typed.unfinished,
        origin=origin if clipped else None,
        kinds=tuple(
            synopses()[call.function].kind(call.options, length, origin) for call in typed.calls
        ),
        within=tuple(_within(call, typed.axis, length) for call in typed.calls),
    )


def _within(call: AggregateCall, axis: Axis, length: int | None) -> int | None:
    within = synopses()[call.function].within(call.options)
    if within is None:
        return None
    ticks = axis.length("within", within)
    if length is not None and ticks > length:
        raise ArgumentError("within", str(within), "it is longer than the window itself")
    return ticks


def _cut(
    spec: RowWindow | TupleWindow | SlideOnWindow | Landmarks, typed: WindowOperatorInputs
) -> Cut:
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
