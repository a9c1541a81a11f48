"""Aggregates from rows to results: rows are lifted, combined into groups, and finished."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin.aggregates.functions as mt
from muntin.aggregates.accumulators import (
    Collected,
    Count,
    Counted,
    DoubleSum,
    Extreme,
    FirstOrLast,
    WholeSum,
)
from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, slots_of
from muntin.errors import SumOverflowError, UnsupportedTypeError
from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    Expression,
    Name,
    NotNull,
    Sql,
    Times,
    Where,
)
from muntin.kernels.grouping import Groups
from muntin.operators.aggregation.combine_accumulators import combine
from muntin.reference import aggregates
from tests.aggregates.rounding import MODERATE, mean_error, sum_error, variance_error, within

A, B, C = Name("a"), Name("b"), Sql("c > 1")


def call(
    function: str, *types: pa.DataType, ansi: bool = True, options: tuple[object, ...] = ()
) -> AggregateCall:
    return AggregateCall(function, f"{function}(x)", tuple(range(len(types))), types, ansi, options)


def run(
    call: AggregateCall,
    slots: Sequence[pa.Array],
    ticks: Sequence[int] | None = None,
    groups: Sequence[int] | None = None,
) -> list[Any]:
    """Return the results of a call for groups of rows (one group by default) as Python values."""
    rows = len(slots[0])
    number = np.array([0] * rows if groups is None else groups, np.int64)
    size = 1 if groups is None else max(groups, default=-1) + 1
    # Members are only read for keys, so any row will do.
    grouped = Groups(number, np.zeros(size, np.int64))
    bound = bind(call)
    placed = np.array(range(rows) if ticks is None else ticks, np.int64)
    kept = [combine(a.kind, a.lift(slots, placed), grouped) for a in bound.accumulators]
    result = bound.finish(kept)
    assert result.type == bound.type
    found: list[Any] = result.to_pylist()
    return found


# -- what Spark is asked to evaluate ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregate", "slots"),
    [
        (mt.count(), []),
        (mt.count().filter("c > 1"), [Where(C, None)]),
        (mt.count("a"), [A]),
        (mt.count("a").filter("c > 1"), [Where(C, A)]),
        (mt.count_if("c > 1"), [Where(C, None)]),
        (mt.count_if("c > 1").filter("c > 1"), [Where(Both(C, C), None)]),
        (mt.sum("a"), [A]),
        (mt.avg("a").filter("c > 1"), [Where(C, A)]),
        (mt.max("a"), [A]),
        (mt.any("c > 1"), [C]),
        (mt.first("a"), [A]),
        (mt.first("a").filter("c > 1"), [A, C]),
        (mt.last("a", ignore_nulls=True), [A, NotNull((A,))]),
        (mt.median("a"), [A]),
        (mt.quantile("a", 0.9).filter("c > 1"), [Where(C, A)]),
        (mt.collect("a").filter("c > 1"), [Where(C, A)]),
        (mt.stddev_samp("a"), [A]),
        (mt.var_pop("a").filter("c > 1"), [Where(C, A)]),
    ],
    ids=str,
)
def test_slots(aggregate: Aggregate, slots: list[Expression]) -> None:
    assert slots_of(aggregate) == slots


def test_slots_of_a_weighted_mean() -> None:
    value, weight = AsDouble(A), AsDouble(B)
    complete = NotNull((value, weight))
    assert slots_of(mt.weighted_avg("a", "b")) == [
        Where(complete, Times(value, weight)),
        Where(complete, weight),
    ]
    both = Both(C, complete)
    assert slots_of(mt.weighted_avg("a", "b").filter("c > 1")) == [
        Where(both, Times(value, weight)),
        Where(both, weight),
    ]


# -- what panes keep -------------------------------------------------------------------------------


def test_aggregates_of_one_column_share_their_accumulators() -> None:
    double = pa.float64()
    names = ["sum", "avg", "count", "stddev_samp", "stddev_pop", "var_samp", "var_pop"]
    kept = {a for name in names for a in bind(call(name, double)).accumulators}
    assert kept == {DoubleSum((0,)), DoubleSum((0,), squares=True), Count((0,))}
    whole = {a for name in names[:3] for a in bind(call(name, pa.int32())).accumulators}
    assert whole == {WholeSum((0,), pa.int32()), Count((0,))}


HOLISTIC: list[tuple[str, tuple[object, ...]]] = [
    ("median", ()),
    ("quantile", (0.5,)),
    ("quantile", ((0.5, 0.9),)),
    ("mode", ()),
    ("count_distinct", ()),
    ("collect_set", ()),
    ("heavy_hitters", (0.05,)),
    ("top_k", (3,)),
]


def test_holistic_aggregates_of_one_column_share_one_accumulator() -> None:
    type_ = pa.decimal128(5, 1)
    kept = {bind(call(f, type_, options=o)).accumulators for f, o in HOLISTIC}
    assert kept == {(Counted((0,), type_),)}
    assert bind(call("collect", type_)).accumulators == (Collected((0,), type_),)


@pytest.mark.parametrize(
    ("function", "kept"),
    [
        ("min", Extreme((0,), pa.bool_())),
        ("max", Extreme((0,), pa.bool_(), greatest=True)),
        ("all", Extreme((0,), pa.bool_())),
        ("any", Extreme((0,), pa.bool_(), greatest=True)),
        ("first", FirstOrLast((0,), pa.bool_())),
        ("last", FirstOrLast((0,), pa.bool_(), latest=True)),
        ("count", Count((0,))),
        ("count_if", Count((0,))),
    ],
)
def test_what_is_kept(function: str, kept: object) -> None:
    assert bind(call(function, pa.bool_())).accumulators == (kept,)


def test_what_is_kept_of_two_slots() -> None:
    assert bind(call("count")).accumulators == (Count(()),)
    assert bind(call("first", pa.string(), pa.bool_())).accumulators == (
        FirstOrLast((0, 1), pa.string()),
    )
    assert bind(call("weighted_avg", pa.float64(), pa.float64())).accumulators == (
        DoubleSum((0,)),
        DoubleSum((1,)),
        Count((0,)),
    )


@pytest.mark.parametrize(
    ("function", "given_", "result"),
    [
        ("count", pa.string(), pa.int64()),
        ("sum", pa.int8(), pa.int64()),
        ("sum", pa.int64(), pa.int64()),
        ("sum", pa.float32(), pa.float64()),
        ("sum", pa.decimal128(10, 2), pa.decimal128(20, 2)),
        ("sum", pa.decimal128(30, 2), pa.decimal128(38, 2)),
        ("avg", pa.int32(), pa.float64()),
        ("avg", pa.float32(), pa.float64()),
        ("avg", pa.decimal128(10, 2), pa.decimal128(14, 6)),
        ("avg", pa.decimal128(38, 36), pa.decimal128(38, 38)),
        ("min", pa.string(), pa.string()),
        ("max", pa.decimal128(5, 1), pa.decimal128(5, 1)),
        ("first", pa.date32(), pa.date32()),
        ("any", pa.bool_(), pa.bool_()),
        ("stddev_pop", pa.float64(), pa.float64()),
        ("median", pa.decimal128(5, 1), pa.float64()),
        ("median", pa.int8(), pa.float64()),
        ("mode", pa.date32(), pa.date32()),
        ("count_distinct", pa.string(), pa.int64()),
        ("collect", pa.decimal128(5, 1), pa.list_(pa.decimal128(5, 1))),
        ("collect_set", pa.bool_(), pa.list_(pa.bool_())),
    ],
)
def test_result_types_are_sparks(function: str, given_: pa.DataType, result: pa.DataType) -> None:
    assert bind(call(function, given_)).type == result


NESTED = pa.struct([("a", pa.int64())])


@pytest.mark.parametrize(
    ("function", "type_", "message"),
    [
        ("sum", pa.string(), "sum(x) needs a number, but its argument is string"),
        ("sum", pa.bool_(), "sum(x) needs a number, but its argument is bool"),
        ("avg", pa.date32(), "avg(x) needs a number, but its argument is date32[day]"),
        ("any", pa.int64(), "any(x) needs a condition (boolean), but its argument is int64"),
        ("all", pa.string(), "all(x) needs a condition (boolean), but its argument is string"),
        ("median", pa.string(), "median(x) needs a number, but its argument is string"),
        ("quantile", pa.bool_(), "quantile(x) needs a number, but its argument is bool"),
        (
            "mode",
            NESTED,
            "mode(x) needs a type that has an order, but its argument is struct<a: int64>",
        ),
        (
            "collect",
            NESTED,
            "collect(x) needs a type that has an order, to break ties, "
            "but its argument is struct<a: int64>",
        ),
        (
            "min",
            NESTED,
            "min(x) needs a type that has an order, but its argument is struct<a: int64>",
        ),
        (
            "max",
            pa.list_(pa.int64()),
            "max(x) needs a type that has an order, but its argument is list<item: int64>",
        ),
        (
            "first",
            NESTED,
            "first(x) needs a type that has an order, to break ties, "
            "but its argument is struct<a: int64>",
        ),
    ],
)
def test_a_type_that_does_not_suit(function: str, type_: pa.DataType, message: str) -> None:
    with pytest.raises(UnsupportedTypeError) as caught:
        bind(call(function, type_))
    assert str(caught.value) == message
    assert caught.value.about == call(function, type_).label  # by which SQL finds its place


# -- results against the definitions ---------------------------------------------------------------


INTEGERS = {
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
}
ORDERED: dict[pa.DataType, st.SearchStrategy[Any]] = {
    **INTEGERS,
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.decimal128(12, 2): st.decimals(-(10**9), 10**9, places=2),
    pa.date32(): st.dates(date(1900, 1, 1)),
    pa.timestamp("us", tz="UTC"): st.datetimes(datetime(1900, 1, 1), timezones=st.just(UTC)),
    pa.duration("us"): st.timedeltas(timedelta(days=-9), timedelta(days=9)),
}


def maybe(values: st.SearchStrategy[Any], size: int = 12) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(st.none(), values), min_size=1, max_size=size)


def same(left: object, right: object) -> bool:
    return aggregates.order(left) == aggregates.order(right)


@given(maybe(st.integers()))
def test_count(values: list[int | None]) -> None:
    column = pa.array([None if v is None else "x" for v in values], pa.string())
    assert run(call("count", pa.string()), [column]) == [aggregates.count(values)]
    assert run(call("count_if", pa.string()), [column]) == [aggregates.count(values)]
    assert run(call("count"), [column]) == [len(values)]


@pytest.mark.parametrize("type_", ORDERED, ids=str)
def test_extremes_and_edges_of_every_type(type_: pa.DataType) -> None:
    @settings(max_examples=40)
    @given(maybe(ORDERED[type_]), st.data())
    def check(values: list[Any], data: st.DataObject) -> None:
        column = pa.array(values, type_)
        least, greatest = (run(call(f, type_), [column])[0] for f in ("min", "max"))
        assert same(least, aggregates.least(values))
        assert same(greatest, aggregates.greatest(values))
        ticks = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
        pairs = list(zip(ticks, values, strict=True))
        first, last = (run(call(f, type_), [column], ticks)[0] for f in ("first", "last"))
        assert same(first, aggregates.first(pairs))
        assert same(last, aggregates.last(pairs))

    check()


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 9)), st.booleans()),
        min_size=1,
    )
)
def test_first_and_last_of_the_rows_that_count(rows: list[tuple[int, int | None, bool]]) -> None:
    ticks = [tick for tick, _, _ in rows]
    slots = [
        pa.array([value for _, value, _ in rows], pa.int64()),
        pa.array([counts or None for _, _, counts in rows], pa.bool_()),
    ]
    kept = [(tick, value) for tick, value, counts in rows if counts]
    types = pa.int64(), pa.bool_()
    assert run(call("first", *types), slots, ticks) == [aggregates.first(kept)]
    assert run(call("last", *types), slots, ticks) == [aggregates.last(kept)]


@given(maybe(st.booleans()))
def test_conditions(values: list[bool | None]) -> None:
    column = pa.array(values, pa.bool_())
    assert run(call("any", pa.bool_()), [column]) == [aggregates.any_true(values)]
    assert run(call("all", pa.bool_()), [column]) == [aggregates.all_true(values)]


@pytest.mark.parametrize("type_", INTEGERS, ids=str)
def test_sums_of_integers(type_: pa.DataType) -> None:
    @given(maybe(INTEGERS[type_]))
    def check(values: list[int | None]) -> None:
        column = pa.array(values, type_)
        total = aggregates.total(values)
        wrapped = None if total is None else (total + 2**63) % 2**64 - 2**63
        assert run(call("sum", type_, ansi=False), [column]) == [wrapped]
        if wrapped == total:
            assert run(call("sum", type_), [column]) == [total]
        else:
            with pytest.raises(SumOverflowError):
                run(call("sum", type_), [column])

    check()


@given(maybe(INTEGERS[pa.int64()], size=30))
def test_the_mean_of_integers(values: list[int | None]) -> None:
    (mean,) = run(call("avg", pa.int64()), [pa.array(values, pa.int64())])
    kept = aggregates.present(values)
    if not kept:
        assert mean is None
    else:
        exact = Fraction(sum(kept), len(kept))
        assert within(mean, exact, abs(exact) * Fraction(17, 2**106))


@given(st.integers(1, 28), st.integers(0, 20), st.data())
def test_decimals(precision: int, scale: int, data: st.DataObject) -> None:
    scale = min(scale, precision)
    largest = 10**precision - 1
    drawn = data.draw(maybe(st.integers(-largest, largest)))
    values = [None if n is None else unscaled(n, scale) for n in drawn]
    type_ = pa.decimal128(precision, scale)
    column = pa.array(values, type_)
    assert run(call("sum", type_), [column]) == [aggregates.total(values)]
    assert run(call("avg", type_), [column]) == [aggregates.mean(values, scale + 4)]


def unscaled(digits: int, scale: int) -> Decimal:
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))


@given(maybe(MODERATE))
def test_sums_and_means_of_doubles(values: list[float | None]) -> None:
    column = pa.array(values, pa.float64())
    (total,) = run(call("sum", pa.float64()), [column])
    (mean,) = run(call("avg", pa.float64()), [column])
    kept = aggregates.present(values)
    if not kept:
        assert (total, mean) == (None, None)
    else:
        exact = sum(map(Fraction, kept), Fraction())
        assert within(total, exact, sum_error(kept))
        assert within(mean, exact / len(kept), mean_error(kept))


@given(maybe(st.integers(-(2**30), 2**30)))
def test_sums_that_are_exact_are_exact(values: list[int | None]) -> None:
    halves = [None if n is None else n / 2 for n in values]
    for type_ in (pa.float64(), pa.float32()):
        column = pa.array(halves, pa.float64()).cast(type_)
        assert run(call("sum", type_), [column]) == [aggregates.total(column.to_pylist())]


@given(maybe(MODERATE))
def test_variances(values: list[float | None]) -> None:
    column = pa.array(values, pa.float64())
    kept = aggregates.present(values)
    for function, sample in (("var_samp", True), ("var_pop", False)):
        (variance,) = run(call(function, pa.float64()), [column])
        (deviation,) = run(call(function.replace("var", "stddev"), pa.float64()), [column])
        free = len(kept) - sample
        if free <= 0:
            assert (variance, deviation) == (None, None)
            continue
        mean = sum(map(Fraction, kept), Fraction()) / len(kept)
        exact = sum(((Fraction(v) - mean) ** 2 for v in kept), Fraction()) / free
        off = variance_error(kept, free)
        low, high = float(max(exact - off, Fraction())), float(exact + off)
        assert low <= variance <= high
        assert math.sqrt(low) <= deviation <= math.sqrt(high)


@pytest.mark.parametrize("mean", [0.0, 1e6, 1e9, -1e12])
def test_a_large_mean_does_not_drown_the_variance(mean: float) -> None:
    values = [mean + part for part in (1.0, 2.0, 3.0, 4.0)]
    column = pa.array(values)
    assert run(call("var_pop", pa.float64()), [column]) == [1.25]
    assert run(call("var_samp", pa.float64()), [column]) == [5 / 3]
    assert run(call("stddev_pop", pa.float64()), [column]) == [math.sqrt(1.25)]


def test_equal_values_have_no_variance() -> None:
    for value in (0.1, 1e-5, 123456.789):
        column = pa.array([value] * 7)
        for function in ("var_pop", "var_samp", "stddev_pop", "stddev_samp"):
            assert run(call(function, pa.float64()), [column]) == [0.0]


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1.0, -math.inf], -math.inf),
        ([1e308, 1e308], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([1.0, math.inf, math.nan], math.nan),
    ],
)
def test_what_is_not_finite(values: list[float], total: float) -> None:
    column = pa.array(values)
    assert same(run(call("sum", pa.float64()), [column])[0], total)
    assert same(run(call("avg", pa.float64()), [column])[0], total)
    if not all(map(math.isfinite, values)):
        for function in ("var_samp", "var_pop", "stddev_samp", "stddev_pop"):
            assert math.isnan(run(call(function, pa.float64()), [column])[0])


@given(
    st.lists(
        st.tuples(
            st.integers(-100, 100).map(float), st.one_of(st.none(), st.integers(-3, 9).map(float))
        ),
        min_size=1,
    )
)
def test_weighted_means(pairs: list[tuple[float, float | None]]) -> None:
    products = pa.array([None if w is None else v * w for v, w in pairs], pa.float64())
    weights = pa.array([w for _, w in pairs], pa.float64())
    doubles = pa.float64(), pa.float64()
    assert run(call("weighted_avg", *doubles), [products, weights]) == [
        aggregates.weighted_mean(pairs)
    ]


EVERY = [
    ("count", pa.int64()),
    ("sum", pa.int64()),
    ("sum", pa.float64()),
    ("sum", pa.decimal128(10, 2)),
    ("avg", pa.int64()),
    ("avg", pa.float64()),
    ("avg", pa.decimal128(10, 2)),
    ("min", pa.string()),
    ("max", pa.float64()),
    ("first", pa.string()),
    ("last", pa.int64()),
    ("any", pa.bool_()),
    ("var_samp", pa.float64()),
    ("stddev_pop", pa.float64()),
]


@pytest.mark.parametrize(("function", "type_"), EVERY, ids=lambda part: str(part))
def test_a_group_without_values(function: str, type_: pa.DataType) -> None:
    nothing = 0 if function == "count" else None
    assert run(call(function, type_), [pa.nulls(3, type_)]) == [nothing]


@pytest.mark.parametrize(("function", "type_"), EVERY, ids=lambda part: str(part))
def test_groups_do_not_mix(function: str, type_: pa.DataType) -> None:
    @settings(max_examples=30)
    @given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), small(type_))), min_size=1))
    def check(rows: list[tuple[int, Any]]) -> None:
        # Groups come from rows, so none is empty.
        known = sorted({group for group, _ in rows})
        groups = [known.index(group) for group, _ in rows]
        column = pa.array([value for _, value in rows], type_)
        together = run(call(function, type_), [column], groups=groups)
        for group in set(groups):
            mine = [place for place, other in enumerate(groups) if other == group]
            alone = run(call(function, type_), [column.take(pa.array(mine))], ticks=mine)
            assert same(together[group], alone[0])

    check()


def small(type_: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_floating(type_):
        return st.integers(-8, 8).map(lambda n: n / 4)
    return st.integers(-(10**6), 10**6) if type_ == pa.int64() else ORDERED_SMALL[type_]


ORDERED_SMALL: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.text("abc", max_size=2),
    pa.bool_(): st.booleans(),
    pa.decimal128(10, 2): st.decimals(-1000, 1000, places=2),
}


# -- overflow --------------------------------------------------------------------------------------


ADVICE = "or set spark.sql.ansi.enabled to false to let it behave as before ANSI mode"


def test_an_integer_sum_that_overflows() -> None:
    column = pa.array([2**63 - 1, 1])
    with pytest.raises(SumOverflowError) as caught:
        run(call("sum", pa.int64()), [column])
    assert str(caught.value) == (
        "sum(x) left the range of bigint (ARITHMETIC_OVERFLOW); "
        f"cast its argument to decimal(38, 0), {ADVICE}"
    )
    assert isinstance(caught.value, ArithmeticError)
    assert run(call("sum", pa.int64(), ansi=False), [column]) == [-(2**63)]


def test_only_the_end_of_a_sum_counts() -> None:
    column = pa.array([2**63 - 1, 1, -1])
    assert run(call("sum", pa.int64()), [column]) == [2**63 - 1]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_decimal_sum_that_overflows(sign: int) -> None:
    type_ = pa.decimal128(38, 0)
    column = pa.array([unscaled(sign * (10**38 - 1), 0), unscaled(sign, 0)], type_)
    with pytest.raises(SumOverflowError) as caught:
        run(call("sum", type_), [column])
    assert str(caught.value) == (
        "sum(x) left the range of decimal128(38, 0) (ARITHMETIC_OVERFLOW); "
        f"cast its argument to double, {ADVICE}"
    )
    assert run(call("sum", type_, ansi=False), [column]) == [None]


def test_a_decimal_mean_that_overflows() -> None:
    """Four more digits after the point leave 34 before it, as in Spark."""
    type_ = pa.decimal128(38, 0)
    fits = pa.array([Decimal(10**34 - 1)], type_)
    assert run(call("avg", type_), [fits]) == [Decimal(10**34 - 1)]
    column = pa.array([Decimal(10**34)], type_)
    with pytest.raises(SumOverflowError) as caught:
        run(call("avg", type_), [column])
    assert str(caught.value) == (
        "avg(x) left the range of decimal128(38, 4) (ARITHMETIC_OVERFLOW); "
        f"cast its argument to double, {ADVICE}"
    )
    assert run(call("avg", type_, ansi=False), [column]) == [None]


def test_a_group_without_values_does_not_overflow() -> None:
    type_ = pa.decimal128(38, 0)
    assert run(call("avg", type_), [pa.nulls(1, type_)]) == [None]
    assert run(call("sum", type_), [pa.nulls(1, type_)]) == [None]


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        (["0.01", "0.02"], "0.015000"),
        (["1.00", "0.00", "0.00"], "0.333333"),
        (["2.00", "0.00", "0.00"], "0.666667"),
        (["-2.00", "0.00", "0.00"], "-0.666667"),
    ],
)
def test_a_decimal_mean_is_rounded_half_up(values: list[str], mean: str) -> None:
    type_ = pa.decimal128(10, 2)
    (found,) = run(call("avg", type_), [pa.array(list(map(Decimal, values)), type_)])
    assert str(found) == mean


LARGE = [2**53 + 1, 2**53 + 3, -(2**63), 2**63 - 1, None, 0, 7]
WIDE = [Decimal("12345678901234567890123456.78"), Decimal("-0.01"), None, Decimal("3.10")]


@pytest.mark.parametrize("function", ["var_samp", "var_pop", "stddev_samp", "stddev_pop"])
@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (LARGE, pa.int64()),
        (LARGE[:2], pa.int64()),
        ([1, 2, 4, 4], pa.int32()),
        ([5], pa.int64()),
        ([None], pa.int64()),
        (WIDE, pa.decimal128(30, 2)),
        ([-value for value in WIDE if value is not None], pa.decimal128(38, 2)),
        ([Decimal("0.1"), Decimal("0.2"), Decimal("0.4")], pa.decimal128(10, 1)),
        ([Decimal(10**17), Decimal(10**17 + 2)], pa.decimal128(18, 0)),
        ([Decimal(-3), Decimal(4)], pa.decimal128(38, 0)),
    ],
)
def test_variances_of_integers_and_decimals_are_rounded_once(
    function: str, values: list[Any], type_: pa.DataType
) -> None:
    """Beyond 2^53 a double cannot hold the values themselves."""
    bound = bind(AggregateCall(function, function, (0,), (type_,), True))
    column = pa.array(values, type_)
    groups = Groups(np.zeros(len(values), np.int64), np.zeros(1, np.int64))
    lifted = [a.lift([column], np.arange(len(values))) for a in bound.accumulators]
    parts = [
        combine(a.kind, columns, groups)
        for a, columns in zip(bound.accumulators, lifted, strict=True)
    ]
    assert bound.finish(parts).to_pylist() == [aggregates.FUNCTIONS[function](values)]
