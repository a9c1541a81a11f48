"""Kinds that look back at rows: dense in time, or along a second attribute [Frames, appendix H]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal

from muntin.errors import ArgumentError, Mention
from muntin.specs.frames.frame_kind import (
    FrameKind,
    FramingProperties,
    Operand,
    Sign,
    check_points,
    clash,
    positive,
    shown,
)
from muntin.specs.lengths import Length, Number, positive_length

Prefer = Literal["longest", "widest", "all"]


@dataclass(frozen=True)
class Density(FrameKind):
    """The union of the windows ``(v - per, v]`` in which an aggregate meets a condition.

    There is one such window for every row, and ``v`` is the row's ``on``. Windows that overlap or
    touch are one frame [Frames, appendix H].
    """

    aggregate: object
    sign: Sign
    limit: Decimal
    per: Length
    word: ClassVar[str] = "density"
    null_is_missing: ClassVar[bool] = False
    follows_schedule: ClassVar[bool] = False

    def __init__(self, aggregate: object, sign: object, limit: Decimal, per: object) -> None:
        if sign not in ("<", "<=", ">", ">="):
            raise ArgumentError(
                "condition", f"{aggregate} {sign} {limit}", "use one of <, <=, > and >="
            )
        object.__setattr__(self, "aggregate", aggregate)
        object.__setattr__(self, "sign", sign)
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "per", positive_length("per", per))

    @property
    def lengths(self) -> tuple[Length, ...]:
        return (self.per,)

    @property
    def label(self) -> str:
        return f"density({self.aggregate} {self.sign} {self.limit}, per={self.per})"

    @property
    def window_aggregate(self) -> object:
        return self.aggregate

    def held_rows(self, framing: FramingProperties) -> tuple[str, bool]:
        return f"the rows of the last {self.per}, and of {self.per} before them", True

    def check(self, framing: FramingProperties) -> None:
        _check_no_missing(framing)


@dataclass(frozen=True)
class Cluster(FrameKind):
    """Rows so close together that chance would rarely bring them [Frames, appendix H].

    Given its first row, ``k`` rows within a duration ``d`` have the chance ``P(N >= k - 1)``, where
    N is Poisson with mean ``rate * d / per``. Of overlapping clusters the least likely is a frame.
    With a ``weight`` a row counts as that many events, and N is compared with the sum of the
    weights of the rows after the first.
    """

    p: float
    rate: float
    per: Length
    weight: object
    word: ClassVar[str] = "density"
    null_is_missing: ClassVar[bool] = False
    follows_schedule: ClassVar[bool] = False
    least_rows: ClassVar[int] = 2

    def __init__(self, p: object, rate: object, per: object, weight: object = None) -> None:
        object.__setattr__(self, "p", _between("p", p, 1.0, "a chance between 0 and 1"))
        object.__setattr__(self, "rate", _between("rate", rate, None, "rows per `per`, above 0"))
        object.__setattr__(self, "per", positive_length("per", per))
        object.__setattr__(self, "weight", weight)

    @property
    def lengths(self) -> tuple[Length, ...]:
        return (self.per,)

    @property
    def label(self) -> str:
        weight = "" if self.weight is None else f", weight={shown(self.weight)}"
        return f"density(p={self.p}, rate={self.rate}, per={self.per}{weight})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return () if self.weight is None else (Operand("weight", self.weight, "value"),)

    @property
    def own_columns(self) -> tuple[str, ...]:
        return ("chance",)

    def held_rows(self, framing: FramingProperties) -> tuple[str, bool]:
        return "the rows that may still be part of a cluster", True

    def check(self, framing: FramingProperties) -> None:
        check_points(self, framing)
        _check_no_missing(framing)
        if framing.max_duration is None and framing.max_count is None:
            raise ArgumentError(
                "max_duration",
                None,
                "a density of p and rate needs it, or ",
                Mention("max_count"),
                ": how long or large a frame may be",
            )
        if framing.max_count == 1:
            clash("density", "max_count", "a cluster has at least two rows")


@dataclass(frozen=True)
class Region(FrameKind):
    """Maximal rectangles of ``on`` and a second attribute in which a condition holds.

    ``along`` is the second attribute (a milepost), and ``min_extent`` the least extent of a region
    along it. Regions may overlap; ``prefer`` decides which of these are reported.
    """

    where: object
    along: str
    min_extent: Number | None
    prefer: Prefer
    word: ClassVar[str] = "region"

    def __init__(
        self, where: object, along: object, min_extent: object = None, prefer: object = "longest"
    ) -> None:
        if not isinstance(along, str) or not along:
            raise ArgumentError("along", along, "it must be the name of a number column")
        if prefer not in ("longest", "widest", "all"):
            raise ArgumentError("prefer", prefer, "it is 'longest', 'widest' or 'all'")
        extent = None if min_extent is None else positive("min_extent", min_extent)
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "along", along)
        object.__setattr__(self, "min_extent", extent)
        object.__setattr__(self, "prefer", prefer)

    @property
    def schemes(self) -> tuple[str, ...]:
        return ("unconstrained",) if self.prefer == "all" else ("disjoint",)

    @property
    def label(self) -> str:
        extent = "" if self.min_extent is None else f", min_extent={self.min_extent}"
        return f"region({shown(self.where)}, along={self.along}{extent}, prefer={self.prefer})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return Operand("where", self.where, "condition"), Operand("along", self.along, "column")

    @property
    def second_axis(self) -> str:
        return self.along

    @property
    def overlap_reason(self) -> str:
        return "prefer='all'"

    def held_rows(self, framing: FramingProperties) -> tuple[str, bool]:
        rows = "the rows of regions that are open or overlap open ones"
        return f"{rows}, and every position along that it had", framing.max_duration is not None

    def check(self, framing: FramingProperties) -> None:
        check_points(self, framing)
        if framing.combines_ties:
            clash("region", "ties", "its rows lie at two places; use 'first' or 'last'")
        if framing.has_schedule:
            clash("region", "schedule", "its columns are the values of `on` themselves")
        if framing.missing not in ("break", "satisfy"):
            clash("region", Mention("missing", shown(framing.missing)), "use 'break' or 'satisfy'")


def _check_no_missing(framing: FramingProperties) -> None:
    """Raise if missing rows should count: they add nothing to a density."""
    if framing.missing != "break":
        clash(
            "density",
            Mention("missing", shown(framing.missing)),
            "a missing row adds nothing to it",
        )


def _between(argument: str, value: object, below: float | None, expected: str) -> float:
    """Return a number above zero and below the bound, if there is one; raise otherwise."""
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        number = float(value) if usable else 0.0  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not 0 < number < (math.inf if below is None else below):
        raise ArgumentError(argument, value, f"it must be {expected}")
    return number
