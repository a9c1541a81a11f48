"""Maximal rectangles of ``on`` and a second attribute, by enumeration [Frames, appendix H]."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from muntin.reference.frames.kinds import compares
from muntin.reference.frames.places import OnNumbers
from muntin.reference.windows import Row
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.row_kinds import Region


@dataclass(frozen=True)
class Rectangle:
    """Columns ``[left, right]`` and positions ``[low, high]``, as numbers on a grid."""

    left: int
    right: int
    low: int
    high: int

    def lies_in(self, other: Rectangle) -> bool:
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.low <= self.low
            and self.high <= other.high
        )

    @property
    def cells(self) -> Iterator[tuple[int, int]]:
        columns = range(self.left, self.right + 1)
        return itertools.product(columns, range(self.low, self.high + 1))


class RegionGrid:
    """The rows of a key by column (a value of ``on``) and position (a value of ``along``)."""

    def __init__(
        self,
        framing: Framing,
        rows: Sequence[Row],
        reading: Callable[[Row], bool | None],
        along: Callable[[Row], Any],
    ) -> None:
        self.columns = sorted({row[framing.on] for row in rows})
        self.positions = sorted({along(row) for row in rows})
        self.rows = {
            (self.columns.index(row[framing.on]), self.positions.index(along(row))): row
            for row in rows
        }
        self.readings = {cell: reading(row) for cell, row in self.rows.items()}
        self.bridged = framing.missing == "satisfy"
        self.since = [
            min(column for column, p in self.rows if p == position)
            for position in range(len(self.positions))
        ]

    def exists(self, column: int, position: int) -> bool:
        """Return True if a position exists in a column: it does from its first row on."""
        return self.since[position] <= column

    def satisfies(self, column: int, position: int) -> bool:
        if not self.exists(column, position):
            return False
        read = self.readings.get((column, position))
        return self.bridged if read is None else bool(read)

    def is_region(self, r: Rectangle) -> bool:
        """Return True if both edges satisfy throughout, and existing positions between them too."""
        return all(
            self.satisfies(column, position)
            or (r.low < position < r.high and not self.exists(column, position))
            for column, position in r.cells
        )

    def maximal(self) -> list[Rectangle]:
        """Return every region that lies in no other."""
        spans = itertools.product(_intervals(len(self.columns)), _intervals(len(self.positions)))
        rectangles = [Rectangle(*columns, *positions) for columns, positions in spans]
        regions = [rectangle for rectangle in rectangles if self.is_region(rectangle)]
        # A region that contains another is larger. So larger ones come first, and every region
        # that is not maximal lies in a maximal one.
        maximal: list[Rectangle] = []
        for region in sorted(regions, key=lambda r: len(list(r.cells)), reverse=True):
            if not any(region.lies_in(larger) for larger in maximal):
                maximal.append(region)
        return maximal

    def counted(self, r: Rectangle) -> tuple[int, int]:
        """Return how many of its cells have a row that satisfies, and how many are bridged."""
        there = [cell for cell in r.cells if self.exists(*cell)]
        real = sum(self.readings.get(cell) is not None for cell in there)
        return real, len(there) - real

    def held(self, r: Rectangle) -> list[Row]:
        return [self.rows[cell] for cell in r.cells if cell in self.rows]


@dataclass(frozen=True)
class RegionReference:
    """Which of a grid's maximal rectangles are frames."""

    framing: Framing
    kind: Region
    measure: OnNumbers
    grid: RegionGrid

    def chosen(self) -> list[Rectangle]:
        """Return regions that meet the local conditions; of overlapping ones, the preferred."""
        every = [r for r in self.grid.maximal() if self._met(r)]
        if self.kind.prefer != "all":
            every = self._preferred(every)
        return sorted(every, key=lambda r: (r.left, r.low, r.right, r.high))

    def duration(self, r: Rectangle) -> Any:
        return self.measure.distance(self.grid.columns[r.left], self.grid.columns[r.right])

    def _extent(self, r: Rectangle) -> Any:
        low, high = self.grid.positions[r.low], self.grid.positions[r.high]
        if low == high:
            return Fraction(0)  # also if both are the same infinity
        return high - low if isinstance(low, float) else Fraction(high) - Fraction(low)

    def _met(self, r: Rectangle) -> bool:
        framing, measure, extent = self.framing, self.measure, self.kind.min_extent
        duration, count = self.duration(r), sum(self.grid.counted(r))
        least, most = framing.min_duration, framing.max_duration
        return (
            (least is None or duration >= measure.length(least))
            and (most is None or duration <= measure.length(most))
            and (framing.min_count is None or count >= framing.min_count)
            and (framing.max_count is None or count <= framing.max_count)
            and (extent is None or compares(self._extent(r), ">=", extent.value))
        )

    def _preferred(self, every: Sequence[Rectangle]) -> list[Rectangle]:
        def order(r: Rectangle) -> tuple[Any, ...]:
            sizes = [-self.duration(r), -self._extent(r)]
            first, second = sizes if self.kind.prefer == "longest" else reversed(sizes)
            return (first, second, r.left, r.low)

        taken: set[tuple[int, int]] = set()
        preferred = []
        for region in sorted(every, key=order):
            cells = {cell for cell in region.cells if self.grid.exists(*cell)}
            if not cells & taken:
                taken |= cells
                preferred.append(region)
        return preferred


def _intervals(size: int) -> list[tuple[int, int]]:
    return [(low, high) for low in range(size) for high in range(low, size)]
