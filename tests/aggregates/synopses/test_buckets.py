from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.synopses.exponential_histogram import (
    HistogramBuckets,
    estimates,
    lows,
    sizes,
    units,
)
from muntin.errors import ArgumentError
from tests.aggregates.synopses.streams import StepByStep, Stream, streams

NONE = np.empty(0, np.int64)


def fed(l: int, ticks: np.ndarray, added: np.ndarray) -> HistogramBuckets:  # noqa: E741
    buckets = HistogramBuckets(l)
    buckets.run(ticks, added, NONE, NONE)
    return buckets


def test_the_worked_example() -> None:
    """Example 1 of the paper: its text has k/2 = 2, its numbers have k/2 = 1.

    32 16 8 8 4 4 2 1 1  + 1 ->  32 16 8 8 4 4 2 2 1  + 1 + 1 ->  32 16 16 8 4 2 1 (C3)
    """
    buckets = fed(1, np.arange(76), np.ones(76, np.int64))
    shown = [buckets.sizes[::-1].tolist()]
    for tick in (76, 77, 78):
        buckets.run(np.array([tick]), np.array([1]), NONE, NONE)
        shown.append(buckets.sizes[::-1].tolist())
    assert shown[0] == [32, 16, 8, 8, 4, 4, 2, 1, 1]
    assert shown[1] == [32, 16, 8, 8, 4, 4, 2, 2, 1]
    assert shown[3] == [32, 16, 16, 8, 4, 2, 1]


def test_a_merged_bucket_keeps_the_newer_tick() -> None:
    buckets = fed(1, np.array([10, 20, 30]), np.ones(3, np.int64))
    assert buckets.stamps.tolist() == [30, 20]
    assert buckets.sizes.tolist() == [1, 2]


def test_a_single_unit_is_counted_exactly() -> None:
    """The published TOTAL - LAST/2 would be 0.5 (C1)."""
    assert estimates(np.array([1]), np.array([1])).tolist() == [1.0]
    assert lows(np.array([1]), np.array([1])).tolist() == [1.0]


@settings(max_examples=400)
@given(streams(st.integers(0, 9).map(float)), st.sampled_from([1, 2, 3, 5]))
def test_runs_give_what_units_one_by_one_give(stream: Stream, l: int) -> None:  # noqa: E741
    """TOTAL and LAST of every question, and the buckets in the end, are the same for any runs."""
    steps, fast = StepByStep(l), HistogramBuckets(l)
    stops = np.searchsorted(stream.ticks, stream.ends)
    added = stream.values.astype(np.int64)
    answered, begin = 0, 0
    for cut in (*stream.cuts, len(added)):
        until = int(np.searchsorted(stops, cut, side="right"))
        total, last = fast.run(
            stream.ticks[begin:cut],
            added[begin:cut],
            stream.starts[answered:until],
            stream.ends[answered:until],
        )
        expected = []
        for question in range(answered, until):
            for row in range(begin, stops[question]):
                steps.insert(int(stream.ticks[row]), int(added[row]))
            begin = max(begin, int(stops[question]))
            expected.append(steps.total_and_last(int(stream.starts[question])))
        assert list(zip(total.tolist(), last.tolist(), strict=True)) == expected
        for row in range(begin, cut):
            steps.insert(int(stream.ticks[row]), int(added[row]))
        begin, answered = cut, until
        if answered < len(stops):
            fast.forget(int(stream.starts[answered]))
            steps.forget(int(stream.starts[answered]))
        kept = zip(fast.stamps[::-1].tolist(), fast.sizes[::-1].tolist(), strict=True)
        assert list(kept) == steps.buckets
        fast = HistogramBuckets.load(l, fast.dump())


@pytest.mark.parametrize("l", [1, 2, 3, 5])
@pytest.mark.parametrize("at_once", [True, False])
def test_the_bucket_of_every_unit(l: int, at_once: bool) -> None:  # noqa: E741
    for total in range(1, 200):
        ticks, added = np.arange(total), np.ones(total, np.int64)
        buckets = HistogramBuckets(l) if at_once else fed(l, ticks, added)
        rows = slice(0, total if at_once else 0)
        ends = np.full(total, total)
        totals, last = buckets.run(ticks[rows], added[rows], ticks, ends)
        bucket_sizes = sizes(total, l)
        reach = np.repeat(np.cumsum(bucket_sizes), bucket_sizes)[::-1]
        heads = np.repeat(bucket_sizes, bucket_sizes)[::-1]
        if at_once:
            assert (totals.tolist(), last.tolist()) == (reach.tolist(), heads.tolist())
        inside = total - ticks  # what is true
        assert (totals - last < inside).all()
        assert (inside <= totals).all()
        assert set(zip(totals.tolist(), last.tolist(), strict=True)) <= set(
            zip(reach.tolist(), heads.tolist(), strict=True)
        )


def test_the_bucket_of_a_unit_in_a_large_total() -> None:
    """The newest n of 2^53 units."""
    bucket_sizes = sizes(2**53, 10)
    for n in (1, 10, 11, 1000, 2**30, 2**52):
        added = np.array([2**53 - n, n])
        totals, last = HistogramBuckets(10).run(np.arange(2), added, np.array([1]), np.array([2]))
        place = int(np.searchsorted(np.cumsum(bucket_sizes), n))
        assert (totals[0], last[0]) == (np.cumsum(bucket_sizes)[place], bucket_sizes[place])


def test_a_large_value_costs_its_logarithm() -> None:
    ticks = np.arange(1000)
    buckets = fed(5, ticks, np.full(1000, 10**9))
    assert buckets.total == 10**12
    assert len(buckets.stamps) == len(buckets.sizes) < 6 * 40


def test_any_tick_of_64_bits_can_be_asked_about() -> None:
    limits = np.iinfo(np.int64)
    buckets = fed(1, np.array([limits.min, 0, limits.max - 1]), np.ones(3, np.int64))
    starts, ends = np.array([limits.min, 1]), np.full(2, limits.max)
    total, last = buckets.run(NONE, NONE, starts, ends)
    assert (total.tolist(), last.tolist()) == ([3, 1], [2, 1])


def test_what_is_dumped_is_as_narrow_as_the_gaps() -> None:
    near = fed(5, np.arange(1000), np.ones(1000, np.int64))
    far = fed(5, np.arange(1000) * 10**6, np.ones(1000, np.int64))
    count = len(near.stamps)
    assert len(near.dump()) == 17 + (count - 1)
    assert len(far.dump()) == 17 + 4 * (count - 1)
    assert HistogramBuckets(5).dump() == b""


def test_dumped_gaps_of_the_whole_range_come_back() -> None:
    limits = np.iinfo(np.int64)
    buckets = fed(3, np.array([limits.min, limits.max]), np.ones(2, np.int64))
    loaded = HistogramBuckets.load(3, buckets.dump())
    assert loaded.stamps.tolist() == [limits.max, limits.min]


@pytest.mark.parametrize("value", [-1.0, 0.5, float("inf"), 2.0**54])
def test_values_that_are_no_units(value: float) -> None:
    with pytest.raises(ArgumentError, match=r"value=.*use the exact sum") as raised:
        units(np.array([1.0, np.nan, value]))
    assert raised.value.given == value


def test_a_total_beyond_what_a_double_counts() -> None:
    buckets = fed(1, np.array([1]), np.array([2**53]))
    with pytest.raises(ArgumentError, match=r"more than 2\^53"):
        buckets.run(np.array([2]), np.array([1]), NONE, NONE)
    assert buckets.total == 2**53


def test_the_sum_of_many_large_values_is_refused_and_not_wrapped() -> None:
    with pytest.raises(ArgumentError, match=r"more than 2\^53"):
        fed(1, np.arange(4096), np.full(4096, 2**53))
