"""A Fenwick tree: weights by rank, changed and added up in O(log n) steps.

``tree`` has one place more than there are ranks; node i has the weights of ``(i - (i & -i), i]``.
Weights are integers, so that taking one out again leaves nothing behind.
"""

from __future__ import annotations

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import inline


@inline
def add(tree: Ints, rank: int, weight: int) -> None:
    node = rank + 1
    while node < len(tree):
        tree[node] += weight
        node += node & -node


@inline
def below(tree: Ints, rank: int) -> int:
    """The weight of all ranks below one."""
    total = 0
    node = rank
    while node > 0:
        total += tree[node]
        node -= node & -node
    return total


@inline
def find(tree: Ints, top: int, place: int) -> int:
    """The rank before which at most ``place`` lies; ``top`` is the greatest power of two in it."""
    node = 0
    step = top
    while step > 0:
        if node + step < len(tree) and tree[node + step] <= place:
            node += step
            place -= tree[node]
        step //= 2
    return node
