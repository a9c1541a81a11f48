"""Where rows that fill regions lie along the second attribute of the regions."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types as arrow

from muntin.errors import ArgumentError, Mention, UnknownColumnError
from muntin.spark.columns import to_arrow
from muntin.spark.plan.inputs import StreamInput
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.frames.framing import Framing
from muntin.specs.windows import column_name

#: The decimal digits of integers by their width in bits.
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_MOST_DIGITS = 38


@dataclass(frozen=True)
class SecondPlace:
    """A column of filling rows, and the type in which it is compared with the bounds."""

    column: str
    type: pa.DataType


def second_place(plain: WindowPlan, source: StreamInput, along: object) -> SecondPlace | None:
    """Return where filling rows lie along regions; None if the segments are no regions.

    Raise if the column is missing or its type does not suit.
    """
    if plain.region_bounds is None:
        if along is not None:
            raise ArgumentError(
                "along", along, "only frames of mt.region(...) have a second attribute"
            )
        return None
    bounds = wide(plain.operator.result_schema.field(plain.region_bounds[0]).type)
    name = _own_name(plain) if along is None else column_name("along", along)
    if along is None and name not in source.df.columns:
        raise ArgumentError(
            "along",
            None,
            f"the filling rows have no column {name!r}, along which the regions lie; name theirs: ",
            Mention("along", "milepost"),
        )
    if name not in source.df.columns:
        raise UnknownColumnError("along", name, source.df.columns)
    type_ = source.df.schema[name].dataType
    if not _holds(bounds, to_arrow(type_, f"along={name!r}")):
        raise ArgumentError(
            "along",
            name,
            f"it has type {type_.simpleString()} and the regions lie along {bounds} values; cast "
            "one of them",
        )
    return SecondPlace(name, bounds)


def wide(type_: pa.DataType) -> pa.DataType:
    """Return the widest type with the values of a number type."""
    if arrow.is_decimal(type_):
        return pa.decimal128(_MOST_DIGITS, type_.scale)
    return pa.float64() if arrow.is_floating(type_) else pa.int64()


def _own_name(plain: WindowPlan) -> str:
    """Return the column along which regions were found."""
    name = plain.spec.kind.second_axis if isinstance(plain.spec, Framing) else None
    if name is None:
        raise ArgumentError(
            "along",
            None,
            "these regions are stored; name the column of the filling rows along which they lie: ",
            Mention("along", "milepost"),
        )
    return name


def _holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """True if the wide type has every value of the narrow one."""
    if arrow.is_decimal(wide):
        whole = wide.precision - wide.scale
        if arrow.is_decimal(narrow):
            return bool(narrow.scale <= wide.scale and narrow.precision - narrow.scale <= whole)
        return bool(arrow.is_integer(narrow)) and _DIGITS[narrow.bit_width] <= whole
    if arrow.is_floating(wide) and not arrow.is_floating(narrow):
        # A double has every integer of up to 53 bits.
        return bool(arrow.is_integer(narrow) and narrow.bit_width <= 32)
    return bool(arrow.is_floating(narrow) if arrow.is_floating(wide) else arrow.is_integer(narrow))
