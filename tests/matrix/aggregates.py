"""Every public aggregate with an example and its exact meaning in plain Python."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

import muntin as mt
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, slots_of
from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    Expression,
    Hashed,
    Name,
    NotNull,
    Sql,
    Times,
    Where,
)
from muntin.reference import aggregates
from tests.aggregates.examples import Squares

Row = Mapping[str, Any]
Meaning = Callable[[Sequence[Row]], Any]
#: The columns of the rows: ``v`` has whole numbers from 0, as synopses need them.
COLUMNS = {
    "v": pa.float64(),
    "i": pa.int64(),
    "s": pa.string(),
    "b": pa.bool_(),
    "d": pa.decimal128(10, 2),
}


def _same(answer: Any, exact: Any) -> bool:
    return repr(answer) == repr(exact)


def _near(answer: Any, exact: Any) -> bool:
    """Return whether a synopsis that only promises a standard error is close for few rows."""
    return bool(abs(answer - exact) < 0.1)


def _within_bounds(answer: Any, exact: Any) -> bool:
    if answer is None:
        return exact is None
    # A histogram cannot tell that no row is within the limits; it answers 0.
    estimate = 0.0 if exact is None else exact["estimate"]
    return bool(answer["low"] <= estimate <= answer["high"])


@dataclass(frozen=True)
class Example:
    """An aggregate, its exact meaning, and what a synopsis may answer where windows slide."""

    aggregate: Aggregate
    meaning: Meaning
    same: Callable[[Any, Any], bool] = _same
    sliding: Callable[[Any, Any], bool] | None = None  # None: the same as elsewhere
    text: str | None = None  # the same in SQL; None if SQL text cannot say it

    def __str__(self) -> str:
        return self.aggregate.column_name

    def call(self, first: int = 0) -> AggregateCall:
        """Return the call that a plan makes of it, with slots from ``first`` on."""
        slots = slots_of(self.aggregate)
        places = tuple(range(first, first + len(slots)))
        types = tuple(map(type_of, slots))
        label, options = str(self.aggregate), self.aggregate.options
        return AggregateCall(self.aggregate.function, label, places, types, True, options)

    def slots(self, rows: Sequence[Row], first: int = 0) -> dict[str, pa.Array]:
        """Return the columns that Spark would evaluate."""
        return {
            f"s{first + place}": pa.array([value_of(slot, row) for row in rows], type_of(slot))
            for place, slot in enumerate(slots_of(self.aggregate))
        }


def type_of(expression: Expression) -> pa.DataType:
    match expression:
        case Name(name) | Sql(name) if name in COLUMNS:
            return COLUMNS[name]
        case Sql("TRUE" | "v > 2"):
            return pa.bool_()
        case AsDouble() | Hashed() | Times():
            return pa.float64()
        case Where(_, None):
            return pa.int32()
        case Where(_, value) if value is not None:
            return type_of(value)
    raise AssertionError(expression)


def value_of(expression: Expression, row: Row) -> Any:
    match expression:
        case Name(name) | Sql(name) if name in COLUMNS:
            return row[name]
        case Sql("TRUE"):
            return True
        case Sql("1"):
            return 1
        case Sql("v > 2"):
            return None if row["v"] is None else row["v"] > 2
        case AsDouble(operand):
            value = value_of(operand, row)
            return None if value is None else float(value)
        case Hashed(operand):
            value = value_of(operand, row)
            return None if value is None else float(zlib.crc32(repr(value).encode()))
        case Times(left, right):
            factors = value_of(left, row), value_of(right, row)
            return None if None in factors else factors[0] * factors[1]
        case NotNull(operands):
            return all(value_of(operand, row) is not None for operand in operands)
        case Both(left, right):
            return value_of(left, row) is True and value_of(right, row) is True
        case Where(condition, value):
            held = value_of(condition, row) is True
            return (1 if value is None else value_of(value, row)) if held else None
    raise AssertionError(expression)


def _column(name: str, function: Callable[[list[Any]], Any]) -> Meaning:
    return lambda rows: function([row[name] for row in rows])


def _edge(name: str, function: Callable[[list[Any]], Any]) -> Meaning:
    return lambda rows: function([(row["on"], row[name]) for row in rows])


def _pairs(function: str, *names: str) -> Meaning:
    return lambda rows: aggregates.OF_PAIRS[function]([(r[names[0]], r[names[1]]) for r in rows])


def _known(rows: Sequence[Row], name: str = "v") -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def _or_null(function: Callable[[list[Any]], Any]) -> Meaning:
    return lambda rows: function(_known(rows)) if _known(rows) else None


def _three(meaning: Meaning) -> Meaning:
    """Return the same as a struct whose bounds are the answer itself."""

    def answer(rows: Sequence[Row]) -> Any:
        value = meaning(rows)
        return None if value is None else dict.fromkeys(("estimate", "low", "high"), value)

    return answer


def _above_average(rows: Sequence[Row]) -> list[float]:
    known = _known(rows)
    return [value for value in known if value * len(known) > sum(known)]


def _hash_counts(rows: Sequence[Row]) -> list[float]:
    from muntin.aggregates.synopses.tables import HashCounts

    counts = [0.0] * 4
    for value in _known(rows, "s"):
        hashed = pa.array([float(zlib.crc32(repr(value).encode()))]).to_numpy()
        counts[int(HashCounts(4, 0.01).place(hashed)[0])] += 1
    return counts


def _histogram(rows: Sequence[Row]) -> list[float | None]:
    ranges: list[list[float]] = [[], []]
    for row in rows:
        if row["v"] is not None:
            ranges[row["v"] >= 3].append(row["v"])
    return [float(sum(values)) if values else None for values in ranges]


def _norm(rows: Sequence[Row]) -> float | None:
    sums: dict[str, float] = {}
    for row in rows:
        if row["s"] is not None and row["v"] is not None:
            sums[row["s"]] = sums.get(row["s"], 0.0) + row["v"]
    return math.fsum(amount**2 for amount in sums.values()) ** 0.5 if sums else None


class Pairs:
    """How many pairs of rows there are: an own synopsis."""

    constant = 2.0

    def init(self, x: float) -> int:
        return 1

    def compose(self, older: int, newer: int) -> int:
        return older + newer

    def value(self, sketch: int) -> float:
        return float(sketch * sketch)


def _top_with_bounds(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {"item": item, "count": n, "low": n, "high": n}
        for item, n in sorted(aggregates.frequencies(_known(rows, "i")), key=lambda pair: -pair[1])
    ]


def _same_counts(answer: Any, exact: Any) -> bool:
    """Return whether two lists of items have the same items; equal counts have no order."""

    def key(item: Any) -> Any:
        return (-item["count"], item["item"])

    return sorted(answer, key=key) == sorted(exact, key=key)


_EPS = 0.01
#: Every public function that returns an aggregate, by its name.
EXAMPLES: dict[str, tuple[Example, ...]] = {
    "count": (
        Example(mt.count(), len, text="count(*)"),
        Example(mt.count("s"), _column("s", aggregates.count), text="count(s)"),
    ),
    "sum": (
        Example(mt.sum("v"), _column("v", aggregates.total), text="sum(v)"),
        Example(mt.sum("i"), _column("i", aggregates.total), text="sum(i)"),
        Example(mt.sum("d"), _column("d", aggregates.total), text="sum(d)"),
    ),
    "avg": (
        Example(mt.avg("i"), _column("i", aggregates.mean), text="avg(i)"),
        Example(mt.avg("d"), _column("d", lambda v: aggregates.mean(v, scale=6)), text="avg(d)"),
    ),
    "min": (Example(mt.min("s"), _column("s", aggregates.least), text="min(s)"),),
    "max": (Example(mt.max("d"), _column("d", aggregates.greatest), text="max(d)"),),
    "var_samp": (
        Example(
            mt.var_samp("v"),
            _column("v", lambda values: aggregates.variance(values, sample=True)),
            text="var_samp(v)",
        ),
    ),
    "var_pop": (
        Example(
            mt.var_pop("i"),
            _column("i", lambda values: aggregates.variance(values, sample=False)),
            text="var_pop(i)",
        ),
    ),
    "stddev_samp": (
        Example(
            mt.stddev_samp("v"),
            _column("v", lambda values: aggregates.deviation(values, sample=True)),
            text="stddev(v)",
        ),
    ),
    "stddev_pop": (
        Example(
            mt.stddev_pop("v"),
            _column("v", lambda values: aggregates.deviation(values, sample=False)),
            text="stddev_pop(v)",
        ),
    ),
    "avg_low": (
        Example(
            mt.avg_low("v", 0.9),
            _column("v", lambda values: aggregates.mean_bound(values, 0.9, upper=False)),
            text="avg_low(v, 0.9)",
        ),
    ),
    "avg_high": (
        Example(
            mt.avg_high("i"),
            _column("i", lambda values: aggregates.mean_bound(values, 0.95, upper=True)),
            text="avg_high(i, 0.95)",
        ),
    ),
    "first": (Example(mt.first("s"), _edge("s", aggregates.first), text="first(s)"),),
    "last": (Example(mt.last("i"), _edge("i", aggregates.last), text="last(i)"),),
    "weighted_avg": (
        Example(
            mt.weighted_avg("v", "i"),
            lambda rows: aggregates.weighted_mean([(row["v"], row["i"]) for row in rows]),
            text="weighted_avg(v, i)",
        ),
    ),
    "median": (Example(mt.median("v"), _column("v", aggregates.median), text="median(v)"),),
    "quantile": (
        Example(
            mt.quantile("i", 0.3),
            _column("i", lambda values: aggregates.quantile(values, 0.3)),
            text="quantile(i, 0.3)",
        ),
    ),
    "mode": (Example(mt.mode("s"), _column("s", aggregates.mode), text="mode(s)"),),
    "count_distinct": (
        Example(
            mt.count_distinct("s"),
            _column("s", aggregates.count_distinct),
            text="count(DISTINCT s)",
        ),
    ),
    "collect": (Example(mt.collect("i"), _edge("i", aggregates.collect), text="collect_list(i)"),),
    "collect_set": (
        Example(mt.collect_set("s"), _column("s", aggregates.distinct), text="collect_set(s)"),
    ),
    "heavy_hitters": (
        Example(
            mt.heavy_hitters("s", 0.4),
            _column("s", lambda values: aggregates.heavy_hitters(values, "0.4")),
            text="heavy_hitters(s, 0.4)",
        ),
    ),
    "top_k": (
        Example(
            mt.top_k("s", 2),
            _column("s", lambda values: aggregates.top_k(values, 2)),
            text="top_k(s, 2)",
        ),
    ),
    "any_value": (Example(mt.any_value("s"), _edge("s", aggregates.first), text="any_value(s)"),),
    "max_by": (Example(mt.max_by("s", "v"), _pairs("max_by", "s", "v"), text="max_by(s, v)"),),
    "min_by": (Example(mt.min_by("v", "s"), _pairs("min_by", "v", "s"), text="min_by(v, s)"),),
    "listagg": (
        Example(
            mt.listagg("s", ", "),
            _edge("s", lambda places: aggregates.listagg(places, ", ")),
            text="string_agg(s, ', ')",
        ),
    ),
    "covar_pop": (
        Example(mt.covar_pop("v", "i"), _pairs("covar_pop", "v", "i"), text="covar_pop(v, i)"),
    ),
    "covar_samp": (
        Example(mt.covar_samp("i", "v"), _pairs("covar_samp", "i", "v"), text="covar_samp(i, v)"),
    ),
    "corr": (Example(mt.corr("v", "i"), _pairs("corr", "v", "i"), text="corr(v, i)"),),
    **{
        name: (
            Example(
                getattr(mt, name)(column),
                _column(column, aggregates.FUNCTIONS[name]),
                text=f"{name.replace('_distinct', '')}({distinct}{column})",
            ),
        )
        for name, column, distinct in (
            ("skewness", "v", ""),
            ("kurtosis", "i", ""),
            ("bit_and", "i", ""),
            ("bit_or", "i", ""),
            ("bit_xor", "i", ""),
            ("sum_distinct", "i", "DISTINCT "),
            ("avg_distinct", "v", "DISTINCT "),
        )
    },
    "any": (Example(mt.any("b"), _column("b", aggregates.any_true), text="any(b)"),),
    "all": (Example(mt.all("b"), _column("b", aggregates.all_true), text="every(b)"),),
    "count_if": (
        Example(
            mt.count_if("v > 2"),
            lambda rows: len([v for v in _known(rows) if v > 2]),
            text="count_if(v > 2)",
        ),
    ),
    "own": (
        Example(
            mt.own(Squares(), "i"),
            lambda rows: sum(i * i for i in _known(rows, "i")),
            text="squares(i)",
        ),
    ),
    "approx_count_distinct": (
        Example(
            mt.approx_count_distinct("i"),
            _column("i", aggregates.count_distinct),
            text="approx_count_distinct(i)",
        ),
    ),
    "approx_quantile": (
        Example(
            mt.approx_quantile("v", 1.0),
            _or_null(max),
            text="approx_percentile(v, 1.0)",
        ),
    ),
    "approx_top_k": (
        Example(
            mt.approx_top_k("i", 50), _top_with_bounds, _same_counts, text="approx_top_k(i, 50)"
        ),
    ),
    "correlated": (
        Example(
            mt.correlated("count", where="v > avg(v)"),
            lambda rows: len(_above_average(rows)),
            text="count(*) FILTER (WHERE v > avg(v))",
        ),
        Example(
            mt.correlated("sum", "v", where="v > avg(v)", mode="focused", bounds=True),
            _three(lambda rows: float(sum(above)) if (above := _above_average(rows)) else None),
            sliding=_within_bounds,
        ),
    ),
    "approx_count": (
        Example(mt.approx_count(eps=_EPS), lambda rows: float(len(rows))),
        Example(
            mt.approx_count("s", eps=_EPS, bounds=True),
            _three(lambda rows: float(len(_known(rows, "s")))),
        ),
    ),
    "approx_sum": (
        Example(mt.approx_sum("v", eps=_EPS), _or_null(lambda values: float(sum(values)))),
    ),
    "approx_avg": (
        Example(
            mt.approx_avg("v", eps=_EPS, bounds=True),
            _three(_or_null(lambda values: sum(values) / len(values))),
        ),
    ),
    "approx_distinct_window": (
        Example(
            mt.approx_distinct_window("s", eps=_EPS),
            lambda rows: float(len(set(_known(rows, "s")))),
            sliding=_near,
        ),
    ),
    "lp_norm": (Example(mt.lp_norm("s", "v", eps=_EPS), _norm),),
    "own_synopsis": (
        Example(
            mt.own_synopsis(Pairs(), "v", eps=_EPS),
            _or_null(lambda values: float(len(values)) ** 2),
        ),
    ),
    "hash_counts": (Example(mt.hash_counts("s", buckets=4, eps=_EPS), _hash_counts),),
    "value_histogram": (
        Example(mt.value_histogram("v", [3], eps=_EPS, of="sum", amount="v"), _histogram),
    ),
}

ALL = tuple(example for examples in EXAMPLES.values() for example in examples)


def _row(on: int, k: str, v: int | None, i: int | None, s: str | None, b: bool | None) -> Row:
    decimal = None if i is None else Decimal(i).scaleb(-2)
    value = None if v is None else float(v)
    return {"on": on, "k": k, "v": value, "i": i, "s": s, "b": b, "d": decimal}


#: Two keys, with nulls and two rows at 4; a run of true ``b`` for frames; no row is late.
ROWS: tuple[tuple[Row, ...], ...] = (
    (
        _row(0, "x", 1, 5, "a", True),
        _row(2, "x", 4, 7, "b", True),
        _row(1, "y", None, None, None, True),
        _row(4, "x", 2, None, "a", True),
    ),
    (
        _row(5, "x", 7, 7, None, False),
        _row(3, "y", 3, 4, "c", True),
        _row(6, "x", None, 9, "b", True),
        _row(8, "x", 3, 2, "b", True),
    ),
    (
        _row(7, "y", 6, 8, "c", False),
        _row(11, "x", 5, 3, "a", True),
        _row(12, "x", 0, 1, "a", None),
        _row(9, "y", 2, 2, "d", True),
        _row(13, "y", 2, 6, "d", True),
    ),
)
