"""The buckets of an exponential histogram (prior-art.txt, sections 2 and 4).

The histogram counts units: a row that adds v is v units at one tick (EH-8). Rows are taken in
whole runs, which is the paper's batched update with its rebuild from the l-canonical form (EH-9).
Questions within a run need no rebuild: the canonical form tells where the buckets would lie when
all rows up to the question had been fed, so every answer is the one that feeding row by row
gives, however the rows are cut into runs.
"""

from __future__ import annotations

import struct

import numpy as np

from muntin.aggregates.synopses.canonical import LARGEST, covering, sizes
from muntin.aggregates.synopsis import Floats, Ints
from muntin.semantics.errors import ArgumentError

_HEAD = struct.Struct("<qqB")


class Buckets:
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
        added = np.concatenate([[0], np.cumsum(units)])
        answers = self._answers(ticks, added, starts, ends)
        if added[-1]:
            self._rebuild(ticks, added)
        return answers

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

    def _answers(self, ticks: Ints, added: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        fed = added[np.searchsorted(ticks, ends)]
        # A unit inside the stretch such that no bucket begins with an older one inside: the head
        # of an old bucket, or failing that a unit of the new rows.
        ages = fed - added[np.searchsorted(ticks, starts)] - 1
        old = self._reaching(starts)
        if len(self.stamps):
            heads = np.cumsum(self.sizes) - self.sizes
            ages = np.where(old > 0, fed + heads[old - 1], ages)
        empty = ages < 0
        total, last = covering(self.total + fed, self.l, np.maximum(ages, 0))
        return np.where(empty, 0, total), np.where(empty, 0, last)

    def _reaching(self, starts: Ints) -> Ints:
        """How many buckets have a unit at this tick or later."""
        oldest_first = self.stamps[::-1]
        return len(oldest_first) - np.searchsorted(oldest_first, starts)

    def _rebuild(self, ticks: Ints, added: Ints) -> None:
        """Lay the canonical buckets over the new units, then over the old buckets.

        A unit that is not the newest of a bucket never becomes it later (section 4), so every
        bucket that begins among the old units begins where an old bucket does.
        """
        new, old_sizes = int(added[-1]), self.sizes
        self.total += new
        ages = np.cumsum(self.sizes) - self.sizes
        among_new = int(np.searchsorted(ages, new))
        rows = np.searchsorted(added, new - 1 - ages[:among_new], side="right") - 1
        places = np.searchsorted(np.cumsum(old_sizes) - old_sizes, ages[among_new:] - new)
        self.stamps = np.concatenate([ticks[rows], self.stamps[places]])

    def forget(self, below: int) -> None:
        """Drop the buckets that have no unit at this tick or later (EH-5)."""
        kept = int(self._reaching(np.array(below)))
        if kept < len(self.stamps):
            self.total = int(self.sizes[:kept].sum())
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
    def load(cls, l: int, dumped: bytes) -> Buckets:  # noqa: E741
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
    """The least that can be true: one unit of the oldest bucket is inside for certain (EH-17)."""
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
