"""The definition of each aggregate, as a function of a list of plain Python values.

Nulls are None and follow Spark SQL: every aggregate but ``count(*)``, ``first`` and ``last``
skips them. Sums of doubles are correctly rounded sums of the exact values. The kernels aim at the
same. A result does not depend on the order of rows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import reduce
from statistics import NormalDist
from typing import Any

Values = Sequence[Any]
#: Precise enough for the sum of as many 38-digit decimals as a test has.
_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)


def present(values: Values) -> list[Any]:
    return [value for value in values if value is not None]


def count(values: Values) -> int:
    return len(present(values))


def total(values: Values) -> Any:
    """SUM: exact for integers and decimals, correctly rounded for doubles."""
    kept = present(values)
    if not kept:
        return None
    if isinstance(kept[0], float):
        return _float_sum(kept)
    result = kept[0]
    for value in kept[1:]:
        result = _WIDE.add(result, value) if isinstance(result, Decimal) else result + value
    return result


def mean(values: Values, scale: int = 0) -> Any:
    """AVG: a double, or for decimals a decimal with ``scale`` digits, rounded half up."""
    kept = present(values)
    if not kept:
        return None
    if isinstance(kept[0], Decimal):
        return _WIDE.divide(total(kept), Decimal(len(kept))).quantize(
            Decimal(1).scaleb(-scale), context=_WIDE
        )
    if any(isinstance(value, float) and not math.isfinite(value) for value in kept):
        return total(kept) / len(kept)
    return _nearest(sum(map(Fraction, kept), Fraction()) / len(kept))


def variance(values: Values, *, sample: bool) -> float | None:
    """The mean square distance from the mean, exact but for one rounding at the end.

    Null for one value of a sample, as in Spark.
    """
    kept = present(values)
    free = len(kept) - 1 if sample else len(kept)
    if free <= 0:
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value in kept):
        return math.nan
    exact = [Fraction(value) for value in kept]
    middle = sum(exact, Fraction()) / len(exact)
    return _nearest(sum(((value - middle) ** 2 for value in exact), Fraction()) / free)


def deviation(values: Values, *, sample: bool) -> float | None:
    squared = variance(values, sample=sample)
    return None if squared is None else math.sqrt(squared)


def mean_bound(values: Values, confidence: float, *, upper: bool) -> float | None:
    """An end of the confidence interval of a mean: mean - z s / sqrt(n), or +."""
    middle, spread, n = mean(values), deviation(values, sample=True), count(values)
    if middle is None or spread is None:
        return None
    off = NormalDist().inv_cdf((1 + confidence) / 2) * spread / math.sqrt(n)
    return float(middle) + off if upper else float(middle) - off


def least(values: Values) -> Any:
    return min(present(values), key=order, default=None)


def greatest(values: Values) -> Any:
    return max(present(values), key=order, default=None)


def first(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """The value with the least ``on``; for equal ``on`` the least value, null first."""
    return min(pairs, key=lambda pair: (pair[0], order(pair[1])), default=(None, None))[1]


def last(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """The value with the greatest ``on``; for equal ``on`` the greatest value."""
    return max(pairs, key=lambda pair: (pair[0], order(pair[1])), default=(None, None))[1]


def weighted_mean(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """Sum of value times weight over sum of weights, over rows that have both."""
    kept = [(float(v), float(w)) for v, w in pairs if v is not None and w is not None]
    if not kept:
        return None
    weights = _float_sum([weight for _, weight in kept])
    if weights == 0:
        return None
    return _float_sum([value * weight for value, weight in kept]) / weights


def value_by(pairs: Sequence[tuple[Any, Any]], extreme: Callable[..., tuple[Any, Any]]) -> Any:
    """MAX_BY, MIN_BY: the first of the pair whose second is ``extreme``, by ``max`` or ``min``."""
    kept = [pair for pair in pairs if pair[1] is not None]
    best = extreme(kept, key=lambda pair: (order(pair[1]), order(pair[0])), default=(None, None))
    return best[0]


def listagg(pairs: Sequence[tuple[Any, Any]], delimiter: str = "") -> str | None:
    """The texts in order of ``on``, joined."""
    texts = collect(pairs)
    return delimiter.join(texts) if texts else None


def bits(values: Values, combined: Callable[[int, int], int]) -> int | None:
    """BIT_AND, BIT_OR, BIT_XOR: the operator between all values."""
    kept = present(values)
    return reduce(combined, kept) if kept else None


def covariance(pairs: Sequence[tuple[Any, Any]], *, sample: bool) -> float | None:
    """The mean product of the distances from both means, over rows that have both."""
    kept = [(x, y) for x, y in pairs if x is not None and y is not None]
    free = len(kept) - 1 if sample else len(kept)
    if free <= 0:
        return None
    if not _all_finite(value for pair in kept for value in pair):
        return math.nan
    return _nearest(_products(kept) / free)


def correlation(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """CORR: the covariance over the product of both deviations; null if one of them is zero."""
    kept = [(x, y) for x, y in pairs if x is not None and y is not None]
    if not kept:
        return None
    if not _all_finite(value for pair in kept for value in pair):
        return math.nan
    spreads = [_products([(pair[side], pair[side]) for pair in kept]) for side in (0, 1)]
    if not all(spreads):
        return None
    squared = Fraction(_products(kept)) ** 2 / (spreads[0] * spreads[1])
    return math.copysign(math.sqrt(squared), _products(kept))


def shape(values: Values, power: int) -> float | None:
    """SKEWNESS (power 3) and KURTOSIS (power 4, less 3) of a population; null if nothing varies."""
    kept = present(values)
    if not kept:
        return None
    if not _all_finite(kept):
        return math.nan
    exact = [Fraction(value) for value in kept]
    middle = sum(exact, Fraction()) / len(exact)
    moments = {
        p: sum(((value - middle) ** p for value in exact), Fraction()) / len(exact)
        for p in (2, power)
    }
    if not moments[2]:
        return None
    if power == 4:
        return float(moments[4] / moments[2] ** 2 - 3)
    return math.copysign(math.sqrt(moments[3] ** 2 / moments[2] ** 3), moments[3])


def _all_finite(values: Iterable[Any]) -> bool:
    return all(math.isfinite(value) for value in values)


def _products(pairs: Sequence[tuple[Any, Any]]) -> Fraction:
    """Return the exact sum of the products of the distances from both means."""
    exact = [(Fraction(x), Fraction(y)) for x, y in pairs]
    means = [sum((pair[side] for pair in exact), Fraction()) / len(exact) for side in (0, 1)]
    return sum(((x - means[0]) * (y - means[1]) for x, y in exact), Fraction())


def any_true(values: Values) -> bool | None:
    kept = present(values)
    return any(kept) if kept else None


def all_true(values: Values) -> bool | None:
    kept = present(values)
    return all(kept) if kept else None


def quantile(values: Values, share: float) -> float | None:
    """PERCENTILE: interpolated linearly between the two values nearest to the share."""
    kept = sorted(present(values), key=order)
    if not kept:
        return None
    position = (len(kept) - 1) * share
    below, above = kept[math.floor(position)], kept[math.ceil(position)]
    if order(below) == order(above):
        return float(below)
    return float(below) + (position - math.floor(position)) * (float(above) - float(below))


def median(values: Values) -> float | None:
    return quantile(values, 0.5)


def distinct(values: Values) -> list[Any]:
    """COLLECT_SET: the different values in order; NaN is one of them, -0.0 is 0.0."""
    kept: list[Any] = []
    for value in sorted(present(values), key=order):
        if not kept or order(kept[-1]) != order(value):
            kept.append(value)
    return kept


def count_distinct(values: Values) -> int:
    return len(distinct(values))


def collect(pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
    """The values in order of ``on``; values with equal ``on`` are sorted."""
    kept = [pair for pair in pairs if pair[1] is not None]
    return [value for _, value in sorted(kept, key=lambda pair: (pair[0], order(pair[1])))]


def frequencies(values: Values) -> list[tuple[Any, int]]:
    """The different values and their counts, most frequent first; equally frequent are sorted."""
    places = [order(value) for value in present(values)]
    counted = [(value, places.count(order(value))) for value in distinct(values)]
    return sorted(counted, key=lambda pair: -pair[1])  # a stable sort keeps equals in order


def mode(values: Values) -> Any:
    """The most frequent value; the least of equally frequent values."""
    counted = frequencies(values)
    return counted[0][0] if counted else None


def top_k(values: Values, k: int) -> list[dict[str, Any]]:
    return [{"item": item, "count": n} for item, n in frequencies(values)[:k]]


def heavy_hitters(values: Values, share: str) -> list[dict[str, Any]]:
    """The values that at least a share (written as a decimal) of all have [Panes, Query 4]."""
    needed = Fraction(share) * count(values)
    return [{"item": item, "count": n} for item, n in frequencies(values) if n >= needed]


def order(value: Any) -> tuple[int, Any]:
    """Spark's order of values: null first, NaN above every number, strings by their bytes."""
    if value is None:
        return (0, 0)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    return (1, value.encode() if isinstance(value, str) else value)


def _float_sum(values: Sequence[float]) -> float:
    if not all(map(math.isfinite, values)):
        return sum(values)  # the sum is infinite or NaN, so nothing is rounded
    return _nearest(sum(map(Fraction, values), Fraction()))


def _nearest(exact: Fraction) -> float:
    """Return the double nearest to an exact value; infinity beyond the largest double."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


#: The aggregates of one column by their SQL name.
FUNCTIONS: dict[str, Callable[[Values], Any]] = {
    "count": count,
    "sum": total,
    "avg": mean,
    "min": least,
    "max": greatest,
    "var_samp": lambda values: variance(values, sample=True),
    "var_pop": lambda values: variance(values, sample=False),
    "stddev_samp": lambda values: deviation(values, sample=True),
    "stddev_pop": lambda values: deviation(values, sample=False),
    "bool_or": any_true,
    "bool_and": all_true,
    "median": median,
    "mode": mode,
    "count_distinct": count_distinct,
    "collect_set": distinct,
    "sum_distinct": lambda values: total(distinct(values)),
    "avg_distinct": lambda values: mean(distinct(values)),
    "bit_and": lambda values: bits(values, operator.and_),
    "bit_or": lambda values: bits(values, operator.or_),
    "bit_xor": lambda values: bits(values, operator.xor),
    "skewness": lambda values: shape(values, 3),
    "kurtosis": lambda values: shape(values, 4),
}
#: The aggregates of pairs: of two columns, or of ``on`` and a column.
OF_PAIRS: dict[str, Callable[[Sequence[tuple[Any, Any]]], Any]] = {
    "covar_pop": lambda pairs: covariance(pairs, sample=False),
    "covar_samp": lambda pairs: covariance(pairs, sample=True),
    "corr": correlation,
    "max_by": lambda pairs: value_by(pairs, max),
    "min_by": lambda pairs: value_by(pairs, min),
}
