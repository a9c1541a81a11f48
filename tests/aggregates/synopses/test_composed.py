from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.synopses.composed import Composed, ComposedHistogram
from muntin.errors import ArgumentError
from tests.aggregates.synopses.streams import Stream, answers, streams


@dataclass(frozen=True)
class PowerOfSum:
    """(sum x)^p: superadditive, and C_f = 2^(p-1)."""

    p: int

    @property
    def constant(self) -> float:
        return 2.0 ** (self.p - 1)

    def init(self, *row: float) -> float:
        return row[0]

    def compose(self, older: float, newer: float) -> float:
        return older + newer

    def value(self, sketch: float) -> float:
        return sketch**self.p


AMOUNTS = st.one_of(st.none(), st.integers(0, 9).map(float), st.sampled_from([0.0, 1000.0]))


@settings(max_examples=400)
@given(streams(AMOUNTS, longest=150), st.sampled_from([1, 2]), st.sampled_from([1.0, 0.5, 0.1]))
def test_never_above_the_truth_and_within_the_bound(stream: Stream, p: int, eps: float) -> None:
    kind = Composed(PowerOfSum(p), eps, bounds=True)
    estimate, low, high = answers(kind, stream)
    assert np.array_equal(estimate, low, equal_nan=True)
    for question in range(len(stream.starts)):
        inside = stream.inside(question)
        truth = float(inside.sum()) ** p
        if not len(inside):
            assert math.isnan(estimate[question])
            continue
        assert low[question] <= truth <= high[question]
        assert truth - low[question] <= (eps + kind.function.constant - 1) * truth + 1e-9


def fed(kind: Composed, values: np.ndarray) -> ComposedHistogram:
    none = np.empty(0, np.int64)
    histogram = kind.new()
    histogram.run(np.arange(len(values)), [values], none, none)
    return histogram


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("stream", ["ones", "bursts", "big"])
def test_invariants_and_bucket_count(p: int, stream: str) -> None:
    n = 5000
    line = np.arange(n)
    values = {
        "ones": np.ones(n),
        "bursts": np.where(line // 100 % 2, 5.0, 0.0),
        "big": np.where(line % 50, 1.0, 1e6),
    }[stream]
    kind = Composed(PowerOfSum(p), 0.5)
    histogram = fed(kind, values)
    histogram.merge()
    newest_first = histogram.buckets[::-1]
    newer = 0.0
    for bucket, older in zip(newest_first, [*newest_first[1:], None], strict=True):
        if bucket.first < bucket.last:
            assert bucket.value <= kind.function.constant / kind.k * newer  # Invariant 3
        if older is not None:
            assert older.value + bucket.value > newer / kind.k or newer == 0  # Invariant 4
        newer += bucket.value
    # Two neighbours add up to more than the k-th part of all newer buckets.
    assert len(newest_first) <= 2 * math.log(newer + 1) / math.log(1 + 1 / kind.k) + 2


def test_memory_stays_small_between_merges() -> None:
    histogram = fed(Composed(PowerOfSum(1), 0.5), np.ones(20_000))
    assert len(histogram.buckets) <= histogram.limit < 150


def test_a_heavy_row_inside_is_never_left_out() -> None:
    """tick 0 1 2 3      all of f lies in one row; the paper would leave the oldest bucket out

    value 9 1 1 1
    """
    kind = Composed(PowerOfSum(1), 0.5)
    ticks, values = np.arange(4), np.array([9.0, 1.0, 1.0, 1.0])
    (answer,) = kind.new().run(ticks, [values], np.array([0]), np.array([4]))
    assert answer.tolist() == [12.0]


def test_what_a_function_must_have() -> None:
    class Half:
        constant = 1.0

        def init(self, *row: float) -> float:
            return row[0]

    with pytest.raises(ArgumentError, match=r"it must have compose, value \(mt.Composable\)"):
        Composed(Half(), 0.1)  # type: ignore[arg-type]


def test_a_constant_below_one_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"constant=0.5 .* at least 1"):
        Composed(PowerOfSum(0), 0.1)
