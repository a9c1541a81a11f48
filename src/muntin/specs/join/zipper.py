"""The zipper: two streams laid side by side, interval by interval [FJ-15]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from muntin.specs.axis import Axis
from muntin.specs.join.how import checked
from muntin.specs.lengths import Length, positive_length
from muntin.specs.windows import origin_length

HOWS = ("full", "inner", "left", "right")


@dataclass(frozen=True)
class Zipper:
    """Rows of both sides in the same interval ``[o + n * every, o + (n + 1) * every)``.

    ``n`` runs over all integers. Without an origin *o* is that of windows: the Unix epoch, read in
    the session's time zone for whole days, or 0.

    >>> print(Zipper("1 minute"))
    FULL ZIPPER EVERY 1 minute
    """

    every: Length
    origin: object
    how: str

    def __init__(self, every: object, origin: object = None, how: object = "full") -> None:
        object.__setattr__(self, "every", positive_length("every", every))
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "how", checked("how", how, HOWS))

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        origin = origin_length(self.origin)
        return (self.every,) if origin is None else (self.every, origin)

    def intervals(self, axis: Axis) -> tuple[int, int]:
        """How long an interval is and where one begins, in ticks."""
        every = axis.length("every", self.every)
        if self.origin is None:
            return every, axis.default_origin(every)
        return every, axis.point("origin", self.origin)

    def near(self, axis: Axis, left: Any, right: Any) -> bool:
        """Whether two values lie in the same interval."""
        every, origin = self.intervals(axis)
        one, other = axis.tick(left), axis.tick(right)
        assert one is not None and other is not None  # such rows are refused on arrival
        return (one - origin) // every == (other - origin) // every

    def __str__(self) -> str:
        origin = "" if self.origin is None else f" ORIGIN {self.origin}"
        return f"{self.how.upper()} ZIPPER EVERY {self.every}{origin}"
