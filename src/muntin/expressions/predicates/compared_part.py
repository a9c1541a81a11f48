"""A part of predicates that is compared with constants: a column, or anything made of columns.

The constants of all predicates are in one order. A value's code says between which of them it lies;
a condition on the part is a set of codes.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.evaluate import Evaluation
from muntin.expressions.nodes import Constant, Inner, Node, Text
from muntin.expressions.predicates.value_ranges import LOWEST, Edge, Point, ValueRanges
from muntin.expressions.values import ComparableValues, Numbers, Value, doubles, validity
from muntin.kernels.arrays import Bytes, Ints
from muntin.kernels.interval_codes import (
    Buckets,
    CodeTarget,
    buckets,
    code_doubles,
    code_integers,
)

#: How values are ordered: exact numbers with a scale, doubles, texts, or integers behind a type.
Order = Literal["exact", "double", "text", "whole"]
_SIGN = 2**63 - 1
_NAN = int(np.array([np.nan]).view(np.int64)[0])


@dataclass(frozen=True)
class ComparedPart:
    """A node and the order of its values; conditions that only ask what is equal need no order."""

    node: Node
    order: Order
    scale: int = 0


def is_double(constant: Node) -> bool:
    """Return whether what is compared with a constant is compared as doubles."""
    if isinstance(constant, Constant):
        return isinstance(constant.value, float)
    value = constant_value(constant)
    return isinstance(value, Numbers) and value.scale is None


def point_of(part: ComparedPart, constant: Node) -> tuple[Point, bool] | None:
    """Return a constant as a point of a part's order, or the point below it; None for null.

    A number with more digits than the part has lies between two points. It is then False that the
    constant is the point.
    """
    match constant:
        case Text(text):
            return text, True
        case Constant(number) if part.order == "double":
            return double_point(float(number)), True  # the nearest double, as in `doubles`
        case Constant(Decimal() as number):
            whole, power = number.as_integer_ratio()
            below, rest = divmod(whole * 10**part.scale, power)
            return below, rest == 0
    value = constant_value(constant)
    if not validity(value)[0]:
        return None
    if isinstance(value, ComparableValues):
        return value.column[0].as_py() if part.order == "text" else int(
            _whole(value.column)[0]
        ), True
    if part.order == "double":
        return double_point(float(doubles(value)[0])), True
    assert value.scale is not None
    below, rest = divmod(int(value.values[0]) * 10**part.scale, 10**value.scale)
    return below, rest == 0


def constant_value(node: Node) -> Value:
    """Return the value of a node that reads no column."""
    return Evaluation(_no_slot, _no_aggregate).value(node)


def double_point(value: float) -> int:
    """Return an integer in the order of doubles: one for both zeros, NaN above all."""
    if math.isnan(value):
        return _NAN
    bits = int(np.float64(value + 0.0).view(np.int64))
    return bits if bits >= 0 else bits ^ _SIGN


def order_of(value: Value) -> tuple[Order, int]:
    """Return the order of values of a part, and the scale of exact numbers."""
    if isinstance(value, Numbers):
        return ("double", 0) if value.scale is None else ("exact", value.scale)
    return ("text" if pa.types.is_string(value.column.type) else "whole"), 0


@dataclass(frozen=True)
class CodedPart:
    """A part with all constants that it is compared with, in order.

    Codes are as in :mod:`muntin.kernels.interval_codes`; that of null is the last.
    """

    part: ComparedPart
    points: tuple[Point, ...]
    place: dict[Point, int]
    constants: Any
    buckets: Buckets

    @classmethod
    def of(cls, part: ComparedPart, ranges: Iterable[ValueRanges]) -> CodedPart:
        edges = {edge for some in ranges for pair in some.pairs for edge in pair}
        points = tuple(sorted({edge[1] for edge in edges if len(edge) == 3}))
        place = {point: number for number, point in enumerate(points)}
        constants = _constants(part, points)
        known = np.empty(0, np.int64) if constants is None else constants
        return cls(part, points, place, constants, buckets(known))

    @property
    def size(self) -> int:
        """How many codes there are."""
        return 2 * len(self.points) + 2

    def codes_between(self, ranges: ValueRanges) -> list[tuple[int, int]]:
        """Return which codes are in some ranges: from the first of a pair to before the second."""
        pairs = [(self._edge(low), self._edge(high)) for low, high in ranges.pairs]
        return [*pairs, (self.size - 1, self.size)] if ranges.null else pairs

    def _edge(self, edge: Edge) -> int:
        if len(edge) == 3:
            return 2 * self.place[edge[1]] + 1 + edge[2]
        return 0 if edge == LOWEST else self.size - 1

    def write_codes(self, value: Value, out: CodeTarget) -> None:
        """Write the code of each value."""
        if isinstance(value, Numbers):
            self._write_numbers(value, out)
        elif pa.types.is_null(value.column.type):
            _scatter(np.full(len(value.column), self.size - 1), out)
        elif self.part.order == "text":
            _scatter(self._of_texts(value.column), out)
        else:
            valid = validity(value).view(np.uint8)
            code_integers(_whole(value.column), valid, self.constants, self.buckets, out)

    def _write_numbers(self, number: Numbers, out: CodeTarget) -> None:
        valid: Bytes = number.valid.view(np.uint8)
        if self.part.order == "double":
            nan = self.size - 1 - (2 if _NAN in self.place else 1)
            null = self.size - 1
            values = np.ascontiguousarray(doubles(number))
            code_doubles(values, valid, self.constants, self.buckets, nan, null, out)
        elif number.values.dtype == object or self.constants is None:
            _scatter(self._of_long_numbers(number), out)
        else:
            values = np.ascontiguousarray(number.values)
            code_integers(values, valid, self.constants, self.buckets, out)

    def _of_long_numbers(self, number: Numbers) -> Ints:
        """Return the codes of numbers that may have more than 64 bits."""
        codes = [self._found(value) for value in number.values.tolist()]
        return np.where(number.valid, np.array(codes, np.int64), self.size - 1)

    def _of_texts(self, column: pa.Array) -> Ints:
        encoded = pc.dictionary_encode(column)
        known = [self._found(text) for text in encoded.dictionary.to_pylist()]
        codes = np.array([*known, self.size - 1], np.int64)
        indices = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        of_rows: Ints = codes[indices]
        return of_rows

    def _found(self, value: Point) -> int:
        place = self.place.get(value)
        if place is not None:
            return 2 * place + 1
        return 2 * bisect.bisect_left(self.points, value)


def _constants(part: ComparedPart, points: tuple[Point, ...]) -> Any:
    """Return the constants as an array; None for those that kernels cannot compare."""
    if part.order == "double":
        bits = np.array([point for point in points if point != _NAN], np.int64)
        return np.where(bits < 0, bits ^ _SIGN, bits).view(np.float64)
    if part.order == "text" or any(not -(2**63) <= int(point) < 2**63 for point in points):
        return None
    return np.array(points, np.int64)


def _whole(column: pa.Array) -> Ints:
    """Return the integers behind dates, times, lengths of time and conditions."""
    type_ = column.type
    if pa.types.is_boolean(type_):
        column = column.cast(pa.uint8())
    elif pa.types.is_date32(type_):
        column = column.cast(pa.int32())
    whole: Ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return whole


def _scatter(codes: Ints, out: CodeTarget) -> None:
    end = out.place + len(codes) * out.step
    out.codes[out.place : end : out.step] = codes + out.base


def _no_slot(place: int) -> Value:
    raise AssertionError(place)  # constants read no column


def _no_aggregate(node: Inner) -> Value:
    raise AssertionError(node)  # refused when the expression was compiled
