"""The rows of an input that are in time, and up to where the input is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.ticks import order_of_ticks, ticks_of_order
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.protocol import InputBatch, Punctuation, RowCounts, ints
from muntin.specs.axis import Axis


def in_time(
    rows: pa.Table, arrived: InputBatch, key_names: Sequence[str], admission: Admission
) -> tuple[pa.Table, RowCounts]:
    """Return the rows that are not late, and the counts of used and late rows."""
    tick = ticks_of_order(ints(rows["order"]), admission.axis)
    placed = rows.select(key_names).append_column("tick", pa.array(tick))
    late = is_late(placed, key_names, arrived.punctuation)
    kept = rows.filter(pa.array(~late)) if late.any() else rows
    if not arrived.counted:
        return kept, RowCounts()
    late_rows = admission.late_among(arrived.rows, key_names, arrived.punctuation)
    return kept, RowCounts(kept.num_rows, int(late.sum()), late_rows=late_rows)


@dataclass(frozen=True)
class Front:
    """Up to where an input is complete, as an order: no more rows come below it.

    It is NEVER if nothing is known, and EVER once the input has ended.
    """

    axis: Axis
    punctuation: Punctuation

    @property
    def ended(self) -> bool:
        return self.punctuation.ended

    def before(self, keys: pa.Table) -> Ints:
        """Return the front before the step for each row of a table of keys."""
        if self.punctuation.over:
            return np.full(keys.num_rows, EVER)
        return self._orders(self.punctuation.of(keys)[0])

    def after(self, keys: pa.Table) -> Ints:
        """Return the front after the step for each row of a table of keys."""
        if self.punctuation.ended:
            return np.full(keys.num_rows, EVER)
        return self._orders(self.punctuation.of(keys)[1])

    def lifted(self, listed: pa.Table | None = None) -> tuple[Ints, Ints]:
        """Return where the front was before the step and is after it.

        The first entry is for keys without a punctuation of their own. The others are for the
        ``listed`` keys, by default those ahead of the whole stream.
        """
        punctuation = self.punctuation
        stream = Front(self.axis, replace(punctuation, by_key=None))
        no_key = pa.table({"": pa.nulls(1)}).select([])
        low, high = stream.before(no_key), stream.after(no_key)
        if listed is None and punctuation.by_key is not None:
            listed = punctuation.by_key.drop_columns(["before", "after"])
        if listed is None or not listed.num_rows:
            return low, high
        return np.append(low, self.before(listed)), np.append(high, self.after(listed))

    def _orders(self, ticks: Ints) -> Ints:
        known = np.where(ticks == NEVER, 0, np.maximum(ticks, -self.axis.limit))
        return np.where(ticks == NEVER, NEVER, order_of_ticks(known, self.axis))


def careful(move: Callable[[Ints], Ints], order: Ints) -> Ints:
    """Apply ``move`` to orders, except to NEVER and EVER."""
    fixed = (order == NEVER) | (order == EVER)
    return np.where(fixed, order, move(np.where(fixed, 0, order)))
