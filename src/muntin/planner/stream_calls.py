"""A stream clause as a call of the Python API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muntin.parser.errors import SqlError
from muntin.parser.statements import Expression, FillClause, KindOfFrame, Query, Windowing
from muntin.planner.errors import located
from muntin.planner.scope import Scope, Table, rows_of
from muntin.spark.api.frame_kinds import KINDS
from muntin.spark.api.frames import Frames
from muntin.spark.api.segments import Filled, Segments
from muntin.spark.api.stream import Stream, stream
from muntin.spark.api.windows import Windowed
from muntin.spark.columns import condition
from muntin.spark.types import DataFrame
from muntin.specs.disorder import Disorder
from muntin.specs.frames.schemes import Schedule


def described(
    windowing: Windowing, table: Table, df: DataFrame, on: str, by: Sequence[str]
) -> Stream:
    """The stream that windows are made of: what was declared, and what the clause says."""
    made = redescribed(table, df, on, by, windowing.disorder)
    schedule = windowing.arguments.get("schedule", made.schedule)
    return replace(made, schedule=schedule if isinstance(schedule, Schedule) else None)


def redescribed(
    table: Table, df: DataFrame, on: str, by: Sequence[str], disorder: Disorder | None
) -> Stream:
    """Rows as a stream; what is not said here is as it was declared, if it was."""
    declared = table if isinstance(table, Stream) else None
    if declared is None:
        return stream(df, on, tuple(by), disorder)
    made = stream(
        df,
        on,
        tuple(by),
        disorder or declared.disorder,
        shards=declared.shards,
        functions=declared.functions,
        schedule=declared.schedule,
    )
    return replace(made, control=declared.control, clock=declared.clock)


def check_disorder(query: Query, windowing: Windowing, source: Stream) -> None:
    """Refuse a stream of which nobody would know what is complete, in the language's words."""
    arriving = windowing.method == "rows" and windowing.arguments.get("order") == "arrival"
    told = source.disorder is not None or source.control is not None
    if source.df.isStreaming and not told and not arriving:
        problem = "it is not said how disordered this stream is, so no window would ever close"
        expected = (
            "DISORDER ORDERED, DISORDER SLACK '10 seconds' or another, here or in CREATE STREAM"
        )
        raise SqlError(problem, query.text, windowing.place, expected=expected)


def segmented(
    query: Query, windowing: Windowing, source: Stream, group: Sequence[str]
) -> Windowed | Frames:
    """The windows or frames of a stream, waiting for aggregates."""
    given = {name: value for name, value in windowing.arguments.items() if name != "schedule"}
    near = list(given.values())
    with located(query, windowing.place, windowing.places, near):
        arguments = {name: _value(name, value) for name, value in given.items()}
        if group:
            arguments["group"] = tuple(group)
        made = getattr(source, windowing.method)(**arguments)
    assert isinstance(made, Windowed | Frames)
    return made


def filled(query: Query, fill: FillClause, segments: Segments, scope: Scope) -> Filled:
    """Windows or frames with what fills them."""
    other = scope.find(fill.table)
    if other is None:
        raise SqlError(f"there is no stream or table {fill.table}", query.text, fill.place)
    if not isinstance(other, Stream) and other.isStreaming:
        problem = f"it is not said how disordered {fill.table} is, so no frame would ever be full"
        expected = "a stream that CREATE STREAM or mt.stream(...) describes"
        raise SqlError(problem, query.text, fill.place, expected=expected)
    _check_keys(query, fill, segments, other)
    arguments = {name: _value(name, value) for name, value in fill.arguments.items()}
    with located(query, fill.place, fill.places, list(fill.arguments.values())):
        return segments.fill(other, **arguments)  # type: ignore[arg-type]


def _check_keys(query: Query, fill: FillClause, segments: Segments, other: Table) -> None:
    """Rows that say nothing of keys match by columns of the same name."""
    if "key" in fill.arguments or isinstance(other, Stream):
        return
    missing = [key for key in segments.bare.keys if key not in other.columns]
    if missing:
        problem = f"{fill.table} has no column {missing[0]}, so it is not clear which rows match"
        expected = f"MATCHING ({missing[0]} = its column), or MATCHING NONE"
        raise SqlError(problem, query.text, fill.place, expected=expected)


def columns_of(fill: FillClause, scope: Scope) -> list[str]:
    """The columns of what fills."""
    other = scope.find(fill.table)
    return [] if other is None else rows_of(other).columns


def _value(name: str, value: object) -> object:
    """An argument as Python takes it: texts for expressions, a column for a gap of rows."""
    if isinstance(value, Expression):
        return condition(value.text) if name == "gap" else value.text
    if isinstance(value, KindOfFrame):
        arguments = {key: _value(key, inner) for key, inner in value.arguments.items()}
        return KINDS[value.word](**arguments)
    return value
