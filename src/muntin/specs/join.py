"""Which rows a join reports: pairs, rows without a partner, or left rows by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from muntin.errors import ArgumentError, did_you_mean
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import Length, parse_length, positive_length
from muntin.specs.windows import origin_length

How = Literal["inner", "left", "right", "full", "semi", "anti"]
HOWS: tuple[How, ...] = get_args(How)


def checked(argument: str, given: object, choices: Sequence[str]) -> str:
    """Return one of some words; raise an error that lists them if it is another."""
    if isinstance(given, str) and given in choices:
        return given
    listed = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
    hint = did_you_mean(given, choices) if isinstance(given, str) else ""
    raise ArgumentError(argument, given, f"it is {listed}{hint}")


def pads_left(how: str) -> bool:
    """Return True if left rows without a partner are reported."""
    return how in ("left", "full", "anti")


def pads_right(how: str) -> bool:
    """Return True if right rows without a partner are reported."""
    return how in ("right", "full")


def left_only(how: str) -> bool:
    """Return True if left rows are reported by themselves, once."""
    return how in ("semi", "anti")


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
        """Return True if two values may match; the bounds are computed from the left one."""
        ticks = axis.length("within", self.within)
        before = ticks if self.direction != "forward" else 0
        after = ticks if self.direction != "backward" else 0
        low, high = moved(axis, left, -before), moved(axis, left, after)
        return bool(low <= comparable(axis, right) <= high)

    def __str__(self) -> str:
        where = "" if self.direction == "both" else f" {self.direction.upper()}"
        return f"{self.how.upper()} JOIN WITHIN {self.within}{where}"


def distance(argument: str, given: object) -> Length:
    """Return a length that may be zero."""
    length = parse_length(argument, given)
    if length.negative:
        raise ArgumentError(argument, given, "it is not negative; direction= says on which side")
    return length


def comparable(axis: Axis, value: Any) -> Any:
    """Return a value of ``on`` in a form that can be compared: a tick, or the double itself."""
    if axis.domain is Domain.DOUBLE:
        return float(value)
    tick = axis.tick(value)
    assert tick is not None  # rows without a place are refused on arrival
    return tick


def moved(axis: Axis, value: Any, ticks: int) -> Any:
    """Return a value moved by a number of ticks; doubles are added as doubles."""
    place = comparable(axis, value)
    if not isinstance(place, float):
        return place + ticks
    return place + ticks / 10**axis.digits if ticks else place


#: On which side of a left row its partner lies.
Towards = Literal["backward", "forward", "nearest"]


@dataclass(frozen=True)
class Asof:
    """The nearest right row at or before a left row, at or after it, or on either side.

    If both sides are equally near, it is the row before. A partner is at most ``tolerance`` away,
    if that is given. Unless ``exact``, a row with the same value is no partner.

    >>> print(Asof("5 minutes", "nearest", exact=False))
    ASOF NEAREST TOLERANCE 5 minutes NOT EXACT
    """

    tolerance: Length | None
    direction: Towards
    exact: bool

    def __init__(
        self, tolerance: object = None, direction: object = "backward", exact: bool = True
    ) -> None:
        length = None if tolerance is None else distance("tolerance", tolerance)
        object.__setattr__(self, "tolerance", length)
        object.__setattr__(self, "direction", checked("direction", direction, get_args(Towards)))
        if not isinstance(exact, bool):
            raise ArgumentError("exact", exact, "it is True or False")
        object.__setattr__(self, "exact", exact)
        if length is not None and not length.positive and not exact:
            raise ArgumentError(
                "tolerance", tolerance, "with exact=False nothing is so near; it is more than zero"
            )

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        return () if self.tolerance is None else (self.tolerance,)

    @property
    def backward(self) -> bool:
        """True if rows before a left row may be partners."""
        return self.direction != "forward"

    @property
    def forward(self) -> bool:
        """True if rows after a left row may be partners."""
        return self.direction != "backward"

    @property
    def waits_for_ever(self) -> bool:
        """True if a row may wait as long as its key is silent: no tolerance ends its wait."""
        return self.forward and self.tolerance is None

    def __str__(self) -> str:
        within = "" if self.tolerance is None else f" TOLERANCE {self.tolerance}"
        return f"ASOF {self.direction.upper()}{within}{'' if self.exact else ' NOT EXACT'}"


ZIPPER_HOWS = ("full", "inner", "left", "right")


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
        object.__setattr__(self, "how", checked("how", how, ZIPPER_HOWS))

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        origin = origin_length(self.origin)
        return (self.every,) if origin is None else (self.every, origin)

    def intervals(self, axis: Axis) -> tuple[int, int]:
        """Return the length of an interval and the start of one, in ticks."""
        every = axis.length("every", self.every)
        if self.origin is None:
            return every, axis.default_origin(every)
        return every, axis.point("origin", self.origin)

    def near(self, axis: Axis, left: Any, right: Any) -> bool:
        """Return True if two values lie in the same interval."""
        every, origin = self.intervals(axis)
        left_tick, right_tick = axis.tick(left), axis.tick(right)
        assert left_tick is not None and right_tick is not None  # such rows are refused on arrival
        return (left_tick - origin) // every == (right_tick - origin) // every

    def __str__(self) -> str:
        origin = "" if self.origin is None else f" ORIGIN {self.origin}"
        return f"{self.how.upper()} ZIPPER EVERY {self.every}{origin}"
