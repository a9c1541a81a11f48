"""Aggregates that depend on order: extremes of values, first and last along ``on``, and lists."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.accumulators import Collected, Extreme, FirstOrLast, ValueAtExtreme
from muntin.aggregates.definition import (
    AggregateCall,
    BoundAggregate,
    Columns,
    ConstantArgument,
    Definition,
    SqlNode,
    where,
)
from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.expressions.spark_expressions import Expression
from muntin.kernels.numbers.order_keys import orderable


@dataclass(frozen=True)
class MinOrMax(Definition):
    """``min(x)`` or ``max(x)``."""

    greatest: bool = False

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(orderable(call.type), "a type that has an order")
        extreme = Extreme(call.slots[:1], call.type, self.greatest)
        return BoundAggregate((extreme,), call.type, lambda columns: columns[0][0])


@dataclass(frozen=True)
class AnyOrAll(Definition):
    """``any(condition)`` or ``all(condition)``: true is greater than false."""

    greatest: bool = False

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(pa.types.is_boolean(call.type), "a condition (boolean)")
        extreme = Extreme(call.slots[:1], call.type, self.greatest)
        return BoundAggregate((extreme,), call.type, lambda columns: columns[0][0])


@dataclass(frozen=True)
class ValueAtEdge(Definition):
    """``first(x)`` or ``last(x)``."""

    latest: bool = False

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        # The first value may be null, so the condition needs a slot of its own.
        return [arguments[0]] if condition is None else [arguments[0], condition]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(orderable(call.type), "a type that has an order, to break ties")
        edge = FirstOrLast(call.slots, call.type, self.latest)
        return BoundAggregate((edge,), call.type, lambda columns: columns[0][1])


@dataclass(frozen=True)
class ValueBy(Definition):
    """``max_by(x, y)`` or ``min_by(x, y)``: the ``x`` of the row with the extreme ``y``."""

    columns: int = 2
    greatest: bool = False

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        value, by = arguments
        return [value, where(condition, by)]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        value, by = call.types
        for type_ in call.types:
            if not orderable(type_):
                raise UnsupportedTypeError(
                    f"{call.label} needs types that have an order, but an argument is {type_}",
                    call.label,
                )
        extreme = ValueAtExtreme(call.slots, value, by, self.greatest)
        return BoundAggregate((extreme,), value, lambda columns: columns[0][1])


class Collect(Definition):
    """``collect_list(x)``, in order of ``on``."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(orderable(call.type), "a type that has an order, to break ties")
        collected = Collected(call.slots[:1], call.type)
        return BoundAggregate((collected,), pa.list_(call.type), lambda columns: columns[0][1])


class JoinedTexts(Definition):
    """``listagg(x, delimiter)``: the texts in order of ``on``."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(pa.types.is_string(call.type), "text (string)")
        (delimiter,) = call.options
        collected = Collected(call.slots[:1], call.type)

        def finish(columns: Columns) -> pa.Array:
            lists = columns[0][1]
            joined = pc.binary_join(lists, delimiter)
            return pc.if_else(pc.greater(pc.list_value_length(lists), 0), joined, None)

        return BoundAggregate((collected,), call.type, finish)


def delimiter_text(argument: str, given: object) -> str:
    """Check what stands between the texts of ``listagg``."""
    if not isinstance(given, str):
        raise ArgumentError(argument, given, "it must be text, such as ', '")
    return given


DEFINITIONS = (
    MinOrMax("min", ("min",), correlates=True),
    MinOrMax("max", ("max",), greatest=True, correlates=True),
    AnyOrAll(
        "any",
        ("any", "some", "bool_or"),
        greatest=True,
        nodes={"Any": SqlNode("any"), "LogicalOr": SqlNode("bool_or")},
        correlates=True,
    ),
    AnyOrAll(
        "all",
        ("all", "every", "bool_and"),
        nodes={"All": SqlNode("all"), "LogicalAnd": SqlNode("bool_and")},
        correlates=True,
    ),
    ValueAtEdge(
        "first",
        ("first", "first_value"),
        nodes={"First": SqlNode("first", ("expression",))},
        takes_flag=True,
    ),
    # Some value, and always the same one: the first.
    ValueAtEdge("any_value", ("any_value",), nodes={"AnyValue": SqlNode("any_value")}),
    ValueAtEdge(
        "last",
        ("last", "last_value"),
        latest=True,
        nodes={"Last": SqlNode("last", ("expression",))},
        takes_flag=True,
    ),
    ValueBy("min_by", ("min_by",), nodes={"ArgMin": SqlNode("min_by", ("expression",))}),
    ValueBy(
        "max_by",
        ("max_by",),
        greatest=True,
        nodes={"ArgMax": SqlNode("max_by", ("expression",))},
    ),
    Collect("collect", ("collect", "collect_list", "array_agg")),
    JoinedTexts(
        "listagg",
        ("listagg", "string_agg"),
        constant=ConstantArgument("delimiter", delimiter_text, default="", text=True),
        nodes={"GroupConcat": SqlNode("listagg", ("separator",))},
    ),
)
