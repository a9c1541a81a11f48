from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.specs.axis import (
    DOUBLE_TICK_LIMIT,
    TICK_LIMIT,
    Axis,
    Domain,
    decimals_needed,
)
from muntin.specs.lengths import Length, parse_length

TIMESTAMP = Axis(Domain.TIMESTAMP)
NTZ = Axis(Domain.TIMESTAMP_NTZ)
DATE = Axis(Domain.DATE)
INTEGER = Axis(Domain.INTEGER)
HOUR = 3_600_000_000
DAY = 24 * HOUR


def length(text: object) -> Length:
    return parse_length("range", text)


# -- ticks and values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "value", "tick"),
    [
        (TIMESTAMP, datetime(1970, 1, 1, tzinfo=UTC), 0),
        (TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), 1_000_005),
        (TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (TIMESTAMP, datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0),
        (Axis(Domain.TIMESTAMP, zone="Europe/Berlin"), datetime(1970, 1, 1, 1), 0),
        (Axis(Domain.TIMESTAMP, zone="+01:00"), datetime(1970, 1, 1, 1), 0),
        (NTZ, datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        (NTZ, datetime(1969, 12, 31), -DAY),
        (DATE, date(1970, 1, 1), 0),
        (DATE, date(2026, 1, 1), 20_454),
        (DATE, date(1969, 12, 31), -1),
        (INTEGER, 7, 7),
        (INTEGER, -7, -7),
        (Axis(Domain.DECIMAL, 2), Decimal("1.23"), 123),
        (Axis(Domain.DECIMAL, 2), Decimal("-1.23"), -123),
        (Axis(Domain.DECIMAL, 2), Decimal("5"), 500),
        (Axis(Domain.DOUBLE, 1), 0.3, 3),
        (Axis(Domain.DOUBLE, 1), -0.05, -1),
        (Axis(Domain.DOUBLE, 0), -0.0, 0),
        (Axis(Domain.DOUBLE, 3), 1.0005, 1000),
    ],
)
def test_the_tick_of_a_value(axis: Axis, value: object, tick: int) -> None:
    assert axis.tick(value) == tick


@pytest.mark.parametrize("axis", [TIMESTAMP, NTZ, DATE, INTEGER, Axis(Domain.DOUBLE, 2)])
def test_null_has_no_tick(axis: Axis) -> None:
    assert axis.tick(None) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -1e300])
def test_doubles_without_a_place(value: float) -> None:
    assert Axis(Domain.DOUBLE, 0).tick(value) is None
    assert Axis(Domain.DOUBLE, 22).tick(value) is None


def test_the_limit_of_each_domain() -> None:
    assert INTEGER.limit == NTZ.limit == TIMESTAMP.limit == TICK_LIMIT == 2**62
    assert DATE.limit == 2**30  # a date and a length of days together fit 32 bits
    assert Axis(Domain.DOUBLE).limit == DOUBLE_TICK_LIMIT == 2**52
    assert INTEGER.tick(2**62 - 1) == 2**62 - 1
    assert INTEGER.tick(-(2**62) + 1) == -(2**62) + 1
    assert INTEGER.tick(2**62) is None
    assert INTEGER.tick(-(2**62)) is None
    assert Axis(Domain.DECIMAL, 2).tick(Decimal(2**62)) is None
    assert Axis(Domain.DECIMAL, 2).tick(Decimal(2**62 - 1).scaleb(-2)) == 2**62 - 1
    assert Axis(Domain.DOUBLE).tick(float(2**52 - 1)) == 2**52 - 1
    assert Axis(Domain.DOUBLE).tick(float(2**52)) is None
    assert Axis(Domain.DOUBLE).tick(-float(2**52)) is None


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(
        UnsupportedTypeError, match=r"^'noon' is not a value of a timestamp column$"
    ):
        TIMESTAMP.tick("noon")


def test_the_callers_decimal_context_changes_nothing() -> None:
    axis = Axis(Domain.DECIMAL, 2)
    with localcontext() as context:
        context.prec = 3
        assert axis.value(123_456) == Decimal("1234.56")
        assert axis.tick(Decimal("-1234.56")) == -123_456
        assert axis.point("origin", "1234.56") == 123_456


def test_38_digits_do_not_round() -> None:
    axis = Axis(Domain.DECIMAL, 20)
    value = Decimal("0.02345678901234567891")
    assert axis.tick(value) == 2_345_678_901_234_567_891
    assert axis.value(2_345_678_901_234_567_891) == value


#   0.3 as a double is 0.299999999999999988..., a little below three tenths:
#
#        [0.0      0.3)[0.3      0.6)[0.6      0.9)
#                  ^ the row 0.3 belongs here
@pytest.mark.parametrize("tenths", range(-50, 50))
def test_a_double_lies_where_its_decimal_lies(tenths: int) -> None:
    axis = Axis(Domain.DOUBLE, 1)
    edge = float(f"{tenths}e-1")
    assert axis.value(tenths) == edge
    assert axis.tick(edge) == tenths
    assert axis.tick(math.nextafter(edge, -math.inf)) == tenths - 1
    assert axis.tick(math.nextafter(edge, math.inf)) == tenths


@given(st.integers(0, 22), st.floats(allow_nan=False, allow_infinity=False))
@example(1, 0.3)
@example(2, 0.29)
@example(22, 5e-324)
@example(0, 2.0**52 - 1)
def test_a_double_has_the_largest_tick_that_does_not_exceed_it(digits: int, value: float) -> None:
    axis = Axis(Domain.DOUBLE, digits)
    tick = axis.tick(value)
    if tick is None:
        assert abs(Fraction(value)) * 10**digits > DOUBLE_TICK_LIMIT - 2
    else:
        assert axis.value(tick) <= value < axis.value(tick + 1)  # type: ignore[operator]


@given(st.integers(0, 22), st.integers(-(2**52) + 1, 2**52 - 1))
def test_an_edge_of_a_double_axis_is_its_own_tick(digits: int, tick: int) -> None:
    axis = Axis(Domain.DOUBLE, digits)
    assert axis.tick(axis.value(tick)) == tick


@given(
    st.integers(0, 20),
    st.decimals(-(10**18), 10**18, allow_nan=False, allow_infinity=False),
)
def test_a_decimal_has_the_largest_tick_that_does_not_exceed_it(
    digits: int, value: Decimal
) -> None:
    axis = Axis(Domain.DECIMAL, digits)
    tick = axis.tick(value)
    if tick is None:
        assert abs(Fraction(value)) * 10**digits >= TICK_LIMIT - 1
    else:
        assert Fraction(tick, 10**digits) <= Fraction(value) < Fraction(tick + 1, 10**digits)


TICKS = st.integers(-(2**62) + 1, 2**62 - 1)
FIRST = (datetime.min - datetime(1970, 1, 1)) // timedelta(microseconds=1)
LAST = (datetime.max - datetime(1970, 1, 1)) // timedelta(microseconds=1)


@given(st.integers(FIRST, LAST), st.integers(-719_162, 2_932_896), TICKS, st.integers(0, 38))
def test_value_and_tick_are_inverse(micros: int, days: int, tick: int, digits: int) -> None:
    assert TIMESTAMP.tick(TIMESTAMP.value(micros)) == micros
    assert NTZ.tick(NTZ.value(micros)) == micros
    assert DATE.tick(DATE.value(days)) == days
    assert INTEGER.tick(INTEGER.value(tick)) == tick
    assert Axis(Domain.DECIMAL, digits).tick(Axis(Domain.DECIMAL, digits).value(tick)) == tick


@given(TICKS, TICKS, st.sampled_from([INTEGER, Axis(Domain.DECIMAL, 5)]))
def test_values_have_the_order_of_their_ticks(one: int, other: int, axis: Axis) -> None:
    values: list[Any] = [axis.value(one), axis.value(other)]
    assert (values[0] < values[1]) == (one < other)


# -- lengths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "text", "ticks"),
    [
        (TIMESTAMP, "5 minutes", 300_000_000),
        (NTZ, "1 us", 1),
        (DATE, "2 weeks", 14),
        (INTEGER, 10, 10),
        (INTEGER, "10.0", 10),
        (Axis(Domain.DECIMAL, 3), "0.25", 250),
        (Axis(Domain.DOUBLE, 1), 0.3, 3),
        (Axis(Domain.DOUBLE, 22), "1e-22", 1),
    ],
)
def test_a_length_in_ticks(axis: Axis, text: object, ticks: int) -> None:
    assert axis.length("range", length(text)) == ticks


@pytest.mark.parametrize(
    ("axis", "text", "expected"),
    [
        (TIMESTAMP, 10, "'10' cannot be used: on a timestamp column it needs a unit: '5 minutes'"),
        (
            NTZ,
            "0.5",
            "'0.5' cannot be used: on a timestamp_ntz column it needs a unit: '5 minutes'",
        ),
        (DATE, 7, "'7' cannot be used: on a date column it needs a unit: '5 minutes'"),
        (
            DATE,
            "12 hours",
            "'12 hours' cannot be used: a date column moves in whole days, such as '7 days'",
        ),
        (
            INTEGER,
            "5 minutes",
            "'5 minutes' cannot be used: on a number column (integer) it is a plain number: 10",
        ),
        (
            INTEGER,
            0.5,
            "'0.5' cannot be used: on an integer column it is a whole number; "
            "cast the column to decimal for finer ones",
        ),
        (
            Axis(Domain.DOUBLE, 23),
            "1e-23",
            "'0.00000000000000000000001' cannot be used: "
            "on a double column it has at most 22 decimals",
        ),
        (
            INTEGER,
            2**62,
            "'4611686018427387904' cannot be used: it is longer than this column can reach",
        ),
        (
            DATE,
            f"{2**30} days",
            "'1073741824 days' cannot be used: it is longer than this column can reach",
        ),
        (
            Axis(Domain.DOUBLE, 1),
            2**52,
            "'4503599627370496' cannot be used: it is longer than this column can reach",
        ),
    ],
)
def test_a_length_that_does_not_suit_the_column(axis: Axis, text: object, expected: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        axis.length("slide", length(text))
    assert str(caught.value) == f"slide={expected}"


def test_decimals_needed() -> None:
    assert decimals_needed(2, length(10), length("0.125"), None) == 3
    assert decimals_needed(4, length("0.125")) == 4
    assert decimals_needed(0, length("5 minutes"), None) == 0


# -- points ----------------------------------------------------------------------------------------


BERLIN = Axis(Domain.TIMESTAMP, zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("axis", "given_", "tick"),
    [
        (TIMESTAMP, "1970-01-02", DAY),
        (TIMESTAMP, "1970-01-01T01:00:00", HOUR),
        (TIMESTAMP, "1970-01-01 00:00:00.000001", 1),
        (TIMESTAMP, "1970-01-01T01:00:00+01:00", 0),
        (TIMESTAMP, "1970-01-01T00:00:00Z", 0),
        (TIMESTAMP, date(1970, 1, 2), DAY),
        (TIMESTAMP, datetime(1970, 1, 1, 1), HOUR),
        (BERLIN, "1970-01-01", -HOUR),
        (BERLIN, date(1970, 1, 1), -HOUR),
        (BERLIN, datetime(1970, 1, 1, tzinfo=UTC), 0),
        (BERLIN, "2026-07-01", (20_635 * 24 - 2) * HOUR),
        (NTZ, "1970-01-01 12:00", 12 * HOUR),
        (DATE, "1970-01-08", 7),
        (DATE, date(1970, 1, 8), 7),
        (DATE, datetime(1970, 1, 8), 7),
        (INTEGER, 5, 5),
        (INTEGER, "-5", -5),
        (INTEGER, 5.0, 5),
        (Axis(Domain.DECIMAL, 2), "1.25", 125),
        (Axis(Domain.DECIMAL, 2), Decimal("1.5"), 150),
        (Axis(Domain.DOUBLE, 1), 0.3, 3),
        (Axis(Domain.DOUBLE, 1), -0.3, -3),
    ],
)
def test_a_point_from_what_people_write(axis: Axis, given_: object, tick: int) -> None:
    assert axis.point("origin", given_) == tick


DAY_LIKE = "such as '2026-01-01'"


@pytest.mark.parametrize(
    ("axis", "given_", "expected"),
    [
        (
            TIMESTAMP,
            "noon",
            f"'noon' cannot be used: it must be a value of the timestamp column, {DAY_LIKE}",
        ),
        (TIMESTAMP, 5, f"5 cannot be used: it must be a value of the timestamp column, {DAY_LIKE}"),
        (
            NTZ,
            "1970-01-01T00:00:00Z",
            "'1970-01-01T00:00:00Z' cannot be used: "
            f"it must be a value of the timestamp_ntz column, {DAY_LIKE}",
        ),
        (
            DATE,
            "1970-01-01T12:00",
            f"'1970-01-01T12:00' cannot be used: it must be a value of the date column, {DAY_LIKE}",
        ),
        (INTEGER, 0.5, "0.5 cannot be used: it must be a value of the integer column, such as 0"),
        (INTEGER, True, "True cannot be used: it must be a value of the integer column, such as 0"),
        (
            INTEGER,
            date(1970, 1, 1),
            "datetime.date(1970, 1, 1) cannot be used: "
            "it must be a value of the integer column, such as 0",
        ),
        (
            Axis(Domain.DECIMAL, 1),
            "0.25",
            "'0.25' cannot be used: it must be a value of the decimal column, such as 0",
        ),
        (
            Axis(Domain.DOUBLE, 1),
            math.inf,
            "inf cannot be used: it must be a value of the double column, such as 0",
        ),
        (
            Axis(Domain.DOUBLE, 1),
            math.nan,
            "nan cannot be used: it must be a value of the double column, such as 0",
        ),
        (
            Axis(Domain.DOUBLE, 23),
            "1e-23",
            "'1e-23' cannot be used: it must be a value of the double column, such as 0",
        ),
        (
            INTEGER,
            2**62,
            "4611686018427387904 cannot be used: it is farther out than this column can reach",
        ),
        (
            INTEGER,
            -(2**62),
            "-4611686018427387904 cannot be used: it is farther out than this column can reach",
        ),
    ],
)
def test_a_point_that_is_none(axis: Axis, given_: object, expected: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        axis.point("origin", given_)
    assert str(caught.value) == f"origin={expected}"


# -- days and time zones ---------------------------------------------------------------------------


#   Berlin's day starts at 23:00 UTC the day before:
#
#   UTC      00:00                   00:00
#             |                       |
#   Berlin  |                       |
#          00:00                   00:00
@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("UTC", 0),
        ("Z", 0),
        ("Europe/Berlin", -1),
        ("America/Los_Angeles", 8),
        ("Asia/Tokyo", -9),
        ("+02:00", -2),
        ("-08:00", 8),
        ("+5", -5),
        ("-0830", 8.5),
        ("GMT+2", -2),
        ("UTC-03:30", 3.5),
    ],
)
def test_days_begin_at_midnight_of_the_zone(zone: str, hours: float) -> None:
    axis = Axis(Domain.TIMESTAMP, zone=zone)
    assert axis.default_origin(DAY) == int(hours * HOUR)
    assert axis.default_origin(7 * DAY) == int(hours * HOUR)
    assert axis.default_origin(HOUR) == 0
    assert axis.default_origin(36 * HOUR) == 0


def test_a_zone_east_by_seconds() -> None:
    # Until 1972, the clock of Monrovia was 44 minutes and 30 seconds slower than UTC.
    axis = Axis(Domain.TIMESTAMP, zone="Africa/Monrovia")
    assert axis.default_origin(DAY) == (44 * 60 + 30) * 1_000_000


@pytest.mark.parametrize("zone", ["Mars/Olympus", "+25:00", "", "../../etc/passwd"])
def test_a_zone_that_does_not_exist(zone: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Axis(Domain.TIMESTAMP, zone=zone).default_origin(DAY)
    assert str(caught.value) == (
        f"spark.sql.session.timeZone={zone!r} cannot be used: "
        "it must be a region such as 'Europe/Berlin' or an offset such as '+02:00'"
    )


@pytest.mark.parametrize("axis", [NTZ, DATE, INTEGER, Axis(Domain.DOUBLE, 2)])
def test_other_domains_are_anchored_at_zero(axis: Axis) -> None:
    for ticks in (1, 7, DAY, 7 * DAY):
        assert axis.default_origin(ticks) == 0


@given(st.integers(0, 22), st.text("0123456789", min_size=1, max_size=12), st.integers(0, 11))
def test_a_point_on_a_double_axis_is_the_tick_of_the_double(
    digits: int, text: str, point: int
) -> None:
    written = f"{text[:point] or '0'}.{text[point:] or '0'}"
    exact = Fraction(written) * 10**digits
    assume(exact.denominator == 1 and exact < DOUBLE_TICK_LIMIT)
    axis = Axis(Domain.DOUBLE, digits)
    assert axis.point("origin", written) == exact == axis.tick(float(written))


def test_which_domains_are_time() -> None:
    assert [domain.value for domain in Domain if domain.temporal] == [
        "timestamp",
        "timestamp_ntz",
        "date",
    ]


@pytest.mark.parametrize(
    ("axis", "told", "tick"),
    [
        (Axis(Domain.INTEGER), "7.9", 7),
        (Axis(Domain.INTEGER), "-7.1", -8),
        (Axis(Domain.DECIMAL, 2), "0.129", 12),
        (Axis(Domain.DOUBLE, 1), "0.3", 3),
        (Axis(Domain.INTEGER), "1e39", TICK_LIMIT),
        (Axis(Domain.INTEGER), "-1e999999999", -TICK_LIMIT),
        (Axis(Domain.DOUBLE), "1e999999999", DOUBLE_TICK_LIMIT),
        (Axis(Domain.DECIMAL, 38), "1e-999999999", 0),
        (Axis(Domain.DECIMAL, 38), "-1e-999999999", -1),
        (Axis(Domain.INTEGER), "0e999999999", 0),
    ],
)
def test_a_punctuation_is_the_tick_below_it(axis: Axis, told: str, tick: int) -> None:
    assert axis.floor("punctuation", told) == tick


@pytest.mark.parametrize("told", ["NaN", "-Infinity", "sNaN", "soon", "", None])
def test_a_punctuation_on_numbers_is_finite(told: str | None) -> None:
    with pytest.raises(ArgumentError, match=r"punctuation=.* it must be a finite number"):
        Axis(Domain.INTEGER).floor("punctuation", told)
