"""Pairs of doubles that together hold about 106 bits, for whole columns.

A sum kept this way is the correctly rounded sum for all practical purposes, whatever the order
in which rows, panes and tasks are added; so batch, stream and reference agree to the last bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]
_SPLITTER = 134_217_729.0  # 2**27 + 1: cuts a double into two halves of 26 bits


def two_sum(left: Floats, right: Floats) -> Pair:
    with np.errstate(invalid="ignore", over="ignore"):
        total = left + right
        shadow = total - left
        error = (left - (total - shadow)) + (right - shadow)
    return total, np.where(np.isfinite(total), error, 0.0)


def two_product(left: Floats, right: Floats) -> Pair:
    """A product and its rounding error (Dekker); the error is 0 where halves would overflow."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = left * right
        left_high, left_low = _halves(left)
        right_high, right_low = _halves(right)
        error = (
            ((left_high * right_high - product) + left_high * right_low) + left_low * right_high
        ) + left_low * right_low
    return product, np.where(np.isfinite(error), error, 0.0)


def square(values: Floats) -> Pair:
    return two_product(values, values)


def divide(pair: Pair, divisor: Floats) -> Floats:
    """The double nearest to a pair over a double, by one step of correction."""
    high, low = pair
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        quotient = high / divisor
        product, error = two_product(quotient, divisor)
        corrected = quotient + (((high - product) - error) + low) / divisor
    return np.where(np.isfinite(quotient) & np.isfinite(corrected), corrected, quotient)


def times(pair: Pair, factor: Floats) -> Pair:
    high, error = two_product(pair[0], factor)
    with np.errstate(invalid="ignore", over="ignore"):
        return two_sum(high, error + pair[1] * factor)


def minus_square(pair: Pair, root: Pair) -> Pair:
    """``pair - root**2``, the one place where a subtraction is needed: at the very end."""
    with np.errstate(invalid="ignore", over="ignore"):
        square_high, square_low = square(root[0])
        square_low = square_low + 2 * root[0] * root[1] + root[1] * root[1]
        high, error = two_sum(pair[0], -square_high)
        return two_sum(high, error + (pair[1] - square_low))


def of_integers(high: npt.NDArray[np.int64], low: npt.NDArray[np.int64]) -> Pair:
    """``high * 2**32 + low`` as a pair."""
    return two_sum(high.astype(np.float64) * 4_294_967_296.0, low.astype(np.float64))


def _halves(values: Floats) -> Pair:
    shifted = _SPLITTER * values
    high = shifted - (shifted - values)
    return high, values - high
