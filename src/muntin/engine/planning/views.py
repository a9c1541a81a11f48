"""Views: queries of an engine whose rows other queries read, as if they were a stream.

A view is a query that only chooses rows. Its readers are planned over the columns that it selects;
``on`` and ``by`` of the stream must be among them as they are, because readers follow the stream's
punctuation and state none. A reader keeps what the view was when it was registered, so a view that
has readers is neither changed nor dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from muntin.engine.plan_query import PlannedQuery
from muntin.engine.planning.similar_queries import SimilarQueries
from muntin.engine.registry_records import QueryRecord
from muntin.errors import CannotEvaluate, EngineError
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.view_rows import ViewRows
from muntin.parser.parse import parse_query
from muntin.parser.statements import Query
from muntin.planner.translate import tables_of
from muntin.spark.api.stream import Stream
from muntin.spark.columns import dataframe
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.axis import Axis
from muntin.specs.disorder import OUTSIDE, Disorder, Each, Punctuated


def view_of(record: QueryRecord) -> ViewRows:
    """Return the rows of a query for others that read it; raise if it is no view."""
    program: QueryProgram = from_json(record.program)
    if program.operator is not None or program.answers is None:
        raise EngineError(
            f"{record.name} makes windows or frames, and its answers are made in the shards, after "
            "rows are read; a query can read one that only chooses rows. Read the stream "
            f"{record.stream} itself, or let {record.name} write INTO files that another stream "
            "reads"
        )
    if program.prepared:
        raise EngineError(
            f"Spark prepares columns for {record.name}, and views are evaluated by workers; read "
            f"the stream {record.stream} itself"
        )
    return ViewRows(program.answers.columns, program.inputs[0].predicate, program.view)


def view_stream(name: str, view: ViewRows, stream: Stream) -> Stream:
    """Return a view as a stream over an empty table, to plan its readers on."""
    passed = {column: view.passed_on(column) for column in (stream.on, *stream.by)}
    missing = [column for column, own in passed.items() if own is None]
    if missing:
        raise EngineError(
            f"{name} does not select {missing[0]} as it is, and queries that read it follow the "
            f"stream, on {stream.on}; let {name} select {', '.join(passed)}"
        )
    empty = dataframe(stream.df.sparkSession, view.schema.empty_table())
    on, by = str(passed[stream.on]), tuple(str(passed[column]) for column in stream.by)
    disorder = _told(stream.disorder, on)
    read = replace(stream, df=empty, files=WorkerRows(empty), on=on, by=by, disorder=disorder)
    if carried_schema(read) != view.schema:
        raise CannotEvaluate(f"the columns of {name} have other types in workers than in Spark")
    return read


def _told(disorder: Disorder | None, on: str) -> Disorder | None:
    """Return the stream's disorder without columns that a view may lack.

    Punctuation is the stream's own, made before rows come to a view.
    """
    match disorder:
        case Punctuated(where=where) if where != OUTSIDE:
            return replace(disorder, where="false")
        case Each():
            return replace(disorder, columns=(on,), expect=())
    return disorder


def reader_planner(name: str, view: ViewRows, stream: Stream, axis: Axis) -> SimilarQueries:
    """Return what plans the readers of a view; it remembers their shapes."""
    return SimilarQueries({name: view_stream(name, view, stream)}, axis)


def plan_reader(query: Query, view: ViewRows, planner: SimilarQueries) -> PlannedQuery:
    """Plan a query that reads a view."""
    planned = planner.plan_parsed(query)
    if planned.finish is not None:
        raise EngineError(
            f"Spark evaluates the select list of this query, because {planned.why_spark}; a query "
            f"that reads another one, {next(iter(planner.inputs))}, is evaluated without Spark"
        )
    return replace(planned, program=replace(planned.program, view=view))


def planned_reader(record: QueryRecord) -> PlannedQuery | None:
    """Return the plan of a registered reader of a view; None if it reads a stream.

    It does not depend on the view, which may be gone by now.
    """
    if not _reads_a_view(record):
        return None
    program: QueryProgram = from_json(record.program)
    assert program.answers is not None  # else it was refused
    schema = program.answers.schema
    order = (*program.newest.keys, *reversed(program.newest.bounds))
    return PlannedQuery(record.text, record.stream, program, schema, order)


def readers_of(record: QueryRecord, live: Iterable[QueryRecord]) -> list[str]:
    """Return the names of the live queries that read a query."""
    if record.name is None:
        return []
    own = record.name.casefold()
    return sorted(
        other.name or other.id
        for other in live
        if _reads_a_view(other)
        and own in {name.casefold() for name in tables_of(parse_query(other.text))}
    )


def _reads_a_view(record: QueryRecord) -> bool:
    # Reading the JSON of every query takes longer than a look at its text.
    return '"view":{' in record.program
