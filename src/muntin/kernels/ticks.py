"""Columns of the progressing attribute to ticks and back, a whole Arrow column at a time.

It is the same mapping as ``specs.axis.Axis``; property tests compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints
from muntin.kernels.numbers.decimals import from_words, words
from muntin.kernels.numbers.order_keys import doubles_order, order_doubles, order_keys
from muntin.specs.axis import Axis, Domain

#: Why a value has no place on the axis, by the number in ``Ticks.refusal``; 0 means it has one.
REFUSALS = ("", "null_on", "nan_on", "out_of_range")
_NULL, _NAN, _OUT = 1, 2, 3


@dataclass(frozen=True)
class Ticks:
    """The ticks of a column; where ``refusal`` is not 0 the tick has no meaning.

    ``order`` orders the values themselves: a tick of a double column covers many of them.
    """

    tick: Ints
    order: Ints
    refusal: npt.NDArray[np.uint8]


def to_ticks(column: pa.Array, axis: Axis) -> Ticks:
    refusal = np.zeros(len(column), np.uint8)
    if column.null_count:
        refusal[pc.is_null(column).to_numpy(zero_copy_only=False)] = _NULL
    match axis.domain:
        case Domain.DOUBLE:
            tick = _doubles(column, axis, refusal)
        case Domain.DECIMAL:
            tick = _decimals(column, axis, refusal)
        case Domain.DATE:
            tick = _integers(column.cast(pa.date32()).cast(pa.int32()), axis, refusal)
        case _:
            tick = _integers(column, axis, refusal)
    order = order_keys(column).key if axis.domain is Domain.DOUBLE else tick
    return Ticks(tick, order, refusal)


def valid_ticks(column: pa.ChunkedArray, axis: Axis) -> Ints:
    """Return the ticks of the values that have a place on the axis."""
    ticks = to_ticks(column.combine_chunks(), axis)
    placed: Ints = ticks.tick[ticks.refusal == 0]
    return placed


def _integers(column: pa.Array, axis: Axis, refusal: npt.NDArray[np.uint8]) -> Ints:
    whole = column.cast(pa.int64())
    if whole.null_count:
        whole = whole.fill_null(0)
    tick: Ints = whole.to_numpy(zero_copy_only=False)
    refusal[(refusal == 0) & ((tick >= axis.limit) | (tick <= -axis.limit))] = _OUT
    return tick


def _doubles(column: pa.Array, axis: Axis, refusal: npt.NDArray[np.uint8]) -> Ints:
    value = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    scale = float(10**axis.digits)
    nan = np.isnan(value)
    refusal[(refusal == 0) & nan] = _NAN
    with np.errstate(over="ignore", invalid="ignore"):
        far = ~nan & (np.abs(value) * scale >= axis.limit)
    refusal[(refusal == 0) & far] = _OUT
    kept = np.where(refusal == 0, value, 0.0)
    tick = np.floor(kept * scale)
    # The product is rounded, so the floor may be off by one; the edges themselves are exact.
    tick = np.where((tick + 1) / scale <= kept, tick + 1, tick)
    tick = np.where(tick / scale > kept, tick - 1, tick)
    refusal[(refusal == 0) & (np.abs(tick) >= axis.limit)] = _OUT
    return tick.astype(np.int64)


def _decimals(column: pa.Array, axis: Axis, refusal: npt.NDArray[np.uint8]) -> Ints:
    low, high = words(column)
    factor = 10 ** (axis.digits - column.type.scale)
    tick = low.view(np.int64)
    fits = high == (tick >> np.int64(63))
    reach = (axis.limit - 1) // factor
    fits &= (tick <= reach) & (tick >= -reach)
    refusal[(refusal == 0) & ~fits] = _OUT
    # If only zero is within reach, the factor itself may not fit 64 bits.
    return np.where(fits & (refusal == 0), tick, 0) * np.int64(factor if reach else 0)


def from_ticks(ticks: Ints, axis: Axis, type_: pa.DataType) -> pa.Array:
    """Return ticks as values of the column type, for the bounds of windows in results."""
    match axis.domain:
        case Domain.DOUBLE:
            return pa.array(ticks.astype(np.float64) / float(10**axis.digits))
        case Domain.DECIMAL:
            everywhere = np.ones(len(ticks), np.bool_)
            return from_words(ticks.view(np.uint64), ticks >> np.int64(63), type_, everywhere)
        case Domain.DATE:
            return pa.array(ticks.astype(np.int32), pa.int32()).cast(pa.date32())
        case _:
            return pa.array(ticks).cast(type_)


def shift_order(order: Ints, axis: Axis, ticks: int) -> Ints:
    """Return the order of values moved by a length; doubles use double arithmetic, as in Spark."""
    if axis.domain is not Domain.DOUBLE:
        return order + ticks
    return doubles_order(order_doubles(order) + ticks / 10**axis.digits)


def order_of_ticks(ticks: Ints, axis: Axis) -> Ints:
    """Return the order of the values at ticks."""
    if axis.domain is not Domain.DOUBLE:
        return ticks
    return doubles_order(ticks.astype(np.float64) / float(10**axis.digits))


def ticks_of_order(order: Ints, axis: Axis) -> Ints:
    """Return the ticks of values, given by their order."""
    if axis.domain is not Domain.DOUBLE:
        return order
    return _doubles(pa.array(order_doubles(order)), axis, np.zeros(len(order), np.uint8))


def from_order(order: Ints, axis: Axis, type_: pa.DataType) -> pa.Array:
    """Return values of the column type from their order."""
    if axis.domain is Domain.DOUBLE:
        return pa.array(order_doubles(order))
    return from_ticks(order, axis, type_)


def lengths_from_ticks(ticks: Ints, axis: Axis, type_: pa.DataType) -> pa.Array:
    """Return differences of ticks: durations on time columns, else numbers like the column's."""
    if not axis.domain.temporal:
        return from_ticks(ticks, axis, type_)
    micros = ticks * 86_400_000_000 if axis.domain is Domain.DATE else ticks
    return pa.array(micros).cast(type_)
