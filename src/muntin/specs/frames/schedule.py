"""When rows are due, so that one that did not come is missing [Frames, appendix F]."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.specs.axis import Axis
from muntin.specs.lengths import Length, positive_length


@dataclass(frozen=True)
class Schedule:
    """When rows are due: one in each slot ``[origin + k * every, origin + (k + 1) * every)``.

    >>> print(Schedule("20 seconds"))
    every 20 seconds
    """

    every: Length
    origin: object

    def __init__(self, every: object, origin: object = None) -> None:
        object.__setattr__(self, "every", positive_length("schedule", every))
        object.__setattr__(self, "origin", origin)

    def period(self, axis: Axis) -> int:
        """A slot's length in ticks."""
        return axis.length("schedule", self.every)

    def start(self, axis: Axis) -> int:
        """The tick where slot 0 begins."""
        if self.origin is None:
            return axis.default_origin(self.period(axis))
        return axis.point("schedule", self.origin)

    def __str__(self) -> str:
        since = "" if self.origin is None else f" from {self.origin}"
        return f"every {self.every}{since}"


def schedule(every: object, origin: object = None) -> Schedule:
    """One row is due in every slot of this length, counted from an origin (default: the epoch)."""
    return Schedule(every, origin)
