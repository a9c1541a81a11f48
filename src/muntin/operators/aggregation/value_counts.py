"""Panes that keep values: how their lists merge, and windows over them without copies.

The lists of a window of many panes would be long, and those of neighbouring windows nearly equal.
So a window is only a stretch of the entries of the panes, and a question about all windows is
answered in one pass over the entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels import value_counts
from muntin.kernels.arrays import Ints
from muntin.kernels.grouping import Groups, add_by_group, key_and_pane
from muntin.kernels.numbers.order_keys import RankedValues, ranked
from muntin.kernels.sliding import slide_add
from muntin.kernels.value_counts import lengths, lists
from muntin.operators.protocol import ints

Columns = Sequence[pa.Array]


def combine_counted(columns: Columns, groups: Groups) -> list[pa.Array]:
    """Return the distinct values of each group in order, and their summed counts."""
    values, group = ranked(columns[0].flatten()), np.repeat(groups.number, lengths(columns[0]))
    cells = key_and_pane(group, len(groups), values.rank)
    counts = np.zeros(len(cells), np.int64)
    add_by_group(cells.number, ints(columns[1].flatten()), counts)
    sizes = np.bincount(group[cells.member], minlength=len(groups))
    kept = values.distinct.take(pa.array(values.rank[cells.member]))
    return [lists(sizes, kept), lists(sizes, pa.array(counts))]


def combine_collected(columns: Columns, groups: Groups) -> list[pa.Array]:
    """Return the values of each group by place, and by value where places are equal."""
    places, values = (column.flatten() for column in columns)
    group = np.repeat(groups.number, lengths(columns[0]))
    order = pa.array(np.lexsort((ranked(values).rank, ints(places), group)))
    sizes = np.bincount(group, minlength=len(groups))
    return [lists(sizes, places.take(order)), lists(sizes, values.take(order))]


def slide_collected(columns: Columns, low: Ints, high: Ints) -> list[pa.Array]:
    """Return copies of the values of each stretch in order: the copies are the result."""
    places, values = (column.flatten() for column in columns)
    ends = _ends(columns[0])
    first, sizes = ends[low], ends[high] - ends[low]
    window = np.repeat(np.arange(len(low)), sizes)
    entry = np.arange(len(window)) - (np.cumsum(sizes) - sizes - first)[window]
    place, rank = ints(places), ranked(values).rank
    falls = (place[1:] < place[:-1]) | ((place[1:] == place[:-1]) & (rank[1:] < rank[:-1]))
    inside = np.append(0, np.cumsum(falls))
    if len(place) and (inside[ends[high] - 1] > inside[np.minimum(first, len(place) - 1)]).any():
        # Rows with equal places may be sorted by something other than their values.
        entry = entry[np.lexsort((rank[entry], place[entry], window))]
    chosen = pa.array(entry)
    return [lists(sizes, places.take(chosen)), lists(sizes, values.take(chosen))]


@dataclass(frozen=True)
class Stretches:
    """The counted values of stretches of panes; implements ``muntin.aggregates.holistic.Bags``."""

    values: pa.Array
    counts: pa.Array
    low: Ints
    high: Ints

    @cached_property
    def _ranked(self) -> RankedValues:
        return ranked(self.values.flatten())

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Ints, Ints]:
        ends = _ends(self.values)
        return self._ranked.rank, ints(self.counts.flatten()), ends[self.low], ends[self.high]

    @property
    def distinct(self) -> pa.Array:
        return self._ranked.distinct

    @cached_property
    def sizes(self) -> Ints:
        _, count, low, high = self._entries
        return slide_add(count, low, high)

    @cached_property
    def distinct_counts(self) -> Ints:
        out = np.empty(len(self.low), np.int64)
        value_counts.slide_distinct(*self._entries, len(self.distinct), out)
        return out

    def at(self, places: Ints) -> Ints:
        out = np.empty(places.shape, np.int64)
        flat = np.ascontiguousarray(places).reshape(-1)
        value_counts.slide_select(*self._entries, len(self.distinct), flat, out.reshape(-1))
        return out

    def most_frequent(self, most: Ints, at_least: Ints) -> tuple[Ints, Ints, Ints]:
        starts = np.append(0, np.cumsum(np.minimum(most, self.distinct_counts)))
        rank, count = np.zeros(starts[-1], np.int64), np.zeros(starts[-1], np.int64)
        value_counts.slide_frequent(*self._entries, self._leaves, starts, at_least, rank, count)
        filled = count > 0
        running = np.append(0, np.cumsum(filled))
        return np.diff(running[starts]), rank[filled], count[filled]

    def present(self) -> tuple[Ints, Ints]:
        starts = np.append(0, np.cumsum(self.distinct_counts))
        rank = np.empty(starts[-1], np.int64)
        value_counts.slide_present(*self._entries, self._leaves, starts, rank)
        return self.distinct_counts, rank

    @cached_property
    def _leaves(self) -> int:
        return 1 << max(0, len(self.distinct) - 1).bit_length()


def _ends(column: pa.Array) -> Ints:
    """Return where the entries of each row begin among all entries, and then their number."""
    return np.append(0, np.cumsum(lengths(column)))
