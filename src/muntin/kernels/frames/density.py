"""The union of satisfying windows ``(v - per, v]``, row by row [Frames, appendix H].

Rows come key by key in order, and no two rows of a key have the same place; ``starts`` has the row
where each key begins and, last, the number of rows. The caller finds the windows
(:func:`windows_of`) and decides which of them satisfy. These kernels then return how each row
relates to frames (:func:`flag`), which rows are certain (:func:`decided`), which must be passed
again with the next ones (:func:`needed`), and whether later rows may still continue the last one
(:func:`over`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import NEVER, Ints, Mask
from muntin.kernels.compile import BYTES, INTS, NONE, OUT_INTS, kernel
from muntin.kernels.numbers.order_keys import NOTHING
from muntin.kernels.ticks import shift_order
from muntin.specs.axis import Axis

#: A row is in no satisfying window, in the frame of the row before it, or the first of a frame.
OUTSIDE, JOINS, BEGINS = range(3)


def windows_of(starts: Ints, order: Ints, axis: Axis, per: int) -> Ints:
    """Return the first row of each row's window; the row itself is its last."""
    low = np.empty(len(order), np.int64)
    _lows(starts, order, shift_order(order, axis, -per), low)
    return low


def flag(starts: Ints, order: Ints, reach_back: Ints, satisfied: Mask) -> Ints:
    """Return for each row OUTSIDE, JOINS or BEGINS.

    ``reach_back`` is the order at which a row's window begins; the window does not include it.
    Windows that touch are one frame, so a row also joins the row before it if a window begins
    exactly there.
    """
    action = np.empty(len(order), np.int64)
    _flag(starts, order, reach_back, satisfied.view(np.uint8), action)
    return action


def decided(starts: Ints, order: Ints, complete: Ints, ended: bool, axis: Axis, per: int) -> Ints:
    """Return how many leading rows of each key no later window can reach."""
    if ended:
        return np.diff(starts)
    return _first_above(starts, order, _reach_of_future(complete, axis, per)) - starts[:-1]


def needed(starts: Ints, order: Ints, complete: Ints, ended: bool, axis: Axis, per: int) -> Ints:
    """Return the first row of each key that must be passed again with the next rows.

    These are the rows in the windows of undecided rows and of the last decided one: whether its
    own window satisfies may decide whether the next row joins it.
    """
    if ended:
        return starts[1:].copy()
    count = decided(starts, order, complete, ended, axis, per)
    last = starts[:-1] + np.maximum(count - 1, 0)
    some = last < starts[1:]
    edge = np.full(len(last), NEVER)
    edge[some] = shift_order(order[last[some]], axis, -per)
    closed = over(starts, order, complete, ended, axis, per)
    return np.where(closed, starts[1:], _first_above(starts, order, edge))


def over(starts: Ints, order: Ints, complete: Ints, ended: bool, axis: Axis, per: int) -> Mask:
    """Return the keys of which no later row can join the last row or reach it."""
    last = starts[1:] - 1
    closed: Mask = last < starts[:-1]
    if ended:
        return np.ones(len(closed), np.bool_)
    some = ~closed
    closed[some] = order[last[some]] < _reach_of_future(complete, axis, per)[some]
    return closed


def _reach_of_future(complete: Ints, axis: Axis, per: int) -> Ints:
    """Return where the earliest window of a later row begins, exclusive; NEVER if unknown."""
    known = complete != NEVER
    # Windows begin at v - per, so compute complete - per: on doubles v + per would round elsewhere.
    return np.where(known, shift_order(np.where(known, complete, 0), axis, -per), NEVER)


@kernel(NONE, INTS, INTS, INTS, OUT_INTS)
def _lows(starts: Ints, order: Ints, edge: Ints, low: Ints) -> None:
    """Find for each row the first row of its key beyond its edge; edges never fall."""
    for key in range(len(starts) - 1):
        first = starts[key]
        for row in range(starts[key], starts[key + 1]):
            while order[first] <= edge[row]:
                first += 1
            low[row] = first


@kernel(NONE, INTS, INTS, INTS, BYTES, OUT_INTS)
def _flag(
    starts: Ints, order: Ints, reach_back: Ints, satisfied: npt.NDArray[np.uint8], action: Ints
) -> None:
    """Flag rows from the last back; ``reach`` is where the next satisfying window begins.

    Of the windows that end at a row or later, the next one begins earliest. No window ends between
    two neighbouring rows, so they are in one frame if that window covers the space between them.
    """
    for key in range(len(starts) - 1):
        first = starts[key]
        reach = NOTHING
        for row in range(starts[key + 1] - 1, first - 1, -1):
            next_joins = row + 1 < starts[key + 1] and action[row + 1] == JOINS
            if satisfied[row]:
                reach = reach_back[row]
            if reach >= order[row]:
                action[row] = OUTSIDE
                # A window begins exactly here, but none ends here that it could touch.
                if next_joins:
                    action[row + 1] = BEGINS
            elif row > first and reach <= order[row - 1]:
                action[row] = JOINS
            else:
                action[row] = BEGINS


def _first_above(starts: Ints, order: Ints, edge: Ints) -> Ints:
    """Return the first row of each key beyond its edge."""
    first = np.empty(len(edge), np.int64)
    _search(starts, order, edge, first)
    return first


@kernel(NONE, INTS, INTS, INTS, OUT_INTS)
def _search(starts: Ints, order: Ints, edge: Ints, out: Ints) -> None:
    for key in range(len(edge)):
        low, high = starts[key], starts[key + 1]
        while low < high:
            middle = (low + high) // 2
            if order[middle] <= edge[key]:
                low = middle + 1
            else:
                high = middle
        out[key] = low
