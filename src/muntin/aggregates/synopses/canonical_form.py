"""The l-canonical form: which buckets an exponential histogram of a given total has.

A histogram's bucket sizes follow from its total alone [Exponential histograms 4, Lemma 2], so
they are computed, not stored, and so is the bucket that any one unit lies in. A unit is a single
1 of the stream; its *age* counts the units that came after it, so the newest has age 0.
"""

from __future__ import annotations

import math

import numpy as np

from muntin.errors import ArgumentError
from muntin.kernels.arrays import Ints

#: Beyond it a double, which is what rows bring and answers are, skips whole numbers.
LARGEST = 2**53


def half_k(eps: float) -> int:
    """``l``: k/2 for k = ceil(1/eps), rounded up [Exponential histograms 2.1].

    >>> half_k(0.1), half_k(0.3), half_k(1)
    (5, 2, 1)
    """
    return -(-checked_k(eps) // 2)


def checked_k(eps: object) -> int:
    """``k``: ceil(1/eps)."""
    expected = "it is the relative error, a number above 0 and at most 1 such as 0.05"
    number = checked_number("eps", eps, expected)
    if not 0 < number <= 1:
        raise ArgumentError("eps", eps, expected)
    return math.ceil(1 / number)


def checked_number(argument: str, given: object, expected: str) -> float:
    """The number that was given, or an error that says what would work."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ArgumentError(argument, given, expected)
    return given


def canonical(total: int, l: int) -> list[int]:  # noqa: E741  (the paper's letter)
    """How many buckets of size 1, 2, 4, ... there are (Procedure l-Canonical).

    >>> canonical(76, 1)
    [2, 1, 2, 2, 1, 1]
    """
    if total == 0:
        return []
    j = (total // l + 1).bit_length() - 1
    above = total - ((1 << j) - 1) * l
    m, bits = divmod(above, 1 << j)
    counts = [l + (bits >> i & 1) for i in range(j)]
    return [*counts, m] if m else counts


def sizes(total: int, l: int) -> Ints:  # noqa: E741
    """The sizes of all buckets, the newest first."""
    counts = np.array(canonical(total, l), np.int64)
    return np.repeat(np.int64(1) << np.arange(len(counts)), counts)


def bucket_bound(total: int, l: int) -> int:  # noqa: E741
    """The most buckets there can be [Exponential histograms, Theorems 1 and 5], with k = 2l."""
    return math.floor((l + 1) * (math.log2(total / l + 1) + 1))
