"""Accumulators as sweeps combine them: integers to add, integers to compare, and doubles to add.

A minimum of strings or decimals, and the first or last value, are compared by rank among all cells
at hand. Accumulators that keep lists cannot be swept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, AccumulatorKind
from muntin.kernels.arrays import Floats, Ints, Mask
from muntin.kernels.numbers.decimals import settle
from muntin.kernels.numbers.order_keys import (
    NOTHING,
    maps_directly,
    order_keys,
    pair_ranks,
)
from muntin.kernels.set_sweeps import sweep_add, sweep_add_exactly, sweep_least
from muntin.operators.protocol import ints

#: The kinds of accumulators that can be swept.
_SWEPT = {
    *(AccumulatorKind.ADD, AccumulatorKind.ADD_EXACTLY, AccumulatorKind.LEAST),
    *(AccumulatorKind.GREATEST, AccumulatorKind.EARLIEST, AccumulatorKind.LATEST),
}
_Values = TypeVar("_Values", Ints, Mask)
#: For each chunk, the columns of an accumulator.
Columns = Sequence[Sequence[pa.Array]]
#: What a sweep makes of a column: an array, or two for doubles.
Reduced = Sequence[Ints | Floats]


@dataclass(frozen=True)
class SweptColumn:
    """A column of all chunks, and how it is combined; "exact" has two arrays for each chunk."""

    how: Literal["add", "least", "exact"]
    chunks: Sequence[Reduced]

    def start(self, size: int) -> Reduced:
        """Return the arrays of so many results without any cell."""
        if self.how == "exact":
            return [np.zeros(size), np.zeros(size)]
        return [np.full(size, NOTHING if self.how == "least" else 0, np.int64)]

    @property
    def sweep(self) -> Callable[..., None]:
        """The kernel that combines it."""
        kernels: Mapping[str, Callable[..., None]]
        kernels = {"add": sweep_add, "least": sweep_least, "exact": sweep_add_exactly}
        return kernels[self.how]


@dataclass(frozen=True)
class SweptValues:
    """The columns that a sweep combines for an accumulator, and the way back."""

    columns: tuple[SweptColumn, ...]
    restore: Callable[[Sequence[Reduced]], list[pa.Array]]


def sweepable(accumulator: Accumulator) -> bool:
    """Return True if sweeps can combine an accumulator."""
    return accumulator.kind in _SWEPT


def swept(accumulator: Accumulator, columns: Columns) -> SweptValues:
    """Return the columns of an accumulator as sweeps combine them."""
    match accumulator.kind:
        case AccumulatorKind.ADD:
            limbs = zip(*columns, strict=True)
            added = [SweptColumn("add", [(ints(part),) for part in limb]) for limb in limbs]
            return SweptValues(tuple(added), _settled)
        case AccumulatorKind.ADD_EXACTLY:
            pairs = [tuple(_doubles(part) for part in chunk) for chunk in columns]
            return SweptValues((SweptColumn("exact", pairs),), lambda sums: _arrays(sums[0]))
        case AccumulatorKind.LEAST | AccumulatorKind.GREATEST:
            return _extreme(columns, accumulator.kind is AccumulatorKind.GREATEST)
        case _:
            return _edge(columns, accumulator.kind is AccumulatorKind.LATEST)


def _settled(sums: Sequence[Reduced]) -> list[pa.Array]:
    limbs = [np.asarray(column[0], np.int64) for column in sums]
    return _arrays(settle(limbs) if len(limbs) > 1 else limbs)


def _arrays(columns: Reduced) -> list[pa.Array]:
    return [pa.array(column) for column in columns]


def _doubles(column: pa.Array) -> Floats:
    values: Floats = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
    return values


def _cut(values: _Values, columns: Columns) -> list[tuple[_Values]]:
    """Return an array over all chunks as one for each."""
    ends = np.cumsum([len(chunk[0]) for chunk in columns])[:-1]
    return [(np.ascontiguousarray(part),) for part in np.split(values, ends)]


def _extreme(columns: Columns, greatest: bool) -> SweptValues:
    # The keys of numbers do not depend on other numbers; those of other types are ranks.
    if maps_directly(columns[0][0].type):
        keys = [order_keys(chunk[0]) for chunk in columns]
        restored = keys[0]
    else:
        restored = order_keys(pa.concat_arrays([chunk[0] for chunk in columns]))
        cut = zip(_cut(restored.key, columns), _cut(restored.valid, columns), strict=True)
        keys = [replace(restored, key=key, valid=valid) for (key,), (valid,) in cut]
    nulls = any(chunk[0].null_count for chunk in columns)
    own = [k.key for k in keys]
    if greatest:
        # The complement reverses the order of all integers, including the least one.
        own = [np.where(k.valid, ~k.key, NOTHING) if nulls else ~k.key for k in keys]
    swept_columns = [SweptColumn("least", [(key,) for key in own])]
    if nulls:
        swept_columns.append(SweptColumn("add", [(k.valid.astype(np.int64),) for k in keys]))

    def restore(reduced: Sequence[Reduced]) -> list[pa.Array]:
        extreme = np.asarray(reduced[0][0], np.int64)
        exists = reduced[1][0] > 0 if nulls else np.ones(len(extreme), np.bool_)
        return [restored.restore(~extreme if greatest else extreme, exists)]

    return SweptValues(tuple(swept_columns), restore)


def _edge(columns: Columns, latest: bool) -> SweptValues:
    """Return ranks by tick and value; a cell without a tick has none."""
    tick, value = (pa.concat_arrays([chunk[part] for chunk in columns]) for part in (0, 1))
    order, rank, present = pair_ranks(tick, value)
    own = np.where(present, ~rank if latest else rank, NOTHING)

    def restore(reduced: Sequence[Reduced]) -> list[pa.Array]:
        least = np.asarray(reduced[0][0], np.int64)
        absent = least == NOTHING
        place = np.where(absent, 0, ~least if latest else least)
        rows = pa.array(order[place], pa.int64(), mask=absent)
        return [tick.take(rows), value.take(rows)]

    return SweptValues((SweptColumn("least", _cut(own, columns)),), restore)
