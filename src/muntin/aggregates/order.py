"""Aggregates that depend on order: extremes of values, first and last along ``on``, and lists."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from muntin.aggregates.accumulators import Collected, Extreme, FirstOrLast
from muntin.aggregates.definition import AggregateCall, BoundAggregate, Definition, SqlNode
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


class Collect(Definition):
    """``collect_list(x)``, in order of ``on``."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        call.require(orderable(call.type), "a type that has an order, to break ties")
        collected = Collected(call.slots[:1], call.type)
        return BoundAggregate((collected,), pa.list_(call.type), lambda columns: columns[0][1])


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
    ValueAtEdge(
        "last",
        ("last", "last_value"),
        latest=True,
        nodes={"Last": SqlNode("last", ("expression",))},
        takes_flag=True,
    ),
    Collect("collect", ("collect", "collect_list", "array_agg")),
)
