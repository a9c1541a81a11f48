"""A plan as a program that workers run on rows that they already have, without Spark."""

from __future__ import annotations

import pyarrow as pa

from muntin.errors import CannotEvaluate
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.row_expression import RowExpression, compile_row_expression
from muntin.operators.shared.program import ProgramInput, QueryProgram
from muntin.spark.plan.inputs import PlanInput, StreamInput, TypedInput
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.requirements import setting
from muntin.spark.scan.choose import arrow_field
from muntin.specs.axis import Axis


def carried_schema(source: StreamInput) -> pa.Schema:
    """Return the columns of a stream in the types in which workers get them."""
    zone = zone_of(source)
    return pa.schema([arrow_field(column, zone) for column in source.df.schema.fields])


def zone_of(source: StreamInput) -> str:
    """Return the time zone of a stream's session."""
    return setting(source.df.sparkSession, "spark.sql.session.timeZone", "UTC")


def program_of(plan: PlanParts, stream: StreamInput, axis: Axis) -> QueryProgram:
    """Return what workers run for a plan over a stream; its answers are still the operator's.

    Raises:
        CannotEvaluate: Only Spark can prepare the rows of the plan.
    """
    carried = carried_schema(stream)
    inputs = tuple(_input(plan_input, carried, axis) for plan_input in plan.inputs)
    first = plan.inputs[0].typed
    return QueryProgram(
        member=0,
        inputs=inputs,
        operator=plan.operator,
        answers=None,
        extent=_extent(plan),
        keyed=first.keys == stream.by,
    )


def _input(plan_input: PlanInput, carried: pa.Schema, axis: Axis) -> ProgramInput:
    typed = plan_input.typed
    if plan_input.stored:
        raise CannotEvaluate(f"the {plan_input.name} comes from a table")
    if typed.axis != axis:
        raise CannotEvaluate(
            f"its lengths need {typed.axis.digits} decimals of {typed.source.on}, and the stream "
            f"has {axis.digits}; declare the stream with a grain that is fine enough"
        )
    rows = typed.source.scannable
    if rows is None or rows.only_spark is not None:
        why = "they are not the stream's own" if rows is None else rows.only_spark
        raise CannotEvaluate(f"only Spark can prepare its rows: {why}")
    zone = zone_of(typed.source)
    wanted = pa.schema([arrow_field(field, zone) for field in typed.prepared().schema.fields])
    travelling = typed.travelling(originals=False)
    columns = ArrowColumns.of(travelling, carried, wanted, zone, errors="null")
    return ProgramInput(columns, _predicate(rows.conditions, carried, zone), plan_input.everywhere)


def _predicate(conditions: tuple[str, ...], carried: pa.Schema, zone: str) -> RowExpression | None:
    """Return the condition that rows must meet; None if there is none."""
    if not conditions:
        return None
    return condition_of(" AND ".join(f"({text})" for text in conditions), carried, zone)


def condition_of(text: str, columns: pa.Schema, zone: str) -> RowExpression:
    """Return a condition on rows, which is null where Spark's ANSI mode raises an error."""
    types = dict(zip(columns.names, columns.types, strict=True))
    condition = compile_row_expression(text, types, zone=zone, errors="null")
    if not pa.types.is_boolean(condition.type):
        raise CannotEvaluate(f"{text!r} is no condition")
    return condition


def _extent(plan: PlanParts) -> tuple[str, str] | None:
    """Return the columns with the bounds of a result along ``on``; None if it has ranks."""
    names = plan.operator.result_schema.names
    if "frame_start" in names:
        return "frame_start", "frame_end"
    if isinstance(plan, WindowPlan) and plan.ranks:
        return None
    return ("window_start", "window_end") if "window_start" in names else None


def rule_columns(typed: TypedInput) -> ArrowColumns:
    """Return what the punctuator of a stream reads of its rows."""
    carried = carried_schema(typed.source)
    zone = zone_of(typed.source)
    wanted = pa.schema([arrow_field(field, zone) for field in typed.prepared().schema.fields])
    return ArrowColumns.of(typed.travelling(originals=False), carried, wanted, zone, errors="null")
