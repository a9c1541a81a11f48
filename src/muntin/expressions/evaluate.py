"""Conditions on rows that Spark cannot evaluate, for whole columns with SQL's three values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from muntin.expressions import times
from muntin.expressions.case_and_like import chosen, extreme, like
from muntin.expressions.condition_nodes import (
    BooleanConstant,
    Choice,
    Dated,
    Elapsed,
    IntervalConstant,
    LeastOrGreatest,
    Like,
    Null,
    Part,
    TimeConstant,
)
from muntin.expressions.nodes import (
    Absolute,
    All,
    Arithmetic,
    Comparison,
    Constant,
    Inner,
    Missing,
    Negation,
    Node,
    Slot,
    Text,
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
    largest,
    number_of,
    roomy,
    truth,
    validity,
    wide,
)
from muntin.kernels.arrays import Mask


def evaluate(node: Node, slot: Callable[[int], Value], inner: Callable[[Inner], Value]) -> Value:
    """The value of a tree; constants have length one and spread as NumPy spreads them."""
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
        case _:
            return _part(node, lambda part: evaluate(part, slot, inner))


def _part(node: Part, value: Callable[[Node], Value]) -> Value:
    match node:
        case BooleanConstant(known):
            return Truth(np.array([known]), np.ones(1, np.bool_))
        case Null():
            return ComparableValues(pa.nulls(1))
        case Choice(cases, otherwise):
            holds = [truth(value(condition)) for condition, _ in cases]
            return chosen(holds, [*(value(one) for _, one in cases), value(otherwise)])
        case LeastOrGreatest(which, operands):
            return extreme(which, [value(operand) for operand in operands])
        case Like(operand, pattern):
            return like(value(operand), pattern)
        case TimeConstant(number, type_):
            return ComparableValues(
                pa.array([number], pa.int64()).cast(times.NUMBERS[type_]).cast(type_)
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
        one, other = doubles(left), doubles(right)
        with np.errstate(all="ignore"):
            match sign:
                case "+":
                    made = one + other
                case "-":
                    made = one - other
                case "*":
                    made = one * other
                case "%":
                    made = np.fmod(one, np.where(other == 0, 1.0, other))
                    valid = valid & (other != 0)
                case _:
                    made = one / np.where(other == 0, 1.0, other)
                    valid = valid & (other != 0)
        return Numbers(made, valid, None)
    if sign == "*":
        bound = largest(left.values) * largest(right.values)
        one, other = wide(left.values, bound), wide(right.values, bound)
        return Numbers(one * other, valid, left.scale + right.scale)
    one, other, scale = aligned(left, right)
    if sign in ("%", "div"):
        return _divided(sign, Numbers(one, valid, scale), other)
    bound = largest(one) + largest(other)
    one, other = wide(one, bound), wide(other, bound)
    return Numbers(one + other if sign == "+" else one - other, valid, scale)


def _divided(sign: str, one: Numbers, other: Values) -> Numbers:
    """Whole quotients go towards zero, and what is left has the sign of what was divided."""
    divisor = np.where(other == 0, 1, other)
    values = wide(one.values, largest(one.values) + 1)  # of -2**63 there is no opposite
    left = np.abs(values) % np.abs(wide(divisor, largest(divisor) + 1))
    left = np.where(values < 0, -left, left)
    valid = one.valid & (other != 0)
    return (
        Numbers(left, valid, one.scale)
        if sign == "%"
        else Numbers((values - left) // divisor, valid, 0)
    )


def _compare(sign: str, left: Value, right: Value) -> Truth:
    one, other = comparable(left, right)
    both = validity(left) & validity(right)
    match sign:
        case "<":
            holds = one < other
        case "<=":
            holds = one <= other
        case ">":
            holds = one > other
        case ">=":
            holds = one >= other
        case "<>":
            holds = one != other
        case "<=>":
            either = validity(left) | validity(right)
            same = (both & _mask(one == other)) | ~either
            return Truth(same, np.ones_like(same))
        case _:
            holds = one == other
    return Truth(both & _mask(holds), both)


def _mask(holds: Values) -> Mask:
    return holds.astype(np.bool_)


def _all(parts: list[Truth]) -> Truth:
    true, false = parts[0].true, parts[0].valid & ~parts[0].true
    for part in parts[1:]:
        true, false = true & part.true, false | (part.valid & ~part.true)
    return Truth(true, true | false)
