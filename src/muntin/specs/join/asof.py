"""The as-of join: every left row with the one right row that was valid when it came.

The specification is a frozen value that checks itself; :class:`AsofReference` is its meaning, by
looking at every right row for every left row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from muntin.errors import ArgumentError
from muntin.reference.windows import Row
from muntin.specs.axis import Axis
from muntin.specs.join.distance import comparable, distance, moved
from muntin.specs.join.how import checked
from muntin.specs.lengths import Length

#: On which side of a left row its partner lies.
Towards = Literal["backward", "forward", "nearest"]


@dataclass(frozen=True)
class Asof:
    """The nearest right row at or before a left row, at or after it, or on either side.

    Where both sides are equally near it is the one before. A partner is at most ``tolerance``
    away, if that is given; unless ``exact`` it never lies where the left row lies.

    >>> print(Asof("5 minutes", "nearest", exact=False))
    ASOF NEAREST TOLERANCE 5 minutes NOT EXACT
    """

    tolerance: Length | None
    direction: Towards
    exact: bool

    def __init__(
        self, tolerance: object = None, direction: object = "backward", exact: bool = True
    ) -> None:
        given = None if tolerance is None else distance("tolerance", tolerance)
        object.__setattr__(self, "tolerance", given)
        object.__setattr__(self, "direction", checked("direction", direction, get_args(Towards)))
        if not isinstance(exact, bool):
            raise ArgumentError("exact", exact, "it is True or False")
        object.__setattr__(self, "exact", exact)
        if given is not None and not given.positive and not exact:
            raise ArgumentError(
                "tolerance", tolerance, "with exact=False nothing is so near; it is more than zero"
            )

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        return () if self.tolerance is None else (self.tolerance,)

    @property
    def backward(self) -> bool:
        """Whether it looks at rows before a left row."""
        return self.direction != "forward"

    @property
    def forward(self) -> bool:
        """Whether it looks at rows behind a left row."""
        return self.direction != "backward"

    @property
    def waits_for_ever(self) -> bool:
        """Whether a row may wait as long as its key is silent, because nothing ends its look."""
        return self.forward and self.tolerance is None

    def __str__(self) -> str:
        within = "" if self.tolerance is None else f" TOLERANCE {self.tolerance}"
        return f"ASOF {self.direction.upper()}{within}{'' if self.exact else ' NOT EXACT'}"


@dataclass(frozen=True)
class AsofReference:
    """Rows that were in time; of several right rows in one place the greatest by ``ties`` counts.

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
        """The right row that a left row is reported with."""
        place = self._at(left)
        mine = [row for row in right if all(row[name] == left[name] for name in self.by)]
        mine = [row for row in mine if self.spec.exact or self._at(row) != place]
        before = [row for row in mine if self._low(left) <= self._at(row) <= place]
        behind = [row for row in mine if place <= self._at(row) <= self._high(left)]
        last = max(before, key=lambda row: (self._at(row), self._ties(row)), default=None)
        first = max(behind, key=lambda row: (-self._at(row), self._ties(row)), default=None)
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
