"""Walks over counted values against bags built anew for every stretch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.kernels.value_counts import (
    slide_distinct,
    slide_frequent,
    slide_present,
    slide_select,
)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Walk:
    """Entries (rank, count), and stretches of them whose ends only move forward."""

    entries: list[tuple[int, int]]
    stretches: list[tuple[int, int]]
    size: int

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        columns = [[rank for rank, _ in self.entries], [count for _, count in self.entries]]
        columns += [[low for low, _ in self.stretches], [high for _, high in self.stretches]]
        rank, count, low, high = (np.array(column, np.int64) for column in columns)
        return rank, count, low, high

    @property
    def bags(self) -> list[Counter[int]]:
        bags = []
        for low, high in self.stretches:
            bag: Counter[int] = Counter()
            for rank, count in self.entries[low:high]:
                bag[rank] += count
            bags.append(bag)
        return bags

    @property
    def leaves(self) -> int:
        leaves = 1
        while leaves < self.size:
            leaves *= 2
        return leaves


@st.composite
def walks(draw: st.DrawFn) -> Walk:
    """Draw walks, also with empty stretches, gaps between stretches, and steps of any length."""
    size = draw(st.integers(1, 9))
    entries = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(1, 4)), max_size=20))
    lows = sorted(draw(st.lists(st.integers(0, len(entries)), max_size=10)))
    stretches, reached = [], 0
    for low in lows:
        reached = max(reached, draw(st.integers(low, len(entries))))
        stretches.append((low, reached))
    return Walk(entries, stretches, size)


@settings(max_examples=300)
@given(walks())
def test_distinct(walk: Walk) -> None:
    out = np.empty(len(walk.stretches), np.int64)
    slide_distinct(*walk.arrays, walk.size, out)
    assert out.tolist() == [len(bag) for bag in walk.bags]


@settings(max_examples=500)
@given(walks(), st.data())
def test_select(walk: Walk, data: st.DataObject) -> None:
    asked = data.draw(st.integers(1, 3))
    inside = [sorted(bag.elements()) for bag in walk.bags]
    places = [
        [data.draw(st.integers(0, max(0, len(values) - 1))) for _ in range(asked)]
        for values in inside
    ]
    out = np.empty(len(inside) * asked, np.int64)
    slide_select(*walk.arrays, walk.size, np.array(places, np.int64).reshape(-1), out)
    for found, wanted, values in zip(out.reshape(-1, asked), places, inside, strict=True):
        if values:
            assert found.tolist() == [values[place] for place in wanted]
        else:
            assert all(0 <= rank <= walk.size for rank in found)  # no value there: any rank


@settings(max_examples=500)
@given(walks(), st.data())
def test_frequent(walk: Walk, data: st.DataObject) -> None:
    bags = walk.bags
    room = [data.draw(st.integers(0, 4)) for _ in bags]
    at_least = [data.draw(st.integers(0, 6)) for _ in bags]
    starts = np.append(0, np.cumsum(room)).astype(np.int64)
    rank, count = np.zeros(starts[-1], np.int64), np.zeros(starts[-1], np.int64)
    wanted = np.array(at_least, np.int64)
    slide_frequent(*walk.arrays, walk.leaves, starts, wanted, rank, count)
    for window, bag in enumerate(bags):
        mine = slice(starts[window], starts[window + 1])
        found = [pair for pair in zip(rank[mine], count[mine], strict=True) if pair[1] > 0]
        ordered = sorted(bag.items(), key=lambda pair: (-pair[1], pair[0]))
        expected = [pair for pair in ordered if pair[1] >= at_least[window]]
        assert found == expected[: room[window]]


@settings(max_examples=300)
@given(walks())
def test_present(walk: Walk) -> None:
    expected = [sorted(bag) for bag in walk.bags]
    starts = np.append(0, np.cumsum([len(ranks) for ranks in expected])).astype(np.int64)
    out = np.empty(starts[-1], np.int64)
    slide_present(*walk.arrays, walk.leaves, starts, out)
    assert out.tolist() == [rank for ranks in expected for rank in ranks]


#   entries   a3   b1   b5   c2
#             [---------)             a3 b1      most frequent a
#                  [---------)        b6         most frequent b: its two entries are one value
#                            [---)    c2
def test_entries_of_one_value_add_up() -> None:
    walk = Walk([(0, 3), (1, 1), (1, 5), (2, 2)], [(0, 2), (1, 3), (3, 4)], 3)
    rank, count = np.zeros(3, np.int64), np.zeros(3, np.int64)
    slide_frequent(
        *walk.arrays, walk.leaves, np.arange(4, dtype=np.int64), np.ones(3, np.int64), rank, count
    )
    assert list(zip(rank.tolist(), count.tolist(), strict=True)) == [(0, 3), (1, 6), (2, 2)]
