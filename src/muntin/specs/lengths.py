"""Lengths along the progressing attribute: durations for time, exact decimals for numbers.

A length is read once, exactly. ``0.3`` means three tenths and not the binary fraction next to
it, because window edges are multiples of it (RANGE 0.3 SLIDE 0.1 must have three panes).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction

from muntin.errors import ArgumentError

_MICROSECONDS = {
    "microsecond": 1,
    "us": 1,
    "millisecond": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "sec": 1_000_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "h": 3_600_000_000,
    "day": 86_400_000_000,
    "d": 86_400_000_000,
    "week": 604_800_000_000,
    "w": 604_800_000_000,
}
_CALENDAR = {"month", "quarter", "year", "decade", "century"}
_DAY = _MICROSECONDS["day"]
#: The most digits a column can have, before or after the decimal point.
_COLUMN_DIGITS = 38
_LARGEST = 10**_COLUMN_DIGITS
#: Wide enough for every number that is accepted, whatever context the caller has set.
_EXACT = Context(prec=2 * _COLUMN_DIGITS)
#: The most characters of a length that is written as text.
_LONGEST_TEXT = 1000
_TERM = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")


@dataclass(frozen=True)
class Duration:
    """A length of time in whole microseconds."""

    micros: int

    @property
    def whole_days(self) -> bool:
        """True if it is a number of days, so that it aligns with midnight rather than UTC."""
        return self.micros % _DAY == 0

    @property
    def positive(self) -> bool:
        return self.micros > 0

    @property
    def negative(self) -> bool:
        return self.micros < 0

    def __str__(self) -> str:
        if not self.micros:
            return "0 seconds"
        units = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
        unit = next(unit for unit in units if self.micros % _MICROSECONDS[unit] == 0)
        count = self.micros // _MICROSECONDS[unit]
        return f"{count} {unit}{'' if abs(count) == 1 else 's'}"


@dataclass(frozen=True)
class Number:
    """A length on a number column, an exact decimal."""

    value: Decimal

    @property
    def digits(self) -> int:
        """The number of digits after the decimal point."""
        exponent = self.value.normalize(_EXACT).as_tuple().exponent
        assert isinstance(exponent, int)  # parse_length accepts only finite numbers
        return max(0, -exponent)

    @property
    def positive(self) -> bool:
        return self.value > 0

    @property
    def negative(self) -> bool:
        return self.value < 0

    def __str__(self) -> str:
        return f"{self.value.normalize(_EXACT):f}"


Length = Duration | Number
#: A length as users give it: ``"5 minutes"``, a timedelta, or a number such as 10 or ``"0.5"``.
LengthLike = str | int | float | Decimal | timedelta | Duration | Number


def parse_length(argument: str, given: object) -> Length:
    """Return the length that a user wrote as text, number or timedelta.

    >>> print(parse_length("range", "1 hour 30 minutes"))
    90 minutes
    >>> print(parse_length("range", 0.3))
    0.3
    """
    if isinstance(given, Duration | Number):
        return given
    if isinstance(given, timedelta):
        return Duration((given.days * 86_400 + given.seconds) * 1_000_000 + given.microseconds)
    if isinstance(given, bool):
        raise ArgumentError(argument, given, _EXPECTED)
    if isinstance(given, int) and abs(given) >= _LARGEST:  # Python does not write the largest
        raise ArgumentError(argument, given, _TOO_LONG)
    if isinstance(given, int | Decimal):
        return _number(argument, given, str(given))
    if isinstance(given, float):
        return _number(argument, given, repr(given))
    if isinstance(given, str):
        return _text(argument, given)
    raise ArgumentError(argument, given, _EXPECTED)


def positive_length(argument: str, given: object) -> Length:
    """Return a length above zero, as ranges and slides must be."""
    length = parse_length(argument, given)
    if not length.positive:
        raise ArgumentError(
            argument, given, "it must be longer than zero, such as '5 minutes' or 10"
        )
    return length


_TOO_LONG = f"a column holds at most {_COLUMN_DIGITS} digits"
_EXPECTED = "a length is a duration such as '5 minutes' or a number such as 10 or '0.5'"


def _number(argument: str, original: object, text: str) -> Number:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ArgumentError(argument, original, _EXPECTED) from None
    if not value.is_finite():
        raise ArgumentError(argument, original, "a length must be finite")
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)  # it is finite
    if value.adjusted() >= _COLUMN_DIGITS or exponent < -_COLUMN_DIGITS:
        raise ArgumentError(argument, original, _TOO_LONG)
    return Number(value)


def _text(argument: str, original: str) -> Length:
    text = re.sub(r"^\s*interval\b", "", original, flags=re.IGNORECASE).replace("'", " ").strip()
    if len(text) > _LONGEST_TEXT:  # searching for terms takes the square of it
        raise ArgumentError(argument, original, _TOO_LONG)
    terms = _TERM.findall(text)
    if not terms or _TERM.sub("", text):
        return _number(argument, original, text)
    return Duration(sum(_micros(argument, original, amount, unit) for amount, unit in terms))


def _micros(argument: str, original: str, amount: str, unit: str) -> int:
    name = unit.lower()
    singular = name if name in _MICROSECONDS else name.removesuffix("s")
    if singular in _CALENDAR:
        raise ArgumentError(
            argument,
            original,
            f"a {singular} has no fixed length; use days or weeks, such as '30 days'",
        )
    if singular not in _MICROSECONDS:
        known = "microseconds, milliseconds, seconds, minutes, hours, days, weeks"
        raise ArgumentError(argument, original, f"{unit!r} is not a unit; the units are {known}")
    if len(amount) > 2 * _COLUMN_DIGITS:
        raise ArgumentError(argument, original, _TOO_LONG)
    micros = Fraction(amount) * _MICROSECONDS[singular]
    if micros.denominator != 1:
        raise ArgumentError(
            argument, original, "it is finer than a microsecond, Spark's resolution"
        )
    return micros.numerator
