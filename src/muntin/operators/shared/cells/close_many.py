"""Closing the windows of all members at once, by sweeps over the cells.

Members with the same calls are answered by one table, so that nothing is done member by member but
to cut it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Count
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.set_sweeps import CellRuns, SweptWindows
from muntin.kernels.ticks import from_ticks
from muntin.operators.protocol import Punctuation
from muntin.operators.shared.cells.cell_chunks import CellChunks
from muntin.operators.shared.cells.sweep_windows import ClosingWindows, KeyLists
from muntin.operators.shared.cells.swept_values import Reduced, SweptColumn, swept
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Members
from muntin.specs.axis import Axis

#: A vector of a sweep has about this many entries or fewer; more keys are swept in turns.
_ENTRIES = 2**20
#: The accumulator that counts the rows of a cell.
_ROWS = Count(())
_NONE = np.empty(0, np.int64)
#: No cells: a sweep finishes its windows.
_END = CellRuns(_NONE, _NONE, _NONE, _NONE, _NONE)


@dataclass(frozen=True)
class SweptCells:
    """Cells, the windows that close over them, and which sets each member wants."""

    cells: CellChunks
    windows: ClosingWindows
    wanted: MemberSets

    def combined(self, accumulator: Accumulator, chosen: Mask, places: Ints) -> list[pa.Array]:
        """Return an accumulator for some results of the chosen members, given their places."""
        names = self.cells.layout.names_of(accumulator)
        values = swept(accumulator, self.cells.columns(names))
        reduced = [self._reduced(column, chosen) for column in values.columns]
        return values.restore([[part[places] for part in parts] for parts in reduced])

    def _reduced(self, column: SweptColumn, chosen: Mask) -> Reduced:
        reduced = column.start(int(self.windows.base[-1]))
        for lap in range(self.windows.laps):
            for sign in (-1, 1):
                windows = self.windows.sweep(lap, sign, self.wanted, chosen)
                if len(windows.turn):
                    for keys in self._blocks:
                        self._sweep(column, windows, sign, keys, reduced)
        return reduced

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        """Stretches of keys that are swept at once."""
        count, width = self.cells.keys.num_rows, len(self.cells.sets)
        most = max(1, _ENTRIES // width)
        return [(low, min(count, low + most)) for low in range(0, count, most)]

    def _sweep(
        self,
        column: SweptColumn,
        windows: SweptWindows,
        sign: int,
        keys: tuple[int, int],
        reduced: Reduced,
    ) -> None:
        """Sweep over all chunks for some keys."""
        width = len(self.cells.sets)
        vector = column.start(width * (keys[1] - keys[0]))
        stop = windows.stop[windows.list_of]
        reached = np.concatenate([[0], windows.stop[:-1]])[windows.list_of]
        shared = (windows, *keys, width, reached, *vector, *reduced)
        chunks = [*enumerate(self.cells.runs)]
        for place, runs in chunks if sign > 0 else reversed(chunks):
            if not np.any(reached[slice(*keys)] < stop[slice(*keys)]):
                return
            sets = self.cells.chunks[place].set_places
            column.sweep(sign, *column.chunks[place], sets, runs, *shared)
        column.sweep(sign, *column.start(0), np.empty(0, np.int32), _END, *shared)


@dataclass(frozen=True)
class AnswerTable:
    """The results of members with the same calls, sorted by member."""

    results: pa.Table
    member: Ints

    def by_member(self) -> Iterator[tuple[int, pa.Table]]:
        """Cut the results by member."""
        starts = np.flatnonzero(np.diff(self.member, prepend=-1))
        for start, stop in itertools.pairwise([*starts.tolist(), len(self.member)]):
            yield int(self.member[start]), self.results.slice(start, stop - start)


@dataclass(frozen=True)
class SweptAnswers:
    """Makes the answers of the chosen members from what sweeps make of cells."""

    axis: Axis
    bound_type: pa.DataType
    members: Members
    chosen: Mask

    def close(self, cells: CellChunks, punctuation: Punctuation) -> list[AnswerTable]:
        """Return the windows of the chosen members that close in a step."""
        if not cells.chunks or not self.chosen.any():
            return []
        lists = KeyLists.of(self.members, cells.keys, punctuation)
        windows = ClosingWindows.of(self.members, lists, cells.panes, self.chosen)
        if not len(windows):
            return []
        wanted = self.members.wanting(cells.sets).transposed(len(self.members))
        swept_cells = SweptCells(cells, windows, wanted)
        every = np.arange(windows.base[-1])
        (rows,) = swept_cells.combined(_ROWS, self.chosen, every)
        some = np.flatnonzero(rows.to_numpy() > 0)
        window = windows.window_of_result
        key = windows.key_of_result(window)[some]
        shape = self.members.shape_of[windows.member[window[some]]]
        found = _Found(windows, window[some], cells.keys, key, some, shape, rows)
        columns = self._columns(swept_cells, found)
        return [
            self._answers(place, found, columns, punctuation)
            for place in np.unique(found.shape).tolist()
        ]

    def _columns(self, cells: SweptCells, found: _Found) -> dict[Accumulator, _PlacedColumns]:
        """Return the accumulators of the members that have results."""
        wanting: dict[Accumulator, list[int]] = {}
        for number in np.unique(found.shape).tolist():
            for accumulator in self.members.shapes[number].accumulators:
                wanting.setdefault(accumulator, []).append(number)
        columns = {}
        for accumulator, shapes in wanting.items():
            chosen = self.chosen & np.isin(self.members.shape_of, shapes)
            places = found.place[np.isin(found.shape, shapes)]
            if isinstance(accumulator, Count) and cells.cells.equal(accumulator, _ROWS):
                # No cell has a null, so the rows are counted already.
                parts = [found.rows.take(pa.array(places))]
            else:
                parts = cells.combined(accumulator, chosen, places)
            columns[accumulator] = _PlacedColumns(places, parts)
        return columns

    def _answers(
        self,
        place: int,
        found: _Found,
        columns: Mapping[Accumulator, _PlacedColumns],
        punctuation: Punctuation,
    ) -> AnswerTable:
        """Return the results of all members of a shape."""
        shape = self.members.shapes[place]
        own = np.flatnonzero(found.shape == place)
        window = found.window[own]
        start, end = found.windows.start[window], found.windows.end[window]
        complete = np.ones(len(own), np.bool_)
        if punctuation.ended and punctuation.largest is not None:
            complete = end <= punctuation.largest
        if shape.unfinished == "drop" and not complete.all():
            own, start, end = own[complete], start[complete], end[complete]
        parts = {a: columns[a].at(found.place[own]) for a in shape.accumulators}
        keys = found.keys.take(pa.array(found.key[own]))
        arrays = [*(column.combine_chunks() for column in keys.columns)]
        arrays += [from_ticks(ticks, self.axis, self.bound_type) for ticks in (start, end)]
        if shape.unfinished == "flag":
            arrays.append(pa.array(complete))
        arrays += [bound.finish([parts[a] for a in bound.accumulators]) for bound in shape.bound]
        member = found.windows.member[found.window[own]]
        schema = shape.schema(keys.schema.types, self.bound_type)
        return AnswerTable(pa.Table.from_arrays(arrays, schema=schema), member)


@dataclass(frozen=True)
class _Found:
    """The results with rows: their windows, keys and shapes, and their places among all results.

    ``rows`` has the number of rows of all results.
    """

    windows: ClosingWindows
    window: Ints
    keys: pa.Table
    key: Ints
    place: Ints
    shape: Ints
    rows: pa.Array


@dataclass(frozen=True)
class _PlacedColumns:
    """The columns of an accumulator for some results, given their places among all results."""

    places: Ints
    parts: Sequence[pa.Array]

    def at(self, places: Ints) -> list[pa.Array]:
        """Return the columns for some of the results."""
        if len(places) == len(self.places):
            return [*self.parts]
        rows = pa.array(np.searchsorted(self.places, places))
        return [part.take(rows) for part in self.parts]
