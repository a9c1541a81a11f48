"""Maximal rectangles of a grid, column by column [Frames, appendix H].

A rectangle is a run of columns and an interval of positions. Its two edge positions satisfy in
every column; positions between them do where they exist. The history of a position up to a column
is two numbers: ``first``, the order of the column from which it exists, and ``since``, the order
from which it satisfies without a break; EVER means not yet.

So an interval whose edges satisfy in a column reaches back to the greatest ``since`` of its edges
and of the positions between them. A position between them that has satisfied as long as it exists
does not limit it.
"""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import NEVER, Bytes, Ints
from muntin.kernels.compile import (
    BYTES,
    FLOAT,
    INT,
    INTS,
    NONE,
    OUT_INT_ROWS,
    OUT_INTS,
    inline,
    kernel,
    part,
)
from muntin.kernels.frames.step import double_of
from muntin.kernels.numbers.order_keys import NOTHING

#: Above every order: not yet.
EVER = NOTHING
#: The state of a cell: the condition is false, true or null, or there is no row.
FALSE, TRUE, NULL, ABSENT = range(4)
#: The outcome of a rectangle.
LEFT_OUT, UNDECIDED, TAKEN = range(3)
#: The extent of a rectangle: not needed, a difference of integers, or of doubles.
ANY_EXTENT, WHOLE_EXTENT, REAL_EXTENT = range(3)
#: The columns of found rectangles; edges are numbers of positions, starts and ends are orders. An
#: ``open`` rectangle may go on with the next column.
FOUND = ("key", "start", "end", "low", "high", "n", "cells", "columns", "open")
_KEY, _START, _END, _LOW, _HIGH, _N, _CELLS, _COLUMNS, _OPEN = range(9)


@inline
def bound_within(first: int, since: int) -> int:
    """Return how far back an interval may reach that has the position between its edges."""
    return NEVER if first == since else since


@part
def _next_column(
    cells: Bytes,
    order: int,
    bridged: int,
    first: Ints,
    since: Ints,
    next_first: Ints,
    next_since: Ints,
) -> None:
    """Update the positions with one more column."""
    for position in range(len(cells)):
        cell = cells[position]
        exists = first[position] != EVER or cell != ABSENT
        next_first[position] = min(first[position], order) if exists else EVER
        if exists and (cell == TRUE or (bridged and cell >= NULL)):
            next_since[position] = min(since[position], order)
        else:
            next_since[position] = EVER


@part
def _widenings(first: Ints, since: Ints, left: Ints, right: Ints) -> None:
    """Find the start from which an interval with an edge at a position can be wider on that side.

    An interval that can be wider can also be wider if it starts later, so one number per side is
    enough.
    """
    widest = EVER
    for position in range(len(first)):
        left[position] = widest
        widest = min(since[position], max(bound_within(first[position], since[position]), widest))
    widest = EVER
    for position in range(len(first) - 1, -1, -1):
        right[position] = widest
        widest = min(since[position], max(bound_within(first[position], since[position]), widest))


@part
def _roomier(pool: Ints) -> Ints:
    wider = np.empty((2 * pool.shape[0], pool.shape[1]), np.int64)
    wider[: len(pool)] = pool
    return wider


@part
def _wide_enough(extents: int, low: int, high: int, less: int, least: float) -> bool:
    """Return True if positions, given by their order, are far enough apart."""
    if extents == REAL_EXTENT:
        return double_of(high) - double_of(low) >= least
    # Differences of 64-bit integers fit unsigned 64 bits.
    return extents == ANY_EXTENT or bool(np.uint64(high) - np.uint64(low) > np.uint64(less))


@part
def _end_column(
    first: Ints,
    since: Ints,
    next_first: Ints,
    next_since: Ints,
    at: Ints,
    extents: int,
    less: int,
    least: float,
    end: int,
    found: int,
    pool: Ints,
) -> tuple[int, Ints]:
    """Add the rectangles that end in a column because the next one breaks them.

    They reach back as far as possible, and are as wide as possible from there to here.
    """
    positions = len(first)
    left, right = np.empty(positions, np.int64), np.empty(positions, np.int64)
    _widenings(first, since, left, right)
    for low in range(positions):
        if since[low] == EVER:
            continue
        within = next_within = NEVER
        for high in range(low, positions):
            if since[high] == EVER:
                if first[high] != EVER:
                    break
            else:
                start = max(since[low], since[high], within)
                goes_on = max(next_since[low], next_since[high], next_within) == start
                maximal = start < left[low] and start < right[high]
                ends = maximal and not goes_on
                if ends and _wide_enough(extents, at[low], at[high], less, least):
                    if found == len(pool):
                        pool = _roomier(pool)
                    pool[found, _START], pool[found, _END] = start, end
                    pool[found, _LOW], pool[found, _HIGH] = low, high
                    found += 1
            if high > low:
                within = max(within, bound_within(first[high], since[high]))
                next_bound = bound_within(next_first[high], next_since[high])
                next_within = max(next_within, next_bound)
    return found, pool


@part
def _running(flags: Bytes, positions: int) -> Ints:
    """Return the number of flags set before each column and position of a grid."""
    columns = len(flags) // positions
    counts = np.zeros((columns + 1, positions + 1), np.int64)
    for column in range(columns):
        so_far = 0
        for position in range(positions):
            so_far += flags[column * positions + position]
            counts[column + 1, position + 1] = counts[column, position + 1] + so_far
    return counts


@inline
def boxed(counts: Ints, top: int, bottom: int, low: int, high: int) -> int:
    """Return the number of flags in columns ``[top, bottom]`` and positions ``[low, high]``."""
    above = counts[top, high + 1] - counts[top, low]
    below = counts[bottom + 1, high + 1] - counts[bottom + 1, low]
    return below - above  # type: ignore[no-any-return]


@part
def _existing(first: Ints, orders: Ints) -> Bytes:
    """Return the cells of positions that exist in their column."""
    flags = np.empty(len(orders) * len(first), np.uint8)
    for column in range(len(orders)):
        for position in range(len(first)):
            flags[column * len(first) + position] = first[position] <= orders[column]
    return flags


@part
def _describe(
    pool: Ints, begun: int, opened: int, found: int, cells: Bytes, first: Ints, orders: Ints
) -> int:
    """Count the cells of the rectangles of a key; those from ``opened`` on are open.

    Rectangles that start before the first column are left out, because their rows are gone.
    """
    real = _running((cells == TRUE).view(np.uint8), len(first))
    existing = _running(_existing(first, orders), len(first))
    kept = begun
    for place in range(begun, found):
        start, end = pool[place, _START], pool[place, _END]
        low, high = pool[place, _LOW], pool[place, _HIGH]
        if start < orders[0]:
            continue
        top, bottom = np.searchsorted(orders, start), np.searchsorted(orders, end)
        pool[kept] = pool[place]
        pool[kept, _N] = boxed(real, top, bottom, low, high)
        pool[kept, _CELLS] = boxed(existing, top, bottom, low, high)
        pool[kept, _COLUMNS] = bottom - top + 1
        pool[kept, _OPEN] = place >= opened
        kept += 1
    return kept


@part
def _sweep_key(
    cells: Bytes,
    orders: Ints,
    fresh: int,
    at: Ints,
    bridged: int,
    extents: int,
    less: int,
    least: float,
    first: Ints,
    since: Ints,
    found: int,
    pool: Ints,
) -> tuple[int, int, Ints]:
    """Add rectangles that end before the last column, then open ones; return where those begin."""
    wide = len(first)
    next_first, next_since = first.copy(), np.full(wide, EVER)
    for column in range(fresh, len(orders)):
        line = cells[column * wide : (column + 1) * wide]
        _next_column(line, orders[column], bridged, first, since, next_first, next_since)
        # Rectangles that ended before the first column at hand were given up.
        if column > 0:
            end = orders[column - 1]
            found, pool = _end_column(
                first, since, next_first, next_since, at, extents, less, least, end, found, pool
            )
        first[:], since[:] = next_first, next_since
    opened = found
    next_since[:] = EVER
    found, pool = _end_column(
        first, since, first, next_since, at, extents, less, least, orders[-1], found, pool
    )
    return opened, found, pool


@kernel(
    OUT_INT_ROWS,
    *(INTS, INTS, INTS, BYTES),
    *(INTS, INTS, INTS),
    *(INTS, INTS, INT),
    *(INT, INT, FLOAT),
    *(OUT_INTS, OUT_INTS),
)
def sweep(
    starts: Ints,
    row_column: Ints,
    row_place: Ints,
    condition: Bytes,
    column_starts: Ints,
    column_order: Ints,
    fresh: Ints,
    place_starts: Ints,
    at: Ints,
    bridged: int,
    extents: int,
    less: int,
    least: float,
    first: Ints,
    since: Ints,
) -> Ints:
    """Return the rectangles that end up to the last column of each key, as rows of ``FOUND``.

    Rows, columns and positions come key by key. Columns before ``fresh`` were swept before, and
    ``first`` and ``since`` describe them; both are updated to the last column.
    """
    pool = np.empty((64, len(FOUND)), np.int64)
    frame_count = 0
    for key in range(len(fresh)):
        low, wide = place_starts[key], place_starts[key + 1] - place_starts[key]
        left, orders = column_starts[key], column_order[column_starts[key] : column_starts[key + 1]]
        if not len(orders):
            continue
        cells = np.full(len(orders) * wide, ABSENT, np.uint8)
        for row in range(starts[key], starts[key + 1]):
            cells[(row_column[row] - left) * wide + row_place[row] - low] = condition[row]
        here, exist, hold = at[low : low + wide], first[low : low + wide], since[low : low + wide]
        begun = frame_count
        opened, frame_count, pool = _sweep_key(
            cells,
            orders,
            fresh[key] - left,
            here,
            bridged,
            extents,
            less,
            least,
            exist,
            hold,
            frame_count,
            pool,
        )
        pool[begun:frame_count, _KEY] = key
        frame_count = _describe(pool, begun, opened, frame_count, cells, exist, orders)
    return pool[:frame_count]


@kernel(NONE, INTS, INTS, INTS, INTS, INTS, INTS, INTS, INTS, INTS, OUT_INTS)
def prefer(
    starts: Ints,
    start: Ints,
    end: Ints,
    low: Ints,
    high: Ints,
    open_starts: Ints,
    open_start: Ints,
    open_low: Ints,
    open_high: Ints,
    outcome: Ints,
) -> None:
    """Decide which rectangles are taken, left out or undecided; the preferred of a key come first.

    A region that grows from an open rectangle, or from a part of it, may be preferred to all that
    share a cell with it. It reaches beyond the end of every other rectangle.
    """
    for key in range(len(starts) - 1):
        for candidate in range(starts[key], starts[key + 1]):
            state = TAKEN
            for other in range(open_starts[key], open_starts[key + 1]):
                beside = open_high[other] < low[candidate] or high[candidate] < open_low[other]
                if not beside and open_start[other] <= end[candidate]:
                    state = UNDECIDED
            for other in range(starts[key], candidate):
                beside = high[other] < low[candidate] or high[candidate] < low[other]
                if not beside and start[other] <= end[candidate] and start[candidate] <= end[other]:
                    if outcome[other] == TAKEN:
                        state = LEFT_OUT
                        break
                    if outcome[other] == UNDECIDED:
                        state = UNDECIDED
            outcome[candidate] = state


@kernel(INT, INTS, INTS, INTS, INTS, INTS, INTS, INTS, INTS, OUT_INTS, OUT_INTS)
def members(
    starts: Ints,
    order: Ints,
    position: Ints,
    key: Ints,
    start: Ints,
    end: Ints,
    low: Ints,
    high: Ints,
    out_frame: Ints,
    out_row: Ints,
) -> int:
    """Find the rows in each rectangle; return how many pairs there are.

    Call it with empty outputs to count, and again with room to fill.
    """
    pair_count = 0
    for frame in range(len(key)):
        stop = starts[key[frame] + 1]
        row = starts[key[frame]]
        row += np.searchsorted(order[row:stop], start[frame])
        while row < stop and order[row] <= end[frame]:
            if low[frame] <= position[row] <= high[frame]:
                if pair_count < len(out_row):
                    out_frame[pair_count], out_row[pair_count] = frame, row
                pair_count += 1
            row += 1
    return pair_count
