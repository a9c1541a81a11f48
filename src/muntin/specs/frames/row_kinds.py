"""Kinds that look back at rows: dense in time or in a second attribute [Frames, appendix H]."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal

from muntin.errors import ArgumentError
from muntin.specs.frames.kinds import FrameKind, Sign, positive, shown
from muntin.specs.lengths import Length, Number, positive_length

Prefer = Literal["longest", "widest", "all"]


@dataclass(frozen=True)
class Density(FrameKind):
    """The union of the windows ``(v - per, v]`` in which an aggregate meets a condition.

    There is such a window for every row, ``v`` its ``on``. Windows that overlap or touch are one
    frame [Frames, appendix H].
    """

    aggregate: object
    sign: Sign
    limit: Decimal
    per: Length
    word: ClassVar[str] = "density"

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


@dataclass(frozen=True)
class Cluster(FrameKind):
    """Rows so close together that chance would rarely bring them [Frames, appendix H].

    Given its first row, ``k`` rows within a duration ``d`` have the chance ``P(N >= k - 1)``, where
    N is Poisson with mean ``rate * d / per``. Of clusters that overlap the least likely is a frame.
    """

    p: float
    rate: float
    per: Length
    word: ClassVar[str] = "density"

    def __init__(self, p: object, rate: object, per: object) -> None:
        object.__setattr__(self, "p", _between("p", p, 1.0, "a chance between 0 and 1"))
        object.__setattr__(self, "rate", _between("rate", rate, None, "rows per `per`, above 0"))
        object.__setattr__(self, "per", positive_length("per", per))

    @property
    def lengths(self) -> tuple[Length, ...]:
        return (self.per,)

    @property
    def label(self) -> str:
        return f"density(p={self.p}, rate={self.rate}, per={self.per})"


@dataclass(frozen=True)
class Region(FrameKind):
    """Maximal rectangles of ``on`` and a second attribute in which a condition holds.

    ``along`` is that attribute (a milepost), ``min_extent`` how far a region reaches along it at
    the least. Regions overlap; ``prefer`` says which of overlapping ones are reported.
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


def _between(argument: str, given: object, below: float | None, expected: str) -> float:
    usable = isinstance(given, int | float) and not isinstance(given, bool)
    if (
        not usable
        or not float(str(given)) > 0
        or (below is not None and float(str(given)) >= below)
    ):
        raise ArgumentError(argument, given, f"it must be {expected}")
    return float(str(given))
