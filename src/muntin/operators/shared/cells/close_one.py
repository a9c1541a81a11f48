"""Closing windows member by member, for accumulators of any kind.

The cells of a member are those whose set has it. They are merged over sets into panes with the
member's own numbers, and its windows are made from these as from the panes of a store of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.operators.protocol import Punctuation, RowCounts, ints
from muntin.operators.shared.cells.set_cells import SetCellLayout, SetCells
from muntin.operators.shared.members import Member, Members
from muntin.operators.windows.closing import Closing
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.pane_store import KeyEnds, WindowPanes, in_no_window
from muntin.operators.windows.panes import pane_numbers
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class MemberWindows:
    """Makes the windows of members from cells."""

    axis: Axis
    bound_type: pa.DataType
    layout: SetCellLayout
    members: Members

    def close(self, cells: SetCells, punctuation: Punctuation, chosen: Ints) -> dict[int, pa.Table]:
        """Return the windows of each of the chosen members that close in a step."""
        wanting = self.members.wanting(cells.sets)
        code = ints(cells.table[self.layout.set_name])
        mine = np.zeros(len(wanting), np.bool_)
        mine[wanting.owners[np.isin(wanting.members, chosen)]] = True
        cells = SetCells(cells.table.filter(pa.array(mine[code])), cells.packed)
        code = code[mine[code]]
        return {
            place: self._close(
                self.members.members[place], cells.table, wanting.having(place)[code], punctuation
            )
            for place in chosen.tolist()
        }

    def _close(
        self, member: Member, table: pa.Table, wanted: Mask, punctuation: Punctuation
    ) -> pa.Table:
        operator = WindowOperator(
            self.axis,
            member.edges,
            self.layout.keys,
            member.calls,
            self.bound_type,
            unfinished=member.unfinished,
        )
        number = pane_numbers(member.edges, ints(table["pane"]))
        wanted = wanted & ~in_no_window(member.edges, number)
        panes = table.drop_columns([self.layout.set_name])
        place = panes.schema.get_field_index("pane")
        panes = panes.set_column(place, "pane", pa.array(number)).filter(pa.array(wanted))
        panes = self.layout.panes.merge([panes])
        ends = self._ends(panes, Closing(member.edges, punctuation))
        return operator.close(self.layout.panes, WindowPanes(panes, ends, RowCounts()), punctuation)

    def _ends(self, panes: pa.Table, closing: Closing) -> KeyEnds:
        """Return where each key begins, and its last windows closed before and after the step."""
        codes, _ = self.layout.panes.codes(panes)
        starts = np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64)
        names = panes.select(self.layout.key_names)
        closed, after = (
            np.broadcast_to(last, len(starts)) for last in closing.of(names.take(pa.array(starts)))
        )
        return KeyEnds(np.append(starts, len(codes)), closed, after)
