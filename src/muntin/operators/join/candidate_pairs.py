"""Candidate pairs of a step, and the condition on them.

They are new left rows with all right rows, and held left rows with new right rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Inner, Node
from muntin.expressions.values import Value, from_arrow, truth
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import KeyedTables, by_key_and_order
from muntin.kernels.stretches import members, stretches
from muntin.operators.join.held_rows import GONE, Pool
from muntin.operators.join.reach import JoinReach

#: The approximate number of pairs that are processed at once.
_PAIRS = 2**20


@dataclass(frozen=True)
class CandidatePairs:
    """Left rows, and for each the stretch of sorted right rows that it may match."""

    left: Ints
    first: Ints
    stops: Ints
    right: Ints  # the indexes of the sorted right rows in their pool

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield blocks of pairs, as indexes in the left and the right pool."""
        block = np.cumsum(self.stops - self.first) // _PAIRS
        cuts = np.flatnonzero(np.diff(block)) + 1
        edges = zip([0, *cuts.tolist()], [*cuts.tolist(), len(self.left)], strict=True)
        for start, stop in edges:
            asking, row = members(self.first[start:stop], self.stops[start:stop])
            if len(row):
                yield self.left[start:stop][asking], self.right[row]


@dataclass(frozen=True)
class PairSearch:
    """The rows of both sides in a step, with one numbering of their keys."""

    reach: JoinReach
    left: Pool
    right: Pool
    keyed: KeyedTables

    @cached_property
    def asked(self) -> tuple[CandidatePairs, CandidatePairs]:
        rows = np.arange(len(self.left.order))
        held = rows[self.left.new :]
        return (
            self._ask(rows[: self.left.new], len(self.right.order)),
            self._ask(held[self.left.mark[held] != GONE], self.right.new),
        )

    def _ask(self, left: Ints, count: int) -> CandidatePairs:
        """Return the candidates of left rows among the first ``count`` right rows."""
        key, order = self.keyed.numbers[1][:count], self.right.order[:count]
        place, starts = by_key_and_order(key, order, len(self.keyed))
        left_order = self.left.order[left]
        matches = stretches(
            starts,
            order[place],
            self.keyed.numbers[0][left],
            self.reach.low(left_order),
            self.reach.high(left_order),
        )
        return CandidatePairs(left, *matches, place)

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        for asked in self.asked:
            yield from asked.pairs()

    def some(self) -> Mask:
        """Return the mask of left rows that have a candidate."""
        has_candidate = np.zeros(len(self.left.order), np.bool_)
        for asked in self.asked:
            has_candidate[asked.left] = asked.stops > asked.first
        return has_candidate


@dataclass(frozen=True)
class PairCondition:
    """A condition on pairs: ``slots`` has the side (0 or 1) and column of each slot of the tree."""

    tree: Node
    slots: tuple[tuple[int, int], ...]

    def holds(self, sides: Sequence[pa.Table], rows: Sequence[Ints]) -> Mask:
        """Return for pairs of rows whether the condition is true; null counts as false."""

        def slot(place: int) -> Value:
            side, column = self.slots[place]
            values = sides[side][f"c{column}"].take(pa.array(rows[side]))
            return from_arrow(values.combine_chunks())

        def inner(node: Inner) -> Value:
            raise AssertionError(node)  # the parser lets no aggregate in

        answer = truth(evaluate(self.tree, slot, inner))
        return np.broadcast_to(answer.true & answer.valid, len(rows[0]))
