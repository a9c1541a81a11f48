"""Holistic aggregates: those that need every value of a window [Panes 3.2].

What a pane keeps for them are its distinct values and their counts. All such aggregates of one
column share it, and here is what each makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.numbers.decimals import as_doubles
from muntin.kernels.numbers.lists import lists

Answer = tuple[pa.DataType, Callable[[Sequence[Sequence[Any]]], pa.Array]]
#: Those that interpolate, and so need numbers.
OF_NUMBERS = ("median", "quantile")
NAMES = (*OF_NUMBERS, "mode", "count_distinct", "collect_set", "heavy_hitters", "top_k")


class Bags(Protocol):
    """Values with their counts, one bag per window; answers name values by rank."""

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
        """Ranks at some places, a row of them for each bag; a place an empty bag has is any."""

    def most_frequent(self, most: Ints, at_least: Ints) -> tuple[Ints, Ints, Ints]:
        """For each bag how many values it gives; their ranks and counts, most frequent first."""

    def present(self) -> tuple[Ints, Ints]:
        """For each bag how many distinct values it has; their ranks, in order."""


def answer(function: str, type_: pa.DataType, options: Sequence[Any]) -> Answer:
    """The type and the result of an aggregate, from the bags of the windows."""
    items = pa.list_(pa.struct([("item", type_), ("count", pa.int64())]))
    match function:
        case "median":
            return pa.float64(), lambda given: _quantile(given[0][0], 0.5)
        case "quantile" if isinstance(options[0], tuple):
            return pa.list_(pa.float64()), lambda given: _quantiles(given[0][0], options[0])
        case "quantile":
            return pa.float64(), lambda given: _quantile(given[0][0], options[0])
        case "mode":
            return type_, lambda given: _mode(given[0][0])
        case "count_distinct":
            return pa.int64(), lambda given: pa.array(given[0][0].distinct_counts)
        case "collect_set":
            return pa.list_(type_), lambda given: _set(given[0][0])
        case "top_k":
            return items, lambda given: _top_k(given[0][0], options[0])
        case _:
            return items, lambda given: _heavy_hitters(given[0][0], options[0])


def _quantile(bags: Bags, share: float) -> pa.Array:
    return pa.array(_interpolated(bags, (share,))[:, 0], mask=bags.sizes == 0)


def _quantiles(bags: Bags, shares: Sequence[float]) -> pa.Array:
    some = bags.sizes > 0
    values = pa.array(_interpolated(bags, shares)[some].reshape(-1))
    ends = pa.array(np.append(0, np.cumsum(some) * len(shares)).astype(np.int32))
    return pa.ListArray.from_arrays(ends, values, mask=pa.array(~some))


def _interpolated(bags: Bags, shares: Sequence[float]) -> Floats:
    """Between the two values nearest to a share of the way, as Spark's ``percentile`` does."""
    position = np.maximum(bags.sizes - 1, 0)[:, None].astype(np.float64) * np.array(shares)
    lower, higher = np.floor(position), np.ceil(position)
    ranks = bags.at(np.concatenate([lower, higher], axis=1).astype(np.int64))
    below, above = ranks[:, : len(shares)], ranks[:, len(shares) :]
    numbers = np.append(_as_doubles(bags.distinct), np.nan)  # an empty bag may name one beyond
    with np.errstate(invalid="ignore", over="ignore"):
        # In this order of operations Spark rounds.
        between = numbers[below] + (position - lower) * (numbers[above] - numbers[below])
    return np.where(below == above, numbers[below], between)


def _as_doubles(column: pa.Array) -> Floats:
    if pa.types.is_decimal(column.type):
        return as_doubles(column)
    # Through NumPy, which rounds a large integer where Arrow would refuse it.
    doubles: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return doubles


def _mode(bags: Bags) -> pa.Array:
    one = np.ones(len(bags.sizes), np.int64)
    given, ranks, _ = bags.most_frequent(one, one)
    place = np.cumsum(given) - 1
    chosen = np.append(ranks, 0)[place]
    return bags.distinct.take(pa.array(chosen, pa.int64(), mask=given == 0))


def _set(bags: Bags) -> pa.Array:
    lengths, ranks = bags.present()
    return lists(lengths, bags.distinct.take(pa.array(ranks)))


def _top_k(bags: Bags, k: int) -> pa.Array:
    windows = len(bags.sizes)
    return _items(bags, np.full(windows, k, np.int64), np.ones(windows, np.int64))


def _heavy_hitters(bags: Bags, share: float) -> pa.Array:
    """Items whose count is at least a share of all [Panes, Query 4], compared exactly."""
    exact = exact_share(share)
    sizes, which = np.unique(bags.sizes, return_inverse=True)
    needed = [max(1, -(-exact.numerator * size // exact.denominator)) for size in sizes.tolist()]
    at_least = np.array(needed, np.int64)[which]
    return _items(bags, bags.sizes // at_least, at_least)


def exact_share(share: float) -> Fraction:
    """A share as it is written: 0.07 of 100 rows is 7 rows, though the double is a bit more."""
    return Fraction(Decimal(repr(share)))


def _items(bags: Bags, most: Ints, at_least: Ints) -> pa.Array:
    lengths, ranks, counts = bags.most_frequent(most, at_least)
    items = bags.distinct.take(pa.array(ranks))
    pairs = pa.StructArray.from_arrays([items, pa.array(counts)], ["item", "count"])
    return lists(lengths, pairs)
