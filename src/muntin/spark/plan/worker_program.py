"""A plan as a program that workers run on rows that they already have, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.errors import AnalysisException

from muntin.errors import CannotEvaluate
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.row_expression import RowExpression, compile_row_expression
from muntin.expressions.spark_expressions import Expression, Travelling
from muntin.operators.join.asof import AsofJoinOperator
from muntin.operators.join.reach import Around, IntervalReach, JoinReach
from muntin.operators.shared.extent_reach import ExtentReach
from muntin.operators.shared.program import ProgramInput, QueryProgram
from muntin.spark.columns import column, problem
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.inputs import PlanInput, StreamInput, TypedInput
from muntin.spark.plan.join import JoinPlan
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.requirements import setting
from muntin.spark.scan.choose import arrow_field
from muntin.spark.scan.worker_rows import CarriedRows
from muntin.specs.axis import Axis
from muntin.specs.join import left_only


def carried_schema(source: StreamInput) -> pa.Schema:
    """Return the columns of a stream in the types in which workers get them."""
    zone = zone_of(source)
    return pa.schema([arrow_field(column, zone) for column in source.df.schema.fields])


def zone_of(source: StreamInput) -> str:
    """Return the time zone of a stream's session."""
    return setting(source.df.sparkSession, "spark.sql.session.timeZone", "UTC")


def type_in_spark(source: StreamInput, expression: Expression) -> pa.DataType:
    """Return the type of an expression that Spark evaluates; raise if it cannot."""
    try:
        (made,) = source.df.select(column(expression).alias("made")).schema.fields
    except AnalysisException as error:
        raise CannotEvaluate(f"Spark says of {expression}: {problem(error)}") from error
    return arrow_field(made, zone_of(source)).type


class Preparing(Protocol):
    """Lets Spark prepare what workers cannot evaluate."""

    def schema(self, of: int) -> pa.Schema:
        """Return the columns of an input, with what is prepared of it so far."""

    def travelling(
        self, of: int, columns: Sequence[Travelling], wanted: pa.Schema
    ) -> Sequence[Travelling]:
        """Return columns that travel, with prepared ones in the place of what only Spark can."""

    def text(self, of: int, text: str, *, where: bool = False) -> str:
        """Return a text over the columns of an input, or a prepared column in its place."""


def program_of(
    plan: PlanParts, streams: Sequence[StreamInput], axis: Axis, preparing: Preparing | None = None
) -> QueryProgram:
    """Return what workers run for a plan over the inputs of a stream.

    Its answers are still those of the operator.

    Args:
        plan: The plan.
        streams: The inputs of the stream, over empty tables.
        axis: Their axis.
        preparing: Lets Spark prepare what workers cannot evaluate; None refuses it.

    Raises:
        CannotEvaluate: Only Spark can prepare the rows of the plan.
    """
    inputs = tuple(_input(plan_input, streams, axis, preparing) for plan_input in plan.inputs)
    keys = [plan_input.typed.keys for plan_input in plan.inputs]
    extent, reach = _extent(plan)
    return QueryProgram(
        member=0,
        inputs=inputs,
        operator=plan.operator,
        answers=None,
        extent=extent,
        reach=reach,
        keyed=all(own == streams[read.of].by for own, read in zip(keys, inputs, strict=True)),
    )


def _input(
    plan_input: PlanInput,
    streams: Sequence[StreamInput],
    axis: Axis,
    preparing: Preparing | None,
) -> ProgramInput:
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
    of = rows.number if isinstance(rows, CarriedRows) else 0
    carried = carried_schema(streams[of])
    wanted = pa.schema([arrow_field(field, zone) for field in typed.prepared().schema.fields])
    travelling, conditions = typed.travelling(originals=False), rows.conditions
    if preparing is not None:
        conditions = tuple(preparing.text(of, text, where=True) for text in conditions)
        travelling = [*preparing.travelling(of, travelling, wanted)]
        carried = preparing.schema(of)
    columns = ArrowColumns.of(travelling, carried, wanted, zone, errors="null")
    predicate = _predicate(conditions, carried, zone)
    return ProgramInput(columns, predicate, plan_input.everywhere, of)


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


def _extent(plan: PlanParts) -> tuple[tuple[str, str] | None, ExtentReach]:
    """Return the columns with the bounds of a result along ``on``, and how far beyond rows count.

    There are no columns if a result has ranks, or if its rows are there whatever others are.
    """
    if isinstance(plan, JoinPlan):
        return _extent_of_pairs(plan)
    reach = _reach_of_fills(plan) if isinstance(plan, FillPlan) else ExtentReach()
    plain = plan.plain if isinstance(plan, FillPlan) else plan
    names = plan.operator.result_schema.names
    if "frame_start" in names:
        return ("frame_start", "frame_end"), reach
    if isinstance(plain, WindowPlan) and plain.ranks:
        return None, reach
    return ("window_start", "window_end") if "window_start" in names else None, reach


def _reach_of_pairs(reach: JoinReach) -> tuple[int, int]:
    """Return how far before and after a left row its partners may lie."""
    match reach:
        case Around(before=before, after=after):
            return before, after
        case IntervalReach(every=every):
            return every, every
    raise AssertionError(reach)


def _reach_of_fills(plan: FillPlan) -> ExtentReach:
    """Return how far beyond a frame or window the rows lie that fill it."""
    fills = [(fill.reach, shift) for fill in plan.operator.fills for shift in fill.shifts]
    before = [reach.before - reach.shrink - shift for reach, shift in fills]
    after = [reach.after - reach.shrink + shift for reach, shift in fills]
    return ExtentReach(max(0, *before), max(0, *after))


def _extent_of_pairs(plan: JoinPlan) -> tuple[tuple[str, str] | None, ExtentReach]:
    """Return the columns with the places of the two rows of a pair, and how far apart these are."""
    left, right = plan.sides
    places = left.travels.index(left.source.on), right.travels.index(right.source.on)
    bounds = f"left{places[0]}", f"right{places[1]}"
    if isinstance(plan.operator, AsofJoinOperator):
        look = plan.operator.look
        backward = look.tolerance if look.backward else 0
        forward = look.tolerance if look.forward else 0
        return bounds, ExtentReach(backward, forward, joined=True)
    before, after = _reach_of_pairs(plan.operator.reach)
    if left_only(plan.how):
        # A left row that met one is an answer whatever else there is.
        alone = None if plan.how == "semi" else (bounds[0], bounds[0])
        return alone, ExtentReach(before, after)
    if plan.how in ("right", "full"):
        before = after = max(before, after)
    return bounds, ExtentReach(before, after, joined=True, pairs=True)


def rule_columns(typed: TypedInput) -> ArrowColumns:
    """Return what the punctuator of a stream reads of its rows."""
    carried = carried_schema(typed.source)
    zone = zone_of(typed.source)
    wanted = pa.schema([arrow_field(field, zone) for field in typed.prepared().schema.fields])
    return ArrowColumns.of(typed.travelling(originals=False), carried, wanted, zone, errors="null")
