"""Shards of keys: never changing, equal for equal keys, and evenly spread."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa

from muntin.kernels.hashing import shard_of


def shards(values: list[object], type_: pa.DataType, count: int = 16) -> list[int]:
    column = pa.array(values, type_)
    found: list[int] = shard_of([column], len(column), count).tolist()
    return found


def test_shards_never_change() -> None:
    """State is kept by shard, so another hash would lose every checkpoint."""
    assert shards(["", "a", "I5-07", "é", None], pa.string()) == SHARDS["string"]
    assert shards([0, 1, -1, 2**62, None], pa.int64()) == SHARDS["int64"]
    assert shards([0.5, float("nan"), None], pa.float64()) == SHARDS["double"]
    assert shards([Decimal("1.50"), Decimal("-7.25"), None], pa.decimal128(9, 2)) == SHARDS["dec"]
    assert shards([date(2026, 1, 1), None], pa.date32()) == SHARDS["date"]
    assert shards([True, False, None], pa.bool_()) == SHARDS["bool"]


SHARDS: dict[str, list[int]] = {
    "string": [14, 4, 2, 10, 15],
    "int64": [0, 13, 4, 15, 15],
    "double": [2, 3, 15],
    "dec": [5, 10, 15],
    "date": [8, 15],
    "bool": [13, 0, 15],
}


def test_a_slice_has_the_shards_of_its_rows() -> None:
    column = pa.array([f"key{n}" for n in range(50)])
    whole = shard_of([column], 50, 7)
    assert np.array_equal(shard_of([column.slice(13, 20)], 20, 7), whole[13:33])


def test_signed_zeros_and_nans_are_one_key() -> None:
    assert len(set(shards([0.0, -0.0], pa.float64(), 1024))) == 1
    assert len(set(shards([float("nan"), -float("nan")], pa.float64(), 1024))) == 1


def test_several_columns_spread_and_their_order_matters() -> None:
    left = pa.array([n % 40 for n in range(1600)])
    right = pa.array([str(n // 40) for n in range(1600)])
    rows_per_shard = Counter(shard_of([left, right], 1600, 16).tolist())
    assert set(rows_per_shard) == set(range(16))
    assert max(rows_per_shard.values()) < 2 * 1600 / 16
    swapped = shard_of([pa.array([1, 2]), pa.array([2, 1])], 2, 10**6)
    assert swapped[0] != swapped[1]


def test_no_columns_is_one_shard() -> None:
    assert shard_of([], 3, 16).tolist() == [0, 0, 0]
