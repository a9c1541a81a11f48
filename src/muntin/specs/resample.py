"""Resampling: values at instants of one's own choice, made of the rows around them [AU-8].

The specification is a frozen value that checks itself; :class:`ResampleReference` is its meaning,
by looking at every row for every instant.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from muntin.errors import ArgumentError
from muntin.reference.windows import Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import CLOSED, Edge
from muntin.specs.join.distance import comparable
from muntin.specs.join.how import checked
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
        """The instants that are every so often."""
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
        """The axis for a column of this domain, fine enough for every length in play."""
        digits = digits_for(domain, scale, self.every, origin_length(self.origin), also)
        return Axis(domain, digits, zone)

    def grid(self, axis: Axis) -> Grid | None:
        """Where they lie, unless the rows say so."""
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
    """The grid of a length, anchored where windows are unless an origin is given."""
    ticks = axis.length("every", every)
    anchor = axis.default_origin(ticks) if origin is None else axis.point("origin", origin)
    return Grid(anchor, ticks)


@dataclass(frozen=True)
class ResampleReference:
    """Rows that were in time; of several in one place the greatest by ``ties`` counts.

    ``linear`` are the columns that lie on a line; all others are as at or before the instant.
    """

    spec: Resampling
    axis: Axis
    on: str
    by: Sequence[str]
    columns: Sequence[str]
    linear: Sequence[str] = ()
    ties: Sequence[str] = ()

    def run(self, rows: Sequence[Row], instants: Sequence[Row] | None = None) -> list[Row]:
        """A row for each instant of a key, of another stream if ``instants`` are given."""
        found: list[Row] = []
        asked = rows if instants is None else instants
        for key in dict.fromkeys(self._key(row) for row in asked):
            mine = self._places([row for row in rows if self._key(row) == key])
            if instants is None:
                wanted = list(self._grid(mine))
            else:
                wanted = sorted({self._at(row) for row in instants if self._key(row) == key})
            names = dict(zip(self.by, key, strict=True))
            found += [{**names, **self._made(instant, mine)} for instant in wanted]
        return found

    def _places(self, rows: Sequence[Row]) -> dict[Any, Row]:
        """One row for each place, in their order."""
        ordered = sorted(rows, key=lambda row: (self._at(row), self._ties(row)))
        return {self._at(row): row for row in ordered}

    def _grid(self, mine: Mapping[Any, Row]) -> Iterator[Any]:
        """The instants from the first row of a key to its last."""
        laid = self.spec.grid(self.axis)
        assert laid is not None  # without a grid the instants are given
        first, last = min(mine), max(mine)
        number = math.floor((self._tick(first) - laid.origin) / laid.every) - 1
        while (at := self._value(laid.origin + number * laid.every)) <= last:
            if at >= first:
                yield at
            number += 1

    def _made(self, at: Any, mine: Mapping[Any, Row]) -> Row:
        before = max((place for place in mine if place <= at), default=None)
        behind = min((place for place in mine if place >= at), default=None)
        far = self.spec.max_gap
        limit = math.inf if far is None else self._length(self.axis.length("max_gap", far))
        result: dict[str, Any] = {"at": at, "gap": True, **dict.fromkeys(self.columns)}
        if self.spec.how == "linear":
            if before is None or behind is None or behind - before > limit:
                return result
            return result | {"gap": False} | self._line(at, before, behind, mine)
        used = before
        if self.spec.how == "nearest" and behind is not None:
            used = behind if before is None or behind - at < at - before else before
        if used is None or abs(at - used) > limit:
            return result
        return result | {"gap": False} | {name: mine[used][name] for name in self.columns}

    def _line(self, at: Any, before: Any, behind: Any, mine: Mapping[Any, Row]) -> dict[str, Any]:
        made = {name: mine[before][name] for name in self.columns}
        for name in self.linear:
            low, high = mine[before][name], mine[behind][name]
            if before == behind:
                made[name] = None if low is None else float(low)
            elif low is None or high is None:
                made[name] = None
            else:
                share = float(at - before) / float(behind - before)
                made[name] = float(low) + (float(high) - float(low)) * share
        return made

    def _key(self, row: Row) -> tuple[Hashable, ...]:
        return tuple(row[name] for name in self.by)

    def _at(self, row: Row) -> Any:
        return comparable(self.axis, row[self.on])

    def _tick(self, place: Any) -> int:
        scale = 10**self.axis.digits if isinstance(place, float) else 1
        tick: int = math.floor(place * scale)
        return tick

    def _value(self, tick: int) -> Any:
        return comparable(self.axis, self.axis.value(tick))

    def _length(self, ticks: int) -> Any:
        return ticks / 10**self.axis.digits if self.axis.domain is Domain.DOUBLE else ticks

    def _ties(self, row: Row) -> tuple[Any, ...]:
        values = [row[name] for name in self.ties]
        return tuple((value is None, 0 if value is None else value) for value in values)
