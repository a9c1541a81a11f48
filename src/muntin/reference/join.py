"""Joins straight from their definition: every left row is compared with every right row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muntin.reference.windows import Row
from muntin.specs.axis import Axis
from muntin.specs.join.distance import Distance
from muntin.specs.join.how import left_only, pads_left, pads_right
from muntin.specs.join.zipper import Zipper

#: A left row, a right row, or both; None where there is no partner.
Pair = tuple[Row | None, Row | None]


@dataclass(frozen=True)
class JoinReference:
    """Rows that were in time, joined by their keys ``by`` and by where they lie."""

    spec: Distance | Zipper
    axis: Axis
    on: str
    by: Sequence[str]
    where: Callable[[Row, Row], bool | None] = lambda left, right: True

    def matches(self, left: Row, right: Row) -> bool:
        """A null key equals a null key; a condition that is null is no match."""
        return (
            all(left[name] == right[name] for name in self.by)
            and self.spec.near(self.axis, left[self.on], right[self.on])
            and self.where(left, right) is True
        )

    def run(self, left: Sequence[Row], right: Sequence[Row]) -> list[Pair]:
        how = self.spec.how
        pairs = [
            (place, other)
            for place, one in enumerate(left)
            for other, row in enumerate(right)
            if self.matches(one, row)
        ]
        met, met_right = {place for place, _ in pairs}, {other for _, other in pairs}
        if how == "semi":
            return [(row, None) for place, row in enumerate(left) if place in met]
        made: list[Pair] = []
        if not left_only(how):
            made += [(left[place], right[other]) for place, other in pairs]
        if pads_left(how):
            made += [(row, None) for place, row in enumerate(left) if place not in met]
        if pads_right(how):
            made += [(None, row) for place, row in enumerate(right) if place not in met_right]
        return made
