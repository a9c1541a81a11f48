"""Aggregates of the bits of integers: ``bit_and(x)``, ``bit_or(x)`` and ``bit_xor(x)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.accumulators import OwnAccumulator
from muntin.aggregates.definition import AggregateCall, BoundAggregate, Definition, SqlNode
from muntin.aggregates.own_aggregate import (
    Columns,
    OwnAggregate,
    checked,
    grouped_count,
    grouped_sum,
)
from muntin.kernels.arrays import Ints

#: NumPy's function for each operator, and the number that changes no other.
_OPERATORS: Mapping[str, tuple[Any, int]] = {
    "and": (np.bitwise_and, -1),
    "or": (np.bitwise_or, 0),
    "xor": (np.bitwise_xor, 0),
}


@dataclass(frozen=True)
class CombinedBits(OwnAggregate):
    """The bits of all integers of a pane under one operator, and how many integers there were."""

    operator: str
    type: pa.DataType
    partials: Sequence[pa.DataType] = (pa.int64(), pa.int64())

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return self.type

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        present = columns[0].is_valid()
        values = columns[0].drop_null().cast(pa.int64())
        kept = groups[present.to_numpy(zero_copy_only=False)]
        return [self._combined(values, kept, count), grouped_count(columns[0], groups, count)]

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        return [
            self._combined(partials[0], groups, count),
            grouped_sum(partials[1], groups, count),
        ]

    def finish(self, partials: Columns) -> pa.Array:
        some = pc.greater(partials[1], 0)
        return pc.if_else(some, partials[0], None).cast(self.type)

    def _combined(self, values: pa.Array, groups: Ints, count: int) -> pa.Array:
        function, neutral = _OPERATORS[self.operator]
        bits = np.full(count, neutral, np.int64)
        combine: Callable[..., None] = function.at
        combine(bits, groups, values.to_numpy(zero_copy_only=False))
        return pa.array(bits)


@dataclass(frozen=True)
class Bits(Definition):
    """``bit_and(x)``, ``bit_or(x)`` or ``bit_xor(x)`` of integers, in their type."""

    operator: str = "and"

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(pa.types.is_integer(call.type), "an integer")
        own = checked(CombinedBits(self.operator, call.type), call.label, call.types)
        accumulator = OwnAccumulator(call.slots, None, own)
        return BoundAggregate((accumulator,), own.type, lambda columns: own.finish(columns[0]))


DEFINITIONS = (
    Bits("bit_and", ("bit_and",), nodes={"BitwiseAndAgg": SqlNode("bit_and")}),
    Bits("bit_or", ("bit_or",), operator="or", nodes={"BitwiseOrAgg": SqlNode("bit_or")}),
    Bits("bit_xor", ("bit_xor",), operator="xor", nodes={"BitwiseXorAgg": SqlNode("bit_xor")}),
)
