"""The framing function [Frames, Definition 5]: one row applied to the record of its key.

For every row it opens a frame, extends the open frame, or closes and reports it. It remembers one
record about a key. :mod:`muntin.kernels.frames.walk` applies it to rows one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from muntin.kernels.compile import fused, part
from muntin.kernels.frames.kinds import ENDS, INSIDE, OUTSIDE, as_first, as_next, is_met
from muntin.kernels.frames.records import (
    ANY,
    ARMED,
    BREAKS,
    CLOSE,
    CLOSED,
    COMPLETE,
    FINAL,
    INTERVAL,
    NEVER,
    NOWHERE,
    OPEN,
    PARTIAL,
    REAL,
    SATISFIES,
    TREND,
    UNTIL_NEXT,
)

#: The most frames that one row can close or report.
MOST = 4
_MAGNITUDE = 2**63 - 1


@part
def double_of(order: int) -> float:
    """Return the double of an order (the inverse of ``doubles_order``)."""
    bits = np.int64(order) ^ ((np.int64(order) >> np.int64(63)) & np.int64(_MAGNITUDE))
    return float(np.int64(bits).view(np.float64))


@part
def _as_long_as(asked: Any, first: int, last: int, ticks: int, length: float) -> bool:
    if asked.doubles:
        return double_of(last) - double_of(first) >= length
    return last - first >= ticks


@part
def longer_than(asked: Any, first: int, last: int, ticks: int, length: float) -> bool:
    if asked.doubles:
        return double_of(last) - double_of(first) > length
    return last - first > ticks


@part
def _measured_end(asked: Any, state: Any, following: int) -> int:
    """Return up to where the rows of a frame hold; ``following`` is the row after it, or NEVER."""
    if asked.reading == INTERVAL:
        # Frames that share no row share no time, even if rows hold beyond the next one.
        apart = following != NEVER and not asked.every_candidate
        return int(min(state.reach, following)) if apart else int(state.reach)
    if asked.reading == UNTIL_NEXT and following != NEVER:
        return following
    return int(state.last)


@part
def _enough(asked: Any, state: Any, end: int) -> bool:
    """Return True if a frame meets its minima."""
    if state.n < asked.least_rows or state.n + state.missed < asked.min_count:
        return False
    if asked.min_duration < 0:
        return True
    return _as_long_as(asked, state.first, end, asked.min_duration, asked.min_length)


@part
def _too_much(asked: Any, state: Any, end: int) -> bool:
    """Return True if a frame is beyond its maxima."""
    if 0 <= asked.max_count < state.n + state.missed:
        return True
    if asked.max_duration < 0:
        return False
    return longer_than(asked, state.first, end, asked.max_duration, asked.max_length)


@part
def beyond(asked: Any, state: Any) -> bool:
    """Return True if an open frame is beyond its maxima, so that no later row makes it a frame."""
    return _too_much(asked, state, _measured_end(asked, state, NEVER))


@part
def is_short(asked: Any, state: Any, following: int) -> bool:
    """Return True if a minimal frame has to grow, because it does not meet its minima yet."""
    if not asked.minimal:
        return False
    return not _enough(asked, state, _measured_end(asked, state, following))


@part
def _emit(
    asked: Any, state: Any, key: int, start: int, end: int, status: int, found: Any, n: int
) -> int:
    frame = found[n]
    frame.key, frame.low, frame.high = key, state.low, state.high
    frame.start, frame.end, frame.status = start, end, status
    frame.held_from, frame.held_to = state.first, end
    frame.n, frame.missed, frame.fits = state.n, state.missed, 1
    frame.direction = state.greatest if asked.direction == ANY else 0
    if state.id < 0:
        state.id = state.next_id
        state.next_id += 1
    frame.id = state.id
    return n + 1


@part
def close(asked: Any, state: Any, key: int, following: int, status: int, found: Any, n: int) -> int:
    """Close the open frame: report it if it meets the local conditions, then reset."""
    # Missing rows that no later row carried lie after the frame. They bound it only if rows hold
    # until the next one, because they may satisfy.
    end = _measured_end(asked, state, state.gone if state.pending > 0 else following)
    state.pending = 0
    fits = _enough(asked, state, end) and not _too_much(asked, state, end)
    # A minimal frame that does not fit is no frame; the end of a maximal one still matters.
    if fits or (asked.every_candidate and not asked.minimal):
        n = _emit(asked, state, key, state.first, end, status, found, n)
        frame = found[n - 1]
        frame.fits = fits
        if asked.liberal:
            frame.start = state.first if state.before == NEVER else state.before
            frame.end = state.last if following == NEVER else following
    state.mode = CLOSED
    state.id = -1
    return n


@part
def _begin(asked: Any, state: Any, order: int, reach: int, row: int) -> None:
    state.mode = OPEN
    state.before = state.edge
    state.first, state.last, state.reach = order, order, reach
    state.low, state.high = row, row + 1
    state.n, state.missed, state.pending = 1, 0, 0
    state.reported, state.id = NEVER, -1


@part
def _grow(state: Any, order: int, reach: int, row: int) -> None:
    """Add a real row to the frame, and the missing rows that it carries."""
    if state.pending > 0:
        state.reach = max(state.reach, state.ahead)
    state.missed += state.pending
    state.pending = 0
    state.n += 1
    state.last = order
    state.reach = max(state.reach, reach)
    state.high = row + 1


@part
def report(asked: Any, state: Any, key: int, end: int, found: Any, n: int) -> int:
    """Report a fragment if the frame has become certain or has grown enough since the last one.

    ``end`` is up to where the frame certainly lasts.
    """
    if state.reported == NEVER:
        if not _enough(asked, state, end) or _too_much(asked, state, end):
            return n
    elif not _as_long_as(asked, state.reported, end, asked.fragments, asked.fragment_length):
        return n
    state.reported = end
    start = state.first
    if asked.liberal and state.before != NEVER:
        start = state.before
    return _emit(asked, state, key, start, end, PARTIAL, found, n)


@part
def _cut_before(asked: Any, state: Any, order: int, reach: int, more: int) -> bool:
    """Return True if ``more`` rows, the last of them this one, take the frame beyond a maximum.

    Only frames that are cut end there, and minimal ones, which are then given up.
    """
    if not asked.cut and not asked.minimal:
        return False
    if 0 <= asked.max_count < state.n + state.missed + more:
        return True
    if asked.max_duration < 0:
        return False
    end = order
    if asked.reading == INTERVAL and (asked.cut or asked.every_candidate):
        end = max(state.reach, reach)
    return longer_than(asked, state.first, end, asked.max_duration, asked.max_length)


@part
def _full(asked: Any, state: Any) -> bool:
    """Return True if the next row is cut off, whatever it is."""
    return bool(asked.cut and state.n + state.missed == asked.max_count)


@part
def _finish(asked: Any, state: Any, key: int, found: Any, n: int) -> int:
    """End the frame whose condition holds: it closes, or waits for the next row to know its end.

    A minimal frame stays open until it also meets its minima [Frames, Definition 3].
    """
    # Frames that overlap may end after the next row.
    apart = asked.reading == INTERVAL and not asked.every_candidate
    if asked.reading == UNTIL_NEXT or apart:
        state.mode = COMPLETE
    elif not is_short(asked, state, NEVER):
        if not asked.liberal:
            return close(asked, state, key, NEVER, FINAL, found, n)
        state.mode = COMPLETE
    return n


@part
def _over(asked: Any, state: Any, key: int, following: int, found: Any, n: int) -> int:
    """Close a complete frame whose end is known now; one that is too short opens again."""
    if is_short(asked, state, following):
        state.mode = OPEN
        return n
    return close(asked, state, key, following, FINAL, found, n)


@part
def _cut(asked: Any, state: Any, key: int, order: int, found: Any, n: int) -> int:
    """End the frame before a row that would take it beyond a maximum."""
    if asked.minimal:
        state.mode, state.id = CLOSED, -1
        return n
    return close(asked, state, key, order, FINAL, found, n)


@part
def broken(asked: Any, state: Any, key: int, order: int, found: Any, n: int) -> int:
    """Let a missing row end the open frame."""
    if asked.minimal:
        state.mode, state.id = CLOSED, -1  # its condition does not hold yet
        return n
    return close(asked, state, key, order, asked.unended, found, n)


@part
def _missing(
    asked: Any,
    state: Any,
    key: int,
    order: int,
    reach: int,
    what: int,
    row: int,
    found: Any,
    n: int,
) -> int:
    if what == BREAKS:
        if asked.kind == TREND:
            state.least = 0  # the next row follows none
        if state.mode == ARMED:
            state.mode = CLOSED
    if state.mode != OPEN:
        return n
    if what == BREAKS:
        return broken(asked, state, key, order, found, n)
    rows = reach if asked.slotted else 1
    if what != SATISFIES:
        state.gone = order if state.pending == 0 else state.gone
        state.ahead = reach if state.pending == 0 else max(state.ahead, reach)
        state.pending += rows
        return n
    if _cut_before(asked, state, order, reach, rows):
        return _cut(asked, state, key, order, found, n)
    state.missed += rows
    state.last, state.high = order, row + 1
    state.reach = max(state.reach, reach)
    if asked.fragments >= 0:
        n = report(asked, state, key, order, found, n)
    if _full(asked, state) or (asked.minimal and is_met(asked, state)):
        n = _finish(asked, state, key, found, n)
    return n


@fused
def settle(
    asked: Any,
    state: Any,
    key: int,
    row: int,
    order: int,
    what: int,
    reach: int,
    gap: int,
    found: Any,
    n: int,
) -> int:
    """Apply a row whatever its value: it may be missing, or beyond a maximum."""
    bounds = what == REAL or what == BREAKS  # other missing rows may satisfy
    if state.mode == COMPLETE and (bounds or not asked.liberal):
        n = _over(asked, state, key, order, found, n)
    if asked.reading == INTERVAL and state.mode == OPEN:
        held = max(state.reach, state.ahead) if state.pending > 0 else state.reach
        if order > held:
            # Nothing is known between: a row is missing from where the last one ceased to hold.
            n = _missing(asked, state, key, held, order, gap, state.high - 1, found, n)
            if state.mode == COMPLETE:
                n = _over(asked, state, key, order, found, n)
    if what != REAL:
        n = _missing(asked, state, key, order, reach, what, row, found, n)
        state.previous = order
        if bounds:
            state.edge = order
        return n
    if state.mode == OPEN and _cut_before(asked, state, order, reach, state.pending + 1):
        n = _cut(asked, state, key, order, found, n)
    return n


@fused
def decide(
    asked: Any,
    state: Any,
    key: int,
    row: int,
    order: int,
    opens: int,
    counts: int,
    whole: int,
    real: float,
    weight: float,
    reach: int,
    found: Any,
    n: int,
) -> int:
    """Apply the value of a real row: extend the frame, close it, or open one."""
    role = OUTSIDE
    if state.mode == OPEN:
        role = as_next(asked, state, counts, whole, real, weight)
        # A row starts a frame inside only if the open frame would have taken it.
        starts = role != OUTSIDE and asked.restart != NOWHERE and opens
        if role == OUTSIDE or (starts and asked.restart == CLOSE):
            n = close(asked, state, key, order, FINAL, found, n)
            role = OUTSIDE
        elif starts:
            state.mode, state.id, role = CLOSED, -1, OUTSIDE
        else:
            _grow(state, order, reach, row)
    if role == OUTSIDE and (asked.restart == NOWHERE or opens):
        role = as_first(asked, state, counts, whole, real, weight)
        if role != OUTSIDE:
            _begin(asked, state, order, reach, row)
    state.previous = state.edge = order
    if role != OUTSIDE and asked.fragments >= 0:
        n = report(asked, state, key, order, found, n)
    if role == ENDS or (role == INSIDE and _full(asked, state)):
        n = _finish(asked, state, key, found, n)
    return n


@part
def end(asked: Any, state: Any, key: int, found: Any, n: int) -> int:
    """End a key, as no row will come: an open frame is final if its condition holds."""
    if state.mode == COMPLETE:
        n = _over(asked, state, key, NEVER, found, n)
    if state.mode == OPEN and not asked.minimal:
        return close(asked, state, key, NEVER, asked.unended, found, n)
    state.mode = CLOSED
    return n
