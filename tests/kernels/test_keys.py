from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.grouping import KeyedTables, places
from muntin.operators.common.buckets import key_buckets

KEYS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3)), max_size=12)


def table(keys: list[tuple[str | None, int]]) -> pa.Table:
    columns = [[k for k, _ in keys], [n for _, n in keys]]
    return pa.table(
        [pa.array(columns[0], pa.string()), pa.array(columns[1], pa.int64())], ["k0", "k1"]
    )


@given(st.lists(KEYS, min_size=1, max_size=3))
def test_rows_are_told_apart_by_key_across_tables(
    given_: list[list[tuple[str | None, int]]],
) -> None:
    keyed = KeyedTables.of(["k0", "k1"], [table(keys) for keys in given_])
    known = [tuple(row.values()) for row in keyed.keys.to_pylist()]
    assert len(keyed) == len(known) == len({key for keys in given_ for key in keys})
    for keys, numbers in zip(given_, keyed.numbers, strict=True):
        assert [known[number] for number in numbers] == keys


def test_without_key_columns_everything_has_one_key() -> None:
    rows = pa.table({"x": [1, 2, 3]})
    keyed = KeyedTables.of([], [rows, rows.slice(0, 0)])
    assert len(keyed) == 1
    assert [numbers.tolist() for numbers in keyed.numbers] == [[0, 0, 0], []]


def test_a_column_of_one_table_for_every_key() -> None:
    some, more = table([("a", 1), (None, 2)]), table([("b", 1), ("a", 1)])
    keyed = KeyedTables.of(["k0", "k1"], [some, more])
    spread = keyed.spread(0, pa.chunked_array([[10, 20]]), missing=-1)
    by_key = dict(zip(map(str, keyed.keys.to_pylist()), spread.tolist(), strict=True))
    assert sorted(by_key.values()) == [-1, 10, 20]
    assert by_key[str({"k0": None, "k1": 2})] == 20


@given(st.lists(st.integers(0, 4), max_size=20).map(sorted))
def test_places(keys: list[int]) -> None:
    seen: Counter[int] = Counter()
    wanted = []
    for key in keys:
        wanted.append(seen[key])
        seen[key] += 1
    assert places(np.array(keys, np.int64)).tolist() == wanted


def test_equal_keys_are_kept_in_one_bucket_and_many_in_many() -> None:
    rows = table([("a", n % 100) for n in range(200)])
    bucket = key_buckets(rows, ["k0", "k1"])
    assert (bucket[:100] == bucket[100:]).all()
    assert len(set(bucket.tolist())) == 13
    assert key_buckets(rows, []).tolist() == [0] * 200
