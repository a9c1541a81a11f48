"""Frames whose end a sketch or a user's own aggregate decides, found row by row.

Kernels know few aggregates. Of the others it is enough that what they keep is bounded: a partial
row of the open frame is remembered with its record. Rows are applied one after the other, as
kernels do, with answers that are computed for many rows at once. It is slower, and gives the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.binding import Call
from muntin.operators.columns import key_fields
from muntin.operators.frames.contents import Contents, Joined
from muntin.operators.frames.meeting import meets
from muntin.operators.frames.memory import Memory
from muntin.operators.frames.moment import Moment
from muntin.operators.frames.operator import Frames
from muntin.operators.frames.rows import Rows
from muntin.operators.kernels.framing import MOST
from muntin.operators.kernels.records import (
    EXTENDS,
    EXTENDS_LAST,
    FOUND,
    OPEN,
    OPENS,
    OPENS_LAST,
    REAL,
    is_open,
)
from muntin.operators.kernels.walking import walk

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
#: For so many rows of a frame answers are computed at once, and then for twice as many.
_AT_ONCE = 16


@dataclass(frozen=True)
class Measured(Frames):
    """``call``, of what is read of rows, is compared with ``limit``."""

    call: Call | None = None
    sign: str = ">"
    limit: Decimal = Decimal(0)

    @cached_property
    def measuring(self) -> Contents:
        """The aggregate that decides; only rows that have a value count for it."""
        assert self.call is not None
        return Contents(self.axis, self.keys, (self.call,), self.lateness_type)

    @cached_property
    def _partial(self) -> list[pa.Field]:
        """The columns of what is remembered of the aggregate."""
        return list(self.measuring.cells.schema)[len(self.keys) + 1 :]

    @cached_property
    def memory(self) -> Memory:
        return Memory(tuple(key_fields(self.keys)), (*super().memory.also, *self._partial))

    def meets(self, cells: pa.Table, low: Ints, high: Ints) -> Mask:
        """For which stretches of cells the condition holds."""
        if not len(low):
            return np.zeros(0, np.bool_)
        (values,) = self.measuring.of_stretches(cells, low, high)
        return meets(values, self.sign, self.limit)

    def _walk(
        self, now: Moment, rows: Rows, records: np.ndarray
    ) -> tuple[np.ndarray, dict[str, pa.Array]]:
        joined = self._joined(now, rows, records)
        found = _ByRow(self, rows, joined, records).run(now.ended)
        cells, opened = self.measuring.kept(joined, records)
        row = np.full(len(now.keyed), -1, np.int64)
        row[opened] = np.arange(len(opened))
        place = pa.array(row, pa.int64(), mask=row < 0)
        kept = {one.name: cells[one.name].combine_chunks().take(place) for one in self._partial}
        return found, kept

    def _joined(self, now: Moment, rows: Rows, records: np.ndarray) -> Joined:
        """What is remembered of open frames, and the rows that have a value."""
        real = np.flatnonzero(rows.what == REAL)
        source = real if rows.source is None else rows.source[real]
        assert self.call is not None
        slots = {f"f{place}": f"s{place}" for place in self.call.slots}
        table = rows.table.select([*self.key_names, "order", *slots]).take(pa.array(source))
        table = table.rename_columns([slots.get(name, name) for name in table.column_names])
        of = np.full(len(rows), -1, np.int64)
        of[real] = np.arange(len(real))
        opened = np.flatnonzero(is_open(records))
        columns = [now.keyed.keys[name].combine_chunks() for name in self.key_names]
        columns.append(pa.array(np.zeros(len(now.keyed), np.int64)))
        for one in self._partial:
            columns.append(self.memory.spread(now.keyed, now.remembered, one.name))
        every = pa.Table.from_arrays(columns, schema=self.measuring.cells.schema)
        with_value = Rows(rows.starts, rows.order, rows.what, table, of)
        kept = every.take(pa.array(opened))
        return Joined.of(self.measuring, len(now.keyed), kept, opened, with_value)


@dataclass
class _ByRow:
    """The framing function applied to one row after the other, each with its answer."""

    work: Measured
    rows: Rows
    joined: Joined
    records: np.ndarray
    #: The frame that answers are known for, by its key and first row, up to which row, and them.
    frame: tuple[int, int] = (-1, -1)
    until: int = 0
    width: int = _AT_ONCE
    met: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))

    def run(self, ended: bool) -> np.ndarray:
        rows, records = self.rows, self.records
        self.met = np.zeros(len(rows), np.bool_)
        said = self._alone()
        _, order, what, opens, counts, _, real, weight, reach, gap = rows.arrays
        room, parts = np.zeros(2 * MOST, FOUND), [np.zeros(0, FOUND)]

        def apply(key: int, row: int, stop: int, over: bool) -> None:
            at, place = np.array([row, stop], np.int64), np.array([0, row], np.int64)
            given = self.work.record, at, order, what, opens, counts, said, real, weight, reach
            n = walk(*given, gap, int(over), records[key : key + 1], room, place)
            if n:
                parts.append(room[:n].copy())
                parts[-1]["key"] = key

        for key in range(len(records)):
            first, stop = int(rows.starts[key]), int(rows.starts[key + 1])
            for row in range(first, stop):
                if what[row] == REAL and records["mode"][key] == OPEN:
                    said[row] |= self._together(key, row, stop)
                apply(key, row, row + 1, over=False)
            if ended:
                apply(key, stop, stop, over=True)
        return np.concatenate(parts)

    def _alone(self) -> Ints:
        """What each row is to a frame that it would open."""
        made = np.zeros(len(self.rows), np.int64)
        real = np.flatnonzero(self.rows.what == REAL)
        key = np.searchsorted(self.rows.starts, real, side="right") - 1
        met = self.work.meets(self.joined.cells, *self.joined.stretch(key, real, real + 1))
        if self.work.record["minimal"][0]:
            made[real] = np.where(met, OPENS | OPENS_LAST, OPENS)
        else:
            made[real] = np.where(met, OPENS, 0)
        return made

    def _together(self, key: int, row: int, stop: int) -> int:
        """What a row is to the open frame."""
        frame = key, int(self.records["low"][key])
        if frame != self.frame:
            self.frame, self.until, self.width = frame, row, _AT_ONCE
        if row >= self.until:
            self._look_ahead(*frame, row, stop)
        if self.work.record["minimal"][0]:
            return EXTENDS | EXTENDS_LAST if self.met[row] else EXTENDS
        return EXTENDS if self.met[row] else 0

    def _look_ahead(self, key: int, low: int, row: int, stop: int) -> None:
        """Whether the condition holds for the frame up to each of the next rows."""
        self.until = min(row + self.width, stop)
        self.width *= 2
        ahead = row + np.flatnonzero(self.rows.what[row : self.until] == REAL)
        same = np.full(len(ahead), 1, np.int64)
        stretches = self.joined.stretch(key * same, low * same, ahead + 1)
        self.met[ahead] = self.work.meets(self.joined.cells, *stretches)
