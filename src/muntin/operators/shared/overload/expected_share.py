"""The expected share of the rows of an answer, where rows were shed before any query saw them.

The stream has a native rate from a tick on, and another from another tick on. Which rows were shed
nobody knows; the share that is expected of an extent is the mean of the rates over it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Floats, Ints
from muntin.operators.shared.program import COMPLETENESS, COMPLETENESS_BY

#: What ``completeness_by`` is where rows were shed by a rate.
BY_RATE = "rate"
BY_COUNT = "count"

Rates = Sequence[tuple[int, float]]


def expected_shares(rates: Rates, start: Ints, end: Ints) -> Floats:
    """Return for extents from ``start`` up to ``end`` the mean of the rates over each.

    >>> expected_shares([(10, 0.5), (20, 1.0)], np.array([0, 12, 30]), np.array([20, 18, 40]))
    array([0.75, 0.5 , 1.  ])
    """
    ticks = [tick for tick, _ in rates]
    share = np.ones(len(start))
    length = np.maximum(end - start, 1)
    for place, (tick, rate) in enumerate(rates):
        until = ticks[place + 1] if place + 1 < len(ticks) else np.iinfo(np.int64).max
        within = np.minimum(np.maximum(end, start + 1), until) - np.maximum(start, tick)
        share -= (1 - rate) * np.maximum(within, 0) / length
    return np.clip(share, 0.0, 1.0)


def with_shares(results: pa.Table, share: Floats) -> pa.Table:
    """Return results with their expected share; what was counted in shards is a share of that."""
    by = [BY_RATE if part < 1 else BY_COUNT for part in share.tolist()]
    expected = pa.array(share)
    if COMPLETENESS in results.column_names:
        counted = results[COMPLETENESS].combine_chunks()
        expected = pc.multiply(expected, counted)
        results = results.drop_columns([COMPLETENESS, COMPLETENESS_BY])
    results = results.append_column(COMPLETENESS, expected)
    return results.append_column(COMPLETENESS_BY, pa.array(by, pa.string()))
