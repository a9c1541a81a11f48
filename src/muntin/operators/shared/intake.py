"""Intake: what new cells are for each member, counted in rows, and which cells are kept.

The rows of a pane belong to the same windows, so whether they are late is decided for each pane and
member: a row that is late for one member may be in time for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Bytes, Ints, Mask
from muntin.kernels.grouping import add_by_group, key_and_pane
from muntin.kernels.numbers.order_keys import ranked
from muntin.kernels.packed_sets import BETWEEN, LATE, OUTSIDE, USED, count_members
from muntin.operators.protocol import Punctuation, RowCounts, ints
from muntin.operators.shared.cells.set_cells import SetCellLayout, SetCells
from muntin.operators.shared.members import Members
from muntin.operators.shared.window_edges import WindowEdges


@dataclass(frozen=True)
class Intake:
    """The cells that some member may still use, and the counts of rows of each member."""

    cells: SetCells
    counts: Sequence[RowCounts]


def take_in(
    layout: SetCellLayout, members: Members, arrived: SetCells, punctuation: Punctuation
) -> Intake:
    """Count the rows of new cells for each member, and keep the cells that some may use."""
    before = _before(layout, arrived.table, punctuation)
    counts, kept = _count(layout, members, arrived, before, over=punctuation.over)
    table = arrived.table if kept.all() else arrived.table.filter(pa.array(kept))
    by_member = [
        RowCounts(inside + between, late, between) for _, late, between, inside in counts.tolist()
    ]
    return Intake(SetCells(table, arrived.packed), by_member)


def before_origins(layout: SetCellLayout, members: Members, cells: SetCells) -> dict[int, int]:
    """Return how many rows lie before the origin of each member whose windows are clipped to it.

    Members without such rows are left out.
    """
    if not members.edges.clipped.any():
        return {}
    none = np.full(cells.table.num_rows, NEVER)
    outside = _count(layout, members, cells, none, over=False)[0][:, OUTSIDE]
    some = np.flatnonzero(outside)
    return dict(zip(members.numbers[some].tolist(), outside[some].tolist(), strict=True))


def _count(
    layout: SetCellLayout, members: Members, cells: SetCells, before: Ints, *, over: bool
) -> tuple[Ints, Mask]:
    """Count rows for each member, and return a mask of the cells that some member may use.

    ``before`` has for each cell the punctuation of its key before the step.
    """
    code = ints(cells.table[layout.set_name])
    (pane, tick), place = _pairs(ints(cells.table["pane"]), before)
    groups = key_and_pane(code, max(1, len(cells.packed)), place)
    rows = np.zeros(len(groups), np.int64)
    add_by_group(groups.number, ints(cells.table["a0_0"]), rows)
    status = _status(members.edges, pane, tick, over=over)
    wanting = members.wanting(cells.sets)
    counts = np.zeros(4 * len(members), np.int64)
    usable = np.zeros(len(groups), np.uint8)
    count_members(
        code[groups.member],
        place[groups.member],
        rows,
        np.ascontiguousarray(wanting.offsets, np.int64),
        wanting.members,
        members.edges_of,
        status.ravel(),
        status.shape[1],
        counts,
        usable,
    )
    return counts.reshape(-1, 4), usable.astype(np.bool_)[groups.number]


def _before(layout: SetCellLayout, table: pa.Table, punctuation: Punctuation) -> Ints:
    """Return for each cell the punctuation of its key before the step, if it is above the pane.

    Other cells are in time for every window, so all of them have the same.
    """
    pane = ints(table["pane"])
    if punctuation.by_key is None or not punctuation.by_key.num_rows:
        of_stream = NEVER if punctuation.before is None else punctuation.before
        return np.where(pane < of_stream, of_stream, NEVER)
    before, _ = punctuation.of(table.select(layout.key_names))
    return np.where(pane < before, before, NEVER)


def _pairs(pane: Ints, before: Ints) -> tuple[Sequence[Ints], Ints]:
    """Return the distinct pairs of pane and punctuation, and for each cell the place of its own."""
    panes, ticks = ranked(pa.array(pane)), ranked(pa.array(before))
    groups = key_and_pane(panes.rank, max(1, len(panes.distinct)), ticks.rank)
    return (pane[groups.member], before[groups.member]), groups.number


def _status(edges: WindowEdges, pane: Ints, before: Ints, *, over: bool) -> Bytes:
    """Return what each pane is for each window, as a row of bytes for each window."""
    number = edges.numbers(pane)
    outside, unused = edges.outside(number), edges.in_no_window(number)
    late: Mask = np.ones(number.shape, np.bool_)
    if not over:
        late = (edges.last_wids(number) <= edges.last_closed(before)) & ~unused
    status = np.full(number.shape, USED, np.uint8)
    status[unused] = BETWEEN
    status[late] = LATE
    status[outside] = OUTSIDE
    return status
