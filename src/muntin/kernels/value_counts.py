"""Sliding over counted values: values that enter a stretch are added, those that leave removed.

A bag is values with counts. Values are ranks among all distinct values at hand. Entries
``(rank, count)`` are in the order of the panes, and stretches ``[low, high)`` of entries only move
forward. So an entry enters and leaves once, whatever the overlap, at a cost of the logarithm of the
number of distinct values [Panes 3.2, pseudo-differential]. Counts are integers, so removing a value
leaves no rounding error.

Counted values of several groups travel as list columns, which are built and taken apart here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, inline, kernel
from muntin.kernels.fenwick import add, find


def lists(lengths: npt.ArrayLike, values: pa.Array) -> pa.Array:
    """Return lists of these lengths, one after the other.

    >>> lists([2, 0, 1], pa.array(["a", "b", "c"])).to_pylist()
    [['a', 'b'], [], ['c']]
    """
    ends = np.append(0, np.cumsum(lengths, dtype=np.int64))
    # Arrow checks that lengths fit its 32 bits; NumPy would not.
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def lengths(column: pa.Array) -> Ints:
    """Return the length of each list; no list is null.

    >>> lengths(pa.array([["a", "b"], [], ["c"]]))
    array([2, 0, 1])
    """
    sizes: Ints = pc.list_value_length(column).to_numpy().astype(np.int64)
    return sizes


@inline
def _put(tree: Ints, leaf: int, value: int) -> None:
    tree[leaf] = value
    node = leaf // 2
    while node >= 1:
        greater = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == greater:
            break
        tree[node] = greater
        node //= 2


@inline
def _change(tree: Ints, leaf: int, by: int) -> None:
    _put(tree, leaf, tree[leaf] + by)


@kernel(NONE, INTS, INTS, INTS, INTS, INT, OUT_INTS)
def slide_distinct(rank: Ints, count: Ints, low: Ints, high: Ints, size: int, out: Ints) -> None:
    """Compute the number of distinct values of each stretch."""
    held = np.zeros(size, np.int64)
    distinct = first = beyond = 0
    for window in range(len(low)):
        for entry in range(first, min(low[window], beyond)):
            held[rank[entry]] -= count[entry]
            if held[rank[entry]] == 0:
                distinct -= 1
        for entry in range(max(low[window], beyond), high[window]):
            if held[rank[entry]] == 0:
                distinct += 1
            held[rank[entry]] += count[entry]
        first, beyond = low[window], max(high[window], beyond)
        out[window] = distinct


@kernel(NONE, INTS, INTS, INTS, INTS, INT, INTS, OUT_INTS)
def slide_select(
    rank: Ints, count: Ints, low: Ints, high: Ints, size: int, places: Ints, out: Ints
) -> None:
    """Compute the values at given places (from 0) among the ordered values of each stretch.

    ``places`` has the same number of places for every stretch; each must be below the number of
    values in it.
    """
    tree = np.zeros(size + 1, np.int64)
    top = 1
    while 2 * top <= size:
        top *= 2
    first = beyond = 0
    asked = len(places) // max(1, len(low))
    for window in range(len(low)):
        for entry in range(first, min(low[window], beyond)):
            add(tree, rank[entry], -count[entry])
        for entry in range(max(low[window], beyond), high[window]):
            add(tree, rank[entry], count[entry])
        first, beyond = low[window], max(high[window], beyond)
        for question in range(window * asked, (window + 1) * asked):
            out[question] = find(tree, top, places[question])


@kernel(NONE, INTS, INTS, INTS, INTS, INT, INTS, INTS, OUT_INTS, OUT_INTS)
def slide_frequent(
    rank: Ints,
    count: Ints,
    low: Ints,
    high: Ints,
    leaves: int,
    starts: Ints,
    at_least: Ints,
    out_rank: Ints,
    out_count: Ints,
) -> None:
    """Compute the most frequent values of each stretch; of equally frequent ones the least first.

    Stretch w has room from ``starts[w]`` to ``starts[w + 1]``, for values that occur at least
    ``at_least[w]`` times; unused room gets the count 0. ``leaves`` is a power of two.
    """
    tree = np.zeros(2 * leaves, np.int64)  # node i has the greater of its children 2i and 2i + 1
    first = beyond = 0
    for window in range(len(low)):
        for entry in range(first, min(low[window], beyond)):
            _change(tree, leaves + rank[entry], -count[entry])
        for entry in range(max(low[window], beyond), high[window]):
            _change(tree, leaves + rank[entry], count[entry])
        first, beyond = low[window], max(high[window], beyond)
        taken = starts[window]
        while taken < starts[window + 1] and tree[1] >= max(1, at_least[window]):
            node = 1
            while node < leaves:
                node = 2 * node if tree[2 * node] == tree[node] else 2 * node + 1
            out_rank[taken] = node - leaves
            out_count[taken] = tree[node]
            _put(tree, node, 0)
            taken += 1
        for place in range(starts[window], taken):
            _put(tree, leaves + out_rank[place], out_count[place])


@kernel(NONE, INTS, INTS, INTS, INTS, INT, INTS, OUT_INTS)
def slide_present(
    rank: Ints, count: Ints, low: Ints, high: Ints, leaves: int, starts: Ints, out: Ints
) -> None:
    """Compute the distinct values of each stretch in order; ``starts`` has room for just them."""
    tree = np.zeros(2 * leaves, np.int64)  # as in slide_frequent
    first = beyond = 0
    for window in range(len(low)):
        for entry in range(first, min(low[window], beyond)):
            _change(tree, leaves + rank[entry], -count[entry])
        for entry in range(max(low[window], beyond), high[window]):
            _change(tree, leaves + rank[entry], count[entry])
        first, beyond = low[window], max(high[window], beyond)
        node = 1
        for place in range(starts[window], starts[window + 1]):
            if place > starts[window]:  # up to the next subtree on the right that has a value
                while node % 2 == 1 or tree[node + 1] == 0:
                    node //= 2
                node += 1
            while node < leaves:
                node = 2 * node if tree[2 * node] > 0 else 2 * node + 1
            out[place] = node - leaves
