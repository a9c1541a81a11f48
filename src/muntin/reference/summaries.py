"""Summaries of streams by their definition: zones of time, with a count-sketch each, in Python.

[Promising tuples 3] Rows are added one after the other. Nothing here is fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt

from muntin.specs.summaries import ZoneLengths

_WORD = 2**64 - 1


def sketch_word(value: int, row: int) -> int:
    """Return the hash of a value in one row of a sketch: splitmix64 after the row's step."""
    word = (value + (row + 1) * 0x9E37_79B9_7F4A_7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58_476D_1CE4_E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D0_49BB_1331_11EB) & _WORD
    return word ^ (word >> 31)


@dataclass
class ReferenceSketch:
    """A count-sketch of one cell."""

    width: int
    rows: int
    counters: Counter[tuple[int, int]] = field(default_factory=Counter)

    def summarize(self, value: int) -> None:
        """Add a value, which is a whole number below 2**64."""
        for row, column, sign in self._places(value):
            self.counters[row, column] += sign

    def estimate(self, value: int) -> int:
        """Return how often a value came, about."""
        signed = sorted(self.counters[row, column] * s for row, column, s in self._places(value))
        return max(0, signed[self.rows // 2])

    def confidence(self) -> float:
        """Return 1 / (1 + the standard error of an estimate, in rows)."""
        squares = sum(count * count for count in self.counters.values())
        return 1 / (1 + sqrt(squares / (self.rows * self.width)))

    def add(self, other: ReferenceSketch) -> None:
        for place, count in other.counters.items():
            self.counters[place] += count

    def _places(self, value: int) -> Iterator[tuple[int, int, int]]:
        for row in range(self.rows):
            word = sketch_word(value, row)
            yield row, (word >> 1) % self.width, 1 if word & 1 else -1


@dataclass
class ReferenceZone:
    """The rows of one stretch of time: their values, and a sketch for each bucket of values."""

    granularity: int
    start: int
    end: int | None
    values: list[int]
    cells: list[ReferenceSketch]

    @property
    def confidence(self) -> float:
        return min(cell.confidence() for cell in self.cells)

    def summarize(self, value: int) -> None:
        self.values.append(value)
        self.cells[value % len(self.cells)].summarize(value)

    def estimate(self, value: int) -> int:
        return self.cells[value % len(self.cells)].estimate(value)

    def add(self, other: ReferenceZone) -> None:
        """Take in the zone that follows."""
        self.end = other.end
        self.values += other.values
        for own, cell in zip(self.cells, other.cells, strict=True):
            own.add(cell)


@dataclass
class ReferenceSummary:
    """The zones of a summary, the oldest first."""

    lengths: ZoneLengths
    theta: float
    buckets: int
    width: int
    rows: int
    zones: list[ReferenceZone] = field(default_factory=list)
    forgotten: int = 0
    last: int = 0

    def summarize(self, order: int, value: int) -> None:
        """Add a row, whose order is not below that of the row before."""
        if not self.zones:
            self._open(order)
        newest = self.zones[-1]
        later = bool(newest.values) and order > self.last
        doubted = later and newest.confidence < self.theta
        start = self.lengths.begin(newest.start, order, doubted=doubted)
        if start > newest.start:
            newest.end = start
            self._open(start)
        self.zones[-1].summarize(value)
        self.last = order

    def _open(self, start: int) -> None:
        cells = [ReferenceSketch(self.width, self.rows) for _ in range(self.buckets)]
        self.zones.append(ReferenceZone(1, start, None, [], cells))

    def collapse(self, now: int) -> None:
        """Move what is too old for its granularity to the next one, and forget the oldest."""
        for granularity in range(1, self.lengths.depth + 1):
            for zone in [zone for zone in self.zones if zone.granularity == granularity]:
                if zone.end is None or zone.end > now - self.lengths.span(granularity):
                    break
                self._move(zone)

    def _move(self, zone: ReferenceZone) -> None:
        before = self.zones.index(zone) - 1
        zone.granularity += 1
        if zone.granularity > self.lengths.depth:
            self.forgotten += len(zone.values)
            self.zones.remove(zone)
            return
        length = self.lengths.zone(zone.granularity)
        if before < 0 or self.zones[before].granularity != zone.granularity:
            return
        if self.zones[before].start // length == zone.start // length:
            self.zones[before].add(zone)
            self.zones.remove(zone)
