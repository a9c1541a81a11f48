"""What counts values in a zone: the interface of summaries, and three ways to do it.

    summarize, estimate, confidence, add, subtract    [Promising tuples 3.2]

A value is its hash of 64 bits. Each kind counts in buckets of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Protocol

import numpy as np
from datasketches import frequent_items_error_type, frequent_strings_sketch

from muntin.errors import CannotEvaluate
from muntin.kernels.arrays import Ints, Words
from muntin.kernels.count_sketch import sketch_estimates, sketch_places, sketch_until
from muntin.specs.summaries import StreamSummary

#: No sum of squares exceeds it.
_NO_LIMIT = 2**62


@dataclass(frozen=True)
class HashedValues:
    """Values that are counted or asked for: their hashes, and what a kind of counts makes of them.

    ``place`` and ``sign`` are the counters of a count-sketch.
    """

    hashes: Words
    place: Ints
    sign: Ints

    @classmethod
    def of(cls, hashes: Words, spec: StreamSummary) -> HashedValues:
        return cls(hashes, *sketch_places(hashes, spec.buckets, spec.width, spec.rows))

    def of_rows(self, rows: Ints, spec: StreamSummary) -> HashedValues:
        """Return some of the values."""
        of = [part.reshape(-1, spec.rows)[rows].reshape(-1) for part in (self.place, self.sign)]
        return HashedValues(self.hashes[rows], *of)


class CellCounts(Protocol):
    """The counts of the values in a zone."""

    def summarize(
        self, values: HashedValues, order: Ints, first: int, stop: int, *, all_of_them: bool = False
    ) -> int:
        """Count values from ``first`` on that come before ``stop``; return the first not counted.

        Unless ``all_of_them``, counting ends when the confidence falls below theta.
        """

    def estimate(self, values: HashedValues) -> Ints:
        """Return about how often each value came."""

    def confidence(self) -> float:
        """Return from 0 to 1 how good estimates are."""

    def add(self, other: CellCounts) -> None:
        """Take in the counts of another zone."""

    def subtract(self, other: CellCounts) -> None:
        """Take out the counts of a zone that was taken in."""

    def packed(self) -> bytes:
        """Return the counts as bytes, the same for the same counts."""


@dataclass
class CountSketch:
    """A count-sketch for each bucket of values: the default."""

    spec: StreamSummary
    counters: Ints
    squares: Ints

    @classmethod
    def empty(cls, spec: StreamSummary) -> CountSketch:
        size = spec.buckets * spec.rows * spec.width
        return cls(spec, np.zeros(size, np.int64), np.zeros(spec.buckets, np.int64))

    @classmethod
    def unpacked(cls, spec: StreamSummary, packed: bytes) -> CountSketch:
        sketch = cls(spec, np.frombuffer(packed, np.int64).copy(), np.empty(0, np.int64))
        sketch._square()
        return sketch

    @property
    def limit(self) -> int:
        """The sum of squares in a bucket above which the confidence is below theta."""
        theta = self.spec.theta
        error = inf if not theta else 1 / theta - 1
        limit = error * error * self.spec.rows * self.spec.width
        return _NO_LIMIT if limit > _NO_LIMIT else int(limit)

    def summarize(
        self, values: HashedValues, order: Ints, first: int, stop: int, *, all_of_them: bool = False
    ) -> int:
        spec, limit = self.spec, _NO_LIMIT if all_of_them else self.limit
        return sketch_until(
            *(values.place, values.sign, spec.rows, spec.width, first, order, stop, limit),
            *(self.counters, self.squares),
        )

    def estimate(self, values: HashedValues) -> Ints:
        return sketch_estimates(self.counters, values.place, values.sign, self.spec.rows)

    def confidence(self) -> float:
        worst = int(self.squares.max()) / (self.spec.rows * self.spec.width)
        return 1 / (1 + sqrt(worst))

    def add(self, other: CellCounts) -> None:
        assert isinstance(other, CountSketch)
        self.counters += other.counters
        self._square()

    def subtract(self, other: CellCounts) -> None:
        assert isinstance(other, CountSketch)
        self.counters -= other.counters
        self._square()

    def packed(self) -> bytes:
        return self.counters.tobytes()

    def _square(self) -> None:
        self.squares = (self.counters.reshape(self.spec.buckets, -1) ** 2).sum(axis=1)


@dataclass
class ExactCounts:
    """The count of every value: it grows with the number of different values."""

    counts: dict[int, int] = field(default_factory=dict)

    @classmethod
    def unpacked(cls, packed: bytes) -> ExactCounts:
        pairs = np.frombuffer(packed, np.uint64).reshape(-1, 2)
        return cls({int(value): int(count) for value, count in pairs.tolist()})

    def summarize(
        self, values: HashedValues, order: Ints, first: int, stop: int, *, all_of_them: bool = False
    ) -> int:
        end = max(first, int(np.searchsorted(order, stop)))
        self._change(*np.unique(values.hashes[first:end], return_counts=True), 1)
        return end

    def estimate(self, values: HashedValues) -> Ints:
        return np.array([self.counts.get(value, 0) for value in values.hashes.tolist()], np.int64)

    def confidence(self) -> float:
        return 1.0

    def add(self, other: CellCounts) -> None:
        assert isinstance(other, ExactCounts)
        self._merge(other.counts, 1)

    def subtract(self, other: CellCounts) -> None:
        assert isinstance(other, ExactCounts)
        self._merge(other.counts, -1)

    def packed(self) -> bytes:
        return np.array(sorted(self.counts.items()), np.uint64).tobytes()

    def _change(self, values: Words, counts: Ints, sign: int) -> None:
        self._merge(dict(zip(values.tolist(), counts.tolist(), strict=True)), sign)

    def _merge(self, counts: Mapping[int, int], sign: int) -> None:
        for value, count in counts.items():
            self.counts[value] = self.counts.get(value, 0) + sign * count
            if not self.counts[value]:
                del self.counts[value]


@dataclass
class FrequentItems:
    """The frequent items of DataSketches: small, and exact until there are many values."""

    sketch: frequent_strings_sketch

    @classmethod
    def empty(cls, spec: StreamSummary) -> FrequentItems:
        wanted = 2 * spec.width * spec.buckets
        return cls(frequent_strings_sketch(max(3, int(wanted - 1).bit_length())))

    @classmethod
    def unpacked(cls, packed: bytes) -> FrequentItems:
        return cls(frequent_strings_sketch.deserialize(packed))

    def summarize(
        self, values: HashedValues, order: Ints, first: int, stop: int, *, all_of_them: bool = False
    ) -> int:
        end = max(first, int(np.searchsorted(order, stop)))
        found, counts = np.unique(values.hashes[first:end], return_counts=True)
        for value, count in zip(found.tolist(), counts.tolist(), strict=True):
            self.sketch.update(f"{value:x}", count)
        return end

    def estimate(self, values: HashedValues) -> Ints:
        asked = [self.sketch.get_estimate(f"{value:x}") for value in values.hashes.tolist()]
        return np.array(asked, np.int64)

    def confidence(self) -> float:
        total = self.sketch.total_weight
        return 1 - self.sketch.epsilon if total and self._error else 1.0

    @property
    def _error(self) -> int:
        items = self.sketch.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES)
        return max((upper - lower for _, _, lower, upper in items), default=0)

    def add(self, other: CellCounts) -> None:
        assert isinstance(other, FrequentItems)
        self.sketch.merge(other.sketch)

    def subtract(self, other: CellCounts) -> None:
        raise CannotEvaluate(
            "frequent items of DataSketches cannot be subtracted; use method='sketch' or 'exact'"
        )

    def packed(self) -> bytes:
        return bytes(self.sketch.serialize())


def empty_counts(spec: StreamSummary) -> CellCounts:
    """Return the counts of a zone without rows."""
    if spec.method == "sketch":
        return CountSketch.empty(spec)
    return ExactCounts() if spec.method == "exact" else FrequentItems.empty(spec)


def unpacked_counts(spec: StreamSummary, packed: bytes) -> CellCounts:
    """Return counts that were packed."""
    if spec.method == "sketch":
        return CountSketch.unpacked(spec, packed)
    return (
        ExactCounts.unpacked(packed) if spec.method == "exact" else FrequentItems.unpacked(packed)
    )
