"""Runs: stretches of a key's rows between which nothing changes, in one pass without sorting."""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Bytes, Ints
from muntin.kernels.compile import BYTES, INT, INTS, OUT_INTS, kernel


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
    """The first and last row of every run and how many rows it has; returns how many there are.

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
