"""The ledger of a query over windows: how many rows of each key and pane were used and shed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Floats, Ints, Mask
from muntin.kernels.grouping import KeyedTables, add_by_group, key_and_pane
from muntin.kernels.ticks import to_ticks
from muntin.operators.protocol import Punctuation, ints
from muntin.operators.shared.overload.waiting_rows import TICK
from muntin.operators.shared.window_edges import WindowEdges
from muntin.specs.axis import Axis
from muntin.specs.windows import Edges

#: The columns of a ledger beside the keys.
PANE, USED_ROWS, SHED_ROWS = "pane", "used", "shed"


@dataclass(frozen=True)
class WindowLedger:
    """Counts rows by key and pane, for windows with some edges.

    A table of the ledger has the keys, the tick at which a pane begins, and the rows of the pane
    that were used and shed. Rows that wait are counted where they wait.
    """

    edges: Edges
    axis: Axis
    keys: tuple[str, ...]

    @property
    def _edges(self) -> WindowEdges:
        return WindowEdges((self.edges,))

    def panes(self, rows: pa.Table) -> Ints:
        """Return the tick at which the pane of each row begins; all rows have a tick."""
        placed = self._edges.panes_of(rows[TICK].to_numpy().astype(np.int64))
        panes: Ints = placed.distinct[placed.place]
        return panes

    def counted(self, rows: pa.Table, column: str) -> pa.Table:
        """Return rows as entries of the ledger, in one of its columns."""
        entries = rows.select(list(self.keys)).append_column(PANE, pa.array(self.panes(rows)))
        ones, none = (pa.array(np.full(rows.num_rows, n, np.int64)) for n in (1, 0))
        for name in (USED_ROWS, SHED_ROWS):
            entries = entries.append_column(name, ones if name == column else none)
        return entries

    def added(self, *tables: pa.Table) -> pa.Table:
        """Return entries with one for each key and pane."""
        entries = pa.concat_tables(tables)
        keyed = KeyedTables.of(self.keys, [entries])
        rank = np.unique(ints(entries[PANE]), return_inverse=True)[1].astype(np.int64)
        groups = key_and_pane(keyed.numbers[0], max(1, len(keyed)), rank)
        sums = entries.take(pa.array(groups.member))
        for name in (USED_ROWS, SHED_ROWS):
            total = np.zeros(len(groups), np.int64)
            add_by_group(groups.number, ints(entries[name]), total)
            place = sums.schema.get_field_index(name)
            sums = sums.set_column(place, name, pa.array(total))
        return sums

    def closed(self, table: pa.Table, ticks: Ints) -> Mask:
        """Return which entries or rows lie in no window that is open above some ticks."""
        panes = ints(table[PANE]) if PANE in table.column_names else self.panes(table)
        number = self._edges.numbers(panes)
        closed: Mask = (self._edges.last_wids(number) <= self._edges.last_closed(ticks))[0]
        over: Mask = ticks == np.iinfo(np.int64).max
        return closed | over

    def without_window(self, rows: pa.Table) -> Mask:
        """Return which rows lie in no window at all, or before the origin."""
        number = self._edges.numbers(self.panes(rows))
        none: Mask = (self._edges.in_no_window(number) | self._edges.outside(number))[0]
        return none

    def before(self, rows: pa.Table, punctuation: Punctuation, *, keyed: bool) -> Ints:
        """Return up to where the key of each row was complete before the step."""
        return self._front(rows, punctuation, keyed, over=punctuation.over, place=0)

    def after(self, rows: pa.Table, punctuation: Punctuation, *, keyed: bool) -> Ints:
        """Return up to where it is complete after the step."""
        return self._front(rows, punctuation, keyed, over=punctuation.ended, place=1)

    def _front(
        self, rows: pa.Table, punctuation: Punctuation, keyed: bool, *, over: bool, place: int
    ) -> Ints:
        if over:
            return np.full(rows.num_rows, np.iinfo(np.int64).max)
        if keyed:
            return punctuation.of(rows.select(list(self.keys)))[place]
        tick = (punctuation.before, punctuation.after)[place]
        return np.full(rows.num_rows, NEVER if tick is None else tick, np.int64)

    def completeness(
        self, results: pa.Table, entries: pa.Table, waiting: pa.Table | None
    ) -> Floats:
        """Return for each window the share of its rows that were used.

        Args:
            results: Windows with their keys, ``window_start`` and ``window_end``.
            entries: The ledger.
            waiting: Rows that wait.
        """
        if waiting is not None and waiting.num_rows:
            entries = self.added(entries, self.counted(waiting, SHED_ROWS))
        bounds = [
            to_ticks(results[name].combine_chunks(), self.axis).tick
            for name in ("window_start", "window_end")
        ]
        keyed = KeyedTables.of(self.keys, [entries, results])
        pane, own = ints(entries[PANE]), keyed.numbers[0]
        order = np.lexsort((pane, own))
        ticks = np.unique(np.concatenate([pane, *bounds]))
        places = own[order] * len(ticks) + np.searchsorted(ticks, pane[order])
        low, high = (
            np.searchsorted(places, keyed.numbers[1] * len(ticks) + np.searchsorted(ticks, tick))
            for tick in bounds
        )
        used, missing = (
            np.concatenate([[0], np.cumsum(ints(entries[name])[order])])
            for name in (USED_ROWS, SHED_ROWS)
        )
        taken, left = used[high] - used[low], missing[high] - missing[low]
        whole = taken + left
        return np.where(left == 0, 1.0, taken / np.maximum(whole, 1))
