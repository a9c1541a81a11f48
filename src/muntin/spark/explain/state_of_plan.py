"""What the plan of a stream keeps: windows, windows over rows, frames, fills, joins, resampling."""

from __future__ import annotations

from dataclasses import replace

from muntin.operators.common.forgetting import Forgetting
from muntin.operators.frames.row_by_row import AggregateRowByRow
from muntin.operators.rows.operator import RowWindowOperator
from muntin.operators.rows.synopses import SynopsisOperator
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.sessions import SessionOperator
from muntin.spark.explain.state_profile import BATCH, Bounded, KeptPart, StateProfile
from muntin.spark.plan.early import EarlyPlan
from muntin.spark.plan.fill import FillPlan, StoredFramesPlan
from muntin.spark.plan.fill_from_table import TableFillPlan
from muntin.spark.plan.frames import FramePlan
from muntin.spark.plan.join import JoinPlan
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.resample import InstantRowsPlan, ResamplePlan, looked_for
from muntin.spark.plan.windows import AnySpec, WindowPlan
from muntin.specs.disorder import Slack
from muntin.specs.frames.framing import Framing
from muntin.specs.join import Asof, Distance, Zipper
from muntin.specs.row_windows import Landmarks, RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Window

_PENDING = "rows that punctuation has not passed"
_RECORD = "a record for every key"
_ANY_NUMBER = "whatever the number of rows"
#: Windows that every row leaves again.
_ENDING = (Window, RowWindow, TupleWindow, SlideOnWindow, Session)


def state_of(plan: PlanParts) -> StateProfile:
    """Return what a plan keeps; a batch keeps nothing."""
    return state_on_streams(plan) if plan.is_streaming else BATCH


def state_on_streams(plan: PlanParts) -> StateProfile:
    """Return what a plan keeps if its inputs are streams."""
    match plan:
        case EarlyPlan(plain=plain):
            profile = state_of(plain)
            return replace(profile, parts=(*profile.parts, "open answers that were reported"))
        case TableFillPlan(filled=filled):
            return state_of(filled)
        case InstantRowsPlan():
            reach = plan.fills[0].filling.before
            return _if(f"the rows within {reach} are", "aggregates keep them")
        case FillPlan():
            return _of_fill(plan)
        case JoinPlan():
            return _of_join(plan)
        case ResamplePlan():
            return _of_resampling(plan)
        case FramePlan():
            return _of_frames(plan)
        case StoredFramesPlan():
            return _always()
        case WindowPlan():
            operator = plan.operator
            return _of_windows(plan) if isinstance(operator, WindowOperator) else _of_rows(plan)
    raise AssertionError(f"nothing is known of the state of {type(plan).__name__}")


def _of_fill(plan: FillPlan) -> StateProfile:
    """Return what frames or windows and their filling rows keep: rows while they are open."""
    if not plan.plain.is_streaming:
        return _always()
    match plan.plain.spec:
        case Landmark() | Landmarks():
            why = "a landmark window may go on for ever, and the rows that fill it are kept"
            return StateProfile(Bounded.NEVER, why)
        case Session():
            return _if("the rows of a session are", "those that fill an open one are kept")
    return state_of(plan.segments)


def _always(*parts: str, why: str = f"{_ANY_NUMBER}, for each key") -> StateProfile:
    return StateProfile(Bounded.ALWAYS, why, parts)


def _if(condition: str, why: str, *parts: str) -> StateProfile:
    return StateProfile(Bounded.IF, why, parts, condition)


def _of_windows(plan: WindowPlan) -> StateProfile:
    """Return what windows over values keep: panes."""
    operator = plan.operator
    assert isinstance(operator, WindowOperator)
    edges = operator.edges
    kept = KeptPart(operator.panes.accumulators, "pane")
    if edges.landmark:
        panes = "one pane per key and open slide"
    elif not isinstance(plan.source.disorder, Slack):
        panes = "as many panes as punctuation leaves open"
    else:
        open_panes = edges.panes_per_window
        open_panes += -(-plan.lag // (edges.slide * edges.ticks_per_unit)) * edges.panes_per_slide
        open_panes += edges.panes_per_slide
        panes = f"at most {open_panes} panes per key between punctuations"
        if kept.bounded:
            return _always(f"{panes}, {kept.size} each, {_ANY_NUMBER}{kept.more}")
    return _of_parts(plan.spec, kept.bounded, f"{panes}, {kept.size} each{kept.more}")


def _of_parts(spec: AnySpec, bounded: bool, *parts: str) -> StateProfile:
    """Return the profile of windows whose aggregates keep their rows, unless they are bounded."""
    if bounded:
        return _always(*parts)
    if isinstance(spec, _ENDING):
        return _if("the rows of a window are", "an aggregate keeps them", *parts)
    why = "a landmark window may go on for ever, and an aggregate keeps its rows"
    return StateProfile(Bounded.NEVER, why, parts)


def _of_rows(plan: WindowPlan) -> StateProfile:
    """Return what windows over rows keep: cells, synopses or open sessions."""
    spec, operator = plan.spec, plan.operator
    if isinstance(operator, Forgetting):
        operator = operator.plain
    if isinstance(operator, SynopsisOperator):
        parts = (_PENDING, "a synopsis for every approximate aggregate and key")
        if operator.exact is None:
            return _always(*parts)
        kept = KeptPart(operator.exact.cells.accumulators, "cell")
        cells = f"cells for the exact aggregates, {kept.size} each{kept.more}"
        return _of_parts(spec, kept.bounded, *parts, cells)
    assert isinstance(operator, RowWindowOperator | SessionOperator)
    kept = KeptPart(operator.cells.accumulators, "session" if isinstance(spec, Session) else "cell")
    *first, last = *_forgotten(spec), *_cells(spec)
    # A window over rows never holds more rows than its range, whatever aggregates keep.
    bounded = kept.bounded or isinstance(spec, RowWindow)
    return _of_parts(spec, bounded, *first, f"{last}, {kept.size} each{kept.more}")


def _cells(spec: AnySpec) -> tuple[str, ...]:
    """Return what is kept, and per how many rows. The size belongs to the last part."""
    match spec:
        case RowWindow(order="arrival", range=rows) | RowWindow(within=None, range=rows):
            slide = spec.edges.panes_per_slide
            panes = -(-rows // spec.slide) * slide + slide
            cells = f"for every key a count and {panes:,} cells of ranks"
            return (cells,) if spec.order == "arrival" else (_PENDING, cells)
        case RowWindow(range=rows):
            return _PENDING, f"for every key a count and a cell for each of the last {rows:,} rows"
        case TupleWindow(range=length, every=every) | SlideOnWindow(range=length, slide=every):
            count = "for every key a count and " if every != 1 else ""
            return _PENDING, f"{count}one cell for each `on` within the last {length}"
        case Landmarks():
            return _PENDING, "for every key one cell and one for each `on` of the open slide"
        case _:
            return ("one row for every open session",)


def _of_frames(plan: FramePlan) -> StateProfile:
    """Return what frames keep: a record for every key, rows of some kinds, and aggregates."""
    framing = plan.framing
    record, bounded = _record(framing)
    operator = plan.framer
    if isinstance(operator, AggregateRowByRow):
        record = f"{record} with a partial row of the aggregates that decide"
        # A stream whose frames are not bounded is refused if the aggregates keep all values.
        if not operator.is_bounded:
            record, bounded = f"{record}, which keep all values of the open frame", False
    kept = KeptPart(operator.contents.cells.accumulators, "frame")
    aggregates = f"the aggregates of each open frame, {kept.size} each{kept.more}"
    longest = ["the longest frame of every key so far"] if framing.longest else []
    of_columns = [aggregates] if plan.columns else []
    parts = (_PENDING, *_forgotten(framing), record, *of_columns, *longest)
    growing = bool(plan.columns) and not kept.bounded and not framing.overlapping
    if bounded and not growing:
        return _always(*parts)
    if framing.max_duration or framing.max_count:
        why = "an aggregate keeps them" if growing else "they are kept until it ends"
        return _if("the rows of a frame are", why, *parts)
    keeps = "an aggregate keeps its rows" if growing else "its rows are kept"
    why = f"a frame may go on for ever, and {keeps}"
    return StateProfile(Bounded.NEVER, why, parts, remedy="max_duration or max_count")


def _forgotten(spec: AnySpec) -> list[str]:
    """Return until when a key is kept, if keys are forgotten."""
    if not isinstance(spec, RowWindow | Framing) or spec.forget is None:
        return []
    return [f"a key until punctuation is {spec.forget} beyond its last row"]


def _record(framing: Framing) -> tuple[str, bool]:
    """Return what is kept of each key, and whether that is bounded."""
    rows = framing.kind.held_rows(framing)
    if rows is not None:
        return f"{_RECORD} with {rows[0]}", rows[1]
    if not framing.overlapping:
        return _RECORD, True
    held = f"{_RECORD} with the rows since the oldest open frame began"
    if framing.scheme.name == "adjacent":
        return f"{held} (where the next one starts is known only when it ends)", False
    if framing.max_duration is None and framing.max_count is None:
        return held, False
    return held, True


def _of_join(plan: JoinPlan) -> StateProfile:
    """Return what joins keep: rows, until no partner can come."""
    room = "" if plan.limit is None else f", at most {plan.limit:,} bytes, the oldest go first"
    match plan.spec:
        case Asof(tolerance=None):
            held = (
                "left rows until their partner is certain; right rows after the left punctuation, "
                "and the last one before it for every key"
            )
        case Asof(tolerance=tolerance):
            held = f"rows of both sides until {tolerance} behind the other's progress"
        case Zipper():
            held = f"rows of the intervals that are not complete on both sides{room}"
        case Distance(within=within):
            held = f"rows of each side until the other is complete {within} after them{room}"
    if plan.limit is not None:
        return _always(held, why=f"at most {plan.limit:,} bytes, then the oldest rows go")
    match plan.spec:
        case Distance(within=within):
            return _if(f"the rows within {within} are", "they wait for partners", held)
        case Zipper(every=every):
            return _if(f"the rows of {every} are", "they wait for partners", held)
        case Asof():
            return _of_asof(plan.spec, "rows", held, "a tolerance")


def _of_resampling(plan: ResamplePlan) -> StateProfile:
    """Return what resampling keeps: rows, until their instants are certain."""
    if plan.at is None:
        held = "rows until they are final", "the last final one of every key"
        why = "the last row of each key, and rows that punctuation has not passed"
        return _always(*held, why=why)
    held_rows = "rows and instants until both sides are complete there; the last row of every key"
    remedy = "how 'previous', or how 'nearest' with a max_gap"
    return _of_asof(looked_for(plan.spec), "instants", held_rows, remedy)


def _of_asof(spec: Asof, waiting: str, held: str, remedy: str) -> StateProfile:
    """Return the profile of rows or instants that wait for a row of the other side."""
    if spec.waits_for_ever:
        why = f"{waiting} wait for the next row of their key, which may never come"
        return StateProfile(Bounded.NEVER, why, (held,), remedy=remedy)
    condition = "the rows by which one side is ahead of the other are"
    return _if(condition, "they wait for it", held)
