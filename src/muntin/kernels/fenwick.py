"""A Fenwick tree: weights by rank, changed and added up in O(log n) steps.

``tree`` has one more place than there are ranks; node i has the weights of ``(i - (i & -i), i]``.
Weights are integers, so removing one leaves no rounding error.
"""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, inline, kernel


@inline
def add(tree: Ints, rank: int, weight: int) -> None:
    node = rank + 1
    while node < len(tree):
        tree[node] += weight
        node += node & -node


@inline
def below(tree: Ints, rank: int) -> int:
    """Return the weight of all ranks below a rank."""
    total = 0
    node = rank
    while node > 0:
        total += tree[node]
        node -= node & -node
    return total


@inline
def find(tree: Ints, top: int, place: int) -> int:
    """Return the rank at weight ``place``; ``top`` is the greatest power of two in the tree."""
    node = 0
    step = top
    while step > 0:
        if node + step < len(tree) and tree[node + step] <= place:
            node += step
            place -= tree[node]
        step //= 2
    return node


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
    """Compute for each stretch ``[low, high)`` the weight of its rows of ranks ``[first, last)``.

    Rows with a rank below zero do not count.
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
