"""Boundary frames on Arrow columns: a value stays the same, or between two multiples of a step.

The level of a value is what ``muntin.specs.frames.boundary_levels`` defines. Kernels only compare
two levels, so where every number is a level of its own the number itself is used, and no level
leaves the type of its column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import UnsupportedTypeError
from muntin.kernels.arrays import Ints
from muntin.kernels.frames import records
from muntin.kernels.numbers.decimals import from_words, words
from muntin.kernels.numbers.order_keys import doubles_order
from muntin.kernels.ticks import to_ticks
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    FrameOperatorInputs,
    check_length,
    has_order,
    in_order,
    missing_values,
    number_columns,
    scale_of,
    time_axis,
)
from muntin.specs.axis import DOUBLE_DIGITS, Axis, Domain
from muntin.specs.frames.boundary_levels import DOUBLE_LEVELS
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Boundary
from muntin.specs.lengths import Length, Number

#: Levels of decimals that may not fit 64 bits.
WIDE = pa.decimal128(38, 0)
_ROOM = 2**63
_WORD = 2**64 - 1


@dataclass(frozen=True)
class ArrowBoundary(ArrowKind):
    """Reads a value or its level as an integer, or numbers values when they are compared."""

    every: Length | None = None  # the distance of two boundaries
    zone: str = "UTC"  # where days begin, for timestamps
    number: ClassVar[int] = records.BOUNDARY
    compares_neighbours: ClassVar[bool] = True

    @classmethod
    def arguments(cls, framing: Framing, inputs: FrameOperatorInputs) -> dict[str, Any]:
        assert isinstance(framing.kind, Boundary)
        own = {"every": framing.kind.every, "zone": inputs.axis.zone}
        return {**super().arguments(framing, inputs), **own}

    @classmethod
    def check_types(cls, kind: Boundary, types: Sequence[pa.DataType]) -> None:
        if kind.every is not None:
            check_length(kind, "every", kind.every, types[0])
        if pa.types.is_nested(types[0]):
            raise UnsupportedTypeError(f"{kind.label} cannot compare values of type {types[0]}")

    @property
    def by_code(self) -> bool:
        return not has_order(self.types[0])

    @property
    def code_type(self) -> pa.DataType:
        return self.types[0] if self.every is None else WIDE

    @property
    def value_names(self) -> Sequence[str]:
        return ("lacks", "code" if self.by_code else "whole")

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        (column,), lacks = operands, missing_values(operands[0])
        if self.by_code:
            return {"lacks": pa.array(lacks), "code": self._code(column)}
        whole = in_order(column) if self.every is None else self._levels(column, self.every)
        return {"lacks": pa.array(lacks), "whole": pa.array(np.where(lacks, 0, whole))}

    def _levels(self, column: pa.Array, every: Length) -> Ints:
        if isinstance(every, Number):
            return _levels_of_numbers(column, every)
        return _levels_of_times(column, replace(time_axis(column.type), zone=self.zone), every)

    def _code(self, column: pa.Array) -> pa.Array:
        if not isinstance(self.every, Number):  # times have an order, so they need no code
            return column
        return _levels_of_wide_decimals(column, _each(self.every, column.type))


def _levels_of_times(column: pa.Array, axis: Axis, every: Length) -> Ints:
    """Return the levels of timestamps or dates."""
    each = axis.length("every", every)
    (turns, rest), ticks = divmod(axis.default_origin(each), each), to_ticks(column, axis).tick
    # This is (tick - origin) // each, without an intermediate result that leaves 64 bits.
    levels: Ints = ticks // each - turns + (ticks % each - rest) // each
    return levels


def _levels_of_numbers(column: pa.Array, every: Number) -> Ints:
    """Return the levels of numbers that fit 64 bits."""
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return _levels_of_doubles(values, Fraction(every.value), every.digits)
    whole = number_columns(column)["whole"].to_numpy(zero_copy_only=False)
    return _levels_of_integers(whole, _each(every, column.type))


def _each(every: Number, type_: pa.DataType) -> Fraction:
    """Return ``every`` in the integers that represent numbers of a type."""
    return Fraction(every.value) * Fraction(10 ** scale_of(type_))


def _levels_of_integers(values: Ints, each: Fraction) -> Ints:
    """Return the levels of integers; ``each`` is the number of integers in a level."""
    part, whole = each.denominator, each.numerator
    if whole <= part:
        return values
    if whole * part >= _ROOM:
        return np.array([value * part // whole for value in values.tolist()], np.int64)
    # This is value * part // whole, without an intermediate result that leaves 64 bits.
    return values // whole * part + values % whole * part // whole


def _levels_of_wide_decimals(column: pa.Array, each: Fraction) -> pa.Array:
    """Return the levels of decimals of more than 18 digits, as :data:`WIDE`."""
    low, high = words(column)
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    part, whole = each.denominator, each.numerator
    if whole > part:
        pairs = zip(high.tolist(), low.tolist(), strict=True)
        levels = [(above * 2**64 + below) * part // whole for above, below in pairs]
        low = np.array([level & _WORD for level in levels], np.uint64)
        high = np.array([level >> 64 for level in levels], np.int64)
    return from_words(low, high, WIDE, valid)


def _levels_of_doubles(values: npt.NDArray[np.float64], every: Fraction, digits: int) -> Ints:
    """Return the levels of doubles; ``digits`` are the decimals of ``every``. NaN has any level."""
    ticks = to_ticks(pa.array(values), Axis(Domain.DOUBLE, min(digits, DOUBLE_DIGITS)))
    # No tick is that far from zero, so a step cut to it has all ticks on one side or the other.
    each = min(int(every * 10**digits), _ROOM - 1)
    levels = ticks.tick // np.int64(each)
    far = ticks.refusal != 0 if digits <= DOUBLE_DIGITS else np.ones(len(values), np.bool_)
    for row in np.flatnonzero(far & ~np.isnan(values)).tolist():
        levels[row] = _level_of_double(values[row : row + 1], every)
    return levels


def _level_of_double(value: npt.NDArray[np.float64], every: Fraction) -> int:
    """Return the level of one value that ticks do not reach."""
    written = float(value[0])
    if math.isfinite(written):
        level = math.floor(Fraction(Decimal(repr(written))) / every)
        if abs(level) < DOUBLE_LEVELS:
            return level
    # The order of such a large double is above all levels.
    return int(doubles_order(value)[0])
