"""Strides: many rows at once that only extend the open frame.

Most rows of long delta and aggregate frames do nothing else. What they change stays in registers
until a row does more; that row takes the usual way through :mod:`muntin.kernels.frames.step`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from muntin.kernels.arrays import Bytes, Floats, Ints
from muntin.kernels.compile import fused, part
from muntin.kernels.frames.kinds import compared, reaches
from muntin.kernels.frames.records import AGGREGATE, DELTA, NOWHERE, OPEN, POINT, REAL, SUM
from muntin.kernels.numbers.double_double import add_exactly


@part
def has_strides(asked: Any) -> bool:
    """Return True if a row can extend a frame and do nothing else."""
    if asked.reading != POINT or asked.slotted or asked.fragments >= 0:
        return False
    bounded = asked.max_count >= 0 or asked.max_duration >= 0
    if asked.restart != NOWHERE or (bounded and (asked.cut or asked.minimal)):
        return False
    if asked.kind == DELTA:
        return not asked.from_first
    return bool(asked.kind == AGGREGATE and asked.function == SUM)


@fused
def stride(
    asked: Any,
    state: Any,
    row: int,
    stop: int,
    order: Ints,
    what: Bytes,
    counts: Bytes,
    whole: Ints,
    real: Floats,
) -> int:
    """Add the next rows that only extend the open frame; return the row after them."""
    if state.mode != OPEN or state.pending > 0 or state.count == 0:
        return row
    first = row
    if asked.kind == DELTA and asked.whole:
        least, greatest = state.least, state.greatest
        while row < stop and what[row] == REAL:
            low, high = min(least, whole[row]), max(greatest, whole[row])
            if np.uint64(high) - np.uint64(low) > np.uint64(asked.size):
                break
            least, greatest = low, high
            row += 1
        state.least, state.greatest = least, greatest
    elif asked.kind == DELTA:
        smallest, largest = state.least_real, state.greatest_real
        while row < stop and what[row] == REAL:
            below, above = min(smallest, real[row]), max(largest, real[row])
            far = above - below
            if far > asked.size_real if asked.minimal else not far < asked.size_real:
                break
            smallest, largest = below, above
            row += 1
        state.least_real, state.greatest_real = smallest, largest
    elif asked.whole:
        upper, lower = state.total_upper, state.total_lower
        while row < stop and what[row] == REAL and (len(counts) == 0 or counts[row]):
            added = whole[row] - asked.offset
            total = np.uint64(lower) + np.uint64(added)
            carried = upper + (added >> 63) + (1 if total < np.uint64(lower) else 0)
            holding = reaches(
                carried, int(np.int64(total)), asked.least_upper, asked.least_lower
            ) != bool(asked.below)
            if holding == bool(asked.minimal):
                break
            upper, lower = carried, np.int64(total)
            row += 1
        state.total_upper, state.total_lower = upper, lower
    else:
        sum_high, sum_low = state.sum_high, state.sum_low
        while row < stop and what[row] == REAL and (len(counts) == 0 or counts[row]):
            larger, smaller = add_exactly(sum_high, sum_low, real[row], 0.0)
            if compared(asked.sign, larger + smaller, asked.limit) == bool(asked.minimal):
                break
            sum_high, sum_low = larger, smaller
            row += 1
        state.sum_high, state.sum_low = sum_high, sum_low
    if row > first:
        _remember(state, row - first, order[row - 1], row)
        if asked.whole:
            state.at_last = whole[row - 1] if asked.kind == AGGREGATE else state.at_last
        elif asked.kind == AGGREGATE:
            state.last_real = real[row - 1]
    return row


@part
def _remember(state: Any, rows: int, order: int, after: int) -> None:
    """Note so many more rows in the open frame, the last of them at ``order``."""
    state.count += rows
    state.n += rows
    state.last, state.high = order, after
    state.reach = max(state.reach, order)
    state.previous = state.edge = order
