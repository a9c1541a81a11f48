"""Bounds of the error of a double-double; u = 2**-53 is the error of one rounding.

If a result is rounded from a value that is off by at most d, it lies between the doubles nearest to
exact - d and exact + d, because rounding keeps order: :func:`within`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from hypothesis import strategies as st

U = Fraction(1, 2**53)
#: Far from overflow, and so far from underflow that the error of a product is a normal double.
MODERATE = st.one_of(
    st.just(0.0), st.floats(1e-60, 1e60), st.floats(-1e60, -1e-60), st.integers(-9, 9).map(float)
)
#: The quotient is off by at most u of itself, so its remainder, which is a double, is at most
#: u(1+u)|high|; with |low| <= 7u|high| the correction is at most 8u(1+u)**2 of the quotient and is
#: rounded twice: 16u**2 and terms of higher order, before the last rounding.
QUOTIENT_ERROR = 17 * U**2


def within(result: float, exact: Fraction, off: Fraction) -> bool:
    return float(exact - off) <= result <= float(exact + off)


def exactly(values: Iterable[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction())


def magnitude(values: Iterable[float]) -> Fraction:
    return exactly(map(abs, values))


def sum_error(values: Sequence[float]) -> Fraction:
    """A bound for the error of a double-double sum, before it is rounded to a double.

    One addition of pairs, with low parts of at most 7u of the high ones, whose magnitudes are
    together M: the two high parts add exactly and leave at most uM; adding the low parts rounds
    7uM by at most 7u**2 M; adding the two errors, together at most 8uM, by 8u**2 M. The last
    step is exact unless the total is smaller than the error; then each of its operands is at
    most 3 times 8uM and it rounds by at most 24u**2 M, and leaves a low part of at most 7u of
    the high one. Together 39u**2 M, with terms of higher order less than 40u**2 M. A partial sum
    is at most the sum of magnitudes, so n additions have an M of at most n + 1 times that sum,
    and are off by at most 40(n + 1)u**2 of it, which is no more than 80nu**2.
    """
    return 80 * len(values) * U**2 * magnitude(values)


def mean_error(values: Sequence[float]) -> Fraction:
    """A bound for the error of a double-double sum divided by a count.

    The error of the division is that of a sum which is off already.
    """
    off = sum_error(values) / len(values)
    return off + (magnitude(values) / len(values) + off) * QUOTIENT_ERROR


def variance_error(values: Sequence[float], free: int) -> Fraction:
    """A bound for the error of (n sum(x**2) - sum(x)**2) / (n free) in double-double.

    Let Q be the sum of squares; the square of a sum is at most nQ (Cauchy and Schwarz). Squares
    are lifted exactly. The error of n sum(x**2) from the sum is n times 80nu**2 Q; that of
    sum(x)**2 is 2 |sum(x)| times 80nu**2 sum(|x|), at most 160nu**2 nQ. With low parts of at
    most 7u, the product with n rounds by 15u**2, the square by 44u**2, and their difference, of
    size 2nQ at most, by 33u**2 of that: (240n + 125)u**2 nQ in all, with terms of higher order
    less than (240n + 130)u**2 nQ.
    """
    n, squares = len(values), sum((Fraction(v) ** 2 for v in values), Fraction())
    off = (240 * n + 130) * U**2 * n * squares / (n * free)
    return off + (squares / free + off) * QUOTIENT_ERROR
