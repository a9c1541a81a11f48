"""Row groups without a row that meets a condition, found by their statistics.

A limit is a comparison of a column with a constant that a condition demands of every row. Only
limits are taken on which the statistics of Parquet and Spark agree: a null meets none, and a NaN,
which statistics leave out, is above every number in Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from muntin.expressions.nodes import (
    COMPARISONS,
    All,
    Comparison,
    Constant,
    Node,
    Slot,
    Text,
    TimeConstant,
)
from muntin.expressions.row_expression import RowExpression

_EPOCH = date(1970, 1, 1).toordinal()
#: A NaN meets neither of these with a number.
_NOT_MET_BY_NAN = ("<", "<=", "=")
_MICROS = {"milliseconds": 1000, "microseconds": 1}
#: A value as statistics have it: a number, ticks, or the bytes of a text.
Comparable = int | float | Decimal | bytes


@dataclass(frozen=True)
class ColumnLimit:
    """``column sign value``, which every row must meet."""

    column: str
    sign: str
    value: Comparable

    def is_met(self, lowest: Comparable, highest: Comparable) -> bool:
        """Return whether a value from ``lowest`` to ``highest`` can meet the limit."""
        value = self.value
        match self.sign:
            case "<":
                return lowest < value  # type: ignore[operator]  # all of one column's type
            case "<=":
                return lowest <= value  # type: ignore[operator]
            case ">":
                return highest > value  # type: ignore[operator]
            case ">=":
                return highest >= value  # type: ignore[operator]
        return lowest <= value <= highest  # type: ignore[operator]


def limits_of(conditions: Sequence[RowExpression]) -> tuple[ColumnLimit, ...]:
    """Return the limits that conditions demand of every row."""
    return tuple(limit for one in conditions for limit in _limits(one.node, one))


def _limits(node: Node, condition: RowExpression) -> Iterator[ColumnLimit]:
    match node:
        case All(operands):
            for operand in operands:
                yield from _limits(operand, condition)
        case Comparison(sign, Slot(place), other):
            yield from _limit(condition, place, sign, other)
        case Comparison(sign, other, Slot(place)):
            yield from _limit(condition, place, COMPARISONS[sign], other)


def _limit(condition: RowExpression, place: int, sign: str, other: Node) -> Iterator[ColumnLimit]:
    path, type_ = condition.paths[place], condition.types[place]
    value = _constant(other, type_)
    if value is None or len(path) > 1 or sign not in ("<", "<=", "=", ">=", ">"):
        return
    if not pa.types.is_float64(type_) or sign in _NOT_MET_BY_NAN:
        yield ColumnLimit(path[0], sign, value)


def _constant(node: Node, type_: pa.DataType) -> Comparable | None:
    """Return a constant as the statistics of a column of some type have it."""
    match node:
        case Constant(Decimal() as value) if pa.types.is_integer(type_):
            return value
        case Constant(value) if pa.types.is_float64(type_):
            number = float(value)
            return number if number == number else None
        case Text(text) if pa.types.is_string(type_):
            return text.encode()
        case TimeConstant(ticks, constant) if constant == type_:
            return ticks
    return None


def may_meet(limits: Sequence[ColumnLimit], column: str, value: object) -> bool:
    """Return whether rows meet the limits of a column that has one value in all of them."""
    own = [limit for limit in limits if limit.column == column]
    if value is None:
        return not own
    known = _comparable(value)
    return known is None or all(limit.is_met(known, known) for limit in own)


def _comparable(value: object) -> Comparable | None:
    """Return the value of a folder as statistics would have it."""
    match value:
        case bool() | datetime():
            return None
        case int() | float():
            return value
        case str():
            return value.encode()
        case date():
            return value.toordinal() - _EPOCH
    return None


def may_have(limits: Sequence[ColumnLimit], found: pq.ColumnChunkMetaData, rows: int) -> bool:
    """Return whether a row group may have a row that meets the limits, all of one column."""
    known = found.statistics
    if known is None or not limits:
        return True
    if known.has_null_count and known.null_count == rows:
        return False
    if not known.has_min_max:
        return True
    lowest, highest = _in_ticks(known, known.min_raw), _in_ticks(known, known.max_raw)
    if lowest is None or highest is None:
        return True
    return all(limit.is_met(lowest, highest) for limit in limits)


def _in_ticks(statistics: pq.Statistics, value: object) -> Comparable | None:
    """Return a value of statistics; None if it is of a kind that is not compared."""
    logical = json.loads(statistics.logical_type.to_json())
    match logical["Type"], statistics.physical_type, value:
        case "Timestamp", "INT64", int(ticks) if logical["timeUnit"] in _MICROS:
            return ticks * _MICROS[logical["timeUnit"]]
        case "Int", ("INT32" | "INT64"), int(number) if logical["isSigned"]:
            return number
        case (("None" | "Date"), ("INT32" | "INT64"), int(number)):
            return number
        case "None", "DOUBLE", float(number) if number == number:
            return number
        case "String", "BYTE_ARRAY", bytes(text):
            return text
    return None
