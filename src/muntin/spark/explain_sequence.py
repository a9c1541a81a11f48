"""What windows over rows will do and cost, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.operators.synopses import Synopses
from muntin.semantics.sequence import Landmarks, RowWindow, SlideOnWindow, TupleWindow
from muntin.spark.compile import Compiled


@dataclass(frozen=True)
class SequenceExplanation:
    """What ``explain()`` says of windows that depend on the rows before and behind a row."""

    window: str
    context: str
    aggregates: str
    order: str
    shards: int
    disorder: str | None
    state: str

    def __str__(self) -> str:
        shards = f"{self.shards} shard{'s' * (self.shards > 1)}"
        return "\n".join(
            [
                f"window      {self.window}  [{self.context}]",
                f"aggregates  {self.aggregates}",
                f"order       {self.order}",
                f"exchange    rows travel as they are, once each; {shards}",
                *([f"disorder    {self.disorder}"] if self.disorder else []),
                f"state       {self.state}",
            ]
        )


def sequence_explanation(
    compiled: Compiled, disorder: str | None, *, streaming: bool
) -> SequenceExplanation:
    return SequenceExplanation(
        window=str(compiled.spec),
        context=compiled.spec.context.name,
        aggregates=", ".join(str(a) for column in compiled.columns for a in column.aggregates),
        order=_order(compiled),
        shards=compiled.shards,
        disorder=disorder,
        state=_held(compiled) if streaming else "none: a batch is one pass",
    )


def _order(compiled: Compiled) -> str:
    spec = compiled.spec
    by = ", ".join(compiled.source.by) or "the whole stream"
    if isinstance(spec, RowWindow | TupleWindow) and spec.order == "arrival":
        return f"as rows arrive, within {by}"
    return f"by {spec.on}, within {by}"


def _held(compiled: Compiled) -> str:
    """What a stream keeps, and whether that is bounded."""
    pending = "rows that punctuation has not passed"
    if isinstance(compiled.operator, Synopses):
        return f"bounded: {pending}, and a synopsis for every aggregate and key"
    match compiled.spec:
        case RowWindow(order="arrival", range=rows) | RowWindow(within=None, range=rows):
            slide = compiled.spec.edges.panes_per_slide
            panes = -(-rows // compiled.spec.slide) * slide + slide
            held = "" if compiled.spec.order == "arrival" else f"{pending}, and "
            return f"bounded: {held}{panes:,} panes of ranks and a count for every key"
        case RowWindow(range=rows):
            return f"bounded: {pending}, and the last {rows:,} rows and a count for every key"
        case TupleWindow(range=length, every=every) | SlideOnWindow(range=length, slide=every):
            count = " and a count for every key" if every != 1 else ""
            return f"bounded: {pending}, and one cell for each `on` within the last {length}{count}"
        case Landmarks():
            return f"bounded: {pending}, and one cell for every key and open slide"
        case _:
            return "bounded: one row of accumulators for every open session"
