"""Aggregates of the different values of a column: ``sum(DISTINCT x)``, ``avg(DISTINCT x)``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, AccumulatorKind, Counted
from muntin.aggregates.definition import AggregateCall, BoundAggregate, Columns, Definition
from muntin.aggregates.sums import Avg, Sum
from muntin.kernels.arrays import Ints
from muntin.kernels.grouping import add_by_group, add_exactly_by_group
from muntin.kernels.numbers.decimals import settle


@dataclass(frozen=True)
class OfDistinct(Definition):
    """A sum or a mean in which every value counts once; -0.0 is 0.0, and NaN is one value."""

    _: KW_ONLY
    plain: Definition

    def bind(self, call: AggregateCall) -> BoundAggregate:
        plain = self.plain.bind(replace(call, slots=(0,)))

        def finish(columns: Columns) -> pa.Array:
            (bags,) = columns[0]
            lengths, ranks = bags.present()
            values = bags.distinct.take(pa.array(ranks))
            bag = np.repeat(np.arange(len(lengths)), lengths)
            return plain.finish([_added(a, values, bag, len(lengths)) for a in plain.accumulators])

        counted = Counted(call.slots[:1], call.type)
        return BoundAggregate((counted,), plain.type, finish)


def _added(accumulator: Accumulator, values: pa.Array, bag: Ints, bags: int) -> list[pa.Array]:
    """Return an accumulator of the values of each bag."""
    lifted = accumulator.lift([values], np.zeros(len(values), np.int64))
    columns = [column.to_numpy(zero_copy_only=False) for column in lifted]
    if accumulator.kind is AccumulatorKind.ADD_EXACTLY:
        high, low = np.zeros(bags), np.zeros(bags)
        add_exactly_by_group(bag, columns[0], columns[1], high, low)
        return [pa.array(high), pa.array(low)]
    sums = [np.zeros(bags, np.int64) for _ in columns]
    for column, added in zip(columns, sums, strict=True):
        add_by_group(bag, column, added)
    return [pa.array(part) for part in (settle(sums) if len(sums) > 1 else sums)]


DEFINITIONS = (
    OfDistinct("sum_distinct", ("sum_distinct",), plain=Sum("sum")),
    OfDistinct("avg_distinct", ("avg_distinct",), plain=Avg("avg")),
)
