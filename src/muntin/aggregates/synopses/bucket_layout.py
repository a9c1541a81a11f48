"""Where the buckets of an exponential histogram lie: the inner loops of :mod:`.buckets`."""

from __future__ import annotations

import numpy as np

from muntin.aggregates.synopses.canonical_form import canonical
from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, inline, kernel


@inline
def _full_levels(total: int, l: int) -> int:  # noqa: E741  (the paper's letter)
    """j: how many levels are full, the largest with 2^j <= total/l + 1."""
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
    """TOTAL and LAST of each question, as if the rows before its end had been fed one by one.

    Looks for a unit inside such that no bucket begins with an older one inside: the head of an old
    bucket, or failing that the oldest unit inside of the new rows. Its bucket is the last one.
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
            # Level r begins behind l(2^r - 1) units and the low r bits of what is above j levels.
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
    """The ticks of units by their age after ``new`` units, which must head an old bucket or be new.

    A unit that is not the newest of a bucket never becomes it later
    [Exponential histograms 4], so every bucket that begins among the old units begins
    where an old bucket does.
    """
    row, behind, old = len(ticks), 0, 0
    for place in range(len(wanted)):
        if wanted[place] < new:
            while behind <= wanted[place]:
                row -= 1
                behind += units[row]
            out[place] = ticks[row]
        else:
            while ages[old] < wanted[place] - new:
                old += 1
            out[place] = stamps[old]


def head_ages(total: int, l: int) -> Ints:  # noqa: E741
    """The age of each bucket's newest unit, the newest bucket first."""
    ages = np.empty(sum(canonical(total, l)), np.int64)
    _fill_head_ages(total, l, ages)
    return ages
