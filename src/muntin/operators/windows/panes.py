"""Panes: how rows are combined before the shuffle, and how partial tables merge [Panes 3.1].

A pane is one row of accumulators per key and stretch between two window edges. The map side makes
and sends panes, and the pane store keeps them. Windows are made from panes elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Count
from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall, BoundAggregate, slot_types
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Ints
from muntin.kernels.calendar_units import on_line
from muntin.kernels.grouping import Groups, key_and_pane, key_codes
from muntin.operators.aggregation.combine_accumulators import combine, gather
from muntin.operators.common.admission import Admission
from muntin.operators.protocol import Routed, ints, key_fields, typed
from muntin.specs.axis import TICK_LIMIT, Axis
from muntin.specs.calendar import CalendarEdges
from muntin.specs.windows import Edges

_Number = TypeVar("_Number", int, Ints)
#: Rows are combined if at most this share of them is left; else they are sent as they are.
WORTH_COMBINING = 0.8


@dataclass(frozen=True)
class PaneEdges:
    """Where panes begin: at the edges of one window specification, or of several.

    The panes of one specification have the numbers that it gives them. The panes of several lie
    between the edges of all of them, and their numbers are the ticks at which they begin. Each
    specification also has its own numbers for these panes. A landmark window keeps everything that
    is closed as one pane, so it cannot share panes.

    >>> minutes, days = Edges(5, 2, 0, False), Edges(7, 7, 3, False)
    >>> PaneEdges((minutes, days)).panes_of(np.array([1, 2, 3, 4])).tolist()
    [1, 2, 3, 4]
    >>> PaneEdges((days,)).panes_of(np.array([2, 3, 9, 10])).tolist()
    [-1, 0, 0, 1]
    """

    windows: tuple[Edges, ...]

    def __post_init__(self) -> None:
        if len(self.windows) > 1 and any(edges.landmark for edges in self.windows):
            raise ArgumentError("edges", "landmark", "landmark windows have panes of their own")
        if len(self.windows) > 1 and any(isinstance(w, CalendarEdges) for w in self.windows):
            raise ArgumentError("edges", "calendar", "calendar windows have panes of their own")

    @property
    def origin(self) -> int | None:
        """The tick before which no window has rows; None if a window is not clipped."""
        if not all(edges.clipped for edges in self.windows):
            return None
        return min(edges.first_tick for edges in self.windows)

    def panes_of(self, tick: Ints) -> Ints:
        """Return the pane of each tick."""
        if len(self.windows) == 1:
            return pane_numbers(self.windows[0], tick)
        starts = [_begins(edges, pane_numbers(edges, tick)) for edges in self.windows]
        latest: Ints = np.maximum.reduce(starts)
        return latest

    def numbers(self, window: Edges, pane: Ints) -> Ints:
        """Return the numbers that a window specification gives to panes."""
        return pane if len(self.windows) == 1 else pane_numbers(window, pane)

    def first(self, window: Edges, number: _Number) -> _Number:
        """Return the first pane to which a window specification gives a number."""
        return number if len(self.windows) == 1 else _begins(window, number)

    def needed(self, window: Edges, closing: Ints) -> Ints:
        """Return the first pane of the windows after each of the ``closing`` windows."""
        if len(self.windows) > 1:
            # All rows lie within these windows, and the ticks of these windows fit 64 bits.
            least, most = (
                (tick - window.origin) // window.slide for tick in (-TICK_LIMIT, TICK_LIMIT)
            )
            closing = np.clip(closing, least, most)
        number = window.start_pane(0) + (closing + 1) * window.panes_per_slide
        return number if len(self.windows) == 1 else _begins(window, number)


def pane_numbers(edges: Edges, tick: Ints) -> Ints:
    """Return the number of the pane of each tick, as :meth:`Edges.pane` does for one tick."""
    slides, offset = np.divmod(on_line(edges, tick) - edges.origin, edges.slide)
    if edges.panes_per_slide == 1:
        return slides
    panes: Ints = 2 * slides + (offset >= edges.start_offset)
    return panes


def _begins(edges: Edges, number: _Number) -> _Number:
    """Return the tick at which a pane of a window begins."""
    if edges.panes_per_slide == 1:
        return edges.origin + number * edges.slide
    return edges.origin + number // 2 * edges.slide + number % 2 * edges.start_offset


@dataclass(frozen=True)
class Cells:
    """Rows of accumulators, one for each key and number.

    The columns are the keys ``k0..``, ``pane`` (the number) and those of the accumulators. The
    first accumulator counts rows. The user of cells defines what the number means.
    """

    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]

    @cached_property
    def bound(self) -> tuple[BoundAggregate, ...]:
        return tuple(bind(call) for call in self.calls)

    @cached_property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """The accumulators of all calls without repetition; the first counts the rows of a pane."""
        wanted = [a for bound in self.bound for a in bound.accumulators]
        return tuple(dict.fromkeys([Count(()), *wanted]))

    @cached_property
    def key_fields(self) -> list[pa.Field]:
        return key_fields(self.keys)

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in self.key_fields]

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a partial table."""
        columns = [*self.key_fields, pa.field("pane", pa.int64())]
        for place, accumulator in enumerate(self.accumulators):
            for part, type_ in enumerate(accumulator.columns):
                columns.append(pa.field(f"a{place}_{part}", type_))
        return pa.schema(columns)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """Combine partial tables into one row per key and number, sorted by both."""
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

    def _lift(
        self, keys: Sequence[pa.Array], order: Ints, panes: Ints, slots: Sequence[pa.Array]
    ) -> list[pa.Array]:
        """Return rows as panes of one row each, as arrays."""
        parts = [part for a in self.accumulators for part in a.lift(slots, order)]
        return [*keys, pa.array(panes), *parts]

    def _lifted(self, rows: pa.Table) -> pa.Table:
        """Return rows that were sent as they are as panes of one row each."""
        panes = ints(rows["pane"])
        return self.lifted(rows, ints(rows["order"]) if self._needs_order else panes, panes)

    def lifted(self, rows: pa.Table, order: Ints, panes: Ints) -> pa.Table:
        """Return rows as panes of one row each, given their order and their panes."""
        keys = [rows[name].combine_chunks() for name in self.key_names]
        # Rows may have slots that only other calls read.
        last = max(self.slot_types, default=-1)
        unread = pa.nulls(rows.num_rows)
        slots = [
            rows[f"s{place}"].combine_chunks() if place in self.slot_types else unread
            for place in range(last + 1)
        ]
        return pa.Table.from_arrays(self._lift(keys, order, panes, slots), schema=self.schema)

    @cached_property
    def nothing(self) -> pa.Table:
        """A pane without rows."""
        nulls = [pa.nulls(1, type_) for type_ in (*self.keys, pa.int64())]
        last = max(self.slot_types, default=-1)
        slots = [pa.nulls(0, self.slot_types.get(place, pa.null())) for place in range(last + 1)]
        none = Groups(np.empty(0, np.int64), np.zeros(1, np.int64))
        accumulated = [gather(a, slots, none.number, none) for a in self.accumulators]
        columns = [*nulls, *(part for parts in accumulated for part in parts)]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def columns_of(self, call: int) -> list[str]:
        """Return the columns that hold the first accumulator of a call."""
        place = self.accumulators.index(self.bound[call].accumulators[0])
        return [name for name in self.schema.names if name.startswith(f"a{place}_")]

    @cached_property
    def _needs_order(self) -> bool:
        """True if an accumulator uses the order of the rows within a pane."""
        return any(accumulator.needs_order for accumulator in self.accumulators)

    @cached_property
    def slot_types(self) -> dict[int, pa.DataType]:
        return slot_types(self.calls)

    def grouped(self, columns: Sequence[pa.Array], groups: Groups) -> pa.Table:
        """Return one row per group: its key, its pane, and its combined accumulators."""
        member = pa.array(groups.member)
        fixed = len(self.keys) + 1
        arrays = [column.take(member) for column in columns[:fixed]]
        for accumulator, parts in self.by_accumulator(columns[fixed:]):
            arrays += combine(accumulator.kind, parts, groups)
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def by_accumulator(
        self, columns: Sequence[pa.Array]
    ) -> list[tuple[Accumulator, list[pa.Array]]]:
        grouped, place = [], 0
        for accumulator in self.accumulators:
            width = len(accumulator.columns)
            grouped.append((accumulator, list(columns[place : place + width])))
            place += width
        return grouped


@dataclass(frozen=True)
class Panes(Cells):
    """Cells whose numbers are panes, and the map side that makes them from rows.

    Rows have the columns ``on``, ``k0..`` (keys), ``s0..`` (slots of the calls) and, if refused
    rows are wanted, ``o0..`` (the original columns).
    """

    axis: Axis
    edges: PaneEdges
    lateness_type: pa.DataType

    @cached_property
    def admission(self) -> Admission:
        """The admission; it refuses rows before the origin if the windows are clipped to it."""
        return Admission(self.axis, self.lateness_type, self.edges.origin)

    def route(self, rows: pa.Table) -> Routed:
        admitted = self.admission.admit(rows)
        panes = self.edges.panes_of(admitted.tick)
        originals = admitted.originals(self.key_names)
        if originals is not None:
            originals = originals.append_column("pane", pa.array(panes))
        partial = self._combined(admitted.rows, admitted.order, panes)
        return admitted.routed(partial, originals)

    def _combined(self, rows: pa.Table, order: Ints, panes: Ints) -> pa.Table:
        """Return panes, or the rows as they are if most panes would hold one row."""
        keys = [typed(rows, n, t) for n, t in zip(self.key_names, self.keys, strict=True)]
        slots = {f"s{p}": typed(rows, f"s{p}", t) for p, t in self.slot_types.items()}
        codes, size = key_codes(keys, rows.num_rows)
        groups = key_and_pane(codes, size, panes)
        if len(groups) > WORTH_COMBINING * rows.num_rows:
            named = dict(zip(self.key_names, keys, strict=True))
            sent = {**named, "pane": pa.array(panes), **slots}
            return pa.table({**sent, "order": pa.array(order)} if self._needs_order else sent)
        member = pa.array(groups.member)
        arrays = [column.take(member) for column in (*keys, pa.array(panes))]
        for accumulator in self.accumulators:
            arrays += gather(accumulator, list(slots.values()), order, groups)
        return pa.Table.from_arrays(arrays, schema=self.schema)
