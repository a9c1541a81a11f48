"""Pairs of doubles that together hold about 106 bits, for whole columns.

A sum kept this way is the correctly rounded sum for all practical purposes, whatever the order
in which rows, panes and tasks are added; so batch, stream and reference agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.compile import FLOATS, NONE, OUT_FLOATS, inline, kernel

Pair = tuple[Floats, Floats]
_SPLITTER = 134_217_729.0  # 2**27 + 1: cuts a double into two halves of 26 bits


def two_sum(left: Floats, right: Floats) -> Pair:
    with np.errstate(invalid="ignore", over="ignore"):
        total = left + right
        shadow = total - left
        error = (left - (total - shadow)) + (right - shadow)
    return total, np.where(np.isfinite(total), error, 0.0)


@inline
def add_exactly(high: float, low: float, more_high: float, more_low: float) -> tuple[float, float]:
    """Add two double-doubles (Knuth's two-sum): about 106 bits, so that order does not matter."""
    total = high + more_high
    if not np.isfinite(total):
        return total, 0.0
    shadow = total - high
    error = (high - (total - shadow)) + (more_high - shadow)
    error += low + more_low
    result = total + error
    if not np.isfinite(result):
        return result, 0.0
    return result, error - (result - total)


@inline
def product_exactly(left: float, right: float) -> tuple[float, float]:
    """Return a product and its rounding error (Dekker)."""
    product = left * right
    shifted = _SPLITTER * left
    left_high = shifted - (shifted - left)
    left_low = left - left_high
    shifted = _SPLITTER * right
    right_high = shifted - (shifted - right)
    right_low = right - right_high
    error = (
        ((left_high * right_high - product) + left_high * right_low) + left_low * right_high
    ) + left_low * right_low
    return product, error if np.isfinite(error) else 0.0


@kernel(NONE, FLOATS, FLOATS, OUT_FLOATS, OUT_FLOATS, in_python=True)
def _products(left: Floats, right: Floats, product: Floats, error: Floats) -> None:
    for row in range(len(product)):
        product[row], error[row] = product_exactly(left[row], right[row])


def two_product(left: Floats, right: Floats) -> Pair:
    """Return products and their rounding errors; an error is 0 if halves would overflow."""
    product, error = np.empty(len(left)), np.empty(len(left))
    _products(np.ascontiguousarray(left), np.ascontiguousarray(right), product, error)
    return product, error


def square(values: Floats) -> Pair:
    return two_product(values, values)


def divide(pair: Pair, divisor: Floats) -> Floats:
    """Return the double nearest to a pair divided by a double, by one step of correction."""
    high, low, by = (np.ascontiguousarray(part) for part in (*pair, divisor))
    out = np.empty(len(by), np.float64)
    _divide(high, low, by, out)
    return out


@kernel(NONE, FLOATS, FLOATS, FLOATS, OUT_FLOATS, in_python=True)
def _divide(high: Floats, low: Floats, divisor: Floats, out: Floats) -> None:
    for row in range(len(out)):
        # Like NumPy, division by zero gives an infinity or NaN, and not an error.
        quotient = np.divide(high[row], divisor[row])
        product, error = product_exactly(quotient, divisor[row])
        rest = ((high[row] - product) - error) + low[row]
        corrected = quotient + np.divide(rest, divisor[row])
        out[row] = corrected if np.isfinite(quotient) and np.isfinite(corrected) else quotient


def times(pair: Pair, factor: Floats) -> Pair:
    high, error = two_product(pair[0], factor)
    with np.errstate(invalid="ignore", over="ignore"):
        return two_sum(high, error + pair[1] * factor)


def product(left: Pair, right: Pair) -> Pair:
    """Return products of pairs."""
    high, error = two_product(left[0], right[0])
    with np.errstate(invalid="ignore", over="ignore"):
        return two_sum(high, error + (left[0] * right[1] + left[1] * right[0]))


def quotient(dividend: Pair, divisor: Pair) -> Pair:
    """Return quotients of pairs, by two steps of correction; not finite where a divisor is 0."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        first = dividend[0] / divisor[0]
        rest = total([dividend, negative(times(divisor, first))])
        second = rest[0] / divisor[0]
        rest = total([rest, negative(times(divisor, second))])
        return total([two_sum(first, second), (rest[0] / divisor[0], np.zeros(len(first)))])


def scaled(pair: Pair) -> tuple[Pair, Ints]:
    """Return pairs of about 1 and the powers of two that were taken out, so nothing overflows."""
    _, exponent = np.frexp(pair[0])
    taken = exponent.astype(np.int64)
    return (np.ldexp(pair[0], -taken), np.ldexp(pair[1], -taken)), taken


def negative(pair: Pair) -> Pair:
    """Return pairs with the other sign."""
    return -pair[0], -pair[1]


def total(pairs: Sequence[Pair]) -> Pair:
    """Return the sums of pairs."""
    first, *others = pairs
    for other in others:
        high, error = two_sum(first[0], other[0])
        with np.errstate(invalid="ignore", over="ignore"):
            first = two_sum(high, error + (first[1] + other[1]))
    return first


def minus_product(pair: Pair, left: Pair, right: Pair) -> Pair:
    """Return ``pair - left * right``; this subtraction is the only one, at the very end."""
    with np.errstate(invalid="ignore", over="ignore"):
        product_high, product_low = two_product(left[0], right[0])
        product_low = product_low + (left[0] * right[1] + left[1] * right[0])
        product_low = product_low + left[1] * right[1]
        high, error = two_sum(pair[0], -product_high)
        return two_sum(high, error + (pair[1] - product_low))


def of_integers(high: npt.NDArray[np.int64], low: npt.NDArray[np.int64]) -> Pair:
    """Return ``high * 2**32 + low`` as a pair."""
    return two_sum(high.astype(np.float64) * 4_294_967_296.0, low.astype(np.float64))
