"""Own aggregates as a user would write them, for several tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.own_aggregate import (
    OwnAggregate,
    grouped_count,
    grouped_max,
    grouped_sum,
)
from muntin.errors import UnsupportedTypeError

Ints = npt.NDArray[np.int64]
Columns = Sequence[pa.Array]


class GeometricMean(OwnAggregate):
    """The example of the docs."""

    partials = (pa.float64(), pa.int64())

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.float64()

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        logs = pc.ln(columns[0].cast(pa.float64()))
        return [grouped_sum(logs, groups, count), grouped_count(logs, groups, count)]

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        return [grouped_sum(column, groups, count) for column in partials]

    def finish(self, partials: Columns) -> pa.Array:
        logs, n = partials
        return pc.if_else(pc.greater(n, 0), pc.exp(pc.divide(logs, n)), None)


class Squares(OwnAggregate):
    """The sum of squares of integers, modulo 2**64 and therefore exactly removable."""

    partials = (pa.int64(),)
    differential = True

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        if not pa.types.is_integer(types[0]):
            raise UnsupportedTypeError(f"needs an integer, but its argument is {types[0]}")
        return pa.int64()

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        return [grouped_sum(pc.multiply(columns[0], columns[0]), groups, count)]

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        return [grouped_sum(partials[0], groups, count)]

    def remove(self, whole: Columns, part: Columns) -> Columns:
        return [pc.subtract(whole[0], part[0])]

    def finish(self, partials: Columns) -> pa.Array:
        return partials[0]


@dataclass(frozen=True)
class Longest(OwnAggregate):
    """The greatest length of a text, up to ``limit``: cannot be removed."""

    limit: int = 100
    partials = (pa.int64(),)

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.int64()

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        lengths = pc.utf8_length(columns[0]).cast(pa.int64())
        return [
            grouped_max(pc.min_element_wise(lengths, self.limit, skip_nulls=False), groups, count)
        ]

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        return [grouped_max(partials[0], groups, count)]

    def finish(self, partials: Columns) -> pa.Array:
        return partials[0]


class Gathered(OwnAggregate):
    """All values in their order: holistic, of the argument's own type."""

    bounded = False

    def __init__(self, item: pa.DataType | None = None) -> None:
        self._item = item
        self.partials = (pa.list_(item),) if item is not None else ()

    def typed(self, types: Sequence[pa.DataType]) -> OwnAggregate:
        return Gathered(types[0])

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.list_(types[0])

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        return self._lists(columns[0].to_pylist(), groups, count)

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        lists = partials[0].to_pylist()
        values = [value for some in lists for value in some]
        return self._lists(values, np.repeat(groups, [len(some) for some in lists]), count)

    def finish(self, partials: Columns) -> pa.Array:
        return partials[0]

    def _lists(self, values: Sequence[object], groups: Ints, count: int) -> Columns:
        values_of_groups: list[list[object]] = [[] for _ in range(count)]
        for value, group in zip(values, groups.tolist(), strict=True):
            if value is not None:
                values_of_groups[group].append(value)
        return [pa.array([sorted(some) for some in values_of_groups], pa.list_(self._item))]  # type: ignore[type-var]
