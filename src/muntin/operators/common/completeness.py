"""What arrived of an input: rows that are in time, and up to where the input is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.ticks import order_of_ticks, ticks_of_order
from muntin.operators.common.admission import Admission, behind
from muntin.operators.common.arrow_columns import ints
from muntin.operators.protocol import InputBatch, Punctuation, RowCounts
from muntin.specs.axis import Axis


def in_time(
    rows: pa.Table, arrived: InputBatch, key_names: Sequence[str], admission: Admission
) -> tuple[pa.Table, RowCounts]:
    """The rows that are not late, and what became of all of them."""
    tick = ticks_of_order(ints(rows["order"]), admission.axis)
    placed = rows.select(key_names).append_column("tick", pa.array(tick))
    late = behind(placed, key_names, arrived.punctuation)
    kept = rows.filter(pa.array(~late)) if late.any() else rows
    if not arrived.counted:
        return kept, RowCounts()
    gone = admission.late_among(arrived.rows, key_names, arrived.punctuation)
    return kept, RowCounts(kept.num_rows, int(late.sum()), late_rows=gone)


@dataclass(frozen=True)
class Front:
    """Up to where an input is complete, as orders: no row to come lies below.

    NEVER where nothing is known, EVER once the input is over.
    """

    axis: Axis
    punctuation: Punctuation

    @property
    def ended(self) -> bool:
        return self.punctuation.ended

    def before(self, keys: pa.Table) -> Ints:
        """For each row of a table of keys what was complete before the step."""
        if self.punctuation.over:
            return np.full(keys.num_rows, EVER)
        return self._orders(self.punctuation.of(keys)[0])

    def after(self, keys: pa.Table) -> Ints:
        """For each row of a table of keys what is complete after the step."""
        if self.punctuation.ended:
            return np.full(keys.num_rows, EVER)
        return self._orders(self.punctuation.of(keys)[1])

    def lifted(self, listed: pa.Table | None = None) -> tuple[Ints, Ints]:
        """Where the step moves the front from and to: for keys of which nothing is known apart.

        And then for those that are listed, which are those ahead of the others if not given.
        """
        told = self.punctuation
        stream = Front(self.axis, replace(told, by_key=None))
        nobody = pa.table({"": pa.nulls(1)}).select([])
        low, high = stream.before(nobody), stream.after(nobody)
        if listed is None and told.by_key is not None:
            listed = told.by_key.drop_columns(["before", "after"])
        if listed is None or not listed.num_rows:
            return low, high
        return np.append(low, self.before(listed)), np.append(high, self.after(listed))

    def _orders(self, ticks: Ints) -> Ints:
        known = np.where(ticks == NEVER, 0, np.maximum(ticks, -self.axis.limit))
        return np.where(ticks == NEVER, NEVER, order_of_ticks(known, self.axis))


def careful(move: Callable[[Ints], Ints], order: Ints) -> Ints:
    """Orders moved, except those that are beyond moving."""
    fixed = (order == NEVER) | (order == EVER)
    return np.where(fixed, order, move(np.where(fixed, 0, order)))
