"""What ``explain`` prints of a plan: what it computes, how rows travel, and what a stream keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

from pyspark.sql import functions as F  # noqa: N812

from muntin.operators.frames.held_rows import OverlappingFrames
from muntin.operators.frames.row_by_row import AggregateRowByRow
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.panes import WORTH_COMBINING
from muntin.spark.exchange.messages import DATA
from muntin.spark.exchange.routing import InputRoute, routed
from muntin.spark.exchange.shards import PER_PARTITION, SHARDS_SETTING, shards_of
from muntin.spark.explain.state_of_plan import state_of
from muntin.spark.plan.early import EarlyPlan
from muntin.spark.plan.fill import FillPlan, FillSource, StoredFramesPlan
from muntin.spark.plan.fill_from_table import TableFillPlan
from muntin.spark.plan.frames import FramePlan
from muntin.spark.plan.join import JoinPlan
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.resample import InstantPlan, ResamplePlan
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.requirements import partitions, setting
from muntin.spark.scan.choose import InputRows
from muntin.specs.axis import Domain
from muntin.specs.calendar import CalendarEdges, CalendarLength
from muntin.specs.disorder import Disorder, Each, PerKey, Punctuated, RowSlack
from muntin.specs.frames.framing import Framing
from muntin.specs.idle import Follow
from muntin.specs.lengths import Duration, Length, Number
from muntin.specs.row_windows import RowWindow, TupleWindow

_MEASURED_ROWS = 200_000
_DAY = 86_400_000_000
#: A line of an explanation: its name and its text.
Line = tuple[str, str]


@dataclass(frozen=True)
class Explanation:
    """The lines that ``explain`` prints."""

    lines: tuple[Line, ...]

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{text}" for name, text in self.lines)


@dataclass(frozen=True)
class MapSideCounts:
    """Rows that went into the map side, and partial rows that came out of it."""

    rows: int
    partials: int

    @property
    def rows_per_pane(self) -> float:
        return self.rows / max(1, self.partials)

    @property
    def combined(self) -> bool:
        """True if combining rows before the shuffle pays."""
        return self.partials <= WORTH_COMBINING * self.rows


def explained(plan: PlanParts, measured: MapSideCounts | None = None) -> Explanation:
    """Return the explanation of a plan, with the counts that were measured of a batch, if any."""
    return Explanation((*_lines(plan, measured), *_scans(plan)))


def _scans(plan: PlanParts) -> Iterator[Line]:
    """Return who reads the rows of each input that is made of files."""
    for plan_input in plan.inputs:
        rows = plan_input.rows(False)
        if rows.scan is not None or rows.why is not None:
            yield "scan", str(rows) if len(plan.inputs) == 1 else f"{plan_input.name}: {rows}"


def measure(plan: WindowPlan) -> MapSideCounts:
    """Route some rows of a batch, and count the rows and their partial rows."""
    prepared = plan.prepared().limit(_MEASURED_ROWS)
    rule = plan.punctuator.in_batch
    messages = routed(InputRows(prepared), InputRoute.of(plan.operator, DATA, rule, plan.shards))
    partials = messages.where(F.col("kind") == "partial").agg(F.sum("n")).first()
    count = 0 if partials is None or partials[0] is None else int(partials[0])
    return MapSideCounts(prepared.count(), count)


def _lines(plan: PlanParts, measured: MapSideCounts | None) -> Iterator[Line]:
    match plan:
        case EarlyPlan(plain=plain, emission=emission):
            reported = f"{emission}: what is open is reported with its changes, and remembered"
            return chain(_lines(plain, measured), [("answers", reported)])
        case TableFillPlan(filled=filled):
            return _fill(filled)
        case FillPlan():
            return _fill(plan)
        case JoinPlan():
            return _join(plan)
        case ResamplePlan():
            return _resampling(plan)
        case StoredFramesPlan():
            return iter([("frames", f"{plan.stored}, as they are stored")])
        case InstantPlan():
            return iter([("instants", str(plan.instants))])
        case WindowPlan():
            return _windows(plan, measured)
    raise AssertionError(f"nothing is known of {type(plan).__name__}")


def _windows(plan: WindowPlan, measured: MapSideCounts | None) -> Iterator[Line]:
    """Return the lines of windows over values, of windows over rows and of frames."""
    panes = isinstance(plan.operator, WindowOperator)
    if isinstance(plan, FramePlan):
        yield from _frames(plan)
    else:
        yield "window", f"{plan.spec}  [{plan.spec.context.name}]"
    aggregates = ", ".join(str(a) for column in plan.columns for a in column.aggregates)
    if aggregates or panes:
        yield "aggregates", aggregates
    if panes:
        yield from _panes(plan)
    else:
        yield "order", _order(plan)
    travels = _travels(measured) if panes else "rows travel as they are, once each"
    yield "exchange", f"{travels}; {_shards(plan)}"
    if plan.is_streaming:
        yield "disorder", _disorder(plan.source.disorder)
    yield "state", str(state_of(plan))


def _panes(plan: WindowPlan) -> Iterator[Line]:
    assert isinstance(plan.operator, WindowOperator)
    edges = plan.operator.edges
    lengths = [edges.slide]
    if edges.panes_per_slide > 1:
        lengths = [edges.start_offset, edges.slide - edges.start_offset]
    long = " and ".join(_length(plan, length) for length in lengths)
    copies = 1 if edges.landmark else -(-edges.range // edges.slide)
    yield "panes", f"{long} long, {edges.panes_per_window} per window"
    yield "rows copied", f"{copies} per row by Spark's window(), at most 1 per row here"


def _length(plan: WindowPlan, ticks: int) -> str:
    axis, edges = plan.axis, getattr(plan.operator, "edges", None)
    if isinstance(edges, CalendarEdges):
        return str(CalendarLength(ticks, edges.unit))
    if axis.domain.temporal:
        return str(Duration(ticks * _DAY if axis.domain is Domain.DATE else ticks))
    return str(Number(Decimal((0, Decimal(ticks).as_tuple().digits, -axis.digits))))


def _travels(measured: MapSideCounts | None) -> str:
    if measured is None:
        return (
            "rows become panes before the shuffle; where a pane holds about one row per key they "
            "travel as they are"
        )
    counted = f"{measured.rows_per_pane:.1f} rows a pane in {measured.rows:,} rows"
    if measured.combined:
        return f"{counted}: rows become panes before the shuffle"
    return f"{counted}: rows travel as they are, combining them would not pay"


def _order(plan: WindowPlan) -> str:
    spec = plan.spec
    arriving = isinstance(spec, RowWindow | TupleWindow) and spec.order == "arrival"
    order = "as rows arrive" if arriving else f"by {spec.on}"
    return f"{order}, within {', '.join(plan.source.by) or 'the whole stream'}"


def _shards(plan: PlanParts) -> str:
    shards = plan.shards
    if shards == PER_PARTITION:
        session = plan.stream.df.sparkSession
        shards = int(setting(session, SHARDS_SETTING, str(shards_of(partitions(session)))))
    return f"{shards} shard{'s' * (shards > 1)}"


def _disorder(disorder: Disorder | None) -> str:
    """Return the disorder, and the size of its state."""
    match disorder:
        case None:
            return "as control rows say"
        case RowSlack(rows=rows):
            return f"{disorder}; {8 * (rows + 1):,} bytes a shard"
        case PerKey(idle=Follow()):
            return f"{disorder}; 16 bytes and the key for each that is not behind the others"
        case PerKey() | Punctuated(key=True):
            return f"{disorder}; 16 bytes and the key for each, for ever"
        case Each():
            return f"{disorder}; 16 bytes and the value for each and shard, for ever"
    return str(disorder)


def _frames(plan: FramePlan) -> Iterator[Line]:
    framing, operator = plan.framing, plan.framer
    walks = ""
    if isinstance(operator, OverlappingFrames):
        again = ", again in every micro-batch until it is over" if plan.is_streaming else ""
        walks = f"; every frame is walked from its first row{again}"
        if operator.in_one_pass:
            walks = "; all frames are found in one pass"
    yield "frames", str(framing)
    yield "scheme", f"{framing.scheme}, {framing.kind.span}{walks}"
    if isinstance(operator, AggregateRowByRow):
        yield "decided", "row by row in Python, which is slower than what kernels know"


def _fill(plan: FillPlan) -> Iterator[Line]:
    """Return the lines of the segments, then of what fills them and what is held for that."""
    yield from (line for line in explained(plan.segments).lines if line[0] != "exchange")
    yield from (("fill", _filling(plan, source)) for source in plan.fills)
    yield "exchange", f"bounds and rows meet in one call; {_shards(plan)}"
    if not plan.is_streaming:
        yield "held", "nothing: a batch is one pass"
        return
    yield from (("held", _held(plan, source)) for source in plan.fills)


def _filling(plan: FillPlan, source: FillSource) -> str:
    keys = plan.plain.keys
    pairs = zip(source.matches, source.keys, strict=True)
    matched = ", ".join(f"{keys[n]} = {name}" for n, name in pairs) or "every frame sees all rows"
    to_all = "; rows go to every shard" if source.apart else ""
    edge = plan.edge
    bounds = f"{'[' if edge.start else '('}start, end{']' if edge.end else ')'}"
    return f"{bounds} {source.filling}, on {source.source.on}, {matched}{to_all}"


def _held(plan: FillPlan, source: FillSource) -> str:
    """Return what is held of the filling rows, and until when."""
    if plan.plain.is_streaming and not source.source.df.isStreaming:
        return "nothing: the table is complete, and is read again in every micro-batch"
    spec, filling = plan.plain.spec, source.filling
    since, bounded = "the first open window began", "bounded"
    if isinstance(spec, Framing):
        whole = spec.fragments is None
        since = "the open frame began" if whole else "the last fragment of the open frame"
        bounded = "bounded by the longest frame" if whole else "bounded"
    before = [] if _is_zero(filling.before) else [filling.before]
    early = " and ".join(map(str, [*before, *_earliest(filling.shifts)]))
    earlier = f", and {early} before" if early else ""
    return (
        f"{bounded}: rows since {since}, else since the bounds are complete{earlier}; segments "
        "until the filling rows are complete up to their end"
    )


def _earliest(shifts: tuple[Length | None, ...]) -> list[Length]:
    """Return the length of the shift that goes back farthest, in a list; empty if none does."""
    back = [shift for shift in shifts if shift is not None and shift.negative]
    if not back:
        return []
    least = min(back, key=lambda s: s.micros if isinstance(s, Duration) else s.value)
    if isinstance(least, Duration):
        return [Duration(-least.micros)]
    return [Number(-least.value)]


def _is_zero(length: object) -> bool:
    return length in (None, Duration(0), Number(Decimal(0)))


def _join(plan: JoinPlan) -> Iterator[Line]:
    left, right = plan.sources
    pairs = zip(left.by, right.by, strict=True)
    keys = ", ".join(f"left.{left_key} = right.{right_key}" for left_key, right_key in pairs)
    yield "join", plan.identity["join"]
    yield "on", f"left.{left.on}, right.{right.on}; {keys or 'keys do not matter'}"
    yield "exchange", f"both meet in one call; {_shards(plan)}"
    yield "state", str(state_of(plan))


def _resampling(plan: ResamplePlan) -> Iterator[Line]:
    where = "between the first and the last row of each key"
    if plan.at is not None:
        where = f"where rows of the other stream lie, on {plan.at.on}"
    yield "resample", str(plan.spec)
    yield "instants", where
    yield "values", ", ".join(plan.columns)
    yield "exchange", _shards(plan)
    yield "state", str(state_of(plan))
