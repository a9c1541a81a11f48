"""Filling a new query from panes: which of those that a stream has hold all that it wants.

There are the panes of queries that run, and the base panes that a stream with a grain keeps. Panes
of a query have nothing of windows that closed before, so they fill a query that need not answer
these: the next generation of another one, or one on a stream that keeps no rows. Base panes answer
them, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.engine.plan_query import plan_query
from muntin.errors import ArgumentError
from muntin.operators.shared.pane_cover import lacking
from muntin.operators.shared.program import QueryProgram
from muntin.operators.windows.operator import WindowOperator
from muntin.spark.api.stream import Stream
from muntin.spark.plan.worker_program import carried_schema
from muntin.specs.axis import Axis
from muntin.specs.lengths import parse_length

#: Aggregates of a numeric column that base panes have the accumulators of.
_NUMERIC = ("sum", "avg", "min", "max", "count")


@dataclass(frozen=True)
class PaneSource:
    """Panes that a query can begin with: those of some members, or base panes if there are none.

    ``about`` names them in explanations. ``whole`` is true if the windows that closed before can be
    made of them, too. ``short`` is true if they lack rows that are kept.
    """

    program: QueryProgram
    about: str
    donors: tuple[int, ...] = ()
    whole: bool = False
    short: bool = False


@dataclass(frozen=True)
class PaneChoice:
    """The panes that a query is filled from, or None, and why not from the others."""

    source: PaneSource | None
    lacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why no panes fill the query."""
        if not self.lacks:
            return "no query has panes"
        told = [f"those of {about} lack {what}" for about, what in self.lacks.items()]
        return "panes do not cover it: " + "; ".join(told[:_REASONS])


#: An explanation has at most so many reasons.
_REASONS = 3


def choose(sources: Iterable[PaneSource], wanted: QueryProgram, *, whole: bool) -> PaneChoice:
    """Choose panes for a query; ``whole`` asks for answers of windows that closed before, too."""
    lacks: dict[str, str] = {}
    for source in sources:
        missing = lacking(source.program, wanted)
        if missing is None and whole and not source.whole:
            missing = "windows that closed before"
        if missing is None and source.short:
            missing = "rows that are kept"
        if missing is None:
            return PaneChoice(source, lacks)
        lacks[source.about] = missing
    return PaneChoice(None, lacks)


def reach_of(program: QueryProgram) -> int:
    """Return how far before the punctuation open windows of a query may begin, in ticks."""
    operator = program.operator
    return operator.edges.range if isinstance(operator, WindowOperator) else 0


def base_program(
    name: str, stream: Stream, axis: Axis, keep: int, grain: str | int
) -> QueryProgram:
    """Return the windows whose panes a stream keeps: all rows, by its keys, every grain."""
    length = parse_length("grain", grain)
    slide = axis.length("grain", length)
    if slide <= 0 or slide > keep:
        raise ArgumentError("grain", grain, "it is a length above 0 that is not longer than keep")
    # A whole number of panes, so that each has one number.
    reach = -(-keep // slide) * slide
    keys = [_quoted(column) for column in stream.by]
    calls = _calls(carried_schema(stream), [stream.on, *stream.by])
    text = f"SELECT {', '.join(calls)} FROM {_quoted(name)} [TUMBLING {length}]"
    text += f" GROUP BY {', '.join(keys)}" if keys else ""
    program = plan_query(text, {name: (stream, axis)}).program
    operator = program.operator
    assert isinstance(operator, WindowOperator)
    edges = replace(operator.edges, range=reach)
    return replace(program, operator=replace(operator, edges=edges), answers=None)


def _calls(schema: pa.Schema, left_out: Sequence[str]) -> list[str]:
    calls = ["count(*)"]
    for column in schema:
        numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if column.name not in left_out and (numeric or pa.types.is_decimal(column.type)):
            calls += [f"{function}({_quoted(column.name)})" for function in _NUMERIC]
    return [f"{call} AS `base {place}`" for place, call in enumerate(calls)]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
