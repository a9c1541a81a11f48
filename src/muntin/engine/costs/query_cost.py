"""What one query has cost, and its part of what it shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import pyarrow as pa

from muntin.engine.commit import MemberCounts
from muntin.engine.costs.stream_costs import PartCost, StreamCosts
from muntin.engine.registry_records import QueryRecord
from muntin.specs.byte_sizes import written_bytes


@dataclass(frozen=True)
class QueryCost:
    """What the current generation of a query has cost since the engine started.

    Attributes:
        query: Its name, or its id.
        stream: The stream that it reads.
        runs_as: What runs it, such as ``windows over shared panes``.
        shared_with: The queries that run with it.
        rows: The rows of the stream since it began.
        used: The rows that count in its answers.
        selectivity: ``used`` for each of ``rows``; None before any row.
        late: Rows that were dropped because they came too late.
        refused: All rows that were dropped, the late ones too.
        shed: Rows that were not used because of a budget.
        waiting: Rows that wait until there is room in the budget.
        between: Used rows that lie between windows, and so in none.
        answers: The rows of its answers.
        answer_bytes: Their bytes.
        cpu_seconds: Processor time: that of what runs it, divided by the queries that share it.
        state_bytes: What is kept for it and those it shares with.
        message_bytes: What was sent to shards for it and those it shares with.
    """

    query: str
    stream: str
    runs_as: str
    shared_with: tuple[str, ...]
    rows: int
    used: int
    selectivity: float | None
    late: int
    refused: int
    shed: int
    waiting: int
    between: int
    answers: int
    answer_bytes: int
    cpu_seconds: float
    state_bytes: int
    message_bytes: int


@dataclass(frozen=True)
class RunningPart:
    """What runs a query: its name in reports, its kind, and the queries that share it."""

    name: str
    kind: str
    queries: tuple[str, ...]


#: What is said of a query that workers run nothing for: a lazy one, or one that has not begun.
NOTHING = RunningPart("", "nothing until it is asked or in force", ())

_TYPES = {
    "str": pa.string(),
    "tuple[str, ...]": pa.list_(pa.string()),
    "int": pa.int64(),
    "float": pa.float64(),
    "float | None": pa.float64(),
}
#: The columns of ``engine.costs()``.
COSTS = pa.schema([(field.name, _TYPES[str(field.type)]) for field in fields(QueryCost)])


def cost_of(
    record: QueryRecord, counts: MemberCounts, costs: StreamCosts, part: RunningPart
) -> QueryCost:
    """Return what a query has cost."""
    name = record.name or record.id
    rows = costs.rows_seen(record.number)
    whole = costs.part(part.name) if part.name else PartCost()
    return QueryCost(
        query=name,
        stream=record.stream,
        runs_as=part.kind,
        shared_with=tuple(other for other in part.queries if other != name),
        rows=rows,
        used=counts.used,
        selectivity=counts.used / rows if rows else None,
        late=counts.late,
        refused=counts.refused,
        shed=counts.shed,
        waiting=counts.waiting,
        between=counts.between,
        answers=counts.answers,
        answer_bytes=costs.answer_bytes(record.number),
        cpu_seconds=whole.cpu_seconds / max(1, len(part.queries)),
        state_bytes=whole.state_bytes,
        message_bytes=whole.message_bytes,
    )


def table_of(costs: Iterable[QueryCost]) -> pa.Table:
    """Return costs as a table with a row for each query."""
    rows = [{**vars(cost), "shared_with": [*cost.shared_with]} for cost in costs]
    return pa.Table.from_pylist(rows, COSTS)


def in_words(cost: QueryCost) -> str:
    """Return what a query has cost as a line of text."""
    share = "" if cost.selectivity is None else f" ({cost.selectivity:.1%})"
    return (
        f"used {cost.used:,} of {cost.rows:,} rows{share}, dropped {cost.refused:,}, "
        f"{cost.answers:,} answers, {cost.cpu_seconds:.3f} s of processor time, "
        f"{written_bytes(cost.state_bytes)} of state and {written_bytes(cost.message_bytes)} of "
        "messages with those that share it"
    )
