"""Rows key by key and in order: by counting, because most rows come in order already."""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INTS, NONE, OUT_INTS, kernel


def by_key_and_order(key: Ints, order: Ints, keys: int) -> tuple[Ints, Ints]:
    """A permutation that sorts rows by key and order, stably; and where each key then begins."""
    starts = np.zeros(keys + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=keys), out=starts[1:])
    place = np.empty(len(key), np.int64)
    _sort(key, order, starts, place)
    return place, starts


@kernel(NONE, INTS, INTS, INTS, OUT_INTS)
def _sort(key: Ints, order: Ints, starts: Ints, place: Ints) -> None:
    filled = starts.copy()
    for row in range(len(key)):
        place[filled[key[row]]] = row
        filled[key[row]] += 1
    for one in range(len(starts) - 1):
        mine = place[starts[one] : starts[one + 1]]
        for at in range(1, len(mine)):
            if order[mine[at]] < order[mine[at - 1]]:
                mine[:] = mine[np.argsort(order[mine], kind="mergesort")]
                break
