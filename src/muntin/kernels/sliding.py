"""Sliding aggregation in constant time per pane, whatever the overlap.

Panes are sorted by key and position. :func:`intervals` finds, for every window that holds a
pane, the stretch ``[low, high)`` of panes that it covers; both ends only move forward. The
aggregates then run the two-stack scheme over these stretches: a suffix aggregate for the older
half and a running one for the newer. Doubles are never subtracted.
"""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.compile import (
    FLOATS,
    INT,
    INTS,
    NONE,
    OUT_FLOATS,
    OUT_INTS,
    inline,
    kernel,
)
from muntin.kernels.numbers.double_double import add_exactly
from muntin.kernels.numbers.order_keys import NOTHING

#: Used as the whole slides of a window that holds everything since a landmark, or ever.
LANDMARK, LATCH = -1, -2


@inline
def start_pane(wid: int, per_slide: int, whole_slides: int) -> int:
    """Return ``Edges.start_pane``; ``whole_slides`` below zero means a landmark or a latch."""
    if whole_slides == LATCH:
        return -(2**62)
    if whole_slides == LANDMARK:
        return 0
    if per_slide == 1:
        return wid + 1 - whole_slides
    return 2 * (wid - whole_slides) + 1


@kernel(
    INT, INTS, INTS, INT, INT, INTS, INTS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS, in_python=True
)
def intervals(
    key_starts: Ints,
    panes: Ints,
    per_slide: int,
    whole_slides: int,
    first: Ints,
    last: Ints,
    out_key: Ints,
    out_wid: Ints,
    out_low: Ints,
    out_high: Ints,
) -> int:
    """Find the windows ``first..last`` of each key that hold a pane; return how many there are.

    Of latches, only those that gained a pane are found: they hold all earlier panes as well.

    Call it with empty outputs to count, and again with room to fill. ``key_starts`` has the row
    where each key begins and, last, the number of rows.
    """
    count = 0
    room = len(out_wid)
    for key in range(len(key_starts) - 1):
        stop = key_starts[key + 1]
        low = high = key_starts[key]
        wid = max(first[key], panes[low] // per_slide)
        until = last[key]
        while wid <= until:
            start = start_pane(wid, per_slide, whole_slides)
            end = (wid + 1) * per_slide
            while high < stop and panes[high] < end:
                high += 1
            while low < high and panes[low] < start:
                low += 1
            if low < high and (whole_slides != LATCH or panes[high - 1] == wid):
                if count < room:
                    out_key[count] = key
                    out_wid[count] = wid
                    out_low[count] = low
                    out_high[count] = high
                count += 1
                wid += 1
            elif high < stop:
                # No pane here: go on where the next pane is, not slide by slide.
                wid = max(wid + 1, panes[high] // per_slide)
            else:
                break
    return count


@kernel(NONE, INTS, INTS, INTS, OUT_INTS, in_python=True)
def slide_least(values: Ints, low: Ints, high: Ints, out: Ints) -> None:
    """Compute the least value of each stretch."""
    older = np.empty(len(values), np.int64)
    middle = 0
    reached = 0
    newer = NOTHING
    for window in range(len(low)):
        start = low[window]
        if start >= middle:
            middle = high[window]
            running = NOTHING
            for row in range(middle - 1, start - 1, -1):
                running = min(running, values[row])
                older[row] = running
            newer = NOTHING
            reached = middle
        while reached < high[window]:
            newer = min(newer, values[reached])
            reached += 1
        out[window] = min(older[start], newer)


@kernel(NONE, FLOATS, FLOATS, INTS, INTS, OUT_FLOATS, OUT_FLOATS, in_python=True)
def slide_add_exactly(
    value_high: Floats,
    value_low: Floats,
    low: Ints,
    high: Ints,
    out_high: Floats,
    out_low: Floats,
) -> None:
    """Compute the double-double sum of each stretch."""
    older_high = np.empty(len(value_high), np.float64)
    older_low = np.empty(len(value_high), np.float64)
    middle = 0
    reached = 0
    newer_high = 0.0
    newer_low = 0.0
    for window in range(len(low)):
        start = low[window]
        if start >= middle:
            middle = high[window]
            sum_high = 0.0
            sum_low = 0.0
            for row in range(middle - 1, start - 1, -1):
                sum_high, sum_low = add_exactly(sum_high, sum_low, value_high[row], value_low[row])
                older_high[row] = sum_high
                older_low[row] = sum_low
            newer_high = 0.0
            newer_low = 0.0
            reached = middle
        while reached < high[window]:
            newer_high, newer_low = add_exactly(
                newer_high, newer_low, value_high[reached], value_low[reached]
            )
            reached += 1
        out_high[window], out_low[window] = add_exactly(
            older_high[start], older_low[start], newer_high, newer_low
        )


@kernel(NONE, INTS, INTS, OUT_INTS)
def middles(low: Ints, high: Ints, out: Ints) -> None:
    """Compute for each stretch where its older and its newer part meet, as in the schemes above."""
    middle = -1
    for window in range(len(low)):
        if low[window] >= middle:
            middle = high[window]
        out[window] = middle


def slide_add(values: Ints, low: Ints, high: Ints) -> Ints:
    """Return the integer sum of each stretch: differences of running sums, exact modulo 2**64."""
    running = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=running[1:])
    sums: Ints = running[high] - running[low]
    return sums
