"""Windows over the rows of a key in their order, by cells.

Rows whose order is final are lifted into cells; rows that will always be in the same windows share
a cell. A cut returns which stretches of cells are windows. Both ends of these stretches only move
forward, so the constant-time kernels that slide over panes slide over cells too.
docs/decisions/0009-rows-held-until-final.md compares this with the bins of [Window-ids 6].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.grouping import KeyedTables, key_and_pane
from muntin.kernels.row_windows import stretches
from muntin.kernels.ticks import to_ticks
from muntin.operators.aggregation.combine_accumulators import slide
from muntin.operators.common.buckets import PENDING
from muntin.operators.protocol import Changes, ChunkKey, MemoryState, State, ints, open_rows
from muntin.operators.rows.cut import Cutting, HeldRows, Progressed, Run
from muntin.operators.rows.ordered_rows import MEMORY, OrderedRowsOperator
from muntin.operators.windows.panes import Cells

CELLS = "cells"
#: A step appends its cells as one more chunk. At this many chunks, they are rewritten as one.
_CHUNKS = 32


@dataclass(frozen=True)
class RowWindowOperator(OrderedRowsOperator):
    """Windows that a cut makes from the rows of each key, with their aggregates."""

    @cached_property
    def cells(self) -> Cells:
        """Cells whose numbers come from the cut."""
        return Cells(self.keys, self.calls)

    @cached_property
    def result_types(self) -> list[pa.DataType]:
        return [bound.type for bound in self.cells.bound]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of state, all of them by key."""
        return (PENDING, CELLS, MEMORY)

    @property
    def rests(self) -> bool:
        """True if nothing happens to a key without a row of it, and nobody asks what is open."""
        return not self.tells_open

    def telling_open(self) -> Self:
        """Return the same operator, whose steps tell where the next window may begin."""
        return replace(self, tells_open=True)

    def tidied(self, state: MemoryState) -> dict[str, pa.Table]:
        """Return all that is kept, each table as a whole, without the cells that no key needs."""
        whole = {name: state.whole(name) for name in self.tables if state.buckets(name)}
        if CELLS in whole and MEMORY in whole:
            memory, cells = whole[MEMORY], whole[CELLS]
            keyed = KeyedTables.of(self.by_names, [memory, cells])
            needed = keyed.spread(0, memory["needed"], EVER)[keyed.numbers[1]]
            whole[CELLS] = cells.filter(pa.array(ints(cells["pane"]) >= needed))
        return whole

    def open_counts(self, changes: Changes) -> Mapping[ChunkKey, int]:
        return open_rows(changes, CELLS)

    def kept(self, state: State) -> pa.Table:
        return self.read(state, CELLS, self.cells.schema)

    def _report(
        self,
        state: State,
        keyed: KeyedTables,
        held: pa.Table,
        run: Run,
        final: pa.Table,
        keys: Progressed,
    ) -> tuple[pa.Table, Changes, Cutting, int]:
        live, key, cutting, changes, between = self._advance(state, keyed, held, run, final, keys)
        if self.tells_open and self.by_rank:
            cutting = replace(cutting, since=self._since(live, key, cutting, len(keyed)))
        return self._results(live, key, cutting, len(keyed)), changes, cutting, between

    def _since(self, live: pa.Table, key: Ints, cutting: Cutting, keys: int) -> Ints:
        """Return the order of the first row of each key that a later window may need."""
        since = np.full(keys, EVER)
        needed = ints(live["pane"]) >= cutting.needed[key]
        # The first accumulator of the first call has the `on` of the cell's first row.
        on = live[self.cells.columns_of(0)[1]].filter(pa.array(needed)).combine_chunks()
        np.minimum.at(since, key[needed], to_ticks(on, self.axis).order)
        return since

    def _advance(
        self,
        state: State,
        keyed: KeyedTables,
        held: pa.Table,
        run: Run,
        final: pa.Table,
        keys: Progressed,
    ) -> tuple[pa.Table, Ints, Cutting, Changes, int]:
        """Return live cells with their keys, the cutting, changes, and the rows in no window."""
        new, new_key, between = self._lift(run, final, keys)
        live, key = self._live(keyed, held, keys, new, new_key)
        cutting = self.cut.windows(run, keys, self._held(live, key, len(keyed)))
        changes = self._remember(state, held, keyed.numbers[2], new, new_key, cutting)
        if cutting.settled is not None or len(state.buckets(CELLS)) >= _CHUNKS:
            changes |= self._rewrite(state, live, key, cutting)
        return live, key, cutting, changes, between

    def answers(
        self,
        state: State,
        keyed: KeyedTables,
        held: pa.Table,
        run: Run,
        final: pa.Table,
        keys: Progressed,
    ) -> tuple[list[pa.Array], Changes]:
        """Return the results of the windows of a cut, in its order, and changes of the state.

        Every window holds a row, and no groups.
        """
        live, key, cutting, changes, _ = self._advance(state, keyed, held, run, final, keys)
        if not len(cutting.key):
            return [pa.array([], type_) for type_ in self.result_types], changes
        _, window, results = self._of_windows(live, key, cutting, len(keyed))
        in_order = pa.array(np.argsort(window))
        return [result.take(in_order) for result in results], changes

    def _lift(self, run: Run, final: pa.Table, keys: Progressed) -> tuple[pa.Table, Ints, int]:
        """Return rows as cells, the keys of the cells, and how many rows are in no window."""
        number = self.cut.number(run, keys)
        inside = np.flatnonzero(number != NEVER)
        if len(inside) < len(run):
            final, number = final.take(pa.array(inside)), number[inside]
        place = run.rank if self.by_rank else run.order
        lifted = self.cells.lifted(final, place[inside], number)
        key = run.key[inside]
        groups = key_and_pane(*self._codes(lifted, key), number)
        if len(groups) < len(number):
            columns = [column.combine_chunks() for column in lifted.columns]
            lifted, key = self.cells.grouped(columns, groups), key[groups.member]
        return lifted, key, len(run) - len(inside)

    def _live(
        self, keyed: KeyedTables, cells: pa.Table, keys: Progressed, new: pa.Table, new_key: Ints
    ) -> tuple[pa.Table, Ints]:
        """Return the cells that a window may still need, by key and number; and their keys."""
        needed = keys.memory["needed"][keyed.numbers[2]]
        live = np.flatnonzero(ints(cells["pane"]) >= needed)
        old = cells.drop_columns(["chunk"]).take(pa.array(live))
        stacked = pa.concat_tables([old, new])
        key = np.concatenate([keyed.numbers[2][live], new_key])
        groups = key_and_pane(*self._codes(stacked, key), ints(stacked["pane"]))
        if len(groups) == stacked.num_rows:
            if np.all(groups.member[1:] > groups.member[:-1]):
                return stacked, key  # sorted already
            return stacked.take(pa.array(groups.member)), key[groups.member]
        columns = [column.combine_chunks() for column in stacked.columns]
        return self.cells.grouped(columns, groups), key[groups.member]

    def _codes(self, cells: pa.Table, key: Ints) -> tuple[Ints, int]:
        """Return a number for each cell, equal in a key and group, and how many there may be."""
        if self.ranked_keys == len(self.keys):
            return key, int(key.max()) + 1 if len(key) else 1
        return self.cells.codes(cells)

    def _held(self, live: pa.Table, key: Ints, keys: int) -> HeldRows | None:
        """Return the rows of each key by rank; None if the cut does not use them.

        Every cell is then a single row.
        """
        if not self.cut.holds_rows:
            return None
        rank = ints(live["pane"])
        place = np.lexsort((rank, key))
        starts = np.searchsorted(key[place], np.arange(keys + 1))
        # The first accumulator of the first call has the `on` of the cell's first row.
        on = live[self.cells.columns_of(0)[1]].combine_chunks().take(pa.array(place))
        return HeldRows(starts.astype(np.int64), rank[place], to_ticks(on, self.axis).order)

    def _remember(
        self,
        state: State,
        cells: pa.Table,
        cell_key: Ints,
        new: pa.Table,
        new_key: Ints,
        cutting: Cutting,
    ) -> Changes:
        """Write new cells as one more chunk, and delete chunks with no cell that a key needs."""
        needed = ints(cells["pane"]) >= cutting.needed[cell_key]
        in_use = set(ints(cells["chunk"])[needed].tolist())
        chunks = state.buckets(CELLS)
        changes: Changes = {(CELLS, chunk): None for chunk in chunks if chunk not in in_use}
        kept = new.filter(pa.array(ints(new["pane"]) >= cutting.needed[new_key]))
        if kept.num_rows:
            changes[CELLS, max(chunks, default=-1) + 1] = kept
        return changes

    def _rewrite(self, state: State, live: pa.Table, key: Ints, cutting: Cutting) -> Changes:
        """Write all cells as one chunk; cells that will always be together become one."""
        number = ints(live["pane"])
        kept = number >= cutting.needed[key]
        live, number, key = live.filter(pa.array(kept)), number[kept], key[kept]
        if cutting.settled is not None:
            together = number < cutting.settled[key]
            number = np.where(together, cutting.needed[key], number)
            place = live.schema.get_field_index("pane")
            live = self.cells.merge([live.set_column(place, "pane", pa.array(number))])
        chunks = state.buckets(CELLS)
        changes: Changes = {(CELLS, chunk): None for chunk in chunks}
        following = max(chunks, default=-1) + 1
        changes[CELLS, following] = live if live.num_rows else None
        return changes

    def _results(self, live: pa.Table, key: Ints, cutting: Cutting, keys: int) -> pa.Table:
        """Return the windows of every group that hold a cell."""
        if not len(cutting.key) or not live.num_rows:
            return self.result_schema.empty_table()
        cell, window, results = self._of_windows(live, key, cutting, keys)
        arrays = [live[name].combine_chunks().take(pa.array(cell)) for name in self.key_names]
        arrays += [self.bound(bound[window]) for bound in (cutting.start, cutting.end)]
        hidden = 2 if self.by_rank else 0
        arrays += results[:hidden]
        complete = cutting.complete[window]
        if self.unfinished == "flag":
            arrays.append(pa.array(complete))
        table = pa.Table.from_arrays([*arrays, *results[hidden:]], schema=self.result_schema)
        return table.filter(pa.array(complete)) if self.unfinished == "drop" else table

    def _of_windows(
        self, live: pa.Table, key: Ints, cutting: Cutting, keys: int
    ) -> tuple[Ints, Ints, list[pa.Array]]:
        """Return for each group of each window its first cell, the window, and the results."""
        codes, _ = self._codes(live, key)
        starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1)).astype(np.int64)
        row, window, low, high = self._stretches(live, starts, key[starts], cutting, keys)
        columns = [column.combine_chunks() for column in live.columns]
        slid = {
            accumulator: slide(accumulator.kind, parts, low, high)
            for accumulator, parts in self.cells.by_accumulator(columns[len(self.keys) + 1 :])
        }
        results = [b.finish([slid[a] for a in b.accumulators]) for b in self.cells.bound]
        return starts[row], window, results

    def _stretches(
        self, live: pa.Table, starts: Ints, run_key: Ints, cutting: Cutting, keys: int
    ) -> tuple[Ints, Ints, Ints, Ints]:
        key_windows = np.searchsorted(cutting.key, np.arange(keys + 1)).astype(np.int64)
        ends = np.append(starts, live.num_rows)
        arguments = ends, run_key, ints(live["pane"]), key_windows, cutting.low, cutting.high
        none = np.empty(0, np.int64)
        count = stretches(*arguments, none, none, none, none)
        filled = [np.empty(count, np.int64) for _ in range(4)]
        stretches(*arguments, *filled)
        return filled[0], filled[1], filled[2], filled[3]
