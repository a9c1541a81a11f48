from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.synopses.distinct import DistinctValues
from tests.aggregates.synopses.streams import Stream, answers, streams

NONE = np.empty(0, np.int64)


def distinct(kind: DistinctValues, values: np.ndarray) -> float:
    n = len(values)
    (answer,) = kind.new().run(np.arange(n), [values], np.array([0]), np.array([n]))
    return float(answer[0])


@settings(max_examples=150)
@given(streams(st.one_of(st.none(), st.integers(0, 30).map(float))))
def test_a_stretch_counts_as_its_rows_alone_would(stream: Stream) -> None:
    """Older rows, repeated values, runs and dumps do not change the answer."""
    kind = DistinctValues(0.3)
    (counts,) = answers(kind, stream)
    for question, answer in enumerate(counts):
        assert answer == distinct(kind, np.unique(stream.inside(question)))


@pytest.mark.parametrize("n", [10, 100, 1_000, 10_000, 100_000])
def test_the_error_is_as_small_as_said(n: int) -> None:
    """Check the root of the mean squared error over 30 sets of values."""
    kind = DistinctValues(0.1)
    offsets = np.arange(30) * 1e7
    errors = [distinct(kind, offset + np.arange(n, dtype=np.float64)) / n - 1 for offset in offsets]
    assert np.sqrt(np.mean(np.square(errors))) < 0.13
    assert abs(np.mean(errors)) < 0.05


def test_values_that_have_left_do_not_count() -> None:
    ticks = np.arange(30_000)
    values = np.where(ticks < 20_000, ticks, ticks % 100).astype(np.float64)
    ends = np.array([20_000, 30_000])
    (counts,) = DistinctValues(0.05).new().run(ticks, [values], ends - 10_000, ends)
    assert counts[0] == pytest.approx(10_000, rel=0.15)
    assert counts[1] == pytest.approx(100, rel=0.15)


def test_nothing_is_no_value_and_both_zeros_are_one() -> None:
    kind = DistinctValues(0.05)
    assert distinct(kind, np.full(5, np.nan)) == 0
    assert distinct(kind, np.array([0.0, -0.0])) == distinct(kind, np.array([0.0]))


def test_bitmaps_for_an_error() -> None:
    assert [DistinctValues(eps).bitmaps for eps in (1, 0.5, 0.1, 0.05)] == [1, 4, 64, 256]


def test_what_is_forgotten_is_not_dumped() -> None:
    synopsis = DistinctValues(0.1).new()
    synopsis.run(np.arange(1000), [np.arange(1000.0)], NONE, NONE)
    full = len(synopsis.dump())
    synopsis.forget(990)
    assert len(synopsis.dump()) <= 8 + 10 * 12 < full
