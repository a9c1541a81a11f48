"""Count-sketches: how often each value came, in counters that can be added and subtracted.

A sketch has some rows of counters. A value adds +1 or -1 to one counter of each row, by its hash.
What the counter has, with that sign, estimates how often the value came; the median over the rows
is the estimate. Its error in a row has the variance F2 / width, where F2 is the sum of the squared
counts of all values.
"""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Ints, Words
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, WORDS, inline, kernel


@inline
def _mixed(value: np.uint64, row: int) -> np.uint64:
    """Return a hash of a value that is another one for each row of counters."""
    word = np.uint64(value) + np.uint64(row + 1) * np.uint64(0x9E37_79B9_7F4A_7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    mixed: np.uint64 = word ^ (word >> np.uint64(31))
    return mixed


def sketch_places(hashes: Words, buckets: int, width: int, rows: int) -> tuple[Ints, Ints]:
    """Return the counter of each value in each row of counters, and its sign, as flat arrays.

    Counters are numbered over buckets, rows and width.
    """
    place, sign = np.empty(len(hashes) * rows, np.int64), np.empty(len(hashes) * rows, np.int64)
    _places(hashes, buckets, width, rows, place, sign)
    return place, sign


@kernel(NONE, WORDS, INT, INT, INT, OUT_INTS, OUT_INTS, in_python=True)
def _places(hashes: Words, buckets: int, width: int, rows: int, place: Ints, sign: Ints) -> None:
    for value in range(len(hashes)):
        bucket = np.int64(hashes[value] % np.uint64(buckets))
        for row in range(rows):
            word = _mixed(hashes[value], row)
            column = np.int64((word >> np.uint64(1)) % np.uint64(width))
            place[value * rows + row] = (bucket * rows + row) * width + column
            sign[value * rows + row] = 1 if word & np.uint64(1) else -1


@kernel(INT, INTS, INTS, INT, INT, INT, INTS, INT, INT, OUT_INTS, OUT_INTS, in_python=True)
def sketch_until(
    place: Ints,
    sign: Ints,
    rows: int,
    width: int,
    first: int,
    order: Ints,
    stop: int,
    limit: int,
    counters: Ints,
    squares: Ints,
) -> int:
    """Add values from ``first`` on; return the first value that was not added.

    ``squares`` has for each bucket the sum of the squares of its counters. When it exceeds
    ``limit`` in a bucket, values of the same order are still added and no others. No value at
    ``stop`` or later is added.
    """
    doubted = False
    for value in range(first, len(order)):
        if order[value] >= stop or (doubted and order[value] > order[value - 1]):
            return value
        bucket = place[value * rows] // (rows * width)
        for row in range(rows):
            counter = place[value * rows + row]
            squares[bucket] += 2 * sign[value * rows + row] * counters[counter] + 1
            counters[counter] += sign[value * rows + row]
        doubted = doubted or squares[bucket] > limit
    return len(order)


def sketch_estimates(counters: Ints, place: Ints, sign: Ints, rows: int) -> Ints:
    """Return the estimated count of each value: the median over the rows, and at least 0."""
    if not len(place):
        return np.empty(0, np.int64)
    signed = (counters[place] * sign).reshape(-1, rows)
    middle: Ints = np.maximum(0, np.partition(signed, rows // 2, axis=1)[:, rows // 2])
    return middle
