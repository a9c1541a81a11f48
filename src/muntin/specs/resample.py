"""Resampling: values at chosen instants, made of the rows around them [AU-8].

The specification is a frozen value that checks itself. :mod:`muntin.reference.resample` defines
its meaning: it looks at every row for every instant.
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

#: How a value is computed from the rows around an instant.
Method = Literal["linear", "previous", "nearest"]


@dataclass(frozen=True)
class Resampling:
    """Instants on a grid of ``every``, or those of another stream if ``every`` is None.

    At an instant, ``previous`` has the value of the last row at or before it, and ``nearest`` that
    of the nearer row (the earlier one, if both are equally near). ``linear`` has the value on the
    line between the two rows. Without such rows the instant is a gap. It is also a gap if the row
    is more than ``max_gap`` away, or for ``linear`` if the two rows are that far apart.

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
        step = None if every is None else positive_length("every", every)
        far = None if max_gap is None else positive_length("max_gap", max_gap)
        if step is None and origin is not None:
            raise ArgumentError("origin", origin, "instants of another stream have none")
        object.__setattr__(self, "every", step)
        object.__setattr__(self, "how", checked("how", how, get_args(Method)))
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "max_gap", far)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        lengths = (self.every, self.max_gap, origin_length(self.origin))
        return tuple(length for length in lengths if length is not None)

    def grid(self, axis: Axis) -> Grid | None:
        """Return the grid of instants; None if another stream has them."""
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

    They lie on a grid between a key's first and last row. If ``every`` is None, they lie where the
    rows lie.
    """

    on: str
    every: Length | None = None
    origin: object = None

    @property
    def context(self) -> Context:
        """FCA: only the rows tell which instants there are."""
        return Context.FCA

    @property
    def edge(self) -> Edge:
        """Both rows that surround an instant belong to it."""
        return CLOSED

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        digits = digits_for(domain, scale, self.every, origin_length(self.origin), also)
        return Axis(domain, digits, zone)

    def grid(self, axis: Axis) -> Grid | None:
        """Return the grid of the instants; None if they lie where the rows lie."""
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
