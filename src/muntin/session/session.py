"""A session of the language: what was created so far, what statements answer, how queries run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muntin.errors import ArgumentError, MuntinError, did_you_mean
from muntin.parser.engine_statements import CreateSummary, QueryCommand
from muntin.parser.errors import Position, SqlError, closest
from muntin.parser.parse import parse
from muntin.parser.statements import (
    AlterQuery,
    ConnectorCall,
    CreateInputs,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Describe,
    Drop,
    Explain,
    Format,
    Kept,
    Query,
    Select,
    SetOption,
    Show,
    Statement,
)
from muntin.planner.bounded import check_bounded
from muntin.planner.explain import explained
from muntin.planner.relations import Scope, Table
from muntin.planner.translate import TranslatedQuery, tables_of, translate
from muntin.session.catalog import Catalog, Declared, kind_of, refusal, unnamed
from muntin.session.connector_calls import at_call, calls_of, check_call
from muntin.session.describe import described, functions
from muntin.session.safe.safe_mode import SafeMode
from muntin.session.triggers.trigger import ACTIONS
from muntin.session.without_engine import (
    check_no_engine_clauses,
    check_no_engine_words,
    for_an_engine,
)
from muntin.spark.api.control import heartbeat
from muntin.spark.api.plan import Plan
from muntin.spark.api.stream import Stream, stream
from muntin.spark.columns import DataFrame, SparkSession
from muntin.spark.connectors.signature import Signature
from muntin.spark.connectors.sinks.registry import SINKS
from muntin.spark.connectors.sources.registry import SOURCES
from muntin.spark.scan.file_source import FileSource

#: Opens a source, from its call, its schema, and whether to read it as a stream.
Opener = Callable[[SparkSession, ConnectorCall, str | None, bool], DataFrame | FileSource]
#: Returns the control rows of a stream, which report its end; None if it has none.
Controller = Callable[[CreateStream], DataFrame | None]


@dataclass
class SqlSession:
    """Names and what they mean; statements run one after the other.

    Args:
        spark: The Spark session that everything runs on.
        tables: DataFrames and streams by name.
        open_source: Opens what CREATE STREAM and CREATE TABLE read.
        streaming: Whether streams are followed; else everything there is is read once.
        control: Returns the control rows of streams that are followed.
        functions: Aggregates and framing functions of the user's own, by name.
        safe: What texts may do, if they are not trusted.
        found: Returns what was found of how the files of a source are written.
        setting: Changes what SET names, and returns a line about it.
    """

    spark: SparkSession
    tables: Mapping[str, object] = field(default_factory=dict)
    open_source: Opener | None = None
    streaming: bool = False
    control: Controller | None = None
    functions: Mapping[str, object] = field(default_factory=dict)
    safe: SafeMode | None = None
    found: Callable[[ConnectorCall], Mapping[str, str]] | None = None
    setting: Callable[[SetOption], str] | None = None
    catalog: Catalog = field(default_factory=Catalog)
    _opened: dict[str, Table] = field(default_factory=dict)
    _plans: dict[str, tuple[Plan, ...]] = field(default_factory=dict)

    def sql(self, text: str) -> DataFrame:
        """Run every statement of a text and return the answer of the last one."""
        statements = parse(text)
        if not statements:
            raise SqlError("there is no statement", text, 0, expected="SELECT, CREATE, ...")
        if self.safe is not None:
            self.safe.check(text, statements)
        answers = [self.run(statement, text) for statement in statements]
        return answers[-1]

    def run(self, statement: Statement, text: str) -> DataFrame:
        """Run one statement; one without results answers with a line about what it did."""
        match statement:
            case Select(query=query):
                return self.rows(query)
            case Explain(target=target, format=format_):
                query = self._query(target, text, statement)
                return self._lines("plan", [explained(self.translated(query), format_)])
            case Drop():
                return self._dropped(statement, text)
            case Describe():
                return self._described(statement)
            case Show(what=kind):
                if kind == "FUNCTION":
                    return functions(self.spark, statement, self.safe, self.functions)
                return self._shown(self.catalog.kept(kind))
            case SetOption():
                return self._lines("done", [self._set(statement, text)])
            case CreateStream() | CreateTable() | CreateQuery() | CreateTrigger():
                return self._lines("done", [self.declare(statement, text)])
            case AlterQuery() | QueryCommand() | CreateInputs() | CreateSummary():
                raise for_an_engine(statement, text)

    def _described(self, statement: Describe) -> DataFrame:
        """Return the columns of what is described, and how its files are written."""
        answer = self.translated(statement.query)
        name = statement.name
        declared = None if name is None else self.catalog.find(name)
        calls = list(statement.query.sources.values())
        calls += [declared.source] if isinstance(declared, CreateStream | CreateTable) else []
        found = [] if self.found is None else [self.found(call) for call in calls]
        options = {option: value for part in found for option, value in part.items()}
        return described(self.spark, answer.df, declared, options)

    def _set(self, statement: SetOption, text: str) -> str:
        if self.setting is None:
            problem = "SET is for a session of muntin sql, and for a file of muntin run"
            expected = "spark.conf.set('spark.sql.session.timeZone', ...) in Python"
            raise SqlError(problem, text, statement.place, expected=expected)
        try:
            return self.setting(statement)
        except ArgumentError as error:
            problem = f"{error.argument} {statement.value}: {error.reason()}"
            raise SqlError(problem, text, statement.place) from error

    def declare(self, declared: Declared, text: str) -> str:
        """Add what a statement creates to the catalog; return a line that reports it."""
        kind, name = kind_of(declared), declared.name
        check_no_engine_words(declared, text)
        problem = refusal(kind, name)
        if problem is not None:
            raise SqlError(problem, text, declared.place)
        for called, call in calls_of(declared):
            with at_call(text, call):
                check_call(called, call)
        if isinstance(declared, CreateTrigger):
            query = declared.query_name
            if not isinstance(self.catalog.find(query), CreateQuery):
                raise self._unknown("QUERY", query, text, declared.place)
        if not self.catalog.add(declared):
            expected = f"another name, or DROP {kind} {name} before"
            raise SqlError(f"there is a {name} already", text, declared.place, expected=expected)
        return f"created {kind.lower()} {name}"

    def answer(self, query: Query) -> TranslatedQuery:
        """Translate a query; raises if its state is unbounded and the query does not allow it."""
        answer = self.translated(query)
        check_bounded(answer)
        return answer

    def translated(self, query: Query) -> TranslatedQuery:
        """Translate a query, whether its state is bounded or not."""
        check_no_engine_clauses(query)
        answer = translate(query, self._scope(query))
        names = dict.fromkeys(map(str.casefold, tables_of(query)))
        read = [plan for name in names for plan in self._plans.get(name, ())]
        own = [plan for plan in answer.plans.values() if isinstance(plan, Plan)]
        return replace(answer, running_plans=(*read, *own))

    def rows(self, query: Query) -> DataFrame:
        """Return the results of a query as a DataFrame."""
        return self._unordered(query, self.answer(query))

    def _unordered(self, query: Query, answer: TranslatedQuery) -> DataFrame:
        if answer.finish is not None:
            problem = "a stream is sorted micro-batch by micro-batch, which a DataFrame cannot say"
            expected = "CREATE QUERY ... INTO a sink, or no ORDER BY"
            raise SqlError(problem, query.text, query.place, expected=expected)
        return answer.df

    def _scope(self, query: Query) -> Scope:
        """Return the tables that the session was given and everything created that it names."""
        scope = Scope.of(self.spark, self.tables, self.functions)
        scope = replace(scope, closed=self.safe is not None)
        for name in tables_of(query):
            declared = self.catalog.find(name)
            if declared is not None:
                scope = scope.having(name, self.opened(declared))
        for name, call in query.sources.items():
            scope = scope.having(name, self._source(call))
        return scope

    def _source(self, call: ConnectorCall) -> Table:
        """Return the rows of a source that a query itself names; it is read as it is now."""
        key = f"'{call}"  # no name of a statement begins with a quote
        if key not in self._opened:
            if self.open_source is None:
                raise MuntinError(f"nobody here opens {call.name}(...)")
            self._opened[key] = self.open_source(self.spark, call, None, False)
        return self._opened[key]

    def opened(self, declared: CreateStream | CreateTable | CreateQuery) -> Table:
        """Return the stream, table or query that a statement created; sources open once."""
        name = declared.name.casefold()
        if name not in self._opened:
            self._opened[name] = self._open(declared)
        return self._opened[name]

    def _open(self, declared: CreateStream | CreateTable | CreateQuery) -> Table:
        if isinstance(declared, CreateQuery):
            self._check_not_reading(declared, declared.query, {declared.name.casefold()})
            answer = self.answer(declared.query)
            self._plans[declared.name.casefold()] = answer.running_plans
            return self._unordered(declared.query, answer)
        if self.open_source is None:
            raise MuntinError(f"nobody here opens {declared.source.name}(...)")
        live = self.streaming and isinstance(declared, CreateStream)
        df = self.open_source(self.spark, declared.source, declared.schema, live)
        if isinstance(declared, CreateTable):
            return df
        opened: Stream = stream(
            df,
            declared.on,
            declared.by,
            declared.disorder,
            control=self._control_rows(declared, df) if live else None,
            schedule=declared.schedule,
        )
        return opened

    def _control_rows(self, declared: CreateStream, df: DataFrame | FileSource) -> list[DataFrame]:
        """Return the control rows of a stream: its heartbeat, and those that report its end."""
        sources, beat = [], declared.heartbeat
        if beat is not None:
            type_ = df.schema[declared.on].dataType if declared.on in df.columns else None
            if type_ is not None and type_.typeName() != "timestamp":
                raise ArgumentError(
                    "ON",
                    declared.on,
                    "a HEARTBEAT punctuates timestamps with zone, and it has type "
                    f"{type_.simpleString()}; IDLE CLOCK in DISORDER brings the clock alone",
                )
            sources.append(heartbeat(self.spark, beat.every, beat.behind))
        # A stream whose control rows say nothing but its end would report nothing before it.
        if self.control is not None and (sources or declared.disorder is not None):
            control = self.control(declared)
            sources += [] if control is None else [control]
        return sources

    def _check_not_reading(self, created: CreateQuery, query: Query, seen: set[str]) -> None:
        """Raise if a query reads itself, directly or through others."""
        for name in map(str.casefold, tables_of(query)):
            read = self.catalog.find(name)
            if name == created.name.casefold():
                problem = f"the query {created.name} reads itself"
                raise SqlError(problem, created.query.text, created.place)
            if isinstance(read, CreateQuery) and name not in seen:
                seen.add(name)
                self._check_not_reading(created, read.query, seen)

    def _query(self, target: Query | str | CreateQuery, text: str, statement: Explain) -> Query:
        """Return the query that an EXPLAIN is about."""
        if isinstance(target, CreateQuery):
            check_no_engine_words(target, text)
            return target.query
        if isinstance(target, Query):
            return target
        declared = self.catalog.find(target)
        if not isinstance(declared, CreateQuery):
            raise self._unknown("QUERY", target, text, statement.place)
        return declared.query

    def _unknown(self, kind: Kept, name: str, text: str, place: Position) -> SqlError:
        known = [declared.name for declared in self.catalog.kept(kind)]
        problem = f"there is no {kind.lower()} {name}"
        return SqlError(problem, text, place, suggestion=closest(name, known))

    def _dropped(self, drop: Drop, text: str) -> DataFrame:
        kind = drop.what.lower()
        triggers = self.catalog.triggers_on(drop.name) if drop.what == "QUERY" else []
        if self.catalog.drop(drop.what, drop.name):
            self._forget(drop.name)
            also = "".join(f", and its trigger {trigger.name}" for trigger in triggers)
            return self._lines("done", [f"dropped {kind} {drop.name}{also}"])
        if drop.if_exists:
            return self._lines("done", [f"there was no {kind} {drop.name}"])
        raise self._unknown(drop.what, drop.name, text, drop.place)

    def _forget(self, name: str) -> None:
        """Forget what was opened under a name, and all queries, which may have read it."""
        for opened in list(self._opened):
            if opened == name.casefold() or isinstance(self.catalog.find(opened), CreateQuery):
                del self._opened[opened]
                self._plans.pop(opened, None)

    def _shown(self, kept: list[Declared]) -> DataFrame:
        rows = [(declared.name, str(without_secrets(declared))) for declared in kept]
        return self.spark.createDataFrame(rows, "name STRING, statement STRING")

    def _lines(self, column: str, lines: list[str]) -> DataFrame:
        return self.spark.createDataFrame([(line,) for line in lines], f"{column} STRING")


def without_secrets(declared: Declared) -> Declared:
    """Return the same statement, with stars in the place of passwords and tokens."""
    if isinstance(declared, CreateTrigger):
        return replace(declared, action=shown_call(declared.action))
    if isinstance(declared, CreateQuery):
        calls = (declared.into, declared.late)
        into, late = (None if call is None else shown_call(call) for call in calls)
        return replace(declared, into=into, late=late)
    return replace(declared, source=shown_call(declared.source))


def shown_call(call: ConnectorCall) -> ConnectorCall:
    """Return a call with stars in the place of passwords and tokens."""
    for signature in _signatures(call.name.lower()):
        arguments, options = signature.hidden(call.arguments, call.options)
        call = replace(call, arguments=arguments, options=options)
    return call


def _signatures(name: str) -> Iterator[Signature]:
    """Yield everything that a call of this name can be; an unknown one is judged by its options."""
    if name in SOURCES:
        yield SOURCES[name].signature
    if name in SINKS:
        yield SINKS[name].signature
    if name in ACTIONS:
        yield ACTIONS[name][0]
    if name not in {*SOURCES, *SINKS, *ACTIONS}:
        yield Signature(name, ())


def explanations(
    session: SqlSession, statements: Sequence[Statement], only: str | None, form: Format
) -> dict[str, str]:
    """Return how the queries of statements will run: all of them, or the one named ``only``."""
    queries = dict(named_queries(statements))
    if only is not None and only not in queries:
        expected = f"there is no such query{did_you_mean(only, queries)}; there are "
        raise ArgumentError("query", only, expected + ", ".join(queries))
    wanted = queries if only is None else {only: queries[only]}
    return {name: explained(session.translated(query), form) for name, query in wanted.items()}


def named_queries(statements: Sequence[Statement]) -> Iterator[tuple[str, Query]]:
    """Yield the queries of statements with their names; those without a name are numbered."""
    selects = 0
    for statement in statements:
        if isinstance(statement, CreateQuery):
            yield statement.name, statement.query
        elif isinstance(statement, Select):
            selects += 1
            yield unnamed(selects), statement.query
