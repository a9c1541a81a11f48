"""How the frames of a framing lie relative to each other: schemes by name [Frames 4.2]."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, PointLike
from muntin.specs.lengths import Length, LengthLike, parse_length, positive_length


@dataclass(frozen=True)
class Scheme:
    """How the frames of a framing lie relative to each other [Frames 4.2].

    >>> Scheme("adjacent", overlap="10 seconds").name
    'adjacent'
    """

    name: str
    overlap: Length | None = None
    fill: str | None = None

    def __init__(self, name: str, overlap: LengthLike | None = None, fill: object = None) -> None:
        names = ("disjoint", "partition", "advancing", "adjacent", "cover", "unconstrained")
        if name not in names:
            raise ArgumentError("scheme", name, f"the schemes are {', '.join(names)}")
        if (name == "adjacent") != (overlap is not None):
            raise ArgumentError(
                "scheme", name, "mt.adjacent('10 seconds') says how far they overlap"
            )
        fill = "drained" if fill is None and name == "cover" else fill
        if fill is not None and (name != "cover" or fill not in ("drained", "saturated")):
            raise ArgumentError("fill", fill, "a cover is 'drained' or 'saturated'")
        length = None if overlap is None else parse_length("overlap", overlap)
        if length is not None and length.negative:
            raise ArgumentError("overlap", overlap, "it must not be below zero")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "overlap", length)
        object.__setattr__(self, "fill", fill)

    @property
    def overlapping(self) -> bool:
        """True if a row may lie in several frames."""
        return self.name not in ("disjoint", "partition")

    def __str__(self) -> str:
        detail = next((str(part) for part in (self.overlap, self.fill) if part is not None), "")
        return f"{self.name}({detail})" if detail else self.name


def adjacent(overlap: LengthLike) -> Scheme:
    """Let each frame start ``overlap`` before the end of the one before it."""
    return Scheme("adjacent", overlap=overlap)


def cover(fill: str = "drained") -> Scheme:
    """Leave no row out: with the fewest frames (``drained``) or with all (``saturated``)."""
    return Scheme("cover", fill=fill)


@dataclass(frozen=True)
class Schedule:
    """When rows are due: one in each slot ``[origin + k * every, origin + (k + 1) * every)``.

    >>> print(Schedule("20 seconds"))
    every 20 seconds
    """

    every: Length
    origin: object

    def __init__(self, every: LengthLike, origin: object = None) -> None:
        object.__setattr__(self, "every", positive_length("schedule", every))
        object.__setattr__(self, "origin", origin)

    def period(self, axis: Axis) -> int:
        """Return a slot's length in ticks."""
        return axis.length("schedule", self.every)

    def start(self, axis: Axis) -> int:
        """Return the tick where slot 0 begins."""
        if self.origin is None:
            return axis.default_origin(self.period(axis))
        return axis.point("schedule", self.origin)

    def __str__(self) -> str:
        since = "" if self.origin is None else f" from {self.origin}"
        return f"every {self.every}{since}"


def schedule(every: LengthLike, origin: PointLike | None = None) -> Schedule:
    """Declare that one row is due in every slot of this length, from an origin or the epoch."""
    return Schedule(every, origin)
