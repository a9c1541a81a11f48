"""How the value of a row relates to a frame: outside of it, inside, or inside and the last.

Each kind decides this in its own way, for the open frame and for one that the row would open.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from muntin.kernels.compile import part
from muntin.kernels.frames.records import (
    ANY,
    ARMED,
    AT_MOST,
    AVG,
    BETWEEN,
    BOUNDARY,
    CLOSED,
    COUNT,
    DECREASING,
    DELTA,
    DENSITY,
    EXTENDS,
    EXTENDS_LAST,
    FIRST,
    FLAT,
    INCREASING,
    LAST,
    LESS,
    MAX,
    MIN,
    MORE,
    NO_DIRECTION,
    OPENS,
    OPENS_LAST,
    OWN,
    STDDEV_POP,
    STDDEV_SAMP,
    SUM,
    THRESHOLD,
    TREND,
    VAR_POP,
    VAR_SAMP,
    WEIGHTED,
)
from muntin.kernels.numbers.double_double import add_exactly, product_exactly

#: The number of half units of an average's last decimal in a unit of the values' last decimal.
AVERAGE_UNITS = 20_000
_HALF_WORD = 4_294_967_296.0


@part
def forget(state: Any) -> None:
    """Reset the aggregates of a frame: no row yet."""
    state.count = 0
    state.sum_high = 0.0
    state.sum_low = 0.0
    state.total_upper = 0
    state.total_lower = 0
    state.square_high = 0.0
    state.square_low = 0.0
    state.weight_high = 0.0
    state.weight_low = 0.0


@part
def remember(asked: Any, state: Any, whole: int, real: float, weight: float) -> None:
    """Add the value of a row: ``whole`` if values are integers, else ``real``."""
    function = asked.function
    if state.count == 0:
        state.least, state.greatest, state.at_first = whole, whole, whole
        state.least_real, state.greatest_real, state.first_real = real, real, real
    state.count += 1
    state.at_last = whole
    state.last_real = real
    if function in (COUNT, FIRST, LAST):
        return
    if function in (MIN, MAX):
        state.least = min(state.least, whole)
        state.greatest = max(state.greatest, whole)
        state.least_real = min(state.least_real, real)
        state.greatest_real = max(state.greatest_real, real)
        return
    if asked.whole:
        _add(state, whole - asked.offset)
        return
    state.sum_high, state.sum_low = add_exactly(state.sum_high, state.sum_low, real, 0.0)
    if function == WEIGHTED:
        state.weight_high, state.weight_low = add_exactly(
            state.weight_high, state.weight_low, weight, 0.0
        )
    elif function in (VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP):
        square, error = product_exactly(real, real)
        state.square_high, state.square_low = add_exactly(
            state.square_high, state.square_low, square, error
        )


@part
def _add(state: Any, whole: int) -> None:
    """Add an integer to a total of 128 bits."""
    before = np.uint64(state.total_lower)
    after = before + np.uint64(whole)
    state.total_lower = np.int64(after)
    state.total_upper += (whole >> 63) + (1 if after < before else 0)


@part
def reaches(upper: int, lower: int, least_upper: int, least_lower: int) -> bool:
    """Return True if one integer of 128 bits is at least another."""
    if upper != least_upper:
        return bool(upper > least_upper)
    return bool(np.uint64(lower) >= np.uint64(least_lower))


@part
def _total(state: Any) -> tuple[float, float]:
    """Return a total of 128 bits as a double-double, exact for any number of rows there can be."""
    lower = np.uint64(state.total_lower)
    middle = float(np.int64(lower >> np.uint64(32)))
    least = float(np.int64(lower & np.uint64(0xFFFFFFFF)))
    high, low = add_exactly(
        float(state.total_upper) * _HALF_WORD * _HALF_WORD, 0.0, middle * _HALF_WORD, 0.0
    )
    return add_exactly(high, low, least, 0.0)


@part
def _divided(high: float, low: float, divisor: float) -> float:
    quotient = high / divisor
    product, error = product_exactly(quotient, divisor)
    corrected = quotient + (((high - product) - error) + low) / divisor
    return corrected if np.isfinite(quotient) and np.isfinite(corrected) else quotient


@part
def _variance(state: Any, sample: bool) -> float:
    n = float(state.count)
    high, error = product_exactly(state.square_high, n)
    high, low = add_exactly(high, 0.0, error + state.square_low * n, 0.0)
    square, square_low = product_exactly(state.sum_high, state.sum_high)
    square_low += 2 * state.sum_high * state.sum_low + state.sum_low * state.sum_low
    high, low = add_exactly(high, low, -square, -square_low)
    if not (np.isfinite(state.sum_high) and np.isfinite(state.square_high)):
        return np.nan
    return max(_divided(high, low, n * (n - 1) if sample else n * n), 0.0)


@part
def compared(sign: int, value: float, limit: float) -> bool:
    """Return True if a comparison holds; with NaN none does."""
    if sign == LESS:
        return value < limit
    if sign == AT_MOST:
        return value <= limit
    if sign == MORE:
        return value > limit
    return value >= limit


@part
def holds(asked: Any, state: Any) -> bool:
    """Return True if the condition holds for the remembered rows; without a value it does not."""
    function = asked.function
    if state.count == 0 and function != COUNT:
        return False
    if asked.whole or function == COUNT:
        if function != AVG:
            return _reached(asked, state) != bool(asked.below)
        if asked.decimals:
            return _averages(asked, state) != bool(asked.below)
    return _holds_of_doubles(asked, state)


@part
def _reached(asked: Any, state: Any) -> bool:
    """Return True if an integer is at least the limit."""
    function = asked.function
    if function == SUM:
        return reaches(state.total_upper, state.total_lower, asked.least_upper, asked.least_lower)
    whole = state.count
    if function == MIN:
        whole = state.least
    elif function == MAX:
        whole = state.greatest
    elif function == FIRST:
        whole = state.at_first
    elif function == LAST:
        whole = state.at_last
    return reaches(whole >> 63, whole, asked.least_upper, asked.least_lower)


@part
def _averages(asked: Any, state: Any) -> bool:
    """Return True if the average of decimals reaches the limit; totals are less the offset."""
    shares = state.count * asked.share
    least = shares // AVERAGE_UNITS
    if asked.strictly or shares % AVERAGE_UNITS:
        least += 1
    return reaches(state.total_upper, state.total_lower, least >> 63, least)


@part
def _holds_of_doubles(asked: Any, state: Any) -> bool:
    """Compare doubles, and averages of integers, as results show them: rounded once."""
    function = asked.function
    high, low = state.sum_high, state.sum_low
    if asked.whole:
        high, low = _total(state)
    value = high + low
    if function == MIN:
        value = state.least_real
    elif function == MAX:
        value = state.greatest_real
    elif function == FIRST:
        value = state.first_real
    elif function == LAST:
        value = state.last_real
    elif function == AVG:
        value = _divided(high, low, float(state.count))
    elif function == WEIGHTED:
        weight = state.weight_high + state.weight_low
        if weight == 0:
            return False
        value = value / weight
    elif function != SUM:
        sample = function in (VAR_SAMP, STDDEV_SAMP)
        if sample and state.count < 2:
            return False
        value = _variance(state, sample)
        if function in (STDDEV_SAMP, STDDEV_POP):
            value = math.sqrt(value)
    return compared(asked.sign, value, asked.limit)


@part
def spread_within(asked: Any, state: Any, whole: int, real: float) -> bool:
    """Add a value to a delta frame; return True if the frame is still within its size."""
    if state.count == 0:
        state.least, state.greatest, state.at_first = whole, whole, whole
        state.least_real, state.greatest_real, state.first_real = real, real, real
    state.count += 1
    if asked.from_first and not asked.minimal:
        state.least = state.greatest = state.at_first
        state.least_real = state.greatest_real = state.first_real
    state.least = min(state.least, whole)
    state.greatest = max(state.greatest, whole)
    state.least_real = min(state.least_real, real)
    state.greatest_real = max(state.greatest_real, real)
    return is_within(asked, state)


@part
def is_within(asked: Any, state: Any) -> bool:
    """Return True if a delta frame is within its size."""
    if asked.from_first and asked.minimal:
        # Some row of the frame is far from the first one, not necessarily the last.
        return _is_near_first(asked, state)
    if asked.whole:
        # Differences of 64-bit integers fit unsigned 64 bits.
        return bool(np.uint64(state.greatest) - np.uint64(state.least) <= np.uint64(asked.size))
    far = state.greatest_real - state.least_real
    # The difference of equal infinities is NaN, which neither keeps a frame open nor closes it.
    return bool(not far > asked.size_real if asked.minimal else far < asked.size_real)


@part
def _is_near_first(asked: Any, state: Any) -> bool:
    """Return True if no row of a delta frame is farther from its first row than its size."""
    if asked.whole:
        above = np.uint64(state.greatest) - np.uint64(state.at_first)
        below = np.uint64(state.at_first) - np.uint64(state.least)
        return bool(above <= np.uint64(asked.size) and below <= np.uint64(asked.size))
    higher = state.greatest_real - state.first_real
    lower = state.first_real - state.least_real
    return bool(not higher > asked.size_real and not lower > asked.size_real)


@part
def is_met(asked: Any, state: Any) -> bool:
    """Return True if the condition of a minimal frame holds for the rows that it has."""
    if asked.kind == DELTA:
        return not is_within(asked, state)
    if asked.kind == OWN:
        return bool(state.count)
    return holds(asked, state)


OUTSIDE, INSIDE, ENDS = range(3)


@part
def _related(asked: Any, state: Any, whole: int) -> bool:
    """Return True if a value follows the one before it in the direction of the trend."""
    if asked.direction == INCREASING:
        return whole > state.at_last or (not asked.strict and whole == state.at_last)
    if asked.direction == DECREASING:
        return whole < state.at_last or (not asked.strict and whole == state.at_last)
    return bool(whole == state.at_last)


@part
def _heading(state: Any, whole: int) -> int:
    """Return the direction from the last value to this one."""
    if whole == state.at_last:
        return FLAT
    return INCREASING if whole > state.at_last else DECREASING


@part
def _goes_on(state: Any, whole: int) -> bool:
    """Return True if a value goes on in the direction of the frame, which the second row gives."""
    heading = _heading(state, whole)
    if state.greatest == NO_DIRECTION:
        state.greatest = heading
    if state.greatest != heading:
        return False
    state.at_last = whole
    return True


@part
def _turn(state: Any, whole: int) -> None:
    """Begin a run of one direction; ``least`` is 1 if the row before is not missing."""
    state.greatest = _heading(state, whole) if state.least else NO_DIRECTION
    state.at_last, state.least = whole, 1


@part
def _taken(asked: Any, state: Any, counts: int, whole: int, real: float, weight: float) -> bool:
    """Add a row's value to a delta or aggregate frame; return True if the condition holds."""
    if asked.kind == DELTA:
        return spread_within(asked, state, whole, real)
    if counts:
        remember(asked, state, whole, real, weight)
    return holds(asked, state)


@part
def _role(answer: int, inside: int, last: int) -> int:
    """Return the role of a row by the answer of a user's own framing function."""
    if not answer & inside:
        return OUTSIDE
    return ENDS if answer & last else INSIDE


@part
def as_next(asked: Any, state: Any, counts: int, whole: int, real: float, weight: float) -> int:
    """Return the role of a real row in the open frame."""
    kind = asked.kind
    if kind == THRESHOLD:
        return INSIDE if whole else OUTSIDE
    if kind == BOUNDARY:
        return INSIDE if whole == state.at_last else OUTSIDE
    if kind == TREND and asked.direction == ANY:
        return INSIDE if _goes_on(state, whole) else OUTSIDE
    if kind == TREND:
        inside = _related(asked, state, whole)
        state.at_last = whole
        return INSIDE if inside else OUTSIDE
    if kind == DENSITY:
        return INSIDE if whole == 1 else OUTSIDE
    if kind == OWN:
        state.count = whole & EXTENDS_LAST  # for :func:`is_met`
        return _role(whole, EXTENDS, EXTENDS_LAST)
    if kind == BETWEEN:
        if whole & 2:
            return ENDS if asked.with_end else OUTSIDE
        return INSIDE
    holding = _taken(asked, state, counts, whole, real, weight)
    if asked.minimal:
        # The condition of a minimal delta frame is that it is *not* within its size.
        over = not holding if kind == DELTA else holding
        return ENDS if over else INSIDE
    return INSIDE if holding else OUTSIDE


@part
def as_first(asked: Any, state: Any, counts: int, whole: int, real: float, weight: float) -> int:
    """Return the role of a real row in a frame that it would open; an ARMED state stays ARMED."""
    kind = asked.kind
    if kind in (THRESHOLD, DENSITY):
        return INSIDE if whole else OUTSIDE
    if kind == BETWEEN:
        return _opens_between(asked, state, whole)
    if kind == OWN:
        state.count = whole & OPENS_LAST
        return _role(whole, OPENS, OPENS_LAST)
    if kind == TREND and asked.direction == ANY:
        _turn(state, whole)
        return INSIDE
    if kind in (BOUNDARY, TREND):
        state.at_last = whole
        return INSIDE
    forget(state)
    holding = _taken(asked, state, counts, whole, real, weight)
    if kind == DELTA:
        return INSIDE  # one row has no difference
    if asked.minimal:
        return ENDS if holding else INSIDE
    return INSIDE if holding else OUTSIDE


@part
def _opens_between(asked: Any, state: Any, flags: int) -> int:
    starts, ends = flags & 1, flags & 2
    if state.mode == ARMED:
        if not ends:
            return INSIDE
        state.mode = CLOSED
        if asked.with_end:
            return ENDS
    if not starts:
        return OUTSIDE
    if ends:
        # A row that starts and ends is a frame of its own, unless both ends are left out.
        return ENDS if asked.with_start or asked.with_end else OUTSIDE
    if asked.with_start:
        return INSIDE
    state.mode = ARMED
    return OUTSIDE
