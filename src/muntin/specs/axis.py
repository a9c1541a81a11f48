"""The progressing attribute as a line of whole ticks.

Windows are defined over any ordered attribute. To compute with them exactly, every attribute is
laid out on integers: microseconds for timestamps, days for dates, units of the last decimal that
the column or the lengths use for numbers. Window arithmetic then is integer arithmetic.

A double column compares with the double nearest to the exact decimal edge, so that 0.3 lies in
``[0.3, 0.6)`` although the binary 0.3 is a little less than three tenths.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.specs.lengths import Duration, Length, Number

#: A point as users give it: a number, a time, or a text such as ``"2026-01-01 08:00:00"``.
PointLike = str | int | float | Decimal | date
#: Ticks beyond this are refused: the sum of a tick and a range must fit 64 bits.
TICK_LIMIT = 2**62
#: The same for dates, which are 32-bit days.
DATE_TICK_LIMIT = 2**30
#: Up to here neighbouring ticks are different doubles, whatever the decimals: ticks are 1/tick of
#: their value apart, and doubles at most 1/2**52.
DOUBLE_TICK_LIMIT = 2**52
#: 10**22 is the largest power of ten that is a double, so edges divide exactly up to here.
DOUBLE_DIGITS = 22

#: More than any axis has, before or after the decimal point.
_DIGITS = 40
_DAY = timedelta(days=1) // timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{2}))?")


class Domain(StrEnum):
    """The kinds of column that can progress."""

    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    DATE = "date"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"

    @property
    def temporal(self) -> bool:
        return self in (Domain.TIMESTAMP, Domain.TIMESTAMP_NTZ, Domain.DATE)


@dataclass(frozen=True)
class Axis:
    """A progressing attribute laid out on integers.

    ``digits`` is the number of decimals of a tick (decimal and double columns only), and
    ``zone`` the time zone in which days begin (timestamp columns only).
    """

    domain: Domain
    digits: int = 0
    zone: str = "UTC"

    @property
    def limit(self) -> int:
        """The largest tick, either side of zero, that this axis computes with."""
        match self.domain:
            case Domain.DATE:
                return DATE_TICK_LIMIT
            case Domain.DOUBLE:
                return DOUBLE_TICK_LIMIT
            case _:
                return TICK_LIMIT

    def length(self, argument: str, length: Length) -> int:
        """Return a length in ticks; raise if a column of this type cannot have it."""
        if self.domain.temporal:
            if not isinstance(length, Duration):
                raise ArgumentError(
                    argument, str(length), f"on a {self.domain} column it needs a unit: '5 minutes'"
                )
            ticks = length.micros
            if self.domain is Domain.DATE:
                if not length.whole_days:
                    raise ArgumentError(
                        argument, str(length), "a date column moves in whole days, such as '7 days'"
                    )
                ticks //= _DAY
        else:
            if not isinstance(length, Number):
                raise ArgumentError(
                    argument,
                    str(length),
                    f"on a number column ({self.domain}) it is a plain number: 10",
                )
            if self.domain is Domain.INTEGER and length.digits:
                raise ArgumentError(
                    argument,
                    str(length),
                    "on an integer column it is a whole number; cast the column to decimal "
                    "for finer ones",
                )
            if self.domain is Domain.DOUBLE and length.digits > DOUBLE_DIGITS:
                raise ArgumentError(
                    argument,
                    str(length),
                    f"on a double column it has at most {DOUBLE_DIGITS} decimals",
                )
            ticks = int(Fraction(length.value) * 10**self.digits)
        if ticks >= self.limit:
            raise ArgumentError(argument, str(length), "it is longer than this column can reach")
        return ticks

    def default_origin(self, length: int) -> int:
        """Return the tick where windows are anchored when no origin is given.

        This is the Unix epoch or zero. For lengths of whole days on timestamps with a zone it is
        the epoch's midnight in the session's time zone. A day is 24 hours, so in a zone with summer
        time days begin an hour later in summer. On a column without a zone they begin at midnight
        all year.
        """
        if self.domain is Domain.TIMESTAMP and length % _DAY == 0:
            midnight = _EPOCH.replace(tzinfo=self.time_zone)
            return (midnight - _EPOCH_UTC) // timedelta(microseconds=1)
        return 0

    def point(self, argument: str, given: object) -> int:
        """Return the tick of a point (an origin, a punctuation) that a user wrote."""
        try:
            ticks = self._point(given)
        except (TypeError, ValueError, ArithmeticError):
            example = "'2026-01-01'" if self.domain.temporal else "0"
            raise ArgumentError(
                argument,
                given,
                f"it must be a value of the {self.domain} column, such as {example}",
            ) from None
        if abs(ticks) >= self.limit:
            raise ArgumentError(argument, given, "it is farther out than this column can reach")
        return ticks

    def floor(self, argument: str, given: object) -> int:
        """Return the largest tick not above a point; a punctuation completes windows up to it."""
        if self.domain.temporal:
            return self.point(argument, given)
        try:
            number = Decimal(str(given))
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise ArgumentError(argument, given, "it must be a finite number")
        if number and number.adjusted() > _DIGITS:  # as a Fraction it could fill the memory
            return -self.limit if number < 0 else self.limit
        if number and number.adjusted() < -2 * _DIGITS:
            number = Decimal(1).scaleb(-2 * _DIGITS).copy_sign(number)
        exact = Fraction(number)
        tick = self.tick(float(exact)) if self.domain is Domain.DOUBLE else None
        tick = math.floor(exact * 10**self.digits) if tick is None else tick
        return max(-self.limit, min(self.limit, tick))

    def _point(self, point: object) -> int:
        if isinstance(point, str) and self.domain.temporal:
            point = datetime.fromisoformat(point)
        if isinstance(point, datetime):
            return self._instant(point)
        if isinstance(point, date):
            return self._instant(datetime(point.year, point.month, point.day))
        if self.domain.temporal or isinstance(point, bool):
            raise TypeError(point)
        number = Decimal(repr(point) if isinstance(point, float) else str(point))
        if number and abs(number.adjusted()) > 2 * _DIGITS:  # as a Fraction it could fill memory
            raise ValueError(point)
        scaled = Fraction(number) * Fraction(10**self.digits)
        if scaled.denominator != 1 or (
            self.domain is Domain.DOUBLE and self.digits > DOUBLE_DIGITS
        ):
            raise ValueError(point)
        return scaled.numerator

    def _instant(self, moment: datetime) -> int:
        if self.domain is Domain.TIMESTAMP:
            aware = moment if moment.tzinfo else moment.replace(tzinfo=self.time_zone)
            return (aware - _EPOCH_UTC) // timedelta(microseconds=1)
        if moment.tzinfo is not None or not self.domain.temporal:
            raise ValueError(moment)
        micros = (moment - _EPOCH) // timedelta(microseconds=1)
        if self.domain is Domain.TIMESTAMP_NTZ:
            return micros
        days, rest = divmod(micros, _DAY)
        if rest:
            raise ValueError(moment)
        return days

    @property
    def time_zone(self) -> tzinfo:
        """The time zone, given as a region or as an offset; Spark takes both."""
        offset = _OFFSET.fullmatch(self.zone)
        try:
            if offset is None:
                return UTC if self.zone == "Z" else ZoneInfo(self.zone)
            sign, hours, minutes, seconds = offset.groups(default="0")
            distance = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
            return timezone(-distance if sign == "-" else distance)
        except (ZoneInfoNotFoundError, ValueError):
            raise ArgumentError(
                "spark.sql.session.timeZone",
                self.zone,
                "it must be a region such as 'Europe/Berlin' or an offset such as '+02:00'",
            ) from None

    @property
    def fixed_offset(self) -> int | None:
        """The zone's distance ahead of UTC in microseconds; None if its clocks may change."""
        offset = None if isinstance(self.time_zone, ZoneInfo) else self.time_zone.utcoffset(None)
        return None if offset is None else offset // timedelta(microseconds=1)

    def value(self, tick: int) -> datetime | date | int | Decimal | float:
        """Return the column's value at a tick; on a double column the nearest double."""
        match self.domain:
            case Domain.TIMESTAMP:
                return _EPOCH_UTC + timedelta(microseconds=tick)
            case Domain.TIMESTAMP_NTZ:
                return _EPOCH + timedelta(microseconds=tick)
            case Domain.DATE:
                return _EPOCH.date() + timedelta(days=tick)
            case Domain.INTEGER:
                return tick
            case Domain.DECIMAL:
                # Built from digits, because Decimal arithmetic rounds as its context tells it to.
                return Decimal((int(tick < 0), Decimal(abs(tick)).as_tuple().digits, -self.digits))
            case Domain.DOUBLE:
                nearest: float = tick / 10**self.digits  # correctly rounded: both are integers
                return nearest

    def tick(self, value: object) -> int | None:
        """Return the tick of a value: the largest whose :meth:`value` does not exceed it.

        Return ``None`` for values without a place on the axis: null, NaN, infinities and values
        beyond :attr:`limit`.
        """
        if value is None:
            return None
        if isinstance(value, float):
            return self._double_tick(value)
        if isinstance(value, Decimal):
            # A Fraction, because Decimal arithmetic rounds at 28 digits and columns have 38.
            tick = math.floor(Fraction(value) * 10**self.digits)
        elif isinstance(value, int):
            tick = value * 10**self.digits
        elif isinstance(value, datetime):
            tick = self._instant(value)
        elif isinstance(value, date):
            tick = (value - _EPOCH.date()).days
        else:
            raise UnsupportedTypeError(f"{value!r} is not a value of a {self.domain} column")
        return tick if abs(tick) < self.limit else None

    def _double_tick(self, value: float) -> int | None:
        if not math.isfinite(value) or abs(value) * 10**self.digits >= self.limit:
            return None
        tick = math.floor(value * 10**self.digits)
        while (tick + 1) / 10**self.digits <= value:
            tick += 1
        while tick / 10**self.digits > value:
            tick -= 1
        return tick if abs(tick) < self.limit else None


def decimals_needed(scale: int, *lengths: Length | None) -> int:
    """Return the decimals of an axis on which the scale and every length are whole ticks."""
    return max([scale, *(length.digits for length in lengths if isinstance(length, Number))])
