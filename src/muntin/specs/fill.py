"""Filling: which rows of a source belong to a frame or a window [Frames 2 and 4.5].

A frame is a pair of bounds. It is filled with the rows of any stream or table that lie between
them. A fill may extend the bounds, shrink them or shift them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import Length, parse_length
from muntin.specs.may_change import MAY_CHANGE
from muntin.specs.windows import Context, digits_for

#: What happens to a frame or window without filling rows: it is reported, or dropped.
Empty = Literal["keep", "drop"]


@dataclass(frozen=True)
class Edge:
    """Whether a row that lies exactly on a bound is inside."""

    start: bool = True
    end: bool = True


#: CLOSED has both bounds inside, OPEN none, HALF_OPEN only the start, LEFT_OPEN only the end.
CLOSED, OPEN, HALF_OPEN, LEFT_OPEN = Edge(), Edge(False, False), Edge(True, False), Edge(False)


@dataclass(frozen=True)
class Filling:
    """Fill with rows from ``start - before`` to ``end + after``, both moved by each ``shift``.

    ``shrink`` moves both bounds inwards. If a frame is reported in fragments, ``before`` applies to
    the first fragment and ``after`` to the last.
    """

    before: object = None
    after: object = None
    shrink: object = None
    shift: object = None
    #: It is applied to results, so the state does not depend on it.
    empty: Empty = field(default="keep", metadata=MAY_CHANGE)
    shifts: tuple[Length | None, ...] = field(init=False)
    #: The shifts as the user wrote them; in results they name the shift of a row.
    labels: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("before", "after", "shrink"):
            object.__setattr__(self, name, _length(name, getattr(self, name)))
        many = isinstance(self.shift, list | tuple)
        shifts: Sequence[object] = self.shift if many else [self.shift]  # type: ignore[assignment]
        if not shifts:
            raise ArgumentError("shift", self.shift, "name at least one, such as '-7 days'")
        lengths = tuple(None if shift is None else parse_length("shift", shift) for shift in shifts)
        if len(set(lengths)) != len(lengths):
            raise ArgumentError("shift", self.shift, "it names a length twice")
        object.__setattr__(self, "shifts", lengths)
        pairs = zip(shifts, lengths, strict=True)
        written = tuple(shift.strip() if isinstance(shift, str) else str(n) for shift, n in pairs)
        object.__setattr__(self, "labels", written)
        object.__setattr__(self, "shift", lengths if many else lengths[0])
        if self.shrink is not None and (self.before is not None or self.after is not None):
            raise ArgumentError(
                "shrink", str(self.shrink), "shrink and before or after contradict each other"
            )
        if self.empty not in ("keep", "drop"):
            raise ArgumentError("empty", self.empty, "it is 'keep' or 'drop'")

    @property
    def compares(self) -> bool:
        """True if there is one result for each of several shifts."""
        return isinstance(self.shift, tuple)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        lengths = (self.before, self.after, self.shrink, *self.shifts)
        return tuple(length for length in lengths if length is not None)  # type: ignore[misc]

    def __str__(self) -> str:
        parts = [
            f"{word.upper()} {getattr(self, word)}"
            for word in ("before", "after", "shrink")
            if getattr(self, word) is not None
        ]
        moved = ", ".join(str(length) for length in self.shifts if length is not None)
        return " ".join([*parts, *([f"SHIFT {moved}"] if moved else [])]) or "as it is"


def _length(argument: str, value: object) -> Length | None:
    if value is None:
        return None
    length = parse_length(argument, value)
    if length.negative:
        other = {"before": "shrink or after", "after": "shrink or before", "shrink": "before"}
        raise ArgumentError(
            argument, value, f"it is not negative; {other[argument]} or shift may be meant"
        )
    return length


@dataclass(frozen=True)
class StoredFramesSpec:
    """Frames from a table: ``on`` is the column where they begin, ``end`` where they end.

    ``names`` are these two columns in results, because windows can be stored as well. If ``first``
    is given, results begin with those columns. Regions have the columns ``along``, with their
    bounds along a second attribute.
    """

    on: str
    end: str
    edge: Edge = CLOSED
    names: tuple[str, str] = ("frame_start", "frame_end")
    first: tuple[str, ...] = ()
    along: tuple[str, str] | None = None

    @property
    def context(self) -> Context:
        """FCA: only the rows tell which frames there are."""
        return Context.FCA

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        return Axis(domain, digits_for(domain, scale, also), zone)

    def __str__(self) -> str:
        left, right = "[" if self.edge.start else "(", "]" if self.edge.end else ")"
        along = "" if self.along is None else f" ALONG [{', '.join(self.along)}]"
        return f"FRAMES {left}{self.on}, {self.end}{right}{along}"
