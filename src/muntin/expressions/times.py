"""Arithmetic on columns of times: differences of times, and sums of times and intervals.

As in Spark, timestamps are read on the clocks of the session's zone: from noon to the noon of the
day on which clocks change there are 24 hours, and a day after noon is noon.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.values import ComparableValues, Numbers, Value, validity
from muntin.kernels.arrays import Ints
from muntin.specs.axis import Axis, Domain

_DAY = 24 * 3600 * 10**6
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
        return _column(
            _clock(left.column, zone) - _clock(right.column, zone), left, right, _INTERVAL
        )
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
    apart = _clock(end.column, zone) - _clock(start.column, zone)
    return Numbers(np.sign(apart) * (np.abs(apart) // unit), validity(start) & validity(end), 0)


def dated(value: Value, zone: str) -> ComparableValues:
    """Return the day of a time."""
    assert isinstance(value, ComparableValues)  # checked before
    days = _clock(value.column, zone) // _DAY
    return _column(days, value, value, pa.date32())


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


def _clock(column: pa.Array, zone: str) -> Ints:
    """Return what clocks show, in microseconds since they showed 1970; intervals stay the same."""
    values = _numbers(column)
    if pa.types.is_date(column.type):
        return values * _DAY
    zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    return values + _ahead(values, zone) if zoned else values


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
    return ahead
