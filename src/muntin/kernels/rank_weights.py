"""How much weight of a sliding stretch lies between two ranks: a Fenwick tree of ranks.

Rows enter and leave the tree as stretches move on, each in O(log n) steps, and each stretch asks
once. Weights are integers, so that taking a row out again leaves nothing behind.
"""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, kernel
from muntin.kernels.fenwick import add, below


@kernel(NONE, INTS, INTS, INTS, INTS, INTS, INTS, INT, OUT_INTS)
def weight_between(
    rank: Ints,
    weight: Ints,
    low: Ints,
    high: Ints,
    first: Ints,
    last: Ints,
    ranks: int,
    out: Ints,
) -> None:
    """For each stretch ``[low, high)`` the weight of its rows with rank in ``[first, last)``.

    Rows of a rank below zero count nowhere.
    """
    tree = np.zeros(ranks + 1, np.int64)
    added = 0
    removed = 0
    for window in range(len(low)):
        while added < high[window]:
            if rank[added] >= 0:
                add(tree, rank[added], weight[added])
            added += 1
        while removed < low[window]:
            if rank[removed] >= 0:
                add(tree, rank[removed], -weight[removed])
            removed += 1
        out[window] = 0
        if first[window] < last[window]:
            out[window] = below(tree, last[window]) - below(tree, first[window])
