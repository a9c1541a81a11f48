"""What a plan will do and cost, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from muntin.aggregates.accumulators import Accumulator, Kind, Own
from muntin.operators.panes import WORTH_COMBINING
from muntin.operators.windows import Windows
from muntin.semantics.axis import Domain
from muntin.semantics.disorder import Disorder, Each, PerKey, Punctuated, RowSlack, Slack
from muntin.semantics.idle import Follow
from muntin.semantics.lengths import Duration
from muntin.semantics.window import Edges
from muntin.spark.compile import Compiled
from muntin.spark.exchange import routed
from muntin.spark.explain_sequence import SequenceExplanation, sequence_explanation

_MEASURED_ROWS = 200_000
_DAY = 86_400_000_000
#: What a pane keeps beside that, in words, because the data decide how much it is.
_MORE = {
    Kind.COUNTED: "; and each distinct value of a pane with its count",
    Kind.COLLECTED: "; and each value of a pane with its place",
}


@dataclass(frozen=True)
class Measured:
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
    compiled: Compiled, *, streaming: bool, measured: Measured | None = None
) -> Explanation | SequenceExplanation:
    disorder = _disorder(compiled.source.disorder) if streaming else None
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


def measure(compiled: Compiled) -> Measured:
    """Route some of a batch DataFrame and count what comes out."""
    prepared = compiled.prepared().limit(_MEASURED_ROWS)
    rule = compiled.punctuator.in_batch
    messages = routed(prepared, compiled.operator, rule, compiled.shards)
    partials = messages.where(F.col("kind") == "partial").agg(F.sum("n")).first()
    found = 0 if partials is None or partials[0] is None else int(partials[0])
    return Measured(prepared.count(), found)


def _pane_lengths(compiled: Compiled, edges: Edges) -> tuple[str, ...]:
    if edges.panes_per_slide == 1:
        return (_length(compiled, edges.slide),)
    offset = edges.start_offset
    return _length(compiled, offset), _length(compiled, edges.slide - offset)


def _length(compiled: Compiled, ticks: int) -> str:
    axis = compiled.axis
    if axis.domain.temporal:
        return str(Duration(ticks * _DAY if axis.domain is Domain.DATE else ticks))
    return f"{ticks / 10**axis.digits:g}"


def _state(compiled: Compiled, edges: Edges) -> str:
    operator = compiled.operator
    assert isinstance(operator, Windows)
    kept = operator.panes.accumulators
    # The number of a pane is kept too.
    size = 8 * (1 + sum(len(a.columns) for a in kept if a.bounded))
    more = "".join(
        sorted({_MORE[a.kind] for a in kept if isinstance(a.kind, Kind) and not a.bounded})
    )
    more += own_state(kept)
    if edges.landmark:
        return f"bounded: one pane per key and open slide, {size} bytes and the key each{more}"
    if not isinstance(compiled.source.disorder, Slack):
        return f"bounded by what punctuation leaves open; {size} bytes and the key a pane{more}"
    open_panes = edges.panes_per_window
    open_panes += -(-compiled.behind // edges.slide) * edges.panes_per_slide
    open_panes += edges.panes_per_slide
    return (
        f"bounded: at most {open_panes} panes per key between punctuations, "
        f"{size} bytes and the key each, whatever the number of rows{more}"
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


def own_state(accumulators: Sequence[Accumulator]) -> str:
    """What own aggregates keep beside columns of eight bytes."""
    own = [accumulator.kind for accumulator in accumulators if isinstance(accumulator, Own)]
    growing = [kind.label for kind in own if not kind.own.bounded]
    sized = [
        kind.label
        for kind in own
        if kind.own.bounded and not all(_fixed(type_) for type_ in kind.partials)
    ]
    said = f"; and a state of its own size for {', '.join(sized)}" if sized else ""
    return said + (f"; but the more rows, the larger for {', '.join(growing)}" if growing else "")


def _fixed(type_: pa.DataType) -> bool:
    try:
        return bool(type_.bit_width)
    except ValueError:  # what has no width of its own
        return False


def _travels(measured: Measured | None) -> str:
    if measured is None:
        return (
            "rows become panes before the shuffle; where a pane holds about one row per key they "
            "travel as they are"
        )
    found = f"{measured.rows_per_pane:.1f} rows a pane in {measured.rows:,} rows"
    if measured.combined:
        return f"{found}: rows become panes before the shuffle"
    return f"{found}: rows travel as they are, combining them would not pay"
