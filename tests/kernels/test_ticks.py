from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muntin.kernels.ticks import (
    REFUSALS,
    from_order,
    from_ticks,
    lengths_from_ticks,
    order_of_ticks,
    shift_order,
    to_ticks,
    valid_ticks,
)
from muntin.specs.axis import Axis, Domain

#: Values that Python's datetime can hold; Spark's timestamps reach a little farther.
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
LONGS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**62, 2**62 - 1, -(2**62), -(2**62) + 1, 2**63 - 1, -(2**63)]),
)


def check(values: list[Any], type_: pa.DataType, axis: Axis) -> None:
    """Check that the ticks and refusals of a column are those of the axis."""
    column = pa.array(values, type_)
    made = to_ticks(column, axis)
    assert made.tick.dtype == np.int64
    for value, tick, refusal in zip(values, made.tick.tolist(), made.refusal, strict=True):
        reason = REFUSALS[refusal]
        if value is None:
            assert reason == "null_on"
        elif isinstance(value, float) and math.isnan(value):
            assert reason == "nan_on"
        elif axis.tick(value) is None:
            assert reason == "out_of_range"
        else:
            assert reason == ""
            assert tick == axis.tick(value)


def columns(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(st.none(), values), max_size=8)


@given(columns(MOMENTS))
def test_timestamps(values: list[datetime | None]) -> None:
    check(values, pa.timestamp("us"), Axis(Domain.TIMESTAMP_NTZ))
    zoned = [None if value is None else value.replace(tzinfo=UTC) for value in values]
    check(zoned, pa.timestamp("us", tz="UTC"), Axis(Domain.TIMESTAMP))
    # Spark labels the column with the session's zone; the ticks are the same.
    check(zoned, pa.timestamp("us", tz="Asia/Tokyo"), Axis(Domain.TIMESTAMP, zone="Asia/Tokyo"))


@given(columns(st.dates()))
def test_dates(values: list[date | None]) -> None:
    check(values, pa.date32(), Axis(Domain.DATE))


def test_dates_so_far_out_that_a_window_could_leave_32_bits() -> None:
    days = pa.array([2**30, 2**30 - 1, -(2**30), -(2**30) + 1, 2**31 - 1], pa.int32())
    made = to_ticks(days.cast(pa.date32()), Axis(Domain.DATE))
    assert [REFUSALS[refusal] for refusal in made.refusal] == [
        "out_of_range",
        "",
        "out_of_range",
        "",
        "out_of_range",
    ]


@given(columns(LONGS))
def test_integers(values: list[int | None]) -> None:
    check(values, pa.int64(), Axis(Domain.INTEGER))


@pytest.mark.parametrize("type_", [pa.int8(), pa.int16(), pa.int32()], ids=str)
def test_narrow_integers(type_: pa.DataType) -> None:
    most = 2 ** (type_.bit_width - 1)
    check([0, most - 1, -most, None], type_, Axis(Domain.INTEGER))


def decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


@given(
    st.integers(0, 38),
    st.integers(0, 25),
    st.lists(
        st.one_of(
            st.none(),
            st.integers(-(10**38) + 1, 10**38 - 1),
            st.integers(-(10**4), 10**4),
            st.integers(2**62 - 2, 2**62 + 2),
            st.integers(-(2**62) - 2, -(2**62) + 2),
        ),
        max_size=8,
    ),
)
def test_decimals(scale: int, finer: int, unscaled: list[int | None]) -> None:
    values = [None if n is None else decimal(n, scale) for n in unscaled]
    check(values, pa.decimal128(38, scale), Axis(Domain.DECIMAL, scale + finer))


def test_a_decimal_axis_so_fine_that_only_zero_has_a_place() -> None:
    check([Decimal(0), Decimal(1), None], pa.decimal128(10, 0), Axis(Domain.DECIMAL, 30))


@given(st.integers(0, 22), columns(st.floats()))
@example(1, [0.3, -0.3, 0.1 + 0.2, 0.0, -0.0, math.nan, None])
@example(0, [2.0**52, 2.0**52 - 1, -(2.0**52), 1e300, math.inf, -math.inf])
@example(2, [0.29, 1.1, 2.2, 1.005])
def test_doubles(digits: int, values: list[float | None]) -> None:
    check(values, pa.float64(), Axis(Domain.DOUBLE, digits))


@given(st.integers(0, 22), st.lists(st.integers(-(2**52), 2**52), max_size=8))
def test_doubles_at_and_beside_the_edges(digits: int, ticks: list[int]) -> None:
    axis = Axis(Domain.DOUBLE, digits)
    at = [float(axis.value(tick)) for tick in ticks]  # type: ignore[arg-type]
    beside = [math.nextafter(v, way) for v in at for way in (-math.inf, math.inf)]
    check([*at, *beside], pa.float64(), axis)


@given(st.lists(st.floats(-10, 10), max_size=8))
def test_the_order_of_doubles_inside_a_tick(values: list[float]) -> None:
    made = to_ticks(pa.array(values, pa.float64()), Axis(Domain.DOUBLE, 0))
    for one, one_order in zip(values, made.order.tolist(), strict=True):
        for other, other_order in zip(values, made.order.tolist(), strict=True):
            assert (one < other) == (one_order < other_order)


def test_the_order_of_other_values_is_that_of_their_ticks() -> None:
    made = to_ticks(pa.array([5, -3, None, 2**62]), Axis(Domain.INTEGER))
    assert made.order.tolist() == made.tick.tolist()


def test_a_slice_of_a_column() -> None:
    column = pa.array([9.5, None, 0.3], pa.float64()).slice(1)
    made = to_ticks(column, Axis(Domain.DOUBLE, 1))
    assert (made.tick.tolist()[1], made.refusal.tolist()) == (3, [1, 0])
    numbers = pa.array([Decimal("9.5"), None, Decimal("0.3")], pa.decimal128(5, 1)).slice(1)
    made = to_ticks(numbers, Axis(Domain.DECIMAL, 2))
    assert (made.tick.tolist()[1], made.refusal.tolist()) == (30, [1, 0])


@pytest.mark.parametrize(
    ("axis", "type_"),
    [
        (Axis(Domain.TIMESTAMP), pa.timestamp("us", tz="UTC")),
        (Axis(Domain.TIMESTAMP_NTZ), pa.timestamp("us")),
        (Axis(Domain.DATE), pa.date32()),
        (Axis(Domain.INTEGER), pa.int64()),
        (Axis(Domain.DECIMAL, 2), pa.decimal128(20, 2)),
        (Axis(Domain.DOUBLE, 1), pa.float64()),
    ],
    ids=lambda part: str(getattr(part, "domain", part)),
)
def test_a_column_without_rows(axis: Axis, type_: pa.DataType) -> None:
    made = to_ticks(pa.array([], type_), axis)
    assert (len(made.tick), len(made.refusal)) == (0, 0)
    assert from_ticks(made.tick, axis, type_).equals(pa.array([], type_))


@given(st.lists(st.integers(-(2**50), 2**50), max_size=8), st.integers(0, 18))
def test_ticks_back_to_values(ticks: list[int], digits: int) -> None:
    for axis, type_ in [
        (Axis(Domain.TIMESTAMP), pa.timestamp("us", tz="UTC")),
        (Axis(Domain.TIMESTAMP_NTZ), pa.timestamp("us")),
        (Axis(Domain.INTEGER), pa.int64()),
        (Axis(Domain.DECIMAL, digits), pa.decimal128(38, digits)),
        (Axis(Domain.DOUBLE, digits), pa.float64()),
    ]:
        made = from_ticks(np.array(ticks, np.int64), axis, type_)
        assert made.type == type_
        assert made.to_pylist() == [axis.value(tick) for tick in ticks]


@given(st.lists(st.integers(-700_000, 2_900_000), max_size=8))
def test_days_back_to_dates(ticks: list[int]) -> None:
    axis = Axis(Domain.DATE)
    made = from_ticks(np.array(ticks, np.int64), axis, pa.date32())
    assert made.to_pylist() == [axis.value(tick) for tick in ticks]


def test_differences_of_ticks() -> None:
    ticks = np.array([0, 3, -2])
    micros = lengths_from_ticks(ticks, Axis(Domain.TIMESTAMP), pa.duration("us"))
    assert micros.to_pylist() == [timedelta(microseconds=n) for n in (0, 3, -2)]
    days = lengths_from_ticks(ticks, Axis(Domain.DATE), pa.duration("us"))
    assert days.to_pylist() == [timedelta(days=n) for n in (0, 3, -2)]
    whole = lengths_from_ticks(ticks, Axis(Domain.INTEGER), pa.int64())
    assert whole.to_pylist() == [0, 3, -2]
    tenths = lengths_from_ticks(ticks, Axis(Domain.DECIMAL, 1), pa.decimal128(20, 1))
    assert tenths.to_pylist() == [Decimal("0.0"), Decimal("0.3"), Decimal("-0.2")]
    doubles = lengths_from_ticks(ticks, Axis(Domain.DOUBLE, 1), pa.float64())
    assert doubles.to_pylist() == [0.0, 0.3, -0.2]


# -- the order of values ---------------------------------------------------------------------------

ROUND_TRIPS: list[tuple[Domain, int, pa.DataType, st.SearchStrategy[Any]]] = [
    (Domain.TIMESTAMP_NTZ, 0, pa.timestamp("us"), MOMENTS),
    (Domain.DATE, 0, pa.date32(), st.dates()),
    (Domain.INTEGER, 0, pa.int64(), st.integers(-(2**62) + 1, 2**62 - 1)),
    (
        Domain.DECIMAL,
        2,
        pa.decimal128(18, 2),
        st.integers(-(10**17), 10**17).map(lambda n: Decimal(n).scaleb(-2)),
    ),
    (Domain.DOUBLE, 3, pa.float64(), st.floats(-(2.0**40), 2.0**40)),
]


@pytest.mark.parametrize(("domain", "digits", "type_", "values"), ROUND_TRIPS, ids=lambda x: str(x))
@given(data=st.data())
def test_orders_are_those_of_the_values_and_lead_back_to_them(
    domain: Domain,
    digits: int,
    type_: pa.DataType,
    values: st.SearchStrategy[Any],
    data: st.DataObject,
) -> None:
    axis = Axis(domain, digits)
    drawn = data.draw(st.lists(values, min_size=1, max_size=6))
    ticks = to_ticks(pa.array(drawn, type_), axis)
    # Equal to the value; a double also between the ticks, where from_ticks cannot reach.
    assert from_order(ticks.order, axis, type_).to_pylist() == drawn
    assert [drawn[n] for n in np.argsort(ticks.order, kind="stable")] == sorted(drawn)
    at_ticks = order_of_ticks(ticks.tick, axis)
    assert (at_ticks <= ticks.order).all()
    assert (order_of_ticks(ticks.tick + 1, axis) > ticks.order).all()
    assert from_order(at_ticks, axis, type_).equals(from_ticks(ticks.tick, axis, type_))


@given(st.lists(st.integers(-1000, 1000), min_size=1), st.integers(-50, 50))
def test_an_order_moves_by_a_length(values: list[int], ticks: int) -> None:
    whole = np.array(values, np.int64)
    assert shift_order(whole, Axis(Domain.INTEGER), ticks).tolist() == [v + ticks for v in values]
    # Doubles as Spark adds them: with one rounding, to the last bit.
    doubles = [value / 7 for value in values]
    axis = Axis(Domain.DOUBLE, 1)
    order = to_ticks(pa.array(doubles), axis).order
    moved = from_order(shift_order(order, axis, ticks), axis, pa.float64()).to_pylist()
    assert moved == [value + ticks / 10 for value in doubles]


def test_an_order_moved_back_is_lower_wherever_there_are_ticks() -> None:
    """A window (v - range, v] always holds its own row, however coarse doubles are out there."""
    axis = Axis(Domain.DOUBLE, 2)
    far = (axis.limit - 1) / 100
    order = to_ticks(pa.array([far, -far, 0.0, 1e-300]), axis).order
    assert (shift_order(order, axis, -1) < order).all()
    assert (shift_order(order, axis, 1) > order).all()


def test_ticks_of_the_values_that_have_a_place() -> None:
    column = pa.chunked_array([[1.0, None], [math.nan, 2.5, math.inf]])
    assert valid_ticks(column, Axis(Domain.DOUBLE, 1)).tolist() == [10, 25]
