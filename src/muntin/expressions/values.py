"""Columns of values that expressions are evaluated with: numbers, and the rest.

Numbers are doubles, or exact: integers with a decimal scale, in 64 bits where they fit and of any
size where they do not. So ``x > 0.57 * max(x)`` gives what Spark gives for integers and decimals,
and does not depend on how 0.57 is rounded to a double.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Mask
from muntin.kernels.numbers.decimals import words
from muntin.kernels.numbers.order_keys import order_keys

#: Integers of 64 bits, Python's own, or doubles.
Values = npt.NDArray[Any]
_ROOM = 2**63
_EXACT_DOUBLE = 2**53
_EXACT_POWER = 22


@dataclass(frozen=True)
class Numbers:
    """``values / 10**scale``, or doubles where ``scale`` is None."""

    values: Values
    valid: Mask
    scale: int | None


@dataclass(frozen=True)
class ComparableValues:
    """Values of one other type: conditions, strings, dates, timestamps, intervals, NULL."""

    column: pa.Array


Value = Numbers | ComparableValues


@dataclass(frozen=True)
class Truth:
    """A condition as masks: null where ``valid`` is False, and ``true`` is False there too."""

    true: Mask
    valid: Mask


def from_arrow(column: pa.Array) -> Value:
    type_ = column.type
    if not (
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    ):
        return ComparableValues(column)
    valid: Mask = pc.is_valid(column).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(type_):
        doubles = column.cast(pa.float64()).fill_null(0.0)
        return Numbers(doubles.to_numpy(zero_copy_only=False), valid, None)
    if pa.types.is_integer(type_):
        whole = column.cast(pa.int64()).fill_null(0)
        return Numbers(whole.to_numpy(zero_copy_only=False), valid, 0)
    low, high = words(column)
    values: Values = low.view(np.int64)
    if not np.array_equal(high, values >> np.int64(63)):
        values = high.astype(object) * 2**64 + low.astype(object)
    return Numbers(values, valid, type_.scale)


def condition(true: Mask, valid: Mask | None = None) -> ComparableValues:
    """Return a condition that is true where ``true`` is, and null where ``valid`` is False."""
    if valid is None or valid.all():
        return ComparableValues(pa.array(true, pa.bool_()))
    true, valid = np.broadcast_arrays(true, valid)
    return ComparableValues(pa.array(true, pa.bool_(), mask=~valid))


def truth(value: Value) -> Truth:
    column = column_of(value)
    true = column.fill_null(False).to_numpy(zero_copy_only=False)
    return Truth(true, validity(value))


def column_of(value: Value) -> pa.Array:
    assert isinstance(value, ComparableValues)  # checked when the plan was built
    return value.column


def number_of(value: Value) -> Numbers:
    assert isinstance(value, Numbers)  # checked when the plan was built
    return value


def validity(value: Value) -> Mask:
    if isinstance(value, ComparableValues):
        mask: Mask = pc.is_valid(value.column).to_numpy(zero_copy_only=False)
        return mask
    return value.valid


def constant(value: Decimal | float) -> Numbers:
    valid = np.ones(1, np.bool_)
    if isinstance(value, float):
        return Numbers(np.array([value]), valid, None)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # a literal is finite
    whole = int("".join(map(str, digits))) * 10 ** max(exponent, 0) * (-1 if sign else 1)
    fits = abs(whole) < _ROOM
    return Numbers(np.array([whole], np.int64 if fits else object), valid, max(-exponent, 0))


def doubles(number: Numbers) -> Values:
    """Return the nearest double of each number."""
    if number.scale is None:
        return number.values
    if number.scale == 0 and number.values.dtype != object:
        return number.values.astype(np.float64)
    if largest(number.values) < _EXACT_DOUBLE and number.scale <= _EXACT_POWER:
        # Both operands are exact, so only the division rounds.
        return number.values.astype(np.float64) / 10.0**number.scale
    power = 10**number.scale
    return np.array([value / power for value in number.values.tolist()], np.float64)


def largest(values: Values) -> int:
    return max(abs(int(values.max())), abs(int(values.min()))) if len(values) else 0


def wide(values: Values, bound: int) -> Values:
    """Return the values in a type that can hold results up to a bound."""
    return values if bound < _ROOM else values.astype(object)


def roomy(values: Values) -> Values:
    return values if values.dtype != np.int64 else wide(values, largest(values))


def aligned(left: Numbers, right: Numbers) -> tuple[Values, Values, int]:
    """Return exact numbers with one common scale."""
    assert left.scale is not None and right.scale is not None
    scale = max(left.scale, right.scale)
    return (
        scaled(left.values, scale - left.scale),
        scaled(right.values, scale - right.scale),
        scale,
    )


def scaled(values: Values, digits: int) -> Values:
    if digits == 0:
        return values
    # The power itself must fit, even if all values are zero.
    multiplied: Values = wide(values, max(1, largest(values)) * 10**digits) * 10**digits
    return multiplied


def comparable(left: Value, right: Value) -> tuple[Values, Values]:
    """Return numbers that compare like the values; NaN equals NaN and is above all, as in Spark."""
    if isinstance(left, ComparableValues) and isinstance(right, ComparableValues):
        keys = order_keys(pa.concat_arrays([left.column, right.column])).key
        if _ranked(left.column.type):
            keys = _tied(keys, left.column, right.column)
        return keys[: len(left.column)], keys[len(left.column) :]
    left_number, right_number = number_of(left), number_of(right)
    if left_number.scale is None or right_number.scale is None:
        return order_keys(pa.array(doubles(left_number))).key, order_keys(
            pa.array(doubles(right_number))
        ).key
    return aligned(left_number, right_number)[:2]


def _ranked(type_: pa.DataType) -> bool:
    return not (pa.types.is_temporal(type_) or pa.types.is_duration(type_))


def _tied(keys: Values, left: pa.Array, right: pa.Array) -> Values:
    """Return equal keys for equal values; :func:`order_keys` gives each row its own key."""
    codes = pc.dictionary_encode(pa.concat_arrays([left, right]))
    code = codes.indices.fill_null(len(codes.dictionary)).to_numpy(zero_copy_only=False)
    least = np.full(len(codes.dictionary) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, code, keys)
    tied: Values = least[code]
    return tied
