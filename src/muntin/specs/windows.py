"""Windows over values: what the user asked for, checked on construction.

A specification is a frozen value and knows nothing of a DataFrame. :meth:`Window.edges` lays it on
the axis of a column and returns the integers that every driver computes with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain, decimals_needed
from muntin.specs.calendar import CalendarEdges, CalendarLength, calendar_length
from muntin.specs.edges import Edges as Edges
from muntin.specs.lengths import Length, parse_length, positive_length

Unfinished = Literal["keep", "drop", "flag"]
_CALENDAR_UNITS = re.compile(r"\s*(\d{1,4})\s+(month|year)s?\s*", re.IGNORECASE)


class Context(Enum):
    """What ``wids`` must know besides the row itself [Window-ids 4].

    >>> Context.CF.forward_context_free
    True
    """

    CF = "context free"
    FCF = "forward-context free"
    FCA = "forward-context aware"
    FCB = "forward-context bounded"
    FCU = "forward-context unbounded"

    @property
    def forward_context_free(self) -> bool:
        """True for CF as well, which is a kind of FCF; FCB and FCU are kinds of FCA."""
        return self in (Context.CF, Context.FCF)


@dataclass(frozen=True)
class Window:
    """RANGE, SLIDE and WATTR [Window-ids 3.2]: ``[end - range, end)`` every ``slide``.

    Without an origin, windows are counted from the epoch or zero, in both directions. With an
    origin they start there: starts are clipped to it and rows before it are refused.

    >>> Window(range="5 minutes", slide="1 minute", on="ts").context.name
    'CF'
    >>> Window(range=0, slide=1, on="x")
    Traceback (most recent call last):
    ...
    muntin.errors.ArgumentError: range=0 cannot be used: it must be longer than zero, ...
    """

    range: Length | CalendarLength
    slide: Length | CalendarLength
    on: str
    origin: object = None

    def __init__(self, range: object, slide: object, on: str, origin: object = None) -> None:
        object.__setattr__(self, "range", _window_length("range", range))
        object.__setattr__(self, "slide", _window_length("slide", slide))
        object.__setattr__(self, "on", column_name("on", on))
        object.__setattr__(self, "origin", origin)
        if _unit_of(self.range) != _unit_of(self.slide):
            raise ArgumentError(
                "slide",
                slide,
                f"range={range!r} and slide must both count the same calendar unit, such as "
                "range='3 calendar months', slide='1 calendar month'",
            )
        if type(self.range) is not type(self.slide):
            raise ArgumentError(
                "slide", slide, f"range={range!r} and slide must both be durations or both numbers"
            )

    @classmethod
    def tumbling(cls, length: object, on: str, origin: object = None) -> Window:
        """Return windows with RANGE equal to SLIDE, so that every row lies in exactly one."""
        _window_length("length", length)
        return cls(length, length, on, origin)

    @property
    def context(self) -> Context:
        """CF: the windows of a row follow from the row and the specification alone."""
        return Context.CF

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        lengths = [
            length for length in (self.range, self.slide) if not isinstance(length, CalendarLength)
        ]
        digits = digits_for(domain, scale, *lengths, origin_length(self.origin), also)
        return Axis(domain, digits, zone)

    @property
    def by_calendar(self) -> bool:
        """True if the windows are made of calendar days, weeks or months."""
        return isinstance(self.slide, CalendarLength)

    def edges(self, axis: Axis) -> Edges:
        if isinstance(self.range, CalendarLength):
            return self._calendar_edges(axis)
        assert not isinstance(self.slide, CalendarLength)  # the constructor has compared them
        slide = axis.length("slide", self.slide)
        has_origin = self.origin is not None
        return Edges(
            range=axis.length("range", self.range),
            slide=slide,
            origin=axis.point("origin", self.origin) if has_origin else axis.default_origin(slide),
            clipped=has_origin,
        )

    def _calendar_edges(self, axis: Axis) -> Edges:
        assert isinstance(self.range, CalendarLength)
        assert isinstance(self.slide, CalendarLength)
        if not axis.domain.temporal:
            expected = f"calendar units need a date or a timestamp, and {self.on} is {axis.domain}"
            raise ArgumentError("range", str(self.range), expected)
        edges = CalendarEdges(
            range=self.range.count,
            slide=self.slide.count,
            origin=0,
            clipped=self.origin is not None,
            unit=self.slide.unit,
            axis=axis,
        )
        if self.origin is None:
            return edges
        tick = axis.point("origin", self.origin)
        number = edges.unit_number(tick)
        if edges.unit_start(number) != tick:
            expected = f"it must be where a calendar {self.slide.unit} begins in {axis.zone}"
            raise ArgumentError("origin", self.origin, expected)
        return replace(edges, origin=number)

    def __str__(self) -> str:
        origin = "" if self.origin is None else f" ORIGIN {self.origin}"
        return f"RANGE {self.range} SLIDE {self.slide} WATTR {self.on}{origin}"


@dataclass(frozen=True)
class Landmark:
    """Windows that all start at one landmark; each ends a slide later than the one before."""

    slide: Length
    on: str
    origin: object

    def __init__(self, slide: object, on: str, origin: object) -> None:
        object.__setattr__(self, "slide", positive_length("slide", slide))
        object.__setattr__(self, "on", column_name("on", on))
        object.__setattr__(self, "origin", origin)
        if origin is None:
            raise ArgumentError(
                "origin", None, "a landmark window needs its landmark, such as origin='2026-01-01'"
            )

    @property
    def context(self) -> Context:
        """CF: with a fixed landmark a row lies in every window that ends after it."""
        return Context.CF

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        digits = digits_for(domain, scale, self.slide, origin_length(self.origin), also)
        return Axis(domain, digits, zone)

    def edges(self, axis: Axis) -> Edges:
        slide = axis.length("slide", self.slide)
        origin = axis.point("origin", self.origin)
        return Edges(range=slide, slide=slide, origin=origin, clipped=True, landmark=True)

    def __str__(self) -> str:
        return f"LANDMARK {self.origin} SLIDE {self.slide} WATTR {self.on}"


@dataclass(frozen=True)
class Latch:
    """Tumbling windows that keep earlier rows: each holds all rows up to its end [AV-10].

    >>> print(Latch("1 hour", "ts"))
    LATCH 1 hour WATTR ts
    """

    every: Length
    on: str
    origin: object

    def __init__(self, every: object, on: str, origin: object = None) -> None:
        object.__setattr__(self, "every", positive_length("every", every))
        object.__setattr__(self, "on", column_name("on", on))
        object.__setattr__(self, "origin", origin)

    @property
    def context(self) -> Context:
        """CF: a row lies in every window that ends after it."""
        return Context.CF

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        digits = digits_for(domain, scale, self.every, origin_length(self.origin), also)
        return Axis(domain, digits, zone)

    def edges(self, axis: Axis) -> Edges:
        tumbling = Window.tumbling(self.every, self.on, self.origin).edges(axis)
        return replace(tumbling, landmark=True, latch=True)

    def __str__(self) -> str:
        origin = "" if self.origin is None else f" ORIGIN {self.origin}"
        return f"LATCH {self.every}{origin} WATTR {self.on}"


WindowSpec = Window | Landmark | Latch


def _window_length(argument: str, given: object) -> Length | CalendarLength:
    """Return how long a window is, or how far apart windows are."""
    named = _CALENDAR_UNITS.fullmatch(given) if isinstance(given, str) else None
    if named is not None:
        count = 12 * int(named[1]) if named[2].lower() == "year" else int(named[1])
        expected = f"it has no fixed length; say '{CalendarLength(count, 'month')}', or use days"
        raise ArgumentError(argument, given, expected)
    return calendar_length(argument, given) or positive_length(argument, given)


def _unit_of(length: Length | CalendarLength) -> str | None:
    return length.unit if isinstance(length, CalendarLength) else None


def column_name(argument: str, given: object) -> str:
    """Return the name of a column; raise if it is not a non-empty string."""
    if not isinstance(given, str) or not given:
        raise ArgumentError(argument, given, "it must be the name of a column")
    return given


def column_names(argument: str, given: object) -> tuple[str, ...]:
    """Return the names of columns: one, several, or none."""
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence):
        raise ArgumentError(argument, given, "it must be a column name or several")
    return tuple(column_name(argument, name) for name in names)


def unfinished_policy(given: object) -> Unfinished:
    """Return the policy for windows whose end lies beyond the data when the input ends."""
    if given not in ("keep", "drop", "flag"):
        raise ArgumentError("unfinished", given, "it is 'keep', 'drop' or 'flag'")
    return given


def digits_for(domain: Domain, scale: int, *lengths: Length | None) -> int:
    """Return the decimals an axis of this domain needs for a column's scale and some lengths."""
    if domain in (Domain.DECIMAL, Domain.DOUBLE):
        return decimals_needed(scale, *lengths)
    return 0


def origin_length(origin: object) -> Length | None:
    """Return an origin that is a number as a length, because the axis must have its decimals."""
    if origin is None:
        return None
    try:
        return parse_length("origin", origin)
    except ArgumentError:
        return None  # a timestamp; Axis.point reads it, or raises
