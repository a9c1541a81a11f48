"""The distance join: rows of two streams that lie close to each other [AU-9].

A specification is a frozen value that checks itself; what it means for two values of ``on`` is
:meth:`Distance.near`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.join.how import HOWS, checked
from muntin.specs.lengths import Length, parse_length

#: On which side of a left row its partners lie.
Direction = Literal["both", "backward", "forward"]


@dataclass(frozen=True)
class Distance:
    """Left and right rows at most ``within`` apart, bounds inside.

    ``backward`` takes right rows at or before the left row, ``forward`` those at or after it.

    >>> print(Distance("5 minutes", "backward", "left"))
    LEFT JOIN WITHIN 5 minutes BACKWARD
    >>> Distance(-1)
    Traceback (most recent call last):
    ...
    muntin.errors.ArgumentError: within=-1 cannot be used: it is not negative; ...
    """

    within: Length
    direction: Direction
    how: str

    def __init__(self, within: object, direction: object = "both", how: object = "inner") -> None:
        object.__setattr__(self, "within", distance("within", within))
        object.__setattr__(self, "direction", checked("direction", direction, get_args(Direction)))
        object.__setattr__(self, "how", checked("how", how, HOWS))

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        return (self.within,)

    def near(self, axis: Axis, left: Any, right: Any) -> bool:
        """Whether two values may match; the bounds are computed from the left one."""
        ticks = axis.length("within", self.within)
        before = ticks if self.direction != "forward" else 0
        after = ticks if self.direction != "backward" else 0
        low, high = moved(axis, left, -before), moved(axis, left, after)
        return bool(low <= comparable(axis, right) <= high)

    def __str__(self) -> str:
        where = "" if self.direction == "both" else f" {self.direction.upper()}"
        return f"{self.how.upper()} JOIN WITHIN {self.within}{where}"


def distance(argument: str, given: object) -> Length:
    """A length that may be zero."""
    length = parse_length(argument, given)
    if length.negative:
        raise ArgumentError(argument, given, "it is not negative; direction= says on which side")
    return length


def comparable(axis: Axis, value: Any) -> Any:
    """A value of ``on`` as something that can be compared: a tick, or the double itself."""
    if axis.domain is Domain.DOUBLE:
        return float(value)
    tick = axis.tick(value)
    assert tick is not None  # rows without a place are refused on arrival
    return tick


def moved(axis: Axis, value: Any, ticks: int) -> Any:
    """A value moved by so many ticks; doubles are added as doubles."""
    made = comparable(axis, value)
    if not isinstance(made, float):
        return made + ticks
    return made + ticks / 10**axis.digits if ticks else made
