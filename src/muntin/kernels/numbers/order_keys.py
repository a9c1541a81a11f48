"""Columns of any ordered type as 64-bit integers with the same order, and back.

Minimum, maximum, first and last are then one kernel: the least of some integers. Numbers are mapped
directly; strings, binary and decimals by their rank among the values at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Floats, Ints, Mask
from muntin.kernels.compile import FLOATS, INTS, NONE, OUT_INTS, kernel

#: The key of a null: nothing is greater, so a minimum ignores it.
NOTHING = np.iinfo(np.int64).max
_MAGNITUDE = np.int64(2**63 - 1)
_NAN = int(np.array([np.nan]).view(np.int64)[0])


@dataclass(frozen=True)
class Keys:
    """Keys of a column with the same order, where it has values, and the way back to values."""

    key: Ints
    valid: Mask
    restore: Callable[[Ints, Mask], pa.Array]


def order_keys(column: pa.Array) -> Keys:
    valid = _valid(column)
    if pa.types.is_floating(column.type):
        return Keys(_float_keys(column, valid), valid, _restore_floats(column.type))
    if _is_whole(column.type):
        whole = _whole(column).fill_null(0).to_numpy(zero_copy_only=False)
        return Keys(np.where(valid, whole, NOTHING), valid, _restore_whole(column.type))
    order = pc.array_sort_indices(column, order="ascending", null_placement="at_end")
    place = order.to_numpy(zero_copy_only=False).astype(np.int64)
    key = np.empty(len(place), np.int64)
    key[place] = np.arange(len(place))
    key[~valid] = NOTHING
    return Keys(key, valid, _restore_ranked(column, place))


@dataclass(frozen=True)
class RankedValues:
    """A column without nulls as ranks among its distinct values, which are in order."""

    rank: Ints
    distinct: pa.Array


def ranked(column: pa.Array) -> RankedValues:
    """Return ranks, equal for equal values: NaN is one value, and -0.0 is 0.0, as in GROUP BY."""
    if pa.types.is_floating(column.type) or _is_whole(column.type):
        keys = order_keys(column)
        encoded = pc.dictionary_encode(pa.array(keys.key))
        values = encoded.dictionary.to_numpy()
        order = np.argsort(values)
        distinct = keys.restore(values[order], np.ones(len(order), np.bool_))
    else:
        encoded = pc.dictionary_encode(column)
        order = pc.array_sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
        distinct = encoded.dictionary.take(pa.array(order))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return RankedValues(rank[encoded.indices.to_numpy(zero_copy_only=False)], distinct)


def tie_ranks(column: pa.Array) -> Ints:
    """Return numbers that compare as the values do, equal for equal ones; null is above all."""
    if pa.types.is_floating(column.type) or _is_whole(column.type):
        return order_keys(column).key
    valid = pc.is_valid(column)
    mask = valid.to_numpy(zero_copy_only=False)
    ranks = np.full(len(column), NOTHING)
    ranks[mask] = ranked(column.filter(valid)).rank
    return ranks


def pair_ranks(by: pa.Array, value: pa.Array) -> tuple[Ints, Ints, Mask]:
    """Return rows in order of a pair of columns, the rank of each row, and where ``by`` is valid.

    Rows with equal ``by`` are in order of ``value``, null first.
    """
    keys = order_keys(value)
    order: Ints = np.lexsort((keys.key, keys.valid, tie_ranks(by))).astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return order, rank, _valid(by)


def maps_directly(type_: pa.DataType) -> bool:
    """Return True if the keys of a type do not depend on the other values at hand."""
    return _is_whole(type_) or bool(pa.types.is_floating(type_))


def orderable(type_: pa.DataType) -> bool:
    """Return True if values of a type can be compared; nested types cannot."""
    return (
        _is_whole(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
    )


def _valid(column: pa.Array) -> Mask:
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    mask: Mask = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return mask


def _is_whole(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_date32(type_)
        or pa.types.is_timestamp(type_)
        or pa.types.is_duration(type_)
    )


def _whole(column: pa.Array) -> pa.Array:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64())


def _restore_whole(type_: pa.DataType) -> Callable[[Ints, Mask], pa.Array]:
    def restore(key: Ints, valid: Mask) -> pa.Array:
        whole = pa.array(np.where(valid, key, 0), pa.int64(), mask=~valid)
        if pa.types.is_date32(type_):
            whole = whole.cast(pa.int32())
        return whole.cast(type_)

    return restore


def doubles_order(values: Floats) -> Ints:
    """Return IEEE bits as integers that order as in Spark: NaN last, -0.0 equal to 0.0."""
    values = np.ascontiguousarray(values)
    order = np.empty(len(values), np.int64)
    _order_bits(values, values.view(np.int64), order)
    return order


@kernel(NONE, FLOATS, INTS, OUT_INTS, in_python=True)
def _order_bits(values: Floats, bits: Ints, out: Ints) -> None:
    for row in range(len(out)):
        own = bits[row]
        if values[row] != values[row]:
            own = _NAN
        elif values[row] == 0.0:
            own = 0
        out[row] = own ^ ((own >> 63) & _MAGNITUDE)


def order_doubles(order: Ints) -> Floats:
    """Return the doubles of orders, the inverse of :func:`doubles_order`."""
    bits: Ints = order ^ ((order >> np.int64(63)) & _MAGNITUDE)
    return bits.view(np.float64)


def _float_keys(column: pa.Array, valid: Mask) -> Ints:
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    key = doubles_order(values)
    if column.null_count:
        key[~valid] = NOTHING
    return key


def _restore_floats(type_: pa.DataType) -> Callable[[Ints, Mask], pa.Array]:
    def restore(key: Ints, valid: Mask) -> pa.Array:
        if valid.all():
            return pa.array(order_doubles(key)).cast(type_)
        values = order_doubles(np.where(valid, key, 0))
        return pa.array(values, pa.float64(), mask=~valid).cast(type_)

    return restore


def _restore_ranked(column: pa.Array, place: Ints) -> Callable[[Ints, Mask], pa.Array]:
    def restore(key: Ints, valid: Mask) -> pa.Array:
        if not len(place):
            return pa.nulls(len(key), column.type)
        row = place[np.where(valid, key, 0)]
        return column.take(pa.array(row, pa.int64(), mask=~valid))

    return restore
