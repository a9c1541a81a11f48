"""A text of statements as a running pipeline: sources opened, queries started, watched, stopped."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from muntin.parser.parse import parse
from muntin.parser.statements import (
    ConnectorCall,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Drop,
    Query,
    Select,
    SetOption,
    Statement,
)
from muntin.session.batch_progress import BatchWatch
from muntin.session.catalog import unnamed
from muntin.session.kept_plans import check_same
from muntin.session.outputs import (
    INTO,
    AllSinks,
    Default,
    Outputs,
    ledger_of,
    plan_with_late_rows,
    runs,
)
from muntin.session.safe.safe_mode import SafeMode
from muntin.session.session import SqlSession
from muntin.session.sources import Sources
from muntin.session.zone import checked_zone
from muntin.spark.api.plan import Plan
from muntin.spark.columns import DataFrame, SparkSession
from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.connectors.sinks.registry import SINKS, open_sink, run
from muntin.spark.queries.progress import Watch, counted
from muntin.spark.queries.stop import StreamingQuery

#: The folders of runs: of queries, and of the queries that write malformed rows.
_QUERIES, _MALFORMED, _PLANS = "queries", "letters", "plans"


@dataclass(frozen=True)
class RunningQuery:
    """A streaming query and what watches it; it is ``shown`` if it names no sink."""

    name: str
    query: StreamingQuery
    watch: Watch
    output: AllSinks
    shown: bool


@dataclass(frozen=True)
class _PreparedQuery:
    """A query that is ready to start."""

    name: str
    rows: DataFrame | Plan
    output: AllSinks
    refused: Sink | None
    plans: Sequence[Plan]
    shown: bool


@dataclass(frozen=True)
class _Step:
    """What to do for a statement; ``counts`` if it is something that runs."""

    do: Callable[[], None]
    counts: bool = True


@dataclass
class Pipeline:
    """Runs statements in one session.

    Args:
        spark: The Spark session.
        folder: Where checkpoints, received lines and the ledgers of triggers are kept.
        streaming: Whether streams are followed; else what is there is read once.
        default: Makes the sink of a query that names none.
        answer: Is called with the answers of other statements (SHOW, EXPLAIN).
        trigger: When micro-batches run, as ``DataStreamWriter.trigger`` takes it.
        dead_letter: Where malformed rows are written, in a folder for each source.
        whole: Whether no other text will be run, so that received lines can be removed when the
            queries of this one have read them.
        end: Whether streams end with their pipes; else another pipe can go on.
        safe: What texts may do, if they are not trusted.
        setting: Changes how results are shown, as SET FORMAT and SET ROWS ask; returns a line.
    """

    spark: SparkSession
    folder: Path
    streaming: bool
    default: Default
    answer: Callable[[DataFrame], None]
    trigger: Mapping[str, Any] | None = None
    dead_letter: Path | None = None
    whole: bool = False
    end: bool = True
    safe: SafeMode | None = None
    setting: Callable[[SetOption], str] | None = None
    running: list[RunningQuery] = field(default_factory=list)
    malformed_queries: dict[str, StreamingQuery | None] = field(default_factory=dict)
    _selects: int = 0

    def __post_init__(self) -> None:
        self.batch = BatchWatch(self.spark)
        self.session = SqlSession(self.spark, streaming=self.streaming, safe=self.safe)
        self.session.setting = self._set
        self.sources = Sources.serving(self.session, folder=self.folder)

    def run(self, text: str, parsed: Sequence[Statement] | None = None) -> int:
        """Run a text and return how many of its statements had something to run.

        ``parsed`` are its statements, if the caller has parsed the text already.

        Everything is declared first, so a trigger may come after its query and sees every row.
        Then everything is translated, and only then the first query starts: a mistake in the last
        one is found before anything is written. A DROP takes effect at its place, so statements
        after it are translated when it is done.
        """
        parsed = parse(text) if parsed is None else parsed
        if self.safe is not None:
            self.safe.check(text, parsed)
        self.batch.begin()
        ran = 0
        for statements in _between_drops(parsed):
            self.declare(statements, text)
            steps = []
            for statement in statements:
                with self._undoing(statement):
                    steps.append(self._step(statement, text))
            for statement, step in zip(statements, steps, strict=True):
                if step is not None:
                    with self._undoing(statement):
                        step.do()
                    ran += step.counts
        if self.dead_letter is not None:
            self._write_malformed(self.dead_letter)
        return ran

    @contextmanager
    def _undoing(self, statement: Statement) -> Iterator[None]:
        """Leave nothing of a query or a trigger that could not be made."""
        try:
            yield
        except Exception:
            catalog = self.session.catalog
            if isinstance(statement, CreateQuery):
                self.stop(statement.name)
                catalog.drop("QUERY", statement.name)
                self._forget_run(statement.name)
            elif isinstance(statement, CreateTrigger):
                catalog.drop("TRIGGER", statement.name)
            raise

    def _forget_run(self, name: str) -> None:
        """Remove the checkpoint of a query that began in this session."""
        if not self.whole:  # a file of muntin run goes on with its checkpoint
            self._run_file(_QUERIES, name).unlink(missing_ok=True)
            shutil.rmtree(self._checkpoint(name), ignore_errors=True)

    def declare(self, statements: Sequence[Statement], text: str) -> None:
        """Add everything that a text creates to the catalog; nothing is opened yet."""
        self.sources.text = text
        for statement in statements:
            if isinstance(statement, CreateStream | CreateTable):
                self.sources.texts[statement.name] = text
            if isinstance(statement, CreateStream | CreateTable | CreateQuery | CreateTrigger):
                self.session.declare(statement, text)

    def _step(self, statement: Statement, text: str) -> _Step | None:
        """Return what to do for a statement; raises whatever can be known to be wrong with it."""
        match statement:
            case CreateStream() | CreateTable():
                return None
            case CreateTrigger():
                return self._add_trigger(statement, text)
            case CreateQuery(name=name, query=query, into=into, late=late):
                triggers = self.session.catalog.triggers_on(name)
                if not runs(statement, triggers):
                    return None
                prepared = self._prepare(name, query, into, triggers, text, late)
                return _Step(partial(self._start, prepared))
            case Select(query=query):
                self._selects += 1
                prepared = self._prepare(unnamed(self._selects), query, None, (), text)
                return _Step(partial(self._start, prepared))
            case Drop():
                return _Step(partial(self._drop, statement, text))
            case SetOption():
                return _Step(lambda: self._apply(statement, text), counts=False)
            case _:
                return _Step(partial(self.answer, self.session.run(statement, text)))

    def _apply(self, statement: SetOption, text: str) -> None:
        self.session.run(statement, text)

    def _set(self, option: SetOption) -> str:
        """Change what SET names."""
        if option.what == "ZONE":
            zone = checked_zone(str(option.value))
            self.spark.conf.set("spark.sql.session.timeZone", zone)
            return f"times are in the zone {zone}"
        if self.setting is None:
            return f"{option.what.lower()} is for results that are shown here"
        return self.setting(option)

    @property
    def pauses(self) -> bool:
        """Whether streams only work on what is there, and are not over after that."""
        return self.trigger is not None and "availableNow" in self.trigger

    def stop(self, name: str) -> None:
        """Stop a running query."""
        for running in self._running(name):
            running.query.stop()
            self.running.remove(running)

    def _running(self, name: str) -> list[RunningQuery]:
        return [running for running in self.running if running.name.casefold() == name.casefold()]

    def _add_trigger(self, trigger: CreateTrigger, text: str) -> _Step | None:
        """Return a step that adds a trigger to a running query, from its next micro-batch on."""
        queries = self._running(trigger.query_name)
        if not queries:
            return None
        (running,) = queries
        sink = self._outputs(text, running.name, streaming=True).trigger(trigger)
        add = partial(running.output.sinks.__setitem__, trigger.name.casefold(), sink)
        return _Step(add, counts=False)

    def _drop(self, drop: Drop, text: str) -> None:
        """Forget a statement, stop what runs for it, and remove what was kept for it."""
        catalog, name = self.session.catalog, drop.name.casefold()
        query = catalog.find(name) if drop.what == "QUERY" else None
        triggers = catalog.triggers_on(name) if drop.what == "QUERY" else []
        if drop.what == "TRIGGER" and name in catalog.triggers:
            triggers = [catalog.triggers[name]]
        self.answer(self.session.run(drop, text))
        for trigger in triggers:
            for running in self.running:
                running.output.sinks.pop(trigger.name.casefold(), None)
            ledger_of(self.folder, trigger).clear()
        if isinstance(query, CreateQuery):
            self.stop(query.name)
            # Another query of this name begins anew, and its micro-batches are others.
            self._run_file(_QUERIES, query.name).unlink(missing_ok=True)
            shutil.rmtree(self._checkpoint(query.name), ignore_errors=True)

    def _prepare(
        self,
        name: str,
        query: Query,
        into: ConnectorCall | None,
        triggers: Sequence[CreateTrigger],
        text: str,
        late: ConnectorCall | None = None,
    ) -> _PreparedQuery:
        answer = self.session.answer(query)
        outputs = self._outputs(text, name, streaming=answer.is_streaming)
        rows: DataFrame | Plan = answer.df
        output = AllSinks(outputs.of(name, into, triggers), answer.finish)
        if into is not None and not answer.is_streaming and SINKS[into.name.lower()].counts:
            output.sinks[INTO] = self._counting(name, output.sinks[INTO])
        refused: Sink | None = None
        if late is not None:
            single = plan_with_late_rows(answer, late)
            rows, output.finish = single.plan, single.results
            refused = outputs.late(late, name)
        shown = into is None and not triggers
        return _PreparedQuery(name, rows, output, refused, answer.running_plans, shown)

    def _start(self, prepared: _PreparedQuery) -> None:
        if not self.streaming:
            self.batch.count_sources(self.sources.opened, self.session.catalog)
        if self.streaming and any(plan.is_streaming for plan in prepared.plans):
            place = self._run_file(_PLANS, f"{prepared.name}.json")
            checkpoint = self._checkpoint(prepared.name)
            check_same(place, checkpoint, prepared.name, prepared.plans)
        query = run(
            prepared.rows,
            [prepared.output],
            refused=prepared.refused,
            checkpoint=self._checkpoint(prepared.name),
            trigger=self.trigger,
            name=prepared.name,
        )
        if query is not None:
            watch = Watch.of(query, prepared.plans)
            self.running.append(
                RunningQuery(prepared.name, query, watch, prepared.output, prepared.shown)
            )

    def _checkpoint(self, name: str) -> Path:
        return self.folder / "checkpoints" / name

    def _counting(self, name: str, sink: Sink) -> Sink:
        """Return the sink of a batch, counting what it writes."""

        def put(rows: DataFrame, number: int) -> None:
            self.batch.written[name] = None
            observed, count = counted(rows)
            sink(observed, number)
            self.batch.written[name] = count()

        return put

    def _outputs(self, text: str, name: str, *, streaming: bool) -> Outputs:
        checkpoint = self._checkpoint(name)
        run = self._stream_run(_QUERIES, name, checkpoint) if streaming else None
        return Outputs(self.session, self.folder, text, self.default, run)

    def _stream_run(self, kind: str, name: str, checkpoint: Path) -> str:
        """Return what tells the micro-batches of this stream from those of one that began anew."""
        path = self._run_file(kind, name)
        # If somebody removed the checkpoint, micro-batches are numbered from 0 again.
        if not (path.exists() and checkpoint.is_dir()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(uuid.uuid4().hex)
        return path.read_text()

    def _run_file(self, kind: str, name: str) -> Path:
        return self.folder / "runs" / kind / name

    def malformed(self) -> Iterator[tuple[str, int, DataFrame]]:
        """Yield the sources of a batch that had malformed rows, with how many and which."""
        for name, counts in self.batch.sources().items():
            malformed = self.sources.opened[name].malformed
            if counts.malformed and malformed is not None:
                yield name, counts.malformed, malformed

    def _write_malformed(self, folder: Path) -> None:
        """Write malformed rows to their folders; those of a stream by a query of their own."""
        for name, opened in self.sources.opened.items():
            rows = opened.malformed
            if rows is not None and name not in self.malformed_queries:
                checkpoint = self.folder / _MALFORMED / name
                known = self._stream_run(_MALFORMED, name, checkpoint) if rows.isStreaming else None
                put = open_sink(self.spark, "json", [str(folder / name)], {}, query=name, run=known)
                self.malformed_queries[name] = run(
                    rows, [put], checkpoint=checkpoint, trigger=self.trigger
                )


def _between_drops(statements: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """Yield statements that are translated together; a DROP and a SET are alone."""
    group: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Drop | SetOption):
            yield from ([group] if group else [])
            yield [statement]
            group = []
        else:
            group.append(statement)
    yield group
