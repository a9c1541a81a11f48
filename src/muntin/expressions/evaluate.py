"""Conditions that Muntin evaluates itself, for whole columns with SQL's three values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions import times
from muntin.expressions.nodes import (
    Absolute,
    All,
    Arithmetic,
    BooleanConstant,
    Choice,
    Comparison,
    Constant,
    Dated,
    Elapsed,
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
    Truth,
    Value,
    Values,
    aligned,
    comparable,
    constant,
    doubles,
    from_arrow,
    largest,
    number_of,
    roomy,
    scaled,
    truth,
    validity,
    wide,
)
from muntin.kernels.arrays import Ints, Mask


def evaluate(node: Node, slot: Callable[[int], Value], inner: Callable[[Inner], Value]) -> Value:
    """Return the value of a tree; constants have length one and are broadcast as in NumPy."""
    match node:
        case Slot(place):
            return slot(place)
        case Inner():
            return inner(node)
        case Constant(value):
            return constant(value)
        case Text(value):
            return ComparableValues(pa.array([value], pa.string()))
        case Arithmetic(sign, left, right, zone):
            return _arithmetic(
                sign, evaluate(left, slot, inner), evaluate(right, slot, inner), zone
            )
        case Absolute(operand):
            number = number_of(evaluate(operand, slot, inner))
            return Numbers(np.abs(roomy(number.values)), number.valid, number.scale)
        case Comparison(sign, left, right):
            return _compare(sign, evaluate(left, slot, inner), evaluate(right, slot, inner))
        case All(operands):
            return _all([truth(evaluate(operand, slot, inner)) for operand in operands])
        case Negation(operand):
            holds = truth(evaluate(operand, slot, inner))
            return Truth(holds.valid & ~holds.true, holds.valid)
        case Missing(operand):
            valid = validity(evaluate(operand, slot, inner))
            return Truth(~valid, np.ones_like(valid))
        case BooleanConstant(known):
            return Truth(np.array([known]), np.ones(1, np.bool_))
        case Null():
            return ComparableValues(pa.nulls(1))
        case _:
            return _choice_or_time(node, lambda part: evaluate(part, slot, inner))


def _choice_or_time(
    node: Choice | LeastOrGreatest | Like | TimeConstant | IntervalConstant | Dated | Elapsed,
    value: Callable[[Node], Value],
) -> Value:
    match node:
        case Choice(cases, otherwise):
            conditions = [truth(value(condition)) for condition, _ in cases]
            return _case(conditions, [*(value(then) for _, then in cases), value(otherwise)])
        case LeastOrGreatest(which, operands):
            return _extreme(which, [value(operand) for operand in operands])
        case Like(operand, pattern):
            return _like(value(operand), pattern)
        case TimeConstant(instant, type_):
            return ComparableValues(
                pa.array([instant], pa.int64()).cast(times.NUMBERS[type_]).cast(type_)
            )
        case IntervalConstant(micros):
            return ComparableValues(pa.array([micros], pa.duration("us")))
        case Dated(operand, zone):
            return times.dated(value(operand), zone)
        case Elapsed(unit, start, end, zone):
            return times.elapsed(unit, value(start), value(end), zone)


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


def _compare(sign: str, left: Value, right: Value) -> Truth:
    left_keys, right_keys = comparable(left, right)
    both = validity(left) & validity(right)
    match sign:
        case "<":
            holds = left_keys < right_keys
        case "<=":
            holds = left_keys <= right_keys
        case ">":
            holds = left_keys > right_keys
        case ">=":
            holds = left_keys >= right_keys
        case "<>":
            holds = left_keys != right_keys
        case "<=>":
            either = validity(left) | validity(right)
            same = (both & _mask(left_keys == right_keys)) | ~either
            return Truth(same, np.ones_like(same))
        case _:
            holds = left_keys == right_keys
    return Truth(both & _mask(holds), both)


def _mask(holds: Values) -> Mask:
    return holds.astype(np.bool_)


def _all(parts: list[Truth]) -> Truth:
    """AND with SQL's three values, on NumPy's masks."""
    true, false = parts[0].true, parts[0].valid & ~parts[0].true
    for part in parts[1:]:
        true, false = true & part.true, false | (part.valid & ~part.true)
    return Truth(true, true | false)


def _case(conditions: Sequence[Truth], values: Sequence[Value]) -> Value:
    """Return for each row the value of the first condition that holds, or the last value."""
    sizes = [(len(part.true),) for part in conditions] + [(len(validity(v)),) for v in values]
    rows = np.broadcast_shapes(*sizes)[0]
    chosen = np.full(rows, len(conditions), np.int64)
    for place in reversed(range(len(conditions))):
        holds = conditions[place].true & conditions[place].valid
        chosen[np.broadcast_to(holds, rows)] = place
    return _taken(chosen, values)


def _extreme(which: str, values: Sequence[Value]) -> Value:
    """Return the least or greatest value of each row; null only if all values are null.

    Arrow's ``max_element_wise`` is not used: it skips NaN, which in Spark is above all numbers, and
    it has no kernel for conditions and for timestamps with a zone.
    """
    return reduce(lambda left, right: _further(which, left, right), values)


def _further(which: str, left: Value, right: Value) -> Value:
    left_keys, right_keys = comparable(left, right)
    beyond = (right_keys < left_keys if which == "least" else right_keys > left_keys).astype(
        np.bool_
    )
    right_wins = validity(right) & (~validity(left) | beyond)
    return _taken(right_wins.astype(np.int64), [left, right])


def _taken(chosen: Ints, values: Sequence[Value]) -> Value:
    """Return for each row the value with the chosen number; NULL has no type and no values."""
    typed = [value for value in values if not _is_untyped(value)]
    if not isinstance(typed[0], Numbers):
        columns = [_column(value) for value in values]
        type_ = _column(typed[0]).type
        # Arrow broadcasts scalars, but not columns of length one.
        spread = [
            column.cast(type_) if len(column) == len(chosen) else column[0].cast(type_)
            for column in columns
        ]
        return from_arrow(pc.choose(pa.array(chosen), *spread))
    # Exact numbers may be Python integers, for which Arrow has no column.
    scales = [value.scale for value in typed if isinstance(value, Numbers)]
    whole = [scale for scale in scales if scale is not None]
    scale = max(whole) if len(whole) == len(scales) else None
    valid = _select(chosen, [validity(value) for value in values]).astype(np.bool_)
    return Numbers(_select(chosen, [_numbers(value, scale) for value in values]), valid, scale)


def _column(value: Value) -> pa.Array:
    if isinstance(value, Truth):
        return pa.array(value.true, pa.bool_(), mask=~value.valid)
    assert isinstance(value, ComparableValues)  # the types were checked when the plan was built
    return value.column


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


def _like(value: Value, pattern: str) -> Truth:
    assert isinstance(value, ComparableValues)  # checked when the plan was built
    matches = pc.match_like(value.column, pattern).fill_null(False)
    return Truth(matches.to_numpy(zero_copy_only=False), validity(value))
