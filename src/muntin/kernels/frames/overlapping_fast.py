"""The frame from every row in one pass, for kinds whose ends never move back.

The row that ends such a frame also ends every earlier frame that is still open: the values lie too
far apart, a count is reached, a row is too low. So the frame from the next row ends no earlier, and
two cursors that only move forward find all of them. ``walk.candidates`` finds the same frames for
every kind, by walking anew from each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from muntin.kernels.arrays import Bytes, Floats, Ints
from muntin.kernels.compile import INT, INTS, fused, kernel, part
from muntin.kernels.frames.kinds import forget, holds, remember, spread_within
from muntin.kernels.frames.records import (
    AGGREGATE,
    ASKED_ARRAY,
    AT_LEAST,
    BREAKS,
    CARRIED,
    COUNT,
    DELTA,
    FINAL,
    FOUND,
    FOUND_ARRAY,
    INTERVAL,
    LAST,
    MAX,
    MIN,
    MORE,
    NEVER,
    REAL,
    ROW_COLUMNS,
    STATE,
    UNTIL_NEXT,
    RowColumns,
)
from muntin.kernels.frames.step import MOST, beyond, close, is_short


def in_one_pass(record: np.ndarray) -> bool:
    """Return True if the ends of the frames of this record never move back."""
    fields = record[0]
    if fields["reading"] == INTERVAL:
        return False  # a gap that ends a frame may be bridged by an earlier row of a longer one
    if fields["cut"]:
        return False  # a frame ends at its own maximum, after which a later one goes on
    if fields["kind"] != AGGREGATE:
        return bool(fields["kind"] == DELTA and not fields["from_first"])
    # A frame ends when the value is high: "at least" if it is minimal, "at most" if maximal.
    when_high = (fields["sign"] in (MORE, AT_LEAST)) == bool(fields["minimal"])
    match fields["function"]:
        case f if f in (COUNT, MAX):
            return bool(when_high)
        case f if f == MIN:
            return not when_high
        case f:
            # The last row alone decides, so a frame that grows to its minima may have to grow on.
            grows = fields["minimal"] and (fields["min_count"] > 1 or fields["min_duration"] >= 0)
            return bool(f == LAST and not grows)


@fused
def _ends(
    asked: Any,
    state: Any,
    first: int,
    row: int,
    least: int,
    greatest: int,
    counted: int,
    counts: int,
    whole: Ints,
    real: Floats,
) -> bool:
    """Return True if this row ends a frame that no earlier row ended.

    ``least`` and ``greatest`` are the rows with the least and the greatest value so far;
    ``counted`` is the number of rows that count, including this one.
    """
    if asked.kind == DELTA:
        if row == first:
            return False  # one row has no difference
        state.count = 1
        if asked.whole:
            state.least, state.greatest = whole[least], whole[greatest]
            return not spread_within(asked, state, whole[row], 0.0)
        state.least_real, state.greatest_real = real[least], real[greatest]
        return not spread_within(asked, state, 0, real[row])
    if asked.function == COUNT:
        state.count = counted
    else:
        # No earlier row ended the frame, so this one decides alone.
        if not counts:
            return False
        forget(state)
        value = whole[row] if len(whole) else 0
        remember(asked, state, value, real[row] if len(real) else 0.0, 0.0)
    return bool(holds(asked, state) == (asked.minimal != 0))


@part
def _push(line: Ints, head: int, tail: int, row: int, whole: Ints, real: Floats, up: int) -> int:
    """Append a row to a line of rows whose values fall (``up``: rise); return the new end."""
    while tail > head:
        last = line[tail - 1]
        if len(whole):
            passed = whole[last] >= whole[row] if up else whole[last] <= whole[row]
        else:
            passed = real[last] >= real[row] if up else real[last] <= real[row]
        if not passed:
            break
        tail -= 1
    line[tail] = row
    return tail + 1


@part
def _summed(
    asked: Any,
    what: Bytes,
    counts: Bytes,
    reach: Ints,
    reals: Ints,
    missed: Ints,
    counted: Ints,
    taken: Ints,
) -> None:
    """Count for each row the real, missing and counted rows before it; find the last row taken.

    A carried row is taken only if a real row follows it.
    """
    for row in range(len(what)):
        real = what[row] == REAL
        reals[row + 1] = reals[row] + real
        missed[row + 1] = missed[row]
        if not real:
            missed[row + 1] += reach[row] if asked.slotted else 1
        counted[row + 1] = counted[row] + (real and (not len(counts) or counts[row] != 0))
        taken[row] = taken[row - 1] if what[row] == CARRIED and row > 0 else row


@part
def _lay(state: Any, order: Ints, low: int, high: int, reals: Ints, missed: Ints) -> None:
    """Set the state to a frame of these rows, as the walk would have left it."""
    state.first, state.last, state.reach = order[low], order[high - 1], order[high - 1]
    state.low, state.high = low, high
    state.n = reals[high] - reals[low]
    state.missed, state.pending = missed[high] - missed[low], 0
    state.before, state.next_id, state.id = NEVER, 0, -1


@part
def _large_enough(
    asked: Any,
    state: Any,
    order: Ints,
    what: Bytes,
    first: int,
    high: int,
    edge: int,
    stop: int,
    reals: Ints,
    missed: Ints,
) -> int:
    """Return where a minimal frame whose condition holds meets its minima, ``high`` or later.

    It is after ``edge`` if it does not up to there. It never moves back for later frames.
    """
    while high <= edge:
        if what[high - 1] != CARRIED:
            _lay(state, order, first, high, reals, missed)
            if not is_short(asked, state, order[high] if high < stop else NEVER):
                return high
        high += 1
    return high


@kernel(
    INT,
    ASKED_ARRAY,
    ROW_COLUMNS,
    INT,
    INT,
    INTS,
    FOUND_ARRAY,
)
def candidates_in_one_pass(
    asked_: Any,
    columns: RowColumns,
    ended: int,
    give_up: int,
    since: Ints,
    found: Any,
) -> int:
    """Find what ``walk.candidates`` finds, for records for which :func:`in_one_pass` is true."""
    asked = asked_[0]
    starts, order, what, opens, counts, whole, real, _, reach, _ = columns
    rows = int(starts[len(starts) - 1])
    one_state = np.zeros(1, STATE)
    reported = np.zeros(MOST, FOUND)
    reals, missed = np.zeros(rows + 1, np.int64), np.zeros(rows + 1, np.int64)
    counted, taken = np.zeros(rows + 1, np.int64), np.empty(rows, np.int64)
    _summed(asked, what, counts, reach, reals, missed, counted, taken)
    # Rows that may still be the least or the greatest of a frame, the oldest first.
    low_line, high_line = np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
    needs_value = asked.kind != DELTA and asked.function != COUNT and not asked.minimal
    for key in range(len(starts) - 1):
        stop = starts[key + 1]
        edge = since[key] - 1  # frames end here at the latest: a missing row breaks them
        cursor = since[key]  # the first row that the frame has not taken
        tail = cursor  # where the last frame met its minima
        lows = low_end = highs = high_end = 0
        for first in range(since[key], stop):
            state = one_state[0]  # anew each time: a record alone does not keep its array alive
            found[first].fits = -1
            if first > edge:
                edge = first
                while edge < stop and what[edge] != BREAKS:
                    edge += 1
            cursor = max(cursor, first)
            if what[first] != REAL or (len(opens) and not opens[first]):
                continue
            if needs_value and len(counts) and not counts[first]:
                continue  # without a value a condition does not hold
            while lows < low_end and low_line[lows] < first:
                lows += 1
            while highs < high_end and high_line[highs] < first:
                highs += 1
            over = False
            while cursor < edge and not over:
                if what[cursor] == REAL:
                    over = _ends(
                        asked,
                        state,
                        first,
                        cursor,
                        low_line[lows],
                        high_line[highs],
                        counted[cursor + 1] - counted[first],
                        counts[cursor] if len(counts) else 1,
                        whole,
                        real,
                    )
                    if over:
                        break
                    if asked.kind == DELTA:
                        low_end = _push(low_line, lows, low_end, cursor, whole, real, 1)
                        high_end = _push(high_line, highs, high_end, cursor, whole, real, 0)
                cursor += 1
            known = over or edge < stop or ended
            if over and asked.minimal:
                tail = max(tail, cursor + 1)
                bounds = first, tail, edge, stop
                tail = _large_enough(asked, state, order, what, *bounds, reals, missed)
                over = tail <= edge
                known = ended or edge < stop
            if over and asked.minimal:
                high = tail
                known = ended or high < stop or asked.reading != UNTIL_NEXT
            elif (over and cursor == first) or (known and asked.minimal):
                continue  # one row is too much, or the frame broke off before its condition held
            else:
                high = taken[(edge if asked.minimal else cursor) - 1] + 1
            _lay(state, order, first, high, reals, missed)
            if known:
                following = order[high] if high < stop else NEVER
                if close(asked, state, key, following, FINAL, reported, 0):
                    found[first] = reported[0]
            elif (give_up or asked.minimal) and beyond(asked, state):
                found[first].fits = -1 if asked.minimal else 0
            else:
                found[first].fits = -2
    return rows
