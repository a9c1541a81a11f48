"""Kernels of windows over rows against the same in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.row_windows import (
    first_beyond,
    join_sessions,
    never_falling,
    stretches,
)

Ints = npt.NDArray[np.int64]
SMALL = st.integers(-5, 20)


def ints(values: object) -> Ints:
    return np.array(values, np.int64)


@st.composite
def cells_and_windows(
    draw: st.DrawFn,
) -> tuple[list[tuple[int, list[int]]], list[list[tuple[int, int]]]]:
    """Draw runs of cells with their key, and the windows of each key, whose ends never fall."""
    windows = []
    for _ in range(draw(st.integers(1, 3))):
        lows = sorted(draw(st.lists(SMALL, max_size=6)))
        highs = sorted(draw(st.lists(SMALL, min_size=len(lows), max_size=len(lows))))
        windows.append(list(zip(lows, highs, strict=True)))
    key = st.integers(0, len(windows) - 1)
    numbers = st.lists(SMALL, min_size=1, max_size=6, unique=True).map(sorted)
    return draw(st.lists(st.tuples(key, numbers), max_size=4)), windows


@given(cells_and_windows())
def test_stretches(
    drawn: tuple[list[tuple[int, list[int]]], list[list[tuple[int, int]]]],
) -> None:
    runs, windows = drawn
    starts = ints([0, *itertools.accumulate(len(numbers) for _, numbers in runs)])
    number = ints([n for _, numbers in runs for n in numbers])
    key_windows = ints([0, *itertools.accumulate(map(len, windows))])
    flat = [window for mine in windows for window in mine]
    low, high = ints([low for low, _ in flat]), ints([high for _, high in flat])
    given_ = starts, ints([key for key, _ in runs]), number, key_windows, low, high
    none = ints([])
    found = stretches(*given_, none, none, none, none)
    out = [np.empty(found, np.int64) for _ in range(4)]
    assert stretches(*given_, *out) == found
    wanted = []
    for run, (key, numbers) in enumerate(runs):
        for window in range(key_windows[key], key_windows[key + 1]):
            held = [
                int(starts[run]) + place
                for place, n in enumerate(numbers)
                if low[window] <= n < high[window]
            ]
            if held:
                wanted.append((run, window, held[0], held[-1] + 1))
    assert list(zip(*(column.tolist() for column in out), strict=True)) == wanted


@given(
    st.lists(st.lists(SMALL, min_size=1, max_size=6).map(sorted), min_size=1, max_size=3), st.data()
)
def test_first_beyond(orders: list[list[int]], data: st.DataObject) -> None:
    starts = ints([0, *itertools.accumulate(map(len, orders))])
    first = [data.draw(st.integers(0, 9)) for _ in orders]
    rank = ints([first[k] + n for k, mine in enumerate(orders) for n in range(len(mine))])
    asked = []
    for key, mine in enumerate(orders):
        edges = data.draw(st.lists(st.integers(-9, mine[-1] - 1), max_size=4).map(sorted))
        asked += [(key, edge) for edge in edges]
    out = np.empty(len(asked), np.int64)
    order = ints([value for mine in orders for value in mine])
    first_beyond(starts, rank, order, ints([k for k, _ in asked]), ints([e for _, e in asked]), out)
    assert out.tolist() == [
        min(first[key] + n for n, value in enumerate(orders[key]) if value > edge)
        for key, edge in asked
    ]


ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 6)), max_size=12)


@given(ROWS.map(sorted), st.tuples(st.integers(-1, 4), st.integers(-1, 4)))
def test_never_falling(rows: list[tuple[int, int, int]], reached: tuple[int, int]) -> None:
    out = np.empty(len(rows), np.int64)
    columns = [ints([row[place] for row in rows]) for place in range(3)]
    never_falling(*columns, ints(reached), out)
    kept: list[tuple[int, int, int]] = []
    for key, order, value in rows:
        lower = [v for k, o, v in kept if k == key and o < order]
        if value >= max([reached[key], *lower]):
            kept.append((key, order, value))
    taken = [row for row, one in zip(rows, out.tolist(), strict=True) if one]
    assert taken == kept


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(1, 5)), max_size=12))
def test_join_sessions(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted(rows)
    number, end = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    columns = [k for k, _, _ in rows], [s for _, s, _ in rows], [s + n for _, s, n in rows]
    count = join_sessions(*map(ints, columns), number, end)
    sessions: list[list[tuple[int, int, int]]] = []
    for key, start, length in rows:
        last = sessions[-1] if sessions else []
        if last and last[0][0] == key and start <= max(s + n for _, s, n in last):
            last.append((key, start, length))
        else:
            sessions.append([(key, start, length)])
    assert count == len(sessions)
    assert number.tolist() == [place for place, session in enumerate(sessions) for _ in session]
    assert end[:count].tolist() == [max(s + n for _, s, n in session) for session in sessions]
