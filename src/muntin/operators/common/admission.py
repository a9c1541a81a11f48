"""Which rows have a place on the axis, and why the others have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.ticks import REFUSALS, lengths_from_ticks, to_ticks
from muntin.operators.common.arrow_columns import ints, original_names, typed
from muntin.operators.protocol import Punctuation, Routed
from muntin.specs.axis import Axis

Reasons = npt.NDArray[np.object_]


@dataclass(frozen=True)
class AdmittedRows:
    """Rows that have a place, with it, and what was refused."""

    rows: pa.Table
    tick: Ints
    order: Ints
    progress: int | None
    counts: Mapping[str, int]
    refused_rows: pa.Table | None

    def originals(self, key_names: Sequence[str]) -> pa.Table | None:
        """The original rows by key and tick, where refused ones are wanted: some may be late."""
        names = original_names(self.rows)
        if not names:
            return None
        found = self.rows.select([*key_names, *names])
        return found.append_column("tick", pa.array(self.tick))

    def partial(
        self, schema: pa.Schema, own: Mapping[str, pa.Array], *, with_originals: bool
    ) -> pa.Table:
        """Rows on their way: where they lie, columns of the sender's ``own``, others as given."""
        columns = {"tick": pa.array(self.tick), "order": pa.array(self.order), **own}
        for wanted in schema:
            if wanted.name not in columns:
                columns[wanted.name] = typed(self.rows, wanted.name, wanted.type)
        made = pa.table({name: columns[name] for name in schema.names})
        for name in original_names(self.rows) if with_originals else ():
            made = made.append_column(name, self.rows[name])
        return made

    def routed(self, partial: pa.Table, originals: pa.Table | None) -> Routed:
        """What the map side sends."""
        return Routed(partial, self.progress, self.counts, originals, self.refused_rows)


@dataclass(frozen=True)
class Admission:
    """Rows need a value of ``on`` that the axis reaches, and not before the origin."""

    axis: Axis
    lateness_type: pa.DataType
    origin: int | None = None

    def admit(self, rows: pa.Table, also: Reasons | None = None) -> AdmittedRows:
        """Split rows; ``also`` has reasons found elsewhere, empty where there is none."""
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
        found, counts = np.unique(reasons[~kept].astype(str), return_counts=True)
        return AdmittedRows(
            rows=rows.filter(pa.array(kept)),
            tick=ticks.tick[kept],
            order=ticks.order[kept],
            progress=progress,
            counts=dict(zip(found.tolist(), counts.tolist(), strict=True)),
            refused_rows=self._refused(rows, ~kept, reasons),
        )

    def _refused(self, rows: pa.Table, refused: Mask, reasons: Reasons) -> pa.Table | None:
        if not original_names(rows):
            return None
        return self.without_place(rows.filter(pa.array(refused)), reasons[refused])

    def without_place(self, rows: pa.Table, reasons: Reasons) -> pa.Table:
        """Rows that are refused for another reason than lateness, as refused rows."""
        columns = {name: rows[name] for name in original_names(rows)}
        columns["reason"] = pa.array(reasons.tolist(), pa.string())
        columns["lateness"] = pa.nulls(rows.num_rows, self.lateness_type)
        return pa.table(columns)

    def late_rows(self, table: pa.Table, late: Mask, before: Ints) -> pa.Table:
        """The original rows that came too late, and how far behind the punctuation."""
        gone = table.select(original_names(table)).filter(pa.array(late))
        tick = ints(table["tick"])[late]
        # A row can be refused without being behind: after the end of its stream.
        far = np.maximum(before[late], tick) - tick
        lateness = lengths_from_ticks(far, self.axis, self.lateness_type)
        lateness = pc.if_else(pa.array(far > 0), lateness, None)
        gone = gone.append_column("reason", pa.array(["late"] * gone.num_rows, pa.string()))
        return gone.append_column("lateness", lateness)

    def late_among(
        self, rows: Sequence[pa.Table], key_names: Sequence[str], punctuation: Punctuation
    ) -> pa.Table | None:
        """Of original rows by key and tick those that came too late; None where none are kept."""
        if not rows:
            return None
        table = pa.concat_tables(rows)
        before, _ = punctuation.of(table.select(key_names))
        return self.late_rows(table, behind(table, key_names, punctuation), before)


def behind(table: pa.Table, key_names: Sequence[str], punctuation: Punctuation) -> Mask:
    """Rows below the punctuation of their key; all of them once the stream is over."""
    if punctuation.over:
        return np.ones(table.num_rows, np.bool_)
    before, _ = punctuation.of(table.select(key_names))
    late: Mask = ints(table["tick"]) < before
    return late
