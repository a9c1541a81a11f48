"""Joins straight from their definition: every left row is compared with every right row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.reference.windows import Row
from muntin.specs.axis import Axis
from muntin.specs.join import (
    Asof,
    Distance,
    Zipper,
    comparable,
    left_only,
    moved,
    pads_left,
    pads_right,
)

#: A left row and a right row; None for a partner that is missing.
Pair = tuple[Row | None, Row | None]


@dataclass(frozen=True)
class JoinReference:
    """Joins rows that were in time by their keys ``by`` and by their places."""

    spec: Distance | Zipper
    axis: Axis
    on: str
    by: Sequence[str]
    where: Callable[[Row, Row], bool | None] = lambda left, right: True

    def matches(self, left: Row, right: Row) -> bool:
        """Return True if rows match: null keys are equal, a null condition is no match."""
        return (
            all(left[name] == right[name] for name in self.by)
            and self.spec.near(self.axis, left[self.on], right[self.on])
            and self.where(left, right) is True
        )

    def run(self, left: Sequence[Row], right: Sequence[Row]) -> list[Pair]:
        how = self.spec.how
        pairs = [
            (place, other)
            for place, left_row in enumerate(left)
            for other, row in enumerate(right)
            if self.matches(left_row, row)
        ]
        met, met_right = {place for place, _ in pairs}, {other for _, other in pairs}
        if how == "semi":
            return [(row, None) for place, row in enumerate(left) if place in met]
        reported: list[Pair] = []
        if not left_only(how):
            reported += [(left[place], right[other]) for place, other in pairs]
        if pads_left(how):
            reported += [(row, None) for place, row in enumerate(left) if place not in met]
        if pads_right(how):
            reported += [(None, row) for place, row in enumerate(right) if place not in met_right]
        return reported


@dataclass(frozen=True)
class AsofReference:
    """Joins rows that were in time; of right rows in one place the greatest by ``ties`` counts.

    A null tie is greater than any other.
    """

    spec: Asof
    axis: Axis
    on: str
    by: Sequence[str]
    ties: Sequence[str] = ()

    def run(self, left: Sequence[Row], right: Sequence[Row]) -> list[tuple[Row, Row | None]]:
        return [(row, self.partner(row, right)) for row in left]

    def partner(self, left: Row, right: Sequence[Row]) -> Row | None:
        """Return the partner of a left row, or None."""
        place = self._at(left)
        candidates = [row for row in right if all(row[name] == left[name] for name in self.by)]
        candidates = [row for row in candidates if self.spec.exact or self._at(row) != place]
        before = [row for row in candidates if self._low(left) <= self._at(row) <= place]
        after = [row for row in candidates if place <= self._at(row) <= self._high(left)]
        last = max(before, key=lambda row: (self._at(row), self._ties(row)), default=None)
        first = max(after, key=lambda row: (-self._at(row), self._ties(row)), default=None)
        if not self.spec.backward or last is None:
            return first if self.spec.forward else None
        if not self.spec.forward or first is None:
            return last
        return last if place - self._at(last) <= self._at(first) - place else first

    def _at(self, row: Row) -> Any:
        return comparable(self.axis, row[self.on])

    def _low(self, row: Row) -> Any:
        if self.spec.tolerance is None:
            return float("-inf")
        return moved(self.axis, row[self.on], -self.axis.length("tolerance", self.spec.tolerance))

    def _high(self, row: Row) -> Any:
        if self.spec.tolerance is None:
            return float("inf")
        return moved(self.axis, row[self.on], self.axis.length("tolerance", self.spec.tolerance))

    def _ties(self, row: Row) -> tuple[Any, ...]:
        values = [row[name] for name in self.ties]
        return tuple((value is None, 0 if value is None else value) for value in values)
