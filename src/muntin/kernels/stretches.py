"""Which rows of a key lie between two orders, for many pairs of orders at once."""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Bytes, Ints, Mask
from muntin.kernels.compile import BYTES, INT, INTS, NONE, OUT_INTS, kernel


def stretches(starts: Ints, order: Ints, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """For every pair the rows ``[first, stop)`` of its key with ``low <= order <= high``.

    ``starts`` has where the rows of each key, sorted by ``order``, begin, and last their number.
    """
    first, stop = np.empty(len(key), np.int64), np.empty(len(key), np.int64)
    _search(starts, order, key, low, high, first, stop)
    return first, stop


def covered(rows: int, first: Ints, stop: Ints) -> Mask:
    """Return which rows lie in one of the stretches."""
    change = np.zeros(rows + 1, np.int64)
    np.add.at(change, first, 1)
    np.add.at(change, stop, -1)
    inside: Mask = np.cumsum(change[:-1]) > 0
    return inside


def members(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Return every pair of a stretch and a row in it, by their places."""
    counts = stop - first
    stretch = np.repeat(np.arange(len(first)), counts)
    place = np.arange(len(stretch)) - np.repeat(np.cumsum(counts) - counts, counts)
    return stretch, np.repeat(first, counts) + place


def layers(high: Ints, most: int) -> Ints:
    """For stretches by their start a layer, in each of which no stretch ends before an earlier one.

    Each goes to the first layer that takes it; -1 where that would be more than ``most`` layers.
    """
    made = np.empty(len(high), np.int64)
    _lay(high, np.full(most, -1, np.int64), made)
    return made


@kernel(NONE, INTS, OUT_INTS, OUT_INTS)
def _lay(high: Ints, ends: Ints, made: Ints) -> None:
    for place in range(len(high)):
        made[place] = -1
        for layer in range(len(ends)):
            if ends[layer] <= high[place]:
                ends[layer] = high[place]
                made[place] = layer
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

    A run ends where the value changes or begins to be missing. -1 if a key's rows are not in
    strict order, or if there are more runs than room for them.
    """
    run = np.full(keys, -1, np.int64)
    found = 0
    for row in range(len(key)):
        mine = run[key[row]]
        if mine >= 0:
            before = last[mine]
            if order[row] <= order[before]:
                return -1
            if lacks[row] == lacks[before] and (lacks[row] or value[row] == value[before]):
                last[mine] = row
                count[mine] += 1
                continue
        if found == len(first):
            return -1
        run[key[row]] = found
        first[found], last[found], count[found] = row, row, 1
        found += 1
    return found
