"""The columns that a synopsis answers with, as one Arrow column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Floats

#: An estimate with bounds that are certain.
BOUNDED = pa.struct([(name, pa.float64()) for name in ("estimate", "low", "high")])


def result_column(result: pa.DataType, answers: Sequence[Floats]) -> pa.Array:
    """The result column of the kind's type; NaN is null.

    A struct is null where its first field is. A list never is, its elements may be.

    >>> result_column(pa.list_(pa.float64()), [np.array([1.0, 2.0]), np.array([np.nan, 3.0])])
    <pyarrow.lib.ListArray object at ...>
    [
      [
        1,
        null
      ],
      [
        2,
        3
      ]
    ]
    """
    columns = [pa.array(answer, pa.float64(), from_pandas=True) for answer in answers]
    if pa.types.is_struct(result):
        return pa.StructArray.from_arrays(columns, fields=list(result), mask=columns[0].is_null())
    if pa.types.is_list(result):
        flat = np.stack(answers, axis=1).ravel()
        offsets = np.arange(len(answers[0]) + 1, dtype=np.int32) * len(answers)
        return pa.ListArray.from_arrays(offsets, pa.array(flat, pa.float64(), from_pandas=True))
    return columns[0]
