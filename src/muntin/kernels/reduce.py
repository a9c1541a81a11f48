"""Group-wise reduction: every row is added to the group it belongs to, in one pass, unsorted."""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.compile import (
    FLOATS,
    INTS,
    NONE,
    OUT_FLOATS,
    OUT_INTS,
    inline,
    kernel,
)


@inline
def add_exactly(high: float, low: float, more_high: float, more_low: float) -> tuple[float, float]:
    """Add two double-doubles (Knuth's two-sum): about 106 bits, so that order does not matter."""
    total = high + more_high
    if not np.isfinite(total):
        return total, 0.0
    shadow = total - high
    error = (high - (total - shadow)) + (more_high - shadow)
    error += low + more_low
    result = total + error
    if not np.isfinite(result):
        return result, 0.0
    return result, error - (result - total)


@kernel(NONE, INTS, INTS, OUT_INTS)
def add_by_group(group: Ints, values: Ints, out: Ints) -> None:
    for row in range(len(group)):
        out[group[row]] += values[row]


@kernel(NONE, INTS, INTS, OUT_INTS)
def least_by_group(group: Ints, values: Ints, out: Ints) -> None:
    for row in range(len(group)):
        if values[row] < out[group[row]]:
            out[group[row]] = values[row]


@kernel(NONE, INTS, FLOATS, FLOATS, OUT_FLOATS, OUT_FLOATS)
def add_exactly_by_group(
    group: Ints, high: Floats, low: Floats, out_high: Floats, out_low: Floats
) -> None:
    for row in range(len(group)):
        target = group[row]
        out_high[target], out_low[target] = add_exactly(
            out_high[target], out_low[target], high[row], low[row]
        )
