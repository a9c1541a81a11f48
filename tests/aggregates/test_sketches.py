"""Sketches compared with exact answers: random and adversarial values, any split of rows."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.functions import approx_count_distinct, approx_quantile, approx_top_k
from muntin.aggregates.own_aggregate import OwnAggregate, checked
from muntin.aggregates.parse import parse_column
from muntin.aggregates.sketches import (
    ApproxCountDistinct,
    ApproxQuantile,
    ApproxTopK,
)
from muntin.errors import ArgumentError, ExpressionError, UnsupportedTypeError
from muntin.kernels.numbers.equal_values import decoded, tally
from muntin.reference.aggregates import order

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1]),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, 1e-300, 0.1]),
    pa.string(): st.text("abé\0", max_size=2),
    pa.binary(): st.binary(max_size=2),
    pa.decimal128(38, 10): st.decimals(-(10**20), 10**20, places=10),
    pa.decimal128(9, 2): st.decimals(-9, 9, places=2),
    pa.date32(): st.dates(),
    pa.timestamp("us", tz="UTC"): st.datetimes(datetime(1900, 1, 1), timezones=st.just(UTC)),
    pa.timestamp("us"): st.datetimes(datetime(1900, 1, 1)),
    pa.duration("us"): st.timedeltas(timedelta(-10_000), timedelta(10_000)),
}


def answer(own: OwnAggregate, column: pa.Array, parts: int, seed: int = 0) -> Any:
    """Deal rows to panes, merge panes step by step in any order, finish."""
    sketch = checked(own, own.name, [column.type])
    chance = random.Random(seed)
    groups = np.array([*range(parts), *(chance.randrange(parts) for _ in range(len(column)))])
    rows = pa.concat_arrays([pa.nulls(parts, column.type), column])  # no pane is empty
    panes = sketch.partial([rows], groups, parts)
    while parts > 1:
        fewer = max(1, parts // chance.choice([2, 3, parts]))
        onto = [*range(fewer), *(chance.randrange(fewer) for _ in range(parts - fewer))]
        chance.shuffle(onto)
        panes, parts = sketch.merge(panes, np.array(onto), fewer), fewer
    return sketch.finish(panes).to_pylist()[0]


# Values in canonical form


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_equal_values_are_one_value(type_: pa.DataType) -> None:
    @settings(max_examples=100)
    @given(st.lists(st.one_of(st.none(), VALUES[type_]), max_size=12))
    def check(values: list[Any]) -> None:
        column = pa.array(values, type_)
        groups = np.zeros(len(values), np.int64)
        forms, place, times, ((*rows,),) = tally(column, groups, 1)
        values_back = decoded([str(forms[place[row]]) for row in rows], type_)
        assert values_back.type == type_
        exact = Counter(order(value) for value in column.drop_null().to_pylist())
        pairs = zip(values_back.to_pylist(), times[rows].tolist(), strict=True)
        assert {order(value): n for value, n in pairs} == exact
        assert len(values_back) == len(exact)
        kinds = answer(ApproxCountDistinct(0.02), column, 3) if values else 0
        assert kinds == len(exact)

    check()


# approx_count_distinct


@settings(max_examples=300)
@given(
    st.sampled_from([0.09, 0.05, 0.02]), st.integers(0, 1500), st.integers(1, 40), st.integers(0)
)
def test_distinct_depends_on_the_values_alone(error: float, n: int, parts: int, seed: int) -> None:
    chance = random.Random(seed)
    values = [chance.getrandbits(60) for _ in range(n)]
    repeated = [*values, *(chance.choice(values) for _ in values)]
    chance.shuffle(repeated)
    once = answer(ApproxCountDistinct(error), pa.array(values, pa.int64()), 1)
    assert answer(ApproxCountDistinct(error), pa.array(repeated, pa.int64()), parts, seed) == once


DISTINCT: dict[str, Callable[[int, int], pa.Array]] = {
    "random": lambda n, seed: pa.array(np.random.default_rng(seed).integers(0, 2**62, n)),
    "in a row": lambda n, seed: pa.array(np.arange(n) + seed * n),
    "powers of two apart": lambda n, seed: pa.array((np.arange(n) + seed * n) << 32),
    "close doubles": lambda n, seed: pa.array(1.0 + (np.arange(n) + seed * n) * 2.0**-50),
    "long prefix": lambda n, seed: pa.array([f"{'x' * 40}{seed}-{i}" for i in range(n)]),
}


@pytest.mark.parametrize("kind", DISTINCT)
def test_distinct_is_within_its_error(kind: str) -> None:
    """Check the standard error over many inputs, and how many lie within two and three of it."""
    error, n = 0.05, 3000
    columns = [DISTINCT[kind](n, seed) for seed in range(60)]
    off = np.array([answer(ApproxCountDistinct(error), column, 2) / n - 1 for column in columns])
    assert np.sqrt((off**2).mean()) <= error
    assert (np.abs(off) <= 2 * error).mean() >= 0.95
    assert (np.abs(off) <= 3 * error).mean() >= 0.98


def test_distinct_of_repeated_values() -> None:
    column = pa.array(np.tile(np.arange(7), 10_000))
    assert answer(ApproxCountDistinct(0.02), column, 20) == 7
    assert answer(ApproxCountDistinct(0.02), pa.nulls(3, pa.string()), 2) == 0


# approx_quantile


def rank_error(values: Sequence[float], quantile: float, share: float) -> float:
    """Return how far a value's ranks are from the wanted rank; a repeated value has several."""
    below = sum(value < quantile for value in values) / len(values)
    upto = sum(value <= quantile for value in values) / len(values)
    return max(0.0, below - share, share - upto)


def _walk(n: int, seed: int) -> list[float]:
    return np.cumsum(np.random.default_rng(seed).normal(size=n)).tolist()


def _organ_pipe(n: int, seed: int) -> list[float]:
    return [float(min(i, n - i)) for i in range(n)]


ORDERS: dict[str, Callable[[int, int], list[float]]] = {
    "random": lambda n, seed: np.random.default_rng(seed).normal(size=n).tolist(),
    "rising": lambda n, seed: [float(i) for i in range(n)],
    "falling": lambda n, seed: [float(-i) for i in range(n)],
    "organ pipe": _organ_pipe,
    "random walk": _walk,
    "few values": lambda n, seed: (
        np.random.default_rng(seed).integers(0, 5, n).astype(float).tolist()
    ),
    "huge and tiny": lambda n, seed: [10.0 ** ((i * 7919) % 600 - 300) for i in range(n)],
}


@pytest.mark.parametrize("kind", ORDERS)
def test_quantiles_are_within_their_error(kind: str) -> None:
    """The sketch is random: 99 of 100 answers are promised within ``error``.

    Twenty answers at 50, 90 and 99 percent: seven outside would happen once in 10**6 runs.
    """
    error, outside = 0.05, 0
    for seed in range(20):
        values = ORDERS[kind](2000, seed)
        for share in (0.5, 0.9, 0.99):
            quantile = answer(ApproxQuantile(share, error), pa.array(values), 1 + seed, seed)
            off = rank_error(values, quantile, share)
            assert off <= 3 * error
            outside += off > error
    assert outside <= 6


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 2.0, math.nan]), min_size=1, max_size=30),
    st.floats(0, 1),
    st.integers(1, 4),
)
def test_quantiles_of_few_values_are_exact(values: list[float], share: float, parts: int) -> None:
    quantiles = answer(ApproxQuantile((0, share, 1), 0.05), pa.array(values), parts)
    wanted = sorted(values, key=order)
    inner = next(v for n, v in enumerate(wanted, 1) if n >= share * len(wanted))
    assert [order(v) for v in quantiles] == [order(wanted[0]), order(inner), order(wanted[-1])]


def test_quantiles_of_other_numbers() -> None:
    column = pa.array([1, 2, None, 2**62], pa.int64())
    assert answer(ApproxQuantile(1, 0.01), column, 2) == 2.0**62
    assert answer(ApproxQuantile(0.5, 0.01), pa.array([1, 3]).cast(pa.decimal128(20, 1)), 2) == 1.0
    assert answer(ApproxQuantile(0.5, 0.01), pa.nulls(4, pa.float64()), 2) is None
    assert answer(ApproxQuantile((0.5,), 0.01), pa.nulls(4, pa.float64()), 2) is None


# approx_top_k


def check_top_k(values: list[Any], k: int, error: float, parts: int, seed: int) -> None:
    type_ = pa.int64() if isinstance(values[0], int) else pa.string()
    top = answer(ApproxTopK(k, error), pa.array(values, type_), parts, seed)
    exact, n = Counter(values), len(values)
    assert len(top) <= k
    assert [row["count"] for row in top] == sorted((r["count"] for r in top), reverse=True)
    for row in top:
        assert row["low"] <= exact[row["item"]] <= row["count"] == row["high"]
        assert row["high"] - row["low"] <= error * n
    last = top[-1]["count"] if len(top) == k else 0
    for item in exact.keys() - {row["item"] for row in top}:
        assert exact[item] <= max(last, error * n)
    if len(exact) < 2.6 / error:
        assert [(row["count"], row["low"]) for row in top] == [
            (count, count) for _, count in exact.most_common(k)
        ]


@settings(max_examples=300)
@given(
    st.sampled_from([0.4, 0.1, 0.02]),
    st.integers(1, 6),
    st.integers(1, 20),
    st.integers(0, 2**32),
    st.floats(1.05, 3),
)
def test_top_k_bounds_are_certain(error: float, k: int, parts: int, seed: int, skew: float) -> None:
    values = np.random.default_rng(seed).zipf(skew, 600) % 10_000
    check_top_k(values.tolist(), k, error, parts, seed)


#   a a a ... then a flood of values seen once, then b b b ...: what is purged when it matters
@pytest.mark.parametrize("parts", [1, 2, 30])
def test_top_k_of_floods(parts: int) -> None:
    flood = [f"once {n}" for n in range(3000)]
    check_top_k([*["a"] * 400, *flood, *["b"] * 300], 2, 0.05, parts, 1)
    check_top_k([*flood[:50], *["", "b"] * 100, *flood[50:]], 3, 0.01, parts, 2)
    check_top_k(flood, 5, 0.02, parts, 3)  # nothing is frequent
    check_top_k(["only"] * 1000, 5, 0.4, parts, 4)


def test_top_k_remembers_what_it_threw_out() -> None:
    """Values with equal counts are dropped all at once, and then are counted again."""
    sketch = checked(ApproxTopK(1, 0.25), "top", [pa.int64()])
    full, again = [*range(13)] * 2, [0, 0, 0]  # 13 is one more than 0.75 * 16
    panes = sketch.partial([pa.array(full + again)], np.array([0] * 26 + [1] * 3), 2)
    assert sketch.finish(panes).to_pylist()[0] == []
    (top,) = sketch.finish(sketch.merge(panes, np.zeros(2, np.int64), 1)).to_pylist()
    assert top == [{"item": 0, "count": 5, "low": 3, "high": 5}]


def test_top_k_of_nothing() -> None:
    assert answer(ApproxTopK(3, 0.01), pa.nulls(4, pa.date32()), 2) == []


# Sizes, arguments and text


def test_sizes_are_as_documented() -> None:
    column = pa.array(np.arange(300_000))
    groups = np.zeros(len(column), np.int64)
    for error in (0.05, 0.02):
        (distinct,) = ApproxCountDistinct(error).partial([column], groups, 1)
        assert len(distinct[0].as_py()) <= 2.2 / error**2 + 40
    ranks, _ = ApproxQuantile(0.5, 0.01).partial([column], groups, 1)
    assert len(ranks[0].as_py()) < 8_000
    (top,) = ApproxTopK(5, 0.01).partial([column], groups, 1)
    assert len(top[0].as_py()) < 0.75 * 512 * (8 + 4 + 6) + 40


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: approx_count_distinct("x", 0.5), "error=0.5 cannot be used: .* 0.00072 and 0.092"),
        (lambda: approx_count_distinct("x", "2%"), "error='2%'"),
        (lambda: approx_count_distinct(3), "column=3|columns=3"),
        (lambda: approx_quantile("x", 95), "p=95 cannot be used: it must be a share"),
        (lambda: approx_quantile("x", []), "at least one share"),
        (lambda: approx_quantile("x", [0.5, True]), "p=True"),
        (lambda: approx_quantile("x", 0.5, 1e-9), "error=1e-09"),
        (lambda: approx_top_k("x", 0), "k=0 cannot be used"),
        (lambda: approx_top_k("x", 5, 0), "error=0 cannot"),
    ],
)
def test_arguments_that_are_refused(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        make()


def test_types_that_do_not_suit() -> None:
    nested = pa.list_(pa.int64())
    for own in (ApproxCountDistinct(0.02), ApproxTopK(5, 0.01)):
        with pytest.raises(UnsupportedTypeError, match="needs a type that has an order"):
            checked(own, own.name, [nested])
    with pytest.raises(UnsupportedTypeError, match=r"approx_percentile: needs a number, .* string"):
        checked(ApproxQuantile(0.5, 0.01), "approx_percentile", [pa.string()])


@pytest.mark.parametrize(
    ("text", "sketch"),
    [
        ("approx_count_distinct(x)", ApproxCountDistinct(0.02)),
        ("approx_count_distinct(x, 0.05)", ApproxCountDistinct(0.05)),
        ("approx_percentile(x, 0.95)", ApproxQuantile(0.95, 0.01)),
        ("percentile_approx(x, 1, 1000)", ApproxQuantile(1, 0.001)),
        ("APPROX_PERCENTILE(x, array(0.5, 0.9))", ApproxQuantile((0.5, 0.9), 0.01)),
        ("approx_top_k(x)", ApproxTopK(5, 0.001)),
        ("approx_top_k(x, 3)", ApproxTopK(3, 0.001)),
    ],
)
def test_text(text: str, sketch: OwnAggregate) -> None:
    (aggregate,) = parse_column(text, []).aggregates
    assert aggregate.options == (sketch,)
    assert [str(argument) for argument in aggregate.arguments] == ["x"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("approx_percentile(x)", r"write approx_percentile\(x, 0.95\)"),
        ("approx_percentile(x, y)", "p='y' cannot be used"),
        ("approx_percentile(x, 0.5, 0)", "error=0 cannot be used"),
        ("approx_percentile(x, 1.5)", "p=1.5 cannot be used"),
        ("approx_top_k(x, 5, 100)", r"write approx_top_k\(x\) or"),
        ("approx_top_k(x, 0.5)", "k=0.5 cannot be used"),
        ("approx_count_distint(x)", "did you mean 'approx_count_distinct'"),
        ("approx_count_distinct(*)", "takes a column"),
    ],
)
def test_text_that_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem):
        parse_column(text, [])
