"""Correlated aggregates over kept rows, compared with their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.bind import bind
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import parse_column
from muntin.kernels.fenwick import weight_between
from muntin.kernels.grouping import Groups
from muntin.operators.aggregation import correlated as room
from muntin.operators.aggregation.combine_accumulators import combine, slide
from muntin.reference.aggregates import order
from tests.aggregates.correlations import Asked, call, correlated, tables, values
from tests.thorough import examples

Rows = list[dict[str, Any]]


def slid(
    correlated_aggregate: Aggregate, rows: Rows, panes: list[int], stretches: list[tuple[int, int]]
) -> Any:
    """Combine rows into panes and panes into windows; ``panes`` are the ends of panes."""
    work = call(correlated_aggregate)
    bound = bind(work)
    (kept,) = bound.accumulators
    columns = tables(rows)
    slots = [
        columns.get(str(s).lower(), pa.array([True] * len(rows)))
        for s in correlated_aggregate.arguments
    ]
    lifted = kept.lift(slots, np.zeros(len(rows), np.int64))
    number = np.searchsorted(panes, np.arange(len(rows)), "right").astype(np.int64)
    member = np.array([0, *panes[:-1]], np.int64)
    joined = combine(kept.kind, lifted, Groups(number, member))
    low, high = (np.array(ends, np.int64) for ends in zip(*stretches, strict=True))
    column = bound.finish([slide(kept.kind, joined, low, high)])
    assert column.type == bound.type
    return column.to_pylist()


@st.composite
def windows(draw: st.DrawFn, rows: int) -> tuple[list[int], list[tuple[int, int]]]:
    cuts = draw(st.sets(st.integers(1, rows), max_size=rows)) | {rows}
    lows = sorted(draw(st.lists(st.integers(0, len(cuts) - 1), min_size=1, max_size=5)))
    stretches, reached = [], 0
    for low in lows:
        reached = max(reached, draw(st.integers(low + 1, len(cuts))))
        stretches.append((low, reached))
    return sorted(cuts), stretches


@examples(1500)
@given(correlated(), st.lists(values(), min_size=1, max_size=12), st.data())
def test_windows_equal_the_definition(question: Asked, rows: Rows, data: st.DataObject) -> None:
    panes, stretches = data.draw(windows(len(rows)))
    starts = [0, *panes]
    wanted = [question.meaning(rows[starts[low] : starts[high]]) for low, high in stretches]
    results = slid(question.aggregate, rows, panes, stretches)
    assert [order(value) for value in results] == [order(value) for value in wanted], question.text


def aggregate(text: str) -> Aggregate:
    (parsed,) = parse_column(text, []).aggregates
    return parsed


QUICK = [
    "count(*) FILTER (WHERE v >= avg(v))",
    "sum(i) FILTER (WHERE i <= 1.1 * min(i))",
    "avg(d) FILTER (WHERE v > 0.5 * max(v) AND b)",
    "count(v) FILTER (WHERE v BETWEEN avg(v) - 1 AND 1 + avg(v))",
    "sum(i) FILTER (WHERE max(d) * 0.9 <= d AND d < max(d) AND b)",
    "count(*) FILTER (WHERE s = min(s))",
    "count(*) FILTER (WHERE i > avg(i) FILTER (WHERE i > avg(i)))",
]


@pytest.mark.parametrize("text", QUICK)
def test_the_quick_way_is_taken_and_equals_the_general_one(text: str) -> None:
    question = aggregate(text)

    @settings(max_examples=60)
    @given(st.lists(values(), min_size=1, max_size=30), st.data())
    def check(rows: Rows, data: st.DataObject) -> None:
        panes, stretches = data.draw(windows(len(rows)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.KeptRowWindows, "_expanded", refuse)
            quick = slid(question, rows, panes, stretches)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room.KeptRowWindows, "_ranges", lambda *_: None)
            general = slid(question, rows, panes, stretches)
        assert quick == general

    check()


def refuse(*_: object) -> None:
    raise AssertionError("the general way was taken")


def test_windows_are_looked_at_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"v": float(n % 7), "i": n, "d": None, "s": None, "b": True} for n in range(50)]
    panes = list(range(1, 51))
    stretches = [(max(0, n - 20), n) for n in range(1, 51)]
    question = aggregate("sum(v) FILTER (WHERE v > avg(v))")
    whole = slid(question, rows, panes, stretches)
    monkeypatch.setattr(room, "AT_ONCE", 7)
    assert slid(question, rows, panes, stretches) == whole


@settings(max_examples=100)
@given(st.data())
def test_the_tree_of_ranks(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, 9))
    rows = data.draw(
        st.lists(st.tuples(st.integers(-1, ranks - 1), st.integers(-9, 9)), min_size=1, max_size=20)
    )
    _, stretches = data.draw(windows(len(rows)))
    stretches = [(low, min(high, len(rows))) for low, high in stretches]
    bounds = [
        (data.draw(st.integers(0, ranks)), data.draw(st.integers(0, ranks))) for _ in stretches
    ]
    columns = [
        np.array(c, np.int64)
        for c in (
            *zip(*rows, strict=True),
            *zip(*stretches, strict=True),
            *zip(*bounds, strict=True),
        )
    ]
    out = np.empty(len(stretches), np.int64)
    weight_between(*columns, ranks, out)
    assert out.tolist() == [
        sum(w for rank, w in rows[low:high] if rank >= 0 and first <= rank < last)
        for (low, high), (first, last) in zip(stretches, bounds, strict=True)
    ]


#: CallDetail of [Correlated aggregates 2]: duration, isIntl.
CALLS = [(12, True), (3, False), (30, True), (8, True), (27, True), (5, False), (29, False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Example 1: level 0, nothing correlated; example 2: 114 / 7 = 16.3; example 3: 0.9 * 30.
        ("count(*) FILTER (WHERE i >= avg(i) AND b)", 2),
        ("count(*) FILTER (WHERE b AND i >= 0.9 * max(i))", 2),
        # The share of above-average calls that are international, and the two-sided one.
        ("avg(i) FILTER (WHERE i > avg(i))", (30 + 27 + 29) / 3),
        ("count(*) FILTER (WHERE abs(i - avg(i)) < 9)", 2),
        # Level 2: above the mean of those above the mean (28.67).
        ("count(*) FILTER (WHERE i > avg(i) FILTER (WHERE i > avg(i)))", 2),
    ],
)
def test_calls_of_the_paper(text: str, expected: float) -> None:
    rows = [{"v": None, "i": i, "d": None, "s": None, "b": b} for i, b in CALLS]
    assert slid(aggregate(text), rows, [7], [(0, 1)]) == [expected]


@settings(max_examples=100)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40))
def test_landmark_extrema_are_monotone_where_the_paper_says_so(numbers: list[int]) -> None:
    """As the minimum falls, no row comes back to ``x >= 2 * min`` [CA-23]; but rows leave
    ``x <= min``: its count restarts at each new minimum and grows in between."""
    rows = [{"v": None, "i": n, "d": None, "s": None, "b": True} for n in numbers]
    panes = list(range(1, len(rows) + 1))
    growing = [(0, n) for n in panes]
    far = slid(aggregate("count(*) FILTER (WHERE i >= 2 * min(i))"), rows, panes, growing)
    assert far == sorted(far)
    at = slid(aggregate("count(*) FILTER (WHERE i = min(i))"), rows, panes, growing)
    falls = [n for n in range(1, len(numbers)) if numbers[n] < min(numbers[:n])]
    assert all(at[n] == 1 for n in falls)
    assert all(at[n] >= at[n - 1] for n in range(1, len(numbers)) if n not in falls)
