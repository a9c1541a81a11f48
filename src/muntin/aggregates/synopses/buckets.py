"""The buckets of an exponential histogram [Exponential histograms 2 and 4].

The histogram counts units: a row that adds v is v units at one tick [EH-8]. Rows are taken in
whole runs, which is the paper's batched update with its rebuild from the l-canonical form [EH-9].
Questions within a run need no rebuild: the canonical form tells where the buckets would lie when
all rows up to the question had been fed, so every answer is the one that feeding row by row
gives, however the rows are cut into runs.
"""

from __future__ import annotations

import struct

import numpy as np

from muntin.aggregates.synopses.bucket_layout import answer, head_ages, relay
from muntin.aggregates.synopses.canonical_form import LARGEST, sizes
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Floats, Ints

_HEAD = struct.Struct("<qqB")


class HistogramBuckets:
    """Timestamps of buckets, the newest first; sizes follow from ``total``.

    A bucket's timestamp is the tick of its newest unit, also after a merge (the paper's text says
    the older one, which breaks its bound).
    """

    def __init__(self, l: int) -> None:  # noqa: E741
        self.l = l
        self.total = 0
        self.stamps: Ints = np.empty(0, np.int64)

    @property
    def sizes(self) -> Ints:
        """Sizes of the buckets, the newest first."""
        return sizes(self.total, self.l)

    def run(self, ticks: Ints, units: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Feed rows, and tell TOTAL and LAST at each question; both are 0 for an empty stretch.

        TOTAL is the size of all buckets that reach into the stretch, LAST that of the oldest of
        them, the only one that may reach beyond it.
        """
        self._check(units)
        ages = head_ages(self.total, self.l)
        totals, lasts = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
        answer(self.l, self.total, self.stamps, ages, ticks, units, starts, ends, totals, lasts)
        new = int(units.sum())
        if new:
            self.total += new
            wanted = head_ages(self.total, self.l)
            stamps = np.empty(len(wanted), np.int64)
            relay(self.stamps, ages, ticks, units, new, wanted, stamps)
            self.stamps = stamps
        return totals, lasts

    def _check(self, units: Ints) -> None:
        # First roughly, since 64 bits may not hold it.
        rough = float(np.sum(units, dtype=np.float64))
        if rough > 2 * LARGEST or self.total + int(units.sum()) > LARGEST:
            raise ArgumentError(
                "value",
                int(units.max()),
                f"the rows kept for later questions add up to more than 2^53 = {LARGEST}; "
                "use the exact sum, or count in larger units",
            )

    def forget(self, below: int) -> None:
        """Drop the buckets that have no unit at this tick or later [EH-5]."""
        gone = int(np.searchsorted(self.stamps[::-1], below))
        if gone:
            kept = len(self.stamps) - gone
            self.total = int(head_ages(self.total, self.l)[kept])  # as many are newer
            self.stamps = self.stamps[:kept]

    def dump(self) -> bytes:
        """The total and the timestamps as differences, as narrow as they allow."""
        if not self.total:
            return b""
        stamps = self.stamps.view(np.uint64)  # unsigned, since a gap may be wider than 63 bits
        gaps = stamps[:-1] - stamps[1:]
        width = np.min_scalar_type(int(gaps.max(initial=0)))
        head = _HEAD.pack(self.total, int(self.stamps[0]), width.itemsize)
        return head + gaps.astype(f"<u{width.itemsize}").tobytes()

    @classmethod
    def load(cls, l: int, dumped: bytes) -> HistogramBuckets:  # noqa: E741
        """The buckets that :meth:`dump` wrote."""
        made = cls(l)
        if dumped:
            made.total, newest, width = _HEAD.unpack_from(dumped)
            gaps = np.frombuffer(dumped, f"<u{width}", offset=_HEAD.size).astype(np.uint64)
            behind = np.concatenate([np.zeros(1, np.uint64), np.cumsum(gaps)])
            made.stamps = (np.array([newest]).view(np.uint64) - behind).view(np.int64)
        return made


def estimates(total: Ints, last: Ints) -> Floats:
    """The middle of the bounds (the paper's TOTAL - LAST/2 breaks its own guarantee)."""
    middle: Floats = total - np.maximum(last - 1, 0) / 2
    return middle


def lows(total: Ints, last: Ints) -> Floats:
    """The least that can be true: one unit of the oldest bucket is inside for certain [EH-17]."""
    return (total - np.maximum(last - 1, 0)).astype(np.float64)


def units(values: Floats) -> Ints:
    """What rows add to a sum; nothing where there is no value."""
    added = np.where(np.isnan(values), 0.0, values)
    wrong = (added < 0) | (added != np.floor(added)) | (added > LARGEST)
    if wrong.any():
        raise ArgumentError(
            "value",
            float(added[np.argmax(wrong)]),
            "an exponential histogram adds whole numbers from 0 to 2^53; use the exact sum and "
            "avg, or scale the values to whole numbers (cents instead of euros)",
        )
    return added.astype(np.int64)
