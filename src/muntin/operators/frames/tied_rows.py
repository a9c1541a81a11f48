"""Rows that tie become one row, with a value for each column [Frames, appendix C]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Inner, Node, Slot
from muntin.expressions.values import Value, from_arrow, truth
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import Groups
from muntin.kernels.numbers.order_keys import tie_ranks
from muntin.operators.aggregation.combine_accumulators import gather
from muntin.operators.frames.ordered_rows import orders


@dataclass(frozen=True)
class Ties:
    """What happens to rows that tie; the columns ``t0..``, of these ``types``, order them."""

    how: str = "fail"
    types: tuple[pa.DataType, ...] = ()

    @property
    def refuses(self) -> bool:
        return self.how in ("first", "last")

    @property
    def names(self) -> list[str]:
        return [f"t{place}" for place in range(len(self.types))]

    def kept(self, rows: pa.Table, ties: Mask) -> Ints | None:
        """Return the rows that stay, None if all do; ``ties`` marks all but the first of ties."""
        if not ties.any():
            return None
        group = np.cumsum(~ties)
        orders = [tie_ranks(rows[name].combine_chunks()) for name in self.names]
        place = np.lexsort((*reversed(orders), group))
        first = np.diff(group[place], prepend=0) > 0
        edge = first if self.how == "first" else np.append(first[1:], True)
        return np.sort(place[edge])


def same_as_before(*columns: npt.NDArray[np.generic]) -> Mask:
    """Return which rows equal the row before them in all columns."""
    ties = np.zeros(len(columns[0]), np.bool_)
    if len(ties):
        ties[1:] = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    return ties


@dataclass(frozen=True)
class CombinedTies:
    """Combine columns ``c0..`` by ``calls``, then derive the columns that frames read.

    Spark evaluates such columns elsewhere, but here it cannot do so before rows are combined. Each
    of ``derived`` is a name, and a column (:class:`Slot`) or a condition on columns.
    """

    calls: tuple[AggregateCall, ...]
    derived: tuple[tuple[str, Node], ...]

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that travel."""
        return [pa.field(f"c{place}", call.types[0]) for place, call in enumerate(self.calls)]

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        """The types of the combined columns."""
        return tuple(bind(call).type for call in self.calls)

    def one_each(self, rows: pa.Table, ties: Mask) -> pa.Table:
        """Return one row for all rows that tie, with the columns that are derived from them."""
        number = np.cumsum(~ties) - 1
        groups = Groups(number.astype(np.int64), np.flatnonzero(~ties).astype(np.int64))
        combined = rows.take(pa.array(groups.member))
        order = orders(rows)
        for place, call in enumerate(self.calls):
            bound = bind(call)
            column = [rows[f"c{place}"].combine_chunks()]
            kept = [gather(a, column, order, groups) for a in bound.accumulators]
            name = f"v{place}"
            combined = combined.append_column(name, bound.finish(kept))
        for name, node in self.derived:
            combined = combined.append_column(name, self._column(combined, node))
        return combined

    def _column(self, rows: pa.Table, node: Node) -> pa.Array:
        if isinstance(node, Slot):
            return rows[f"v{node.place}"].combine_chunks()

        def slot(place: int) -> Value:
            return from_arrow(rows[f"v{place}"].combine_chunks())

        def inner(inner: Inner) -> Value:
            raise AssertionError(inner)  # the parser accepts no aggregate

        answer = truth(evaluate(node, slot, inner))
        true, valid = np.broadcast_arrays(answer.true, answer.valid, np.empty(rows.num_rows))[:2]
        return pa.array(true, pa.bool_(), mask=~valid)
