"""Which rows of a key lie between two orders, for many pairs of orders at once."""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Bytes, Ints, Mask
from muntin.kernels.compile import BYTES, INT, INTS, NONE, OUT_INTS, inline, kernel


def stretches(starts: Ints, order: Ints, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return for every pair the rows ``[first, stop)`` of its key with ``low <= order <= high``.

    ``starts`` has the first row of each key and, last, the number of rows; the rows of a key are
    sorted by ``order``.
    """
    first, stop = np.empty(len(key), np.int64), np.empty(len(key), np.int64)
    _search(starts, order, key, low, high, first, stop)
    return first, stop


def last_within(starts: Ints, order: Ints, key: Ints, low: Ints, high: Ints) -> Ints:
    """Return for every pair the last row of its key with ``low <= order <= high``, or -1."""
    found = np.empty(len(key), np.int64)
    _last_within(starts, order, key, low, high, found)
    return found


def first_within(starts: Ints, order: Ints, key: Ints, low: Ints, high: Ints) -> Ints:
    """Return for every pair the first row of its key with ``low <= order <= high``, or -1."""
    found = np.empty(len(key), np.int64)
    _first_within(starts, order, key, low, high, found)
    return found


def covered(rows: int, first: Ints, stop: Ints) -> Mask:
    """Return which rows lie in one of the stretches."""
    change = np.zeros(rows + 1, np.int64)
    np.add.at(change, first, 1)
    np.add.at(change, stop, -1)
    inside: Mask = np.cumsum(change[:-1]) > 0
    return inside


def members(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Return every pair of a stretch and a row in it, by their numbers."""
    counts = stop - first
    stretch = np.repeat(np.arange(len(first)), counts)
    place = np.arange(len(stretch)) - np.repeat(np.cumsum(counts) - counts, counts)
    return stretch, np.repeat(first, counts) + place


def layers(high: Ints, most: int) -> Ints:
    """Return a layer for each stretch; in a layer, no stretch ends before an earlier one.

    Stretches come by their start. Each goes to the first layer that can take it, or to -1 if that
    needs more than ``most`` layers.
    """
    layer = np.empty(len(high), np.int64)
    _lay(high, np.full(most, -1, np.int64), layer)
    return layer


@kernel(NONE, INTS, OUT_INTS, OUT_INTS)
def _lay(high: Ints, ends: Ints, layer: Ints) -> None:
    for place in range(len(high)):
        layer[place] = -1
        for candidate in range(len(ends)):
            if ends[candidate] <= high[place]:
                ends[candidate] = high[place]
                layer[place] = candidate
                break


@kernel(NONE, INTS, INTS, INTS, INTS, INTS, OUT_INTS, OUT_INTS)
def _search(
    starts: Ints, order: Ints, key: Ints, low: Ints, high: Ints, first: Ints, stop: Ints
) -> None:
    for place in range(len(key)):
        begin, end = starts[key[place]], starts[key[place] + 1]
        a, b = begin, end
        while a < b:
            middle = (a + b) // 2
            if order[middle] < low[place]:
                a = middle + 1
            else:
                b = middle
        first[place] = a
        b = end
        while a < b:
            middle = (a + b) // 2
            if order[middle] <= high[place]:
                a = middle + 1
            else:
                b = middle
        stop[place] = a


@inline
def _above(order: Ints, begin: int, end: int, near: int, value: int) -> int:
    """Return the first of the rows ``[begin, end)`` whose order is above a value, or ``end``.

    The search starts at the row ``near``: pairs mostly come in order, so it is not far.
    """
    a, b, step = begin, end, 1
    if near < end and order[near] <= value:
        a = near + 1
        while a + step <= end and order[a + step - 1] <= value:
            a, step = a + step, 2 * step
        b = min(end, a + step)
    else:
        b = near
        while b - step >= begin and order[b - step] > value:
            b, step = b - step, 2 * step
        a = max(begin, b - step)
    while a < b:
        middle = (a + b) // 2
        if order[middle] <= value:
            a = middle + 1
        else:
            b = middle
    return a


@kernel(NONE, INTS, INTS, INTS, INTS, INTS, OUT_INTS)
def _last_within(starts: Ints, order: Ints, key: Ints, low: Ints, high: Ints, found: Ints) -> None:
    near = starts[:-1].copy()
    for place in range(len(key)):
        of = key[place]
        near[of] = _above(order, starts[of], starts[of + 1], near[of], high[place])
        row = near[of] - 1
        found[place] = row if row >= starts[of] and order[row] >= low[place] else -1


@kernel(NONE, INTS, INTS, INTS, INTS, INTS, OUT_INTS)
def _first_within(starts: Ints, order: Ints, key: Ints, low: Ints, high: Ints, found: Ints) -> None:
    near = starts[:-1].copy()
    for place in range(len(key)):
        of = key[place]
        row = _above(order, starts[of], starts[of + 1], near[of], low[place] - 1)
        near[of] = row
        found[place] = row if row < starts[of + 1] and order[row] <= high[place] else -1


@kernel(INT, INTS, INT, INTS, INTS, BYTES, OUT_INTS, OUT_INTS, OUT_INTS)
def find_runs(
    key: Ints,
    keys: int,
    order: Ints,
    value: Ints,
    lacks: Bytes,
    first: Ints,
    last: Ints,
    count: Ints,
) -> int:
    """Find the first row, the last row and the size of every run; return how many runs there are.

    A run ends where the value changes, or where it starts or stops being missing. Return -1 if the
    rows of a key are not in strict order, or if there are more runs than room for them.
    """
    run = np.full(keys, -1, np.int64)
    runs = 0
    for row in range(len(key)):
        current = run[key[row]]
        if current >= 0:
            before = last[current]
            if order[row] <= order[before]:
                return -1
            if lacks[row] == lacks[before] and (lacks[row] or value[row] == value[before]):
                last[current] = row
                count[current] += 1
                continue
        if runs == len(first):
            return -1
        run[key[row]] = runs
        first[runs], last[runs], count[runs] = row, row, 1
        runs += 1
    return runs
