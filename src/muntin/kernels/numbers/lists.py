"""List columns: built from lengths and values, and taken apart again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints


def lists(lengths: npt.ArrayLike, values: pa.Array) -> pa.Array:
    """Return lists of these lengths, one after the other.

    >>> lists([2, 0, 1], pa.array(["a", "b", "c"])).to_pylist()
    [['a', 'b'], [], ['c']]
    """
    ends = np.append(0, np.cumsum(lengths, dtype=np.int64))
    # Arrow checks that lengths fit its 32 bits; NumPy would not.
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def lengths(column: pa.Array) -> Ints:
    """Return the length of each list; no list is null.

    >>> lengths(pa.array([["a", "b"], [], ["c"]]))
    array([2, 0, 1])
    """
    sizes: Ints = pc.list_value_length(column).to_numpy().astype(np.int64)
    return sizes
