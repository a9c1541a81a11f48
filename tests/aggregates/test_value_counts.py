"""Holistic aggregates from rows to results: rows are lifted, combined into panes and windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.kernels.grouping import Groups
from muntin.operators.aggregation.combine_accumulators import combine, slide
from muntin.reference import aggregates as agg

Pairs = list[tuple[int, Any]]
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int32(): st.one_of(st.integers(0, 3), st.integers(-(2**31), 2**31 - 1)),
    pa.int64(): st.sampled_from([-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 2, 2**63 - 1]),
    pa.float32(): st.sampled_from([-1.5, -0.0, 0.0, 0.25, math.inf, math.nan]),
    pa.float64(): st.one_of(st.sampled_from([0.0, -0.0, 1.5, math.nan]), st.floats()),
    pa.string(): st.text("abé", max_size=1),
    pa.binary(): st.binary(max_size=1),
    pa.decimal128(10, 2): st.integers(-9, 9).map(lambda n: Decimal(n).scaleb(-2)),
    pa.decimal128(38, 30): st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -30))
    ),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.sampled_from([datetime(2026, 1, 1), datetime(2026, 1, 2)]),
    pa.timestamp("us", tz="UTC"): st.datetimes(datetime(1900, 1, 1), timezones=st.just(UTC)),
}
NUMBERS = [t for t in VALUES if pa.types.is_integer(t) or pa.types.is_floating(t)]
NUMBERS += [t for t in VALUES if pa.types.is_decimal(t)]


def items(type_: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([("item", type_), ("count", pa.int64())]))


def several(values: list[Any]) -> list[float | None] | None:
    quantiles = [agg.quantile(values, share) for share in (0.0, 0.37, 1.0)]
    return None if quantiles[0] is None else quantiles


Case = tuple[str, tuple[Any, ...], Callable[[pa.DataType], pa.DataType], Callable[[Pairs], Any]]
OF_ANY: list[Case] = [
    ("mode", (), lambda t: t, lambda p: agg.mode(values_of(p))),
    ("count_distinct", (), lambda _: pa.int64(), lambda p: agg.count_distinct(values_of(p))),
    ("collect", (), pa.list_, agg.collect),
    ("collect_set", (), pa.list_, lambda p: agg.distinct(values_of(p))),
    ("top_k", (2,), items, lambda p: agg.top_k(values_of(p), 2)),
    ("heavy_hitters", (0.3,), items, lambda p: agg.heavy_hitters(values_of(p), "0.3")),
]
OF_NUMBERS: list[Case] = [
    ("median", (), lambda _: pa.float64(), lambda p: agg.median(values_of(p))),
    ("quantile", (0.9,), lambda _: pa.float64(), lambda p: agg.quantile(values_of(p), 0.9)),
    (
        "quantile",
        ((0.0, 0.37, 1.0),),
        lambda _: pa.list_(pa.float64()),
        lambda p: several(values_of(p)),
    ),
]
CASES = [(case, type_) for case in OF_ANY for type_ in VALUES]
CASES += [(case, type_) for case in OF_NUMBERS for type_ in NUMBERS]


def values_of(pairs: Pairs) -> list[Any]:
    return [value for _, value in pairs]


def plain(value: Any) -> Any:
    """Return a value that can be compared: NaN equals NaN."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def found(
    function: str,
    options: tuple[Any, ...],
    type_: pa.DataType,
    pairs: Pairs,
    panes: list[int],
    stretches: list[tuple[int, int]],
) -> pa.Array:
    """Return the answers for stretches of panes; a pane has the rows with its number."""
    bound = bind(AggregateCall(function, function, (0,), (type_,), True, options))
    (accumulator,) = bound.accumulators
    order = np.array([place for place, _ in pairs], np.int64)
    lifted = accumulator.lift([pa.array(values_of(pairs), type_)], order)
    assert [column.type for column in lifted] == accumulator.columns
    number = np.array(panes, np.int64)
    groups = Groups(number, np.unique(number, return_index=True)[1])
    columns = combine(accumulator.kind, lifted, groups)
    assert [column.type for column in columns] == accumulator.columns
    low, high = (np.array(ends, np.int64) for ends in zip(*stretches, strict=True))
    result = bound.finish([slide(accumulator.kind, columns, low, high)])
    assert result.type == bound.type
    return result


@st.composite
def stretched(draw: st.DrawFn, panes: int) -> list[tuple[int, int]]:
    """Draw stretches of panes, none of them empty, whose ends only move forward."""
    lows = sorted(draw(st.lists(st.integers(0, panes - 1), min_size=1, max_size=6)))
    stretches, reached = [], 0
    for low in lows:
        reached = max(reached, draw(st.integers(low + 1, panes)))
        stretches.append((low, reached))
    return stretches


@pytest.mark.parametrize(
    ("case", "type_"), CASES, ids=lambda part: part[0] if isinstance(part, tuple) else str(part)
)
def test_answers_are_the_references(case: Case, type_: pa.DataType) -> None:
    function, options, result_type, reference = case
    rows = st.tuples(st.integers(0, 2), st.one_of(st.none(), VALUES[type_]))

    @settings(max_examples=25)
    @given(st.lists(rows, min_size=1, max_size=14), st.data())
    def check(pairs: Pairs, data: st.DataObject) -> None:
        cuts = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
        panes = list(itertools.accumulate([0, *cuts[1:]]))
        # Panes follow each other along `on`; rows of a pane come in any order.
        pairs = [
            (place + 3 * pane, value) for (place, value), pane in zip(pairs, panes, strict=True)
        ]
        stretches = data.draw(stretched(panes[-1] + 1))
        expected = [
            reference([p for p, pane in zip(pairs, panes, strict=True) if low <= pane < high])
            for low, high in stretches
        ]
        answers = found(function, options, type_, pairs, panes, stretches)
        assert answers.type == result_type(type_)
        assert plain(answers.to_pylist()) == plain(expected)

    check()


#   row     0    1    2    3        rows of one place, not in order of values
#   on      1    1    1    2
#   value   c    a    b    z
#          [---------)              a c
#               [---------)         a b
#                    [-----------)  b z
def test_collect_orders_rows_of_one_place_in_every_window() -> None:
    pairs = [(1, "c"), (1, "a"), (1, "b"), (2, "z")]
    one_row = list(range(4))
    got = found("collect", (), pa.string(), pairs, one_row, [(0, 2), (1, 3), (2, 4)])
    assert got.to_pylist() == [["a", "c"], ["a", "b"], ["b", "z"]]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc")), min_size=1), st.data())
def test_collect_over_one_row_panes(pairs: Pairs, data: st.DataObject) -> None:
    """Row windows have such panes: key after key, the rows of each by `on` and a tiebreak."""
    keys = data.draw(st.integers(1, 3))
    rows = [pair for _ in range(keys) for pair in sorted(pairs, key=lambda pair: pair[0])]
    size = data.draw(st.integers(1, 4))
    stretches = [
        (max(key * len(pairs), end - size), end)
        for key in range(keys)
        for end in range(key * len(pairs) + 1, (key + 1) * len(pairs) + 1)
    ]
    got = found("collect", (), pa.string(), rows, list(range(len(rows))), stretches)
    assert got.to_pylist() == [agg.collect(rows[low:high]) for low, high in stretches]


@pytest.mark.parametrize(("function", "options"), [(c[0], c[1]) for c in [*OF_ANY, *OF_NUMBERS]])
def test_without_a_value(function: str, options: tuple[Any, ...]) -> None:
    pairs: Pairs = [(0, None), (1, None)]
    expected = {"count_distinct": 0, "median": None, "quantile": None, "mode": None}
    for stretches in ([(0, 1)], [(0, 1), (0, 2)]):
        got = found(function, options, pa.float64(), pairs, [0, 1], stretches)
        assert got.to_pylist() == [expected.get(function, [])] * len(stretches)


def test_a_share_is_taken_as_it_is_written() -> None:
    """0.07 as a double is a bit more than seven hundredths; seven of a hundred rows are enough."""
    values = ["heavy"] * 7 + [f"light {n}" for n in range(93)]
    pairs: Pairs = list(enumerate(values))
    got = found("heavy_hitters", (0.07,), pa.string(), pairs, [0] * 100, [(0, 1)])
    assert got.to_pylist() == [[{"item": "heavy", "count": 7}]]
    got = found("heavy_hitters", (0.0700001,), pa.string(), pairs, [0] * 100, [(0, 1)])
    assert got.to_pylist() == [[]]


def test_panes_of_panes_are_panes() -> None:
    """Combining in two steps gives the same as in one, also for sliced columns."""
    bound = bind(AggregateCall("mode", "mode(x)", (0,), (pa.string(),), True))
    (accumulator,) = bound.accumulators
    rows = pa.array(["b", None, "a", "b", "a", "b"])
    lifted = [c.slice(1) for c in accumulator.lift([rows], np.arange(6))]
    halves = combine(accumulator.kind, lifted, Groups(np.array([0, 0, 1, 1, 1]), np.array([0, 2])))
    assert [c.to_pylist() for c in halves] == [[["a"], ["a", "b"]], [[1], [1, 2]]]
    twice = combine(accumulator.kind, halves, Groups(np.array([0, 0]), np.array([0])))
    assert [c.to_pylist() for c in twice] == [[["a", "b"]], [[2, 2]]]
    last = [c.slice(1) for c in halves]
    one_pane = np.array([0]), np.array([1])
    assert bound.finish([slide(accumulator.kind, last, *one_pane)]).to_pylist() == ["b"]


@pytest.mark.parametrize("function", ["mode", "collect"])
def test_nothing_stays_nothing(function: str) -> None:
    none = np.empty(0, np.int64)
    bound = bind(AggregateCall(function, function, (0,), (pa.string(),), True))
    (accumulator,) = bound.accumulators
    columns = accumulator.lift([pa.array([], pa.string())], none)
    combined = combine(accumulator.kind, columns, Groups(none, none))
    assert [column.type for column in combined] == accumulator.columns
    slid = bound.finish([slide(accumulator.kind, combined, none, none)])
    assert (slid.type, len(slid)) == (bound.type, 0)
