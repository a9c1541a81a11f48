"""Aggregates made of sums of products: covariance, correlation, skewness and kurtosis.

A pane keeps the sums of powers and products as double-doubles, so panes are added in any order, and
what is subtracted at the end still has about 106 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Count, DoubleSum, ProductSum
from muntin.aggregates.definition import (
    AggregateCall,
    BoundAggregate,
    Columns,
    Definition,
    SqlNode,
    where,
)
from muntin.expressions.spark_expressions import AsDouble, Both, Expression, NotNull, Where
from muntin.kernels.arrays import Floats, Ints, Mask
from muntin.kernels.numbers import double_double
from muntin.kernels.numbers.double_double import Pair


@dataclass(frozen=True)
class _OfTwoColumns(Definition):
    """An aggregate of two numbers, over rows that have both."""

    columns: int = 2

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        numbers = tuple(map(AsDouble, arguments))
        present: Expression = NotNull(numbers)
        counts = present if condition is None else Both(condition, present)
        return [Where(counts, number) for number in numbers]


@dataclass(frozen=True)
class Covariance(_OfTwoColumns):
    """``covar_pop(x, y)``, ``covar_samp(x, y)``."""

    sample: bool = False

    def bind(self, call: AggregateCall) -> BoundAggregate:
        x, y = call.slots
        sums = (Count((x,)), DoubleSum((x,)), DoubleSum((y,)), ProductSum((x, y)))
        return BoundAggregate(sums, pa.float64(), self._finish)

    def _finish(self, columns: Columns) -> pa.Array:
        counts, (x, y, products) = _counts(columns[0]), map(_pair, columns[1:])
        n = counts.astype(np.float64)
        spread = _spread(n, products, x, y)
        values = double_double.divide(spread, n * (n - 1) if self.sample else n * n)
        return _result(values, counts > int(self.sample), [x, y, products])


class CorrelationCoefficient(_OfTwoColumns):
    """``corr(x, y)``: Pearson's; null where one of the two does not vary."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        x, y = call.slots
        sums: tuple[Accumulator, ...] = (
            *(Count((x,)), DoubleSum((x,)), DoubleSum((y,)), ProductSum((x, y))),
            *(DoubleSum((x,), squares=True), DoubleSum((y,), squares=True)),
        )
        return BoundAggregate(sums, pa.float64(), self._finish)

    def _finish(self, columns: Columns) -> pa.Array:
        counts, (x, y, products, *squares) = _counts(columns[0]), map(_pair, columns[1:])
        n = counts.astype(np.float64)
        spreads = [_spread(n, squares[0], x, x), _spread(n, squares[1], y, y)]
        values = _signed_root(_spread(n, products, x, y), spreads)
        sums = [x, y, products, *squares]
        varies = (spreads[0][0] > 0) & (spreads[1][0] > 0)
        defined = (counts > 0) & (varies | ~_finite(sums))
        return _result(np.clip(values, -1.0, 1.0), defined, sums)


@dataclass(frozen=True)
class MomentRatio(Definition):
    """``skewness(x)`` or ``kurtosis(x)`` of a population; null where ``x`` does not vary."""

    power: int = 3

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        return [where(condition, AsDouble(arguments[0]))]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        (x,) = call.slots
        powers = [ProductSum((x,) * power) for power in range(3, self.power + 1)]
        sums = (Count((x,)), DoubleSum((x,)), DoubleSum((x,), squares=True), *powers)
        return BoundAggregate(sums, pa.float64(), self._finish)

    def _finish(self, columns: Columns) -> pa.Array:
        counts, sums = _counts(columns[0]), [_pair(part) for part in columns[1:]]
        n = counts.astype(np.float64)
        spread = _spread(n, sums[1], sums[0], sums[0])
        if self.power == 3:
            values = _signed_root(_cubes(n, sums), [spread] * 3)
        else:
            once = double_double.quotient(_fourths(n, sums), spread)
            three = np.full(len(n), -3.0), np.zeros(len(n))
            values = _nearest(double_double.total([double_double.quotient(once, spread), three]))
        defined = (counts > 0) & ((spread[0] > 0) | ~_finite(sums))
        return _result(values, defined, sums)


def _signed_root(moment: Pair, spreads: Sequence[Pair]) -> Floats:
    """Return ``moment / sqrt(product of spreads)``, rounded twice: the square, and its root."""
    part, exponent = double_double.scaled(moment)
    squared, taken = double_double.product(part, part), 2 * exponent
    for spread in spreads:
        part, exponent = double_double.scaled(spread)
        squared, taken = double_double.quotient(squared, part), taken - exponent
    with np.errstate(invalid="ignore", over="ignore"):
        return np.copysign(np.sqrt(np.ldexp(_nearest(squared), taken)), moment[0])


def _spread(n: Floats, products: Pair, left: Pair, right: Pair) -> Pair:
    """Return ``n * sum(x y) - sum(x) sum(y)``: n squared times the covariance."""
    return double_double.minus_product(double_double.times(products, n), left, right)


def _cubes(n: Floats, sums: Sequence[Pair]) -> Pair:
    """Return n cubed times the third central moment."""
    first, second, third = sums
    whole = double_double.times(double_double.times(third, n), n)
    mixed = double_double.times(double_double.product(first, second), 3.0 * n)
    cube = double_double.product(double_double.product(first, first), first)
    return double_double.total(
        [whole, double_double.negative(mixed), double_double.times(cube, np.full(len(n), 2.0))]
    )


def _fourths(n: Floats, sums: Sequence[Pair]) -> Pair:
    """Return n to the power of four times the fourth central moment."""
    times, product = double_double.times, double_double.product
    first, second, third, fourth = sums
    squared = product(first, first)
    return double_double.total(
        [
            times(times(times(fourth, n), n), n),
            double_double.negative(times(times(product(first, third), n), 4.0 * n)),
            times(product(squared, second), 6.0 * n),
            double_double.negative(times(product(squared, squared), np.full(len(n), 3.0))),
        ]
    )


def _counts(columns: Sequence[pa.Array]) -> Ints:
    counts: Ints = columns[0].to_numpy(zero_copy_only=False)
    return counts


def _pair(columns: Sequence[pa.Array]) -> Pair:
    high, low = columns
    return high.to_numpy(zero_copy_only=False), low.to_numpy(zero_copy_only=False)


def _nearest(pair: Pair) -> Floats:
    return pair[0] + pair[1]


def _finite(sums: Sequence[Pair]) -> Mask:
    finite: Mask = np.logical_and.reduce([np.isfinite(high) for high, _ in sums])
    return finite


def _result(values: Floats, valid: Mask, sums: Sequence[Pair]) -> pa.Array:
    """Return doubles: NaN where a value was NaN or infinite, or a sum too large."""
    values = np.where(_finite(sums), values, np.nan)
    return pa.array(values, pa.float64(), mask=None if valid.all() else ~valid)


DEFINITIONS = (
    Covariance(
        "covar_pop",
        ("covar_pop",),
        nodes={"CovarPop": SqlNode("covar_pop", ("expression",))},
    ),
    Covariance(
        "covar_samp",
        ("covar_samp",),
        sample=True,
        nodes={"CovarSamp": SqlNode("covar_samp", ("expression",))},
    ),
    CorrelationCoefficient("corr", ("corr",), nodes={"Corr": SqlNode("corr", ("expression",))}),
    MomentRatio("skewness", ("skewness",), nodes={"Skewness": SqlNode("skewness")}),
    MomentRatio("kurtosis", ("kurtosis",), power=4, nodes={"Kurtosis": SqlNode("kurtosis")}),
)
