"""The columns that kinds read, for every type that a column may have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.operators.frames.arrow_kind import ArrowKind, is_whole, is_wide, time_axis
from muntin.operators.frames.kinds.aggregate import ArrowAggregate
from muntin.operators.frames.kinds.between import ArrowBetween
from muntin.operators.frames.kinds.boundary import ArrowBoundary
from muntin.operators.frames.kinds.delta import ArrowDelta
from muntin.operators.frames.kinds.threshold import ArrowThreshold
from muntin.operators.frames.kinds.trend import ArrowTrend
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.boundary_levels import level, level_of_time
from muntin.specs.lengths import Duration, Number, parse_length

NAN = float("nan")


def read(reading: ArrowKind, *columns: Sequence[Any], **more: pa.Array) -> dict[str, list[Any]]:
    rows = {
        f"f{place}": pa.array(values, type_, from_pandas=False)
        for place, (values, type_) in enumerate(zip(columns, reading.types, strict=True))
    }
    made = reading.read(pa.table({**rows, **more}))
    assert tuple(made) == reading.names
    for name, column in made.items():
        assert column.type == reading.type_of(name)
    return {name: column.to_pylist() for name, column in made.items()}


def test_a_condition_is_true_or_not_or_missing() -> None:
    made = read(ArrowThreshold((pa.bool_(),)), [True, False, None])
    assert made == {"lacks": [False, False, True], "whole": [1, 0, 0]}


def test_the_two_conditions_of_a_between_are_never_missing() -> None:
    values = [(True, False), (False, True), (True, True), (None, False), (None, None)]
    starts, ends = zip(*values, strict=True)
    made = read(ArrowBetween((pa.bool_(), pa.bool_())), starts, ends)
    assert made == {"whole": [1, 2, 3, 0, 0]}


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.int8(), [-128, 0, 127]),
        (pa.int64(), [-(2**63), 0, 2**63 - 1]),
        (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("99999999.99")]),
        (pa.decimal128(18, 0), [Decimal(1 - 10**18), Decimal(0), Decimal(10**18 - 1)]),
        (pa.bool_(), [False, True]),
        (pa.float32(), [-math.inf, -1.5, 0.0, 1e-30, math.inf]),
        (pa.float64(), [-math.inf, -1.5, 0.0, 5e-324, math.inf]),
        (pa.date32(), [date(1582, 1, 1), date(1970, 1, 1), date(2026, 1, 1)]),
        (pa.timestamp("us"), [datetime(1582, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 1)]),
        (pa.timestamp("us", tz="UTC"), [datetime(1970, 1, 1, tzinfo=UTC)]),
        (pa.duration("us"), [timedelta(days=-1), timedelta(microseconds=1)]),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [ArrowTrend, ArrowBoundary])
def test_ordered_values_become_integers_in_their_order(
    kind: type[ArrowKind], type_: pa.DataType, values: list[Any]
) -> None:
    made = read(kind((type_,)), [*values, None, *values])
    rising = made["whole"][: len(values)]
    assert rising == sorted(set(rising))
    assert made["whole"][len(values) + 1 :] == rising
    assert made["lacks"] == [False] * len(values) + [True] + [False] * len(values)


def test_nan_is_missing_and_zeros_are_equal() -> None:
    for type_ in (pa.float32(), pa.float64()):
        made = read(ArrowBoundary((type_,)), [0.0, -0.0, NAN, 1.0])
        assert made["whole"][0] == made["whole"][1] != made["whole"][3]
        assert made["lacks"] == [False, False, True, False]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.string(), ["b", "a", "", None]),
        (pa.binary(), [b"b", b"a", b"", None]),
        (pa.decimal128(38, 2), [Decimal("1.00"), Decimal("-1.00"), Decimal("0.00"), None]),
    ],
    ids=str,
)
def test_values_without_an_order_of_64_bits_travel_as_they_are(
    type_: pa.DataType, values: list[Any]
) -> None:
    reading = ArrowBoundary((type_,))
    assert reading.by_code
    made = read(reading, values)
    assert made == {"lacks": [False, False, False, True], "code": values}


# every 0.1:     -1          0          1          2          3
#           -0.1 |         0.0 |      0.1 |      0.2 |      0.3 |
# 0.3 is three times 0.1, though not in doubles.
@pytest.mark.parametrize(
    ("type_", "every", "values", "levels"),
    [
        (
            pa.float64(),
            "0.1",
            [-0.1, -0.05, 0.0, 0.1, 0.2, 0.3, 0.6, 0.7],
            [-1, -1, 0, 1, 2, 3, 6, 7],
        ),
        (pa.float32(), "0.1", [-0.5, 0.25, 0.5, 1.0], [-5, 2, 5, 10]),
        (
            pa.decimal128(10, 2),
            "0.1",
            [Decimal("-0.01"), Decimal("0.00"), Decimal("0.09"), Decimal("0.10")],
            [-1, 0, 0, 1],
        ),
        (pa.int32(), "1.5", [-2, -1, 0, 1, 2, 3, 4], [-2, -1, 0, 0, 1, 2, 2]),
        (
            pa.int64(),
            "10",
            [-(2**63), 2**62, 2**63 - 1],
            [-(2**63) // 10, 2**62 // 10, 2**63 // 10],
        ),
        (pa.float64(), "1e6", [1e18, 1e18 + 1e6, 1e20], [10**12, 10**12 + 1, 10**14]),
    ],
    ids=str,
)
def test_levels_are_exact(
    type_: pa.DataType, every: str, values: list[Any], levels: list[int]
) -> None:
    reading = ArrowBoundary((type_,), every=Number(Decimal(every)))
    made = read(reading, [*values, None])
    assert made["whole"][:-1] == levels
    assert made["lacks"] == [False] * len(values) + [True]


def test_each_double_beyond_the_levels_is_one_of_its_own() -> None:
    reading = ArrowBoundary((pa.float64(),), every=Number(Decimal("0.1")))
    far = [math.inf, -math.inf, 1e300, -1e300, 1.5e300, 2.0**60, 0.0, 0.05]
    made = read(reading, [NAN, *far, *far])
    assert made["lacks"] == [True] + [False] * 16
    levels = made["whole"][1:]
    assert levels[:8] == levels[8:]
    assert len(set(levels)) == 7


def numbers(type_: pa.DataType) -> st.SearchStrategy[Any]:
    """Return values of a type: small ones, and ones at its limits."""
    if pa.types.is_floating(type_):
        halves = st.integers(-40, 40).map(lambda n: n / 8)
        return halves | st.floats(allow_nan=False) | st.integers(-(2**60), 2**60).map(float)
    if pa.types.is_integer(type_):
        return st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1)
    most = 10**type_.precision - 1
    whole = st.integers(-300, 300) | st.integers(-most, most)
    return whole.map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -type_.scale)))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        [
            pa.float64(),
            pa.int64(),
            pa.decimal128(10, 2),
            pa.decimal128(18, 6),
            pa.decimal128(20, 2),
            pa.decimal128(38, 18),
            pa.decimal128(38, 0),
        ]
    ),
    st.sampled_from(["0.1", "0.25", "1", "1.5", "7", "1e9", "0.000000000000000001", "1e30"]),
    st.data(),
)
def test_levels_are_equal_where_the_reference_has_one(
    type_: pa.DataType, every: str, data: st.DataObject
) -> None:
    values = data.draw(st.lists(numbers(type_), max_size=12))
    reading = ArrowBoundary((type_,), every=Number(Decimal(every)))
    made = read(reading, values)
    assert made["lacks"] == [False] * len(values)
    found = made["code" if reading.by_code else "whole"]
    wanted = [level(value, Decimal(every)) for value in values]
    for place, other in itertools.combinations(range(len(values)), 2):
        assert (found[place] == found[other]) == (wanted[place] == wanted[other])


_ZONES = ("UTC", "Europe/Berlin", "+05:30")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32()]),
    st.sampled_from(_ZONES),
    st.sampled_from(["1 day", "7 days", "90 minutes", "1 hour", "250 ms"]),
    st.lists(st.integers(-(10**9), 10**9), max_size=12),
)
def test_levels_of_times_are_those_of_the_reference(
    type_: pa.DataType, zone: str, every: str, seconds: list[int]
) -> None:
    axis = replace(time_axis(type_), zone=zone)
    length = parse_length("every", every)
    assert isinstance(length, Duration)
    if axis.domain is Domain.DATE and not length.whole_days:
        return
    unit = 86_400 if axis.domain is Domain.DATE else 1
    values = [axis.value(s // unit if unit > 1 else s * 1_000_000) for s in seconds]
    reading = ArrowBoundary((type_,), every=length, zone=zone)
    made = read(reading, values)
    assert made["whole"] == [level_of_time(value, length, axis) for value in values]


@pytest.mark.parametrize("tick", [-(2**63) + 1, -(2**62), 2**62, 2**63 - 1])
def test_levels_of_times_do_not_leave_64_bits(tick: int) -> None:
    type_, length = pa.timestamp("us", "UTC"), Duration(86_400_000_000)
    (made,) = (
        ArrowBoundary((type_,), every=length, zone="-11:00")
        .values([pa.array([tick]).cast(type_)])["whole"]
        .to_pylist()
    )
    assert made == (tick - 11 * 3_600_000_000) // length.micros


@pytest.mark.parametrize(
    ("type_", "given_", "name", "made"),
    [
        (pa.date32(), [date(1970, 1, 3), None], "whole", [2, 0]),
        (pa.timestamp("us"), [datetime(1970, 1, 1, 0, 0, 1), None], "whole", [1_000_000, 0]),
        (pa.int16(), [3, None], "whole", [3, 0]),
        (pa.decimal128(10, 2), [Decimal("-1.50"), None], "whole", [-150, 0]),
        (pa.float32(), [1.5, None], "real", [1.5, 0.0]),
        (pa.float64(), [1.5, None], "real", [1.5, 0.0]),
    ],
    ids=str,
)
def test_a_delta_is_of_exact_integers_or_doubles(
    type_: pa.DataType, given_: list[Any], name: str, made: list[Any]
) -> None:
    assert read(ArrowDelta((type_,)), given_) == {"lacks": [False, True], name: made}


def test_wide_decimals_are_no_integers_of_64_bits() -> None:
    assert is_whole(pa.decimal128(18, 2)) and not is_wide(pa.decimal128(18, 2))
    assert is_wide(pa.decimal128(38, 12)) and not is_whole(pa.decimal128(38, 12))


LAST_LACKS = pa.array([False, False, True])


@pytest.mark.parametrize(
    ("function", "types", "columns", "made"),
    [
        ("count", (), [], {}),
        ("count", (pa.int64(),), [[1, 2, None]], {"counts": [True, True, False]}),
        (
            "sum",
            (pa.int64(),),
            [[1, 2, None]],
            {"counts": [True, True, False], "whole": [1, 2, 0]},
        ),
        (
            "avg",
            (pa.float64(),),
            [[1.5, 2.5, None]],
            {"counts": [True, True, False], "real": [1.5, 2.5, 0.0]},
        ),
        (
            "stddev_pop",
            (pa.float32(),),
            [[1.0, 2.0, None]],
            {"counts": [True, True, False], "real": [1.0, 2.0, 0.0]},
        ),
        (
            "any",
            (pa.bool_(),),
            [[True, False, None]],
            {"counts": [True, True, False], "whole": [1, 0, 0]},
        ),
        (
            "weighted_avg",
            (pa.float64(), pa.int64()),
            [[1.5, 2.5, None], [3, 4, None]],
            {"counts": [True, True, False], "real": [1.5, 2.5, 0.0], "weight": [3.0, 4.0, 0.0]},
        ),
    ],
)
def test_an_aggregate_reads_its_arguments(
    function: str, types: tuple[pa.DataType, ...], columns: list[list[Any]], made: dict[str, Any]
) -> None:
    reading = ArrowAggregate(types, function=function)
    found = read(reading, *columns, lacks=LAST_LACKS)
    assert found == {"lacks": [False, False, True], **made}


def test_starts_and_reaches_travel_where_there_are_any() -> None:
    reading = ArrowDelta((pa.int64(),), starts=True, until=Axis(Domain.INTEGER))
    opens, until = pa.array([True, None, False]), pa.array([5, 9, 7], pa.int64())
    made = read(reading, [1, 2, 3], opens=opens, until=until)
    assert made["opens"] == [True, False, False]
    assert made["reach"] == [5, 9, 7]
