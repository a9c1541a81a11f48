"""Casts between types, with Spark's limits and rounding; null where a value does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions import times
from muntin.expressions.values import (
    ComparableValues,
    Numbers,
    Value,
    Values,
    condition,
    doubles,
    from_arrow,
    largest,
    number_of,
    scaled,
    validity,
    wide,
)
from muntin.kernels.arrays import Mask
from muntin.kernels.numbers.decimals import from_words

#: Characters that Spark strips from a text before it reads a number.
_BLANK = "".join(map(chr, range(33))) + "\x7f"
_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}


def cast(value: Value, type_: pa.DataType, zone: str) -> Value:
    """Return the values in another type; :mod:`muntin.expressions.coercion` checks the types."""
    if isinstance(value, ComparableValues):
        return _from_column(value, type_, zone)
    if pa.types.is_boolean(type_):
        return condition(value.values != 0, value.valid)
    if pa.types.is_string(type_):
        return ComparableValues(to_arrow(value, pa.int64()).cast(type_))
    return _number(value, type_)


def _from_column(value: ComparableValues, type_: pa.DataType, zone: str) -> Value:
    column = value.column
    if pa.types.is_null(column.type):
        return from_arrow(pa.nulls(len(column), type_))
    if pa.types.is_string(column.type):
        return _from_text(column, type_)
    if pa.types.is_string(type_):
        return ComparableValues(column.cast(type_))
    if pa.types.is_boolean(column.type):
        return _number(number_of(from_arrow(column.cast(pa.int8()))), type_)
    if pa.types.is_integer(type_):
        return _number(times.seconds(value), type_)
    return times.as_time(value, type_, zone)


def _number(number: Numbers, type_: pa.DataType) -> Numbers:
    if pa.types.is_float64(type_):
        return Numbers(doubles(number), number.valid, None)
    if pa.types.is_float32(type_):
        with np.errstate(over="ignore"):
            single = number.values.astype(np.float32)
        return Numbers(single.astype(np.float64), number.valid, None)
    if pa.types.is_decimal(type_):
        assert number.scale is not None  # doubles are refused: their text decides in Spark
        values = rescaled(number.values, type_.scale - number.scale)
        return _limited(
            values, number.valid, 1 - 10**type_.precision, 10**type_.precision - 1, type_.scale
        )
    least, most = -(2 ** (type_.bit_width - 1)), 2 ** (type_.bit_width - 1) - 1
    if number.scale is None:
        return _truncated(number, least, most)
    return _limited(towards_zero(number.values, number.scale), number.valid, least, most, 0)


def _limited(values: Values, valid: Mask, least: int, most: int, scale: int) -> Numbers:
    if len(values) and (int(values.max()) > most or int(values.min()) < least):
        fits = np.asarray((values <= most) & (values >= least), np.bool_)
        values, valid = np.where(fits, values, 0), valid & fits
    if values.dtype == object and largest(values) < 2**63:
        values = values.astype(np.int64)
    return Numbers(values, valid, scale)


def _truncated(number: Numbers, least: int, most: int) -> Numbers:
    with np.errstate(invalid="ignore"):
        fits = (np.floor(number.values) <= most) & (np.ceil(number.values) >= least)
    whole = np.trunc(np.where(fits, number.values, 0.0))
    edge = whole >= 2.0**63  # as in Java, 2**63 becomes the greatest integer of 64 bits
    values = np.where(edge, np.int64(2**63 - 1), np.where(edge, 0.0, whole).astype(np.int64))
    return Numbers(values, number.valid & fits, 0)


def rescaled(values: Values, digits: int) -> Values:
    """Multiply by ten to the power of ``digits``; halves are rounded away from zero."""
    if digits >= 0:
        return scaled(values, digits)
    power = 10**-digits
    values = wide(values, largest(values) + power)
    rounded = (np.abs(values) + power // 2) // power
    return _signed(values, rounded)


def towards_zero(values: Values, scale: int) -> Values:
    if scale == 0:
        return values
    values = wide(values, largest(values) + 1)
    power = 10**scale if 10**scale < 2**63 else np.array([10**scale], object)
    return _signed(values, np.abs(values) // power)


def _signed(values: Values, magnitudes: Values) -> Values:
    signed: Values = np.where(values < 0, -magnitudes, magnitudes)
    return signed


def _from_text(column: pa.Array, type_: pa.DataType) -> Value:
    if pa.types.is_boolean(type_):
        return from_arrow(_read(column, _boolean, type_))
    least, most = -(2 ** (type_.bit_width - 1)), 2 ** (type_.bit_width - 1) - 1

    def whole(text: str) -> int | None:
        text = text.strip(_BLANK)
        number = int(text) if _WHOLE.fullmatch(text) else None
        return number if number is not None and least <= number <= most else None

    return from_arrow(_read(column, whole, type_))


def _boolean(text: str) -> bool | None:
    text = text.strip(_BLANK).lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _read(column: pa.Array, read: Callable[[str], Any], type_: pa.DataType) -> pa.Array:
    """Read each distinct text once."""
    encoded = pc.dictionary_encode(column)
    known = pa.array([read(text) for text in encoded.dictionary.to_pylist()], type_)
    return known.take(encoded.indices)


def to_arrow(value: Value, type_: pa.DataType) -> pa.Array:
    """Return a value as a column of a type that it fits."""
    if isinstance(value, ComparableValues):
        return value.column.cast(type_)
    mask = None if value.valid.all() else ~value.valid
    if not pa.types.is_decimal(type_):
        return pa.array(value.values, mask=mask).cast(type_, safe=False)
    if value.values.dtype == object:
        low = np.array([number & (2**64 - 1) for number in value.values], np.uint64)
        high = np.array([number >> 64 for number in value.values], np.int64)
    else:
        low, high = value.values.view(np.uint64), value.values >> np.int64(63)
    return from_words(low, high, type_, validity(value))
