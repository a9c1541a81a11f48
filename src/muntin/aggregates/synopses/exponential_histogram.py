"""The buckets of an exponential histogram [Exponential histograms 2 and 4].

The histogram counts units: a row that adds v is v units at one tick [EH-8]. A unit is a single 1 of
the stream; its *age* counts the units that came after it, so the newest has age 0. The sizes of the
buckets follow from the total alone (the l-canonical form [Exponential histograms 4, Lemma 2]), so
they are computed, not stored, and so is the bucket that any one unit lies in.

Rows are taken in whole runs, which is the paper's batched update with its rebuild from the
l-canonical form [EH-9]. Questions within a run need no rebuild: the canonical form shows where the
buckets would lie when all rows up to the question had been fed, so every answer is the one that
feeding row by row gives, however the rows are cut into runs.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from muntin.errors import ArgumentError
from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, inline, kernel

#: Rows and answers are doubles, and beyond this limit doubles skip whole numbers.
LARGEST = 2**53
_HEAD = struct.Struct("<qqB")


def half_k(eps: float) -> int:
    """Return ``l``: k/2 for k = ceil(1/eps), rounded up [Exponential histograms 2.1].

    >>> half_k(0.1), half_k(0.3), half_k(1)
    (5, 2, 1)
    """
    return -(-checked_k(eps) // 2)


def checked_k(eps: object) -> int:
    """Check ``eps`` and return ``k``: ceil(1/eps)."""
    expected = "it is the relative error, a number above 0 and at most 1 such as 0.05"
    number = checked_number("eps", eps, expected)
    if not 0 < number <= 1:
        raise ArgumentError("eps", eps, expected)
    return math.ceil(1 / number)


def checked_number(argument: str, given: object, expected: str) -> float:
    """Check that an argument is a number; the error says what is ``expected``."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ArgumentError(argument, given, expected)
    return given


def canonical(total: int, l: int) -> list[int]:  # noqa: E741  (the paper's letter)
    """Return how many buckets of size 1, 2, 4, ... there are (Procedure l-Canonical).

    >>> canonical(76, 1)
    [2, 1, 2, 2, 1, 1]
    """
    if total == 0:
        return []
    j = (total // l + 1).bit_length() - 1
    above = total - ((1 << j) - 1) * l
    m, bits = divmod(above, 1 << j)
    counts = [l + (bits >> i & 1) for i in range(j)]
    return [*counts, m] if m else counts


def sizes(total: int, l: int) -> Ints:  # noqa: E741
    """Return the sizes of all buckets, the newest first."""
    counts = np.array(canonical(total, l), np.int64)
    return np.repeat(np.int64(1) << np.arange(len(counts)), counts)


def bucket_bound(total: int, l: int) -> int:  # noqa: E741
    """Return the largest number of buckets [Exponential histograms, Theorems 1 and 5], k = 2l."""
    return math.floor((l + 1) * (math.log2(total / l + 1) + 1))


@inline
def _full_levels(total: int, l: int) -> int:  # noqa: E741  (the paper's letter)
    """Return j, the number of full levels: the largest j with 2^j <= total/l + 1."""
    j, rest = 0, (total // l + 1) >> 1
    while rest:
        j += 1
        rest >>= 1
    return j


@kernel(NONE, INT, INT, OUT_INTS)
def _fill_head_ages(total: int, l: int, ages: Ints) -> None:  # noqa: E741
    j = _full_levels(total, l)
    above = total - ((1 << j) - 1) * l
    bits = above & ((1 << j) - 1)
    age, place = 0, 0
    for level in range(j + 1):
        count = above >> j if level == j else l + (bits >> level & 1)
        for _ in range(count):
            ages[place] = age
            place += 1
            age += 1 << level


@kernel(NONE, INT, INT, INTS, INTS, INTS, INTS, INTS, INTS, OUT_INTS, OUT_INTS)
def answer(
    l: int,  # noqa: E741
    total: int,
    stamps: Ints,
    ages: Ints,
    ticks: Ints,
    units: Ints,
    starts: Ints,
    ends: Ints,
    totals: Ints,
    lasts: Ints,
) -> None:
    """Write TOTAL and LAST of each question, as if the rows before its end were fed one by one.

    The last bucket is the one of the oldest unit inside that heads an old bucket. If there is no
    such unit, it is the bucket of the oldest new unit inside.
    """
    fed, passed, row, low, old = 0, 0, 0, 0, len(stamps)
    for question in range(len(starts)):
        while row < len(ticks) and ticks[row] < ends[question]:
            fed += units[row]
            row += 1
        while low < row and ticks[low] < starts[question]:
            passed += units[low]
            low += 1
        while old > 0 and stamps[old - 1] < starts[question]:
            old -= 1
        age = fed + ages[old - 1] if old > 0 else fed - passed - 1
        totals[question] = lasts[question] = 0
        if age >= 0:
            # Level r begins after l(2^r - 1) units and the low r bits of what is above j levels.
            j = _full_levels(total + fed, l)
            bits = (total + fed - ((1 << j) - 1) * l) & ((1 << j) - 1)
            r = min(_full_levels(age, l), j)
            if ((1 << r) - 1) * l + (bits & ((1 << r) - 1)) > age:
                r -= 1  # never by two, because l is at least 1
            begin = ((1 << r) - 1) * l + (bits & ((1 << r) - 1))
            totals[question] = begin + (((age - begin) >> r) + 1 << r)
            lasts[question] = 1 << r


@kernel(NONE, INTS, INTS, INTS, INTS, INT, INTS, OUT_INTS)
def relay(
    stamps: Ints, ages: Ints, ticks: Ints, units: Ints, new: int, wanted: Ints, out: Ints
) -> None:
    """Write the ticks of the ``wanted`` units, given by their age after ``new`` units were added.

    Each of them must head an old bucket or be new. A unit that is not the newest of its bucket
    never becomes so later [Exponential histograms 4], so every bucket that begins among the old
    units begins where an old bucket does.
    """
    row, newer, old = len(ticks), 0, 0
    for place in range(len(wanted)):
        if wanted[place] < new:
            while newer <= wanted[place]:
                row -= 1
                newer += units[row]
            out[place] = ticks[row]
        else:
            while ages[old] < wanted[place] - new:
                old += 1
            out[place] = stamps[old]


def head_ages(total: int, l: int) -> Ints:  # noqa: E741
    """Return the age of each bucket's newest unit, the newest bucket first."""
    ages = np.empty(sum(canonical(total, l)), np.int64)
    _fill_head_ages(total, l, ages)
    return ages


class HistogramBuckets:
    """Timestamps of buckets, the newest first; sizes follow from ``total``.

    A bucket's timestamp is the tick of its newest unit, also after a merge. The paper's text takes
    the older tick, which breaks its bound.
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
        """Feed rows, and return TOTAL and LAST at each question; both are 0 for an empty stretch.

        TOTAL is the size of all buckets that reach into the stretch. LAST is the size of the oldest
        of them, the only one that may reach beyond it.
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
        # A sum of doubles comes first, because 64 bits may not hold the exact sum.
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
            self.total = int(head_ages(self.total, self.l)[kept])  # so many units are newer
            self.stamps = self.stamps[:kept]

    def dump(self) -> bytes:
        """Return the total and the differences of timestamps, in as few bytes as possible."""
        if not self.total:
            return b""
        stamps = self.stamps.view(np.uint64)  # unsigned, since a gap may be wider than 63 bits
        gaps = stamps[:-1] - stamps[1:]
        width = np.min_scalar_type(int(gaps.max(initial=0)))
        head = _HEAD.pack(self.total, int(self.stamps[0]), width.itemsize)
        return head + gaps.astype(f"<u{width.itemsize}").tobytes()

    @classmethod
    def load(cls, l: int, dumped: bytes) -> HistogramBuckets:  # noqa: E741
        """Return the buckets that :meth:`dump` wrote."""
        buckets = cls(l)
        if dumped:
            buckets.total, newest, width = _HEAD.unpack_from(dumped)
            gaps = np.frombuffer(dumped, f"<u{width}", offset=_HEAD.size).astype(np.uint64)
            ages = np.concatenate([np.zeros(1, np.uint64), np.cumsum(gaps)])
            buckets.stamps = (np.array([newest]).view(np.uint64) - ages).view(np.int64)
        return buckets


def estimates(total: Ints, last: Ints) -> Floats:
    """Return the middle of the bounds; the paper's TOTAL - LAST/2 breaks its own guarantee."""
    middle: Floats = total - np.maximum(last - 1, 0) / 2
    return middle


def lows(total: Ints, last: Ints) -> Floats:
    """Return the lower bound: at least one unit of the oldest bucket is inside [EH-17]."""
    return (total - np.maximum(last - 1, 0)).astype(np.float64)


def units(values: Floats) -> Ints:
    """Return the units that rows add to a sum: 0 where there is no value."""
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
