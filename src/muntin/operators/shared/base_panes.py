"""Base panes: panes that a stream keeps whatever queries there are, so that new ones begin full.

There is one cell for each key of the stream and pane of the grain, with the usual accumulators of
its columns. A cell of rows that came after their pane was complete is kept apart, with the
punctuation that they came after. So a new query can answer every window of the past as it would
have then: with the late rows that it would have taken, and without those that it would have
refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import EngineError
from muntin.kernels.arrays import NEVER, Ints
from muntin.operators.common.buckets import BucketedTable
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation, State, forget, ints
from muntin.operators.shared.cells.cell_store import CELLS
from muntin.operators.shared.cells.set_cells import SetCellLayout, SetCells
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import (
    Birth,
    GroupInput,
    GroupStep,
    RoutedInput,
    WantedRows,
)
from muntin.operators.shared.shared_windows import SharedWindows
from muntin.operators.shared.window_group import WindowGroup, edges_of

#: The number under which the birth of the base panes is kept; no member has it.
BASE = 0
_PANES = "panes"
#: A chunk has so many panes of each key. It must not depend on how far back panes are kept, which
#: may change from start to start.
_CHUNK_PANES = 64


@dataclass(frozen=True)
class BegunWithPanes:
    """What a new query has of base panes: results of the past, its cells, and since when."""

    results: Sequence[pa.Table]
    cells: Sequence[pa.Table]
    birth: Birth


@dataclass(frozen=True)
class BasePanes:
    """The base panes of a stream, as a group without members.

    ``program`` has windows over all rows of the stream, by its keys. Their slide is the grain, and
    their range is how far back panes are kept.
    """

    program: QueryProgram

    @property
    def name(self) -> str:
        return "base"

    @property
    def members(self) -> Sequence[int]:
        return ()

    @cached_property
    def windows(self) -> WindowGroup:
        """The windows that the panes are cut for, as a group of their own."""
        return WindowGroup((self.program.numbered(BASE),))

    @property
    def _layout(self) -> SetCellLayout:
        return self.windows.windows.layout

    @property
    def inputs(self) -> Sequence[GroupInput]:
        return self.windows.inputs

    @property
    def _grain(self) -> int:
        return edges_of(self.program).slide

    @property
    def _origin(self) -> int:
        return edges_of(self.program).origin

    @property
    def _keep(self) -> int:
        return edges_of(self.program).range

    def route(self, rows: pa.Table, wanted: WantedRows, of: int = 0) -> Sequence[RoutedInput]:
        return [RoutedInput(0, part.routed) for part in self.windows.route(rows, wanted, of)]

    def route_of(self, member: int, source: int, rows: pa.Table) -> RoutedInput:
        raise AssertionError(member)  # it has no members, so none with a budget

    def merge(self, source: int, partials: Sequence[pa.Table]) -> pa.Table:
        return self.windows.merge(source, partials)

    def step(
        self,
        state: State,
        inputs: Sequence[InputBatch],
        births: Mapping[int, Birth],
        shards: int,
        planted: Sequence[pa.Table] = (),
    ) -> GroupStep:
        (batch,) = inputs
        now = batch.punctuation
        if now.ended:
            return GroupStep({}, forget(state, _PANES))
        size = self._grain * _CHUNK_PANES
        first = -(2**62) if now.after is None else (now.after - self._keep) // size
        cells = self._with_lag(self._layout.merged(batch.partials).table, now.before)
        touched = np.unique(ints(cells["pane"]) // size)
        stored = {*state.buckets(_PANES)}
        kept = [state.read(_PANES, bucket) for bucket in touched.tolist() if bucket in stored]
        merged = self._layout.cells.merge([cells, *kept])
        changed = touched[touched >= first].tolist()
        changes = BucketedTable(state, _PANES).write(merged, ints(merged["pane"]) // size, changed)
        changes |= {(_PANES, bucket): None for bucket in stored if bucket < first}
        return GroupStep({}, changes)

    def _with_lag(self, cells: pa.Table, before: int | None) -> pa.Table:
        """Return new cells with the last edge that was complete before they came.

        Cells whose own pane was not complete then are in time for every window.
        """
        pane = ints(cells["pane"])
        lag: Ints = np.full(len(pane), NEVER)
        if before is not None:
            lag[pane + self._grain <= before] = self._edge(before)
        place = cells.schema.get_field_index(self._layout.set_name)
        return cells.set_column(place, self._layout.set_name, pa.array(lag))

    def _edge(self, tick: int) -> int:
        """Return the last edge at or before a tick."""
        return tick - (tick - self._origin) % self._grain

    def begin(
        self, state: State, program: QueryProgram, birth: Birth, reached: int | None
    ) -> BegunWithPanes:
        """Return what a query has of the panes before a micro-batch, whose births are ``birth``."""
        windows = WindowGroup((program,)).windows
        chunks = [state.read(_PANES, bucket) for bucket in state.buckets(_PANES)]
        panes = self._layout.cells.merge(chunks)
        if reached is not None:
            first = self._edge(reached - self._keep + self._grain - 1)
            panes = panes.filter(pa.array(ints(panes["pane"]) >= first))
            largest = first - 1 if birth.largest is None else max(birth.largest, first - 1)
            birth = Birth(birth.punctuation, largest)
        own = MemoryState()
        results = self._replayed(windows, own, panes, reached)
        cells = [chunk for (table, _), chunk in own.chunks.items() if table == CELLS]
        return BegunWithPanes(results, cells, birth)

    def _replayed(
        self, windows: SharedWindows, own: MemoryState, panes: pa.Table, reached: int | None
    ) -> list[pa.Table]:
        """Let the windows of a query see all panes in the order in which punctuation came."""
        (number,) = windows.members.numbers.tolist()
        lag = ints(panes[self._layout.set_name])
        lags = np.unique(lag[lag != NEVER]).tolist()
        results = []
        before: int | None = None
        for place, this in enumerate([NEVER, *lags]):
            after = lags[place] if place < len(lags) else reached
            arrived = self._of_member(panes.filter(pa.array(lag == this)), number)
            batch = InputBatch([arrived], Punctuation(before, after, None))
            step = windows.step(own, batch)
            if step.failed:
                raise EngineError(f"over history it raises {step.failed[number]}")
            own.apply(step.changes)
            results.append(step.answers[number].results)
            before = after
        return results

    def _of_member(self, panes: pa.Table, number: int) -> pa.Table:
        """Return panes as cells of a member."""
        sets = MemberSets(np.array([0, 1]), np.array([number]))
        place = panes.schema.get_field_index(self._layout.set_name)
        zeros = pa.array(np.zeros(panes.num_rows, np.int64))
        table = panes.set_column(place, self._layout.set_name, zeros)
        return self._layout.lasting(SetCells(table.combine_chunks(), sets.packed))
