"""Aggregates made of sums and counts: count, sum, avg, variances and the weighted mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.accumulators import (
    Accumulator,
    Count,
    DoubleSum,
    WholeSquares,
    WholeSum,
)
from muntin.aggregates.definition import (
    AggregateCall,
    BoundAggregate,
    Columns,
    ConstantArgument,
    Definition,
    Finish,
    SqlNode,
    where,
)
from muntin.errors import SumOverflowError
from muntin.expressions.spark_expressions import AsDouble, Both, Expression, NotNull, Times, Where
from muntin.kernels.arrays import Floats, Ints, Mask
from muntin.kernels.numbers import decimals, double_double
from muntin.specs.emission import checked_confidence


class RowCount(Definition):
    """``count(*)``, ``count(x)``."""

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        if arguments:
            return [where(condition, arguments[0])]
        return [] if condition is None else [Where(condition, None)]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        return BoundAggregate((Count(call.slots[:1]),), pa.int64(), lambda columns: columns[0][0])


class CountIf(RowCount):
    """``count_if(condition)``."""

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        counted = arguments[0] if condition is None else Both(condition, arguments[0])
        return [Where(counted, None)]


class Sum(Definition):
    """``sum(x)``: a bigint, a double, or a decimal with ten more digits."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        place, type_ = call.slots[:1], call.type
        if pa.types.is_floating(type_):
            double: tuple[Accumulator, ...] = (DoubleSum(place), Count(place))
            return BoundAggregate(double, pa.float64(), _finish_double_sum)
        whole = (WholeSum(place, type_), Count(place))
        if pa.types.is_decimal(type_):
            wider = _decimal_type(type_.precision + 10, type_.scale)
            return BoundAggregate(whole, wider, _finish_decimal_sum(call, wider))
        call.require(pa.types.is_integer(type_), "a number")
        return BoundAggregate(whole, pa.int64(), _finish_integer_sum(call))


class Avg(Definition):
    """``avg(x)``: a double, or a decimal with four more digits."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        place, type_ = call.slots[:1], call.type
        if pa.types.is_floating(type_):
            double: tuple[Accumulator, ...] = (DoubleSum(place), Count(place))
            return BoundAggregate(double, pa.float64(), _finish_double_avg)
        whole = (WholeSum(place, type_), Count(place))
        if pa.types.is_decimal(type_):
            finer = _decimal_type(type_.precision + 4, type_.scale + 4)
            return BoundAggregate(whole, finer, _finish_decimal_avg(call, type_.scale, finer))
        call.require(pa.types.is_integer(type_), "a number")
        return BoundAggregate(whole, pa.float64(), _finish_integer_avg)


class WeightedAvg(Definition):
    """``weighted_avg(value, weight)`` over rows that have both."""

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        value, weight = AsDouble(arguments[0]), AsDouble(arguments[1])
        complete: Expression = NotNull((value, weight))
        if condition is not None:
            complete = Both(condition, complete)
        return [Where(complete, Times(value, weight)), Where(complete, weight)]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        place, weight = call.slots[:1], call.slots[1:2]
        sums = (DoubleSum(place), DoubleSum(weight), Count(place))
        return BoundAggregate(sums, pa.float64(), _finish_weighted)


@dataclass(frozen=True)
class Variance(Definition):
    """The variance of a sample or of a population, or its root, the standard deviation."""

    sample: bool = True
    root: bool = False

    def bind(self, call: AggregateCall) -> BoundAggregate:
        place, type_ = call.slots[:1], call.type
        if pa.types.is_floating(type_):
            moments: tuple[Accumulator, ...] = (
                *(Count(place), DoubleSum(place), DoubleSum(place, squares=True)),
            )
            return BoundAggregate(moments, pa.float64(), self._finish_doubles)
        call.require(pa.types.is_integer(type_) or pa.types.is_decimal(type_), "a number")
        whole = (Count(place), WholeSum(place, type_), WholeSquares(place, type_))
        scale = type_.scale if pa.types.is_decimal(type_) else 0
        return BoundAggregate(whole, pa.float64(), self._finish_whole(scale))

    def _finish_doubles(self, columns: Columns) -> pa.Array:
        counts, sums, squares = _counts(columns[0]), _pair(columns[1]), _pair(columns[2])
        finite = np.isfinite(sums[0]) & np.isfinite(squares[0])
        values = np.where(finite, self._of_moments(counts, sums, squares), np.nan)
        return self._result(values, counts)

    def _of_moments(
        self, counts: Ints, sums: double_double.Pair, squares: double_double.Pair
    ) -> Floats:
        n = counts.astype(np.float64)
        # n * sum(x^2) - sum(x)^2 in double-double, so that a large mean does not cost precision.
        spread = double_double.minus_product(double_double.times(squares, n), sums, sums)
        free = n * (n - 1) if self.sample else n * n
        return np.maximum(double_double.divide(spread, free), 0.0)

    def _finish_whole(self, scale: int) -> Finish:
        def finish(columns: Columns) -> pa.Array:
            counts, sums, squares = _counts(columns[0]), _ints(columns[1]), _ints(columns[2])
            values, exact = self._of_small(counts, sums, squares)
            rest = np.flatnonzero(~exact if scale == 0 else counts > 0)
            few_sums, few_squares = ([limb[rest] for limb in part] for part in (sums, squares))
            values[rest] = self._of_integers(counts[rest], few_sums, few_squares, scale)
            return self._result(values, counts)

        return finish

    def _of_small(
        self, counts: Ints, sums: Sequence[Ints], squares: Sequence[Ints]
    ) -> tuple[Floats, Mask]:
        """Return variances of integers, and where all on the way to them fits 106 bits."""
        total, over = decimals.wrapped([sums[0], sums[1]])
        high, sign = squares[1] + (squares[2] << 32), total >> np.int64(63)
        small = ~over & (np.abs(total) < 2**53) & (counts < 2**26) & (squares[2] < 2**6)
        for limb in sums[2:]:
            small &= limb == (sign & 0xFFFF_FFFF) if limb is not sums[-1] else limb == sign
        for limb in squares[3:]:
            small &= limb == 0
        doubles = total.astype(np.float64), np.zeros(len(total))
        return self._of_moments(counts, doubles, double_double.of_integers(high, squares[0])), small

    def _of_integers(
        self, counts: Ints, sums: Sequence[Ints], squares: Sequence[Ints], scale: int
    ) -> Floats:
        """Return variances by integers of any size, each rounded once."""
        values = np.full(len(counts), np.nan)
        unit = 10 ** (2 * scale)
        moments = zip(
            counts.tolist(), decimals.as_integers(sums), decimals.as_integers(squares), strict=True
        )
        for place, (n, total, square) in enumerate(moments):
            free = n * (n - 1) if self.sample else n * n
            if free:
                values[place] = (n * square - total * total) / (free * unit)
        return values

    def _result(self, variance: Floats, counts: Ints) -> pa.Array:
        values = np.sqrt(variance) if self.root else variance
        return _doubles(values, counts > int(self.sample))


@dataclass(frozen=True)
class MeanBound(Variance):
    """An end of the confidence interval of a mean: mean - z s / sqrt(n), or + [CQ-20].

    The rows seen are taken for a random sample. Null for fewer than two values.
    """

    root: bool = True
    upper: bool = False

    def bind(self, call: AggregateCall) -> BoundAggregate:
        (confidence,) = call.options
        assert isinstance(confidence, float)  # checked where the call was made
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        spread = super().bind(call)
        mean = Avg("avg").bind(call)
        all_of_both = tuple(dict.fromkeys((*spread.accumulators, *mean.accumulators)))

        def finish(columns: Columns) -> pa.Array:
            by_accumulator = dict(zip(all_of_both, columns, strict=True))
            deviation = spread.finish([by_accumulator[a] for a in spread.accumulators])
            middle = mean.finish([by_accumulator[a] for a in mean.accumulators])
            n = by_accumulator[Count(call.slots[:1])][0].to_numpy(zero_copy_only=False)
            s = deviation.to_numpy(zero_copy_only=False)
            off = z * s / np.sqrt(np.maximum(n, 1))
            center = middle.cast(pa.float64()).to_numpy(zero_copy_only=False)
            return _doubles(center + off if self.upper else center - off, n > 1)

        return BoundAggregate(all_of_both, pa.float64(), finish)


_CONFIDENCE = ConstantArgument("confidence", checked_confidence)
DEFINITIONS = (
    RowCount("count", ("count",), correlates=True),
    CountIf("count_if", ("count_if",), nodes={"CountIf": SqlNode("count_if")}),
    Sum("sum", ("sum",), correlates=True),
    Avg("avg", ("avg", "mean"), correlates=True),
    Variance(
        "var_samp",
        ("var_samp", "variance"),
        nodes={"Variance": SqlNode("var_samp")},
        correlates=True,
    ),
    Variance(
        "var_pop",
        ("var_pop",),
        sample=False,
        nodes={"VariancePop": SqlNode("var_pop")},
        correlates=True,
    ),
    Variance(
        "stddev_samp",
        ("stddev_samp", "stddev", "std"),
        root=True,
        nodes={"Stddev": SqlNode("stddev"), "StddevSamp": SqlNode("stddev_samp")},
        correlates=True,
    ),
    Variance(
        "stddev_pop",
        ("stddev_pop",),
        sample=False,
        root=True,
        nodes={"StddevPop": SqlNode("stddev_pop")},
        correlates=True,
    ),
    WeightedAvg("weighted_avg", ("weighted_avg",), columns=2),
    MeanBound("avg_low", ("avg_low",), constant=_CONFIDENCE),
    MeanBound("avg_high", ("avg_high",), constant=_CONFIDENCE, upper=True),
)


def _decimal_type(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(min(38, precision), min(38, scale))


def _ints(columns: Sequence[pa.Array]) -> list[Ints]:
    return [column.to_numpy(zero_copy_only=False) for column in columns]


def _pair(columns: Sequence[pa.Array]) -> double_double.Pair:
    high, low = columns
    return high.to_numpy(zero_copy_only=False), low.to_numpy(zero_copy_only=False)


def _counts(columns: Sequence[pa.Array]) -> Ints:
    return _ints(columns)[0]


def _doubles(values: npt.NDArray[np.float64], valid: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, pa.float64(), mask=None if valid.all() else ~valid)


def _finish_double_sum(columns: Columns) -> pa.Array:
    high, low = _pair(columns[0])
    return _doubles(high + low, _counts(columns[1]) > 0)


def _finish_double_avg(columns: Columns) -> pa.Array:
    counts = _counts(columns[1])
    means = double_double.divide(_pair(columns[0]), counts.astype(np.float64))
    return _doubles(means, counts > 0)


def _finish_integer_sum(call: AggregateCall) -> Finish:
    def finish(columns: Columns) -> pa.Array:
        sums, overflow = decimals.wrapped(_ints(columns[0]))
        if call.ansi and overflow.any():
            raise _overflow(call, "bigint", "cast its argument to decimal(38, 0)")
        return pa.array(sums, pa.int64(), mask=_counts(columns[1]) == 0)

    return finish


def _finish_decimal_sum(call: AggregateCall, type_: pa.DataType) -> Finish:
    def finish(columns: Columns) -> pa.Array:
        low, high, overflow = decimals.as_words(_ints(columns[0]), type_.precision)
        if call.ansi and overflow.any():
            raise _overflow(call, str(type_), "cast its argument to double")
        return decimals.from_words(low, high, type_, (_counts(columns[1]) > 0) & ~overflow)

    return finish


def _overflow(call: AggregateCall, type_: str, instead: str) -> SumOverflowError:
    return SumOverflowError(
        f"{call.label} left the range of {type_} (ARITHMETIC_OVERFLOW); {instead}, "
        "or set spark.sql.ansi.enabled to false to let it behave as before ANSI mode"
    )


def _finish_integer_avg(columns: Columns) -> pa.Array:
    low, high = _ints(columns[0])
    counts = _counts(columns[1])
    sums = double_double.of_integers(high, low)
    return _doubles(double_double.divide(sums, counts.astype(np.float64)), counts > 0)


def _finish_decimal_avg(call: AggregateCall, scale: int, type_: pa.DataType) -> Finish:
    shift = 10 ** (type_.scale - scale)

    def finish(columns: Columns) -> pa.Array:
        sums = decimals.as_integers(_ints(columns[0]))
        counts = _counts(columns[1]).tolist()
        limit = 10**type_.precision
        means: list[Decimal | None] = []
        for total, count in zip(sums, counts, strict=True):
            unscaled = _half_up(total * shift, count) if count else limit
            fits = abs(unscaled) < limit
            if call.ansi and count and not fits:
                raise _overflow(call, str(type_), "cast its argument to double")
            sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
            means.append(Decimal((sign, digits, -type_.scale)) if fits else None)
        return pa.array(means, type_)

    return finish


def _half_up(numerator: int, denominator: int) -> int:
    quotient = (2 * abs(numerator) + denominator) // (2 * denominator)
    return quotient if numerator >= 0 else -quotient


def _finish_weighted(columns: Columns) -> pa.Array:
    products, weights = _pair(columns[0]), _pair(columns[1])
    weight = weights[0] + weights[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (products[0] + products[1]) / weight
    return _doubles(means, (_counts(columns[2]) > 0) & (weight != 0))
