"""Arithmetic on columns of times: differences of times, and sums of times and intervals.

As in Spark, timestamps are read on the clocks of the session's zone: from noon to the noon of the
day on which clocks change there are 24 hours, and a day after noon is noon.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.values import ComparableValues, Numbers, Value, validity
from muntin.kernels.arrays import Ints
from muntin.specs.axis import Axis, Domain

_SECOND = 10**6
_DAY = 24 * 3600 * _SECOND
_LENGTHS = {"SECOND": _SECOND, "MINUTE": 60 * _SECOND, "HOUR": 3600 * _SECOND, "DAY": _DAY}
_QUARTER = 15 * 60 * _SECOND  # clocks change at quarters of an hour
#: From here on Arrow does not know when clocks change: the start of 2037.
_LISTED = 2_114_380_800 * _SECOND
_LAST = 253_402_214_400  # seconds: the last day of the year 9999
_FIELDS = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "day": pc.day,
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
}
_INTERVAL = pa.duration("us")
#: The types of integers that times are stored as.
NUMBERS = {
    pa.date32(): pa.int32(),
    pa.timestamp("us"): pa.int64(),
    pa.timestamp("us", tz="UTC"): pa.int64(),
}


def arithmetic(
    sign: str, left: ComparableValues, right: ComparableValues, zone: str
) -> ComparableValues:
    """Add or subtract times and intervals; their types were checked before."""
    if left.column.type == _INTERVAL and right.column.type != _INTERVAL:
        left, right = right, left  # only an addition begins with an interval
    by = _numbers(right.column)
    if right.column.type != _INTERVAL:
        return _column(clock(left.column, zone) - clock(right.column, zone), left, right, _INTERVAL)
    by = by if sign == "+" else -by
    type_ = left.column.type
    if pa.types.is_date(type_):
        return _column(_numbers(left.column) + by // _DAY, left, right, type_)
    if type_ == pa.timestamp("us", tz="UTC"):
        days = (np.abs(by) // _DAY) * np.sign(by)
        moved = (
            _days_later(_numbers(left.column), days, zone) if days.any() else _numbers(left.column)
        )
        return _column(moved + (by - days * _DAY), left, right, type_)
    return _column(_numbers(left.column) + by, left, right, type_)


def elapsed(unit: int, start: Value, end: Value, zone: str) -> Numbers:
    """Return the number of whole units between two times, rounded towards zero."""
    assert isinstance(start, ComparableValues) and isinstance(
        end, ComparableValues
    )  # checked before
    apart = clock(end.column, zone) - clock(start.column, zone)
    return Numbers(np.sign(apart) * (np.abs(apart) // unit), validity(start) & validity(end), 0)


def as_time(value: ComparableValues, type_: pa.DataType, zone: str) -> ComparableValues:
    """Return a time as a date or as a timestamp of another type."""
    shown = clock(value.column, zone)
    if pa.types.is_date(type_):
        return _column(shown // _DAY, value, value, type_)
    if type_.tz is not None:
        shown = _moments(shown, zone)
    return _column(shown, value, value, type_)


def seconds(value: ComparableValues) -> Numbers:
    """Return the whole seconds since 1970 of timestamps."""
    return Numbers(_numbers(value.column) // _SECOND, validity(value), 0)


def clock_field(field: str, value: Value, zone: str) -> Numbers:
    """Return the year, month, day, hour, minute or second that clocks show."""
    assert isinstance(value, ComparableValues)  # checked before
    shown = pa.array(clock(value.column, zone), pa.timestamp("us"))
    numbers = _FIELDS[field](shown).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return Numbers(numbers, validity(value), 0)


def truncated(unit: str, value: Value, zone: str) -> ComparableValues:
    """Return the beginning of the year, ..., second in which clocks show a time."""
    assert isinstance(value, ComparableValues)  # checked before
    moments, shown = _numbers(value.column), clock(value.column, zone)
    if unit in _LENGTHS:
        ahead = shown - moments
        # As in Spark, hours and days are those of the clocks, shorter units those of the moment.
        length = _LENGTHS[unit]
        start = shown - shown % length
        if unit == "DAY":
            start = _moments(start, zone) if value.column.type.tz else start
        else:
            start = start - ahead
    else:
        days = pc.floor_temporal(pa.array(shown, pa.timestamp("us")), unit=unit.lower())
        start = days.cast(pa.int64()).to_numpy(zero_copy_only=False)
        start = _moments(start, zone) if value.column.type.tz else start
    return _column(start, value, value, value.column.type)


def _column(
    values: Ints, left: ComparableValues, right: ComparableValues, type_: pa.DataType
) -> ComparableValues:
    valid = np.broadcast_to(validity(left) & validity(right), values.shape)
    stored = pa.array(np.where(valid, values, 0), pa.int64()).cast(NUMBERS.get(type_, pa.int64()))
    whole = pc.if_else(pa.array(valid), stored, pa.scalar(None, stored.type))
    return ComparableValues(whole.cast(type_))


def _numbers(column: pa.Array) -> Ints:
    stored = column.cast(NUMBERS.get(column.type, pa.int64())).cast(pa.int64())
    numbers: Ints = stored.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def clock(column: pa.Array, zone: str) -> Ints:
    """Return what clocks show, in microseconds since they showed 1970; intervals stay the same."""
    values = _numbers(column)
    if pa.types.is_date(column.type):
        return values * _DAY
    zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    return values + _ahead(values, zone) if zoned else values


def _moments(shown: Ints, zone: str) -> Ints:
    """Return when clocks show some times; the first moment if they show a time twice.

    If clocks skip a time, the moment is later by the skipped time.
    """
    before, after = _ahead(shown - _DAY, zone), _ahead(shown + _DAY, zone)
    if np.array_equal(before, after):
        return shown - before
    exists_before = _ahead(shown - before, zone) == before
    exists_after = _ahead(shown - after, zone) == after
    return shown - np.where(exists_before | ~exists_after, before, after)


def _days_later(moments: Ints, days: Ints, zone: str) -> Ints:
    """Return the same time of day a number of ``days`` later.

    If clocks skip this time, the result is later by the skipped time. If clocks show it twice, the
    result is the one with the same offset from UTC as before.
    """
    ahead = _ahead(moments, zone)
    shown = moments + ahead + days * _DAY
    first = _ahead(shown - ahead, zone)
    other = _ahead(shown - first, zone)
    skipped = (first != ahead) & (other != first)
    offset = np.where(first == ahead, ahead, np.where(skipped, np.minimum(first, other), first))
    return shown - offset


def _ahead(moments: Ints, zone: str) -> Ints:
    """Return how far clocks are ahead of UTC at some moments."""
    fixed = Axis(Domain.TIMESTAMP, zone=zone).fixed_offset
    if fixed is not None:
        return np.full_like(moments, fixed)
    column = pa.array(moments, pa.timestamp("us", tz=zone))
    shown = pc.local_timestamp(column).cast(pa.int64()).to_numpy(zero_copy_only=False)
    ahead: Ints = shown - moments
    late = moments >= _LISTED
    if late.any():
        ahead[late] = _ahead_by_rule(moments[late], zone)
    return ahead


def _ahead_by_rule(moments: Ints, zone: str) -> Ints:
    """Return how far clocks are ahead after the years for which Arrow knows their changes."""
    clocks = ZoneInfo(zone)
    quarters, place = np.unique(moments // _QUARTER, return_inverse=True)
    seconds = [
        datetime.fromtimestamp(min(quarter * 900, _LAST), clocks).utcoffset()
        for quarter in quarters.tolist()
    ]
    ahead = np.array([(offset or timedelta()) // timedelta(microseconds=1) for offset in seconds])
    result: Ints = ahead.astype(np.int64)[place]
    return result
