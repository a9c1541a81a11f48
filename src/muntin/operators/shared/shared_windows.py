"""Shared windows: many window queries over one store of cells [Panes 3.1; PSoup 4].

The map side combines rows into one cell for each key, predicate set and pane, whatever the number
of queries. A shard keeps the cells, and makes a window of a query from the cells whose set has it.
Each query has the results and counts that it would have alone, fed with the rows that it wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Bytes, Ints, Mask
from muntin.kernels.ticks import REFUSALS, to_ticks
from muntin.operators.protocol import InputBatch, Punctuation, Routed, State
from muntin.operators.shared.cells.cell_chunks import CellChunks
from muntin.operators.shared.cells.cell_store import CellStore
from muntin.operators.shared.cells.close_many import SweptAnswers
from muntin.operators.shared.cells.close_one import MemberWindows
from muntin.operators.shared.cells.set_cells import SetCellLayout
from muntin.operators.shared.cells.swept_values import sweepable
from muntin.operators.shared.intake import before_origins, take_in
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Member, Members, members_of
from muntin.operators.shared.query_group import GroupStep, MemberAnswer, RoutedInput, failure
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class SharedWindows:
    """Sliding and tumbling windows of many members with the same keys, as one version has them.

    Rows have ``on``, the keys ``k0..`` and the slots ``s0..`` of all members; ``slots`` names the
    slots in a way that lasts from version to version.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    bound_type: pa.DataType
    queries: tuple[Member, ...]
    slots: tuple[str, ...] = ()
    name: str = "shared"

    def __getstate__(self) -> dict[str, object]:
        # Cached properties hold closures and are not pickled; the receiver computes them again.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def members(self) -> Members:
        return members_of(self.queries)

    @cached_property
    def layout(self) -> SetCellLayout:
        return SetCellLayout(self.keys, self.members.calls, self.slots)

    @property
    def shard_keys(self) -> Sequence[str]:
        return self.layout.key_names

    def route(self, rows: pa.Table, code: Ints, sets: MemberSets) -> RoutedInput:
        """Map side: combine rows into cells; ``code`` has the place of each row's set."""
        ticks = to_ticks(rows["on"].combine_chunks(), self.axis)
        placed = ticks.refusal == 0
        progress = int(ticks.tick[placed].max()) if placed.any() else None
        refused = {} if placed.all() else self._without_place(ticks.refusal, code, sets)
        kept = placed & (sets.sizes > 0)[code]
        tick, order = ticks.tick, ticks.order
        if not kept.all():
            rows, code = rows.filter(pa.array(kept)), code[kept]
            tick, order = tick[kept], order[kept]
        partial = self.layout.schema.empty_table()
        if rows.num_rows:
            panes = self.members.edges.panes_of(tick)
            cells = self.layout.gathered(rows, order, panes, code, sets.packed)
            partial = self.layout.lasting(cells)
            for number, count in before_origins(self.layout, self.members, cells).items():
                refused.setdefault(number, {})["before_origin"] = count
        return RoutedInput(0, Routed(partial, progress, {}), refused)

    def _without_place(
        self, refusal: Bytes, code: Ints, sets: MemberSets
    ) -> dict[int, dict[str, int]]:
        """Count the rows without a place on the axis, for each member that wants them."""
        counts: dict[int, dict[str, int]] = {}
        pairs, rows = np.unique(
            np.column_stack([refusal, code])[refusal != 0], axis=0, return_counts=True
        )
        for (reason, own), count in zip(pairs.tolist(), rows.tolist(), strict=True):
            for number in sets.members[sets.offsets[own] : sets.offsets[own + 1]].tolist():
                of_member = counts.setdefault(number, {})
                of_member[REFUSALS[reason]] = of_member.get(REFUSALS[reason], 0) + count
        return counts

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """Combine tables of cells into one with one row for each key, set and pane."""
        return self.layout.lasting(self.layout.merged(partials))

    def step(self, state: State, batch: InputBatch, planted: Sequence[pa.Table] = ()) -> GroupStep:
        """Take in new cells, and answer the windows of all members that are now complete.

        Cells that are ``planted`` hold the past of new members. Their rows were counted before.
        """
        arrived = self.layout.merged(batch.partials)
        intake = take_in(self.layout, self.members, arrived, batch.punctuation)
        store = CellStore(state, self.layout, self.members, batch.punctuation)
        taken = intake.cells
        if planted:
            taken = self.layout.merged([self.layout.lasting(taken), *planted])
        cells, changes = store.step(taken)
        results, failed = self._closed(cells, batch.punctuation)
        nothing = [self._no_results[shape] for shape in self.members.shape_of.tolist()]
        answers = {
            number: MemberAnswer(results.get(place, nothing[place]), (intake.counts[place],))
            for place, number in enumerate(self.members.numbers.tolist())
            if number not in failed
        }
        return GroupStep(answers, changes, failed)

    def _closed(
        self, tables: Sequence[pa.Table], punctuation: Punctuation
    ) -> tuple[dict[int, pa.Table], dict[int, str]]:
        """Return the windows that close, by the place of the member, and members that failed."""
        if not tables:
            return {}, {}
        numbers = self.members.numbers.tolist()
        try:
            return self._close(tables, punctuation, np.ones(len(numbers), np.bool_)), {}
        except Exception:  # whatever a query raises stops that query only: find out which
            results: dict[int, pa.Table] = {}
            failed: dict[int, str] = {}
        for place, number in enumerate(numbers):
            try:
                results |= self._close(tables, punctuation, np.arange(len(numbers)) == place)
            except Exception as error:
                failed[number] = failure(error)
        return results, failed

    def _close(
        self, tables: Sequence[pa.Table], punctuation: Punctuation, wanted: Mask
    ) -> dict[int, pa.Table]:
        """Return the windows of some members that close, by the place of the member."""
        sweeps = np.array(
            [all(map(sweepable, shape.accumulators)) for shape in self.members.shapes]
        )[self.members.shape_of]
        swept, single = sweeps & wanted, ~sweeps & wanted
        answers = SweptAnswers(self.axis, self.bound_type, self.members, swept)
        together = answers.close(CellChunks.of(self.layout, tables), punctuation)
        results = {place: part for table in together for place, part in table.by_member()}
        if single.any():
            cells = self.layout.loaded(tables)
            one_by_one = MemberWindows(self.axis, self.bound_type, self.layout, self.members)
            results |= one_by_one.close(cells, punctuation, np.flatnonzero(single))
        return results

    @cached_property
    def _no_results(self) -> list[pa.Table]:
        """The results of each shape, without rows."""
        schemas = [shape.schema(self.keys, self.bound_type) for shape in self.members.shapes]
        return [schema.empty_table() for schema in schemas]
