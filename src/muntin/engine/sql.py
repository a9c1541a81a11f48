"""``engine.sql``: statements run against an engine, each answered with a table.

CREATE STREAM declares a stream, CREATE QUERY registers a query; ALTER, PAUSE, RESUME, INVOKE and
DROP are about queries by name. What an engine does not do is refused by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.engine.sinks.sql_triggers import SqlTriggers, written_call
from muntin.errors import ArgumentError, EngineError, UnknownQueryError
from muntin.parser.engine_statements import CreateSummary, QueryCommand
from muntin.parser.errors import Position, SqlError, closest
from muntin.parser.parse import parse, statement_texts
from muntin.parser.statements import (
    AlterQuery,
    CreateInputs,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Describe,
    Drop,
    Explain,
    Query,
    Select,
    SetOption,
    Show,
    Statement,
)
from muntin.session.catalog import Catalog, refusal
from muntin.session.safe.safe_mode import SafeMode
from muntin.session.session import without_secrets
from muntin.session.sources import Sources
from muntin.spark.api.control import heartbeat
from muntin.spark.columns import DataFrame, SparkSession

#: The columns of SHOW QUERIES.
_QUERIES = pa.schema(
    [
        *(("name", pa.string()), ("id", pa.string()), ("generation", pa.int64())),
        *(("status", pa.string()), ("stream", pa.string()), ("owner", pa.string())),
        *(("tags", pa.list_(pa.string())), ("description", pa.string())),
        *(("since", pa.int64()), ("rows", pa.int64()), ("used", pa.int64())),
        *(("selectivity", pa.float64()), ("late", pa.int64()), ("refused", pa.int64())),
        *(("answers", pa.int64()), ("cpu_seconds", pa.float64()), ("state_bytes", pa.int64())),
        *(("message_bytes", pa.int64()), ("runs_as", pa.string())),
        *(("shared_with", pa.list_(pa.string())), ("reason", pa.string()), ("text", pa.string())),
    ]
)
_STREAMS = pa.schema(
    [
        *(("name", pa.string()), ("queries", pa.int64()), ("micro_batch", pa.int64())),
        *(("punctuation", pa.string()), ("rows", pa.int64()), ("state_bytes", pa.int64())),
        *(("estimated_bytes", pa.int64()), ("statement", pa.string())),
    ]
)
#: Where the detail of a stream that was created in SQL has its statement, in the registry.
STATEMENT = "statement"


class StatementEngine(Protocol):
    """What statements need of an engine."""

    @property
    def spark(self) -> SparkSession: ...
    @property
    def folder(self) -> Path: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def stream(self) -> Callable[..., Any]: ...
    @property
    def register(self) -> Callable[..., Any]: ...
    def change(self, name: str, text: str) -> Any: ...
    def command(self, kind: str, name: str) -> Any: ...
    def queries(self) -> Sequence[QueryRecord]: ...
    def ask(self, text: str) -> pa.Table: ...
    @property
    def explain(self) -> Callable[..., str]: ...
    def network(self) -> Mapping[str, Any]: ...
    def costs(self) -> pa.Table: ...
    def estimated_bytes(self, stream: str | None = None) -> int: ...
    @property
    def summary(self) -> Callable[..., Any]: ...
    def stream_of(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...


def run_statements(
    engine: StatementEngine, text: str, *, keep: bool = False, safe: SafeMode | None = None
) -> pa.Table:
    """Run every statement of a text and return the answer of the last one.

    Args:
        engine: The engine.
        text: Statements with semicolons between them.
        keep: Whether a stream or query that the engine has already, by the same text, is kept;
            else it is refused.
        safe: What the text may do, if it is not trusted.
    """
    statements = parse(text)
    if not statements:
        raise SqlError("there is no statement", text, 0, expected="CREATE, ALTER, SHOW, ...")
    if safe is not None:
        safe.check(text, statements)
    run = _Run(engine, text, keep)
    pairs = zip(statements, statement_texts(text), strict=True)
    answers = [run.answer(statement, own_text) for statement, own_text in pairs]
    return answers[-1]


@dataclass
class _Run:
    """A text while it is run."""

    engine: StatementEngine
    text: str
    keep: bool

    def answer(self, statement: Statement, own_text: str) -> pa.Table:
        """Run one statement; one without results answers with a line about what it did."""
        match statement:
            case CreateStream() | CreateInputs():
                return _lines("done", self._create_stream(statement, own_text))
            case CreateQuery():
                return _lines("done", self._create_query(statement))
            case CreateSummary():
                return _lines("done", self._create_summary(statement))
            case AlterQuery(name=name, query=query):
                with self._about(statement.place), self._inside(query):
                    self.engine.change(name, _text(query))
                return _lines("done", f"changed query {name}")
            case CreateTrigger(action=action):
                places = {"NAME": statement.place}
                with self._about(statement.place), self._placed(places, action.place):
                    return _lines("done", self._triggers.create(statement, keep=self.keep))
            case QueryCommand() | Drop():
                return self._command(statement)
            case Show():
                return self._shown(statement)
            case Select(query=query):
                return self._asked(query)
            case Explain():
                return _lines("plan", self._explained(statement))
            case _:
                raise self._refused(statement)

    @property
    def _triggers(self) -> SqlTriggers:
        return SqlTriggers(self.engine.registry, lambda id: self.engine[id].sinks, self.text)

    def _explained(self, statement: Explain) -> str:
        """Return how a query runs that the engine has, or how one would run."""
        target = statement.target
        if isinstance(target, str):
            with self._about(statement.place):
                if statement.format == "svg":
                    return str(self.engine.network()[self.engine[target].record.stream].svg)
                return str(self.engine.explain(target))
        if statement.format == "svg":
            problem = "FORMAT svg draws the network of a query that the engine has"
            raise SqlError(problem, self.text, statement.place, expected="EXPLAIN QUERY name")
        query, given = target, {}
        if isinstance(target, CreateQuery):
            query, clause = target.query, target.engine
            given = {
                word: clause.arguments[word]
                for word in ("start", "until")
                if word in clause.arguments
            }
        assert isinstance(query, Query)
        if query.as_of is not None:
            problem = "AS OF asks once, and EXPLAIN is about queries that go on"
            raise SqlError(problem, self.text, query.as_of.place, expected="no AS OF")
        with self._inside(query):
            return str(self.engine.explain(_text(query), **given))

    # Streams

    def _create_stream(self, created: CreateStream | CreateInputs, own_text: str) -> str:
        problem = refusal("STREAM", created.name)
        if problem is not None:
            raise SqlError(problem, self.text, created.place)
        known = self.engine.registry.streams().get(created.name)
        if self.keep and known is not None and self._is_declared(created.name):
            if known.get(STATEMENT) == own_text:
                return f"stream {created.name} is there already"
            problem = f"there is a stream {created.name} already, by another statement"
            expected = "the same statement, or another name"
            raise SqlError(problem, self.text, created.place, expected=expected)
        several = isinstance(created, CreateInputs)
        inputs = created.inputs if isinstance(created, CreateInputs) else (created,)
        given = [self._given(own) for own in inputs]
        # Each argument has a value for every input, or the value of the only one.
        arguments = {
            argument: {own.name: one[argument] for own, one in zip(inputs, given, strict=True)}
            if several
            else given[0][argument]
            for argument in given[0]
        }
        with self._placed(created.engine.places, created.place):
            about = {"statement": own_text, **created.engine.arguments}
            self.engine.stream(created.name, **{**arguments, **about})
        return f"created stream {created.name}"

    def _given(self, created: CreateStream) -> dict[str, Any]:
        """Return what is given for an input, by the arguments of ``mt.Engine.stream``."""
        return {
            "df": self._opened(created),
            "on": created.on,
            "by": created.by,
            "disorder": created.disorder,
            "control": self._heartbeat(created),
            "schedule": created.schedule,
            "carry": created.engine.carry,
        }

    def _is_declared(self, name: str) -> bool:
        try:
            self.engine.stream_of(name)
        except EngineError:
            return False
        return True

    def _opened(self, created: CreateStream) -> Any:
        """Return the rows of a source, to be followed."""
        catalog = Catalog()
        catalog.add(created)
        sources = Sources(self.engine.spark, catalog, self.engine.folder / "sources", self.text)
        return sources.open(self.engine.spark, created.source, created.schema, True)

    def _heartbeat(self, created: CreateStream) -> DataFrame | None:
        beat = created.heartbeat
        return None if beat is None else heartbeat(self.engine.spark, beat.every, beat.behind)

    # Queries

    def _create_summary(self, created: CreateSummary) -> str:
        asked = created.summary
        with self._placed({}, created.place):
            self.engine.summary(
                *(created.name, asked.stream, asked.attribute, str(asked.granularity)),
                *(asked.rate, asked.depth),
            )
        return f"the summary {created.name} is declared"

    def _create_query(self, created: CreateQuery) -> str:
        if created.late is not None:
            problem = "LATE INTO is not there for queries of an engine yet"
            expected = "INTO alone; SHOW QUERIES counts refused rows"
            raise SqlError(problem, self.text, created.late.place, expected=expected)
        if self.keep and (kept := self._kept(created)) is not None:
            return kept
        given = created.engine.arguments
        if "start" in given:
            given["start"] = str(given["start"])  # a number is a text there, as every value of on
        taken = inspect.signature(self.engine.register).parameters
        for word, place in created.engine.places.items():
            if word.lower() not in taken:
                raise SqlError(f"{word} is not there for engines yet", self.text, place)
        places, otherwise = {**created.engine.places, "NAME": created.place}, created.place
        if created.into is not None:
            given["into"] = written_call(created.into)
            otherwise = created.into.place  # other arguments are those of the sink
        with self._placed(places, otherwise), self._inside(created.query):
            self.engine.register(created.name, _text(created.query), **given)
        return f"created query {created.name}"

    def _kept(self, created: CreateQuery) -> str | None:
        """Return what to answer if the engine has the query already; None if it has not."""
        known = self.engine.registry.find(created.name)
        if known is None or known.name is None:
            return None
        if known.text == _text(created.query):
            return f"query {created.name} is there already"
        problem = f"there is a query {created.name} already, with another text"
        expected = f"ALTER QUERY {created.name} AS ..., or another name"
        raise SqlError(problem, self.text, created.place, expected=expected)

    def _command(self, statement: QueryCommand | Drop) -> pa.Table:
        name = statement.name
        if isinstance(statement, Drop):
            if statement.what == "TRIGGER":
                return _lines("done", self._triggers.drop(statement))
            if statement.what != "QUERY":
                problem = f"an engine keeps its {statement.what.lower()}s"
                raise SqlError(problem, self.text, statement.place, expected="DROP QUERY name")
            if statement.if_exists and self.engine.registry.find(name) is None:
                return _lines("done", f"there was no query {name}")
            word, done = "drop", "dropped"
        elif statement.command == "INVOKE":
            with self._about(statement.place):
                answer = self.engine[name].invoke()
            assert isinstance(answer, pa.Table)
            return answer
        else:
            word = statement.command.lower()
            done = f"{word}d"
        with self._about(statement.place):
            self.engine.command(word, name)
        return _lines("done", f"{done} query {name}")

    # Answers

    def _shown(self, show: Show) -> pa.Table:
        if show.what == "QUERY":
            costs = {(row["stream"], row["query"]): row for row in self.engine.costs().to_pylist()}
            rows = [
                {**_query_row(record), **costs.get((record.stream, record.name or record.id), {})}
                for record in self.engine.queries()
            ]
            return pa.Table.from_pylist(rows, _QUERIES)
        if show.what == "STREAM":
            streams = self.engine.registry.streams()
            rows = [self._stream_row(name, details) for name, details in streams.items()]
            return pa.Table.from_pylist(rows, _STREAMS)
        if show.what == "TRIGGER":
            return self._triggers.shown()
        expected = "SHOW STREAMS, SHOW QUERIES or SHOW TRIGGERS"
        problem = f"an engine has no {show.what.lower()}s of its own"
        raise SqlError(problem, self.text, show.place, expected=expected)

    def _stream_row(self, name: str, details: Mapping[str, object]) -> dict[str, object]:
        queries = [query for query in self.engine.queries() if query.stream == name]
        row: dict[str, object] = {"name": name, "queries": len(queries)}
        if STATEMENT in details:
            (created,) = parse(str(details[STATEMENT]))
            row["statement"] = _shown_statement(created)
        if self._is_declared(name):
            stream = self.engine.stream_of(name)
            reached = stream.value_of(stream.progress.reached)
            row["punctuation"] = None if reached is None else str(reached)
            row |= {"rows": stream.costs.rows, "state_bytes": stream.costs.state_bytes}
            row["estimated_bytes"] = self.engine.estimated_bytes(name)
            row["micro_batch"] = None if stream.micro_batch < 0 else stream.micro_batch
        return row

    def _asked(self, query: Query) -> pa.Table:
        """Return the answer of a query that is asked once."""
        places = {} if query.as_of is None else {"AS OF": query.as_of.place}
        with self._placed(places, query.place), self._inside(query):
            return self.engine.ask(_text(query))

    # Errors

    def _refused(self, statement: Statement) -> SqlError:
        match statement:
            case CreateTable():
                problem = "queries of an engine read its streams, and no tables"
                expected = "CREATE STREAM"
            case Describe() | SetOption():
                problem = "an engine does not answer this"
                expected = "muntin sql, or muntin run"
            case _:
                raise AssertionError(statement)
        return SqlError(problem, self.text, statement.place, expected=expected)

    @contextmanager
    def _about(self, place: Position) -> Iterator[None]:
        """Raise that there is no such query at a place."""
        try:
            yield
        except UnknownQueryError as error:
            known = [record.name for record in self.engine.queries() if record.name is not None]
            raise SqlError(
                f"there is no query {error.name}",
                self.text,
                place,
                suggestion=closest(error.name, known),
            ) from error

    @contextmanager
    def _placed(self, places: Mapping[str, Position], otherwise: Position) -> Iterator[None]:
        """Raise what an argument's check says at the word that gives the argument."""
        try:
            yield
        except ArgumentError as error:
            place = places.get(error.argument.upper(), otherwise)
            raise SqlError(error.reason(), self.text, place) from error

    @contextmanager
    def _inside(self, query: Query) -> Iterator[None]:
        """Raise mistakes of a query, which is planned by itself, at their places in the text."""
        try:
            yield
        except SqlError as error:
            if error.text != _text(query):
                raise
            raise SqlError(
                error.problem,
                self.text,
                query.start + error.place.offset,
                expected=error.expected,
                suggestion=error.suggestion,
            ) from error


def _text(query: Query) -> str:
    return query.text[query.start : query.end]


def _query_row(record: QueryRecord) -> dict[str, object]:
    """Return what the registry knows of a query."""
    since = None if record.since is None else record.since[0]
    return {**vars(record), "tags": [*record.tags], "since": since}


def _shown_statement(created: Statement) -> str:
    """Return the statement that made a stream, without its secrets."""
    if isinstance(created, CreateInputs):
        shown = [without_secrets(own) for own in created.inputs]
        inputs = tuple(own for own in shown if isinstance(own, CreateStream))
        return str(replace(created, inputs=inputs))
    assert isinstance(created, CreateStream)
    return str(without_secrets(created))


def _lines(column: str, *lines: str) -> pa.Table:
    return pa.table({column: pa.array(lines, pa.string())})
