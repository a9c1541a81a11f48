from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.synopses.tables import HashCounts, ValueHistogram
from muntin.errors import ArgumentError
from tests.aggregates.synopses.streams import Stream, answers, streams

VALUES = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.5, 10.0, 11.0, -3.0]))
EDGES = (0.0, 2.5, 10.0)


@settings(max_examples=150)
@given(streams(VALUES), st.sampled_from([1, 3, 8]))
def test_hash_counts(stream: Stream, buckets: int) -> None:
    kind = HashCounts(buckets, 0.25)
    columns = answers(kind, stream)
    assert len(columns) == buckets
    for question in range(len(stream.starts)):
        truth = np.bincount(kind.place(stream.inside(question)), minlength=buckets)
        counts = np.array([column[question] for column in columns])
        assert (np.abs(counts - truth) <= 0.25 * truth).all()


@settings(max_examples=200)
@given(streams(VALUES), st.sampled_from(["count", "sum", "avg"]))
def test_value_histogram(stream: Stream, of: str) -> None:
    kind = ValueHistogram(EDGES, 0.25, of)
    amounts = np.floor(np.abs(np.nan_to_num(stream.values))) * 3
    columns = [stream.values] if of == "count" else [stream.values, amounts]
    ranges = answers(kind, stream, columns)
    assert len(ranges) == 4
    for question, (start, end) in enumerate(zip(stream.starts, stream.ends, strict=True)):
        inside = (stream.ticks >= start) & (stream.ticks < end)
        for place in range(4):
            low = -np.inf if place == 0 else EDGES[place - 1]
            high = np.inf if place == 3 else EDGES[place]
            in_range = inside & (stream.values >= low) & (stream.values < high)
            answer = ranges[place][question]
            if of == "count":
                truth = float(in_range.sum())
            elif not in_range.any():
                assert np.isnan(answer)
                continue
            else:
                truth = float(amounts[in_range].sum() if of == "sum" else amounts[in_range].mean())
            assert abs(answer - truth) <= 0.25 * truth + 1e-9


def test_all_buckets_share_one_clock() -> None:
    """A bucket without new rows becomes empty while other buckets get rows."""
    kind = ValueHistogram((5.0,), 0.04)
    table = kind.new()
    ticks = np.arange(20)
    values = np.where(ticks < 10, 0.0, 9.0)
    columns = table.run(ticks, [values], np.array([0, 12]), np.array([12, 20]))
    assert [column.tolist() for column in columns] == [[10.0, 0.0], [2.0, 8.0]]


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"buckets=0 .* whole number from 1"):
        HashCounts(0, 0.1)
    with pytest.raises(ArgumentError, match=r"buckets=2.5 .* whole number from 1"):
        HashCounts(2.5, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="eps=0 "):
        HashCounts(4, 0)
    for edges in ((), (1.0, 1.0), (2.0, 1.0), (0.0, float("inf"))):
        with pytest.raises(ArgumentError, match="rising numbers"):
            ValueHistogram(edges, 0.1)
    with pytest.raises(ArgumentError, match=r"of='max' .* count, sum, avg"):
        ValueHistogram((1.0,), 0.1, "max")
