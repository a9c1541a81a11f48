"""Finding mistakes in a text without running it: with schemas in the place of sources.

A source whose columns are declared is not touched. Any other source is read for its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from muntin.errors import ArgumentError, MuntinError
from muntin.parser.engine_statements import CreateSummary, QueryCommand
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
    Explain,
    Query,
    Select,
    Statement,
)
from muntin.session.connector_calls import at_call
from muntin.session.outputs import Outputs, plan_with_late_rows
from muntin.session.safe.safe_mode import SafeMode
from muntin.session.session import SqlSession
from muntin.session.simulated_source import simulation
from muntin.session.sources import Sources
from muntin.session.without_engine import check_no_engine_words, for_an_engine
from muntin.spark.columns import DataFrame, SparkSession
from muntin.spark.connectors.signature import named
from muntin.spark.connectors.sinks.registry import SINKS
from muntin.spark.connectors.sources.registry import SOURCES, open_empty


@dataclass
class Check:
    """Checks texts in a session of their own, as streams if ``streaming``.

    With ``safe``, a text that is refused is not looked at any further: nothing of it is opened.
    """

    spark: SparkSession
    folder: Path
    streaming: bool
    safe: SafeMode | None = None
    mistakes: list[MuntinError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session = SqlSession(self.spark, streaming=self.streaming, safe=self.safe)
        self.session.open_source = self._open
        self.text = ""
        self._sources = Sources(self.spark, self.session.catalog, self.folder)

    def check(self, text: str, parsed: Sequence[Statement] | None = None) -> int:
        """Check every statement and return how many there are; errors go to ``mistakes``.

        ``parsed`` are the statements, if the caller has parsed the text already.

        If a text cannot be parsed, nothing after that place can be checked.
        """
        self.text = self._sources.text = text
        statements = parse(text) if parsed is None else parsed
        refused = [] if self.safe is None else [*self.safe.refused(text, statements)]
        if refused:
            self.mistakes.extend(refused)
            return len(statements)
        for statement in statements:
            if isinstance(statement, CreateStream | CreateTable | CreateQuery | CreateTrigger):
                self._try(partial(self.session.declare, statement, text))
        for statement in statements:
            self._try(partial(self._check, statement))
        return len(statements)

    def _try(self, step: Callable[[], object]) -> None:
        try:
            step()
        except MuntinError as error:
            if str(error) not in [str(known) for known in self.mistakes]:
                self.mistakes.append(error)

    def _check(self, statement: Statement) -> None:
        match statement:
            case CreateStream() | CreateTable():
                self.session.opened(statement)
            case CreateQuery(query=query, into=into, late=late):
                for call in (into, late):
                    if call is not None:
                        self._sink(call)
                answer = self.session.answer(query)
                if late is not None:
                    plan_with_late_rows(answer, late)
            case CreateTrigger():
                outputs = Outputs(self.session, self.folder, self.text, lambda *_: _nowhere)
                outputs.trigger(statement)
            case AlterQuery() | QueryCommand() | CreateInputs() | CreateSummary():
                raise for_an_engine(statement, self.text)
            case Explain(target=CreateQuery(query=query) as created):
                check_no_engine_words(created, self.text)
                self.session.answer(query)
            case Describe(query=query):
                self.session.translated(query)
            case Select(query=query) | Explain(target=Query() as query):
                self.session.answer(query)

    def _sink(self, call: ConnectorCall) -> None:
        with at_call(self.text, call):
            target = SINKS[named("sink", call.name, SINKS)]
            target.signature.bind(call.arguments, call.options)

    def _open(
        self, spark: SparkSession, call: ConnectorCall, schema: str | None, streaming: bool
    ) -> DataFrame:
        with at_call(self.text, call):
            if named("source", call.name, [*SOURCES, "simulate"]) == "simulate":
                simulation(call.arguments, call.options)
            else:
                SOURCES[call.name.lower()].signature.bind(call.arguments, call.options)
            if schema is None:
                if "-" in call.arguments:  # nothing is piped into a check
                    raise ArgumentError("path", "-", "what is piped in is known when it runs")
                read = self._sources.open(spark, call, None, False)
                return open_empty(spark, read.schema, streaming, self.folder)
            return open_empty(spark, schema, streaming, self.folder)


def _nowhere(rows: DataFrame, number: int) -> None:
    """The sink of a query that is not run."""
