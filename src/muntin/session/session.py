"""A session of the language: what was created so far, and what statements answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from muntin.errors import MuntinError
from muntin.parser.errors import SqlError, closest
from muntin.parser.parse import parse
from muntin.parser.statements import (
    ConnectorCall,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Drop,
    Explain,
    Query,
    Select,
    Show,
    Statement,
)
from muntin.planner.bounded import check_bounded
from muntin.planner.explain import explained
from muntin.planner.scope import Scope, Table
from muntin.planner.translate import QueryAnswer, tables_of, translate
from muntin.session.catalog import Catalog, Declared, kind_of
from muntin.session.catalog_names import refusal
from muntin.session.secrets import masked
from muntin.spark.api.stream import Stream, stream
from muntin.spark.plan.plan import Plan
from muntin.spark.types import DataFrame, SparkSession

#: Opens a source: its call, the schema, and whether it is to be read as a stream.
Opener = Callable[[SparkSession, ConnectorCall, str | None, bool], DataFrame]
#: What tells a stream that it is complete or over, from outside; None where nothing does.
Controller = Callable[[CreateStream], DataFrame | None]


@dataclass
class SqlSession:
    """Names and what they stand for; statements are run one after the other.

    Args:
        spark: The Spark session that everything runs on.
        tables: DataFrames and streams by name.
        open_source: Opens what CREATE STREAM and CREATE TABLE read.
        streaming: Whether streams are read as they grow; else everything there is, once.
        control: Gives the control rows of streams that are read as they grow.
    """

    spark: SparkSession
    tables: Mapping[str, object] = field(default_factory=dict)
    open_source: Opener | None = None
    streaming: bool = False
    control: Controller | None = None
    catalog: Catalog = field(default_factory=Catalog)
    _opened: dict[str, Table] = field(default_factory=dict)
    _behind: dict[str, tuple[Plan, ...]] = field(default_factory=dict)

    def sql(self, text: str) -> DataFrame:
        """Run every statement of a text; what the last one answers."""
        statements = parse(text)
        if not statements:
            raise SqlError("there is no statement", text, 0, expected="SELECT, CREATE, ...")
        answers = [self.run(statement, text) for statement in statements]
        return answers[-1]

    def run(self, statement: Statement, text: str) -> DataFrame:
        """Run one statement; a statement without results says what it did."""
        match statement:
            case Select(query=query):
                return self.rows(query)
            case Explain(target=target, format=format_):
                shown = explained(self.translated(self._query(target, text, statement)), format_)
                return self._said("plan", [shown])
            case Show(what=what):
                return self._shown(self.catalog.kept(what))
            case Drop():
                return self._dropped(statement, text)
            case CreateStream() | CreateTable() | CreateQuery() | CreateTrigger():
                return self._created(statement, text)

    def answer(self, query: Query) -> QueryAnswer:
        """A query translated; refused if its state would grow for ever and nobody said so."""
        answer = self.translated(query)
        check_bounded(answer)
        return answer

    def translated(self, query: Query) -> QueryAnswer:
        """A query translated, whatever it would keep."""
        answer = translate(query, self._scope(query))
        names = dict.fromkeys(map(str.casefold, tables_of(query)))
        read = [plan for name in names for plan in self._behind.get(name, ())]
        own = [plan for plan in answer.plans.values() if isinstance(plan, Plan)]
        return replace(answer, behind=(*read, *own))

    def rows(self, query: Query) -> DataFrame:
        """The results of a query, as a DataFrame."""
        return self._unordered(query, self.answer(query))

    def _unordered(self, query: Query, answer: QueryAnswer) -> DataFrame:
        if answer.finish is not None:
            problem = "a stream is sorted micro-batch by micro-batch, which a DataFrame cannot say"
            expected = "CREATE QUERY ... INTO a sink, or no ORDER BY"
            raise SqlError(problem, query.text, query.place, expected=expected)
        return answer.df

    def _scope(self, query: Query) -> Scope:
        """The tables that were handed over, and everything created that the query names."""
        scope = Scope.of(self.spark, self.tables)
        for name in tables_of(query):
            declared = self.catalog.find(name)
            if declared is not None:
                scope = scope.having(name, self.opened(declared))
        return scope

    def opened(self, declared: CreateStream | CreateTable | CreateQuery) -> Table:
        """The stream, table or query that a statement created; sources are opened once."""
        name = declared.name.casefold()
        if name not in self._opened:
            self._opened[name] = self._open(declared)
        return self._opened[name]

    def _open(self, declared: CreateStream | CreateTable | CreateQuery) -> Table:
        if isinstance(declared, CreateQuery):
            self._check_not_reading(declared, declared.query, {declared.name.casefold()})
            answer = self.answer(declared.query)
            self._behind[declared.name.casefold()] = answer.behind
            return self._unordered(declared.query, answer)
        if self.open_source is None:
            raise MuntinError(f"nobody here opens {declared.source.name}(...)")
        live = self.streaming and isinstance(declared, CreateStream)
        df = self.open_source(self.spark, declared.source, declared.schema, live)
        if isinstance(declared, CreateTable):
            return df
        # A stream that is told nothing but its end would not report anything before.
        ends = live and declared.disorder is not None
        told = self.control(declared) if ends and self.control is not None else None
        made: Stream = stream(
            df,
            declared.on,
            declared.by,
            declared.disorder,
            control=told,
            schedule=declared.schedule,
        )
        return made

    def _check_not_reading(self, made: CreateQuery, query: Query, seen: set[str]) -> None:
        """Refuse a query that reads itself, if by way of others."""
        for name in map(str.casefold, tables_of(query)):
            read = self.catalog.find(name)
            if name == made.name.casefold():
                problem = f"the query {made.name} reads itself"
                raise SqlError(problem, made.query.text, made.place)
            if isinstance(read, CreateQuery) and name not in seen:
                seen.add(name)
                self._check_not_reading(made, read.query, seen)

    def _query(self, target: Query | str, text: str, statement: Explain) -> Query:
        if isinstance(target, Query):
            return target
        found = self.catalog.find(target)
        if not isinstance(found, CreateQuery):
            known = [one.name for one in self.catalog.kept("QUERY")]
            raise SqlError(
                f"there is no query {target}",
                text,
                statement.place,
                suggestion=closest(target, known),
            )
        return found.query

    def _created(self, made: Declared, text: str) -> DataFrame:
        problem_of_name = refusal(kind_of(made), made.name)
        if problem_of_name is not None:
            raise SqlError(problem_of_name, text, made.place)
        if isinstance(made, CreateTrigger):
            found = self.catalog.find(made.query_name)
            if not isinstance(found, CreateQuery):
                known = [one.name for one in self.catalog.kept("QUERY")]
                problem = f"there is no query {made.query_name}"
                suggestion = closest(made.query_name, known)
                raise SqlError(problem, text, made.place, suggestion=suggestion)
        if not self.catalog.add(made):
            problem = f"there is a {made.name} already"
            expected = f"another name, or DROP {kind_of(made)} {made.name} before"
            raise SqlError(problem, text, made.place, expected=expected)
        return self._said("done", [f"created {kind_of(made).lower()} {made.name}"])

    def _dropped(self, drop: Drop, text: str) -> DataFrame:
        what = drop.what.lower()
        triggers = self.catalog.reading(drop.name) if drop.what == "QUERY" else []
        if self.catalog.drop(drop.what, drop.name):
            self._forget(drop.name)
            also = "".join(f", and its trigger {one.name}" for one in triggers)
            return self._said("done", [f"dropped {what} {drop.name}{also}"])
        if drop.if_exists:
            return self._said("done", [f"there was no {what} {drop.name}"])
        known = [one.name for one in self.catalog.kept(drop.what)]
        suggestion = closest(drop.name, known)
        raise SqlError(f"there is no {what} {drop.name}", text, drop.place, suggestion=suggestion)

    def _forget(self, name: str) -> None:
        """Let go of what was opened under a name, and of queries, which may have read it."""
        for opened in list(self._opened):
            if opened == name.casefold() or isinstance(self.catalog.find(opened), CreateQuery):
                del self._opened[opened]
                self._behind.pop(opened, None)

    def _shown(self, kept: list[Declared]) -> DataFrame:
        rows = [(one.name, str(masked(one))) for one in kept]
        return self.spark.createDataFrame(rows, "name STRING, statement STRING")

    def _said(self, column: str, lines: list[str]) -> DataFrame:
        return self.spark.createDataFrame([(line,) for line in lines], f"{column} STRING")
