"""Calendar days, weeks and months: lengths that clocks and calendars make longer or shorter.

Windows of calendar units are ordinary windows over the numbers of the units: unit 0 is the one that
holds 1970-01-01. :class:`CalendarEdges` places these numbers on the axis of a column, at midnight
in a time zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.edges import Edges

CalendarUnit = Literal["day", "week", "month"]
#: Days of the least unit of each kind; a day in which clocks go forward is an hour shorter.
_LEAST_DAYS: dict[CalendarUnit, int] = {"day": 1, "week": 7, "month": 28}
DAY_MICROS = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()
#: The Monday of the week that holds 1970-01-01, in days since then.
_MONDAY = -3
#: The Gregorian calendar repeats itself after so many years, which are so many days.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
#: Python knows the clocks of these days; others are as far from UTC as the nearest of them.
_FIRST_DAY, _LAST_DAY = date(1, 1, 3).toordinal() - _EPOCH, date(9999, 12, 29).toordinal() - _EPOCH
_TEXT = re.compile(r"\s*(\d{1,6})\s+calendar\s+([a-z]+?)s?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class CalendarLength:
    """A number of calendar units.

    >>> print(calendar_length("length", "3 calendar months"))
    3 calendar months
    """

    count: int
    unit: CalendarUnit

    def __str__(self) -> str:
        return f"{self.count} calendar {self.unit}{'' if self.count == 1 else 's'}"


def calendar_length(argument: str, given: object) -> CalendarLength | None:
    """Return the calendar length that a text says; None if it does not speak of a calendar."""
    if isinstance(given, CalendarLength):
        return given
    if not isinstance(given, str) or "calendar" not in given.lower():
        return None
    terms = _TEXT.fullmatch(given)
    named = terms[2].lower() if terms else ""
    unit = next((known for known in _LEAST_DAYS if known == named), None)
    if terms is None or unit is None or int(terms[1]) < 1:
        raise ArgumentError(
            argument,
            given,
            "calendar lengths are '1 calendar day', '2 calendar weeks', '3 calendar months' and so "
            "on; a year is '12 calendar months'",
        )
    return CalendarLength(int(terms[1]), unit)


@dataclass(frozen=True)
class CalendarEdges(Edges):
    """Edges whose range, slide and origin count calendar units.

    ``axis`` is that of the column, and its zone is where units begin at midnight. Where clocks go
    forward over midnight, the unit begins with the first instant after it.
    """

    unit: CalendarUnit = field(kw_only=True)
    axis: Axis = field(kw_only=True)

    @property
    def ticks_per_unit(self) -> int:
        days = _LEAST_DAYS[self.unit]
        return days if self.axis.domain is Domain.DATE else days * DAY_MICROS

    @property
    def first_tick(self) -> int:
        return self.unit_start(self.origin)

    def end(self, wid: int) -> int:
        return self.unit_start(self._end_unit(wid))

    def start(self, wid: int) -> int:
        start = self._end_unit(wid) - self.range
        return self.unit_start(max(start, self.origin) if self.clipped else start)

    def _end_unit(self, wid: int) -> int:
        return self.origin + (wid + 1) * self.slide

    def pane(self, tick: int) -> int:
        return super().pane(self.unit_number(tick))

    def last_closed(self, punctuation: int) -> int:
        return super().last_closed(self.unit_number(punctuation))

    def unit_number(self, tick: int) -> int:
        """Return the number of the unit that holds a tick: the last that begins at or before it."""
        on_dates = self.axis.domain is Domain.DATE
        day = tick if on_dates else tick // DAY_MICROS
        if on_dates:
            return number_of_day(self.unit, day)
        number = number_of_day(self.unit, day + 1)  # no zone is a day from UTC
        while self.unit_start(number) > tick:
            number -= 1
        return number

    def unit_start(self, number: int) -> int:
        """Return the tick at which a unit begins."""
        day = day_of_number(self.unit, number)
        match self.axis.domain:
            case Domain.DATE:
                return day
            case Domain.TIMESTAMP:
                return _midnight(day, self.axis.time_zone)
        return day * DAY_MICROS


def number_of_day(unit: CalendarUnit, day: int) -> int:
    """Return the number of the unit that holds a day, counted from 1970-01-01."""
    match unit:
        case "day":
            return day
        case "week":
            return (day - _MONDAY) // 7
        case "month":
            cycles, rest = divmod(day, _CYCLE_DAYS)
            there = date.fromordinal(rest + _EPOCH)
            return (cycles * _CYCLE_YEARS + there.year - 1970) * 12 + there.month - 1


def day_of_number(unit: CalendarUnit, number: int) -> int:
    """Return the first day of a unit."""
    match unit:
        case "day":
            return number
        case "week":
            return number * 7 + _MONDAY
        case "month":
            years, month = divmod(number, 12)
            cycles, year = divmod(years, _CYCLE_YEARS)
            return cycles * _CYCLE_DAYS + date(1970 + year, month + 1, 1).toordinal() - _EPOCH


def _midnight(day: int, zone: tzinfo) -> int:
    """Return the first instant of a day in a time zone, in microseconds since the epoch."""
    known = min(max(day, _FIRST_DAY), _LAST_DAY)
    local = datetime.fromordinal(known + _EPOCH).replace(tzinfo=zone)
    instant = local.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
        instant = _first_after(local)
    micros = (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return micros + (day - known) * DAY_MICROS


def _first_after(missing: datetime) -> datetime:
    """Return the instant at which clocks go forward over a time that they do not show."""
    zone, one = missing.tzinfo, timedelta(microseconds=1)
    above = missing.astimezone(UTC)
    below = missing.replace(fold=1).astimezone(UTC)
    after = above.astimezone(zone).utcoffset()
    while above - below > one:
        middle = below + (above - below) // 2
        if middle.astimezone(zone).utcoffset() == after:
            above = middle
        else:
            below = middle
    return above
