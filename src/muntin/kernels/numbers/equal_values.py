"""Values in a form that is the same for equal values, as integers or text, and back.

Sketches hash integers and text. Values are equal as in Spark's GROUP BY: -0.0 is 0.0, and NaN is
one value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints
from muntin.kernels.numbers.order_keys import order_keys


def by_group(groups: Ints, count: int) -> list[Ints]:
    """Return the rows of each group, in their order."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.searchsorted(groups[order], np.arange(1, count)))


def tally(
    column: pa.Array, groups: Ints, count: int
) -> tuple[list[int | str], Ints, Ints, list[Ints]]:
    """Return the different values of each group.

    Return all values in their canonical form; for each value of a group, its place among those and
    how often it occurs; and for each group, which of these are its own.
    """
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    encoded = pc.dictionary_encode(_canonical(column.drop_null()))
    values = encoded.dictionary
    size = max(1, len(values))
    place = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    cells, times = np.unique(groups[valid] * size + place, return_counts=True)
    group, place = np.divmod(cells, size)
    known: list[int | str] = [
        value.decode("latin-1") if isinstance(value, bytes) else value
        for value in values.to_pylist()
    ]
    return known, place, times, by_group(group, count)


def _canonical(column: pa.Array) -> pa.Array:
    """Return integers or text, the same for equal values: -0.0 is 0.0, and NaN is one value."""
    type_ = column.type
    if pa.types.is_decimal(type_):
        return column.cast(pa.string())
    if _is_text(type_):
        return column
    return pa.array(order_keys(column).key)


def decoded(names: Sequence[str], type_: pa.DataType) -> pa.Array:
    """Return the values of canonical forms that were written as text."""
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return pa.array([name.encode("latin-1") for name in names], type_)
    if _is_text(type_) or pa.types.is_decimal(type_):
        return pa.array(names, pa.string()).cast(type_)
    keys = np.array([int(name) for name in names], np.int64)
    return order_keys(pa.array([], type_)).restore(keys, np.ones(len(keys), np.bool_))


def _is_text(type_: pa.DataType) -> bool:
    return not (
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_temporal(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_decimal(type_)
    )
