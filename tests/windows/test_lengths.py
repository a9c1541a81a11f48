from __future__ import annotations

from datetime import timedelta
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import ArgumentError, MuntinError
from muntin.specs.lengths import Duration, Length, Number, parse_length, positive_length

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY


@pytest.mark.parametrize(
    ("unit", "micros"),
    [
        ("us", 1),
        ("microsecond", 1),
        ("ms", 1_000),
        ("millisecond", 1_000),
        ("s", SECOND),
        ("sec", SECOND),
        ("second", SECOND),
        ("min", MINUTE),
        ("minute", MINUTE),
        ("h", HOUR),
        ("hour", HOUR),
        ("d", DAY),
        ("day", DAY),
        ("w", WEEK),
        ("week", WEEK),
    ],
)
def test_units(unit: str, micros: int) -> None:
    assert parse_length("range", f"3 {unit}") == Duration(3 * micros)
    assert parse_length("range", f"3 {unit}s") == Duration(3 * micros)
    assert parse_length("range", f"3{unit}") == Duration(3 * micros)
    assert parse_length("range", f" 3  {unit.upper()} ") == Duration(3 * micros)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1 hour 30 minutes", 90 * MINUTE),
        ("1h30min", 90 * MINUTE),
        ("1 week 2 days 3 hours 4 minutes 5 seconds 6 ms 7 us", 788_645_006_007),
        ("1 hour 1 hour", 2 * HOUR),
        ("1 hour -30 minutes", 30 * MINUTE),
        ("+5 minutes", 5 * MINUTE),
        ("1.5 hours", 90 * MINUTE),
        ("0.000001 seconds", 1),
        ("0.5 ms", 500),
        ("INTERVAL 5 MINUTES", 5 * MINUTE),
        ("interval '5' minute", 5 * MINUTE),
        ("INTERVAL '1 hour 30 minutes'", 90 * MINUTE),
        ("interval 1 day", DAY),
        ("123456789012345678901234567890 us", 123456789012345678901234567890),
    ],
)
def test_durations_in_words(text: str, micros: int) -> None:
    assert parse_length("range", text) == Duration(micros)


@pytest.mark.parametrize(
    ("given_", "micros"),
    [
        (timedelta(minutes=5), 5 * MINUTE),
        (timedelta(days=1, seconds=2, microseconds=3), DAY + 2 * SECOND + 3),
        (timedelta(microseconds=-1), -1),
        (timedelta(0), 0),
        (timedelta.max, (999_999_999 + 1) * DAY - 1),
    ],
)
def test_timedelta(given_: timedelta, micros: int) -> None:
    assert parse_length("slide", given_) == Duration(micros)


@pytest.mark.parametrize(
    ("given_", "value", "digits"),
    [
        (10, "10", 0),
        (0, "0", 0),
        (-3, "-3", 0),
        (0.3, "0.3", 1),
        (0.1 + 0.2, "0.30000000000000004", 17),
        (1e-7, "0.0000001", 7),
        (5e20, "500000000000000000000", 0),
        (2.0, "2", 0),
        ("10", "10", 0),
        (" 0.50 ", "0.5", 1),
        ("1e3", "1000", 0),
        (Decimal("0.30"), "0.3", 1),
        (Decimal("1200"), "1200", 0),
    ],
)
def test_numbers_are_exact_decimals(given_: object, value: str, digits: int) -> None:
    number = parse_length("range", given_)
    assert isinstance(number, Number)
    assert number.value == Decimal(value)
    assert number.digits == digits
    assert str(number) == value


def test_a_length_is_taken_as_it_is() -> None:
    minutes, half = Duration(MINUTE), Number(Decimal("0.5"))
    assert parse_length("range", minutes) is minutes
    assert parse_length("range", half) is half


def test_the_callers_decimal_context_changes_nothing() -> None:
    with localcontext() as context:
        context.prec = 3
        number = parse_length("range", "0.12345678")
        assert isinstance(number, Number)
        assert (number.digits, str(number)) == (8, "0.12345678")
        assert parse_length("range", "12345.678901 seconds") == Duration(12_345_678_901)


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (1, "1 microsecond"),
        (1_500, "1500 microseconds"),
        (2_000, "2 milliseconds"),
        (SECOND, "1 second"),
        (90 * SECOND, "90 seconds"),
        (5 * MINUTE, "5 minutes"),
        (90 * MINUTE, "90 minutes"),
        (24 * HOUR, "1 day"),
        (36 * HOUR, "36 hours"),
        (7 * DAY, "1 week"),
        (8 * DAY, "8 days"),
    ],
)
def test_a_duration_shows_itself_in_its_largest_unit(micros: int, shown: str) -> None:
    assert str(Duration(micros)) == shown


def test_whole_days() -> None:
    assert Duration(DAY).whole_days
    assert Duration(3 * WEEK).whole_days
    assert not Duration(DAY + 1).whole_days
    assert not Duration(36 * HOUR).whole_days


EXPECTED = "a length is a duration such as '5 minutes' or a number such as 10 or '0.5'"


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ("", f"range='' cannot be used: {EXPECTED}"),
        ("interval", f"range='interval' cannot be used: {EXPECTED}"),
        ("minutes", f"range='minutes' cannot be used: {EXPECTED}"),
        ("five minutes", f"range='five minutes' cannot be used: {EXPECTED}"),
        ("5 minutes and 3 seconds", f"range='5 minutes and 3 seconds' cannot be used: {EXPECTED}"),
        ("1 day 2", f"range='1 day 2' cannot be used: {EXPECTED}"),
        ("1,5 hours", f"range='1,5 hours' cannot be used: {EXPECTED}"),
        (None, f"range=None cannot be used: {EXPECTED}"),
        (True, f"range=True cannot be used: {EXPECTED}"),
        ([5], f"range=[5] cannot be used: {EXPECTED}"),
        (float("nan"), "range=nan cannot be used: a length must be finite"),
        (float("inf"), "range=inf cannot be used: a length must be finite"),
        ("-Infinity", "range='-Infinity' cannot be used: a length must be finite"),
        (Decimal("sNaN"), "range=Decimal('sNaN') cannot be used: a length must be finite"),
        (
            "5 parsecs",
            "range='5 parsecs' cannot be used: 'parsecs' is not a unit; the units are "
            "microseconds, milliseconds, seconds, minutes, hours, days, weeks",
        ),
        (
            "0.5 us",
            "range='0.5 us' cannot be used: it is finer than a microsecond, Spark's resolution",
        ),
        (
            "1.0000000000000000000000000000001 days",
            "range='1.0000000000000000000000000000001 days' cannot be used: "
            "it is finer than a microsecond, Spark's resolution",
        ),
        (1e-300, "range=1e-300 cannot be used: a column holds at most 38 digits"),
        ("1e38", "range='1e38' cannot be used: a column holds at most 38 digits"),
        ("1e9999999", "range='1e9999999' cannot be used: a column holds at most 38 digits"),
    ],
)
def test_what_is_no_length(given_: object, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_length("range", given_)
    assert str(caught.value) == message
    assert caught.value.argument == "range"
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("unit", ["month", "months", "quarter", "year", "YEARS", "decade"])
def test_calendar_units_have_no_fixed_length(unit: str) -> None:
    singular = unit.lower().removesuffix("s")
    with pytest.raises(ArgumentError) as caught:
        parse_length("slide", f"1 {unit}")
    assert str(caught.value) == (
        f"slide='1 {unit}' cannot be used: a {singular} has no fixed length; "
        "use days or weeks, such as '30 days'"
    )


@pytest.mark.parametrize(
    "given_", [0, "0", -1, "0 seconds", "-5 minutes", timedelta(0), 0.0, "-0.5", Duration(-1)]
)
def test_ranges_and_slides_are_above_zero(given_: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        positive_length("range", given_)
    assert str(caught.value) == (
        f"range={given_!r} cannot be used: it must be longer than zero, such as '5 minutes' or 10"
    )


def test_signs() -> None:
    for positive in (Duration(1), Number(Decimal("0.1"))):
        assert positive.positive and not positive.negative
        assert positive_length("range", positive) is positive
    for zero in (Duration(0), Number(Decimal(0))):
        assert not zero.positive and not zero.negative
    for negative in (Duration(-1), Number(Decimal("-0.1"))):
        assert negative.negative and not negative.positive


@given(st.integers(-(10**20), 10**20))
def test_a_duration_reads_what_it_shows(micros: int) -> None:
    assert parse_length("range", str(Duration(micros))) == Duration(micros)


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_a_number_reads_what_it_shows(unscaled: int, digits: int) -> None:
    value = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -digits))
    number = parse_length("range", value)
    assert isinstance(number, Number)
    again = parse_length("range", str(number))
    assert isinstance(again, Number)
    assert again.value == value
    assert Fraction(value) * 10**number.digits == int(Fraction(value) * 10**number.digits)
    assert number.digits == 0 or Fraction(value) * 10 ** (number.digits - 1) % 1 != 0


@given(st.floats(1e-20, 1e20, allow_nan=False))
def test_a_float_means_the_decimal_it_shows(value: float) -> None:
    number = parse_length("range", value)
    assert isinstance(number, Number)
    assert float(number.value) == value


@given(
    st.one_of(
        st.text(max_size=20),
        st.from_regex(r"[+-]?\d{0,3}(\.\d{0,40})?([eE][+-]?\d{1,8})?", fullmatch=True),
        st.from_regex(r"(interval )?'?(\d{1,25}(\.\d{1,4})? ?[a-z]{1,6} ?){1,3}'?", fullmatch=True),
        st.floats(),
        st.decimals(),
        st.timedeltas(),
    )
)
def test_anything_is_a_length_or_an_error_of_ours(given_: object) -> None:
    try:
        length: Length = parse_length("range", given_)
    except MuntinError as error:
        assert str(error).startswith(f"range={given_!r} cannot be used: ")
    else:
        assert parse_length("range", str(length)) == length
        assert length.positive + length.negative <= 1
