"""What looking for frames will do and cost, in words."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.semantics.framing.kinds import Cluster, Density, Region
from muntin.semantics.framing.properties import Framing
from muntin.spark.compile_frames import CompiledFrames
from muntin.spark.explain_state import Keeping

_PENDING = "rows that punctuation has not passed"


@dataclass(frozen=True)
class FramesExplanation:
    """What ``explain()`` says of frames."""

    framing: str
    scheme: str
    span: str
    aggregates: str
    order: str
    shards: int
    disorder: str | None
    state: str

    def __str__(self) -> str:
        shards = f"{self.shards} shard{'s' * (self.shards > 1)}"
        return "\n".join(
            [
                f"frames      {self.framing}",
                f"scheme      {self.scheme}, {self.span}",
                *([f"aggregates  {self.aggregates}"] if self.aggregates else []),
                f"order       {self.order}",
                f"exchange    rows travel as they are, once each; {shards}",
                *([f"disorder    {self.disorder}"] if self.disorder else []),
                f"state       {self.state}",
            ]
        )


def frames_explanation(
    compiled: CompiledFrames, disorder: str | None = None, *, streaming: bool
) -> FramesExplanation:
    framing = compiled.framing
    by = ", ".join(compiled.source.by) or "the whole stream"
    return FramesExplanation(
        framing=str(framing),
        scheme=str(framing.scheme),
        span=framing.kind.span,
        aggregates=", ".join(str(a) for column in compiled.columns for a in column.aggregates),
        order=f"by {framing.on}, within {by}",
        shards=compiled.shards,
        disorder=disorder,
        state=_state(compiled) if streaming else "none: a batch is one pass",
    )


def _state(compiled: CompiledFrames) -> str:
    """What a stream keeps, and whether that is bounded."""
    framing = compiled.framing
    held, bounded = _held(framing)
    kept = Keeping(compiled.operator.contents.cells.accumulators, "frame")
    said = "bounded" if bounded else "not bounded"
    more = "" if not compiled.columns else f", {kept.size} of aggregates for each open frame"
    unbounded = compiled.columns and not kept.bounded and not framing.overlapping
    said = "frames are bounded, what they keep is not" if unbounded else said
    return f"{said}: {_PENDING}, and {held}{more}{kept.more if compiled.columns else ''}"


def _held(framing: Framing) -> tuple[str, bool]:
    """What is kept of each key, and whether there is an end to it."""
    record = "a record for every key"
    match framing.kind:
        case Density(per=per):
            return f"{record} with the rows of the last {per} and of twice that", True
        case Cluster():
            return f"{record} with the rows that may still be part of a cluster", True
        case Region():
            most = framing.max_duration is not None
            return f"{record} with the rows of regions that are open or overlap open ones", most
    if not framing.overlapping:
        return record, True
    limited = framing.max_duration is not None or framing.max_count is not None
    maximal = framing.kind.span == "maximal"
    why = "" if limited or maximal else " (with max_duration or max_count they end)"
    return f"{record} with the rows since the oldest open frame began{why}", limited
