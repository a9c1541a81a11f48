"""What a plan will do and cost, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from muntin.aggregates.accumulators import Accumulator, Own
from muntin.operators.panes import WORTH_COMBINING
from muntin.semantics.axis import Domain
from muntin.semantics.lengths import Duration
from muntin.semantics.window import Edges
from muntin.spark import streaming
from muntin.spark.compile import Compiled

_MEASURED_ROWS = 200_000
_DAY = 86_400_000_000


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
                f"state       {self.state}",
            ]
        )


def explanation(
    compiled: Compiled, *, streaming: bool, measured: Measured | None = None
) -> Explanation:
    edges = compiled.operator.edges
    kept = own_state(compiled.operator.panes.accumulators)
    return Explanation(
        window=str(compiled.spec),
        context=compiled.spec.context.name,
        pane_lengths=_pane_lengths(compiled, edges),
        panes_per_window=edges.panes_per_window,
        copies_by_spark=1 if edges.landmark else -(-edges.range // edges.slide),
        shards=compiled.shards,
        state=_state(compiled, edges) + kept if streaming else "none: a batch is one pass",
        travels=_travels(measured),
        aggregates=", ".join(call.label for call in compiled.operator.calls),
    )


def measure(compiled: Compiled) -> Measured:
    """Route some of a batch DataFrame and count what comes out."""
    prepared = compiled.prepared().limit(_MEASURED_ROWS)
    messages = streaming.routed(prepared, compiled.operator, compiled.shards)
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
    columns = len(compiled.operator.panes.schema) - len(compiled.source.by)
    size = 8 * columns
    if edges.landmark:
        return f"bounded: one pane per key and open slide, {size} bytes and the key each"
    slack = compiled.slack
    if slack is None:
        return f"bounded by the control rows' punctuation; {size} bytes and the key a pane"
    open_panes = edges.panes_per_window + -(-slack // edges.slide) * edges.panes_per_slide
    open_panes += edges.panes_per_slide
    return (
        f"bounded: at most {open_panes} panes per key between punctuations, "
        f"{size} bytes and the key each, whatever the number of rows"
    )


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
