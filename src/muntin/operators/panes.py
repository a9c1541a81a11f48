"""Panes: what rows become before the shuffle, and how partial tables merge (panes.txt 3.1).

A pane is one row of accumulators per key and stretch between two window edges. Panes are made on
the map side, travel, and are kept; windows are made of them elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Count
from muntin.aggregates.binding import Bound, Call, bind, slot_types
from muntin.operators.kernels.grouping import Groups, key_and_pane, key_codes
from muntin.operators.kernels.ticks import REFUSALS, Ticks, to_ticks
from muntin.operators.protocol import Routed
from muntin.operators.reduction import combine, gather
from muntin.semantics.axis import Axis
from muntin.semantics.window import Edges

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
#: Combining pays where it leaves at most this share of the rows; else rows travel as they are.
WORTH_COMBINING = 0.8


@dataclass(frozen=True)
class Panes:
    """Rows to partial tables.

    Rows come with columns ``on``, ``k0..`` (keys) and ``s0..`` (slots of the calls),
    and, when refused rows are wanted, ``o0..`` (the original columns). Partial tables have the
    keys, ``pane`` and the columns of the accumulators, of which the first counts rows.
    """

    axis: Axis
    edges: Edges
    keys: tuple[pa.DataType, ...]
    calls: tuple[Call, ...]
    lateness_type: pa.DataType

    @cached_property
    def bound(self) -> tuple[Bound, ...]:
        return tuple(bind(call) for call in self.calls)

    @cached_property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """The accumulators of all calls, each once; the first counts the rows of a pane."""
        wanted = [a for bound in self.bound for a in bound.accumulators]
        return tuple(dict.fromkeys([Count(()), *wanted]))

    @cached_property
    def key_fields(self) -> list[pa.Field]:
        return [pa.field(f"k{place}", type_) for place, type_ in enumerate(self.keys)]

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in self.key_fields]

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a partial table."""
        made = [*self.key_fields, pa.field("pane", pa.int64())]
        for place, accumulator in enumerate(self.accumulators):
            for part, type_ in enumerate(accumulator.columns):
                made.append(pa.field(f"a{place}_{part}", type_))
        return pa.schema(made)

    def route(self, rows: pa.Table) -> Routed:
        ticks = to_ticks(rows["on"].combine_chunks(), self.axis)
        kept, refused, reasons = self._admit(ticks)
        seen = ticks.tick[ticks.refusal == 0]
        progress = int(seen.max()) if len(seen) else None
        names = _original_names(rows)
        refused_rows = None
        if refused and names:
            refused_rows = self._refused_rows(rows.select(names), kept, reasons)
        if refused:
            rows = rows.filter(pa.array(kept))
        tick, order = ticks.tick[kept], ticks.order[kept]
        panes = self.panes_of(tick)
        originals = None
        if names:
            originals = rows.select([*self.key_names, *names]).append_column(
                "pane", pa.array(panes)
            )
            originals = originals.append_column("tick", pa.array(tick))
        partial = self._combined(rows, order, panes)
        return Routed(partial, progress, refused, originals, refused_rows)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """One row per key and pane, keys together and panes in order."""
        if len({tuple(p.column_names) for p in partials}) > 1:
            partials = [p if p.schema == self.schema else self._lifted(p) for p in partials]
        table = pa.concat_tables(partials) if partials else self.schema.empty_table()
        codes, size = self.codes(table)
        groups = key_and_pane(codes, size, ints(table["pane"]))
        if len(groups) == table.num_rows:
            table = table.take(pa.array(groups.member))
            return table if table.schema == self.schema else self._lifted(table)
        table = table if table.schema == self.schema else self._lifted(table)
        return self.grouped([column.combine_chunks() for column in table.columns], groups)

    def codes(self, table: pa.Table) -> tuple[Ints, int]:
        columns = [table[name].combine_chunks() for name in self.key_names]
        return key_codes(columns, table.num_rows)

    def _admit(self, ticks: Ticks) -> tuple[Mask, dict[str, int], npt.NDArray[np.object_]]:
        """Which rows have a place in the windows, and why the others have none."""
        placed = ticks.refusal == 0
        kept = placed & (ticks.tick >= self.edges.origin) if self.edges.clipped else placed
        if kept.all():
            return kept, {}, np.empty(0, object)
        reasons = np.array(REFUSALS, dtype=object)[ticks.refusal]
        reasons[placed & ~kept] = "before_origin"
        found, counts = np.unique(reasons[~kept].astype(str), return_counts=True)
        return kept, dict(zip(found.tolist(), counts.tolist(), strict=True)), reasons

    def _refused_rows(
        self, rows: pa.Table, kept: Mask, reasons: npt.NDArray[np.object_]
    ) -> pa.Table:
        rows = rows.filter(pa.array(~kept))
        rows = rows.append_column("reason", pa.array(reasons[~kept].tolist(), pa.string()))
        return rows.append_column("lateness", pa.nulls(rows.num_rows, self.lateness_type))

    def panes_of(self, tick: Ints) -> Ints:
        slides, offset = np.divmod(tick - self.edges.origin, self.edges.slide)
        if self.edges.panes_per_slide == 1:
            return slides
        panes: Ints = 2 * slides + (offset >= self.edges.start_offset)
        return panes

    def _combined(self, rows: pa.Table, order: Ints, panes: Ints) -> pa.Table:
        """Panes, or the rows as they are where a pane holds about one row."""
        # Spark labels timestamps with the session's zone; here they are all UTC.
        keys = [_column(rows, n, t) for n, t in zip(self.key_names, self.keys, strict=True)]
        slots = {f"s{p}": _column(rows, f"s{p}", t) for p, t in self.slot_types.items()}
        codes, size = key_codes(keys, rows.num_rows)
        groups = key_and_pane(codes, size, panes)
        if len(groups) > WORTH_COMBINING * rows.num_rows:
            named = dict(zip(self.key_names, keys, strict=True))
            sent = {**named, "pane": pa.array(panes), **slots}
            return pa.table({**sent, "order": pa.array(order)} if self._needs_order else sent)
        member = pa.array(groups.member)
        made = [column.take(member) for column in (*keys, pa.array(panes))]
        for accumulator in self.accumulators:
            made += gather(accumulator, list(slots.values()), order, groups)
        return pa.Table.from_arrays(made, schema=self.schema)

    def _lift(
        self, keys: Sequence[pa.Array], order: Ints, panes: Ints, slots: Sequence[pa.Array]
    ) -> list[pa.Array]:
        """Rows as panes of one row each."""
        parts = [part for a in self.accumulators for part in a.lift(slots, order)]
        return [*keys, pa.array(panes), *parts]

    def _lifted(self, rows: pa.Table) -> pa.Table:
        """Rows that travelled as they are."""
        panes = ints(rows["pane"])
        return self.lifted(rows, ints(rows["order"]) if self._needs_order else panes, panes)

    def lifted(self, rows: pa.Table, order: Ints, panes: Ints) -> pa.Table:
        """Rows as panes of one row each, given their order and their panes."""
        keys = [rows[name].combine_chunks() for name in self.key_names]
        slots = [rows[f"s{place}"].combine_chunks() for place in self.slot_types]
        return pa.Table.from_arrays(self._lift(keys, order, panes, slots), schema=self.schema)

    def columns_of(self, call: int) -> list[str]:
        """The columns in which a pane keeps the first accumulator of a call."""
        place = self.accumulators.index(self.bound[call].accumulators[0])
        return [name for name in self.schema.names if name.startswith(f"a{place}_")]

    @cached_property
    def _needs_order(self) -> bool:
        """Whether an accumulator looks at where in a pane a row lies."""
        return any(accumulator.needs_order for accumulator in self.accumulators)

    @cached_property
    def slot_types(self) -> dict[int, pa.DataType]:
        return slot_types(self.calls)

    def grouped(self, columns: Sequence[pa.Array], groups: Groups) -> pa.Table:
        """One row per group: its key and pane, and its accumulators combined."""
        member = pa.array(groups.member)
        fixed = len(self.keys) + 1
        made = [column.take(member) for column in columns[:fixed]]
        for accumulator, parts in self.by_accumulator(columns[fixed:]):
            made += combine(accumulator.kind, parts, groups)
        return pa.Table.from_arrays(made, schema=self.schema)

    def by_accumulator(
        self, columns: Sequence[pa.Array]
    ) -> list[tuple[Accumulator, list[pa.Array]]]:
        grouped, place = [], 0
        for accumulator in self.accumulators:
            width = len(accumulator.columns)
            grouped.append((accumulator, list(columns[place : place + width])))
            place += width
        return grouped


def _column(rows: pa.Table, name: str, type_: pa.DataType) -> pa.Array:
    column = rows[name].combine_chunks()
    return column if column.type == type_ else column.cast(type_)


def _original_names(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name.startswith("o") and name != "on"]


def ints(column: pa.ChunkedArray | pa.Array) -> Ints:
    values: Ints = np.ascontiguousarray(column.to_numpy())
    return values
