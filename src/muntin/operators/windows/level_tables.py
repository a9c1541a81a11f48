"""The tables of panes and of the levels over them: read, brought up to date, and written.

For each key, the rows of a level are the nodes that end at or below what was complete: a node is
made in the step that completes it, from the rows of the level below. A late row is added to the
nodes that hold its pane. Nodes are numbered like panes, so a table of panes and nodes together is
sorted and combined like one of panes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import key_and_pane
from muntin.operators.common.buckets import BucketedTable
from muntin.operators.protocol import Changes, State, ints
from muntin.operators.windows.levels import Levels
from muntin.operators.windows.pane_reach import Reach, Span, StepReach
from muntin.operators.windows.panes import Cells

PANES = "panes"


def table_of(level: int) -> str:
    """Return the name of the table of a level; level 0 has the panes."""
    return f"level {level}" if level else PANES


@dataclass(frozen=True)
class ReadRows:
    """Rows of a level with new ones, chunks with new rows, stored chunks, and chunks read."""

    rows: pa.Table
    touched: Ints
    stored: Ints
    loaded: Ints


@dataclass(frozen=True)
class LevelTables:
    """Panes and the levels over them, as one step reads and changes them."""

    state: State
    cells: Cells
    levels: Levels
    reach: StepReach

    def take(self, arrived: pa.Table) -> tuple[list[pa.Table], Changes]:
        """Add new panes; return the rows that the step needs for each level, and the changes."""
        new, tables, changes = arrived, [], Changes()
        for level in range(self.levels.count + 1):
            read = self.with_stored(new, level)
            changes |= self._written(level, read)
            tables.append(read.rows)
            if level < self.levels.count:
                new = self._nodes(level, read.rows, arrived)
        return tables, changes

    def with_stored(self, new: pa.Table, level: int = 0) -> ReadRows:
        """Return new rows of a level together with the stored ones that the step needs."""
        touched = _distinct(ints(new["pane"]) // self.levels.width(level))
        stored = np.sort(np.array(self.state.buckets(table_of(level)), np.int64))
        loaded = stored[self._wanted(level, stored, touched)] if len(stored) else stored
        if len(loaded):
            kept = [self.state.read(table_of(level), chunk) for chunk in loaded.tolist()]
            new = self.cells.merge([new, *kept])
        return ReadRows(new, touched, stored, loaded)

    def choose(self, tables: Sequence[pa.Table], window: int) -> pa.Table:
        """Return the panes and nodes of which a window specification is made, sorted by key."""
        chosen = [
            self._chosen(level, rows, window) for level, rows in enumerate(tables) if rows.num_rows
        ]
        chosen = [rows for rows in chosen if rows.num_rows]
        if not chosen:
            return self.cells.schema.empty_table()
        return chosen[0] if len(chosen) == 1 else self.cells.merge(chosen)

    def _chosen(self, level: int, rows: pa.Table, window: int) -> pa.Table:
        reach = self.reach.of(rows)
        numbers = self.levels.cover(reach.spans[window], reach.before)[level]
        mask = numbers.hold(ints(rows["pane"]))
        return rows if mask.all() else rows.filter(pa.array(mask))

    def _wanted(self, level: int, stored: Ints, touched: Ints) -> Mask:
        """Mask of the stored chunks of a level that the step reads.

        They have new rows, rows of windows that close, or rows that a new node combines.
        """
        reach = self.reach.all
        wanted: Mask = np.isin(stored, touched)
        for span in reach.spans:
            wanted |= self._covering(level, stored, span, reach)
        if level < self.levels.count:
            width = self.levels.width(level)
            whole = [number // width * width for number in (reach.before, reach.after)]
            wanted |= self.levels.chunks(level, stored, *whole)
        return wanted

    def _covering(self, level: int, stored: Ints, span: Span, reach: Reach) -> Mask:
        numbers = self.levels.cover(span, reach.before)[level]
        chosen = self.levels.chunks(level, stored, numbers.start, numbers.stop)
        return chosen | self.levels.chunks(level, stored, numbers.other_start, numbers.other_stop)

    def _nodes(self, level: int, rows: pa.Table, arrived: pa.Table) -> pa.Table:
        """Return the nodes over a level that the step completes, and late rows for older ones."""
        reach, late = self.reach.of(rows), self.reach.of(arrived)
        first, end = self._node(level, rows)
        complete = (end > reach.before) & (end <= reach.after) & (first >= reach.needed)
        first_of_late, end = self._node(level, arrived)
        # Windows that close now use older nodes, also those that no open window needs any more.
        older = end <= late.before
        parts = [
            _numbered(table, first, mask)
            for table, first, mask in ((rows, first, complete), (arrived, first_of_late, older))
            if mask.any()
        ]
        return self.cells.merge(parts)

    def _node(self, level: int, rows: pa.Table) -> tuple[Ints, Ints]:
        """Return the first pane of the node over each row, and the first pane after it."""
        width = self.levels.width(level)
        first = ints(rows["pane"]) // width * width
        return first, first + width

    def _written(self, level: int, read: ReadRows) -> Changes:
        """Write chunks with new rows, and delete those that no open window needs."""
        name, width = table_of(level), self.levels.width(level)
        needed = int(self.reach.stream.needed[0])
        # A window uses a node as a whole, so the last node of a chunk decides.
        least = (needed + self.levels.length(level) - 1) // width
        outdated = read.stored[read.stored < least].tolist()
        changes: Changes = {(name, chunk): None for chunk in outdated}
        changed = read.touched[read.touched >= least].tolist()
        # Keys progress at different speeds, so a chunk may hold live and outdated rows.
        sparse = read.loaded[read.loaded >= least].tolist() if self.reach.by_key else []
        if not changed and not sparse:
            return changes
        number = ints(read.rows["pane"])
        live: Mask = number >= self.reach.of(read.rows).needed
        table = BucketedTable(self.state, name)
        return changes | table.write(read.rows, number // width, changed, live, sparse)


def _distinct(numbers: Ints) -> Ints:
    """Return the distinct numbers, sorted; there are few."""
    return numbers[key_and_pane(np.zeros(len(numbers), np.int64), 1, numbers).member]


def _numbered(rows: pa.Table, number: Ints, chosen: Mask) -> pa.Table:
    """Return chosen rows with other numbers."""
    place = rows.schema.get_field_index("pane")
    return rows.set_column(place, "pane", pa.array(number)).filter(pa.array(chosen))
