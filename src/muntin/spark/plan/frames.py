"""The plan of frames: their operator, and the columns of a stream that travel to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column as SparkColumn
from pyspark.sql import types as spark_types

from muntin.aggregates.bind import parse_condition
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, slots_of
from muntin.aggregates.parse_conditions import parse_bridge, parse_two_rows
from muntin.errors import ArgumentError, ExpressionError, UnknownColumnError
from muntin.expressions.nodes import Node, Slot
from muntin.expressions.spark_expressions import (
    Expression,
    Lacking,
    Name,
    Native,
    Sql,
    Travelling,
)
from muntin.expressions.types import check, no_aggregate
from muntin.operators.common.forgetting import Forgetting
from muntin.operators.frames.arrow_kind import FrameOperatorInputs, time_axis
from muntin.operators.frames.batch_runs import in_batch
from muntin.operators.frames.build import build
from muntin.operators.frames.kinds.aggregate import refuse_unbounded
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import Bridge, RowCondition
from muntin.operators.protocol import Operator
from muntin.spark.columns import column, to_arrow, to_spark
from muntin.spark.plan.row_conditions import ConditionColumns
from muntin.spark.plan.tied_rows import TieColumns
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.frames.frame_kind import MISSING, Operand
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Boundary
from muntin.specs.lengths import Duration

#: Muntin's own columns of a frame without aggregates.
WHOLE = ("frame_id", "frame_start", "frame_end", "n", "n_missing", "status")


@dataclass(frozen=True, eq=False)
class FramePlan(WindowPlan):
    """Frames of a stream, and the columns of their results."""

    @property
    def framing(self) -> Framing:
        assert isinstance(self.spec, Framing)
        return self.spec

    @property
    def region_bounds(self) -> tuple[str, str] | None:
        return None if self.framing.kind.second_axis is None else ("along_start", "along_end")

    @cached_property
    def slots(self) -> list[Expression]:
        """Every expression that Spark evaluates for the aggregates of rows, once each."""
        slots = [slot for aggregate in self._aggregates for slot in slots_of(aggregate)]
        return list(dict.fromkeys(slots))

    @cached_property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates of rows with their types."""
        return tuple(self._calls_of(self._aggregates))

    @property
    def _aggregates(self) -> list[Aggregate]:
        """The aggregates of rows; first the one that decides which rows are in, if there is one."""
        deciding = self.framing.kind.window_aggregate
        first = [deciding] if isinstance(deciding, Aggregate) else []
        return [*first, *(a for c in self.columns for a in c.aggregates)]

    @cached_property
    def slot_types(self) -> tuple[spark_types.DataType, ...]:
        if self.combining is None:
            return super().slot_types
        return tuple(to_spark(self._types[f"s{place}"]) for place in range(len(self.slots)))

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        counts = () if self.columns else ("n", "n_missing")
        return (
            "frame_id",
            "frame_start",
            "frame_end",
            *(self.region_bounds or ()),
            *self.framing.kind.own_columns,
            *counts,
            "status",
        )

    @cached_property
    def beside(self) -> tuple[tuple[str, str], ...]:
        return (("n", "n"), ("n_missing", "n_missing"))

    def _selected(self) -> list[Travelling]:
        """Return what travels: plain columns if rows that tie are combined to one row."""
        if self.combining is None:
            return super()._selected()
        keys = [(f"k{place}", self._key(name)) for place, name in enumerate(self.keys)]
        columns = [(f"c{place}", Name(name)) for place, name in enumerate(self.combining.names)]
        return [("on", Name(self.source.on)), *keys, *columns, *self._for_the_rule()]

    @cached_property
    def combining(self) -> TieColumns | None:
        """The columns of rows that tie and become one row; None if they do not."""
        framing, kind = self.framing, self.framing.kind
        if not framing.combines_ties:
            return None
        ties = TieColumns(self.schema, framing.ties, self.ansi, self.axis.zone)
        for place, operand in enumerate(self._operands):
            add = ties.condition if operand.role == "condition" else ties.value
            add(f"f{place}", operand.argument, operand.given)
        if kind.start_condition is not None:
            ties.condition("opens", "start", kind.start_condition)
        for place, name in enumerate(self._bridged_texts):
            ties.value(f"m{place}", "missing", name)
        ties.slots(self.slots)
        return ties

    @property
    def _operands(self) -> tuple[Operand, ...]:
        """What the kind reads of every row, or the slots of its running aggregates."""
        if self._looking_back is not None:
            return tuple(self._looking_back.operands)
        if not self._deciding:
            return self.framing.kind.operands
        slots = dict.fromkeys(slot for aggregate in self._deciding for slot in slots_of(aggregate))
        return tuple(Operand("condition", slot, "value") for slot in slots)

    @property
    def _deciding(self) -> list[Aggregate]:
        """The running aggregates that decide about frames."""
        return [a for a in self.framing.kind.running_aggregates if isinstance(a, Aggregate)]

    @cached_property
    def _looking_back(self) -> ConditionColumns | None:
        """What the conditions of a kind read that may read the row before; None for others."""
        framing = self.framing
        if not framing.kind.looks_back:
            return None
        read = ConditionColumns(self.schema.names, self.axis.zone, framing.combines_ties)
        for condition in framing.kind.operands:
            read.add(condition)
        return read

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        """The types of the columns that the operator reads."""
        if self.combining is None:
            label = self.framing.kind.label
            ours = [f for f in self.prepared().schema if f.name[0] in "ftm"]
            return {f.name: to_arrow(f.dataType, label) for f in ours if f.name[1:].isdigit()}
        combined = self.combining.combined()
        return {
            name: combined.types[node.place] if isinstance(node, Slot) else pa.bool_()
            for name, node in combined.derived
        }

    def _for_the_window(self) -> list[Travelling]:
        """Return what the kind reads, and what decides about missing rows and ties."""
        kind, framing = self.framing.kind, self.framing
        columns = [
            (f"f{place}", self._operand(operand)) for place, operand in enumerate(self._operands)
        ]
        if self._deciding:
            columns.append(("lacks", self._lacks(self._deciding)))
        if kind.start_condition is not None:
            columns.append(("opens", self._expression("start", kind.start_condition)))
        if framing.until is not None:
            columns.append(("until", self._until(framing.until)))
        columns += [(f"t{place}", tie) for place, tie in enumerate(self._ties)]
        bridged = enumerate(self._bridged_texts)
        columns += [(f"m{place}", self._expression("missing", text)) for place, text in bridged]
        return columns

    @property
    def _ties(self) -> list[Expression]:
        """What orders rows that tie; last a hash of the whole row."""
        names = self.framing.tie_order
        hashed = [self._row_hash()] if names else []
        return [*(self._named("tie_order", name) for name in names), *hashed]

    def _operand(self, operand: Operand) -> Expression:
        """Return an operand of the kind as an expression."""
        if operand.role == "column":
            return self._named(operand.argument, str(operand.given))
        if isinstance(operand.given, Expression):
            return operand.given
        return self._expression(operand.argument, operand.given)

    def _lacks(self, aggregates: Sequence[Aggregate]) -> Expression:
        """True where an argument of an aggregate is null or NaN."""
        arguments = dict.fromkeys(a for aggregate in aggregates for a in aggregate.arguments)
        return Lacking(tuple(arguments), tuple(filter(self._is_floating, arguments)))

    def _is_floating(self, argument: Expression) -> bool:
        kind = self.source.df.select(column(argument)).schema[0].dataType
        return isinstance(kind, spark_types.DoubleType | spark_types.FloatType)

    def _expression(self, argument: str, expression: object) -> Expression:
        """Return a condition or value as an expression."""
        if isinstance(expression, SparkColumn):
            return Native(expression)
        if not isinstance(expression, str):
            raise ArgumentError(argument, expression, "it is SQL text or a PySpark column")
        if expression in self.schema.names:
            return Name(expression)
        return Sql(parse_condition(expression))

    def _named(self, argument: str, name: str) -> Name:
        if name not in self.schema.names:
            raise UnknownColumnError(argument, name, self.schema.names)
        return Name(name)

    def _until(self, name: str) -> Name:
        until = self._named("until", name)
        on = self.schema[self.source.on].dataType
        if self.schema[name].dataType != on:
            raise ArgumentError(
                "until", name, f"it must be a column like `on`, {on.simpleString()}"
            )
        return until

    @cached_property
    def _bridged(self) -> tuple[Node, tuple[tuple[str, str], ...]] | None:
        """The condition on missing rows, and for each of its slots the row and the expression."""
        missing = self.framing.missing
        if not self.framing.predicted:
            return None
        # Rows that tie are combined after the exchange, so only their columns travel.
        if self.framing.combines_ties:
            tree, written = parse_bridge(missing, self.axis.zone)
            return tree, tuple(self._bridging(missing, column) for column in written)
        tree, parts = parse_two_rows(missing, self.axis.zone)
        for part in parts:
            for name in part.columns:
                self._bridging(missing, name)
        return tree, tuple((_side(part.columns[0], missing)[0], part.text) for part in parts)

    def _bridging(self, missing: str, written: str) -> tuple[str, str]:
        """Return the row and the name of a column in the condition on missing rows."""
        side, name = _side(written, missing)
        self._named("missing", name if name in self.schema.names else name.partition(".")[0])
        return side, name

    @cached_property
    def _bridged_texts(self) -> tuple[str, ...]:
        """What the condition on missing rows reads: columns, or SQL on columns of one row."""
        sides = () if self._bridged is None else self._bridged[1]
        return tuple(dict.fromkeys(text for _, text in sides))

    @cached_property
    def _bridge(self) -> Bridge | None:
        if self._bridged is None:
            return None
        (tree, sides), texts = self._bridged, self._bridged_texts
        types = tuple(self._types[f"m{place}"] for place in range(len(texts)))
        slots = tuple((side, texts.index(text)) for side, text in sides)
        check(tree, [types[place] for _, place in slots], no_aggregate, self.framing.missing)
        return Bridge(tree, slots, types)

    @cached_property
    def frame_types(self) -> FrameOperatorInputs:
        """The inputs of an operator except its framing."""
        return FrameOperatorInputs(
            axis=self.axis,
            keys=self.key_types,
            calls=self.calls,
            bound_type=self.on_type,
            lateness_type=self.lateness_type,
            read=self._typed("f"),
            ties=self._typed("t"),
            bridge=self._bridge,
            digest=self._digest,
            combined=None if self.combining is None else self.combining.combined(),
            row_conditions=self._row_conditions,
        )

    @property
    def _row_conditions(self) -> tuple[RowCondition, ...]:
        back = self._looking_back
        return () if back is None else back.checked(self._typed("f"))

    def _typed(self, letter: str) -> tuple[pa.DataType, ...]:
        """Return the types of the columns ``f0..``, ``t0..`` and the like, in their order."""
        names = [name for name in self._types if name[0] == letter and name[1:].isdigit()]
        return tuple(self._types[f"{letter}{place}"] for place in range(len(names)))

    @property
    def _digest(self) -> str:
        """A hash of the code of a user's own framing function, the same each time it is sent."""
        code = self.framing.kind.user_code
        if code is None:
            return ""
        packed: bytes = cloudpickle.dumps(code)  # type: ignore[no-untyped-call]
        return hashlib.sha256(packed).hexdigest()

    @cached_property
    def operator(self) -> FrameOperator | Forgetting:
        return build(self.framing, self.frame_types)

    @property
    def framer(self) -> FrameOperator:
        """The operator that finds the frames of a key, whether keys are forgotten or not."""
        operator = self.operator
        return operator.plain if isinstance(operator, Forgetting) else operator  # type: ignore[return-value]

    def _anchors(self, zone: str) -> tuple[int | str, ...]:
        """Return the ticks from which slots are counted, and the steps of a boundary of times."""
        slots, kind = super()._anchors(zone), self.framing.kind
        if not isinstance(kind, Boundary) or not isinstance(kind.every, Duration):
            return slots
        axis = replace(time_axis(self._types["f0"]), zone=zone)
        return (*slots, axis.default_origin(axis.length("every", kind.every)))

    @property
    def batch_operator(self) -> Operator:
        return in_batch(self.operator)

    def check_streams(self) -> None:
        super().check_streams()
        if self.framing.longest and self.source.control is None:
            raise ArgumentError(
                "longest",
                True,
                "which frame is the longest is known only when the stream ends, and nothing ends "
                "this one; add control=mt.control(spark, folder), in which mt.end(folder) ends it, "
                "or read a batch",
            )
        refuse_unbounded(self.framing, self.framer)


def _side(written: str, text: str) -> tuple[str, str]:
    """Return the row, prev or next, of a column in a condition on missing rows; and its name."""
    side, _, name = written.replace("`", "").partition(".")
    if written == text.strip() and not name:
        known = ", ".join(map(repr, MISSING))
        example = "a condition on the real rows around it: 'prev.v > 3 AND next.v > 3'"
        raise ArgumentError("missing", text, f"it is one of {known}, or {example}")
    if side.lower() not in ("prev", "next") or not name:
        raise ExpressionError(
            f"{written} belongs to no row; write prev.{written} for the real row before a missing "
            f"one and next.{written} for the one after it",
            text,
            max(0, text.find(written)),
        )
    return side.lower(), name
