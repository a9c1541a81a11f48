"""Windows over rows in order: where stretches of cells begin and end, key by key."""

from __future__ import annotations

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, kernel


@kernel(INT, INTS, INTS, INTS, INTS, INTS, INTS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS)
def stretches(
    run_starts: Ints,
    run_key: Ints,
    number: Ints,
    key_windows: Ints,
    window_low: Ints,
    window_high: Ints,
    out_run: Ints,
    out_window: Ints,
    out_low: Ints,
    out_high: Ints,
) -> int:
    """Find the cells of each window, run by run; return how many windows hold a cell.

    A run is a stretch of cells whose numbers rise. ``key_windows[k]`` is the first window of key
    ``k``. The windows of a key hold the numbers ``[low, high)``; neither bound ever falls. Call
    it with empty outputs to count, and again with room to fill.
    """
    count = 0
    room = len(out_window)
    for run in range(len(run_key)):
        stop = run_starts[run + 1]
        low = high = run_starts[run]
        key = run_key[run]
        window = key_windows[key]
        last = key_windows[key + 1]
        while window < last:
            while high < stop and number[high] < window_high[window]:
                high += 1
            while low < high and number[low] < window_low[window]:
                low += 1
            if low < high:
                if count < room:
                    out_run[count] = run
                    out_window[count] = window
                    out_low[count] = low
                    out_high[count] = high
                count += 1
                window += 1
            elif high < stop:
                # No cell here: go on with the window of the next cell, by bisection.
                below, above = window, last
                while above - below > 1:
                    middle = (below + above) // 2
                    if window_high[middle] > number[high]:
                        above = middle
                    else:
                        below = middle
                window = above
            else:
                break
    return count


@kernel(NONE, INTS, INTS, INTS, INTS, INTS, OUT_INTS)
def first_beyond(
    key_starts: Ints, rank: Ints, order: Ints, window_key: Ints, edge: Ints, out: Ints
) -> None:
    """Compute for each window the least rank of its key whose order is beyond an edge.

    Rows come key by key in order of rank; windows come key by key, and their edges never fall.
    """
    row = 0
    previous = -1
    for window in range(len(window_key)):
        key = window_key[window]
        if key != previous:
            row = key_starts[key]
            previous = key
        while order[row] <= edge[window]:
            row += 1
        out[window] = rank[row]


@kernel(NONE, INTS, INTS, INTS, INTS, OUT_INTS)
def never_falling(key: Ints, order: Ints, value: Ints, reached: Ints, out: Ints) -> None:
    """Mark with 1 the rows whose value is not below that of any row with a lower order.

    Rows come key by key in order; ``reached`` has the greatest value of each key so far. A row
    that is not marked does not count for later rows.
    """
    last = -1
    least = 0  # the least value for rows at this order
    greatest = 0  # the greatest value up to and including this order
    previous = 0
    for row in range(len(key)):
        if key[row] != last:
            last = key[row]
            least = greatest = reached[last]
            previous = order[row]
        elif order[row] != previous:
            previous = order[row]
            least = greatest
        if value[row] >= least:
            out[row] = 1
            greatest = max(greatest, value[row])
        else:
            out[row] = 0


@kernel(INT, INTS, INTS, INTS, OUT_INTS, OUT_INTS)
def join_sessions(key: Ints, start: Ints, end: Ints, number: Ints, joined_end: Ints) -> int:
    """Number the sessions that stretches ``[start, end]`` of a key form, and find their ends.

    Stretches come key by key in order of their starts. A stretch that starts exactly where the
    session ends still belongs to it, as in Spark. Return the number of sessions.
    """
    sessions = 0
    for row in range(len(key)):
        if row == 0 or key[row] != key[row - 1] or start[row] > joined_end[sessions - 1]:
            joined_end[sessions] = end[row]
            sessions += 1
        elif end[row] > joined_end[sessions - 1]:
            joined_end[sessions - 1] = end[row]
        number[row] = sessions - 1
    return sessions
