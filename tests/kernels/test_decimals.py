from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.numbers import decimals

LARGEST = 10**38 - 1
WIDE = pa.decimal128(38, 0)
UNSCALED = st.integers(-LARGEST, LARGEST)
LONGS = st.integers(-(2**63), 2**63 - 1)


def column(values: Sequence[int | None], type_: pa.DataType = WIDE) -> pa.Array:
    exact = [None if v is None else written(v, type_.scale) for v in values]
    return pa.array(exact, type_)


def written(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def added(limbs: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [np.array([limb.sum()]) for limb in limbs]


@given(st.lists(st.one_of(st.none(), UNSCALED), max_size=10))
def test_words_are_the_128_bits(values: list[int | None]) -> None:
    low, high = decimals.words(column(values))
    together = [int(h) * 2**64 + int(w) for w, h in zip(low, high, strict=True)]
    assert together == [value or 0 for value in values]


@given(st.lists(st.one_of(st.none(), UNSCALED), max_size=20))
def test_a_column_from_its_words(values: list[int | None]) -> None:
    given_ = column(values)
    low, high = decimals.words(given_)
    valid = np.array([value is not None for value in values], np.bool_)
    assert decimals.from_words(low, high, WIDE, valid).equals(given_)


@given(st.lists(st.one_of(st.none(), UNSCALED), min_size=3, max_size=10), st.integers(0, 3))
def test_words_of_a_slice(values: list[int | None], start: int) -> None:
    low, high = decimals.words(column(values).slice(start, 2))
    together = [int(h) * 2**64 + int(w) for w, h in zip(low, high, strict=True)]
    assert together == [value or 0 for value in values[start : start + 2]]


@given(st.lists(st.one_of(UNSCALED, LONGS), max_size=10), st.integers(0, 38))
def test_doubles_are_the_nearest(values: list[int], scale: int) -> None:
    given_ = column(values, pa.decimal128(38, scale))
    expected = [float(written(value, scale)) for value in values]
    assert decimals.as_doubles(given_).tolist() == expected


def test_words_of_nothing() -> None:
    for empty in (column([]), pa.chunked_array([], WIDE).combine_chunks()):
        low, high = decimals.words(empty)
        assert (len(low), len(high)) == (0, 0)
    low, high = decimals.words(pa.nulls(2, WIDE))
    assert (low.tolist(), high.tolist()) == ([0, 0], [0, 0])


@given(st.lists(LONGS, min_size=1, max_size=20))
def test_limbs_of_integers_add_to_the_integer(values: list[int]) -> None:
    limbs = decimals.limbs_of_integers(np.array(values))
    assert decimals.as_integers(limbs) == values
    assert decimals.as_integers(decimals.settle(added(limbs))) == [sum(values)]


@given(st.lists(UNSCALED, min_size=1, max_size=20))
def test_limbs_of_decimals_add_to_the_decimal(values: list[int]) -> None:
    limbs = decimals.limbs_of_decimals(column(values))
    assert decimals.as_integers(limbs) == values
    assert decimals.as_integers(decimals.settle(added(limbs))) == [sum(values)]


@given(st.lists(UNSCALED, min_size=1, max_size=10))
def test_settled_limbs_are_below_32_bits_but_the_last(values: list[int]) -> None:
    settled = decimals.settle(added(decimals.limbs_of_decimals(column(values))))
    assert all(0 <= int(limb[0]) < 2**32 for limb in settled[:-1])
    assert [limb.tolist() for limb in decimals.settle(settled)] == [
        limb.tolist() for limb in settled
    ]


@given(st.lists(LONGS, min_size=1, max_size=6))
def test_an_integer_sum_wraps_as_64_bits_do_and_says_so(values: list[int]) -> None:
    total = sum(values)
    sums, overflow = decimals.wrapped(
        decimals.settle(added(decimals.limbs_of_integers(np.array(values))))
    )
    assert sums.tolist() == [(total + 2**63) % 2**64 - 2**63]
    assert overflow.tolist() == [not -(2**63) <= total < 2**63]


@pytest.mark.parametrize(
    ("values", "wrapped", "overflow"),
    [
        ([2**63 - 1], 2**63 - 1, False),
        ([2**63 - 1, 1], -(2**63), True),
        ([-(2**63)], -(2**63), False),
        ([-(2**63), -1], 2**63 - 1, True),
        ([2**63 - 1, 1, -1], 2**63 - 1, False),
        ([-1, -1], -2, False),
    ],
)
def test_the_edge_of_64_bits(values: list[int], wrapped: int, overflow: bool) -> None:
    limbs = decimals.settle(added(decimals.limbs_of_integers(np.array(values))))
    sums, flags = decimals.wrapped(limbs)
    assert (sums.tolist(), flags.tolist()) == ([wrapped], [overflow])


@given(st.lists(UNSCALED, min_size=1, max_size=6), st.integers(1, 38))
def test_a_decimal_sum_fits_its_digits_or_says_so(values: list[int], precision: int) -> None:
    total = sum(values)
    limbs = decimals.settle(added(decimals.limbs_of_decimals(column(values))))
    low, high, overflow = decimals.as_words(limbs, precision)
    assert overflow.tolist() == [abs(total) >= 10**precision]
    if not overflow[0]:
        decimal_sum = decimals.from_words(low, high, WIDE, np.array([True]))
        assert decimal_sum.equals(column([total]))


@pytest.mark.parametrize(
    ("total", "precision", "overflow"),
    [
        (10**38 - 1, 38, False),
        (10**38, 38, True),
        (-(10**38) + 1, 38, False),
        (-(10**38), 38, True),
        (2**127, 38, True),
        (-(2**127), 38, True),
        (2**130, 38, True),
        (99, 2, False),
        (100, 2, True),
        (-99, 2, False),
        (-100, 2, True),
    ],
)
def test_the_edge_of_a_precision(total: int, precision: int, overflow: bool) -> None:
    parts = [total & 0xFFFFFFFF, total >> 32 & 0xFFFFFFFF, total >> 64 & 0xFFFFFFFF, total >> 96]
    limbs = [np.array([part]) for part in parts]
    assert decimals.as_integers(limbs) == [total]
    assert decimals.as_words(limbs, precision)[2].tolist() == [overflow]


def test_two_thousand_million_rows_have_room_in_a_limb() -> None:
    """The greatest limb, 2**32 - 1, added 2**31 times stays below 2**63."""
    assert (2**32 - 1) * 2**31 < 2**63
    limbs = [np.array([(2**32 - 1) * 2**31]), np.array([0])]
    assert decimals.as_integers(decimals.settle(limbs)) == [(2**32 - 1) * 2**31]


def test_a_scale_is_kept() -> None:
    type_ = pa.decimal128(10, 2)
    given_ = column([12345, -1, None], type_)
    low, high = decimals.words(given_)
    restored = decimals.from_words(low, high, type_, np.array([True, True, False]))
    assert restored.to_pylist() == [Decimal("123.45"), Decimal("-0.01"), None]
    assert restored.type == type_
