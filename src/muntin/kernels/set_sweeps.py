"""Sweeps over cells: aggregates of many windows of many members, in one pass over the panes.

Cells are sorted by key, pane and set. A sweep adds the cells of a key pane by pane to a vector with
an entry for each set. Where a window ends, it reduces the entries of the sets that its member
wants. As with two stacks, windows that share an edge in their middle are made of two sweeps: one
from the middle backwards to their starts, and one forwards to their ends. Doubles are never
subtracted.

``sign`` is 1 in a sweep forwards and -1 in one backwards. The place of a pane in a sweep is the
product of its number and the sign. Windows have a ``turn``: a pane with a greater place is not
theirs.
"""

from __future__ import annotations

from typing import NamedTuple

from muntin.kernels.arrays import Floats, Ints, SmallInts
from muntin.kernels.compile import (
    FLOATS,
    INT,
    INTS,
    NONE,
    OUT_FLOATS,
    OUT_INTS,
    SMALL_INTS,
    arrays_of,
    kernel,
)
from muntin.kernels.numbers.double_double import add_exactly
from muntin.kernels.numbers.order_keys import NOTHING


class CellRuns(NamedTuple):
    """The cells of a chunk in runs of one key and pane.

    Run ``i`` has the rows ``row[i]`` to ``row[i + 1]``. The runs of a key are ``first[key]`` to
    ``last[key]``. ``entry`` has the place of each set of the chunk in the vector of a key.
    """

    pane: Ints
    row: Ints
    first: Ints
    last: Ints
    entry: Ints


class SweptWindows(NamedTuple):
    """The windows of a sweep, sorted by list and turn; the keys of a list have the same windows.

    ``begin`` is the place where the sweep begins for each key. ``stop`` is where the windows of
    each list stop. The result of window ``w`` for a key is at ``base[w] + position[key]``. The sets
    that the member of a window wants are ``wanted[offsets[member]:offsets[member + 1]]``.
    """

    begin: Ints
    list_of: Ints
    position: Ints
    stop: Ints
    turn: Ints
    member: Ints
    base: Ints
    offsets: Ints
    wanted: Ints


RUNS = arrays_of(CellRuns, OUT_INTS)
WINDOWS = arrays_of(SweptWindows, OUT_INTS)
#: After the last pane of a sweep.
_LAST = 2**63 - 1


@kernel(NONE, INT, INTS, SMALL_INTS, RUNS, WINDOWS, INT, INT, INT, OUT_INTS, OUT_INTS, OUT_INTS)
def sweep_add(
    sign: int,
    values: Ints,
    sets: SmallInts,
    runs: CellRuns,
    windows: SweptWindows,
    key_from: int,
    key_to: int,
    width: int,
    next_window: Ints,
    vector: Ints,
    out: Ints,
) -> None:
    """Sweep over a chunk for some keys, and add integers; without runs, finish all windows."""
    for key in range(key_from, key_to):
        shift = (key - key_from) * width
        stop = windows.stop[windows.list_of[key]]
        first, last = (runs.first[key], runs.last[key]) if len(runs.pane) else (0, 1)
        for step in range(last - first):
            if next_window[key] >= stop:
                break
            run = first + step if sign > 0 else last - 1 - step
            place = sign * runs.pane[run] if len(runs.pane) else _LAST
            if place < windows.begin[key]:
                continue
            while next_window[key] < stop and windows.turn[next_window[key]] < place:
                window = next_window[key]
                member = windows.member[window]
                total = 0
                for at in range(windows.offsets[member], windows.offsets[member + 1]):
                    total += vector[shift + windows.wanted[at]]
                out[windows.base[window] + windows.position[key]] += total
                next_window[key] += 1
            if len(runs.pane):
                for row in range(runs.row[run], runs.row[run + 1]):
                    vector[shift + runs.entry[sets[row]]] += values[row]


@kernel(NONE, INT, INTS, SMALL_INTS, RUNS, WINDOWS, INT, INT, INT, OUT_INTS, OUT_INTS, OUT_INTS)
def sweep_least(
    sign: int,
    values: Ints,
    sets: SmallInts,
    runs: CellRuns,
    windows: SweptWindows,
    key_from: int,
    key_to: int,
    width: int,
    next_window: Ints,
    vector: Ints,
    out: Ints,
) -> None:
    """Sweep over a chunk for some keys, and find least values; without runs, finish all windows."""
    for key in range(key_from, key_to):
        shift = (key - key_from) * width
        stop = windows.stop[windows.list_of[key]]
        first, last = (runs.first[key], runs.last[key]) if len(runs.pane) else (0, 1)
        for step in range(last - first):
            if next_window[key] >= stop:
                break
            run = first + step if sign > 0 else last - 1 - step
            place = sign * runs.pane[run] if len(runs.pane) else _LAST
            if place < windows.begin[key]:
                continue
            while next_window[key] < stop and windows.turn[next_window[key]] < place:
                window = next_window[key]
                member = windows.member[window]
                least = NOTHING
                for at in range(windows.offsets[member], windows.offsets[member + 1]):
                    least = min(least, vector[shift + windows.wanted[at]])
                target = windows.base[window] + windows.position[key]
                out[target] = min(out[target], least)
                next_window[key] += 1
            if len(runs.pane):
                for row in range(runs.row[run], runs.row[run + 1]):
                    entry = shift + runs.entry[sets[row]]
                    vector[entry] = min(vector[entry], values[row])


@kernel(
    NONE,
    *(INT, FLOATS, FLOATS, SMALL_INTS, RUNS, WINDOWS, INT, INT, INT),
    *(OUT_INTS, OUT_FLOATS, OUT_FLOATS, OUT_FLOATS, OUT_FLOATS),
)
def sweep_add_exactly(
    sign: int,
    high: Floats,
    low: Floats,
    sets: SmallInts,
    runs: CellRuns,
    windows: SweptWindows,
    key_from: int,
    key_to: int,
    width: int,
    next_window: Ints,
    vector_high: Floats,
    vector_low: Floats,
    out_high: Floats,
    out_low: Floats,
) -> None:
    """Sweep over a chunk for some keys, and add doubles; without runs, finish all windows."""
    for key in range(key_from, key_to):
        shift = (key - key_from) * width
        stop = windows.stop[windows.list_of[key]]
        first, last = (runs.first[key], runs.last[key]) if len(runs.pane) else (0, 1)
        for step in range(last - first):
            if next_window[key] >= stop:
                break
            run = first + step if sign > 0 else last - 1 - step
            place = sign * runs.pane[run] if len(runs.pane) else _LAST
            if place < windows.begin[key]:
                continue
            while next_window[key] < stop and windows.turn[next_window[key]] < place:
                window = next_window[key]
                member = windows.member[window]
                target = windows.base[window] + windows.position[key]
                total_high, total_low = out_high[target], out_low[target]
                for at in range(windows.offsets[member], windows.offsets[member + 1]):
                    entry = shift + windows.wanted[at]
                    total_high, total_low = add_exactly(
                        total_high, total_low, vector_high[entry], vector_low[entry]
                    )
                out_high[target], out_low[target] = total_high, total_low
                next_window[key] += 1
            if len(runs.pane):
                for row in range(runs.row[run], runs.row[run + 1]):
                    entry = shift + runs.entry[sets[row]]
                    vector_high[entry], vector_low[entry] = add_exactly(
                        vector_high[entry], vector_low[entry], high[row], low[row]
                    )


@kernel(INT, SMALL_INTS, INTS, OUT_INTS)
def find_runs(key: SmallInts, pane: Ints, starts: Ints) -> int:
    """Find the rows where a run of equal key and pane begins; return how many there are."""
    count = 0
    for row in range(len(key)):
        if row == 0 or key[row] != key[row - 1] or pane[row] != pane[row - 1]:
            starts[count] = row
            count += 1
    return count


@kernel(
    INT,
    *(INTS, INTS, INTS, INTS, INTS, INTS, INTS, INTS),
    *(OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS),
)
def closing_windows(
    panes: Ints,
    ranges: Ints,
    slides: Ints,
    origins: Ints,
    clipped: Ints,
    closed: Ints,
    closing: Ints,
    shape: Ints,
    out_list: Ints,
    out_edges: Ints,
    out_start: Ints,
    out_end: Ints,
) -> int:
    """Find the windows that close and have one of the panes; return how many there are.

    ``closed`` and ``closing`` have the last windows closed before and after, for each list and,
    within it, for each of the edges. ``shape`` has the number of lists. Call it with empty outputs
    to count, and again with room to fill.
    """
    count = 0
    room = len(out_list)
    for number in range(shape[0]):
        for edges in range(len(ranges)):
            place = number * len(ranges) + edges
            wid = closed[place] + 1
            slide = slides[edges]
            for pane in range(len(panes)):
                since = panes[pane] - origins[edges]
                if clipped[edges] and since < 0:
                    continue
                # The first window that ends after the pane begins, and the last that holds it.
                wid = max(wid, since // slide)
                last = min(closing[place], (since + ranges[edges]) // slide - 1)
                if wid > closing[place]:
                    break
                while wid <= last:
                    if count < room:
                        end = origins[edges] + (wid + 1) * slide
                        start = end - ranges[edges]
                        out_list[count] = number
                        out_edges[count] = edges
                        out_start[count] = max(start, origins[edges]) if clipped[edges] else start
                        out_end[count] = end
                    count += 1
                    wid += 1
    return count


@kernel(INT, INTS, INTS, INTS, OUT_INTS, OUT_INTS)
def choose_middles(number: Ints, start: Ints, end: Ints, lap: Ints, middle: Ints) -> int:
    """Give each window a lap and a middle; those of one list and lap share the middle.

    Windows are sorted by list and end. Return the number of laps. A window has its middle inside,
    or at its end.
    """
    laps = 0
    begin = 0
    while begin < len(number):
        stop = begin
        while stop < len(number) and number[stop] == number[begin]:
            lap[stop] = -1
            stop += 1
        own = 0
        while begin < stop:
            shared = end[begin]
            for window in range(begin, stop):
                if lap[window] < 0 and start[window] < shared:
                    lap[window] = own
                    middle[window] = shared
            while begin < stop and lap[begin] >= 0:
                begin += 1
            own += 1
        laps = max(laps, own)
    return laps
