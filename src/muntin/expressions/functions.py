"""The functions of one row: how each is typed and evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions import times
from muntin.expressions.casts import rescaled
from muntin.expressions.values import (
    ComparableValues,
    Numbers,
    Value,
    column_of,
    condition,
    doubles,
    number_of,
    roomy,
    validity,
)

Types = Sequence[pa.DataType]


@dataclass(frozen=True)
class Function:
    """A function: its evaluation, given the zone, and its type.

    ``typed`` returns the types that arguments are cast to, and the type of the result; None if
    Spark's result is not known. ``fitted`` results must be cast to the type, which may fail.
    """

    evaluate: Callable[..., Value]
    typed: Callable[[Types], tuple[Types, pa.DataType] | None]
    fitted: bool = False


def _numeric(types: Types) -> tuple[Types, pa.DataType] | None:
    (type_,) = types
    return (types, type_) if is_number(type_) else None


def is_number(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )


def _to_whole(types: Types) -> tuple[Types, pa.DataType] | None:
    """The type of ``floor`` and ``ceil``."""
    (type_,) = types
    if pa.types.is_decimal(type_):
        return types, pa.decimal128(min(38, type_.precision - type_.scale + 1), 0)
    return (types, pa.int64()) if is_number(type_) else None


def _rounded_type(types: Types) -> tuple[Types, pa.DataType] | None:
    """The type of ``round`` to whole numbers."""
    (type_,) = types
    if pa.types.is_decimal(type_):
        return types, pa.decimal128(min(38, type_.precision - type_.scale + 1), 0)
    return (types, type_) if is_number(type_) else None


def _takes(
    argument: Callable[[pa.DataType], bool], result: pa.DataType, types: Types
) -> tuple[Types, pa.DataType] | None:
    return (types, result) if all(map(argument, types)) else None


def _is_time(type_: pa.DataType) -> bool:
    return bool(pa.types.is_date(type_) or pa.types.is_timestamp(type_))


def _instant(types: Types) -> tuple[Types, pa.DataType] | None:
    """Take timestamps of either type and dates; return timestamps with a zone."""
    zoned = pa.timestamp("us", tz="UTC")
    return ((zoned,), zoned) if _is_time(types[0]) else None


def _seconds_type(types: Types) -> tuple[Types, pa.DataType] | None:
    return ((pa.timestamp("us", tz="UTC"),), pa.int64()) if _is_time(types[0]) else None


def _quotient_type(types: Types) -> tuple[Types, pa.DataType] | None:
    return None  # its type is found with those of other arithmetic


def _absolute(zone: str, value: Value) -> Numbers:
    number = number_of(value)
    return Numbers(np.abs(roomy(number.values)), number.valid, number.scale)


def _negative(zone: str, value: Value) -> Numbers:
    number = number_of(value)
    return Numbers(-roomy(number.values), number.valid, number.scale)


def _quotient(zone: str, left: Value, right: Value) -> Numbers:
    """Divide decimals as Spark does: to 39 digits after the point, halves away from zero."""
    dividend, divisor = number_of(left), number_of(right)
    assert dividend.scale is not None and divisor.scale is not None
    exists = divisor.values != 0
    by = np.where(exists, divisor.values, 1).astype(object)
    shifted = dividend.values.astype(object) * 10 ** (39 + divisor.scale - dividend.scale)
    whole = (2 * np.abs(shifted) + np.abs(by)) // (2 * np.abs(by))
    values = np.where((shifted < 0) != (by < 0), -whole, whole)
    return Numbers(values, dividend.valid & divisor.valid & exists.astype(np.bool_), 39)


def _floor(zone: str, value: Value, up: int = 1) -> Numbers:
    number = number_of(value)
    if number.scale is None:
        whole = np.floor(number.values) if up > 0 else np.ceil(number.values)
        return Numbers(whole, number.valid, None)
    values = roomy(number.values)
    return Numbers(up * (up * values // 10**number.scale), number.valid, 0)


def _round(zone: str, value: Value) -> Numbers:
    number = number_of(value)
    if number.scale is not None:
        return Numbers(rescaled(number.values, -number.scale), number.valid, 0)
    whole = np.trunc(number.values)
    with np.errstate(invalid="ignore"):
        away = np.abs(number.values - whole) >= 0.5
    rounded = np.where(away, whole + np.sign(number.values), whole)
    # Spark keeps NaN and infinities, and has no negative zero here: it rounds by way of a decimal.
    return Numbers(np.where(rounded == 0, 0.0, rounded), number.valid, None)


def _sqrt(zone: str, value: Value) -> Numbers:
    number = number_of(value)
    with np.errstate(invalid="ignore"):
        return Numbers(np.sqrt(doubles(number)), number.valid, None)


def _is_nan(zone: str, value: Value) -> Value:
    number = number_of(value)
    return condition(np.isnan(number.values) & number.valid)


def _text(function: Callable[[pa.Array], pa.Array], zone: str, value: Value) -> Value:
    return ComparableValues(function(column_of(value)))


def _length(zone: str, value: Value) -> Value:
    lengths = pc.utf8_length(column_of(value)).fill_null(0).cast(pa.int64())
    return Numbers(lengths.to_numpy(zero_copy_only=False), validity(value), 0)


def _cased(
    ascii_case: Callable[[pa.Array], pa.Array], case: Callable[[str], str], column: pa.Array
) -> pa.Array:
    if pc.all(pc.string_is_ascii(column)).as_py() is not False:
        return ascii_case(column)
    encoded = pc.dictionary_encode(column)
    return pa.array(map(case, encoded.dictionary.to_pylist()), column.type).take(encoded.indices)


def _concatenated(zone: str, *values: Value) -> Value:
    columns = [column_of(value) for value in values]
    rows = max((len(column) for column in columns if len(column) != 1), default=1)
    if any(len(column) == 0 for column in columns):
        rows = 0
    spread = [pa.repeat(c[0], rows) if len(c) == 1 != rows else c for c in columns]
    return ComparableValues(pc.binary_join_element_wise(*spread, ""))


def _field(name: str, zone: str, value: Value) -> Value:
    return times.clock_field(name, value, zone)


def _truncated(unit: str, zone: str, value: Value) -> Value:
    return times.truncated(unit, value, zone)


def _unix(zone: str, value: Value) -> Value:
    assert isinstance(value, ComparableValues)
    return times.seconds(value)


_STRINGS = partial(_takes, pa.types.is_string)
_TIMES = partial(_takes, _is_time)

FUNCTIONS = {
    "abs": Function(_absolute, _numeric, fitted=True),
    "negative": Function(_negative, _numeric, fitted=True),
    "quotient": Function(_quotient, _quotient_type),
    "floor": Function(_floor, _to_whole, fitted=True),
    "ceil": Function(partial(_floor, up=-1), _to_whole, fitted=True),
    "round": Function(_round, _rounded_type, fitted=True),
    "sqrt": Function(_sqrt, partial(_takes, is_number, pa.float64())),
    "isnan": Function(_is_nan, partial(_takes, pa.types.is_floating, pa.bool_())),
    "upper": Function(
        partial(_text, partial(_cased, pc.ascii_upper, str.upper)), partial(_STRINGS, pa.string())
    ),
    "lower": Function(
        partial(_text, partial(_cased, pc.ascii_lower, str.lower)), partial(_STRINGS, pa.string())
    ),
    "trim": Function(
        partial(_text, partial(pc.utf8_trim, characters=" ")), partial(_STRINGS, pa.string())
    ),
    "ltrim": Function(
        partial(_text, partial(pc.utf8_ltrim, characters=" ")), partial(_STRINGS, pa.string())
    ),
    "rtrim": Function(
        partial(_text, partial(pc.utf8_rtrim, characters=" ")), partial(_STRINGS, pa.string())
    ),
    "length": Function(_length, partial(_STRINGS, pa.int32())),
    "concat": Function(_concatenated, partial(_STRINGS, pa.string())),
    "unix_timestamp": Function(_unix, _seconds_type),
    **{
        name: Function(partial(_field, name), partial(_TIMES, pa.int32()))
        for name in ("year", "quarter", "month", "day", "hour", "minute", "second")
    },
    **{
        f"truncate to {unit}": Function(partial(_truncated, unit), _instant)
        for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    },
}
