"""``approx_count``, ``approx_sum`` and ``approx_avg`` by exponential histograms [EH-1 to EH-10]."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Count, DoubleSum
from muntin.aggregates.definition import AggregateCall, BoundAggregate, Columns
from muntin.aggregates.synopses.exponential_histogram import (
    HistogramBuckets,
    estimates,
    half_k,
    lows,
    units,
)
from muntin.aggregates.synopses.protocol import BOUNDED, SynopsisDefinition, result_column
from muntin.expressions.spark_expressions import AsDouble, Both, Expression, NotNull, Where
from muntin.kernels.arrays import Floats, Ints

_LONG_AGO = np.iinfo(np.int64).min


@dataclass(frozen=True)
class _Kind:
    """``eps`` is the relative error; with ``bounds`` the answer has ``low`` and ``high`` too."""

    eps: float
    bounds: bool = False

    def __post_init__(self) -> None:
        half_k(self.eps)

    @property
    def result(self) -> pa.DataType:
        return BOUNDED if self.bounds else pa.float64()


class ApproxCount(_Kind):
    """How many rows, or how many have a value: at most ``eps`` off, 0 if there are none."""

    def new(self) -> CountSynopsis:
        return CountSynopsis(self.bounds, HistogramBuckets(half_k(self.eps)))

    def load(self, dumped: bytes) -> CountSynopsis:
        return CountSynopsis(self.bounds, HistogramBuckets.load(half_k(self.eps), dumped))


class ApproxSum(_Kind):
    """The sum of whole numbers from 0: at most ``eps`` off, null if there are no values."""

    def new(self) -> SumSynopsis:
        return SumSynopsis(self.bounds, HistogramBuckets(half_k(self.eps)))

    def load(self, dumped: bytes) -> SumSynopsis:
        (newest,) = struct.unpack_from("<q", dumped)
        return SumSynopsis(self.bounds, HistogramBuckets.load(half_k(self.eps), dumped[8:]), newest)


class ApproxAvg(_Kind):
    """The mean of whole numbers from 0: at most ``eps`` off, null if there are no values.

    It is a sum divided by a count. Both have a smaller error e, so that the quotient keeps ``eps``:
    (1 + e) / (1 - e) = 1 + eps for e = eps / (2 + eps).
    """

    @property
    def _l(self) -> int:
        return half_k(self.eps / (2 + self.eps))

    def new(self) -> AvgSynopsis:
        return AvgSynopsis(self.bounds, HistogramBuckets(self._l), HistogramBuckets(self._l))

    def load(self, dumped: bytes) -> AvgSynopsis:
        (length,) = struct.unpack_from("<q", dumped)
        summed, counted = dumped[8 : 8 + length], dumped[8 + length :]
        return AvgSynopsis(
            self.bounds,
            HistogramBuckets.load(self._l, summed),
            HistogramBuckets.load(self._l, counted),
        )


class CountSynopsis:
    """Counts rows; without a column every row counts."""

    def __init__(self, bounds: bool, buckets: HistogramBuckets) -> None:
        self.bounds = bounds
        self.buckets = buckets

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        counted = present(values[0]) if values else np.ones(len(ticks), np.int64)
        total, last = self.buckets.run(ticks, counted, starts, ends)
        answers = [estimates(total, last), lows(total, last), total.astype(np.float64)]
        return answers if self.bounds else answers[:1]

    def forget(self, below: int) -> None:
        self.buckets.forget(below)

    def dump(self) -> bytes:
        return self.buckets.dump()


class SumSynopsis:
    """Adds values; ``newest`` is the tick of the last one, zero or not."""

    def __init__(self, bounds: bool, buckets: HistogramBuckets, newest: int = _LONG_AGO) -> None:
        self.bounds = bounds
        self.buckets = buckets
        self.newest = newest

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        total, last = self.buckets.run(ticks, units(values[0]), starts, ends)
        valued = np.concatenate([[self.newest], ticks[~np.isnan(values[0])]])
        self.newest = int(valued[-1])
        none = valued[np.searchsorted(valued[1:], ends)] < starts
        answers = [estimates(total, last), lows(total, last), total.astype(np.float64)]
        return [np.where(none, np.nan, answer) for answer in answers[: 3 if self.bounds else 1]]

    def forget(self, below: int) -> None:
        self.buckets.forget(below)

    def dump(self) -> bytes:
        return struct.pack("<q", self.newest) + self.buckets.dump()


class AvgSynopsis:
    """A sum and a count over the same rows [EH-10]."""

    def __init__(self, bounds: bool, summed: HistogramBuckets, counted: HistogramBuckets) -> None:
        self.bounds = bounds
        self.summed = summed
        self.counted = counted

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        total, last = self.summed.run(ticks, units(values[0]), starts, ends)
        rows, oldest = self.counted.run(ticks, present(values[0]), starts, ends)
        with np.errstate(invalid="ignore"):  # 0 / 0, the mean of nothing, is NaN
            answers = [estimates(total, last) / estimates(rows, oldest)]
            if self.bounds:
                answers += [lows(total, last) / rows, total / lows(rows, oldest)]
        return answers

    def forget(self, below: int) -> None:
        self.summed.forget(below)
        self.counted.forget(below)

    def dump(self) -> bytes:
        summed = self.summed.dump()
        return struct.pack("<q", len(summed)) + summed + self.counted.dump()


def present(values: Floats) -> Ints:
    """Return 1 where there is a value, else 0."""
    return (~np.isnan(values)).astype(np.int64)


@dataclass(frozen=True)
class SumOfUnits(DoubleSum):
    """The sum of whole numbers from 0, in double-double; another number is an error."""

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        values = units(_numbers(slots[self.slots[0]])).astype(np.float64)
        return [pa.array(values), pa.array(np.zeros(len(values)))]


@dataclass(frozen=True)
class CountOfNumbers(Count):
    """The number of rows with a number in the slot; NaN is none."""

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        return [pa.array(present(_numbers(slots[self.slots[0]])))]


def _numbers(column: pa.Array) -> Floats:
    """Return a column of doubles; null is NaN."""
    numbers: Floats = column.fill_null(np.nan).to_numpy(zero_copy_only=False)
    return numbers


class CountedSynopsis(SynopsisDefinition):
    """A synopsis whose exact answer is made of a sum and a count."""

    def exact(self, call: AggregateCall) -> BoundAggregate:
        kind = self.kind(call.options, None, 0)

        def finish(columns: Columns) -> pa.Array:
            counts, *sums = ([part.to_numpy(zero_copy_only=False) for part in c] for c in columns)
            answer = self.answer(counts[0], *(high + low for high, low in sums))
            return result_column(kind.result, [answer] * max(1, kind.result.num_fields))

        return BoundAggregate(self.accumulators(call.slots[:1]), kind.result, finish)

    def accumulators(self, slots: tuple[int, ...]) -> tuple[Accumulator, ...]:
        return (CountOfNumbers(slots), SumOfUnits(slots))

    def answer(self, counts: Ints, *sums: Floats) -> Floats:
        """Return the exact answers of segments; NaN is null."""
        raise NotImplementedError


class ApproxRowCount(CountedSynopsis):
    """``mt.approx_count``: a row that counts is a 1, one that does not is null."""

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        counted = condition
        if arguments:
            present = NotNull(arguments)
            counted = present if condition is None else Both(condition, present)
        return [] if counted is None else [AsDouble(Where(counted, None))]

    def accumulators(self, slots: tuple[int, ...]) -> tuple[Accumulator, ...]:
        return (Count(slots),)

    def answer(self, counts: Ints, *sums: Floats) -> Floats:
        return counts.astype(np.float64)


class ApproxUnitSum(CountedSynopsis):
    """``mt.approx_sum``."""

    def answer(self, counts: Ints, *sums: Floats) -> Floats:
        return np.where(counts > 0, sums[0], np.nan)


class ApproxUnitAvg(CountedSynopsis):
    """``mt.approx_avg``."""

    def answer(self, counts: Ints, *sums: Floats) -> Floats:
        return np.where(counts > 0, sums[0] / np.maximum(counts, 1), np.nan)


DEFINITIONS = (
    ApproxRowCount("approx_count", make=ApproxCount),
    ApproxUnitSum("approx_sum", make=ApproxSum),
    ApproxUnitAvg("approx_avg", make=ApproxAvg),
)
