"""Combining accumulators: over the groups of a table, or over stretches of sorted panes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, AccumulatorKind, Merging, OwnAccumulator
from muntin.aggregates.own_aggregate import CheckedAggregate
from muntin.expressions.nodes import KeptRowsType
from muntin.kernels.arrays import Ints
from muntin.kernels.grouping import Groups, add_by_group, add_exactly_by_group, least_by_group
from muntin.kernels.numbers.decimals import settle
from muntin.kernels.numbers.order_keys import NOTHING, order_keys, pair_ranks, tie_ranks
from muntin.kernels.sliding import slide_add, slide_add_exactly, slide_least
from muntin.operators.aggregation.correlated import KeptRowWindows, keep
from muntin.operators.aggregation.own_aggregate import slide_own
from muntin.operators.aggregation.row_stretches import RowStretches
from muntin.operators.aggregation.value_counts import (
    Stretches,
    combine_collected,
    combine_counted,
    slide_collected,
)
from muntin.operators.protocol import ints

Columns = Sequence[pa.Array]
#: A function that reduces integers to one per group, or to one per stretch of panes.
Reduce = Callable[[Ints], Ints]


def gather(accumulator: Accumulator, slots: Columns, order: Ints, groups: Groups) -> list[pa.Array]:
    """Return one row of an accumulator per group, from the rows themselves."""
    if isinstance(accumulator, OwnAccumulator):
        # All rows at once, because one partial row per row may be much larger than the value.
        arguments = [slots[slot] for slot in accumulator.slots]
        return accumulator.kind.partial(arguments, groups.number, len(groups))
    return combine(accumulator.kind, accumulator.lift(slots, order), groups)


def combine(kind: Merging, columns: Columns, groups: Groups) -> list[pa.Array]:
    """Return one row of an accumulator per group, from partial rows."""
    if isinstance(kind, CheckedAggregate):
        return kind.merge(columns, groups.number, len(groups))
    if isinstance(kind, KeptRowsType):
        return keep(columns, groups)
    if kind is AccumulatorKind.ADD_EXACTLY:
        high, low = np.zeros(len(groups)), np.zeros(len(groups))
        add_exactly_by_group(groups.number, _floats(columns[0]), _floats(columns[1]), high, low)
        return [pa.array(high), pa.array(low)]
    if kind is AccumulatorKind.COUNTED:
        return combine_counted(columns, groups)
    if kind is AccumulatorKind.COLLECTED:
        return combine_collected(columns, groups)
    if kind is AccumulatorKind.ROWS:
        return keep(columns, groups)

    def add(values: Ints) -> Ints:
        sums = np.zeros(len(groups), np.int64)
        add_by_group(groups.number, values, sums)
        return sums

    def least(values: Ints) -> Ints:
        minima = np.full(len(groups), NOTHING)
        least_by_group(groups.number, values, minima)
        return minima

    if kind in (AccumulatorKind.EARLIEST, AccumulatorKind.LATEST):
        return _edge_of_groups(kind, columns, groups, least)
    return _reduce(kind, columns, add, least)


def slide(
    kind: Merging, columns: Columns, low: Ints, high: Ints
) -> list[pa.Array | Stretches | RowStretches]:
    """Return one row per stretch ``[low, high)``; both ends only move forward.

    For counted values and rows it returns one object that answers questions about all stretches.
    """
    if isinstance(kind, CheckedAggregate):
        return slide_own(kind, columns, low, high)
    if isinstance(kind, KeptRowsType):
        return [KeptRowWindows.of(kind, columns, low, high, combine, slide).result()]
    if kind is AccumulatorKind.ADD_EXACTLY:
        sums, errors = np.empty(len(low)), np.empty(len(low))
        slide_add_exactly(_floats(columns[0]), _floats(columns[1]), low, high, sums, errors)
        return [pa.array(sums), pa.array(errors)]
    if kind is AccumulatorKind.COUNTED:
        return [Stretches(columns[0], columns[1], low, high)]
    if kind is AccumulatorKind.COLLECTED:
        return slide_collected(columns, low, high)
    if kind is AccumulatorKind.ROWS:
        return [RowStretches(columns, low, high)]

    def least(values: Ints) -> Ints:
        minima = np.empty(len(low), np.int64)
        slide_least(values, low, high, minima)
        return minima

    if kind in (AccumulatorKind.EARLIEST, AccumulatorKind.LATEST):
        if _rises(columns[0], low, high):
            ends = pa.array(low if kind is AccumulatorKind.EARLIEST else high - 1)
            return [column.take(ends) for column in columns]
        return _edge(kind, columns, least)
    return _reduce(kind, columns, lambda values: slide_add(values, low, high), least)


def _reduce(kind: AccumulatorKind, columns: Columns, add: Reduce, least: Reduce) -> list[pa.Array]:
    if kind is AccumulatorKind.ADD:
        limbs = [add(ints(column)) for column in columns]
        return [pa.array(limb) for limb in (settle(limbs) if len(limbs) > 1 else limbs)]
    keys = order_keys(columns[0])
    if kind is AccumulatorKind.GREATEST:
        # The complement reverses the order of all integers, including the least one.
        reversed_keys = ~keys.key
        if columns[0].null_count:
            reversed_keys[~keys.valid] = NOTHING
        extremes = least(reversed_keys)
        exists = _some(keys.valid, add, extremes)
        return [keys.restore(~extremes, exists)]
    assert kind is AccumulatorKind.LEAST
    extremes = least(keys.key)
    exists = _some(keys.valid, add, extremes)
    return [keys.restore(extremes, exists)]


def _some(valid: npt.NDArray[np.bool_], add: Reduce, reduced: Ints) -> npt.NDArray[np.bool_]:
    """Mask of the groups or stretches that have a value."""
    if len(valid) and valid.all():
        return np.ones(len(reduced), np.bool_)
    return add(valid.astype(np.int64)) > 0


def _rises(column: pa.Array, low: Ints, high: Ints) -> bool:
    """Return True if integers have no nulls and rise strictly within each stretch.

    Both ends of stretches only move forward, so of those that begin by a row the last one reaches
    farthest.
    """
    if column.null_count or not pa.types.is_integer(column.type):
        return False
    values = ints(column)
    falls = np.flatnonzero(values[1:] <= values[:-1])
    last = np.searchsorted(low, falls, side="right") - 1
    return not np.any((last >= 0) & (high[last] > falls + 1)) if len(low) else False


def _edge(kind: AccumulatorKind, columns: Columns, least: Reduce) -> list[pa.Array]:
    """Return the first or last pair (tick, value); a pair with a null tick is ignored."""
    tick, value = columns
    order, rank, present = pair_ranks(tick, value)
    rank = ~rank if kind is AccumulatorKind.LATEST else rank
    edge_rank = least(np.where(present, rank, NOTHING))
    absent = edge_rank == NOTHING
    place = np.where(absent, 0, ~edge_rank if kind is AccumulatorKind.LATEST else edge_rank)
    if not len(order):
        return [pa.nulls(len(edge_rank), tick.type), pa.nulls(len(edge_rank), value.type)]
    rows = pa.array(order[place], pa.int64(), mask=absent)
    return [tick.take(rows), value.take(rows)]


def _edge_of_groups(
    kind: AccumulatorKind, columns: Columns, groups: Groups, least: Reduce
) -> list[pa.Array]:
    """Return the same as :func:`_edge` for groups, ranking only the rows with the edge tick."""
    ranks, present = tie_ranks(columns[0]), columns[0].is_valid().to_numpy(zero_copy_only=False)
    ticks = np.where(present, ~ranks if kind is AccumulatorKind.LATEST else ranks, NOTHING)
    edge = least(ticks)
    candidates = np.flatnonzero(ticks == edge[groups.number])
    few = Groups(np.ascontiguousarray(groups.number[candidates]), groups.member)

    def least_of_few(values: Ints) -> Ints:
        minima = np.full(len(few), NOTHING)
        least_by_group(few.number, values, minima)
        return minima

    return _edge(kind, [column.take(pa.array(candidates)) for column in columns], least_of_few)


def _floats(column: pa.Array) -> npt.NDArray[np.float64]:
    values: npt.NDArray[np.float64] = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
    return values
