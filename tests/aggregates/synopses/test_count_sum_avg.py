from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.synopses.count_sum_avg import ApproxAvg, ApproxCount, ApproxSum
from muntin.aggregates.synopses.exponential_histogram import bucket_bound
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Ints
from tests.aggregates.synopses.streams import Stream, answers, streams

EPS = st.sampled_from([1.0, 0.5, 0.34, 0.2, 0.1, 0.05])
#: The rounding error of a quotient of whole numbers.
TINY = 1e-12
VALUES = st.one_of(
    st.none(),
    st.sampled_from([0.0, 1.0, 1.0, 2.0, 1000.0, 2.0**40]),
    st.integers(0, 50).map(float),
)


@settings(max_examples=400)
@given(streams(VALUES), EPS)
def test_counts_within_eps(stream: Stream, eps: float) -> None:
    estimate, low, high = answers(ApproxCount(eps, bounds=True), stream)
    for question in range(len(stream.starts)):
        truth = len(stream.inside(question))
        assert low[question] <= truth <= high[question]
        assert abs(estimate[question] - truth) <= eps * truth


def _row_by_row(stream: Stream) -> tuple[int, ...]:
    return tuple(range(len(stream.ticks)))


@settings(max_examples=400)
@given(streams(VALUES), EPS)
def test_sums_within_eps(stream: Stream, eps: float) -> None:
    estimate, low, high = answers(ApproxSum(eps, bounds=True), stream)
    for question in range(len(stream.starts)):
        inside = stream.inside(question)
        truth = float(inside.sum())
        assert np.isnan(estimate[question]) == (len(inside) == 0)
        if len(inside):
            assert low[question] <= truth <= high[question]
            assert abs(estimate[question] - truth) <= eps * truth


@settings(max_examples=400)
@given(streams(VALUES), EPS)
def test_averages_within_eps(stream: Stream, eps: float) -> None:
    estimate, low, high = answers(ApproxAvg(eps, bounds=True), stream)
    for question in range(len(stream.starts)):
        inside = stream.inside(question)
        assert np.isnan(estimate[question]) == (len(inside) == 0)
        if len(inside):
            truth = float(inside.mean())
            assert low[question] <= truth * (1 + TINY)
            assert truth <= high[question] * (1 + TINY)
            assert abs(estimate[question] - truth) <= (eps + TINY) * truth


@settings(max_examples=300)
@given(streams(VALUES), EPS, st.sampled_from([ApproxCount, ApproxSum, ApproxAvg]))
def test_the_runs_do_not_show(
    stream: Stream, eps: float, kind: type[ApproxCount] | type[ApproxSum] | type[ApproxAvg]
) -> None:
    """This holds while nothing is forgotten, so every question reaches back to the start."""
    stream = dataclasses.replace(stream, starts=np.full(len(stream.starts), -1))
    whole = answers(kind(eps, bounds=True), dataclasses.replace(stream, cuts=()))
    single = dataclasses.replace(stream, cuts=_row_by_row(stream))
    for cut_stream in (stream, single):
        for column, expected in zip(
            answers(kind(eps, bounds=True), cut_stream), whole, strict=True
        ):
            assert np.array_equal(column, expected, equal_nan=True)


def adversaries() -> dict[str, tuple[Ints, Ints]]:
    """Streams that are bad for histograms: their ticks, and what each row adds."""
    n = 20_000
    random = np.random.default_rng(7)
    ones, line = np.ones(n, np.int64), np.arange(n)
    bursts = np.repeat(np.arange(0, n, 500) * 10, 500)
    alternating = line % 2
    geometric = np.cumsum(2 ** (np.arange(n) % 20))
    blocks = (line // 1000) % 2  # ones, then silence while they expire
    return {
        "all ones": (line, ones),
        "bursts of ties": (bursts, ones),
        "alternating": (line, alternating),
        "geometric gaps": (geometric, ones),
        "ones then silence": (line, blocks),
        "big values": (line, random.integers(0, 2**30, n)),
        "falling powers": (line, 2 ** (30 - line % 31)),
        "one giant among ones": (line, np.where(line == n // 2, 10**9, 1)),
    }


@pytest.mark.parametrize("name", adversaries())
@pytest.mark.parametrize("eps", [0.5, 0.1, 0.03])
def test_bound_and_bucket_count_on_adversaries(name: str, eps: float) -> None:
    ticks, added = adversaries()[name]
    window = int((ticks[-1] - ticks[0]) // 10)
    synopsis = ApproxSum(eps, bounds=True).new()
    exact = np.concatenate([[0], np.cumsum(added)])
    for begin in range(0, len(ticks), 700):
        rows = slice(begin, begin + 700)
        ends = np.unique(ticks[rows] + 1)
        if begin + 700 < len(ticks):
            ends = ends[ends <= ticks[begin + 700]]
        starts = ends - window
        synopsis.forget(int(starts[0]) if len(starts) else 0)
        estimate, low, high = synopsis.run(
            ticks[rows], [added[rows].astype(np.float64)], starts, ends
        )
        truth = exact[np.searchsorted(ticks, ends)] - exact[np.searchsorted(ticks, starts)]
        assert (np.abs(np.nan_to_num(estimate) - truth) <= eps * truth).all()
        assert (np.nan_to_num(low) <= truth).all()
        assert (np.nan_to_num(high) >= truth).all()
        kept = synopsis.buckets
        assert len(kept.stamps) == len(kept.sizes) <= bucket_bound(kept.total, kept.l)


def test_the_published_estimate_would_break_the_bound() -> None:
    """TOTAL - LAST/2 is half off for a single 1 in the window; the middle is right (C1)."""
    ticks = np.arange(1000)
    bits = (ticks % 333 == 0).astype(np.float64)
    bits[bits == 0] = np.nan
    ends = ticks + 1
    estimate, _, high = ApproxCount(0.1, bounds=True).new().run(ticks, [bits], ends - 300, ends)
    truth = np.array([np.nansum(bits[max(0, end - 300) : end]) for end in ends])
    assert np.abs(estimate - truth).max() == 0
    assert (np.abs(high - 1 / 2 - truth) > 0.1 * truth).any()


def test_every_row_counts_without_a_column() -> None:
    ticks = np.array([1, 1, 2])
    (rows,) = ApproxCount(0.1).new().run(ticks, [], np.array([0]), np.array([3]))
    (values,) = (
        ApproxCount(0.1).new().run(ticks, [np.array([1, np.nan, 1])], np.array([0]), np.array([3]))
    )
    assert (rows.tolist(), values.tolist()) == ([3.0], [2.0])


def test_a_sum_of_zeros_is_not_a_sum_of_nothing() -> None:
    synopsis = ApproxSum(0.1).new()
    (zeros,) = synopsis.run(
        np.array([5, 9]), [np.array([0.0, np.nan])], np.array([0, 6]), np.array([10, 10])
    )
    assert zeros[0] == 0.0
    assert np.isnan(zeros[1])
    synopsis = ApproxSum(0.1).load(synopsis.dump())
    (later,) = synopsis.run(np.empty(0, np.int64), [np.empty(0)], np.array([5]), np.array([11]))
    assert later.tolist() == [0.0]


def test_one_structure_answers_every_shorter_window() -> None:
    ticks = np.arange(5000)
    lengths = np.arange(5000, 0, -1)
    (estimate,) = ApproxCount(0.05).new().run(ticks, [], 5000 - lengths, np.full(5000, 5000))
    assert (np.abs(estimate - lengths) <= 0.05 * lengths).all()


@pytest.mark.parametrize("kind", [ApproxCount(0.1), ApproxSum(0.2), ApproxAvg(0.3, True)])
def test_kinds_are_values(kind: ApproxCount | ApproxSum | ApproxAvg) -> None:
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert kind != ApproxCount(0.7)
    with pytest.raises(ArgumentError, match="eps=0 cannot be used"):
        type(kind)(0)


def test_result_types() -> None:
    assert ApproxCount(0.1).result == pa.float64()
    names = [field.name for field in ApproxSum(0.1, bounds=True).result]
    assert names == ["estimate", "low", "high"]
