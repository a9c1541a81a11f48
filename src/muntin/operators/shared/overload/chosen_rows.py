"""Which rows of a query are looked at in a micro-batch, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from muntin.kernels.arrays import Ints, Mask

#: Returns the units that rows of each input take, given a mask of the chosen ones.
Work = Callable[[Sequence[Mask]], int]


@dataclass(frozen=True)
class Chosen:
    """Masks of the rows of each input: those that are looked at, and those that wait."""

    admitted: list[Mask]
    waiting: list[Mask]


def by_rank(ranks: Sequence[Ints], work: Work, units: int) -> list[Mask]:
    """Return the rows that fit into some units, taken by rank.

    >>> by_rank([np.array([0, 2]), np.array([1])], lambda chosen: sum(map(sum, chosen)), 2)
    [array([ True, False]), array([ True])]
    """
    low, high = 0, sum(map(len, ranks))
    while low < high:
        middle = (low + high + 1) // 2
        if work([rank < middle for rank in ranks]) <= units:
            low = middle
        else:
            high = middle - 1
    return [rank < low for rank in ranks]


def first_of(ranks: Sequence[Ints], among: Sequence[Mask], most: int) -> list[Mask]:
    """Return the first ``most`` rows by rank among some."""
    left = np.sort(np.concatenate([rank[mask] for rank, mask in zip(ranks, among, strict=True)]))
    if len(left) <= most:
        return [mask.copy() for mask in among]
    bound = left[most]
    return [mask & (rank < bound) for rank, mask in zip(ranks, among, strict=True)]
