"""What the API answers about queries, streams and the rest, as plain data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any, Protocol

import pyarrow as pa

from muntin.engine.costs.network_graph import StreamNetwork
from muntin.engine.costs.query_cost import QueryCost
from muntin.engine.costs.would_add import Addition
from muntin.engine.engine_stream import EngineStream
from muntin.engine.handle import Activation
from muntin.engine.registry_records import QueryRecord
from muntin.operators.shared.as_json import from_json
from muntin.parser.hidden_secrets import without_secrets
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.stop import seconds_of_last_batch

#: A row older than this was not made now: its distance to the clock says nothing about the engine.
_OF_NOW = 86_400.0
_SECOND = 1_000_000


class ShownEngine(Protocol):
    """What is asked of an engine to describe its queries."""

    @property
    def registry(self) -> Any: ...
    def stream_of(self, name: str) -> EngineStream: ...
    def estimated_bytes(self, stream: str | None = None) -> int: ...


def columns_of(schema: pa.Schema) -> list[dict[str, str]]:
    """Return columns by name and type."""
    return [{"name": field.name, "type": str(field.type)} for field in schema]


def plain(value: object) -> object:
    """Return a value as JSON has it: times are texts."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, int | float | str | bool | None) else str(value)


def query_shape(
    record: QueryRecord,
    cost: QueryCost,
    freshness: Mapping[str, float | None],
    shed: int = 0,
    staged: int | None = None,
) -> dict[str, Any]:
    """Return a query as the API describes it; ``staged`` is its staged generation."""
    return {
        **query_status(record, cost, freshness, shed),
        "stream": record.stream,
        "text": without_secrets(record.text),
        "owner": record.owner,
        "description": record.description or None,
        "tags": [*record.tags],
        "start": record.start,
        "until": record.until,
        "emit": record.emit,
        "created": record.created,
        "preview": record.name is None,
        "staged": staged,
        "open_windows": None,
        "open_frames": None,
    }


def query_status(
    record: QueryRecord, cost: QueryCost, freshness: Mapping[str, float | None], shed: int = 0
) -> dict[str, Any]:
    """Return what changes of a query from one micro-batch to the next."""
    return {
        "id": record.id,
        "name": record.name,
        "generation": record.generation,
        "status": record.status,
        "since": None if record.since is None else record.since[0],
        "reason": record.reason,
        "cost": cost_shape(cost, shed),
        "freshness": dict(freshness),
    }


def cost_shape(cost: QueryCost, shed: int = 0) -> dict[str, Any]:
    """Return what a query has cost, and how many rows were shed for it."""
    return (
        {"shed": shed}
        | {name: value for name, value in asdict(cost).items() if name not in ("query", "stream")}
        | {"shared_with": [*cost.shared_with]}
    )


def described(engine: ShownEngine, record: QueryRecord, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query with its columns, its keys and all its generations."""
    planned = engine.stream_of(record.stream).plan_of(record)
    program = from_json(record.program)
    generations = [
        {
            "generation": own.generation,
            "status": own.status,
            "text": without_secrets(own.text),
            "staged": own.staged,
            "since": None if own.since is None else own.since[0],
            "reason": own.reason,
        }
        for own in engine.registry.generations(record.id)
    ]
    return {
        "query": dict(shape),
        "columns": columns_of(planned.columns),
        "keys": [*program.newest.keys],
        "generations": generations,
    }


def stream_shape(engine: ShownEngine, stream: EngineStream) -> dict[str, Any]:
    """Return a stream with its columns and how far it is."""
    source = stream.network.source
    return {
        **stream_status(engine, stream),
        "columns": columns_of(stream_columns(stream)),
        "on": source.on,
        "by": [*source.by],
        "keep": stream.keep is not None,
        "inputs": [*stream.inputs],
    }


def stream_columns(stream: EngineStream) -> pa.Schema:
    """Return the columns that queries can read, of all inputs."""
    fields = {
        field.name: field for own in stream.network.inputs for field in carried_schema(own.planning)
    }
    return pa.schema([*fields.values()])


def stream_status(engine: ShownEngine, stream: EngineStream) -> dict[str, Any]:
    """Return what changes of a stream from one micro-batch to the next."""
    return {
        "name": stream.name,
        "queries": len(engine.registry.search(stream=stream.name)),
        "micro_batch": None if stream.micro_batch < 0 else stream.micro_batch,
        "punctuation": plain(stream.value_of(stream.progress.reached)),
        "rows": stream.costs.rows,
        "state_bytes": stream.costs.state_bytes,
        "estimated_bytes": engine.estimated_bytes(stream.name),
    }


def freshness_of(stream: EngineStream) -> dict[str, float | None]:
    """Return how old answers are, in seconds: what came late, what waited, and the work itself.

    ``input_lag`` is the distance of the newest row to the clock, where rows are of today.
    ``disorder_wait`` is how far the punctuation is below the newest row. ``own_work`` is how long
    the last micro-batch took.
    """
    progress, axis = stream.progress, stream.network.axis
    lag = wait = None
    query = stream.query
    work = None if query is None else seconds_of_last_batch(query)
    if axis.domain.temporal and progress.largest is not None:
        newest = stream.value_of(progress.largest)
        if isinstance(newest, datetime):
            aware = newest if newest.tzinfo is not None else newest.replace(tzinfo=UTC)
            lag = time.time() - aware.timestamp()
            lag = lag if abs(lag) < _OF_NOW else None
            if progress.reached is not None:
                wait = max(0, progress.largest - progress.reached) / _SECOND
    return {"input_lag": lag, "disorder_wait": wait, "own_work": work}


def network_shape(network: StreamNetwork) -> dict[str, Any]:
    """Return a network; its arrows name the boxes between which they are."""
    shape = dict(network.json)
    shape["arrows"] = [
        {"source": arrow.start, "target": arrow.end, "rows": arrow.rows} for arrow in network.arrows
    ]
    return shape


def active_shape(active: Activation) -> dict[str, Any]:
    """Return since when a command is in force."""
    return {**asdict(active), "punctuation": plain(active.punctuation)}


def plain_addition(addition: Addition) -> dict[str, Any]:
    """Return what a query would add."""
    return {**asdict(addition), "fits": addition.fits}
