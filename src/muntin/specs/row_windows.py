"""Windows over the rows of a key in their order: by count, by row, by landmark, by gap.

Where :mod:`muntin.specs.windows` lays edges on an axis ahead of the data, these windows are
known only from the rows: their ranks, their own values, or the gaps between them. A
specification is a frozen value that checks itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import Length, parse_length, positive_length
from muntin.specs.windows import Context, Edges, column_name, digits_for, origin_length

Order = Literal["on", "arrival"]


@dataclass(frozen=True)
class RowWindow:
    """RANGE and SLIDE counted in rows [Window-ids 3.2, Q2 and Q4].

    Ranks count from 0 within the partition. Window ``w`` holds the ranks
    ``[max(0, (w + 1) * slide - range), (w + 1) * slide)``. With ``within`` it holds only those of
    these rows whose ``on`` is above the ``on`` of its last row minus ``within``. With ``forget``
    ranks begin at 0 again after a gap of more than that. Windows of fewer than ``min_rows`` rows
    are not reported.

    >>> print(RowWindow(1000, 10, "ts"))
    RANGE 1000 rows SLIDE 10 rows WATTR rank(ts)
    >>> RowWindow(1000, 10, "ts").context.name
    'FCU'
    """

    range: int
    slide: int
    on: str
    within: Length | None
    order: Order
    forget: Length | None = None
    min_rows: int = 1

    def __init__(
        self,
        range: object,
        slide: object,
        on: str,
        within: object = None,
        order: object = "on",
        forget: object = None,
        min_rows: object = 1,
    ) -> None:
        object.__setattr__(self, "range", row_count("range", range))
        object.__setattr__(self, "min_rows", row_count("min_rows", min_rows))
        if self.min_rows > self.range:
            expected = f"a window has at most range={range} rows, so none would be reported"
            raise ArgumentError("min_rows", min_rows, expected)
        object.__setattr__(self, "slide", row_count("slide", slide))
        object.__setattr__(self, "on", column_name("on", on))
        bound = None if within is None else positive_length("within", within)
        object.__setattr__(self, "within", bound)
        object.__setattr__(self, "order", row_order(order))
        gap = None if forget is None else positive_length("forget", forget)
        object.__setattr__(self, "forget", gap)
        if gap is not None and order == "arrival":
            raise ArgumentError(
                "forget",
                forget,
                "a gap is one along `on`, and rows in order of arrival go to and fro; use "
                "order='on'",
            )
        if bound is not None and order == "arrival":
            raise ArgumentError(
                "within",
                within,
                "rows in order of arrival have no last `on` to count back from; use order='on'",
            )

    @property
    def context(self) -> Context:
        """FCF by arrival. FCU by ``on``, because any later row may still push a row's rank up."""
        return Context.FCF if self.order == "arrival" else Context.FCU

    @property
    def edges(self) -> Edges:
        """The windows as edges on the ranks."""
        return Edges(self.range, self.slide, origin=0, clipped=True)

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        return Axis(domain, digits_for(domain, scale, self.within, self.forget, also), zone)

    def __str__(self) -> str:
        attribute = "row-num" if self.order == "arrival" else f"rank({self.on})"
        bound = "" if self.within is None else f" WITHIN {self.within}"
        bound += "" if self.forget is None else f" FORGET {self.forget}"
        bound += "" if self.min_rows == 1 else f" OF AT LEAST {_rows(self.min_rows)}"
        return f"RANGE {_rows(self.range)} SLIDE {_rows(self.slide)} WATTR {attribute}{bound}"


@dataclass(frozen=True)
class TupleWindow:
    """A window ``(v - range, v]`` that ends at every n-th row [Window-ids 3.2, Q3 and Q5].

    >>> print(TupleWindow("300 seconds", "ts", every=5))
    RANGE 5 minutes RATTR ts SLIDE 5 rows SATTR rank(ts)
    """

    range: Length
    on: str
    every: int
    order: Order

    def __init__(self, range: object, on: str, every: object = 1, order: object = "on") -> None:
        object.__setattr__(self, "range", positive_length("range", range))
        object.__setattr__(self, "on", column_name("on", on))
        object.__setattr__(self, "every", row_count("every", every))
        object.__setattr__(self, "order", row_order(order))

    @property
    def context(self) -> Context:
        """FCB: the windows of a row end at later rows, but within its range; by rank FCU."""
        return Context.FCU if self.every > 1 and self.order == "on" else Context.FCB

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        return Axis(domain, digits_for(domain, scale, self.range, also), zone)

    def __str__(self) -> str:
        attribute = "row-num" if self.order == "arrival" else f"rank({self.on})"
        return f"RANGE {self.range} RATTR {self.on} SLIDE {_rows(self.every)} SATTR {attribute}"


@dataclass(frozen=True)
class SlideOnWindow:
    """RANGE on one attribute, SLIDE on another that rises with it [Window-ids 3.2].

    The slide attribute is cut at ``origin + k * slide``. The last row of every such stretch,
    with ``on = v``, ends a window ``(v - range, v]``.
    """

    range: Length
    slide: Length
    on: str
    slide_on: str
    origin: object

    def __init__(
        self, range: object, slide: object, on: str, slide_on: str, origin: object = None
    ) -> None:
        object.__setattr__(self, "range", positive_length("range", range))
        object.__setattr__(self, "slide", positive_length("slide", slide))
        object.__setattr__(self, "on", column_name("on", on))
        object.__setattr__(self, "slide_on", column_name("slide_on", slide_on))
        object.__setattr__(self, "origin", origin)

    @property
    def context(self) -> Context:
        """FCB: the windows of a row end at later rows, but within its range."""
        return Context.FCB

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis of the range attribute."""
        return Axis(domain, digits_for(domain, scale, self.range, also), zone)

    def slide_axis(self, domain: Domain, *, scale: int, zone: str) -> Axis:
        """Return the axis of the slide attribute."""
        digits = digits_for(domain, scale, self.slide, origin_length(self.origin))
        return Axis(domain, digits, zone)

    def slide_origin(self, axis: Axis) -> int:
        """Return the tick from which the slide attribute is cut."""
        if self.origin is not None:
            return axis.point("origin", self.origin)
        return axis.default_origin(axis.length("slide", self.slide))

    def __str__(self) -> str:
        origin = "" if self.origin is None else f" ORIGIN {self.origin}"
        return (
            f"RANGE {self.range} RATTR {self.on} SLIDE {self.slide} SATTR {self.slide_on}{origin}"
        )


@dataclass(frozen=True)
class Landmarks:
    """Windows that start at the latest landmark: given, where a condition holds, or the first row.

    Between two landmarks there is a window for every ``slide`` that has passed; the last of them
    ends at the next landmark. Without a slide there is only that last window.
    """

    on: str
    slide: Length | None
    origins: tuple[object, ...]
    start: str | None
    first: bool

    def __init__(
        self,
        on: str,
        slide: object = None,
        origins: Sequence[object] = (),
        start: str | None = None,
        first: bool = False,
    ) -> None:
        object.__setattr__(self, "on", column_name("on", on))
        length = None if slide is None else positive_length("slide", slide)
        object.__setattr__(self, "slide", length)
        object.__setattr__(self, "origins", tuple(origins))
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "first", first)
        if bool(self.origins) + (start is not None) + first != 1:
            raise ArgumentError(
                "origin",
                origins,
                "give landmarks (origin=[...]), origin='first' or a condition (start='...')",
            )
        if start is not None and not start.strip():
            raise ArgumentError("start", start, "it is a condition such as \"kind = 'open'\"")

    @property
    def context(self) -> Context:
        """CF if landmarks are given. Else FCF, because earlier rows decide a row's landmark."""
        return Context.CF if self.origins else Context.FCF

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        lengths = [origin_length(origin) for origin in self.origins]
        return Axis(domain, digits_for(domain, scale, self.slide, also, *lengths), zone)

    def points(self, axis: Axis) -> tuple[int, ...]:
        """Return the given landmarks as ticks, which must rise."""
        ticks = tuple(axis.point("origin", origin) for origin in self.origins)
        if any(second <= first for first, second in itertools.pairwise(ticks)):
            raise ArgumentError("origin", list(self.origins), "landmarks must rise")
        return ticks

    def __str__(self) -> str:
        where = ", ".join(map(str, self.origins)) if self.origins else f"WHERE {self.start}"
        where = "FIRST" if self.first else where
        slide = "" if self.slide is None else f" SLIDE {self.slide}"
        return f"LANDMARK {where}{slide} WATTR {self.on}"


@dataclass(frozen=True)
class Session:
    """Rows that follow each other within a gap: ``[first, last + gap)``, as Spark's.

    ``gap`` is a length for all rows, or None if every row has its own.
    """

    on: str
    gap: Length | None
    label: str = ""

    def __init__(self, on: str, gap: object = None, label: str = "") -> None:
        object.__setattr__(self, "on", column_name("on", on))
        length = None if gap is None else positive_length("gap", gap)
        object.__setattr__(self, "gap", length)
        object.__setattr__(self, "label", label)

    @property
    def context(self) -> Context:
        """FCU: later rows decide how far a session goes."""
        return Context.FCU

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        return Axis(domain, digits_for(domain, scale, self.gap, also), zone)

    def __str__(self) -> str:
        return f"SESSION GAP {self.label if self.gap is None else self.gap} WATTR {self.on}"


SequenceSpec = RowWindow | TupleWindow | SlideOnWindow | Landmarks | Session


def row_count(argument: str, given: object) -> int:
    """Return a number of rows: whole and above zero."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        hint = ""
        if isinstance(given, str):
            parse_length(argument, given)
            hint = "; for a length of time use .window(...)"
        raise ArgumentError(argument, given, f"it counts rows: a whole number above zero{hint}")
    if given >= 2**31:
        raise ArgumentError(argument, given, "a window holds fewer than 2**31 rows")
    return given


def row_order(given: object) -> Order:
    """Return the order by which rows are ranked; raise if there is no such order."""
    if given == "on":
        return "on"
    if given == "arrival":
        return "arrival"
    raise ArgumentError("order", given, "it is 'on' or 'arrival'")


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
