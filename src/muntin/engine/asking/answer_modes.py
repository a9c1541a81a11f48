"""When the answers of a query are made, and which queries can have which way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from muntin.engine.asking.chosen_modes import AUTO, is_auto, mode_of
from muntin.engine.engine_stream import EngineStream
from muntin.engine.plan_query import PlannedQuery
from muntin.engine.registry_records import QueryRecord
from muntin.errors import ArgumentError
from muntin.operators.shared.program import AnswerMode
from muntin.specs.lengths import Duration, parse_length

ABOUT: Mapping[AnswerMode, str] = {
    "eager": "made in every micro-batch, and read from the result log",
    "partial": "kept in the shards, and logged by the micro-batch after somebody asks",
    "lazy": "computed from kept rows when somebody asks",
}
_MICROSECONDS = 1_000_000


def check_answer(
    answer: str, stream: EngineStream, planned: PlannedQuery, start: str, into: str | None
) -> AnswerMode:
    """Return when answers are made; raise if this query cannot have them so.

    With ``"auto"`` a query begins eager, and must be one that can be partial.
    """
    modes: Mapping[str, AnswerMode] = {mode: mode for mode in get_args(AnswerMode)}
    if answer not in (*modes, AUTO):
        raise ArgumentError("answer", answer, "it is eager, partial, lazy or auto")
    mode = modes.get(answer, "partial")
    if mode == "eager":
        return mode
    if planned.program.newest.changes:
        raise ArgumentError("answer", answer, "early answers are made in every micro-batch: eager")
    if planned.finish is not None:
        reason = f"Spark evaluates its select list, because {planned.why_spark}; it can be eager"
        raise ArgumentError("answer", answer, reason)
    if mode == "lazy" and planned.program.prepared:
        reason = "kept rows lack what Spark prepares for it; it can be eager or partial"
        raise ArgumentError("answer", answer, reason)
    if into is not None:
        raise ArgumentError("answer", answer, "a sink gets answers when they are made: eager")
    if mode == "partial" and start != "now":
        reason = "it begins with start='now'; eager and lazy queries can begin with history"
        raise ArgumentError("answer", answer, reason)
    if mode == "lazy" and stream.keep is None:
        reason = f"{stream.name} keeps no rows; declare it with keep='2 hours'"
        raise ArgumentError("answer", answer, reason)
    return "eager" if answer == AUTO else mode


def about_answers(record: QueryRecord) -> str:
    """Return when the answers of a query are made, and who chose that."""
    return ABOUT[mode_of(record)] + (" (chosen by the engine)" if is_auto(record) else "")


def seconds_of(argument: str, length: str) -> float:
    """Return the seconds of a length of time of the clock."""
    read = parse_length(argument, length)
    if not isinstance(read, Duration) or not read.positive:
        raise ArgumentError(argument, length, "it is a length of time, such as '10 minutes'")
    return read.micros / _MICROSECONDS
