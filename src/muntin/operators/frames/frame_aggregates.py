"""Aggregates of frames, over the rows from the first to the last of a frame.

An open frame keeps one row of accumulators, as if all its rows so far were one row. Frames that
close are stretches of such rows, so the kernels that slide over panes compute their aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.definition import AggregateCall
from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Comparison, Constant, Inner, Node, Slot
from muntin.expressions.values import Value, from_arrow, truth
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames.records import is_open
from muntin.kernels.grouping import Groups
from muntin.kernels.stretches import layers, members
from muntin.operators.aggregation.combine_accumulators import slide
from muntin.operators.frames.ordered_rows import OrderedRows, orders
from muntin.operators.protocol import State
from muntin.operators.windows.panes import Cells
from muntin.specs.axis import Axis

OPEN_CELLS = "open"
#: The most layers of overlapping frames; the rows of further frames are copied.
_LAYERS = 24


@dataclass(frozen=True)
class FrameAggregates:
    """The aggregates of frames."""

    axis: Axis
    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    lateness_type: pa.DataType

    @cached_property
    def cells(self) -> Cells:
        """The layout of cells: a row, or the accumulators of an open frame."""
        return Cells(self.keys, self.calls)

    @cached_property
    def types(self) -> list[pa.DataType]:
        return [bound.type for bound in self.cells.bound]

    def load(self, state: State) -> pa.Table:
        chunks = [state.read(OPEN_CELLS, b) for b in sorted(state.buckets(OPEN_CELLS))]
        return pa.concat_tables([self.cells.schema.empty_table(), *chunks])

    def lifted(self, rows: pa.Table) -> pa.Table:
        """Return rows as cells of one row each."""
        return self.cells.lifted(rows, orders(rows), np.zeros(rows.num_rows, np.int64))

    def of_stretches(self, cells: pa.Table, low: Ints, high: Ints) -> list[pa.Array]:
        """Return the results for stretches of cells ``[low, high)``, by their start."""
        if np.any(low >= high):
            return self._with_empty(cells, low, high)
        if np.any(np.diff(high) < 0) or np.any(np.diff(low) < 0):
            return self._in_layers(cells, low, high)
        columns = [column.combine_chunks() for column in cells.columns[len(self.keys) + 1 :]]
        slid = {
            a: slide(a.kind, parts, low, high) for a, parts in self.cells.by_accumulator(columns)
        }
        return [b.finish([slid[a] for a in b.accumulators]) for b in self.cells.bound]

    def _with_empty(self, cells: pa.Table, low: Ints, high: Ints) -> list[pa.Array]:
        """Return the results; stretches without a cell get the aggregates of no row."""
        some = low < high
        filled = self.of_stretches(cells, low[some], high[some])
        nothing = self.of_stretches(self.cells.nothing, np.array([0]), np.array([1]))
        place = pa.array(np.where(some, np.cumsum(some) - 1, some.sum()))
        pairs = zip(filled, nothing, strict=True)
        return [pa.concat_arrays([some_rows, none]).take(place) for some_rows, none in pairs]

    def _in_layers(self, cells: pa.Table, low: Ints, high: Ints) -> list[pa.Array]:
        """Return the results in layers: in each, no frame ends before one that began earlier."""
        place = np.lexsort((high, low))
        layer = layers(high[place], _LAYERS)
        parts, order = [], []
        for number in range(-1, layer.max() + 1):
            chosen = place[layer == number]
            if len(chosen):
                find = self._one_by_one if number < 0 else self.of_stretches
                parts.append(find(cells, low[chosen], high[chosen]))
                order.append(chosen)
        back = np.empty(len(low), np.int64)
        back[np.concatenate(order)] = np.arange(len(low))
        columns = zip(*parts, strict=True)
        return [pa.concat_arrays(column).take(pa.array(back)) for column in columns]

    def _one_by_one(self, cells: pa.Table, low: Ints, high: Ints) -> list[pa.Array]:
        """Return the results of frames in too many layers, each with its own copy of the rows."""
        stop = np.cumsum(high - low)
        _, copied = members(low, high)
        return self.of_stretches(cells.take(pa.array(copied)), stop - (high - low), stop)

    def kept(self, joined: JoinedCells, records: np.ndarray) -> tuple[pa.Table, Ints]:
        """Return one cell for each key with an open frame, and the numbers of these keys."""
        opened = np.flatnonzero(is_open(records))
        low, high = joined.stretch(opened, records["low"][opened], records["high"][opened])
        frame, row = members(low, high)
        columns = [c.combine_chunks() for c in joined.cells.take(pa.array(row)).columns]
        groups = Groups(frame, np.cumsum(high - low) - (high - low))
        return self.cells.grouped(columns, groups), opened


@dataclass(frozen=True)
class JoinedCells:
    """The kept cells of open frames and the new rows, key by key, as one table of cells."""

    cells: pa.Table
    before: Ints  # for each key, the number of kept cells up to and including its own
    has: Ints  # for each key, 1 if it has a kept cell
    places: Ints  # for each row, the number of rows of the table before it
    starts: Ints

    @classmethod
    def of(
        cls, contents: FrameAggregates, keys: int, kept: pa.Table, key: Ints, rows: OrderedRows
    ) -> JoinedCells:
        """Join them; ``key`` is the key of each ``kept`` cell, and no key has two."""
        has = np.zeros(keys, np.int64)
        has[key] = 1
        before = np.cumsum(has)
        places = rows.places
        new = contents.lifted(rows.table)
        if kept.num_rows:
            place = np.empty(kept.num_rows + new.num_rows, np.int64)
            place[places[rows.starts[key]] + before[key] - 1] = np.arange(kept.num_rows)
            counts = np.diff(places[rows.starts])
            place[np.arange(new.num_rows) + np.repeat(before, counts)] = (
                np.arange(new.num_rows) + kept.num_rows
            )
            new = pa.concat_tables([kept, new]).take(pa.array(place))
        return cls(new, before, has, places, rows.starts)

    def stretch(self, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """Return the cells of rows ``[low, high)``; -1 is the kept cell (low) or its end (high)."""
        head = self.places[self.starts[key]] + self.before[key]
        first = np.where(low < 0, head - self.has[key], self.places[np.maximum(low, 0)])
        first = np.where(low < 0, first, first + self.before[key])
        last = np.where(high < 0, head, self.places[np.maximum(high, 0)] + self.before[key])
        return first.astype(np.int64), last.astype(np.int64)


def meets(values: pa.Array, sign: str, limit: Decimal) -> Mask:
    """Return the mask of values for which ``value sign limit`` holds; false for null and NaN."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int64())
    compared = Comparison(sign, Slot(0), Constant(limit))
    return is_true(compared, [value_of(values)], len(values))


def value_of(values: pa.Array) -> Value:
    """Return the values of an aggregate for a condition, in which NaN is no value."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    return from_arrow(values)


def is_true(where: Node, values: Sequence[Value], size: int) -> Mask:
    """Return where a condition on these values is true; its slots are their places."""

    def inner(node: Inner) -> Value:
        raise AssertionError(node)  # aggregates are slots already

    answer = truth(evaluate(where, lambda place: values[place], inner))
    return np.broadcast_to(answer.true & answer.valid, size).copy()
