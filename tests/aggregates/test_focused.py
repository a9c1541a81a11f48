"""Focused histograms: certain bounds hold, estimates are close, and state survives a restart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.aggregates.bind import definition_of, synopses
from muntin.aggregates.correlated import correlated
from muntin.aggregates.focused.question import HEURISTICS, STRATEGIES, Focus, Limit
from muntin.aggregates.focused.synopsis import FocusedKind
from muntin.aggregates.functions import slots_of
from muntin.errors import ArgumentError
from tests.thorough import examples

Row = tuple[int, float, float]
WHERE = [
    "x <= 1.5 * min(x)",
    "x < 4 * min(x)",
    "x >= 2 * min(x)",
    "x > 0.5 * max(x)",
    "x >= max(x)",
    "x BETWEEN min(x) + 2 AND min(x) + 20",
    "x > avg(x)",
    "x >= avg(x)",
    "x < 0.5 * avg(x)",
    "abs(x - avg(x)) <= 5",
    "x BETWEEN avg(x) - 5 AND avg(x) + 8",
]


def focus(where: str, **options: Any) -> Focus:
    dependent = options.pop("dependent", "count")
    column = "*" if dependent == "count" else "y"
    (spec,) = correlated(dependent, column, where=where, mode="focused", **options).options
    assert isinstance(spec, Focus)
    return spec


def exact(spec: Focus, rows: Sequence[Row]) -> float:
    """Return the result by definition."""
    xs = [x for _, x, _ in rows if math.isfinite(x)]
    independent = {"min": min, "max": max, "avg": lambda v: math.fsum(v) / len(v)}[spec.aggregate]
    kept: list[float] = []
    middle = independent(xs) if xs else math.nan
    for _, x, y in rows:
        counts = math.isfinite(x) and y == y
        if counts and all(_meets(limit, x, limit.at(middle)) for limit in spec.limits):
            kept.append(y)
    if spec.dependent == "count":
        return len(kept)
    if not kept:
        return math.nan
    return math.fsum(kept) if spec.dependent == "sum" else math.fsum(kept) / len(kept)


def _meets(limit: Limit, x: float, point: float) -> bool:
    return {"<": x < point, "<=": x <= point, ">": x > point, ">=": x >= point}[limit.sign]


def ask(kind: FocusedKind, rows: Sequence[Row], starts: list[int], ends: list[int]) -> Any:
    ticks = np.array([tick for tick, _, _ in rows], np.int64)
    values = [np.array([row[place] for row in rows], np.float64) for place in (1, 2)]
    columns = kind.new().run(ticks, values, np.array(starts), np.array(ends))
    return list(zip(*(column.tolist() for column in columns), strict=True))


def skewed(seed: int) -> list[Row]:
    """Return a list with moving extremes and means, so long that buckets are cut many times."""
    random = np.random.default_rng(seed)
    x = np.ceil(2.0 ** random.uniform(0, random.integers(4, 12), 80))
    if seed % 2:
        x = np.sort(x)[:: -1 if seed % 4 == 1 else 1] + random.integers(0, 4, 80)
    y = random.integers(-9, 10, 80).astype(float)
    return list(zip(random.integers(0, 3, 80).tolist(), x.tolist(), y.tolist(), strict=True))


#: Small integers hit limits and edges. Most drawn lists are too short to fill buckets, so there are
#: long ones too.
ROWS = st.one_of(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.one_of(
                st.integers(1, 60).map(float),
                st.integers(1, 4000).map(float),
                st.just(math.nan),
            ),
            st.one_of(st.integers(-9, 9).map(float), st.just(math.nan)),
        ),
        min_size=1,
        max_size=80,
    ),
    st.integers(0, 2**32 - 1).map(skewed),
)


def in_order(gaps: Sequence[Row]) -> list[Row]:
    ticks = np.cumsum([gap for gap, _, _ in gaps]).tolist()
    return [(tick, x, y) for tick, (_, x, y) in zip(ticks, gaps, strict=True)]


def contains(answer: tuple[float, float, float], truth: float) -> bool:
    estimate, low, high = answer
    if math.isnan(truth):
        return True  # the sum of no rows; a histogram cannot be sure that there is no row
    room = 1e-9 * max(1.0, abs(low), abs(high))
    return low - room <= truth <= high + room and low - room <= estimate <= high + room


@examples(400)
@given(
    st.sampled_from(WHERE),
    st.sampled_from(STRATEGIES),
    st.sampled_from(["count", "sum", "avg"]),
    st.integers(5, 9),
    ROWS,
)
def test_bounds_hold_over_a_landmark_window(
    where: str, strategy: str, dependent: str, buckets: int, gaps: list[Row]
) -> None:
    rows = in_order(gaps)
    spec = focus(where, strategy=strategy, buckets=buckets, bounds=True, dependent=dependent)
    ends = sorted({tick + 1 for tick, _, _ in rows})
    answers = ask(FocusedKind(spec), rows, [0] * len(ends), ends)
    for end, answer in zip(ends, answers, strict=True):
        truth = exact(spec, [row for row in rows if row[0] < end])
        assert bounded(spec, answer, truth), (end, answer, truth)


def bounded(spec: Focus, answer: tuple[float, float, float], truth: float) -> bool:
    """Around a mean the heuristics estimate without a bound on their own side."""
    if spec.strategy in HEURISTICS and spec.dependent == "avg":
        return True
    return contains(answer, truth)


@examples(400)
@given(
    st.sampled_from(WHERE),
    st.sampled_from([s for s in STRATEGIES if s not in HEURISTICS]),
    st.sampled_from(["count", "sum", "avg"]),
    st.integers(1, 25),
    st.integers(1, 5),
    ROWS,
)
def test_bounds_hold_over_sliding_windows(
    where: str, strategy: str, dependent: str, length: int, intervals: int, gaps: list[Row]
) -> None:
    rows = in_order(gaps)
    spec = focus(where, strategy=strategy, bounds=True, dependent=dependent, intervals=intervals)
    ends = list(range(1, rows[-1][0] + 2))
    starts = [end - length for end in ends]
    answers = ask(FocusedKind(spec).over(length), rows, starts, ends)
    for start, end, answer in zip(starts, ends, answers, strict=True):
        inside = [row for row in rows if start <= row[0] < end]
        assert contains(answer, exact(spec, inside)), (start, end, answer, exact(spec, inside))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("strategy", STRATEGIES[:4])
def test_few_rows_are_answered_exactly(where: str, strategy: str) -> None:
    """Answers are exact until there are as many rows as buckets."""
    rows = [(n, float(3 + n * 7 % 10), 1.0) for n in range(9)]
    spec = focus(where, strategy=strategy, bounds=True)
    ((estimate, low, high),) = ask(FocusedKind(spec), rows, [0], [9])
    assert estimate == exact(spec, rows)
    assert low <= estimate <= high


@pytest.mark.parametrize("where", ["x <= 100 * min(x)", "x > avg(x)", "abs(x - avg(x)) < 20"])
@pytest.mark.parametrize("strategy", STRATEGIES[:4])
@pytest.mark.parametrize("length", [None, 600])
def test_estimates_are_close(where: str, strategy: str, length: int | None) -> None:
    """With a moderate tail, uniform strategies are off by at most a tenth of the window.

    Quantile strategies get 3/20: they leave one wide last bucket over the tail, and a limit inside
    it is interpolated as if its rows were spread evenly. Heavier tails give larger errors (see the
    concept page), but the bounds hold for all data.
    """
    random = np.random.default_rng(3)
    rows = [(n, float(x), 1.0) for n, x in enumerate(1 + random.gamma(1.5, 20, 1600))]
    kind = FocusedKind(focus(where, strategy=strategy)).over(length)
    ends = list(range(800, 1601, 200))
    starts = [end - length if length else 0 for end in ends]
    allowed = 0.15 if strategy.endswith("quantile") else 0.1
    for start, end, (estimate,) in zip(starts, ends, ask(kind, rows, starts, ends), strict=True):
        assert abs(estimate - exact(kind.focus, rows[start:end])) <= allowed * (end - start)


def test_a_new_minimum_out_of_reach_starts_again_without_error() -> None:
    """Condition 1: 50 rows around 1,000, then a 5 and nine more: only new rows count."""
    rows = [(n, 1000.0 + n, 1.0) for n in range(50)] + [
        (50 + n, 5.0 + n % 3, 1.0) for n in range(9)
    ]
    spec = focus("x <= 2 * min(x)", bounds=True)
    assert ask(FocusedKind(spec), rows, [0], [59]) == [(9.0, 9.0, 9.0)]


def test_the_cut_bucket_is_what_is_uncertain() -> None:
    """Ten buckets over [10, 20]; a new minimum of 9 moves the reach from 20 to 18."""
    rows = [(n, 10.0 + n % 10, 1.0) for n in range(100)] + [(100, 9.0, 1.0)]
    spec = focus("x < 2 * min(x)", bounds=True)
    ((estimate, low, high),) = ask(FocusedKind(spec), rows, [0], [101])
    assert low <= exact(spec, rows) == 81 <= high
    assert high - low <= 20
    assert abs(estimate - 81) <= 5


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("where", ["x < 3 * min(x)", "x > avg(x)"])
def test_state_survives(strategy: str, where: str) -> None:
    random = np.random.default_rng(1)
    ticks = np.arange(300)
    values = [np.ceil(random.pareto(1.0, 300) * 8) + 1, np.ones(300)]
    lengths = [None] if strategy in HEURISTICS else [None, 40]
    for length in lengths:
        kind = FocusedKind(focus(where, strategy=strategy, bounds=True), length)
        ends = np.arange(10, 301, 10)
        starts = ends - (length or 300)
        whole = kind.new().run(ticks, values, starts, ends)
        first, half = kind.new(), 150
        early = first.run(ticks[:half], [v[:half] for v in values], starts[:15], ends[:15])
        first.forget(int(starts[15]))
        again = kind.load(first.dump())
        late = again.run(ticks[half:], [v[half:] for v in values], starts[15:], ends[15:])
        for column, (before, after) in zip(whole, zip(early, late, strict=True), strict=True):
            np.testing.assert_allclose(np.concatenate([before, after]), column, rtol=1e-12)


def test_memory_is_bounded() -> None:
    """For any length of the window, memory is at most intervals times buckets."""
    random = np.random.default_rng(2)
    kind = FocusedKind(focus("x > avg(x)", buckets=8, intervals=5), length=1000)
    histograms = kind.new()
    sizes = []
    for part in range(20):
        ticks = np.arange(part * 500, part * 500 + 500)
        histograms.run(
            ticks, [random.random(500), np.ones(500)], np.empty(0, int), np.empty(0, int)
        )
        sizes.append(len(histograms.blocks))
    assert max(sizes) <= 6
    assert all(b.histogram is None or len(b.histogram.edges) <= 9 for b in histograms.blocks)


def test_what_the_user_writes() -> None:
    aggregate = correlated(
        "sum", "y", where="x BETWEEN avg(x) - 5 AND 2 * avg(x) AND is_intl", mode="focused"
    )
    (spec,) = aggregate.options
    assert isinstance(spec, Focus)
    assert spec.limits == (Limit(">=", 1.0, -5.0), Limit("<=", 2.0, 0.0))
    assert [str(slot) for slot in slots_of(aggregate)] == ["x", "y WHERE is_intl"]
    assert [str(slot) for slot in slots_of(aggregate.filter("z > 1"))][
        1
    ] == "y WHERE is_intl WHERE z > 1"
    kind = synopses()["focused"].kind((replace(spec, bounds=True),), 100, 3)
    assert isinstance(kind, FocusedKind)
    assert kind.length == 100
    assert pa.types.is_struct(kind.result)
    assert synopses()["focused"].kind((spec,), None, 0).result == pa.float64()


@pytest.mark.parametrize(
    ("where", "options", "problem"),
    [
        ("x > avg(y)", {}, "a focused histogram needs comparisons of one column"),
        ("x > avg(x) OR b", {}, "a focused histogram needs"),
        ("x > avg(x) AND x > 2 * avg(x)", {}, "a focused histogram needs"),
        ("x > sum(x)", {}, "a focused histogram needs"),
        ("x > avg(x) * avg(x)", {}, "a focused histogram needs"),
        ("x = max(x)", {}, "a focused histogram needs"),
        ("x > avg(x) FILTER (WHERE x > avg(x))", {}, "a focused histogram needs"),
        ("x < -2 * min(x)", {}, "the factor of min or max must be above 0"),
        ("x > avg(x)", {"buckets": 3}, "at least 4"),
        ("x > avg(x)", {"strategy": "best"}, "strategy='best' cannot be used: give piecemeal"),
        ("x > avg(x)", {"width": 0}, "width=0 cannot be used"),
        ("x > avg(x)", {"intervals": 0}, "intervals=0 cannot be used"),
        ("x > avg(x)", {"dependent": "median"}, "dependent='median' cannot be used"),
        ("x > avg(x)", {"dependent": "max"}, "dependent='max' cannot be used"),
        ("x > avg(x)", {"mode": "quick"}, "give 'exact' or 'focused'"),
        ("", {}, "it must be SQL text"),
    ],
)
def test_what_is_refused(where: str, options: dict[str, Any], problem: str) -> None:
    given_ = {"dependent": "count", "mode": "focused", **options}
    column = "y" if given_["dependent"] == "max" else "*"
    with pytest.raises(ArgumentError) as error:
        correlated(given_.pop("dependent"), column, where=where, **given_)
    assert problem in str(error.value)


def test_heuristics_do_not_slide() -> None:
    with pytest.raises(ArgumentError, match="landmark windows only"):
        FocusedKind(focus("x > avg(x)", strategy="lower")).over(10)
    with pytest.raises(ArgumentError, match="there is no such aggregate"):
        definition_of("eh")
