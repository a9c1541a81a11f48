from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.synopses.protocol import BOUNDED, result_column

ANSWERS = [np.array([1.0, np.nan]), np.array([0.5, np.nan]), np.array([2.0, np.nan])]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (pa.float64(), [1.0, None]),
        (BOUNDED, [{"estimate": 1.0, "low": 0.5, "high": 2.0}, None]),
        (pa.list_(pa.float64()), [[1.0, 0.5, 2.0], [None, None, None]]),
    ],
)
def test_columns_become_one(result: pa.DataType, expected: list[object]) -> None:
    column = result_column(result, ANSWERS)
    assert column.type == result
    assert column.to_pylist() == expected


@pytest.mark.parametrize("result", [pa.float64(), BOUNDED, pa.list_(pa.float64())])
def test_no_answers(result: pa.DataType) -> None:
    column = result_column(result, [np.empty(0)] * 3)
    assert column.type == result
    assert column.to_pylist() == []
