from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.kernels.numbers.order_keys import (
    NOTHING,
    doubles_order,
    order_doubles,
    order_keys,
    orderable,
    ranked,
)
from muntin.reference.aggregates import order

FLOATS = st.one_of(
    st.floats(), st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324])
)
DECIMALS = st.integers(-(10**38) + 1, 10**38 - 1).map(
    lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -2))
)
#: Types whose values map to integers directly, so that equal values have equal keys.
DIRECT: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.one_of(
        st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 2**63 - 2])
    ),
    pa.float32(): st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, math.nan])),
    pa.float64(): FLOATS,
    pa.date32(): st.dates(),
    pa.timestamp("us", tz="UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.timestamp("us"): st.datetimes(),
    pa.duration("us"): st.timedeltas(timedelta(days=-(10**8)), timedelta(days=10**8)),
}
#: Types whose values are ranked among the values at hand.
RANKED: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.decimal128(38, 2): DECIMALS,
    pa.string(): st.text(max_size=4),
    pa.large_string(): st.text(max_size=4),
    pa.binary(): st.binary(max_size=4),
    pa.large_binary(): st.binary(max_size=4),
}
TYPES = {**DIRECT, **RANKED}


def columns(type_: pa.DataType) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(st.none(), TYPES[type_]), max_size=12)


def same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return True if values are equal as Spark compares: NaN is NaN, and -0.0 is 0.0."""
    return [order(value) for value in left] == [order(value) for value in right]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_keys_have_the_order_of_the_values(type_: pa.DataType) -> None:
    @settings(max_examples=50)
    @given(columns(type_))
    def check(values: list[Any]) -> None:
        column = pa.array(values, type_)
        keys = order_keys(column)
        values = column.to_pylist()
        assert keys.valid.tolist() == [value is not None for value in values]
        found = [
            (order(value), int(key))
            for value, key in zip(values, keys.key, strict=True)
            if value is not None
        ]
        for one, one_key in found:
            for other, other_key in found:
                if one < other:
                    assert one_key < other_key
                elif one == other and type_ in DIRECT:
                    assert one_key == other_key
        nothing = [int(key) for value, key in zip(values, keys.key, strict=True) if value is None]
        assert set(nothing) <= {NOTHING}

    check()


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_restore_is_the_inverse(type_: pa.DataType) -> None:
    @settings(max_examples=50)
    @given(columns(type_), st.data())
    def check(values: list[Any], data: st.DataObject) -> None:
        column = pa.array(values, type_)
        keys = order_keys(column)
        restored = keys.restore(keys.key, keys.valid)
        assert restored.type == type_
        assert same(restored.to_pylist(), column.to_pylist())
        some = (
            data.draw(st.lists(st.sampled_from(range(len(values))), max_size=5)) if values else []
        )
        picked = np.array(some, np.int64)
        assert same(
            keys.restore(keys.key[picked], keys.valid[picked]).to_pylist(),
            column.take(pa.array(picked)).to_pylist(),
        )

    check()


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_restore_knows_what_is_not_there(type_: pa.DataType) -> None:
    for column in (pa.nulls(3, type_), pa.array([], type_)):
        keys = order_keys(column)
        nothing = keys.restore(np.full(2, NOTHING), np.zeros(2, np.bool_))
        assert nothing.equals(pa.nulls(2, type_))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_ranks_are_places_among_the_distinct_values(type_: pa.DataType) -> None:
    @settings(max_examples=50)
    @given(st.lists(TYPES[type_], max_size=10).flatmap(lambda some: st.permutations(some * 2)))
    def check(values: Sequence[Any]) -> None:
        found = ranked(pa.array(values, type_))
        assert found.distinct.type == type_
        distinct = [order(value) for value in found.distinct.to_pylist()]
        assert distinct == sorted(set(map(order, values)))
        assert [distinct[rank] for rank in found.rank] == [order(value) for value in values]

    check()


def test_nan_is_last_whatever_its_bits() -> None:
    bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF]
    nans = [struct.unpack("<d", struct.pack("<Q", b))[0] for b in bits]
    keys = order_keys(pa.array([*nans, math.inf, -math.inf])).key
    assert len(set(keys[:4].tolist())) == 1
    assert keys[0] > keys[4] > keys[5]
    assert keys[0] < NOTHING


def test_zeros_are_equal() -> None:
    keys = order_keys(pa.array([0.0, -0.0]))
    assert keys.key[0] == keys.key[1]
    assert math.copysign(1, keys.restore(keys.key, keys.valid)[1].as_py()) == 1.0


def test_strings_are_ordered_by_their_bytes() -> None:
    # In UTF-16 the second comes first.
    values = ["\uffff", "\U00010000", "a", "", "A"]
    keys = order_keys(pa.array(values)).key
    assert [values[place] for place in np.argsort(keys)] == ["", "A", "a", "\uffff", "\U00010000"]


def test_a_slice_of_a_column() -> None:
    column = pa.array(["c", "b", None, "a"]).slice(1)
    keys = order_keys(column)
    assert keys.restore(keys.key, keys.valid).equals(column)
    dates = pa.array([None, date(2026, 1, 1), datetime(1969, 12, 31).date()]).slice(1)
    assert order_keys(dates).key.tolist() == [20_454, -1]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_what_has_an_order(type_: pa.DataType) -> None:
    assert orderable(type_)


@pytest.mark.parametrize(
    "type_",
    [
        pa.list_(pa.int64()),
        pa.struct([("a", pa.int64())]),
        pa.map_(pa.string(), pa.int64()),
        pa.null(),
        pa.time64("us"),
    ],
    ids=str,
)
def test_what_has_none(type_: pa.DataType) -> None:
    assert not orderable(type_)


@given(st.lists(FLOATS, min_size=1, max_size=6))
def test_doubles_come_back_from_their_order(values: list[float]) -> None:
    given_ = np.array(values)
    before = given_.copy()
    made = doubles_order(given_)
    back = order_doubles(made)
    assert np.array_equal(back, given_, equal_nan=True)
    assert np.array_equal(np.signbit(given_), np.signbit(before))  # the input is unchanged
    assert not np.signbit(back[back == 0]).any()
    assert [order(values[n]) for n in np.argsort(made, kind="stable")] == sorted(map(order, values))
