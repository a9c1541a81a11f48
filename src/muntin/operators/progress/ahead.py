"""Rows that are refused because they lie too far ahead, so that one wrong clock moves nothing.

On timestamps and dates Spark compares each row with the time of its micro-batch, before rows
travel. On numbers the limit is the largest value that was accepted in earlier micro-batches, which
only shards know. So rows travel there unchanged, the values of ``on`` travel to every shard, and
the map side of the operator runs in the shard on the rows that are accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Mask
from muntin.kernels.ticks import to_ticks, valid_ticks
from muntin.operators.common.admission import Admission
from muntin.operators.protocol import ints, original_names
from muntin.specs.axis import Axis

#: The column in which Spark says which rows are ahead of the clock, and the reason for refusing.
AHEAD = "ahead"


@dataclass(frozen=True)
class JudgedRows:
    """The accepted rows, how many rows were ahead, and these rows if refused rows are wanted."""

    rows: pa.Table
    ahead: int = 0
    refused_rows: pa.Table | None = None


@dataclass(frozen=True)
class AheadOfClock:
    """Refuse the rows that Spark has marked as ahead of the time of their micro-batch."""

    axis: Axis
    lateness_type: pa.DataType

    def judge(self, rows: pa.Table) -> JudgedRows:
        marked = rows[AHEAD].fill_null(False).to_numpy()
        return _split(rows.drop_columns([AHEAD]), marked, self.axis, self.lateness_type)


@dataclass(frozen=True)
class AheadOfEarlier:
    """Refuse the rows that lie more than ``most`` ticks above the rows of earlier micro-batches."""

    most: int
    axis: Axis
    lateness_type: pa.DataType

    def values(self, rows: pa.Table) -> pa.Table:
        """Return the ticks of rows, each once, as stretches of neighbouring ticks."""
        ticks = np.unique(valid_ticks(rows["on"], self.axis))
        begins = np.flatnonzero(np.diff(ticks, prepend=ticks[:1] - 2) != 1)
        ends = np.append(begins[1:], len(ticks)) - 1 if len(ticks) else begins
        return pa.table({"first": pa.array(ticks[begins]), "last": pa.array(ticks[ends])})

    def judge(self, rows: pa.Table, earlier: int | None) -> JudgedRows:
        """Split rows; ``earlier`` is the largest tick of earlier micro-batches, if they had any."""
        if earlier is None:
            return JudgedRows(rows)
        tick = to_ticks(rows["on"].combine_chunks(), self.axis).tick
        return _split(rows, tick > earlier + self.most, self.axis, self.lateness_type)

    def largest(self, values: Sequence[pa.Table], earlier: int | None) -> int | None:
        """Return the largest accepted tick after a micro-batch with these values of ``on``."""
        table = pa.concat_tables(values) if values else None
        if table is None or not table.num_rows:
            return earlier
        first, last = ints(table["first"]), ints(table["last"])
        if earlier is None:
            return int(last.max())
        limit = earlier + self.most
        accepted = np.minimum(last, limit)[first <= limit]
        return max(earlier, int(accepted.max(initial=earlier)))


#: How an input refuses rows that are ahead.
AheadRule = AheadOfClock | AheadOfEarlier


def _split(rows: pa.Table, ahead: Mask, axis: Axis, lateness_type: pa.DataType) -> JudgedRows:
    """Split rows; those without a place on the axis are left to the admission of the operator."""
    places = np.flatnonzero(ahead)
    if len(places) == 0:
        return JudgedRows(rows)
    on = rows["on"].take(pa.array(places)).combine_chunks()
    places = places[to_ticks(on, axis).refusal == 0]
    kept = np.ones(rows.num_rows, np.bool_)
    kept[places] = False
    refused = rows.take(pa.array(places))
    reasons = np.full(len(places), AHEAD, dtype=object)
    wanted = original_names(rows)
    form = Admission(axis, lateness_type)
    refused_rows = form.without_place(refused, reasons) if wanted else None
    return JudgedRows(rows.filter(pa.array(kept)), len(places), refused_rows)
