"""Holistic aggregates: those that need every value of a window [Panes 3.2].

For them a pane keeps its distinct values and their counts. All such aggregates of one column share
these, and each computes its result from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Counted
from muntin.aggregates.definition import (
    AggregateCall,
    BoundAggregate,
    ConstantArgument,
    Definition,
)
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.numbers.decimals import as_doubles
from muntin.kernels.numbers.order_keys import orderable
from muntin.kernels.value_counts import lists


class Bags(Protocol):
    """Values with their counts, one bag per window; methods return the ranks of values."""

    @property
    def distinct(self) -> pa.Array:
        """The values that occur in any bag, in order: rank to value."""

    @property
    def sizes(self) -> Ints:
        """How many values each bag has."""

    @property
    def distinct_counts(self) -> Ints:
        """How many distinct values each bag has."""

    def at(self, places: Ints) -> Ints:
        """Return the ranks at some places, one row for each bag; any rank for an empty bag."""

    def most_frequent(self, most: Ints, at_least: Ints) -> tuple[Ints, Ints, Ints]:
        """Return how many values each bag gives, and their ranks and counts, most frequent first.

        A bag gives at most ``most`` values, and only those whose count is ``at_least`` or more.
        """

    def present(self) -> tuple[Ints, Ints]:
        """Return how many distinct values each bag has, and their ranks in order."""


#: The type of a result, and the function that computes its column from the bags.
Answer = tuple[pa.DataType, Callable[[Bags], pa.Array]]


def quantile_shares(argument: str, given: object) -> float | tuple[float, ...]:
    """Check the share of a quantile (0 is the least value, 1 the greatest), or a list of them."""
    if isinstance(given, list | tuple) and given:
        return tuple(_share(argument, share, given) for share in given)
    return _share(argument, given, given)


def _share(argument: str, share: object, shown: object) -> float:
    number = _number(share)
    if number is None or not 0 <= number <= 1:
        raise ArgumentError(argument, shown, "it must be a number from 0 to 1, or a list of them")
    return number


def positive_share(argument: str, given: object) -> float:
    """Check a part of all rows: more than nothing, at most all."""
    number = _number(given)
    if number is None or not 0 < number <= 1:
        raise ArgumentError(argument, given, "it must be a number above 0 and at most 1")
    return number


def positive_count(argument: str, given: object) -> int:
    """Check a whole number from 1 up."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError(argument, given, "it must be a whole number from 1 up")
    # A larger count would not fit 64 bits, and no window has as many items.
    return min(given, 2**62)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):  # larger than any share, or no number
        return None


@dataclass(frozen=True)
class Holistic(Definition):
    """An aggregate of the distinct values and their counts."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(orderable(call.type), "a type that has an order")
        counted = Counted(call.slots[:1], call.type)
        result, finish = self.answer(call.type, call.options)
        return BoundAggregate((counted,), result, lambda columns: finish(columns[0][0]))

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        """Return the type of the result, and the function that computes it from the bags."""
        raise NotImplementedError


class Quantile(Holistic):
    """``quantile(x, share)``, or an array of several of them; numbers only."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        type_ = call.type
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        call.require(number or pa.types.is_decimal(type_), "a number")
        return super().bind(call)

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        (share,) = options
        if isinstance(share, tuple):
            return pa.list_(pa.float64()), lambda bags: _quantiles(bags, share)
        return pa.float64(), lambda bags: _quantile(bags, share)


class Median(Quantile):
    """``median(x)``: the quantile in the middle."""

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        return super().answer(type_, (0.5,))


class Mode(Holistic):
    """``mode(x)``: the most frequent value."""

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        return type_, _mode


class CountDistinct(Holistic):
    """``count(DISTINCT x)``."""

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        return pa.int64(), lambda bags: pa.array(bags.distinct_counts)


class CollectSet(Holistic):
    """``collect_set(x)``, in the order of the values."""

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        return pa.list_(type_), _set


class HeavyHitters(Holistic):
    """``heavy_hitters(x, share)``: items with their counts."""

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        return _items_of(type_), lambda bags: _heavy_hitters(bags, options[0])


class TopK(Holistic):
    """``top_k(x, k)``: items with their counts."""

    def answer(self, type_: pa.DataType, options: Sequence[Any]) -> Answer:
        return _items_of(type_), lambda bags: _top_k(bags, options[0])


DEFINITIONS = (
    Median("median", ("median",)),
    Quantile(
        "quantile",
        ("quantile", "percentile"),
        constant=ConstantArgument("share", quantile_shares),
    ),
    # In Spark the flag asks for the least of equally frequent values; here it is always the least.
    Mode("mode", ("mode",), takes_flag=True),
    CountDistinct("count_distinct", ("count_distinct",)),
    CollectSet("collect_set", ("collect_set",)),
    HeavyHitters(
        "heavy_hitters", ("heavy_hitters",), constant=ConstantArgument("share", positive_share)
    ),
    TopK("top_k", ("top_k",), constant=ConstantArgument("k", positive_count)),
)


def _items_of(type_: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([("item", type_), ("count", pa.int64())]))


def _quantile(bags: Bags, share: float) -> pa.Array:
    return pa.array(_interpolated(bags, (share,))[:, 0], mask=bags.sizes == 0)


def _quantiles(bags: Bags, shares: Sequence[float]) -> pa.Array:
    some = bags.sizes > 0
    values = pa.array(_interpolated(bags, shares)[some].reshape(-1))
    ends = pa.array(np.append(0, np.cumsum(some) * len(shares)).astype(np.int32))
    return pa.ListArray.from_arrays(ends, values, mask=pa.array(~some))


def _interpolated(bags: Bags, shares: Sequence[float]) -> Floats:
    """Interpolate between the two values nearest to each share, as Spark's ``percentile`` does."""
    position = np.maximum(bags.sizes - 1, 0)[:, None].astype(np.float64) * np.array(shares)
    lower, higher = np.floor(position), np.ceil(position)
    ranks = bags.at(np.concatenate([lower, higher], axis=1).astype(np.int64))
    below, above = ranks[:, : len(shares)], ranks[:, len(shares) :]
    numbers = np.append(_as_doubles(bags.distinct), np.nan)  # an empty bag may give this rank
    with np.errstate(invalid="ignore", over="ignore"):
        # The order of operations is Spark's, so that results are rounded alike.
        between = numbers[below] + (position - lower) * (numbers[above] - numbers[below])
    return np.where(below == above, numbers[below], between)


def _as_doubles(column: pa.Array) -> Floats:
    if pa.types.is_decimal(column.type):
        return as_doubles(column)
    # NumPy rounds a large integer; Arrow would refuse it.
    doubles: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return doubles


def _mode(bags: Bags) -> pa.Array:
    ones = np.ones(len(bags.sizes), np.int64)
    lengths, ranks, _ = bags.most_frequent(ones, ones)
    place = np.cumsum(lengths) - 1
    chosen = np.append(ranks, 0)[place]
    return bags.distinct.take(pa.array(chosen, pa.int64(), mask=lengths == 0))


def _set(bags: Bags) -> pa.Array:
    lengths, ranks = bags.present()
    return lists(lengths, bags.distinct.take(pa.array(ranks)))


def _top_k(bags: Bags, k: int) -> pa.Array:
    windows = len(bags.sizes)
    return _items(bags, np.full(windows, k, np.int64), np.ones(windows, np.int64))


def _heavy_hitters(bags: Bags, share: float) -> pa.Array:
    """Return the items whose count is at least a share of all [Panes, Query 4], exactly."""
    exact = exact_share(share)
    sizes, which = np.unique(bags.sizes, return_inverse=True)
    needed = [max(1, -(-exact.numerator * size // exact.denominator)) for size in sizes.tolist()]
    at_least = np.array(needed, np.int64)[which]
    return _items(bags, bags.sizes // at_least, at_least)


def exact_share(share: float) -> Fraction:
    """Return a share as written: 0.07 of 100 rows is 7 rows, though the double is a bit more."""
    return Fraction(Decimal(repr(share)))


def _items(bags: Bags, most: Ints, at_least: Ints) -> pa.Array:
    lengths, ranks, counts = bags.most_frequent(most, at_least)
    items = bags.distinct.take(pa.array(ranks))
    pairs = pa.StructArray.from_arrays([items, pa.array(counts)], ["item", "count"])
    return lists(lengths, pairs)
