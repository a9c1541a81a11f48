"""Checks the types in a condition when a plan is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.errors import UnsupportedTypeError
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

#: The use of a value: "number", "condition", or else the name of a type that is only compared.
Sort = str
_INSTANT = pa.timestamp("us", tz="UTC")
_DATE, _INTERVAL, _NULL = str(pa.date32()), str(pa.duration("us")), str(pa.null())
_TIMES = (str(_INSTANT), str(pa.timestamp("us")), _DATE)
#: Returns the type of an aggregate, given its function and its slot.
ResultType = Callable[[str, int | None], pa.DataType]


def check(node: Node, types: Sequence[pa.DataType], result: ResultType, label: str) -> None:
    """Raise if a tree is not a condition, or compares values that cannot be compared."""
    _Checker(types, result, label).need(node, "condition")


def no_aggregate(function: str, argument: int | None) -> pa.DataType:
    """Raise: use this as ``ResultType`` where the parser allows no aggregate."""
    raise AssertionError(function)


class _Checker:
    def __init__(self, types: Sequence[pa.DataType], result: ResultType, label: str) -> None:
        self.types, self.result, self.label = types, result, label

    def need(self, node: Node, sort: Sort) -> None:
        actual = self.sort(node)
        if actual != sort:
            kind = {str(_INSTANT): "TIMESTAMP", _DATE: "DATE"}.get(sort)
            hint = f"; write {kind} '2026-01-31'" if kind and isinstance(node, Text) else ""
            hint = "; write IS NULL" if actual == _NULL else hint
            raise UnsupportedTypeError(
                f"{self.label} needs a {sort} where it has a value of type {actual}{hint}",
                self.label,
            )

    def sort(self, node: Node) -> Sort:
        match node:
            case Slot(place):
                return _sort(self.types[place])
            case Constant():
                return "number"
            case Text():
                return str(pa.string())
            case Inner(function, argument, where):
                if where is not None:
                    self.need(where, "condition")
                return _sort(self.result(function, argument))
            case Arithmetic():
                return self._arithmetic(node)
            case Call(_, operands):
                for operand in operands:
                    self.need(operand, "number")
                return "number"
            case Comparison(_, left, right):
                # A constant must have the type of the other side, whichever side it is on.
                first, other = (right, left) if isinstance(left, Text | Null) else (left, right)
                self.need(other, self.sort(first))
                return "condition"
            case Among(operand, items):
                for item in items:
                    self.sort(Comparison("=", operand, item))
                return "condition"
            case All(operands):
                for operand in operands:
                    self.need(operand, "condition")
                return "condition"
            case Negation(operand):
                self.need(operand, "condition")
                return "condition"
            case Missing(operand):
                self.sort(operand)
                return "condition"
            case BooleanConstant():
                return "condition"
            case Null():
                return _NULL
            case Choice(cases, otherwise):
                for condition, _ in cases:
                    self.need(condition, "condition")
                return self._alike([*(value for _, value in cases), otherwise])
            case LeastOrGreatest(_, operands):
                return self._alike(operands)
            case Like(operand):
                self.need(operand, str(pa.string()))
                return "condition"
            case TimeConstant(_, type_):
                return str(type_)
            case IntervalConstant():
                return _INTERVAL
            case Cast(operand, type_):
                self._time(operand)
                return str(type_)
            case Hash(operands):
                for operand in operands:
                    self.sort(operand)
                return "number"
            case Elapsed(_, start, end):
                self._time(start)
                self.need(end, self.sort(start))
                return "number"

    def _arithmetic(self, node: Arithmetic) -> Sort:
        left, right = self.sort(node.left), self.sort(node.right)
        if node.sign == "-" and left == right and left in (*_TIMES, _INTERVAL):
            return _INTERVAL
        if node.sign == "+" and left == _INTERVAL:  # the interval may be the left side
            return self._moved(node.right, right, node.left)
        if node.sign in "+-" and right == _INTERVAL:
            return self._moved(node.left, left, node.right)
        self.need(node.left, "number")
        self.need(node.right, "number")
        return "number"

    def _moved(self, node: Node, sort: Sort, by: Node) -> Sort:
        if sort == _DATE and not (isinstance(by, IntervalConstant) and by.days):
            raise UnsupportedTypeError(
                f"{self.label} moves a date by what is not so many days", self.label
            )
        if sort not in (*_TIMES, _INTERVAL):
            self.need(node, str(_INSTANT))
        return sort

    def _time(self, node: Node) -> None:
        if self.sort(node) not in _TIMES:
            self.need(node, str(_INSTANT))

    def _alike(self, nodes: Sequence[Node]) -> Sort:
        """Return the sort that all nodes have; NULL fits every sort."""
        typed = [node for node in nodes if self.sort(node) != _NULL]
        if not typed:
            raise UnsupportedTypeError(f"{self.label} chooses among nothing but NULL", self.label)
        for node in typed:
            self.need(node, self.sort(typed[0]))
        return self.sort(typed[0])


def _sort(type_: pa.DataType) -> Sort:
    if pa.types.is_boolean(type_):
        return "condition"
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "number"
    return str(type_)
