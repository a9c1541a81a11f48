"""Build the operator of a window specification, and the punctuator of a disorder rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.aggregates.bind import synopses
from muntin.aggregates.definition import AggregateCall
from muntin.errors import ArgumentError
from muntin.operators.common.early_answers import EarlyAnswers
from muntin.operators.common.forgetting import Forgetting
from muntin.operators.progress.per_key import PerKeyPunctuator, PerValuePunctuator, Quiet
from muntin.operators.progress.progress import Punctuator, RowSlackPunctuator
from muntin.operators.progress.punctuated import KeyMarkPunctuator, MarkPunctuator
from muntin.operators.protocol import Operator
from muntin.operators.rows.cut import Cut, RankCut, SlideCut, TupleCut
from muntin.operators.rows.cut_landmarks import LandmarkCut
from muntin.operators.rows.cut_values import PaneCut, ValueCut
from muntin.operators.rows.operator import RowWindowOperator
from muntin.operators.rows.synopses import SynopsisOperator
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.panes import Cells
from muntin.operators.windows.sessions import SessionOperator
from muntin.specs import disorder as rules
from muntin.specs.axis import Axis, Domain
from muntin.specs.disorder import Late
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.idle import Clock, Follow, Idle
from muntin.specs.lengths import Duration, Length, Number
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
#: Windows of at least this many panes have levels over their panes.
_LONG = 320
#: With levels, a chunk has this many panes, and a node of a level combines as many rows. There are
#: more panes to a chunk if there would be more than this many chunks, which are listed in a head.
_FANOUT, _CHUNKS = 16, 2048
_EARLY = (
    "sliding, tumbling, landmark, latch and row windows, sessions and other frames can be answered "
    "early"
)


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
    match spec:
        case Window() | Landmark() if _asks_synopses(typed):
            return _synopses(spec, typed)
        case TupleWindow(order="on") if _asks_synopses(typed) and not _over_doubles(typed):
            return _synopses(spec, typed)
        case Window() | Landmark() | Latch():
            return _windows(spec, typed)
        case Session():
            return _sessions(spec, typed)
        case RowWindow(forget=Duration() | Number() as gap):
            return _forgetting(spec, typed, gap)
        case RowWindow() | TupleWindow() | SlideOnWindow() | Landmarks():
            return _ordered(spec, typed)


def early(
    spec: WindowSpec | SequenceSpec | Framing, operator: Operator, every: int | None = None
) -> EarlyAnswers:
    """Return an operator that also reports what is open; raise if that has no meaning.

    ``every`` is the number of ticks between two reports of what is open.
    """
    keys = [name for name in operator.result_schema.names if name.startswith("k")]
    return EarlyAnswers(operator, (*keys, *_bounds_of_one(spec)), every)


def _bounds_of_one(spec: WindowSpec | SequenceSpec | Framing) -> tuple[str, ...]:
    """Return the bounds that identify one answer of a key, also while others are not final."""
    match spec:
        case Session():
            return ("window_start",)  # its end moves while rows come
        case TupleWindow() | SlideOnWindow():
            reason = "rows that tie may end several windows at one value, which changes cannot"
            raise ArgumentError("emit", "early", f"{reason} tell apart; {_EARLY}")
        case Framing(fragments=None):
            if isinstance(spec.kind, Density | Cluster | Region):
                reason = f"frames of {spec.kind.word} may have equal bounds, which changes cannot"
                raise ArgumentError("emit", "early", f"{reason} tell apart; {_EARLY}")
            # Of frames that overlap several may start together.
            return ("frame_start", "frame_end") if spec.overlapping else ("frame_start",)
        case Framing():
            reason = "fragments= reports open frames already, each part once"
            raise ArgumentError("emit", "early", f"{reason}; leave fragments= out")
    return ("window_start", "window_end")


def _asks_synopses(typed: WindowOperatorInputs) -> bool:
    return any(call.function in synopses() for call in typed.calls)


def _over_doubles(typed: WindowOperatorInputs) -> bool:
    return typed.axis.domain is Domain.DOUBLE


def _windows(spec: WindowSpec, typed: WindowOperatorInputs) -> WindowOperator:
    edges = spec.edges(typed.axis)
    reach = max(edges.range, edges.slide, -(-typed.lag // edges.ticks_per_unit))
    panes = max(1, reach * edges.panes_per_slide // edges.slide)
    bounded = all(a.bounded for a in Cells(typed.keys, typed.calls).accumulators)
    leveled = bounded and edges.panes_per_window >= _LONG
    size = max(_FANOUT, -(-panes // _CHUNKS)) if leveled else max(1, panes // _BUCKETS)
    return WindowOperator(
        axis=typed.axis,
        edges=edges,
        keys=typed.keys,
        calls=typed.calls,
        bound_type=typed.bound_type,
        late=typed.late,
        unfinished=typed.unfinished,
        panes_per_bucket=size,
        fanout=_FANOUT if leveled else 0,
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


def _forgetting(spec: RowWindow, typed: WindowOperatorInputs, gap: Length) -> Forgetting:
    by = typed.ranked_keys
    keys = (*typed.keys[:by], pa.int64(), *typed.keys[by:])
    lives = _ordered(spec, replace(typed, keys=keys, ranked_keys=by + 1))
    ticks = typed.axis.length("forget", gap)
    return Forgetting(_ordered(spec, typed), lives, by, typed.axis, ticks)


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


def _synopses(
    spec: Window | Landmark | TupleWindow, typed: WindowOperatorInputs
) -> SynopsisOperator:
    """Return an operator that answers windows by synopses, and other calls by cells.

    A synopsis takes its rows in order, so rows are held until their order is final.
    """
    cut: Cut
    cells: Cut
    length: int | None
    if isinstance(spec, TupleWindow):
        origin, length = 0, typed.axis.length("range", spec.range)
        cut = cells = TupleCut(length, spec.every, typed.axis)
    else:
        edges = spec.edges(typed.axis)
        origin, length = edges.origin, None if edges.landmark else edges.range
        cut, cells = ValueCut(edges, typed.axis), PaneCut(edges, typed.axis)
    clipped = isinstance(spec, Window | Landmark) and spec.origin is not None
    asked = tuple(call for call in typed.calls if call.function in synopses())
    others = tuple(call for call in typed.calls if call.function not in synopses())
    by_cells = RowWindowOperator(
        axis=typed.axis,
        keys=typed.keys,
        ranked_keys=typed.ranked_keys,
        calls=others,
        cut=cells,
        bound_type=typed.bound_type,
        lateness_type=typed.lateness_type,
    )
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
        kinds=tuple(synopses()[call.function].kind(call.options, length, origin) for call in asked),
        within=tuple(_within(call, typed.axis, length) for call in asked),
        exact=by_cells if others else None,
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
                spec.edges,
                axis,
                None if within is None else axis.length("within", within),
                spec.min_rows,
            )
        case TupleWindow():
            return TupleCut(axis.length("range", spec.range), spec.every, axis)
        case Landmarks(slide=slide, first=first):
            every = None if slide is None else axis.length("slide", slide)
            return LandmarkCut(spec.points(axis), every, axis, first)
        case SlideOnWindow():
            assert typed.slide_axis is not None
            other = typed.slide_axis
            step = other.length("slide", spec.slide)
            origin = spec.slide_origin(other)
            return SlideCut(axis.length("range", spec.range), axis, step, origin, other)


def punctuator(
    disorder: rules.Disorder | None,
    axis: Axis,
    keys: Sequence[pa.DataType],
    values: Sequence[pa.DataType] = (),
) -> Punctuator:
    """Return the punctuator of a stream with a disorder rule.

    ``keys`` has the types of its keys, ``values`` those of the columns of ``mt.each``.
    """
    match disorder:
        case None:
            return Punctuator(None)
        case rules.Slack(slack=slack):
            return Punctuator(_ticks(axis, slack))
        case rules.RowSlack(rows=rows):
            return RowSlackPunctuator(None, rows, axis)
        case rules.Punctuated(key=False):
            return MarkPunctuator(None, axis)
        case rules.Punctuated():
            return KeyMarkPunctuator(None, axis, tuple(keys))
        case rules.PerKey(slack=slack, idle=idle):
            return PerKeyPunctuator(_ticks(axis, slack), axis, tuple(keys), _quiet(axis, idle))
        case rules.Each(slack=slack, idle=idle, expect=expect):
            expected = _expected(expect, values)
            return PerValuePunctuator(_ticks(axis, slack), axis, expected, _quiet(axis, idle))
    raise AssertionError(f"a rule that was not resolved: {disorder}")


def _ticks(axis: Axis, slack: Length | None) -> int:
    return 0 if slack is None else axis.length("slack", slack)


def _quiet(axis: Axis, idle: Idle) -> Quiet:
    match idle:
        case Follow(length):
            return Quiet(follow=axis.length("follow", length))
        case Clock(length):
            return Quiet(clock=length.micros)
    return Quiet()


def _expected(expect: Sequence[tuple[object, ...]], types: Sequence[pa.DataType]) -> pa.Table:
    """Return the expected values as a table with columns ``v0..``; raise if a type does not fit."""
    columns = {}
    for place, type_ in enumerate(types):
        values = [value[place] for value in expect]
        try:
            columns[f"v{place}"] = pa.array(values, type_)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise ArgumentError(
                "expect", values, f"they must be values of the column, which has type {type_}"
            ) from error
    return pa.table(columns)
