"""What the answers of a query are worth: whether that can be, and where a program has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from muntin.engine.overload.stream_load import StreamLoad
from muntin.engine.registry_records import QueryRecord
from muntin.errors import ArgumentError
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.program import AnswerMode, QueryProgram
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkStream
from muntin.specs.qos import Qos, QosGraph


class LoadedStream(Protocol):
    """A stream of an engine, as checks of graphs use it."""

    @property
    def name(self) -> str: ...
    @property
    def load(self) -> StreamLoad: ...
    @property
    def network(self) -> NetworkStream: ...


def qos_of(record: QueryRecord) -> Qos | None:
    """Return what the answers of a query are worth, if somebody said so."""
    if '"qos":{' not in record.program:  # reading the JSON of every query would take longer
        return None
    qos: Qos | None = from_json(record.program).qos
    return qos


def with_qos(program: QueryProgram, qos: Qos | None) -> QueryProgram:
    """Return a program whose answers are worth something."""
    return program if qos is None else replace(program, qos=qos)


def check_qos(
    stream: LoadedStream,
    program: QueryProgram,
    qos: Qos | None,
    mode: AnswerMode,
    *,
    new: bool = True,
) -> Qos | None:
    """Return what the answers of a query are worth; raise if it cannot be.

    Graphs that are not ``new`` were feasible when they came: a load of now does not refuse them.
    """
    if qos is None:
        return None
    if mode != "eager":
        reason = f"answers of a query with answer={mode!r} are delivered when somebody asks"
        raise ArgumentError("qos", str(qos), f"{reason}; graphs are for answer='eager'")
    if new:
        _check_feasible(stream, qos)
    if qos.value is not None:
        _check_column(stream, program, qos.value)
    return qos


def _check_feasible(stream: LoadedStream, qos: Qos) -> None:
    """Raise if answers cannot come as soon as all of their worth needs [AU-34]."""
    usual, interval = stream.load.times.usual, stream.load.interval
    least, why = usual or 0.0, "its micro-batches take so long"
    if interval > least:
        least, why = interval, "its micro-batches begin so far apart"
    good = qos.delay.good_until
    if good < least:
        reason = (
            f"answers over {stream.name} cannot come within {good:g} seconds: {why}, "
            f"{least:.3g} seconds; a delay of {least:.3g} seconds or more is feasible"
        )
        raise ArgumentError("qos", str(qos), reason)


def _check_column(stream: LoadedStream, program: QueryProgram, graph: QosGraph) -> None:
    """Raise if a graph of values is not about a numeric column of the rows of a query."""
    inputs = stream.network.inputs
    if program.view is not None or len(program.inputs) != 1:
        reason = "a graph of values is for queries that read one input of a stream, and no view"
        raise ArgumentError("qos", str(graph), reason)
    schema = carried_schema(inputs[program.inputs[0].of].planning)
    numeric = [
        field.name
        for field in schema
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    ]
    if graph.column not in numeric:
        there = ", ".join(numeric) or "none"
        reason = (
            f"{graph.column} is no numeric column that {stream.name} carries; these are: {there}"
        )
        raise ArgumentError("qos", str(graph), reason)
