"""Types of row expressions: Spark's ANSI rules, with the casts that they imply.

:class:`Coercion` returns a tree in which every calculation has the type that Spark gives it, as a
cast of an exact result: an ``int`` plus an ``int`` is calculated without limits and then cast to
``int``, which fails exactly where Spark's addition fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce

import pyarrow as pa

from muntin.errors import ArgumentError, CannotEvaluate
from muntin.expressions.functions import FUNCTIONS, is_number
from muntin.expressions.nodes import (
    COMPARISONS,
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
    walk,
)
from muntin.kernels.spark_hash import hashable
from muntin.specs.axis import Axis, Domain

Typed = tuple[Node, pa.DataType]
INSTANT, CLOCK, DATE = pa.timestamp("us", tz="UTC"), pa.timestamp("us"), pa.date32()
_TIMES = {DATE: Domain.DATE, CLOCK: Domain.TIMESTAMP_NTZ, INSTANT: Domain.TIMESTAMP}
_INTERVAL = pa.duration("us")
_WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
#: The digits of the decimals that hold all integers of a type.
_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_MOST_DIGITS = 38


class Coercion:
    """Types a tree whose slots have some types, on the clocks of a zone.

    Equal parts of the result are one object, so that they are evaluated once.
    """

    def __init__(self, types: Sequence[pa.DataType], zone: str) -> None:
        self.types, self.zone = types, zone
        self._parts: dict[str, Node] = {}

    def typed(self, node: Node) -> Typed:
        typed, type_ = self._typed(node)
        return self._one(typed), type_

    def _one(self, node: Node) -> Node:
        return self._parts.setdefault(repr(node), node)

    def _typed(self, node: Node) -> Typed:
        match node:
            case Slot(place):
                return node, self.types[place]
            case Constant(value):
                return node, _type_of_number(value)
            case Text():
                return node, pa.string()
            case BooleanConstant():
                return node, pa.bool_()
            case Null():
                return node, pa.null()
            case TimeConstant(_, type_):
                return node, type_
            case IntervalConstant():
                return node, _INTERVAL
            case Cast(operand, type_, _, safe):
                part, source = self.typed(operand)
                if isinstance(part, Constant) and _is_exact(source, type_):
                    # It is no longer a literal, which matters if a decimal is the other operand.
                    return Cast(part, type_, self.zone, safe), type_
                return self._cast((part, source), type_, safe), type_
            case Arithmetic():
                return self._arithmetic(node)
            case Call(function, operands):
                return self._call(function, [self.typed(operand) for operand in operands])
            case Hash(operands):
                return self._hash([self.typed(operand) for operand in operands])
            case Elapsed(unit, start, end, zone):
                return self._elapsed(unit, self.typed(start), self.typed(end), zone)
            case Choice(cases, otherwise):
                conditions = [self._condition(when) for when, _ in cases]
                *values, last = map(self.typed, (*(then for _, then in cases), otherwise))
                type_ = self._common([*values, last])
                thens = [self._cast(value, type_) for value in values]
                chosen = Choice(tuple(zip(conditions, thens, strict=True)), self._cast(last, type_))
                return chosen, type_
            case LeastOrGreatest(which, operands):
                values = [self.typed(operand) for operand in operands]
                type_ = self._common(values)
                if pa.types.is_string(type_) and {t for _, t in values} - {type_, pa.null()}:
                    raise CannotEvaluate(f"{which} has no common type for its operands")
                return LeastOrGreatest(which, tuple(self._cast(v, type_) for v in values)), type_
            case Inner():
                raise CannotEvaluate("an aggregate is no expression of one row")
            case _:
                return self._logic(node), pa.bool_()

    def _logic(self, node: Comparison | All | Negation | Missing | Among | Like) -> Node:
        match node:
            case Comparison(sign, left, right):
                return self._comparison(sign, self.typed(left), self.typed(right))
            case All(operands):
                return All(tuple(map(self._condition, operands)))
            case Negation(operand):
                return Negation(self._condition(operand))
            case Missing(operand):
                return Missing(self.typed(operand)[0])
            case Among(operand, items):
                values = [self.typed(part) for part in (operand, *items)]
                type_ = self._common(values)
                first, *others = (self._cast(value, type_) for value in values)
                return Among(first, tuple(others))
            case Like(operand, pattern):
                value, type_ = self.typed(operand)
                if not pa.types.is_string(type_):
                    raise CannotEvaluate(f"LIKE takes a string, not {type_}")
                return Like(value, pattern)

    def _condition(self, node: Node) -> Node:
        value, type_ = self.typed(node)
        if type_ not in (pa.bool_(), pa.null()):
            raise CannotEvaluate(f"a condition is needed where there is a value of type {type_}")
        return self._cast((value, type_), pa.bool_())

    def _comparison(self, sign: str, left: Typed, right: Typed) -> Node:
        type_ = self._common([left, right])
        beyond = _beyond_integers(sign, left, right)
        if beyond is not None:
            return BooleanConstant(beyond)
        if is_number(type_) and is_number(left[1]) and is_number(right[1]):
            return Comparison(sign, left[0], right[0])  # compared exactly, or both as doubles
        if pa.types.is_null(type_):
            raise CannotEvaluate("NULL is compared with NULL")
        return Comparison(sign, self._cast(left, type_), self._cast(right, type_))

    def _call(self, name: str, operands: list[Typed]) -> Typed:
        function = FUNCTIONS[name]
        types = [type_ for _, type_ in operands]
        typing = function.typed(types)
        if typing is None:
            listed = ", ".join(map(str, types))
            raise CannotEvaluate(f"{name} of {listed} is not known to be as in Spark")
        wanted, result = typing
        values = tuple(self._cast(v, type_) for v, type_ in zip(operands, wanted, strict=True))
        node: Node = Call(name, values, self.zone)
        return (self._fitted(node, result) if function.fitted else node), result

    def _hash(self, operands: list[Typed]) -> Typed:
        types = tuple(type_ for _, type_ in operands)
        if not types or not all(map(hashable, types)):
            raise CannotEvaluate(f"xxhash64 of {', '.join(map(str, types))} is known to Spark only")
        return Hash(tuple(value for value, _ in operands), types), pa.int64()

    def _fitted(self, node: Node, type_: pa.DataType) -> Node:
        """Cast an exact result to its type; doubles have it already."""
        return node if pa.types.is_float64(type_) else Cast(self._one(node), type_, self.zone)

    def _elapsed(self, unit: int, start: Typed, end: Typed, zone: str) -> Typed:
        types = {start[1], end[1]}
        if len(types) > 1 or not types <= set(_TIMES):
            raise CannotEvaluate(
                "the time between values of these types is not known to be as in Spark"
            )
        return Elapsed(unit, start[0], end[0], zone), pa.int64()

    # Arithmetic

    def _arithmetic(self, node: Arithmetic) -> Typed:
        left, right = self.typed(node.left), self.typed(node.right)
        if pa.types.is_temporal(left[1]) or pa.types.is_temporal(right[1]):
            return self._of_times(node.sign, left, right)
        if pa.types.is_null(left[1]) and is_number(right[1]):
            left = self._cast(left, right[1]), right[1]
        elif pa.types.is_null(right[1]) and is_number(left[1]):
            right = self._cast(right, left[1]), left[1]
        if not is_number(left[1]) or not is_number(right[1]):
            raise CannotEvaluate(f"{left[1]} {node.sign} {right[1]} is not arithmetic of numbers")
        result = self._result(node.sign, left, right)
        _refuse_chain(node.sign, result, left[0], right[0])
        exact = pa.types.is_decimal(left[1]) or pa.types.is_decimal(right[1])
        if node.sign == "/" and exact and pa.types.is_decimal(result):
            return self._fitted(Call("quotient", (left[0], right[0])), result), result
        return self._fitted(Arithmetic(node.sign, left[0], right[0], self.zone), result), result

    def _result(self, sign: str, left: Typed, right: Typed) -> pa.DataType:
        types = (left[1], right[1])
        if any(map(pa.types.is_floating, types)):
            if sign == "div":
                raise CannotEvaluate("div takes whole numbers and decimals")
            single = all(map(pa.types.is_float32, types)) and sign != "/"
            return pa.float32() if single else pa.float64()
        if any(map(pa.types.is_decimal, types)):
            return _decimal_result(sign, _as_decimal(left), _as_decimal(right))
        if sign in ("/", "div"):
            return pa.float64() if sign == "/" else pa.int64()
        return max(types, key=_WHOLE.index)

    def _of_times(self, sign: str, left: Typed, right: Typed) -> Typed:
        if sign == "+" and left[1] == _INTERVAL:
            left, right = right, left
        if sign in "+-" and right[1] == _INTERVAL and isinstance(right[0], IntervalConstant):
            if left[1] in (INSTANT, CLOCK) or (left[1] == DATE and right[0].days):
                return Arithmetic(sign, left[0], right[0], self.zone), left[1]
        elif sign == "-" and left[1] == right[1] and left[1] in _TIMES:
            return Arithmetic(sign, left[0], right[0], self.zone), _INTERVAL
        raise CannotEvaluate(f"{left[1]} {sign} {right[1]} is not known to be as in Spark")

    # Common types and casts

    def _common(self, values: Sequence[Typed]) -> pa.DataType:
        """Return the type that values are cast to where they are alternatives or are compared."""
        types = [type_ for _, type_ in values]
        return reduce(_wider, types)

    def _cast(self, value: Typed, type_: pa.DataType, safe: bool = False) -> Node:
        node, source = value
        if source == type_:
            return node
        if isinstance(node, Text):
            node = self._constant(node.value, type_)
            return self._one(node)
        if not _is_exact(source, type_):
            raise CannotEvaluate(f"a cast of {source} to {type_} is not known to be as in Spark")
        return self._one(Cast(node, type_, self.zone, safe))

    def _constant(self, text: str, type_: pa.DataType) -> Node:
        """Return a constant text in another type."""
        if type_ in _TIMES:
            try:
                point = Axis(_TIMES[type_], zone=self.zone).point("constant", text)
            except ArgumentError:
                raise CannotEvaluate(f"{text!r} is no {type_}") from None
            return TimeConstant(point, type_)
        if type_ == pa.int64() and text.isascii() and text.removeprefix("-").isdigit():
            return Cast(Constant(Decimal(text)), type_, self.zone)
        raise CannotEvaluate(
            f"a cast of the text {text!r} to {type_} is not known to be as in Spark"
        )


def _beyond_integers(sign: str, left: Typed, right: Typed) -> bool | None:
    """Return what Spark has for integers compared with a literal that no integer of 64 bits equals.

    Spark does not look at the integer then, so that the result is not null if the integer is. None
    if the comparison is another one.
    """
    if isinstance(left[0], Constant) and not isinstance(right[0], Constant):
        sign, left, right = COMPARISONS[sign], right, left
    literal = right[0].value if isinstance(right[0], Constant) else None
    if sign not in ("<", "<=", ">", ">=") or not pa.types.is_integer(left[1]):
        return None
    if not isinstance(literal, Decimal) or -(2**63) <= literal < 2**63:
        return None
    return (literal > 0) == (sign in ("<", "<="))


def _refuse_chain(sign: str, type_: pa.DataType, *sides: Node) -> None:
    """Raise for whole numbers like ``a + 1 + b``: Spark adds constants last and fails elsewhere."""
    if sign not in "+*" or not pa.types.is_integer(type_):
        return
    parts = [_uncast(side) for side in sides]
    chained = any(isinstance(part, Arithmetic) and part.sign == sign for part in parts)
    if chained and any(_has_constant(sign, part) for part in parts):
        raise CannotEvaluate(f"Spark reorders a chain of {sign} that has a constant")


def _uncast(node: Node) -> Node:
    return _uncast(node.operand) if isinstance(node, Cast) else node


def _has_constant(sign: str, node: Node) -> bool:
    """Return whether an operand in a chain of one sign reads no column."""
    node = _uncast(node)
    if isinstance(node, Arithmetic) and node.sign == sign:
        return _has_constant(sign, node.left) or _has_constant(sign, node.right)
    return not any(isinstance(part, Slot) for part in walk(node))


def _type_of_number(value: Decimal | float) -> pa.DataType:
    if isinstance(value, float):
        return pa.float64()
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # a literal is finite
    if exponent == 0 and -(2**63) <= value < 2**63:
        return pa.int32() if -(2**31) <= value < 2**31 else pa.int64()
    return _decimal(max(len(digits), -exponent), -exponent)


def _decimal(precision: int, scale: int) -> pa.DataType:
    if precision > _MOST_DIGITS:
        raise CannotEvaluate(f"a decimal of {precision} digits is longer than {_MOST_DIGITS}")
    return pa.decimal128(precision, scale)


def _as_decimal(value: Typed) -> pa.DataType:
    """Return the decimal type in which Spark calculates with an operand."""
    node, type_ = value
    if pa.types.is_decimal(type_):
        return type_
    if isinstance(node, Constant) and isinstance(node.value, Decimal):
        return _decimal(len(node.value.as_tuple().digits), 0)
    if isinstance(node, Cast) and isinstance(node.operand, Constant):
        # As text, 1L and CAST(1 AS BIGINT) are one; as operands of decimals they are two.
        raise CannotEvaluate("a typed constant is an operand of a decimal")
    return pa.decimal128(_DIGITS[type_], 0)


def _decimal_result(sign: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    whole = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    match sign:
        case "+" | "-":
            return _adjusted(max(whole) + scale + 1, scale)
        case "*":
            if left.precision + right.precision > _MOST_DIGITS:
                raise CannotEvaluate(f"the product may have more than {_MOST_DIGITS} digits")
            return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)
        case "/":
            scale = max(6, left.scale + right.precision + 1)
            return _adjusted(whole[0] + right.scale + scale, scale)
        case "%" if max(whole) + scale <= _MOST_DIGITS:
            return _adjusted(min(whole) + scale, scale)
        case "div" if whole[0] + right.scale <= 18:
            return pa.int64()
    raise CannotEvaluate(f"{left} {sign} {right} may have more than {_MOST_DIGITS} digits")


def _adjusted(precision: int, scale: int) -> pa.DataType:
    """Return a decimal type that gives up digits after the point where there are too many."""
    if precision <= _MOST_DIGITS:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    return pa.decimal128(_MOST_DIGITS, max(_MOST_DIGITS - whole, min(scale, 6)))


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    types = left, right
    if all(map(is_number, types)):
        return _wider_number(left, right)
    if all(type_ in _TIMES for type_ in types):
        return max(types, key=list(_TIMES).index)
    if pa.types.is_string(left) or pa.types.is_string(right):
        other = right if pa.types.is_string(left) else left
        if pa.types.is_integer(other):
            return pa.int64()
        if other in _TIMES or pa.types.is_boolean(other):
            return other
    raise CannotEvaluate(f"{left} and {right} have no common type here")


def _wider_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    types = left, right
    if any(map(pa.types.is_floating, types)):
        return pa.float64()  # a float with a whole number is a double
    if not any(map(pa.types.is_decimal, types)):
        return max(types, key=_WHOLE.index)
    decimals = [t if pa.types.is_decimal(t) else pa.decimal128(_DIGITS[t], 0) for t in types]
    scale = max(type_.scale for type_ in decimals)
    return _decimal(max(type_.precision - type_.scale for type_ in decimals) + scale, scale)


def _is_exact(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether :func:`muntin.expressions.casts.cast` gives what Spark gives."""
    if pa.types.is_null(source):
        return True
    if is_number(source):
        if pa.types.is_boolean(target):
            return True
        if pa.types.is_string(target):
            return bool(pa.types.is_integer(source))
        if pa.types.is_floating(source):
            return is_number(target) and not pa.types.is_decimal(target)
        # Spark casts an int to a float to a double in one step, which loses less than two.
        return is_number(target) and (
            not pa.types.is_float32(target) or source in (pa.int8(), pa.int16())
        )
    if pa.types.is_boolean(source):
        return is_number(target) or bool(pa.types.is_string(target))
    if pa.types.is_string(source):
        return bool(pa.types.is_integer(target) or pa.types.is_boolean(target))
    return source in _TIMES and (target in _TIMES or (source == INSTANT and target == pa.int64()))
