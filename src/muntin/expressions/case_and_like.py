"""CASE, least, greatest and LIKE for whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.values import (
    ComparableValues,
    Numbers,
    Truth,
    Value,
    Values,
    comparable,
    doubles,
    scaled,
    validity,
)
from muntin.kernels.arrays import Ints, Mask


def chosen(holds: Sequence[Truth], values: Sequence[Value]) -> Value:
    """The value whose condition is the first to hold, or the last value."""
    sizes = [(len(hold.true),) for hold in holds] + [(len(validity(value)),) for value in values]
    rows = np.broadcast_shapes(*sizes)[0]
    which = np.full(rows, len(holds), np.int64)
    for place in reversed(range(len(holds))):
        which[np.broadcast_to(holds[place].true & holds[place].valid, rows)] = place
    return _taken(which, values)


def extreme(which: str, values: Sequence[Value]) -> Value:
    """The least or greatest of each row, null only where all are."""
    return reduce(lambda one, other: _further(which, one, other), values)


def like(value: Value, pattern: str) -> Truth:
    assert isinstance(value, ComparableValues)  # checked when the plan was built
    found = pc.match_substring_regex(value.column, pattern).fill_null(False)
    return Truth(found.to_numpy(zero_copy_only=False), validity(value))


def _further(which: str, one: Value, other: Value) -> Value:
    left, right = comparable(one, other)
    beyond = (right < left if which == "least" else right > left).astype(np.bool_)
    other_wins = validity(other) & (~validity(one) | beyond)
    return _taken(other_wins.astype(np.int64), [one, other])


def _taken(which: Ints, values: Sequence[Value]) -> Value:
    """Of each row the value with that number; those of NULL have no type and no values."""
    valid: Mask = _select(which, [validity(value) for value in values]).astype(np.bool_)
    typed = [value for value in values if not _untyped(value)]
    if isinstance(typed[0], Truth):
        true = _select(which, [v.true if isinstance(v, Truth) else _NONE for v in values])
        return Truth(true.astype(np.bool_) & valid, valid)
    if isinstance(typed[0], ComparableValues):
        return ComparableValues(_taken_ordered(which, valid, values, typed[0].column.type))
    scales = [value.scale for value in typed if isinstance(value, Numbers)]
    whole = [scale for scale in scales if scale is not None]
    scale = max(whole) if len(whole) == len(scales) else None
    numbers = [_numbers(value, scale) for value in values]
    return Numbers(_select(which, numbers), valid, scale)


_NONE: Mask = np.zeros(1, np.bool_)


def _untyped(value: Value) -> bool:
    return isinstance(value, ComparableValues) and pa.types.is_null(value.column.type)


def _select(which: Ints, values: Sequence[Values]) -> Values:
    made: Values = np.select([which == place for place in range(len(values))], values)
    return made


def _numbers(value: Value, scale: int | None) -> Values:
    if not isinstance(value, Numbers):
        return np.zeros(1, np.int64)
    if scale is None or value.scale is None:
        return doubles(value)
    return scaled(value.values, scale - value.scale)


def _taken_ordered(
    which: Ints, valid: Mask, values: Sequence[Value], type_: pa.DataType
) -> pa.Array:
    columns = [v.column.cast(type_) for v in values if isinstance(v, ComparableValues)]
    lengths = [len(column) for column in columns]
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    spread = np.array([length > 1 for length in lengths])
    at = begins[which] + np.where(spread[which], np.arange(len(which)), 0)
    return pa.concat_arrays(columns).take(pa.array(at, mask=~valid))
