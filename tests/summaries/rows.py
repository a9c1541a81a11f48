"""Random rows for summaries: sorted orders, and hashes of values that are skewed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Words
from muntin.kernels.hashing import value_hashes


def skewed_rows(
    seed: int, count: int, *, length: int = 1000, values: int = 60
) -> tuple[Ints, Ints]:
    """Return sorted orders and values, of which few are frequent."""
    rng = np.random.default_rng(seed)
    order = np.sort(rng.integers(0, length, count))
    weight = np.arange(1, values + 1) ** -1.1
    return order, rng.choice(values, count, p=weight / weight.sum()).astype(np.int64)


def hashes_of(values: Ints) -> Words:
    return value_hashes(pa.array(values))
