"""128-bit decimals as NumPy words, and integers as sums of 32-bit limbs.

Integer sums must not overflow silently. A value is split into limbs of 32 bits that are added as
plain 64-bit integers. That leaves room for two thousand million rows before carries must be
settled; :func:`settle` does that after every reduction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints, Mask, Words

_LIMB = np.int64(32)
_LOW_BITS = np.int64(0xFFFF_FFFF)


def words(column: pa.Array) -> tuple[Words, Ints]:
    """Return the low and the high 64 bits of 128-bit decimals; zero where the column is null."""
    pairs = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2)
    pairs = pairs[column.offset : column.offset + len(column)]
    low, high = pairs[:, 0].copy(), pairs[:, 1].copy().view(np.int64)
    if column.null_count:
        missing = pc.is_null(column).to_numpy(zero_copy_only=False)
        low[missing] = 0
        high[missing] = 0
    return low, high


def from_words(low: Words, high: Ints, type_: pa.DataType, valid: Mask) -> pa.Array:
    """Return 128-bit decimals from their words, null where not valid."""
    pairs = np.empty((len(low), 2), np.uint64)
    pairs[:, 0] = low
    pairs[:, 1] = high.view(np.uint64)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(type_, len(low), [bits, pa.py_buffer(pairs)])


def as_doubles(column: pa.Array) -> npt.NDArray[np.float64]:
    """Return the doubles nearest to decimals without nulls, as Spark's cast does."""
    low, high = words(column)
    signed, scale = low.view(np.int64), column.type.scale
    # Both are exact as doubles, and a quotient of doubles is correctly rounded.
    plain = (high == signed >> np.int64(63)) & (np.abs(signed) <= 2**53) & (scale <= 22)
    doubles = signed.astype(np.float64) / float(10 ** min(scale, 22))
    for place in np.flatnonzero(~plain).tolist():
        doubles[place] = float(column[place].as_py())
    return doubles


def limbs_of_integers(values: Ints) -> list[Ints]:
    return [values & _LOW_BITS, values >> _LIMB]


def limbs_of_decimals(column: pa.Array) -> list[Ints]:
    low, high = words(column)
    signed = low.view(np.int64)
    return [
        signed & _LOW_BITS,
        (low >> np.uint64(32)).view(np.int64),
        high & _LOW_BITS,
        high >> _LIMB,
    ]


def magnitudes(column: pa.Array) -> list[Words]:
    """Return the absolute values of integers or decimals in unsigned parts of 32 bits; null is 0.

    >>> [part.tolist() for part in magnitudes(pa.array([-(2**33) - 1, None]))]
    [[1, 0], [2, 0]]
    """
    if not pa.types.is_decimal(column.type):
        values: Ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        numbers = [np.abs(values).view(np.uint64)]
    else:
        low, high = words(column)
        negative = high < 0
        low = np.where(negative, ~low + np.uint64(1), low)
        upper = np.where(negative, ~high + (low == 0), high).view(np.uint64)
        numbers = [low, upper] if column.type.precision > 18 else [low]
    mask = np.uint64(_LOW_BITS)
    return [part for number in numbers for part in (number & mask, number >> np.uint64(32))]


def squared(parts: Sequence[Words]) -> list[Ints]:
    """Return the squares of numbers in unsigned parts of 32 bits, as settled limbs.

    >>> [limb.tolist() for limb in squared([np.array([3], np.uint64), np.array([1], np.uint64)])]
    [[9], [6], [1], [0]]
    """
    rows, mask = len(parts[0]), np.uint64(_LOW_BITS)
    limbs: list[Ints] = [np.zeros(rows, np.int64) for _ in range(2 * len(parts))]
    used = [place for place, part in enumerate(parts) if part.any()]
    if used == [0]:  # small numbers, as most are
        product = parts[0] * parts[0]
        limbs[:2] = (product & mask).view(np.int64), (product >> np.uint64(32)).view(np.int64)
        return limbs
    for left in used:
        for right in (place for place in used if place >= left):
            product = parts[left] * parts[right]
            times = np.int64(1 if left == right else 2)
            limbs[left + right] += (product & mask).view(np.int64) * times
            limbs[left + right + 1] += (product >> np.uint64(32)).view(np.int64) * times
    return settle(limbs)


def settle(limbs: Sequence[Ints]) -> list[Ints]:
    """Carry what exceeds 32 bits into the next limb; the last keeps the sign."""
    settled = list(limbs)
    for place in range(len(settled) - 1):
        settled[place + 1] = settled[place + 1] + (settled[place] >> _LIMB)
        settled[place] = settled[place] & _LOW_BITS
    return settled


def wrapped(limbs: Sequence[Ints]) -> tuple[Ints, Mask]:
    """Return two settled limbs as 64-bit integers, and where they do not fit."""
    low, high = limbs
    overflow = (high >= 2**31) | (high < -(2**31))
    return (high << _LIMB) | low, overflow


def as_integers(limbs: Sequence[Ints]) -> list[int]:
    """Return settled limbs as Python integers of any size."""
    columns = [limb.tolist() for limb in limbs]
    return [
        sum(part << (32 * place) for place, part in enumerate(parts))
        for parts in zip(*columns, strict=True)
    ]


def as_words(limbs: Sequence[Ints], precision: int) -> tuple[Words, Ints, Mask]:
    """Return four settled limbs as 128-bit words, and where they exceed ``precision`` digits."""
    first, second, third, fourth = limbs
    low = (first | (second << _LIMB)).view(np.uint64)
    high = third | (fourth << _LIMB)
    overflow = (fourth >= 2**31) | (fourth < -(2**31))
    bound = 10**precision - 1
    overflow |= _beyond(low, high, bound) | _below(low, high, -bound)
    return low, high, overflow


def _beyond(low: Words, high: Ints, bound: int) -> Mask:
    bound_low, bound_high = np.uint64(bound & (2**64 - 1)), np.int64(bound >> 64)
    beyond: Mask = (high > bound_high) | ((high == bound_high) & (low > bound_low))
    return beyond


def _below(low: Words, high: Ints, bound: int) -> Mask:
    bound_low, bound_high = np.uint64(bound & (2**64 - 1)), np.int64(bound >> 64)
    below: Mask = (high < bound_high) | ((high == bound_high) & (low < bound_low))
    return below
