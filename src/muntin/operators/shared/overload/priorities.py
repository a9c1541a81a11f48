"""In which order a query looks at rows, if its budget does not reach for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.operators.shared.overload.preferred_rows import SortKey
from muntin.operators.shared.overload.waiting_rows import TICK, VALUE, draws, graph_values
from muntin.specs.overload import Policy


def ranks(
    policy: Policy, inputs: Sequence[pa.Table], preferred: Sequence[SortKey] | None = None
) -> list[Ints]:
    """Return the rank of each row among those of all inputs: 0 is looked at first.

    It depends on the rows only, not on the order in which they came, nor on who read them. If they
    are preferred, ``preferred`` is what they are sorted by.
    """
    draw = np.concatenate([draws(rows) for rows in inputs])
    keys: list[SortKey] = [draw]
    if preferred is not None:
        keys = [*preferred]
    elif policy.name in ("oldest", "newest"):
        tick = np.concatenate([_ticks(rows) for rows in inputs])
        keys = [draw, tick if policy.name == "oldest" else -tick]
    elif policy.name == "value":
        x = np.concatenate([rows[VALUE].to_numpy().astype(np.float64) for rows in inputs])
        keys = [draw, -graph_values(x, policy)]
    order = np.lexsort(keys)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.split(rank, np.cumsum([rows.num_rows for rows in inputs])[:-1])


def _ticks(rows: pa.Table) -> Ints:
    ticks: Ints = rows[TICK].fill_null(0).to_numpy().astype(np.int64)
    return ticks
