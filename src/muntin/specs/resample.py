"""Resampling: values at instants of one's own choice, made of the rows around them [AU-8].

The specification is a frozen value that checks itself; :class:`ResampleReference` is its meaning,
by looking at every row for every instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import CLOSED, Edge
from muntin.specs.join import checked
from muntin.specs.lengths import Length, positive_length
from muntin.specs.windows import Context, digits_for, origin_length

#: How a value is made of the rows around an instant.
Method = Literal["linear", "previous", "nearest"]


@dataclass(frozen=True)
class Resampling:
    """Instants every so often, or those of another stream where ``every`` is not given.

    At an instant ``previous`` has the last row at or before it, ``nearest`` the nearer one (the
    earlier, if both are as near), and ``linear`` lies on the line between the two. It is a gap
    where there are no such rows, or they are more than ``max_gap`` away; of ``linear``, from each
    other.

    >>> print(Resampling("1 minute", max_gap="5 minutes"))
    RESAMPLE LINEAR EVERY 1 minute MAX GAP 5 minutes
    """

    every: Length | None
    how: Method
    origin: object
    max_gap: Length | None

    def __init__(
        self,
        every: object = None,
        how: object = "linear",
        origin: object = None,
        max_gap: object = None,
    ) -> None:
        given = None if every is None else positive_length("every", every)
        far = None if max_gap is None else positive_length("max_gap", max_gap)
        if given is None and origin is not None:
            raise ArgumentError("origin", origin, "instants of another stream have none")
        object.__setattr__(self, "every", given)
        object.__setattr__(self, "how", checked("how", how, get_args(Method)))
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "max_gap", far)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        found = (self.every, self.max_gap, origin_length(self.origin))
        return tuple(length for length in found if length is not None)

    def grid(self, axis: Axis) -> Grid | None:
        """Return the instants that are every so often."""
        if self.every is None:
            return None
        return grid(axis, self.every, self.origin)

    def __str__(self) -> str:
        every = "" if self.every is None else f" EVERY {self.every}"
        origin = "" if self.origin is None else f" ORIGIN {self.origin}"
        far = "" if self.max_gap is None else f" MAX GAP {self.max_gap}"
        return f"RESAMPLE {self.how.upper()}{every}{origin}{far}"


@dataclass(frozen=True)
class Instants:
    """Instants to be filled with the rows around them.

    On a grid between a key's first and last row or, where ``every`` is not given, where rows lie.
    """

    on: str
    every: Length | None = None
    origin: object = None

    @property
    def context(self) -> Context:
        """FCA: which instants there are is known from rows alone."""
        return Context.FCA

    @property
    def edge(self) -> Edge:
        """Rows at both ends of what surrounds an instant belong to it."""
        return CLOSED

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        digits = digits_for(domain, scale, self.every, origin_length(self.origin), also)
        return Axis(domain, digits, zone)

    def grid(self, axis: Axis) -> Grid | None:
        """Return where they lie, unless the rows have their own places."""
        return None if self.every is None else grid(axis, self.every, self.origin)

    def __str__(self) -> str:
        every = "" if self.every is None else f" EVERY {self.every}"
        origin = "" if self.origin is None else f" ORIGIN {self.origin}"
        return f"INSTANTS{every}{origin} WATTR {self.on}"


@dataclass(frozen=True)
class Grid:
    """Ticks ``origin + n * every``, for all whole numbers n."""

    origin: int
    every: int


def grid(axis: Axis, every: Length, origin: object) -> Grid:
    """Return the grid of a length, anchored where windows are unless an origin is given."""
    ticks = axis.length("every", every)
    anchor = axis.default_origin(ticks) if origin is None else axis.point("origin", origin)
    return Grid(anchor, ticks)
