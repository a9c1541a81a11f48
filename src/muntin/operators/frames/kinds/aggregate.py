"""Aggregate frames on Arrow columns: an aggregate of a frame's rows crosses a limit.

Kernels compute the aggregates that need only a few numbers (:data:`KNOWN_TO_KERNELS`). Sketches and
users' own aggregates are computed row by row (:class:`AggregateRowByRow`), and the accumulators of
the open frame are remembered with its record. The framing function is then applied row by row, and
the answers about rows are computed for many rows and keys at once. That is slower, and finds the
same frames.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames import records
from muntin.kernels.frames.kinds import AVERAGE_UNITS
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
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    FrameOperatorInputs,
    any_missing,
    check_digits,
    check_result,
    is_whole,
    nearest_doubles,
    number_columns,
    scale_of,
    signed,
)
from muntin.operators.frames.frame_aggregates import FrameAggregates, JoinedCells, meets
from muntin.operators.frames.key_memory import KeyMemory, StepContext
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import OrderedRows
from muntin.operators.protocol import key_fields
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Crossing

_FUNCTIONS = {
    "count": records.COUNT,
    "count_if": records.COUNT,
    "sum": records.SUM,
    "min": records.MIN,
    "all": records.MIN,
    "max": records.MAX,
    "any": records.MAX,
    "avg": records.AVG,
    "var_samp": records.VAR_SAMP,
    "var_pop": records.VAR_POP,
    "stddev_samp": records.STDDEV_SAMP,
    "stddev_pop": records.STDDEV_POP,
    "first": records.FIRST,
    "last": records.LAST,
    "weighted_avg": records.WEIGHTED,
}
#: The aggregates that kernels compute: they need no more than a few numbers.
KNOWN_TO_KERNELS = tuple(_FUNCTIONS)
#: Frames compute these with doubles, as Spark does.
_VARIANCES = ("var_samp", "var_pop", "stddev_samp", "stddev_pop")
_SIGNS = {"<": records.LESS, "<=": records.AT_MOST, ">": records.MORE, ">=": records.AT_LEAST}


@dataclass(frozen=True)
class ArrowAggregate(ArrowKind):
    """Reads the arguments of an aggregate; ``function`` is its name where kernels compute it."""

    function: str = ""

    @property
    def number(self) -> int:  # type: ignore[override]  # it depends on the function
        """The number of the kind: an aggregate that kernels compute, or one by answers."""
        return records.AGGREGATE if self.function else records.OWN

    @classmethod
    def arguments(cls, framing: Framing, inputs: FrameOperatorInputs) -> dict[str, Any]:
        function = _known_function(framing, inputs.read)
        return {**super().arguments(framing, inputs), "function": function}

    @property
    def value_names(self) -> Sequence[str]:
        if not self.types:
            return ("lacks",)
        if not self.function:
            return ("lacks", *(f"f{place}" for place in range(len(self.types))))
        if self.function in ("count", "count_if"):
            return ("lacks", "counts")
        value = "whole" if self.measures_whole else "real"
        weight = ("weight",) if self.function == "weighted_avg" else ()
        return ("lacks", "counts", value, *weight)

    @property
    def measures_whole(self) -> bool:
        """True if the aggregate is computed with exact integers."""
        exact = ("sum", "avg", "min", "max", "first", "last", "any", "all")
        return self.function in exact and bool(self.types) and is_whole(self.types[0])

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        if not self.function or not operands:
            return {f"f{place}": column for place, column in enumerate(operands)}
        columns = {"counts": pc.is_valid(operands[0])}
        if self.function in ("first", "last") and len(operands) == 2:
            columns["counts"] = operands[1].fill_null(False)
        if self.function in _VARIANCES:
            columns["real"] = nearest_doubles(operands[0])
        elif self.function not in ("count", "count_if"):
            columns |= number_columns(operands[0])
        if self.function == "weighted_avg":
            columns["weight"] = operands[1].cast(pa.float64()).fill_null(0.0)
        return columns

    def missing_rows(self, rows: pa.Table, operands: list[pa.Array]) -> dict[str, pa.Array]:
        """Return the rows that lack an argument, where Spark has not found them already."""
        if "lacks" in rows.column_names:
            return {"lacks": rows["lacks"].combine_chunks().fill_null(False)}
        return {"lacks": any_missing(operands, rows.num_rows)}

    def record_fields(self, kind: Crossing) -> dict[str, int | float]:
        if not self.function:
            return {}
        fields: dict[str, int | float] = {
            "function": _FUNCTIONS[self.function],
            "sign": _SIGNS[kind.sign],
            "below": kind.sign in ("<", "<="),
            "whole": self.measures_whole,
            "limit": float(kind.limit),
        }
        scale = scale_of(self.types[0]) if self.measures_whole else 0
        if self.function == "avg" and self.measures_whole:
            averaged = _averaged(kind, scale) if pa.types.is_decimal(self.types[0]) else {}
            return fields | averaged
        least = max(-(2**126), min(2**126, _least(kind, scale)))
        return fields | {"least_upper": least >> 64, "least_lower": signed(least % 2**64)}

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[FrameOperator], dict[str, Any]] | None:
        kind = framing.kind
        assert isinstance(kind, Crossing)
        if self.function:
            return None
        call = _call(kind, inputs.read)
        return AggregateRowByRow, {"call": call, "sign": kind.sign, "limit": kind.limit}


def _known_function(framing: Framing, types: tuple[pa.DataType, ...]) -> str:
    """Return the aggregate's name if kernels compute it, "" if it is computed row by row."""
    kind = framing.kind
    assert isinstance(kind, Crossing) and isinstance(kind.aggregate, Aggregate)
    function = kind.aggregate.function
    usable = (
        f"{', '.join(KNOWN_TO_KERNELS)}, and those whose state is bounded: sketches and your own"
    )

    def refused(why: str) -> ArgumentError:
        return ArgumentError("condition", str(kind.aggregate), why)

    if function not in (*KNOWN_TO_KERNELS, "own"):
        raise refused(
            "an open frame would have to keep all its rows for it; these do not need that: "
            f"{usable}"
        )
    bound = bind(_call(kind, types))
    check_result(kind, bound)
    if function in KNOWN_TO_KERNELS:
        if function not in ("count", "count_if", *_VARIANCES):
            check_digits(kind, types[0])
        return function
    if not all(accumulator.bounded for accumulator in bound.accumulators):
        raise refused(
            "its state grows with the rows of an open frame (bounded = False); these do not: "
            f"{usable}"
        )
    if framing.overlapping:
        raise refused(
            "it is computed row by row for one open frame, so frames cannot overlap; leave out "
            f"scheme= and restart='continue', or use one of {', '.join(KNOWN_TO_KERNELS)}"
        )
    return ""


def _call(kind: Crossing, types: tuple[pa.DataType, ...]) -> AggregateCall:
    """Return the call of the aggregate over the kind's operands."""
    aggregate = kind.aggregate
    assert isinstance(aggregate, Aggregate)
    slots = tuple(range(len(types)))
    return AggregateCall(aggregate.function, str(aggregate), slots, types, True, aggregate.options)


def _least(kind: Crossing, scale: int) -> int:
    """Return the least integer that reaches the limit, in units of ``scale`` decimals."""
    exact = Fraction(kind.limit) * Fraction(10**scale)
    return math.ceil(exact) if kind.sign in (">=", "<") else math.floor(exact) + 1


def _averaged(kind: Crossing, scale: int) -> dict[str, int | float]:
    """Return the fields for an average of decimals: a bound on the sum less ``n * offset``.

    An average has four decimals more and is rounded half up, away from zero (as Spark rounds). So
    the bound is half a unit before the least average that reaches the limit:
    ``n * share / AVERAGE_UNITS`` (``muntin.kernels.frames.kinds``).
    """
    least = _least(kind, scale + 4)
    offset, share = divmod(2 * least - 1, AVERAGE_UNITS)
    if abs(offset) > 2**62:  # farther out than decimals of 18 digits
        offset, share = (2**62 if offset > 0 else -(2**62)), 0
    return {"decimals": 1, "offset": offset, "share": share, "strictly": least <= 0}


#: The first number of rows for which answers are computed at once; it then doubles.
_AT_ONCE = 16
#: No frame has answers yet; -1 is a frame that began before these rows.
_NONE = -2


@dataclass(frozen=True)
class AggregateRowByRow(FrameOperator):
    """Frames by comparing ``call``, an aggregate of the kind's operands, with ``limit``."""

    call: AggregateCall | None = None
    sign: str = ">"
    limit: Decimal = Decimal(0)

    @cached_property
    def measuring(self) -> FrameAggregates:
        """The aggregate that decides about frames; only rows with a value count for it."""
        assert self.call is not None
        return FrameAggregates(self.axis, self.keys, (self.call,), self.lateness_type)

    @cached_property
    def _partial(self) -> list[pa.Field]:
        """The columns that are remembered about the aggregate."""
        return list(self.measuring.cells.schema)[len(self.keys) + 1 :]

    @cached_property
    def memory(self) -> KeyMemory:
        return KeyMemory(tuple(key_fields(self.keys)), (*super().memory.also, *self._partial))

    def meets(self, cells: pa.Table, low: Ints, high: Ints) -> Mask:
        """Return for which stretches of cells the condition holds."""
        if not len(low):
            return np.zeros(0, np.bool_)
        (values,) = self.measuring.of_stretches(cells, low, high)
        return meets(values, self.sign, self.limit)

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
        assert self.call is not None
        slots = {f"f{place}": f"s{place}" for place in self.call.slots}
        table = rows.table.select([*self.key_names, "order", *slots]).take(pa.array(source))
        table = table.rename_columns([slots.get(name, name) for name in table.column_names])
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
