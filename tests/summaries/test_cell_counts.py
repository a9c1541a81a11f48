"""The interface of summaries: summarize, estimate, confidence, add and subtract."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import ArgumentError, CannotEvaluate
from muntin.kernels.arrays import Ints
from muntin.operators.summaries.cell_counts import (
    CellCounts,
    CountSketch,
    HashedValues,
    empty_counts,
    unpacked_counts,
)
from muntin.specs.axis import Axis, Domain
from muntin.specs.summaries import StreamSummary
from tests.summaries.rows import hashes_of, skewed_rows

METHODS = ["sketch", "exact", "frequencies"]


def spec_of(method: str = "sketch", **given: object) -> StreamSummary:
    return StreamSummary("s", "v", 60, method=method, **given)  # type: ignore[arg-type]


def counted(spec: StreamSummary, values: Ints) -> CellCounts:
    counts = empty_counts(spec)
    order = np.zeros(len(values), np.int64)
    counts.summarize(HashedValues.of(hashes_of(values), spec), order, 0, 1, all_of_them=True)
    return counts


@given(seed=st.integers(0, 10**6))
def test_the_error_of_a_sketch_is_within_its_bound(seed: int) -> None:
    """A counter is off by more than sqrt(8 F2 / width) for at most one value in eight [Chebyshev].

    The median of 5 is off by more only if 3 of them are: for less than one value in fifty.
    """
    spec = spec_of(buckets=1, width=32)
    _, values = skewed_rows(seed, 2000, values=400)
    distinct, true = np.unique(values, return_counts=True)
    asked = HashedValues.of(hashes_of(distinct), spec)
    error = np.abs(counted(spec, values).estimate(asked) - true)
    bound = np.sqrt(8 * (true.astype(float) ** 2).sum() / spec.width)
    assert (error > bound).mean() <= 0.05


@pytest.mark.parametrize("method", ["sketch", "exact"])
@given(seed=st.integers(0, 10**6))
def test_adding_and_then_subtracting_leaves_what_was_before(method: str, seed: int) -> None:
    spec = spec_of(method)
    _, values = skewed_rows(seed, 200)
    counts, other = counted(spec, values[:120]), counted(spec, values[120:])
    before = counts.packed(), counts.confidence()
    counts.add(other)
    assert counts.packed() == counted(spec, values).packed()
    counts.subtract(other)
    assert (counts.packed(), counts.confidence()) == before


@pytest.mark.parametrize("method", METHODS)
def test_counts_are_kept_as_bytes(method: str) -> None:
    spec = spec_of(method)
    _, values = skewed_rows(2, 300)
    counts = counted(spec, values)
    again = unpacked_counts(spec, counts.packed())
    asked = HashedValues.of(hashes_of(np.arange(80)), spec)
    assert again.estimate(asked).tolist() == counts.estimate(asked).tolist()
    assert again.confidence() == counts.confidence()


@pytest.mark.parametrize("method", ["exact", "frequencies"])
def test_small_counts_are_exact(method: str) -> None:
    spec = spec_of(method)
    counts = counted(spec, np.array([5, 5, 7, 5]))
    asked = HashedValues.of(hashes_of(np.array([5, 7, 9])), spec)
    assert counts.estimate(asked).tolist() == [3, 1, 0]
    assert counts.confidence() == 1


def test_the_confidence_of_a_sketch_falls_with_the_error_of_its_estimates() -> None:
    few, many = (counted(spec_of(), np.full(n, 3)) for n in (10, 1000))
    assert 0 < many.confidence() < few.confidence() < 1
    assert CountSketch.empty(spec_of()).confidence() == 1


def test_frequent_items_are_refused_where_counts_are_subtracted() -> None:
    counts = counted(spec_of("frequencies"), np.array([1, 2]))
    with pytest.raises(CannotEvaluate, match="cannot be subtracted; use method='sketch'"):
        counts.subtract(counts)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rate": 1}, "rate=1 cannot be used: a whole number from 2 on"),
        ({"depth": 0}, "depth=0 cannot be used: a whole number from 1 on"),
        ({"theta": 2}, "theta=2 cannot be used: a number from 0 to 1"),
        ({"rows": 4}, "rows=4 cannot be used: an odd number has a median, such as 5"),
        ({"method": "wavelet"}, "'sketch', 'exact' or 'frequencies'"),
        ({"longest": "0"}, "it must be longer than zero"),
    ],
)
def test_what_a_summary_cannot_be(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence.replace("(", r"\(")):
        StreamSummary("s", "v", 60, **given)  # type: ignore[arg-type]


def test_a_zone_is_no_longer_than_the_granularity() -> None:
    spec = StreamSummary("s", "v", 60, longest=100)
    with pytest.raises(ArgumentError, match="a zone is no longer than the granularity, 60"):
        spec.ticks(Axis(Domain.INTEGER))
