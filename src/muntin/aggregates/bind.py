"""Every aggregate by its name, and by its names in SQL text.

:func:`bind` turns a call whose types are known into accumulators and a result. Workers import this
module, so the parser, the sketches and the synopses are imported where they are first needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.aggregates import bits, distinct_values, holistic, moments, order, sums
from muntin.aggregates.accumulators import KeptRows, OwnAccumulator
from muntin.aggregates.definition import AggregateCall, BoundAggregate, Definition, SqlNode
from muntin.aggregates.own_aggregate import OwnAggregate, checked
from muntin.errors import ArgumentError, ExpressionError, did_you_mean
from muntin.expressions.nodes import Correlation, KeptRowsType
from muntin.expressions.spark_expressions import Expression
from muntin.expressions.types import check

if TYPE_CHECKING:
    from sqlglot import exp

    from muntin.aggregates.synopses.protocol import SynopsisDefinition


class OwnDefinition(Definition):
    """A user's own aggregate; it is the only option of the call."""

    def bind(self, call: AggregateCall) -> BoundAggregate:
        (aggregate,) = call.options
        assert isinstance(aggregate, OwnAggregate)
        own = checked(aggregate, call.label, call.types)
        accumulator = OwnAccumulator(call.slots, None, own)
        return BoundAggregate((accumulator,), own.type, lambda columns: own.finish(columns[0]))


class CorrelatedDefinition(Definition):
    """An aggregate over the rows that meet a condition on their window as a whole."""

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        return [*arguments, *([] if condition is None else [condition])]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        (correlation,) = call.options
        assert isinstance(correlation, Correlation)  # only the parser makes such calls
        kept = KeptRowsType(correlation, call.types, call.ansi)

        def result(function: str, argument: int | None) -> pa.DataType:
            types = () if argument is None else (call.types[argument],)
            inner = AggregateCall(function, call.label, (0,) * len(types), types, call.ansi)
            return bind(inner).type

        check(kept.where, call.types, result, call.label)
        type_ = result(correlation.function, correlation.argument)
        # The operator evaluates the condition when it makes windows, so the column is the result.
        rows = KeptRows(call.slots, None, kept)
        return BoundAggregate((rows,), type_, lambda columns: columns[0][0])


#: The aggregates that panes keep, by name.
DEFINITIONS: Mapping[str, Definition] = {
    definition.name: definition
    for definition in (
        *sums.DEFINITIONS,
        *moments.DEFINITIONS,
        *order.DEFINITIONS,
        *bits.DEFINITIONS,
        *holistic.DEFINITIONS,
        *distinct_values.DEFINITIONS,
        OwnDefinition("own"),
        CorrelatedDefinition("correlated"),
    )
}


@cache
def synopses() -> Mapping[str, SynopsisDefinition]:
    """The aggregates that synopses answer, by name."""
    from muntin.aggregates.focused import synopsis as focused
    from muntin.aggregates.synopses import composed, count_sum_avg, distinct, norms, tables

    families = (count_sum_avg, distinct, norms, composed, tables, focused)
    return {each.name: each for family in families for each in family.DEFINITIONS}


def synopsis_names() -> list[str]:
    """The names of the synopses that have a function; "focused" is a mode of ``correlated``."""
    return [name for name in synopses() if name != "focused"]


@cache
def sql_aggregates() -> Mapping[str, Definition]:
    """The aggregates that SQL text can call, by each of their names."""
    from muntin.aggregates import sketches

    definitions = (*DEFINITIONS.values(), *sketches.DEFINITIONS)
    return {name: each for each in definitions for name in each.sql_names}


def bind(call: AggregateCall) -> BoundAggregate:
    """Return the accumulators and the result of a call; raise if a type is not supported."""
    return definition_of(call.function).bind(call)


def definition_of(function: str) -> Definition:
    """Return the aggregate with a name; raise if there is none."""
    definition = DEFINITIONS.get(function) or synopses().get(function)
    if definition is None:
        known = (*DEFINITIONS, *synopses())
        hint = did_you_mean(function, known)
        raise ArgumentError("function", function, f"there is no such aggregate{hint}")
    return definition


def aggregate_name(node: exp.Expr, own: Collection[str] = ()) -> str | None:
    """Return the name of the aggregate that a node of sqlglot's tree calls, or None.

    ``own`` are the names of the user's own aggregates.
    """
    from sqlglot import exp

    if isinstance(node.parent, exp.Like | exp.ILike) and isinstance(node, exp.Any | exp.All):
        return None  # ``name LIKE ANY ('a%', 'b%')``: a quantifier
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
    elif type(node).__name__ in sql_nodes():
        name = sql_nodes()[type(node).__name__].name
    elif isinstance(node, exp.Func):
        name = node.sql_name().lower()
    else:
        return None
    return name if name in sql_aggregates() or name in own else None


def has_aggregates(tree: exp.Expr, own: Collection[str] = ()) -> bool:
    return any(aggregate_name(node, own) for node in tree.walk())


def refuse_aggregates(tree: exp.Expr, text: str, why: str, own: Collection[str] = ()) -> None:
    if has_aggregates(tree, own):
        raise ExpressionError(why, text)


def parse_condition_tree(text: str) -> exp.Expr:
    """Read a condition on rows; raise if it has an aggregate or an alias."""
    from sqlglot import exp

    from muntin.expressions.dialect import parse_expression

    tree = parse_expression(text)
    refuse_aggregates(tree, text, "an aggregate cannot stand in a condition on rows")
    if isinstance(tree, exp.Alias):
        raise ExpressionError("a condition has no alias", text)
    return tree


def parse_condition(text: str) -> str:
    """Check a condition on rows (``"speed > 30"``) and write it out again."""
    from muntin.expressions.dialect import nesting_limit, written

    with nesting_limit(text):
        return written(parse_condition_tree(text))


@cache
def sql_nodes() -> Mapping[str, SqlNode]:
    """The special nodes that sqlglot parses aggregates into, by the names of their classes."""
    definitions = sql_aggregates().values()
    return {name: node for each in definitions for name, node in each.nodes.items()}
