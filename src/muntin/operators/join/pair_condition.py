"""A condition on pairs of rows, evaluated for many pairs at once with SQL's three values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Inner, Node
from muntin.expressions.values import Value, from_arrow, truth
from muntin.kernels.arrays import Ints, Mask


@dataclass(frozen=True)
class PairCondition:
    """Slot ``p`` of the tree is ``slots[p]``: the side (0 or 1) and the number of its column."""

    tree: Node
    slots: tuple[tuple[int, int], ...]

    def holds(self, sides: Sequence[pa.Table], rows: Sequence[Ints]) -> Mask:
        """For pairs, given by the rows of each side, whether the condition is true; null is not."""

        def slot(place: int) -> Value:
            side, column = self.slots[place]
            values = sides[side][f"c{column}"].take(pa.array(rows[side]))
            return from_arrow(values.combine_chunks())

        def inner(node: Inner) -> Value:
            raise AssertionError(node)  # the parser lets no aggregate in

        answer = truth(evaluate(self.tree, slot, inner))
        return np.broadcast_to(answer.true & answer.valid, len(rows[0]))
