"""Frames by a condition on aggregates that kernels do not compute: row by row in Python.

The accumulators of the open frame are remembered with its record. The framing function is applied
row by row, and the answers about rows are computed for many rows and keys at once. That is slower
than a kernel, and finds the same frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.expressions.nodes import Node
from muntin.expressions.values import Numbers, Value
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames.records import (
    COMPLETE,
    EXTENDS,
    EXTENDS_LAST,
    FOUND,
    INTERVAL,
    NOWHERE,
    OPEN,
    OPENS,
    OPENS_LAST,
    REAL,
    is_open,
    row_columns,
)
from muntin.kernels.frames.step import MOST
from muntin.kernels.frames.walk import walk
from muntin.kernels.numbers.order_keys import order_doubles
from muntin.operators.frames.frame_aggregates import (
    FrameAggregates,
    JoinedCells,
    is_true,
    value_of,
)
from muntin.operators.frames.key_memory import KeyMemory, StepContext
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import OrderedRows
from muntin.operators.protocol import key_fields
from muntin.specs.axis import Axis, Domain

#: The first number of rows for which answers are computed at once; it then doubles.
_AT_ONCE = 16
#: No frame has answers yet; -1 is a frame that began before these rows.
_NONE = -2


#: The number of decimals of a duration; the decimals of other columns are those of their axis.
_DECIMALS = {Domain.TIMESTAMP: 6, Domain.TIMESTAMP_NTZ: 6, Domain.DATE: 0}


def duration_type(axis: Axis) -> pa.DataType:
    """Return the type of the duration of frames along an axis."""
    if axis.domain is Domain.DOUBLE:
        return pa.float64()
    return pa.decimal128(38, _DECIMALS.get(axis.domain, axis.digits))


@dataclass(frozen=True)
class AggregateRowByRow(FrameOperator):
    """Frames by a condition on aggregates of the kind's operands.

    The slots of ``where`` are the results of ``deciding``, and then, if ``reads_duration``, the
    duration of the frame. If ``as_numbers``, true is compared as 1 and false as 0.
    """

    deciding: tuple[AggregateCall, ...] = ()
    where: Node | None = None
    reads_duration: bool = False
    as_numbers: bool = False

    @cached_property
    def measuring(self) -> FrameAggregates:
        """The aggregates that decide about frames; only rows with a value count for them.

        If the duration is read, the last two are the first and the last place along ``on``.
        """
        calls = self.deciding
        if self.reads_duration:
            place = (len(self.kind.types),)
            calls += tuple(
                AggregateCall(function, f"{function}(on)", place, (pa.int64(),), True)
                for function in ("min", "max")
            )
        return FrameAggregates(self.axis, self.keys, calls, self.lateness_type)

    @property
    def is_bounded(self) -> bool:
        """True if an open frame keeps no more than a few numbers for its aggregates."""
        bound = self.measuring.cells.bound
        return all(accumulator.bounded for each in bound for accumulator in each.accumulators)

    @cached_property
    def _partial(self) -> list[pa.Field]:
        """The columns that are remembered about the aggregates."""
        return list(self.measuring.cells.schema)[len(self.keys) + 1 :]

    @cached_property
    def memory(self) -> KeyMemory:
        return KeyMemory(tuple(key_fields(self.keys)), (*super().memory.also, *self._partial))

    def meets(self, cells: pa.Table, low: Ints, high: Ints) -> Mask:
        """Return for which stretches of cells the condition holds."""
        if not len(low):
            return np.zeros(0, np.bool_)
        results = self.measuring.of_stretches(cells, low, high)
        values = [self._value(result) for result in results[: len(self.deciding)]]
        if self.reads_duration:
            values.append(self._duration(results[-2], results[-1]))
        assert self.where is not None
        return is_true(self.where, values, len(low))

    def _value(self, result: pa.Array) -> Value:
        is_truth = self.as_numbers and pa.types.is_boolean(result.type)
        return value_of(result.cast(pa.int64()) if is_truth else result)

    def _duration(self, first: pa.Array, last: pa.Array) -> Numbers:
        """Return how far frames reach along ``on``; every frame has a row with a value."""
        start, end = (np.ascontiguousarray(order.to_numpy()) for order in (first, last))
        known = np.ones(len(start), np.bool_)
        if self.axis.domain is Domain.DOUBLE:
            return Numbers(order_doubles(end) - order_doubles(start), known, None)
        return Numbers(end - start, known, duration_type(self.axis).scale)

    def _walk(
        self, now: StepContext, rows: OrderedRows, records: np.ndarray
    ) -> tuple[np.ndarray, dict[str, pa.Array]]:
        joined = self._joined(now, rows, records)
        frames = _CrossingByRow(self, rows, joined, records).run(now.ended)
        cells, opened = self.measuring.kept(joined, records)
        row = np.full(len(now.keyed), -1, np.int64)
        row[opened] = np.arange(len(opened))
        place = pa.array(row, pa.int64(), mask=row < 0)
        kept = {
            field.name: cells[field.name].combine_chunks().take(place) for field in self._partial
        }
        return frames, kept

    def _joined(self, now: StepContext, rows: OrderedRows, records: np.ndarray) -> JoinedCells:
        """Return the remembered cells of open frames, and the rows that have a value."""
        real = np.flatnonzero(rows.what == REAL)
        source = real if rows.source is None else rows.source[real]
        slots = {f"f{place}": f"s{place}" for place in range(len(self.kind.types))}
        table = rows.table.select([*self.key_names, "order", *slots]).take(pa.array(source))
        table = table.rename_columns([slots.get(name, name) for name in table.column_names])
        if self.reads_duration:
            table = table.append_column(f"s{len(slots)}", table["order"])
        of = np.full(len(rows), -1, np.int64)
        of[real] = np.arange(len(real))
        opened = np.flatnonzero(is_open(records))
        columns = [now.keyed.keys[name].combine_chunks() for name in self.key_names]
        columns.append(pa.array(np.zeros(len(now.keyed), np.int64)))
        for field in self._partial:
            columns.append(self.memory.spread(now.keyed, now.remembered, field.name))
        every = pa.Table.from_arrays(columns, schema=self.measuring.cells.schema)
        with_value = OrderedRows(rows.starts, rows.order, rows.what, table, of)
        kept = every.take(pa.array(opened))
        return JoinedCells.of(self.measuring, len(now.keyed), kept, opened, with_value)


class _CrossingByRow:
    """Applies the framing function row by row, each row with an answer.

    A key goes on until it needs more answers about its open frame. They are then computed for all
    keys in one call, which takes little longer than for one key.
    """

    def __init__(
        self, work: AggregateRowByRow, rows: OrderedRows, joined: JoinedCells, records: np.ndarray
    ) -> None:
        self.work, self.rows, self.joined, self.records = work, rows, joined, records
        self.minimal = bool(work.record["minimal"][0])
        self.met = np.zeros(len(rows), np.bool_)
        self.answers = self._alone()
        # The kernels' columns, with the answer about a row in place of its value. They are built
        # once, because ``kernel_columns`` builds them anew each time.
        self.columns = row_columns(*rows.kernel_columns._replace(whole=self.answers))
        self.next = rows.starts[:-1].tolist()
        #: For each key: the frame with answers (its first row), the row up to which it has them,
        #: and the number of rows of its next answers.
        self.frame = np.full(len(records), _NONE)
        self.until = rows.starts[:-1].copy()
        self.width = np.full(len(records), _AT_ONCE)
        self.found = [np.zeros(0, FOUND)]

    def run(self, ended: bool) -> np.ndarray:
        waiting = list(range(len(self.records)))
        while waiting:
            waiting = [key for key in waiting if self._waits(key, ended)]
            self._look_ahead(waiting)
        frames = np.concatenate(self.found)
        return frames[np.argsort(frames["key"], kind="stable")]

    def _waits(self, key: int, ended: bool) -> bool:
        """Go on with a key; return True if it needs more answers, False if it has no more rows."""
        row_kinds, stop = self.rows.what, int(self.rows.starts[key + 1])
        while (row := self.next[key]) < stop:
            upto = row + 1
            if row_kinds[row] == REAL and self._may_grow(key):
                low = self.records["low"][key]
                if low != self.frame[key]:
                    self.frame[key], self.until[key], self.width[key] = low, row, _AT_ONCE
                if row >= self.until[key]:
                    return True
                upto = self._together(key, row, int(self.until[key]))
            self._apply(key, row, upto)
            self.next[key] = upto
        if ended:
            self._apply(key, stop, stop, over=True)
        return False

    def _may_grow(self, key: int) -> bool:
        """Return True if the next row may join the frame of a key.

        A minimal frame that is complete grows if it proves to be too short.
        """
        mode = self.records["mode"][key]
        return bool(mode == OPEN or (mode == COMPLETE and self.minimal))

    def _apply(self, key: int, row: int, stop: int, *, over: bool = False) -> None:
        room = np.zeros(2 * MOST, FOUND)
        starts, place = np.array([row, stop], np.int64), np.array([0, row], np.int64)
        starts.flags.writeable = False
        columns, record = self.columns._replace(starts=starts), self.records[key : key + 1]
        while place[0] == 0:
            n = walk(self.work.record, columns, int(over), record, room, place)
            if n:
                room["key"] = key
                self.found.append(room[:n].copy())

    def _alone(self) -> Ints:
        """Return the answer about each row for a frame that it would open."""
        answers = np.zeros(len(self.rows), np.int64)
        real = np.flatnonzero(self.rows.what == REAL)
        key = np.searchsorted(self.rows.starts, real, side="right") - 1
        met = self.work.meets(self.joined.cells, *self.joined.stretch(key, real, real + 1))
        last, outside = (OPENS | OPENS_LAST, OPENS) if self.minimal else (OPENS, 0)
        answers[real] = np.where(met, last, outside)
        return answers

    def _together(self, key: int, row: int, until: int) -> int:
        """Set the answers of rows for the open frame, from ``row`` on; return where they end.

        A kernel call costs more than its work on one row. So the next rows are applied with the
        same call if they are sure to find the same frame open.
        """
        is_sure = self._may_come_along and self.records["mode"][key] == OPEN
        upto = self._last_together(key, row, until) if is_sure else row + 1
        last, outside = (EXTENDS | EXTENDS_LAST, EXTENDS) if self.minimal else (EXTENDS, 0)
        self.answers[row:upto] |= np.where(self.met[row:upto], last, outside)
        return upto

    @cached_property
    def _may_come_along(self) -> bool:
        """True if only values end a frame: no maximum cuts it, no start, and no gap."""
        record = self.work.record[0]
        limited = record["max_count"] >= 0 or record["max_duration"] >= 0
        by_maximum = record["cut"] or (record["minimal"] and limited)
        return not (by_maximum or record["restart"] != NOWHERE or record["reading"] == INTERVAL)

    def _last_together(self, key: int, row: int, until: int) -> int:
        """Return where to stop: after a row that may end the frame, or before a missing row."""
        real, met = self.rows.what[row:until] == REAL, self.met[row:until]
        if self.minimal:
            record = self.records[key]
            counted = record["n"] + record["missed"] + record["pending"] + 1 + np.arange(len(met))
            met = met & (counted >= self.work.record["min_count"][0])
        ends = np.flatnonzero(~real | (met if self.minimal else ~met))
        if not len(ends):
            return until
        return row + int(ends[0]) + int(real[ends[0]])

    def _look_ahead(self, keys: Sequence[int]) -> None:
        """Compute whether the condition holds for open frames up to each of the next rows."""
        if not keys:
            return
        of = np.array(keys)
        row = np.array([self.next[key] for key in keys])
        self.until[of] = np.minimum(row + self.width[of], self.rows.starts[of + 1])
        self.width[of] *= 2
        count = self.until[of] - row
        ahead = np.repeat(row - np.cumsum(count) + count, count) + np.arange(count.sum())
        key = np.repeat(of, count)
        real = self.rows.what[ahead] == REAL
        ahead, key = ahead[real], key[real]
        low, high = self.joined.stretch(key, self.frame[key], ahead + 1)
        cells, shift = _gathered(self.joined.cells, key, low, high)
        self.met[ahead] = self.work.meets(cells, low - shift, high - shift)


def _gathered(cells: pa.Table, key: Ints, low: Ints, high: Ints) -> tuple[pa.Table, Ints]:
    """Return the cells that the stretches of keys cover, and how far each stretch has moved."""
    begins = np.append(True, key[1:] != key[:-1])
    first, stop = low[begins], high[np.append(begins[1:], True)]
    size = stop - first
    moved = first - np.cumsum(size) + size
    place = np.repeat(moved, size) + np.arange(size.sum())
    return cells.take(pa.array(place)), moved[np.cumsum(begins) - 1]
