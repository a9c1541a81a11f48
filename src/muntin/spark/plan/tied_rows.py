"""Rows that tie and become one row: which columns travel, and what is derived from them.

Spark evaluates everything else before the exchange. These rows are combined after it, so what
frames read is evaluated there, and can only be what Muntin evaluates itself: columns, and
conditions that :mod:`muntin.expressions.read` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import types as spark_types

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.parse_conditions import parse_bridge
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.expressions.nodes import Node, Slot, moved
from muntin.expressions.spark_expressions import AsDouble, Expression, Name, Sql
from muntin.expressions.types import check, no_aggregate
from muntin.operators.frames.ordered_rows import CombinedTies
from muntin.spark.columns import to_arrow

_FUNCTIONS = {"mean": "avg", "max": "max", "min": "min", "sum": "sum"}


@dataclass
class TieColumns:
    """Collects the columns that are derived from combined rows; ``ties`` as in a framing."""

    schema: spark_types.StructType
    ties: object
    ansi: bool
    zone: str
    names: list[str] = field(default_factory=list)
    derived: list[tuple[str, Node]] = field(default_factory=list)
    conditions: list[tuple[str, Node]] = field(default_factory=list)

    def value(self, name: str, argument: str, value: object) -> None:
        """Add a derived column that is a column."""
        plain = value.operand if isinstance(value, AsDouble) else value
        column = self._column(argument, str(plain) if isinstance(plain, Name | Sql) else plain)
        place = self._place(argument, column)
        if isinstance(value, AsDouble) and not pa.types.is_floating(bind(self._call(column)).type):
            raise self._refusal(argument, column, "cast the column to double before")
        self.derived.append((name, Slot(place)))

    def condition(self, name: str, argument: str, where: object) -> None:
        """Add a derived column that is a condition."""
        if not isinstance(where, str):
            raise self._refusal(argument, where, "write the condition as text")
        tree, written = parse_bridge(where, self.zone)
        places = tuple(self._place(argument, column.replace("`", "")) for column in written)
        node = moved(tree, places)
        self.derived.append((name, node))
        self.conditions.append((where, node))

    def slots(self, slots: Sequence[Expression]) -> None:
        """Add what aggregates read."""
        for place, slot in enumerate(slots):
            self.value(f"s{place}", "aggregates", slot)

    def combined(self) -> CombinedTies:
        """Return what the operator needs to combine rows that tie."""
        calls = tuple(self._call(name) for name in self.names)
        ties = CombinedTies(calls, tuple(self.derived))
        for text, node in self.conditions:
            check(node, ties.types, no_aggregate, text)
        return ties

    def _column(self, argument: str, name: object) -> str:
        if not isinstance(name, str) or name.replace("`", "") not in self.schema.names:
            raise self._refusal(argument, name, "name a column, computed before if need be")
        return name.replace("`", "")

    def _place(self, argument: str, name: str) -> int:
        if name not in self.schema.names:
            raise UnknownColumnError(argument, name, self.schema.names)
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _call(self, name: str) -> AggregateCall:
        ways: Mapping[str, str] = dict(self.ties) if isinstance(self.ties, tuple) else {}
        how = ways.get(name) if isinstance(self.ties, tuple) else str(self.ties)
        if how is None:
            raise ArgumentError(
                "ties", ways, f"it does not say how values of {name!r} become one; add {name!r}"
            )
        type_ = to_arrow(self.schema[name].dataType, f"ties={name!r}")
        return AggregateCall(_FUNCTIONS[how], f"ties: {how}({name})", (0,), (type_,), self.ansi)

    @staticmethod
    def _refusal(argument: str, value: object, instead: str) -> ArgumentError:
        return ArgumentError(
            argument, value, f"rows that tie are combined before it is evaluated, so {instead}"
        )
