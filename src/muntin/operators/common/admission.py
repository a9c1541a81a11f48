"""Admission: find the place of each row on the axis, and refuse rows that have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.ticks import REFUSALS, lengths_from_ticks, to_ticks
from muntin.operators.protocol import Punctuation, Routed, ints, original_names, typed
from muntin.specs.axis import Axis

Reasons = npt.NDArray[np.object_]


@dataclass(frozen=True)
class AdmittedRows:
    """The rows that have a place on the axis, with their ticks and orders.

    ``counts`` and ``refused_rows`` describe the other rows.
    """

    rows: pa.Table
    tick: Ints
    order: Ints
    progress: int | None
    counts: Mapping[str, int]
    refused_rows: pa.Table | None

    def originals(self, key_names: Sequence[str]) -> pa.Table | None:
        """Return the original rows with their keys and ticks, because some may be late.

        Return None if refused rows are not wanted.
        """
        names = original_names(self.rows)
        if not names:
            return None
        rows = self.rows.select([*key_names, *names])
        return rows.append_column("tick", pa.array(self.tick))

    def partial(
        self, schema: pa.Schema, own: Mapping[str, pa.Array], *, with_originals: bool
    ) -> pa.Table:
        """Return the rows in the form in which they are sent, with the columns of ``schema``.

        Ticks and orders come from the admission and the ``own`` columns from the caller. All others
        are taken from the rows.
        """
        columns = {"tick": pa.array(self.tick), "order": pa.array(self.order), **own}
        for column in schema:
            if column.name not in columns:
                columns[column.name] = typed(self.rows, column.name, column.type)
        table = pa.table({name: columns[name] for name in schema.names})
        for name in original_names(self.rows) if with_originals else ():
            table = table.append_column(name, self.rows[name])
        return table

    def routed(self, partial: pa.Table, originals: pa.Table | None) -> Routed:
        """Return the output of the map side for these rows."""
        return Routed(partial, self.progress, self.counts, originals, self.refused_rows)


@dataclass(frozen=True)
class Admission:
    """Admit rows whose ``on`` has a tick on the axis that is not before the origin."""

    axis: Axis
    lateness_type: pa.DataType
    origin: int | None = None

    def admit(self, rows: pa.Table, also: Reasons | None = None) -> AdmittedRows:
        """Split rows into admitted and refused; ``also`` has further reasons, or "" for none."""
        ticks = to_ticks(rows["on"].combine_chunks(), self.axis)
        placed = ticks.refusal == 0
        progress = int(ticks.tick[placed].max()) if placed.any() else None
        kept = placed if self.origin is None else placed & (ticks.tick >= self.origin)
        if also is not None:
            kept = kept & (also == "")
        if kept.all():
            return AdmittedRows(rows, ticks.tick, ticks.order, progress, {}, None)
        reasons = np.array(REFUSALS, dtype=object)[ticks.refusal]
        if also is not None:
            reasons = np.where(placed, also, reasons)
        reasons[placed & ~kept & (reasons == "")] = "before_origin"
        names, counts = np.unique(reasons[~kept].astype(str), return_counts=True)
        return AdmittedRows(
            rows=rows.filter(pa.array(kept)),
            tick=ticks.tick[kept],
            order=ticks.order[kept],
            progress=progress,
            counts=dict(zip(names.tolist(), counts.tolist(), strict=True)),
            refused_rows=self._refused(rows, ~kept, reasons),
        )

    def _refused(self, rows: pa.Table, refused: Mask, reasons: Reasons) -> pa.Table | None:
        if not original_names(rows):
            return None
        return self.without_place(rows.filter(pa.array(refused)), reasons[refused])

    def without_place(self, rows: pa.Table, reasons: Reasons) -> pa.Table:
        """Return rows that are refused, but not for lateness, in the form of refused rows."""
        columns = {name: rows[name] for name in original_names(rows)}
        columns["reason"] = pa.array(reasons.tolist(), pa.string())
        columns["lateness"] = pa.nulls(rows.num_rows, self.lateness_type)
        return pa.table(columns)

    def late_rows(self, table: pa.Table, late: Mask, before: Ints) -> pa.Table:
        """Return the late rows in their original columns, with the reason and the lateness."""
        refused = table.select(original_names(table)).filter(pa.array(late))
        tick = ints(table["tick"])[late]
        # A row after the end of its stream is refused, but may lie above the punctuation.
        distance = np.maximum(before[late], tick) - tick
        lateness = lengths_from_ticks(distance, self.axis, self.lateness_type)
        lateness = pc.if_else(pa.array(distance > 0), lateness, None)
        refused = refused.append_column(
            "reason", pa.array(["late"] * refused.num_rows, pa.string())
        )
        return refused.append_column("lateness", lateness)

    def late_among(
        self, rows: Sequence[pa.Table], key_names: Sequence[str], punctuation: Punctuation
    ) -> pa.Table | None:
        """Return the late rows among original rows; None if there are no original rows."""
        if not rows:
            return None
        table = pa.concat_tables(rows)
        before, _ = punctuation.of(table.select(key_names))
        return self.late_rows(table, is_late(table, key_names, punctuation), before)


def is_late(table: pa.Table, key_names: Sequence[str], punctuation: Punctuation) -> Mask:
    """Mask of the rows below the punctuation of their key; all rows once the stream is over."""
    if punctuation.over:
        return np.ones(table.num_rows, np.bool_)
    before, _ = punctuation.of(table.select(key_names))
    late: Mask = ints(table["tick"]) < before
    return late
