from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.synopses.extremes import SlidingExtreme
from tests.aggregates.synopses.streams import Stream, answers, streams

VALUES = st.one_of(st.none(), st.integers(-5, 5).map(float), st.floats(allow_nan=False))


@settings(max_examples=400)
@given(streams(VALUES), st.booleans())
def test_extremes_are_exact(stream: Stream, greatest: bool) -> None:
    (extremes,) = answers(SlidingExtreme(greatest), stream)
    for question, answer in enumerate(extremes):
        inside = stream.inside(question)
        if len(inside):
            assert answer == (inside.max() if greatest else inside.min())
        else:
            assert np.isnan(answer)


def test_the_list_is_short_for_rows_in_random_order() -> None:
    values = np.random.default_rng(3).permutation(100_000).astype(np.float64)
    synopsis = SlidingExtreme().new()
    synopsis.run(np.arange(100_000), [values], np.empty(0, np.int64), np.empty(0, np.int64))
    assert len(synopsis.ticks) < 40  # its expected length is about ln 100,000 = 12
    assert synopsis.values == sorted(set(synopsis.values))
