"""Exact correlated aggregates, over the rows that panes keep [CA-12].

The rows of a window are a stretch of all rows. Inner aggregates are computed for every window, from
the innermost outwards. A condition that compares a slot with a value of the window selects a range
of ranks. A Fenwick tree adds up the rows in this range without visiting every row of every window.
Any other condition is evaluated over the rows of each window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.accumulators import AccumulatorKind, Merging
from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall, BoundAggregate
from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Inner, KeptRowsType, Node, Slot, conjuncts, limit_of
from muntin.expressions.values import Value, comparable, from_arrow, truth, validity
from muntin.kernels.arrays import Ints
from muntin.kernels.fenwick import weight_between
from muntin.kernels.grouping import Groups
from muntin.kernels.numbers.decimals import settle

Columns = Sequence[pa.Array]
#: How many rows are evaluated at once if a condition is evaluated for each window.
AT_ONCE = 1_000_000
#: Comparisons that select the rows between two ranks.
_BETWEEN_RANKS = ("<", "<=", ">", ">=", "=")


class Combine(Protocol):
    def __call__(self, kind: Merging, columns: Columns, groups: Groups) -> list[pa.Array]: ...


class Slide(Protocol):
    def __call__(
        self, kind: Merging, columns: Columns, low: Ints, high: Ints
    ) -> list[pa.Array]: ...


def keep(columns: Columns, groups: Groups) -> list[pa.Array]:
    """Join the lists of each group, in the order of the rows."""
    order = np.argsort(groups.number, kind="stable")
    lengths = pc.list_value_length(columns[0]).to_numpy(zero_copy_only=False)
    sizes = np.zeros(len(groups), np.int64)
    np.add.at(sizes, groups.number, lengths)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]))
    return [
        pa.LargeListArray.from_arrays(offsets, column.take(pa.array(order)).flatten())
        for column in columns
    ]


@dataclass
class KeptRowWindows:
    """Windows over kept rows: window ``i`` holds the rows ``[low[i], high[i])``."""

    kind: KeptRowsType
    slots: list[pa.Array]
    low: Ints
    high: Ints
    combine: Combine
    slide: Slide
    evaluated: dict[Inner, pa.Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        kind: KeptRowsType,
        columns: Columns,
        low: Ints,
        high: Ints,
        combine: Combine,
        slide: Slide,
    ) -> KeptRowWindows:
        """Return windows over rows, given windows as stretches of panes."""
        lengths = pc.list_value_length(columns[0]).to_numpy(zero_copy_only=False)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = [column.flatten() for column in columns]
        return cls(kind, rows, starts[low], starts[high], combine, slide)

    def result(self) -> pa.Array:
        """Return the dependent aggregate of each window."""
        correlation = self.kind.correlation
        return self.aggregate(Inner(correlation.function, correlation.argument, self.kind.where))

    def aggregate(self, asked: Inner) -> pa.Array:
        """Return an aggregate of each window, computed at most once."""
        if asked not in self.evaluated:
            bound = self._bound(asked)
            if asked.where is None:
                values = self._sliding(asked, bound)
            elif (ranges := self._ranges(asked, bound)) is not None:
                values = self._between(asked, bound, ranges)
            else:
                values = self._expanded(asked, asked.where, bound)
            self.evaluated[asked] = values
        return self.evaluated[asked]

    def _bound(self, asked: Inner) -> BoundAggregate:
        types = () if asked.argument is None else (self.kind.types[asked.argument],)
        label = self.kind.correlation.text
        call = AggregateCall(asked.function, label, (0,), types or (pa.int64(),), self.kind.ansi)
        return bind(call)

    def _argument(self, asked: Inner) -> pa.Array:
        if asked.argument is not None:
            return self.slots[asked.argument]
        return pa.array(np.ones(len(self.slots[0]), np.int64))

    def _sliding(self, asked: Inner, bound: BoundAggregate) -> pa.Array:
        column = self._argument(asked)
        order = np.zeros(len(column), np.int64)
        slid = [
            self.slide(a.kind, a.lift([column], order), self.low, self.high)
            for a in bound.accumulators
        ]
        return bound.finish(slid)

    def _windowed(self, node: Node) -> Value:
        """Evaluate an expression that has one value per window."""
        return evaluate(node, self._no_slot, lambda inner: from_arrow(self.aggregate(inner)))

    def _no_slot(self, place: int) -> Value:
        raise AssertionError(f"slot {place} differs from row to row")

    def _ranges(self, asked: Inner, bound: BoundAggregate) -> _Ranges | None:
        """Return the condition as a range of one slot; None if it is not one.

        Also return None if the aggregate is not a sum of integers.
        """
        assert asked.where is not None
        if any(accumulator.kind is not AccumulatorKind.ADD for accumulator in bound.accumulators):
            return None
        parts = conjuncts(asked.where)
        plain = tuple(part.place for part in parts if isinstance(part, Slot))
        limits = [limit_of(part) for part in parts if not isinstance(part, Slot)]
        usable = [limit for limit in limits if limit is not None and limit[1] in _BETWEEN_RANKS]
        if not usable or len(usable) < len(limits) or len({slot for slot, _, _ in usable}) > 1:
            return None
        return _Ranges(usable[0][0], tuple((sign, node) for _, sign, node in usable), plain)

    def _between(self, asked: Inner, bound: BoundAggregate, ranges: _Ranges) -> pa.Array:
        values = from_arrow(self.slots[ranges.slot])
        counts = validity(values)
        for place in ranges.plain:
            counts = counts & truth(from_arrow(self.slots[place])).true
        own, _ = comparable(values, values)
        distinct, example, ranks = np.unique(own, return_index=True, return_inverse=True)
        rank: Ints = np.where(counts, ranks, -1).astype(np.int64)
        first = np.zeros(len(self.low), np.int64)
        last = np.full(len(self.low), len(distinct), np.int64)
        for sign, limit in ranges.limits:
            threshold = self._windowed(limit)
            # Integers compare with a double as doubles, which keeps their order.
            keys, edges = comparable(values, threshold)
            exists = validity(threshold)
            for at, side in _edges_of(sign, keys[example], edges):
                if side > 0:
                    first = np.maximum(first, np.where(exists, at, len(distinct)))
                else:
                    last = np.minimum(last, np.where(exists, at, 0))
        return bound.finish(self._weighed(asked, bound, rank, len(distinct), first, last))

    def _weighed(
        self, asked: Inner, bound: BoundAggregate, rank: Ints, ranks: int, first: Ints, last: Ints
    ) -> list[list[pa.Array]]:
        column = self._argument(asked)
        order = np.zeros(len(column), np.int64)
        accumulated = []
        for accumulator in bound.accumulators:
            sums = []
            for part in accumulator.lift([column], order):
                weight = np.ascontiguousarray(part.to_numpy(zero_copy_only=False))
                out = np.empty(len(first), np.int64)
                weight_between(rank, weight, self.low, self.high, first, last, ranks, out)
                sums.append(out)
            accumulated.append([pa.array(s) for s in (settle(sums) if len(sums) > 1 else sums)])
        return accumulated

    def _expanded(self, asked: Inner, where: Node, bound: BoundAggregate) -> pa.Array:
        """Evaluate the condition for every row of every window, a bounded number at a time."""
        column = self._argument(asked)
        results = [pa.array([], bound.type)]
        for start, stop in self._portions():
            sizes = self.high[start:stop] - self.low[start:stop]
            ends = np.cumsum(sizes)
            window = np.repeat(np.arange(start, stop), sizes)
            row = np.arange(ends[-1]) + np.repeat(self.low[start:stop] - (ends - sizes), sizes)
            holds = pa.array(self._holds(where, row, window))
            taken = column.take(pa.array(row))
            taken = pc.if_else(holds, taken, pa.scalar(None, taken.type))
            groups = Groups(window - start, ends - sizes)
            order = np.zeros(len(row), np.int64)
            parts = [
                self.combine(a.kind, a.lift([taken], order), groups) for a in bound.accumulators
            ]
            results.append(bound.finish(parts))
        return pa.concat_arrays(results)

    def _holds(self, where: Node, row: Ints, window: Ints) -> npt.NDArray[np.bool_]:
        def slot(place: int) -> Value:
            return from_arrow(self.slots[place].take(pa.array(row)))

        def inner(asked: Inner) -> Value:
            return from_arrow(self.aggregate(asked).take(pa.array(window)))

        held = truth(evaluate(where, slot, inner))
        return np.ascontiguousarray(np.broadcast_to(held.true, row.shape))

    def _portions(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of windows that together hold about ``AT_ONCE`` rows or fewer."""
        ends = np.cumsum(self.high - self.low)
        start = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + AT_ONCE, "right")))
            yield start, stop
            start = stop


@dataclass(frozen=True)
class _Ranges:
    """The rows whose slot is within the limits and for which the ``plain`` slots are true."""

    slot: int
    limits: tuple[tuple[str, Node], ...]
    plain: tuple[int, ...]


def _edges_of(sign: str, distinct: Ints, edges: Ints) -> Iterator[tuple[Ints, int]]:
    """Yield the ranks at which a comparison begins (1) or ceases (-1) to hold."""

    def at(side: str) -> Ints:
        ranks: Ints = np.searchsorted(distinct, edges, side)  # type: ignore[call-overload]
        return ranks.astype(np.int64)

    if sign in (">=", "="):
        yield at("left"), 1
    if sign == ">":
        yield at("right"), 1
    if sign in ("<=", "="):
        yield at("right"), -1
    if sign == "<":
        yield at("left"), -1
