"""Counts by hash bucket and by range of values: an exponential histogram each [EH-13, EH-14]."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.aggregates.synopses.count_sum_avg import ApproxAvg, ApproxCount, ApproxSum
from muntin.aggregates.synopses.exponential_histogram import checked_number, units
from muntin.aggregates.synopses.plain_values import reading_dump, refuse_pickle
from muntin.aggregates.synopses.protocol import KeptRowsSynopsis, Synopsis, SynopsisKind
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.hashing import hash_doubles

#: How a dump begins, unlike any pickle; then, before each entry's dump, its length, or -1 for a
#: place without an entry.
_HEAD = b"M"
_LENGTH = struct.Struct("<q")
_KINDS: dict[str, type[ApproxCount] | type[ApproxSum] | type[ApproxAvg]] = {
    "count": ApproxCount,
    "sum": ApproxSum,
    "avg": ApproxAvg,
}


@dataclass(frozen=True)
class HashCounts:
    """How many values fall into each of ``buckets`` hash buckets, each at most ``eps`` off."""

    buckets: int
    eps: float

    def __post_init__(self) -> None:
        expected = "it must be a whole number from 1"
        if checked_number("buckets", self.buckets, expected) < 1 or self.buckets % 1:
            raise ArgumentError("buckets", self.buckets, expected)
        ApproxCount(self.eps)

    @property
    def result(self) -> pa.DataType:
        return pa.list_(pa.float64())

    def place(self, values: Floats) -> Ints:
        """Return the bucket of each value."""
        return (hash_doubles(values) % np.uint64(self.buckets)).astype(np.int64)

    def exactly(self, values: Sequence[Floats]) -> Sequence[float]:
        places = self.place(values[0][~np.isnan(values[0])])
        return list(map(float, np.bincount(places, minlength=int(self.buckets))))

    def new(self) -> SynopsisTable:
        return SynopsisTable(ApproxCount(self.eps), int(self.buckets), self.place)

    def load(self, dumped: bytes) -> SynopsisTable:
        return self.new().loaded(dumped)


@dataclass(frozen=True)
class ValueHistogram:
    """Count, sum or average by range of a value: below the first edge, between edges, above.

    Between edges a and b lie the values with a <= value < b, so n edges make n + 1 ranges. With
    ``of`` sum or avg the rows have a second column, which is added up.
    """

    edges: tuple[float, ...]
    eps: float
    of: str = "count"

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if not self.edges or not rising or not all(map(math.isfinite, self.edges)):
            raise ArgumentError("edges", self.edges, "they must be rising numbers: (0, 10, 100)")
        if self.of not in _KINDS:
            raise ArgumentError("of", self.of, f"it must be one of {', '.join(_KINDS)}")
        _KINDS[self.of](self.eps)

    @property
    def result(self) -> pa.DataType:
        return pa.list_(pa.float64())

    def place(self, values: Floats) -> Ints:
        """Return the range of each value."""
        return np.searchsorted(np.array(self.edges), values, side="right")

    def exactly(self, values: Sequence[Floats]) -> Sequence[float]:
        rows = ~np.isnan(values[-1]) & ~np.isnan(values[0])
        places, ranges = self.place(values[0][rows]), len(self.edges) + 1
        counts = np.bincount(places, minlength=ranges).astype(np.float64)
        if self.of == "count":
            return list(counts)
        amounts = values[1][rows]
        sums = np.bincount(places, units(amounts).astype(np.float64), ranges)
        answers = sums if self.of == "sum" else sums / np.maximum(counts, 1)
        return list(np.where(counts > 0, answers, np.nan))

    def new(self) -> SynopsisTable:
        return SynopsisTable(_KINDS[self.of](self.eps), len(self.edges) + 1, self.place)

    def load(self, dumped: bytes) -> SynopsisTable:
        return self.new().loaded(dumped)


class SynopsisTable:
    """A synopsis for each bucket or range, made when its first row comes."""

    def __init__(self, inner: SynopsisKind, places: int, place: Callable[[Floats], Ints]) -> None:
        self.inner = inner
        self.place = place
        self.entries: list[Synopsis | None] = [None] * places

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        rows = ~np.isnan(values[0])
        places = np.where(rows, self.place(np.where(rows, values[0], 0.0)), -1)
        nothing = self.inner.new().run(ticks[:0], [values[0][:0]], starts, ends)[0]
        answers = []
        for number, entry in enumerate(self.entries):
            rows_here = np.flatnonzero(places == number)
            if entry is None and not len(rows_here):
                answers.append(nothing)
                continue
            kept = self.inner.new() if entry is None else entry
            self.entries[number] = kept
            columns = [column[rows_here] for column in values[1:]]
            answers.append(kept.run(ticks[rows_here], columns, starts, ends)[0])
        return answers

    def forget(self, below: int) -> None:
        for entry in self.entries:
            if entry is not None:
                entry.forget(below)

    def dump(self) -> bytes:
        """Return the dumps of all entries, each after its length."""
        dumps = [None if entry is None else entry.dump() for entry in self.entries]
        return _HEAD + b"".join(
            _LENGTH.pack(-1) if dumped is None else _LENGTH.pack(len(dumped)) + dumped
            for dumped in dumps
        )

    def loaded(self, dumped: bytes) -> SynopsisTable:
        """Load the entries that :meth:`dump` wrote, and return this table."""
        refuse_pickle(dumped)
        with reading_dump():
            self._load(dumped)
        return self

    def _load(self, dumped: bytes) -> None:
        if not dumped.startswith(_HEAD):
            raise ValueError("it does not begin as a table of synopses does")
        at = len(_HEAD)
        for place in range(len(self.entries)):
            (length,) = _LENGTH.unpack_from(dumped, at)
            at += _LENGTH.size
            if length < -1 or length > len(dumped) - at:
                raise ValueError(f"entry {place} has {length} bytes, and {len(dumped) - at} follow")
            if length >= 0:
                self.entries[place] = self.inner.load(dumped[at : at + length])
                at += length
        if at != len(dumped):
            raise ValueError(f"{len(dumped) - at} bytes follow the last entry")


DEFINITIONS = (
    KeptRowsSynopsis("hash_counts", make=HashCounts, hashed=1),
    KeptRowsSynopsis("value_histogram", make=ValueHistogram),
)
