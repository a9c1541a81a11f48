"""Rows one after the other through the framing function [Frames 4.4].

:func:`walk` finds frames that do not overlap. :func:`candidates` finds the frame from every row;
schemes pick frames that overlap from these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, OUT_INTS, fused, kernel, part
from muntin.kernels.frames.records import (
    ASKED_ARRAY,
    BREAKS,
    CLOSED,
    COMPLETE,
    FINAL,
    FOUND,
    FOUND_ARRAY,
    INTERVAL,
    NEVER,
    OPEN,
    POINT,
    REAL,
    ROW_COLUMNS,
    STATE,
    STATE_ARRAY,
    UNTIL_NEXT,
    RowColumns,
)
from muntin.kernels.frames.step import (
    MOST,
    beyond,
    broken,
    close,
    decide,
    end,
    is_short,
    longer_than,
    report,
    settle,
)
from muntin.kernels.frames.stride import has_strides, stride


@fused
def _apply(
    asked: Any,
    state: Any,
    key: int,
    row: int,
    order: int,
    what: int,
    opens: int,
    counts: int,
    whole: int,
    real: float,
    weight: float,
    reach: int,
    gap: int,
    found: Any,
    n: int,
) -> int:
    """Apply one row; return how many frames have been found.

    It takes values and not columns, because passing an array costs more than all other work for a
    row.
    """
    n = settle(asked, state, key, row, order, what, reach, gap, found, n)
    if what != REAL:
        return n
    return decide(
        asked, state, key, row, order, opens, counts, whole, real, weight, reach, found, n
    )


@kernel(INT, ASKED_ARRAY, ROW_COLUMNS, INT, STATE_ARRAY, FOUND_ARRAY, OUT_INTS)
def walk(asked_: Any, rows: RowColumns, ended: int, states: Any, found: Any, place: Ints) -> int:
    """Apply rows key by key until ``found`` is full or all is done; return how many were found.

    ``place`` is the key and the row to go on with; at the end its key is the number of keys.
    Columns that a kind does not read may be empty.
    """
    asked = asked_[0]
    starts, order, what, opens, counts, whole, real, weight, reach, gap = rows
    n = 0
    strides = has_strides(asked)
    key, row = place[0], place[1]
    while key < len(starts) - 1:
        state = states[key]
        while row < starts[key + 1]:
            if strides:
                row = stride(asked, state, row, starts[key + 1], order, what, counts, whole, real)
                if row == starts[key + 1]:
                    break
            if n + MOST > len(found):
                place[0], place[1] = key, row
                return n
            n = _apply(
                asked,
                state,
                key,
                row,
                order[row],
                what[row],
                opens[row] if len(opens) else 1,
                counts[row] if len(counts) else 1,
                whole[row] if len(whole) else 0,
                real[row] if len(real) else 0.0,
                weight[row] if len(weight) else 0.0,
                reach[row] if len(reach) else order[row],
                gap[row] if len(gap) else BREAKS,
                found,
                n,
            )
            row += 1
        if n + MOST > len(found):
            place[0], place[1] = key, row
            return n
        if ended:
            n = end(asked, state, key, found, n)
        key += 1
    place[0], place[1] = key, row
    return n


@kernel(INT, ASKED_ARRAY, ROW_COLUMNS, INT, INT, INTS, FOUND_ARRAY)
def candidates(
    asked_: Any, rows: RowColumns, ended: int, give_up: int, since: Ints, found: Any
) -> int:
    """Find for every row from ``since`` of its key the frame that begins there, as ``found[row]``.

    Its ``fits`` is 1 or 0 if the frame meets the local conditions or not, -1 if there is no frame,
    and -2 if that is not known yet. With ``give_up`` the end of a frame does not matter, so a frame
    beyond its maximum is not followed; a minimal one is none then. Return the number of rows.
    """
    asked = asked_[0]
    starts, order, what, opens, counts, whole, real, weight, reach, gap = rows
    one_state = np.zeros(1, STATE)
    reported = np.zeros(MOST, FOUND)
    for key in range(len(starts) - 1):
        for first in range(since[key], starts[key + 1]):
            state = one_state[0]  # anew each time: a record alone does not keep its array alive
            found[first].fits = -1
            if what[first] != REAL or (len(opens) and not opens[first]):
                continue
            state.mode, state.previous, state.next_id, state.id = CLOSED, NEVER, 0, -1
            n = 0
            row = first
            ours = True  # False if a later row has opened another frame
            while row < starts[key + 1] and n == 0 and ours:
                n = _apply(
                    asked,
                    state,
                    key,
                    row,
                    order[row],
                    what[row],
                    opens[row] if len(opens) else 1,
                    counts[row] if len(counts) else 1,
                    whole[row] if len(whole) else 0,
                    real[row] if len(real) else 0.0,
                    weight[row] if len(weight) else 0.0,
                    reach[row] if len(reach) else order[row],
                    gap[row] if len(gap) else BREAKS,
                    reported,
                    0,
                )
                row += 1
                ours = state.mode != CLOSED and state.low == first
                unneeded = give_up or asked.minimal
                if n == 0 and ours and unneeded and beyond(asked, state):
                    found[first].fits = -1 if asked.minimal else 0
                    ours = False
            if n == 0 and ours:
                if not ended:
                    found[first].fits = -2
                    continue
                n = end(asked, state, key, reported, 0)
            if n > 0 and reported[0].low == first:
                found[first] = reported[0]
    return int(starts[len(starts) - 1])


#: The most reports about a key: a fragment, and the end of its frame.
MOST_QUIET = 2


@part
def _sure_end(asked: Any, state: Any, horizon: int) -> int:
    """Return up to where a frame certainly lasts, whatever comes later."""
    if asked.reading == INTERVAL:
        return int(min(state.reach, max(state.last, horizon)))
    if asked.reading == UNTIL_NEXT:
        return int(max(state.last, horizon))
    return int(state.last)


@part
def _past_cut(asked: Any, state: Any, joins: int) -> bool:
    """Return True if the next row is cut off, wherever it lies."""
    if not asked.cut or asked.max_duration < 0:
        return False
    return longer_than(asked, state.first, joins, asked.max_duration, asked.max_length)


@kernel(INT, ASKED_ARRAY, INTS, INTS, INT, INT, STATE_ARRAY, FOUND_ARRAY)
def look_at_quiet(
    asked_: Any,
    horizon: Ints,
    joins: Ints,
    breaks: int,
    by_punctuation: int,
    states: Any,
    found: Any,
) -> int:
    """Report what is certain about open frames; return the number of reports.

    The next row of a key, present or missing, lies at ``horizon`` or after it, and a row that may
    join a frame at ``joins`` or after it; NEVER if nothing is known. If ``breaks``, a gap ends a
    frame. If ``by_punctuation``, punctuation alone reports open frames.
    """
    asked = asked_[0]
    n = 0
    for key in range(len(states)):
        state = states[key]
        if (state.mode != OPEN and state.mode != COMPLETE) or horizon[key] == NEVER:
            continue
        if by_punctuation and asked.fragments >= 0:
            n = report(asked, state, key, _sure_end(asked, state, horizon[key]), found, n)
        if asked.reading == POINT:
            if state.mode == OPEN and _past_cut(asked, state, joins[key]):
                n = close(asked, state, key, NEVER, FINAL, found, n)
        elif asked.reading == INTERVAL and state.reach <= horizon[key]:
            # A later row does not change the end of the frame.
            over = state.mode == COMPLETE and not is_short(asked, state, NEVER)
            if over or _past_cut(asked, state, joins[key]):
                n = close(asked, state, key, NEVER, FINAL, found, n)
            elif breaks and state.reach < horizon[key]:
                n = broken(asked, state, key, state.reach, found, n)
    return n
