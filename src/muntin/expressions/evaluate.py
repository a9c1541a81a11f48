"""Expressions that Muntin evaluates itself, for whole columns with SQL's three values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions import times
from muntin.expressions.casts import cast, to_arrow
from muntin.expressions.functions import FUNCTIONS
from muntin.expressions.nodes import (
    All,
    Among,
    Arithmetic,
    BooleanConstant,
    Call,
    Cast,
    Choice,
    Comparison,
    Constant,
    Elapsed,
    Hash,
    Inner,
    IntervalConstant,
    LeastOrGreatest,
    Like,
    Missing,
    Negation,
    Node,
    Null,
    Slot,
    Text,
    TimeConstant,
)
from muntin.expressions.values import (
    ComparableValues,
    Numbers,
    Value,
    Values,
    aligned,
    column_of,
    condition,
    constant,
    doubles,
    from_arrow,
    largest,
    number_of,
    scaled,
    validity,
    wide,
)
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.spark_hash import xxhash64

_COMPARED = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def evaluate(node: Node, slot: Callable[[int], Value], inner: Callable[[Inner], Value]) -> Value:
    """Return the value of a tree; constants have length one and are broadcast as in NumPy."""
    return Evaluation(slot, inner).value(node)


class Evaluation:
    """The values of a tree's parts; a part that is one object in several places has one value."""

    def __init__(self, slot: Callable[[int], Value], inner: Callable[[Inner], Value]) -> None:
        self._slot, self._inner = slot, inner
        self._values: dict[int, Value] = {}

    def value(self, node: Node) -> Value:
        known = self._values.get(id(node))
        if known is None:
            known = self._values[id(node)] = self._evaluated(node)
        return known

    def _evaluated(self, node: Node) -> Value:
        match node:
            case Slot(place):
                return self._slot(place)
            case Inner():
                return self._inner(node)
            case Arithmetic(sign, left, right, zone):
                return _arithmetic(sign, self.value(left), self.value(right), zone)
            case Comparison(sign, left, right):
                return compare(sign, self.value(left), self.value(right))
            case All(operands):
                return reduce(_both, map(self.value, operands))
            case Negation(operand):
                return _called(pc.invert, self.value(operand))
            case Missing(operand):
                return condition(~validity(self.value(operand)))
            case Call(function, operands, zone):
                return FUNCTIONS[function].evaluate(zone, *map(self.value, operands))
            case Cast(operand, type_, zone):
                return cast(self.value(operand), type_, zone)
            case Among(operand, items):
                value = self.value(operand)
                return reduce(_either, [compare("=", value, self.value(item)) for item in items])
            case Choice(cases, otherwise):
                conditions = [self.value(when) for when, _ in cases]
                return _case(
                    conditions, [self.value(v) for v in (*(t for _, t in cases), otherwise)]
                )
            case LeastOrGreatest(which, operands):
                return reduce(lambda a, b: _further(which, a, b), map(self.value, operands))
            case Like(operand, pattern):
                return _called(lambda column: pc.match_like(column, pattern), self.value(operand))
            case Hash(operands, types):
                return _hash([self.value(operand) for operand in operands], types)
            case Elapsed(unit, start, end, zone):
                return times.elapsed(unit, self.value(start), self.value(end), zone)
            case _:
                return _constant(node)


def _hash(values: Sequence[Value], types: Sequence[pa.DataType]) -> Numbers:
    rows = np.broadcast_shapes(*(validity(value).shape for value in values))[0]
    columns = [to_arrow(value, type_) for value, type_ in zip(values, types, strict=True)]
    spread = [c if len(c) == rows else pa.repeat(c[0], rows) for c in columns]
    return Numbers(xxhash64(spread, rows), np.ones(rows, np.bool_), 0)


def _constant(
    node: Constant | Text | BooleanConstant | Null | TimeConstant | IntervalConstant,
) -> Value:
    match node:
        case Constant(value):
            return constant(value)
        case Text(value) | BooleanConstant(value):
            return ComparableValues(pa.array([value]))
        case Null():
            return ComparableValues(pa.nulls(1))
        case TimeConstant(instant, type_):
            stored = pa.array([instant], pa.int64()).cast(times.NUMBERS[type_])
            return ComparableValues(stored.cast(type_))
        case IntervalConstant(micros):
            return ComparableValues(pa.array([micros], pa.duration("us")))


def _called(function: Callable[..., Any], *values: Value) -> ComparableValues:
    """Call a function of Arrow, which broadcasts scalars, but not columns of length one."""
    return ComparableValues(_in_length(function(*(_datum(column_of(value)) for value in values))))


def _in_length(result: Any) -> pa.Array:
    if isinstance(result, pa.Scalar):
        return pa.repeat(result, 1)
    return result


def _datum(column: pa.Array) -> pa.Array | pa.Scalar:
    return column[0] if len(column) == 1 else column


def _arithmetic(sign: str, left: Value, right: Value, zone: str) -> Value:
    if isinstance(left, ComparableValues) and isinstance(right, ComparableValues):
        return times.arithmetic(sign, left, right, zone)
    return _calculated(sign, number_of(left), number_of(right))


def _calculated(sign: str, left: Numbers, right: Numbers) -> Numbers:
    valid = left.valid & right.valid
    if left.scale is None or right.scale is None or sign == "/":
        left_values, right_values = doubles(left), doubles(right)
        with np.errstate(all="ignore"):
            match sign:
                case "+":
                    result = left_values + right_values
                case "-":
                    result = left_values - right_values
                case "*":
                    result = left_values * right_values
                case "%":
                    result = np.fmod(left_values, np.where(right_values == 0, 1.0, right_values))
                    valid = valid & (right_values != 0)
                case _:
                    result = left_values / np.where(right_values == 0, 1.0, right_values)
                    valid = valid & (right_values != 0)
        return Numbers(result, valid, None)
    if sign == "*":
        bound = largest(left.values) * largest(right.values)
        left_values, right_values = wide(left.values, bound), wide(right.values, bound)
        return Numbers(left_values * right_values, valid, left.scale + right.scale)
    left_values, right_values, scale = aligned(left, right)
    if sign in ("%", "div"):
        return _divided(sign, Numbers(left_values, valid, scale), right_values)
    bound = largest(left_values) + largest(right_values)
    left_values, right_values = wide(left_values, bound), wide(right_values, bound)
    return Numbers(
        left_values + right_values if sign == "+" else left_values - right_values, valid, scale
    )


def _divided(sign: str, dividend: Numbers, other: Values) -> Numbers:
    """Divide exactly: quotients are rounded towards zero, remainders have the dividend's sign."""
    divisor = np.where(other == 0, 1, other)
    values = wide(
        dividend.values, largest(dividend.values) + 1
    )  # -2**63 has no opposite in 64 bits
    remainder = np.abs(values) % np.abs(wide(divisor, largest(divisor) + 1))
    remainder = np.where(values < 0, -remainder, remainder)
    valid = dividend.valid & (other != 0)
    return (
        Numbers(remainder, valid, dividend.scale)
        if sign == "%"
        else Numbers((values - remainder) // divisor, valid, 0)
    )


def compare(sign: str, left: Value, right: Value) -> ComparableValues:
    if sign == "<=>":
        equal = compare("=", left, right).column.fill_null(False)
        same = equal.to_numpy(zero_copy_only=False) | ~(validity(left) | validity(right))
        return condition(same)
    if isinstance(left, ComparableValues):
        return _called(_COMPARED[sign], left, right)
    left_number, right_number = number_of(left), number_of(right)
    both = left_number.valid & right_number.valid
    if left_number.scale is None or right_number.scale is None:
        return condition(_compared_doubles(sign, doubles(left_number), doubles(right_number)), both)
    return condition(_compared(sign, *aligned(left_number, right_number)[:2]), both)


def _compared(sign: str, left: Values, right: Values) -> Mask:
    match sign:
        case "<":
            holds = left < right
        case "<=":
            holds = left <= right
        case ">":
            holds = left > right
        case ">=":
            holds = left >= right
        case "<>":
            holds = left != right
        case _:
            holds = left == right
    return np.asarray(holds, np.bool_)


def _compared_doubles(sign: str, left: Values, right: Values) -> Mask:
    """Compare as Spark does: NaN is equal to NaN and above all other numbers."""
    unknown, others = np.isnan(left), np.isnan(right)
    holds = _compared(sign, left, right)
    if not unknown.any() and not others.any():
        return holds
    return np.where(unknown | others, _compared(sign, unknown, others), holds)


def _both(left: Value, right: Value) -> Value:
    return _called(pc.and_kleene, left, right)


def _either(left: ComparableValues, right: ComparableValues) -> ComparableValues:
    return _called(pc.or_kleene, left, right)


def _case(conditions: Sequence[Value], values: Sequence[Value]) -> Value:
    """Return for each row the value of the first condition that holds, or the last value."""
    holds = [column_of(part).fill_null(False).to_numpy(zero_copy_only=False) for part in conditions]
    sizes = [part.shape for part in holds] + [validity(value).shape for value in values]
    rows = np.broadcast_shapes(*sizes)[0]
    chosen = np.full(rows, len(holds), np.int64)
    for place in reversed(range(len(holds))):
        chosen[np.broadcast_to(holds[place], rows)] = place
    return _taken(chosen, values)


def _further(which: str, left: Value, right: Value) -> Value:
    """Return the least or greatest of two values that are not null.

    Arrow's ``max_element_wise`` is not used: it skips NaN, which in Spark is above all numbers, and
    it has no kernel for conditions and for timestamps with a zone.
    """
    beyond = column_of(compare("<" if which == "least" else ">", right, left)).fill_null(False)
    right_wins = validity(right) & (~validity(left) | beyond.to_numpy(zero_copy_only=False))
    return _taken(right_wins.astype(np.int64), [left, right])


def _taken(chosen: Ints, values: Sequence[Value]) -> Value:
    """Return for each row the value with the chosen number; NULL has no type and no values."""
    typed = [value for value in values if not _is_untyped(value)]
    if not typed or not isinstance(typed[0], Numbers):
        type_ = column_of((typed or values)[0]).type
        columns = [column_of(value) for value in values]
        spread = [
            column.cast(type_) if len(column) == len(chosen) else column[0].cast(type_)
            for column in columns
        ]
        return from_arrow(_in_length(pc.choose(pa.array(chosen), *spread)))
    # Exact numbers may be Python integers, for which Arrow has no column.
    scales = [value.scale for value in typed if isinstance(value, Numbers)]
    whole = [scale for scale in scales if scale is not None]
    scale = max(whole) if len(whole) == len(scales) else None
    valid = _select(chosen, [validity(value) for value in values]).astype(np.bool_)
    return Numbers(_select(chosen, [_numbers(value, scale) for value in values]), valid, scale)


def _is_untyped(value: Value) -> bool:
    return isinstance(value, ComparableValues) and pa.types.is_null(value.column.type)


def _select(chosen: Ints, values: Sequence[Values]) -> Values:
    selected: Values = np.select([chosen == place for place in range(len(values))], values)
    return selected


def _numbers(value: Value, scale: int | None) -> Values:
    if not isinstance(value, Numbers):
        return np.zeros(1, np.int64)
    if scale is None or value.scale is None:
        return doubles(value)
    return scaled(value.values, scale - value.scale)
