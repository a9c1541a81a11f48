from __future__ import annotations

import numpy as np
import pytest

from muntin.aggregates.synopses.count_sum_avg import ApproxAvg, ApproxCount
from muntin.aggregates.synopses.extremes import SlidingExtreme
from muntin.aggregates.synopses.summary import Bucket, ExponentialHistogram, Summary
from muntin.aggregates.synopses.tables import HashCounts
from muntin.errors import ArgumentError


def test_the_worked_example_by_hand() -> None:
    """Example 1 with k/2 = 1 (C3)."""
    histogram = ExponentialHistogram(eps=1)
    for tick in range(76):
        histogram.insert(tick)
    assert [size for _, size in histogram.buckets] == [32, 16, 8, 8, 4, 4, 2, 1, 1]
    histogram.insert(76)
    assert [size for _, size in histogram.buckets] == [32, 16, 8, 8, 4, 4, 2, 2, 1]
    histogram.insert(77)
    histogram.insert(78)
    assert [size for _, size in histogram.buckets] == [32, 16, 16, 8, 4, 2, 1]


def test_an_empty_histogram_is_exactly_zero() -> None:
    histogram = ExponentialHistogram(eps=0.1)
    assert histogram.estimate() == 0
    assert histogram.bounds(last=5) == (0, 0)
    assert histogram.buckets == []


def test_zeros_move_the_clock_only() -> None:
    histogram = ExponentialHistogram(eps=0.1, window=10)
    histogram.insert(0)
    assert histogram.estimate() == 1
    for tick in range(1, 10):
        histogram.insert(tick, 0)
    assert histogram.estimate() == 1
    assert histogram.buckets == [Bucket(0, 1)]
    histogram.insert(10, 0)
    assert histogram.estimate() == 0
    assert histogram.buckets == []


@pytest.mark.parametrize("window", [None, 1000])
def test_bits_of_a_bursty_stream(window: int | None) -> None:
    bits = (np.random.default_rng(1).random(30_000) < np.arange(30_000) // 700 % 3 / 2).astype(int)
    histogram = ExponentialHistogram(eps=0.05, window=window)
    exact = np.concatenate([[0], np.cumsum(bits)])
    for tick, bit in enumerate(bits.tolist()):
        histogram.insert(tick, bit)
        if tick % 97 == 0:
            for last in (1, 60, 1000):
                truth = exact[tick + 1] - exact[max(0, tick + 1 - last)]
                low, high = histogram.bounds(last=last)
                assert low <= truth <= high
                assert abs(histogram.estimate(last=last) - truth) <= 0.05 * truth
            assert len(histogram.buckets) <= histogram.bucket_bound
    if window is not None:
        assert histogram.bucket_bound <= 11 * 8.7  # (k/2 + 1)(log2(2N/k + 1) + 1) for N = 1000


def test_many_rows_at_once_are_the_same_as_one_by_one() -> None:
    values = np.arange(3000) % 17
    row_by_row, at_once = ExponentialHistogram(eps=0.1), ExponentialHistogram(eps=0.1)
    for tick, value in enumerate(values.tolist()):
        row_by_row.insert(tick, value)
    at_once.extend(np.arange(3000), values)
    assert row_by_row.buckets == at_once.buckets
    ones = ExponentialHistogram(eps=0.1)
    ones.extend(range(5))
    assert ones.estimate() == 5


def test_any_kind_can_be_summarized() -> None:
    mean = Summary(ApproxAvg(0.1, bounds=True), window=100)
    buckets = Summary(HashCounts(3, 0.1))
    least = Summary(SlidingExtreme())
    for tick in range(4):
        mean.insert(tick, 0)
        buckets.insert(tick, 1.0)
        least.insert(tick, None)
    assert mean.estimate(last=3) == {"estimate": 0.0, "low": 0.0, "high": 0.0}
    assert sorted(buckets.estimate()) == [0.0, 0.0, 4.0]
    assert least.estimate() is None


def test_rows_without_values() -> None:
    rows = Summary(ApproxCount(0.1))
    for tick in range(2000):
        rows.insert(tick)
    rows.extend(range(2000, 2100))
    assert rows.estimate(last=20) == pytest.approx(20, rel=0.1)
    assert rows.estimate() == pytest.approx(2100, rel=0.1)


def test_what_is_refused() -> None:
    histogram = ExponentialHistogram(eps=0.1, window=10)
    histogram.insert(5)
    with pytest.raises(ArgumentError, match=r"tick=4 .* never fall, and the last was 5"):
        histogram.insert(4)
    with pytest.raises(ArgumentError, match=r"tick=6 .* never fall"):
        histogram.extend([7, 6])
    with pytest.raises(ArgumentError, match=r"last=11 .* at most 10, the window"):
        histogram.estimate(last=11)
    with pytest.raises(ArgumentError, match=r"last=0 .* at least 1"):
        histogram.estimate(last=0)
    with pytest.raises(ArgumentError, match=r"window=0 .* at least 1"):
        ExponentialHistogram(eps=0.1, window=0)
    with pytest.raises(ArgumentError, match="no row yet"):
        Summary(SlidingExtreme()).estimate()
    for value in (-1, 0.5, float("inf")):
        with pytest.raises(ArgumentError, match=r"value=.* whole numbers"):
            histogram.insert(6, value)
    assert histogram.estimate() == 1
