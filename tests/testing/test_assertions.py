from __future__ import annotations

import math
from typing import Any

import pytest
from pyspark.sql import Row

from muntin.testing import assert_same_rows

NAN = math.nan


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, 2], [1, 2]),
        ([NAN, None], [NAN, None]),
        ([[1], []], [[1], []]),
        ({"item": "a", "count": 1}, {"item": "a", "count": 1}),
        ([{"item": NAN, "count": 1}], [Row(item=NAN, count=1)]),
    ],
)
def test_values_in_values_are_the_same(left: Any, right: Any) -> None:
    assert_same_rows([{"x": left}], [Row(x=right)])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, 2], [2, 1]),
        ([1], [1.0]),
        ([1], [True]),
        ([], None),
        ([[]], []),
        ([{"item": "a", "count": 1}], [{"item": "a", "count": 2}]),
    ],
)
def test_values_in_values_differ(left: Any, right: Any) -> None:
    with pytest.raises(AssertionError, match="1 row missing, 1 row too many"):
        assert_same_rows([{"x": left}], [{"x": right}])
