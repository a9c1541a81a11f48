"""Rows one after the other through the framing function [Frames 4.4].

:func:`walk` finds frames that do not overlap; :func:`candidates` the frame from every row, of which
frames that overlap are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from muntin.kernels.arrays import Bytes, Floats, Ints
from muntin.kernels.compile import BYTES, FLOATS, INT, INTS, OUT_INTS, fused, kernel
from muntin.kernels.frames.records import (
    ASKED_ARRAY,
    BREAKS,
    CLOSED,
    FOUND,
    FOUND_ARRAY,
    NEVER,
    REAL,
    STATE,
    STATE_ARRAY,
)
from muntin.kernels.frames.step import MOST, beyond, decide, end, settle


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
    """Apply one row; returns how many frames have been found.

    It takes values and not columns: to hand on an array costs more than all else that is done
    for a row.
    """
    n = settle(asked, state, key, row, order, what, reach, gap, found, n)
    if what != REAL:
        return n
    return decide(
        asked, state, key, row, order, opens, counts, whole, real, weight, reach, found, n
    )


@kernel(
    INT,
    ASKED_ARRAY,
    INTS,
    INTS,
    BYTES,
    BYTES,
    BYTES,
    INTS,
    FLOATS,
    FLOATS,
    INTS,
    BYTES,
    INT,
    STATE_ARRAY,
    FOUND_ARRAY,
    OUT_INTS,
)
def walk(
    asked_: Any,
    starts: Ints,
    order: Ints,
    what: Bytes,
    opens: Bytes,
    counts: Bytes,
    whole: Ints,
    real: Floats,
    weight: Floats,
    reach: Ints,
    gap: Bytes,
    ended: int,
    states: Any,
    found: Any,
    place: Ints,
) -> int:
    """Apply rows key by key until ``found`` is full or all is done; returns how many were found.

    ``place`` is the key and the row to go on with; at the end its key is the number of keys.
    Columns that a kind does not look at may be empty.
    """
    asked = asked_[0]
    n = 0
    key, row = place[0], place[1]
    while key < len(starts) - 1:
        state = states[key]
        while row < starts[key + 1]:
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


@kernel(
    INT,
    ASKED_ARRAY,
    INTS,
    INTS,
    BYTES,
    BYTES,
    BYTES,
    INTS,
    FLOATS,
    FLOATS,
    INTS,
    BYTES,
    INT,
    INT,
    INTS,
    FOUND_ARRAY,
)
def candidates(
    asked_: Any,
    starts: Ints,
    order: Ints,
    what: Bytes,
    opens: Bytes,
    counts: Bytes,
    whole: Ints,
    real: Floats,
    weight: Floats,
    reach: Ints,
    gap: Bytes,
    ended: int,
    give_up: int,
    since: Ints,
    found: Any,
) -> int:
    """For every row from ``since`` of its key the frame that begins there, as ``found[row]``.

    Its ``fits`` is 1 or 0 for a frame that meets the local conditions or does not, -1 where there
    is none, and -2 where that is not known yet. With ``give_up`` the end of a frame does not
    matter, so that one beyond its maximum is not walked on. Returns the number of rows.
    """
    asked = asked_[0]
    one = np.zeros(1, STATE)
    made = np.zeros(MOST, FOUND)
    for key in range(len(starts) - 1):
        for first in range(since[key], starts[key + 1]):
            state = one[0]  # anew each time: a record alone does not keep its array alive
            found[first].fits = -1
            if what[first] != REAL or (len(opens) and not opens[first]):
                continue
            state.mode, state.previous, state.next_id, state.id = CLOSED, NEVER, 0, -1
            n = 0
            row = first
            ours = True  # not another frame, which a row behind this one opened
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
                    made,
                    0,
                )
                row += 1
                ours = state.mode != CLOSED and state.low == first
                if n == 0 and ours and give_up and beyond(asked, state):
                    found[first].fits = 0
                    ours = False
            if n == 0 and ours:
                if not ended:
                    found[first].fits = -2
                    continue
                n = end(asked, state, key, made, 0)
            if n > 0 and made[0].low == first:
                found[first] = made[0]
    return int(starts[len(starts) - 1])
