"""What a plan will do and cost, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import functions as F  # noqa: N812

from muntin.operators.windows.operator import Windows
from muntin.operators.windows.panes import WORTH_COMBINING
from muntin.spark.exchange.messages import DATA, InputRoute, routed
from muntin.spark.explain.frames import frames_explanation
from muntin.spark.explain.rows import sequence_explanation
from muntin.spark.explain.shared import OrderedExplanation
from muntin.spark.explain.state import KeptPart, said_bounded
from muntin.spark.plan.frames import FramePlan
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.axis import Domain
from muntin.specs.disorder import Disorder, Each, PerKey, Punctuated, RowSlack, Slack
from muntin.specs.idle import Follow
from muntin.specs.lengths import Duration, Number
from muntin.specs.windows import Edges

_MEASURED_ROWS = 200_000
_DAY = 86_400_000_000


@dataclass(frozen=True)
class MapSideCounts:
    """Rows that went into the map side, and rows that came out of it."""

    rows: int
    partials: int

    @property
    def rows_per_pane(self) -> float:
        return self.rows / max(1, self.partials)

    @property
    def combined(self) -> bool:
        return self.partials <= WORTH_COMBINING * self.rows


@dataclass(frozen=True)
class Explanation:
    """The numbers behind ``explain()``."""

    window: str
    context: str
    pane_lengths: tuple[str, ...]
    panes_per_window: int
    copies_by_spark: int
    shards: int
    disorder: str | None
    state: str
    travels: str
    aggregates: str

    @property
    def bounded(self) -> bool:
        """Whether the state has the same size however many rows there are."""
        return said_bounded(self.state)

    def __str__(self) -> str:
        panes = " and ".join(self.pane_lengths)
        overlap = self.copies_by_spark
        return "\n".join(
            [
                f"window      {self.window}  [{self.context}]",
                f"aggregates  {self.aggregates}",
                f"panes       {panes} long, {self.panes_per_window} per window",
                f"rows copied {overlap} per row by Spark's window(), at most 1 per row here",
                f"exchange    {self.travels}; {self.shards} shard{'s' * (self.shards > 1)}",
                *([f"disorder    {self.disorder}"] if self.disorder else []),
                f"state       {self.state}",
            ]
        )


def explanation(
    compiled: WindowPlan, *, streaming: bool, measured: MapSideCounts | None = None
) -> Explanation | OrderedExplanation:
    disorder = _disorder(compiled.source.disorder) if streaming else None
    if isinstance(compiled, FramePlan):
        return frames_explanation(compiled, disorder, streaming=streaming)
    if not isinstance(compiled.operator, Windows):
        return sequence_explanation(compiled, disorder, streaming=streaming)
    edges = compiled.operator.edges
    return Explanation(
        window=str(compiled.spec),
        context=compiled.spec.context.name,
        pane_lengths=_pane_lengths(compiled, edges),
        panes_per_window=edges.panes_per_window,
        copies_by_spark=1 if edges.landmark else -(-edges.range // edges.slide),
        shards=compiled.shards,
        disorder=disorder,
        state=_state(compiled, edges) if streaming else "none: a batch is one pass",
        travels=_travels(measured),
        aggregates=", ".join(str(a) for column in compiled.columns for a in column.aggregates),
    )


def measure(compiled: WindowPlan) -> MapSideCounts:
    """Route some of a batch DataFrame and count what comes out."""
    prepared = compiled.prepared().limit(_MEASURED_ROWS)
    rule = compiled.punctuator.in_batch
    messages = routed(prepared, InputRoute.of(compiled.operator, DATA, rule, compiled.shards))
    partials = messages.where(F.col("kind") == "partial").agg(F.sum("n")).first()
    found = 0 if partials is None or partials[0] is None else int(partials[0])
    return MapSideCounts(prepared.count(), found)


def _pane_lengths(compiled: WindowPlan, edges: Edges) -> tuple[str, ...]:
    if edges.panes_per_slide == 1:
        return (_length(compiled, edges.slide),)
    offset = edges.start_offset
    return _length(compiled, offset), _length(compiled, edges.slide - offset)


def _length(compiled: WindowPlan, ticks: int) -> str:
    axis = compiled.axis
    if axis.domain.temporal:
        return str(Duration(ticks * _DAY if axis.domain is Domain.DATE else ticks))
    return str(Number(Decimal((0, Decimal(ticks).as_tuple().digits, -axis.digits))))


def _state(compiled: WindowPlan, edges: Edges) -> str:
    operator = compiled.operator
    assert isinstance(operator, Windows)
    kept = KeptPart(operator.panes.accumulators, "pane")
    bounded = "bounded" if kept.bounded else "panes are bounded, what they keep is not"
    size, more = kept.size, kept.more
    if edges.landmark:
        return f"{bounded}: one pane per key and open slide, {size} each{more}"
    if not isinstance(compiled.source.disorder, Slack):
        return f"{bounded}: as many panes as punctuation leaves open, {size} each{more}"
    open_panes = edges.panes_per_window
    open_panes += -(-compiled.behind // edges.slide) * edges.panes_per_slide
    open_panes += edges.panes_per_slide
    rows = ", whatever the number of rows" if kept.bounded else ""
    return (
        f"{bounded}: at most {open_panes} panes per key between punctuations, "
        f"{size} each{rows}{more}"
    )


def _disorder(disorder: Disorder | None) -> str:
    """The rule, and what it remembers."""
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


def _travels(measured: MapSideCounts | None) -> str:
    if measured is None:
        return (
            "rows become panes before the shuffle; where a pane holds about one row per key they "
            "travel as they are"
        )
    found = f"{measured.rows_per_pane:.1f} rows a pane in {measured.rows:,} rows"
    if measured.combined:
        return f"{found}: rows become panes before the shuffle"
    return f"{found}: rows travel as they are, combining them would not pay"
