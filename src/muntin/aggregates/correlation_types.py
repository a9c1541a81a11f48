"""Which conditions make sense for the types of their slots; checked when a plan is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.aggregates.correlation import (
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
from muntin.semantics.errors import UnsupportedTypeError

#: What a value can take part in: arithmetic, logic, or comparison with its own type, by name.
Sort = str
#: The type of an aggregate of a slot.
ResultType = Callable[[str, int | None], pa.DataType]


def check(node: Node, types: Sequence[pa.DataType], result: ResultType, label: str) -> None:
    """Raise where a condition is none, or compares what cannot be compared."""
    _Checker(types, result, label).need(node, "condition")


def no_aggregate(function: str, argument: int | None) -> pa.DataType:
    """The type of an aggregate where the parser lets none in."""
    raise AssertionError(function)


class _Checker:
    def __init__(self, types: Sequence[pa.DataType], result: ResultType, label: str) -> None:
        self.types, self.result, self.label = types, result, label

    def need(self, node: Node, sort: Sort) -> None:
        found = self.sort(node)
        if found != sort:
            raise UnsupportedTypeError(
                f"{self.label} needs a {sort} where it has a value of type {found}"
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
            case Arithmetic(_, left, right):
                self.need(left, "number")
                self.need(right, "number")
                return "number"
            case Absolute(operand):
                self.need(operand, "number")
                return "number"
            case Comparison(_, left, right):
                self.need(right, self.sort(left))
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


def _sort(type_: pa.DataType) -> Sort:
    if pa.types.is_boolean(type_):
        return "condition"
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "number"
    return str(type_)
