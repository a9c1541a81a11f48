"""What filling frames or windows will do and keep, in words."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from muntin.spark.plan.fill import FillPlan, FillSource
from muntin.specs.frames.framing import Framing
from muntin.specs.lengths import Duration, Length, Number


@dataclass(frozen=True)
class FillExplanation:
    """What ``explain()`` says of a filling."""

    bounds: str
    fills: tuple[str, ...]
    shards: int
    state: tuple[str, ...]
    bounded: bool

    def __str__(self) -> str:
        shards = f"{self.shards} shard{'s' * (self.shards > 1)}"
        return "\n".join(
            [
                *(line for line in self.bounds.splitlines() if not line.startswith("exchange")),
                *(f"fill        {fill}" for fill in self.fills),
                f"exchange    bounds and rows meet in one call; {shards}",
                *(f"held        {line}" for line in self.state),
            ]
        )


def fill_explanation(compiled: FillPlan) -> FillExplanation:
    held = [_held(compiled, source) for source in compiled.fills]
    bounds = compiled.segmented.explained()
    return FillExplanation(
        bounds=str(bounds),
        fills=tuple(_said(compiled, source) for source in compiled.fills),
        shards=compiled.shards,
        state=tuple(held) if compiled.is_streaming else ("nothing: a batch is one pass",),
        bounded=bool(getattr(bounds, "bounded", True)),
    )


def _said(compiled: FillPlan, source: FillSource) -> str:
    keys = compiled.plain.keys
    pairs = zip(source.matches, source.keys, strict=True)
    matched = ", ".join(f"{keys[n]} = {name}" for n, name in pairs) or "every frame sees all rows"
    to_all = "; rows go to every shard" if source.apart else ""
    edge = compiled.edge
    bounds = f"{'[' if edge.start else '('}start, end{']' if edge.end else ')'}"
    return f"{bounds} {source.filling}, on {source.source.on}, {matched}{to_all}"


def _held(compiled: FillPlan, source: FillSource) -> str:
    """What is held of the filling rows, and until when."""
    spec = compiled.plain.spec
    filling = source.filling
    since, bounded = "the first open window began", "bounded"
    if isinstance(spec, Framing):
        whole = spec.fragments is None
        since = "the open frame began" if whole else "the last fragment of the open frame"
        bounded = "bounded by the longest frame" if whole else "bounded"
    early = " and ".join(map(str, [*_some(filling.before), *_earliest(filling.shifts)]))
    earlier = f", and {early} before" if early else ""
    return (
        f"{bounded}: rows since {since}, else since the bounds are complete{earlier}; segments "
        "until the filling rows are complete up to their end"
    )


def _earliest(shifts: tuple[Length | None, ...]) -> list[Length]:
    """How far back the shift goes that goes back farthest."""
    back = [shift for shift in shifts if shift is not None and shift.negative]
    if not back:
        return []
    least = min(back, key=lambda s: s.micros if isinstance(s, Duration) else s.value)
    if isinstance(least, Duration):
        return [Duration(-least.micros)]
    return [Number(-least.value)]


def _some(length: object) -> list[object]:
    """A length, unless it is none."""
    return [] if length in (None, Duration(0), Number(Decimal(0))) else [length]
