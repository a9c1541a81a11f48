"""Leaving out whole windows: those that are delivered have all their rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import KeyedTables, key_and_pane
from muntin.kernels.hashing import mixed
from muntin.operators.protocol import ints
from muntin.operators.shared.overload.ledger import PANE, SHED_ROWS, WindowLedger
from muntin.operators.shared.overload.waiting_rows import row_hashes


def rows_of_windows(
    ledger: WindowLedger, entries: pa.Table, rows: pa.Table, units: int, seed: int
) -> Mask:
    """Return the rows of the windows for which there are units; no window is half looked at.

    A window that has lost a row before is left out. Windows that began earlier come first: work was
    spent on them already; among equals it is a draw.
    """
    cells = ledger.added(ledger.counted(rows, SHED_ROWS))
    cell_of = _cell_of(ledger, cells, rows)
    count = ints(cells[SHED_ROWS])
    cell, wid = _pairs(ledger, ints(cells[PANE]))
    lost = _lost(ledger, entries, cells, cell, wid)
    cell, wid = cell[~lost], wid[~lost]
    # A table without key columns would forget how many rows it has.
    columns = [cells[name].take(pa.array(cell)) for name in ledger.keys]
    named = pa.table([*columns, pa.array(wid)], [*ledger.keys, "wid"])
    order = np.lexsort((mixed(row_hashes(named, seed)), wid))
    # Windows of the same key and number have one rank.
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    keyed = KeyedTables.of([*ledger.keys, "wid"], [named])
    first = np.full(len(keyed), len(order), np.int64)
    np.minimum.at(first, keyed.numbers[0], rank)
    rank = first[keyed.numbers[0]]
    best = np.full(len(count), np.iinfo(np.int64).max)
    np.minimum.at(best, cell, rank)
    by_rank = np.argsort(best, kind="stable")
    spent = np.cumsum(count[by_rank])
    # All cells of a rank are taken, or none: a cut in a window would waste what was spent on it.
    inside = spent <= units
    cut = best[by_rank[~inside]].min(initial=np.iinfo(np.int64).max)
    taken = best < cut
    chosen: Mask = taken[cell_of]
    return chosen


def _cell_of(ledger: WindowLedger, cells: pa.Table, rows: pa.Table) -> Ints:
    """Return the cell of each row."""
    panes = ledger.panes(rows)
    keyed = KeyedTables.of(ledger.keys, [cells, rows])
    ticks = np.unique(np.concatenate([ints(cells[PANE]), panes]))
    place = np.searchsorted(ticks, ints(cells[PANE]))
    groups = key_and_pane(
        np.concatenate(keyed.numbers),
        max(1, len(keyed)),
        np.concatenate([place, np.searchsorted(ticks, panes)]),
    )
    cell = np.empty(len(groups), np.int64)
    cell[groups.number[: cells.num_rows]] = np.arange(cells.num_rows)
    found: Ints = cell[groups.number[cells.num_rows :]]
    return found


def _pairs(ledger: WindowLedger, panes: Ints) -> tuple[Ints, Ints]:
    """Return the cells and the windows that they are in."""
    edges = ledger.edges
    number = np.array([edges.pane(int(pane)) for pane in panes], np.int64)
    first = number // edges.panes_per_slide
    last = np.array([edges.last_wid(int(own)) for own in number], np.int64)
    counts = np.maximum(last - first + 1, 0)
    cell = np.repeat(np.arange(len(panes)), counts)
    step = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
    return cell, first[cell] + step


def _lost(ledger: WindowLedger, entries: pa.Table, cells: pa.Table, cell: Ints, wid: Ints) -> Mask:
    """Return which windows, given with a cell of each, have lost a row before."""
    shed = entries.filter(pa.array(ints(entries[SHED_ROWS]) > 0))
    if not shed.num_rows or not len(cell):
        return np.zeros(len(cell), np.bool_)
    keyed = KeyedTables.of(ledger.keys, [cells, shed])
    shed_cell, shed_wid = _pairs(ledger, ints(shed[PANE]))
    key, other = keyed.numbers[0][cell], keyed.numbers[1][shed_cell]
    wids = np.unique(np.concatenate([wid, shed_wid]))
    own = key * len(wids) + np.searchsorted(wids, wid)
    gone = other * len(wids) + np.searchsorted(wids, shed_wid)
    lost: Mask = np.isin(own, gone)
    return lost
