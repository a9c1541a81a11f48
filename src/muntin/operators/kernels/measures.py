"""What a frame's rows amount to while it grows: the value that decides whether it goes on.

Sums are double-doubles, so integers and decimals are exact and doubles are rounded once, as in the
aggregates that results are made of. Nothing is taken back: a frame that ends starts anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates.compiled import part
from muntin.aggregates.double_double import product_exactly
from muntin.operators.kernels.records import (
    AT_MOST,
    AVG,
    COUNT,
    FIRST,
    LAST,
    LESS,
    MAX,
    MIN,
    MORE,
    STDDEV_POP,
    STDDEV_SAMP,
    SUM,
    VAR_POP,
    VAR_SAMP,
    WEIGHTED,
)
from muntin.operators.kernels.reduce import add_exactly

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@part
def forget(state: Any) -> None:
    """No row yet."""
    state.count = 0
    state.sum_high = 0.0
    state.sum_low = 0.0
    state.square_high = 0.0
    state.square_low = 0.0
    state.weight_high = 0.0
    state.weight_low = 0.0


@part
def remember(asked: Any, state: Any, whole: int, real: float, weight: float) -> None:
    """Take the value of a row in; ``whole`` where values are integers, else ``real``."""
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
    high, low = real, 0.0
    if asked.whole:
        high = float(whole)
        # Both halves are exact: 64 bits are fewer than the 106 of two doubles.
        low = float(whole - np.int64(high)) if abs(high) < 9.2e18 else 0.0
    state.sum_high, state.sum_low = add_exactly(state.sum_high, state.sum_low, high, low)
    if function == WEIGHTED:
        state.weight_high, state.weight_low = add_exactly(
            state.weight_high, state.weight_low, weight, 0.0
        )
    elif function in (VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP):
        square, error = product_exactly(high, high)
        state.square_high, state.square_low = add_exactly(
            state.square_high, state.square_low, square, error
        )


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
def _compared(sign: int, above: float) -> bool:
    """Whether a comparison holds, given how far the value lies above the limit."""
    if sign == LESS:
        return above < 0
    if sign == AT_MOST:
        return above <= 0
    if sign == MORE:
        return above > 0
    return above >= 0


@part
def _above(high: float, low: float, limit_high: float, limit_low: float) -> float:
    """The sign of a double-double less another; NaN where there is none."""
    if math.isnan(high):
        return high
    if high != limit_high or not np.isfinite(high):
        return 1.0 if high > limit_high else (-1.0 if high < limit_high else 0.0)
    return 1.0 if low > limit_low else (-1.0 if low < limit_low else 0.0)


@part
def holds(asked: Any, state: Any) -> bool:
    """Whether the condition holds for the rows remembered; without a value it does not."""
    function = asked.function
    if function == COUNT:
        return _compared(
            asked.sign, _above(float(state.count), 0.0, asked.limit_high, asked.limit_low)
        )
    if state.count == 0:
        return False
    if asked.whole and function in (SUM, AVG):
        limit, error = asked.limit_high, asked.limit_low
        if function == AVG:
            # sum / n against the limit is sum against n times the limit, which is exact.
            n = float(state.count)
            limit, more = product_exactly(asked.limit_high, n)
            limit, error = add_exactly(limit, 0.0, more + error * n, 0.0)
        return _compared(asked.sign, _above(state.sum_high, state.sum_low, limit, error))
    if asked.whole and function in (MIN, MAX, FIRST, LAST):
        whole = state.at_last if function == LAST else state.at_first
        whole = state.least if function == MIN else whole
        whole = state.greatest if function == MAX else whole
        high = float(whole)
        low = float(whole - np.int64(high)) if abs(high) < 9.2e18 else 0.0
        return _compared(asked.sign, _above(high, low, asked.limit_high, asked.limit_low))
    return _holds_of_doubles(asked, state)


@part
def _holds_of_doubles(asked: Any, state: Any) -> bool:
    """Doubles are compared as results show them: rounded once."""
    function = asked.function
    value = state.sum_high + state.sum_low
    if function == MIN:
        value = state.least_real
    elif function == MAX:
        value = state.greatest_real
    elif function == FIRST:
        value = state.first_real
    elif function == LAST:
        value = state.last_real
    elif function == AVG:
        value = _divided(state.sum_high, state.sum_low, float(state.count))
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
    return _compared(asked.sign, _above(value, 0.0, asked.limit_high, 0.0))


@part
def spread_within(asked: Any, state: Any, whole: int, real: float) -> bool:
    """Delta frames: take a value in; whether the frame is still within its size."""
    if state.count == 0:
        state.least, state.greatest, state.at_first = whole, whole, whole
        state.least_real, state.greatest_real, state.first_real = real, real, real
    state.count += 1
    if asked.from_first:
        state.least = state.greatest = state.at_first
        state.least_real = state.greatest_real = state.first_real
    state.least = min(state.least, whole)
    state.greatest = max(state.greatest, whole)
    state.least_real = min(state.least_real, real)
    state.greatest_real = max(state.greatest_real, real)
    if asked.whole:
        # Differences of 64-bit integers fit 64 bits without a sign.
        spread = np.uint64(state.greatest) - np.uint64(state.least)
        size = np.uint64(asked.size)
        return bool(spread <= size if asked.minimal else spread < size)
    far = state.greatest_real - state.least_real
    # Infinities are NaN apart, which neither keeps a frame open nor closes one.
    return bool(not far > asked.size_real if asked.minimal else far < asked.size_real)
