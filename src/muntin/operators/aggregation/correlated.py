"""Correlated aggregates, exactly: over the rows that panes keep [CA-12].

The rows of a window are a stretch of all rows. Inner aggregates are made window by window from
the innermost out; a condition that compares a slot with the window's own value is then a question
about ranks, which a Fenwick tree answers without looking at every row of every window. Any other
condition is evaluated over the rows of each window.
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
#: How many rows are looked at together where every window's rows are.
AT_ONCE = 1_000_000
#: Comparisons whose rows lie between two ranks.
_BETWEEN_RANKS = ("<", "<=", ">", ">=", "=")


class Combine(Protocol):
    def __call__(self, kind: Merging, columns: Columns, groups: Groups) -> list[pa.Array]: ...


class Slide(Protocol):
    def __call__(
        self, kind: Merging, columns: Columns, low: Ints, high: Ints
    ) -> list[pa.Array]: ...


def keep(columns: Columns, groups: Groups) -> list[pa.Array]:
    """Lists of the same group joined, in the order in which they come."""
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
    made: dict[Inner, pa.Array] = field(default_factory=dict)

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
        """From panes: stretches of panes become stretches of rows."""
        lengths = pc.list_value_length(columns[0]).to_numpy(zero_copy_only=False)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = [column.flatten() for column in columns]
        return cls(kind, rows, starts[low], starts[high], combine, slide)

    def result(self) -> pa.Array:
        """The dependent aggregate of each window."""
        asked = self.kind.correlation
        return self.aggregate(Inner(asked.function, asked.argument, self.kind.where))

    def aggregate(self, asked: Inner) -> pa.Array:
        """One value per window."""
        if asked not in self.made:
            bound = self._bound(asked)
            if asked.where is None:
                made = self._sliding(asked, bound)
            elif (ranges := self._ranges(asked, bound)) is not None:
                made = self._between(asked, bound, ranges)
            else:
                made = self._expanded(asked, asked.where, bound)
            self.made[asked] = made
        return self.made[asked]

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
        """A value that does not differ between the rows of a window."""
        return evaluate(node, self._no_slot, lambda inner: from_arrow(self.aggregate(inner)))

    def _no_slot(self, place: int) -> Value:
        raise AssertionError(f"slot {place} differs from row to row")

    def _ranges(self, asked: Inner, bound: BoundAggregate) -> _Ranges | None:
        """The condition as a range of one slot, if it is one and sums are of integers."""
        assert asked.where is not None
        if any(accumulator.kind is not AccumulatorKind.ADD for accumulator in bound.accumulators):
            return None
        parts = conjuncts(asked.where)
        plain = tuple(part.place for part in parts if isinstance(part, Slot))
        limits = [limit_of(part) for part in parts if not isinstance(part, Slot)]
        found = [limit for limit in limits if limit is not None and limit[1] in _BETWEEN_RANKS]
        if not found or len(found) < len(limits) or len({slot for slot, _, _ in found}) > 1:
            return None
        return _Ranges(found[0][0], tuple((sign, node) for _, sign, node in found), plain)

    def _between(self, asked: Inner, bound: BoundAggregate, ranges: _Ranges) -> pa.Array:
        values = from_arrow(self.slots[ranges.slot])
        counts = validity(values)
        for place in ranges.plain:
            counts = counts & truth(from_arrow(self.slots[place])).true
        own, _ = comparable(values, values)
        distinct, one, ranks = np.unique(own, return_index=True, return_inverse=True)
        rank: Ints = np.where(counts, ranks, -1).astype(np.int64)
        first = np.zeros(len(self.low), np.int64)
        last = np.full(len(self.low), len(distinct), np.int64)
        for sign, limit in ranges.limits:
            threshold = self._windowed(limit)
            # Against a double, integers compare as doubles: coarser, but in the same order.
            keys, edges = comparable(values, threshold)
            exists = validity(threshold)
            for at, side in _edges_of(sign, keys[one], edges):
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
        made = []
        for accumulator in bound.accumulators:
            sums = []
            for part in accumulator.lift([column], order):
                weight = np.ascontiguousarray(part.to_numpy(zero_copy_only=False))
                out = np.empty(len(first), np.int64)
                weight_between(rank, weight, self.low, self.high, first, last, ranks, out)
                sums.append(out)
            made.append([pa.array(s) for s in (settle(sums) if len(sums) > 1 else sums)])
        return made

    def _expanded(self, asked: Inner, where: Node, bound: BoundAggregate) -> pa.Array:
        """Every row once for every window that holds it, a bounded number at a time."""
        column = self._argument(asked)
        made = [pa.array([], bound.type)]
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
            made.append(bound.finish(parts))
        return pa.concat_arrays(made)

    def _holds(self, where: Node, row: Ints, window: Ints) -> npt.NDArray[np.bool_]:
        def slot(place: int) -> Value:
            return from_arrow(self.slots[place].take(pa.array(row)))

        def inner(asked: Inner) -> Value:
            return from_arrow(self.aggregate(asked).take(pa.array(window)))

        found = truth(evaluate(where, slot, inner))
        return np.ascontiguousarray(np.broadcast_to(found.true, row.shape))

    def _portions(self) -> Iterator[tuple[int, int]]:
        """Windows that together hold not many more rows than are looked at together."""
        ends = np.cumsum(self.high - self.low)
        start = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + AT_ONCE, "right")))
            yield start, stop
            start = stop


@dataclass(frozen=True)
class _Ranges:
    """Which rows count: those of a slot within limits, where plain conditions hold."""

    slot: int
    limits: tuple[tuple[str, Node], ...]
    plain: tuple[int, ...]


def _edges_of(sign: str, distinct: Ints, edges: Ints) -> Iterator[tuple[Ints, int]]:
    """Ranks where a comparison begins to hold (1) and where it ceases to (-1)."""

    def at(side: str) -> Ints:
        found: Ints = np.searchsorted(distinct, edges, side)  # type: ignore[call-overload]
        return found.astype(np.int64)

    if sign in (">=", "="):
        yield at("left"), 1
    if sign == ">":
        yield at("right"), 1
    if sign in ("<=", "="):
        yield at("right"), -1
    if sign == "<":
        yield at("left"), -1
