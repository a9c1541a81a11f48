"""A text of statements as a running pipeline: sources opened, queries started, watched, stopped."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    Statement,
)
from muntin.session.batch_counts import RunningCounts
from muntin.session.batch_progress import BatchWatch
from muntin.session.catalog_names import unnamed
from muntin.session.late_rows import original, with_late_rows
from muntin.session.outputs import INTO, AllSinks, Default, Outputs, ledger_of, runs
from muntin.session.session import SqlSession
from muntin.session.sources import Sources
from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.connectors.sinks.registry import SINKS, open_sink
from muntin.spark.connectors.sinks.write_to_sinks import run
from muntin.spark.plan.plan import Plan
from muntin.spark.queries.batch_counts import counted
from muntin.spark.queries.stop import StreamingQuery
from muntin.spark.queries.watch import Watch
from muntin.spark.types import DataFrame, SparkSession

#: Where runs are kept, of queries and of what writes malformed rows.
_QUERIES, _LETTERS = "queries", "letters"


@dataclass(frozen=True)
class RunningQuery:
    """A streaming query, and what watches it; ``shown`` are those that name no sink."""

    name: str
    query: StreamingQuery
    watch: Watch
    fan: AllSinks
    shown: bool


@dataclass(frozen=True)
class _Prepared:
    """A query that is ready to start."""

    name: str
    rows: DataFrame | Plan
    fan: AllSinks
    refused: Sink | None
    plans: Sequence[Plan]
    shown: bool


@dataclass(frozen=True)
class _Step:
    """What is to be done for a statement; ``counts`` if it is something that runs."""

    do: Callable[[], None]
    counts: bool = True


@dataclass
class Pipeline:
    """Runs statements in one session.

    Args:
        spark: The Spark session.
        folder: Where checkpoints, received lines and what was fired are kept.
        streaming: Whether streams are followed, or taken as they are.
        default: Makes the sink of a query that names none.
        answer: Gets what other statements answer (SHOW, EXPLAIN).
        trigger: When micro-batches run, as ``DataStreamWriter.trigger`` takes it.
        dead_letter: Where malformed rows are written, in a folder for each source.
        whole: Whether one text is all that will be run, so that received lines can be removed when
            its queries have read them.
    """

    spark: SparkSession
    folder: Path
    streaming: bool
    default: Default
    answer: Callable[[DataFrame], None]
    trigger: Mapping[str, Any] | None = None
    dead_letter: Path | None = None
    whole: bool = False
    running: list[RunningQuery] = field(default_factory=list)
    letters: dict[str, StreamingQuery | None] = field(default_factory=dict)
    _selects: int = 0

    def __post_init__(self) -> None:
        self.batch = BatchWatch(self.spark, RunningCounts())
        self.session = SqlSession(self.spark, streaming=self.streaming)
        self.sources = Sources.serving(self.session, folder=self.folder)

    def run(self, text: str) -> int:
        """Run a text; how many statements had something to run.

        Everything is declared first, so a trigger may stand after its query and sees every row.
        Then everything is translated, and only then the first query starts: a mistake in the last
        one is found before anything was written. A DROP takes effect where it stands, so what
        follows it is looked at when it is done.
        """
        self.batch.begin()
        ran = 0
        for statements in _between_drops(parse(text)):
            self.declare(statements, text)
            steps = [self._prepared(statement, text) for statement in statements]
            for step in steps:
                if step is not None:
                    step.do()
            ran += sum(step is not None and step.counts for step in steps)
        if self.dead_letter is not None:
            self._write_letters(self.dead_letter)
        return ran

    def declare(self, statements: Sequence[Statement], text: str) -> None:
        """Take in everything that a text creates, and open nothing yet."""
        self.sources.text = text
        for statement in statements:
            if isinstance(statement, CreateStream | CreateTable):
                self.sources.texts[statement.name] = text
            if isinstance(statement, CreateStream | CreateTable | CreateQuery | CreateTrigger):
                self.session.run(statement, text)

    def _prepared(self, statement: Statement, text: str) -> _Step | None:
        """What there is to do for a statement, which is all that can be known to be wrong."""
        match statement:
            case CreateStream() | CreateTable():
                return None
            case CreateTrigger():
                return self._added(statement, text)
            case CreateQuery(name=name, query=query, into=into, late=late):
                triggers = self.session.catalog.reading(name)
                if not runs(statement, triggers):
                    return None
                made = self._query(name, query, into, triggers, text, late)
                return _Step(partial(self._start, made))
            case Select(query=query):
                self._selects += 1
                made = self._query(unnamed(self._selects), query, None, (), text)
                return _Step(partial(self._start, made))
            case Drop():
                return _Step(partial(self._drop, statement, text))
            case _:
                return _Step(partial(self.answer, self.session.run(statement, text)))

    @property
    def pauses(self) -> bool:
        """Whether streams only work on what is there, and are not over after that."""
        return self.trigger is not None and "availableNow" in self.trigger

    def stop(self, name: str) -> None:
        """Stop a query that runs."""
        for one in [one for one in self.running if one.name.casefold() == name.casefold()]:
            one.query.stop()
            self.running.remove(one)

    def _added(self, trigger: CreateTrigger, text: str) -> _Step | None:
        """A trigger on a query that runs already fires from its next micro-batch on."""
        name = trigger.query_name.casefold()
        found = [one for one in self.running if one.name.casefold() == name]
        if not found:
            return None
        (one,) = found
        put = self._outputs(text, one.name, streaming=True).trigger(trigger)
        added = partial(one.fan.sinks.__setitem__, trigger.name.casefold(), put)
        return _Step(added, counts=False)

    def _drop(self, drop: Drop, text: str) -> None:
        """Forget a statement, and let go of what runs and of what was kept for it."""
        catalog, name = self.session.catalog, drop.name.casefold()
        query = catalog.find(name) if drop.what == "QUERY" else None
        triggers = catalog.reading(name) if drop.what == "QUERY" else []
        if drop.what == "TRIGGER" and name in catalog.triggers:
            triggers = [catalog.triggers[name]]
        self.answer(self.session.run(drop, text))
        for trigger in triggers:
            for one in self.running:
                one.fan.sinks.pop(trigger.name.casefold(), None)
            ledger_of(self.folder, trigger).clear()
        if isinstance(query, CreateQuery):
            self.stop(query.name)
            # Another query of this name begins anew, and its micro-batches are others.
            self._run_file(_QUERIES, query.name).unlink(missing_ok=True)
            shutil.rmtree(self._checkpoint(query.name), ignore_errors=True)

    def _query(
        self,
        name: str,
        query: Query,
        into: ConnectorCall | None,
        triggers: Sequence[CreateTrigger],
        text: str,
        late: ConnectorCall | None = None,
    ) -> _Prepared:
        answer = self.session.answer(query)
        outputs = self._outputs(text, name, streaming=answer.is_streaming)
        rows: DataFrame | Plan = answer.df
        fan = AllSinks(outputs.of(name, into, triggers), answer.finish)
        if into is not None and not answer.is_streaming and SINKS[into.name.lower()].counts:
            fan.sinks[INTO] = self._counting(name, fan.sinks[INTO])
        refused: Sink | None = None
        if late is not None:
            alone = with_late_rows(answer, late)
            rows, fan.finish = alone.plan, alone.results
            refused = original(outputs.late(late, name))
        shown = into is None and not triggers
        return _Prepared(name, rows, fan, refused, answer.behind, shown)

    def _start(self, made: _Prepared) -> None:
        if not self.streaming:
            self.batch.counting.begin(self.sources.opened, self.session.catalog)
        started = run(
            made.rows,
            [made.fan],
            refused=made.refused,
            checkpoint=self._checkpoint(made.name),
            trigger=self.trigger,
            name=made.name,
        )
        if started is not None:
            watch = Watch.of(started, made.plans)
            self.running.append(RunningQuery(made.name, started, watch, made.fan, made.shown))

    def _checkpoint(self, name: str) -> Path:
        return self.folder / "checkpoints" / name

    def _counting(self, name: str, sink: Sink) -> Sink:
        """The sink of a batch, which counts what it writes."""

        def put(rows: DataFrame, number: int) -> None:
            self.batch.written[name] = None
            seen, count = counted(rows)
            sink(seen, number)
            self.batch.written[name] = count()

        return put

    def _outputs(self, text: str, name: str, *, streaming: bool) -> Outputs:
        checkpoint = self._checkpoint(name)
        run = self._stream_run(_QUERIES, name, checkpoint) if streaming else None
        return Outputs(self.session, self.folder, text, self.default, run)

    def _stream_run(self, kind: str, name: str, checkpoint: Path) -> str:
        """What tells the micro-batches of a stream from those of one that began anew."""
        path = self._run_file(kind, name)
        # A checkpoint that somebody removed numbers micro-batches from 0 again.
        if not (path.exists() and checkpoint.is_dir()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(uuid.uuid4().hex)
        return path.read_text()

    def _run_file(self, kind: str, name: str) -> Path:
        return self.folder / "runs" / kind / name

    def malformed(self) -> Iterator[tuple[str, int, DataFrame]]:
        """Of a batch: the sources that had malformed rows, with how many and which."""
        for name, tally in self.batch.counting.found().items():
            malformed = self.sources.opened[name].malformed
            if tally.malformed and malformed is not None:
                yield name, tally.malformed, malformed

    def _write_letters(self, folder: Path) -> None:
        """Malformed rows to their folders; a stream's by a query of its own."""
        for name, opened in self.sources.opened.items():
            rows = opened.malformed
            if rows is not None and name not in self.letters:
                checkpoint = self.folder / _LETTERS / name
                known = self._stream_run(_LETTERS, name, checkpoint) if rows.isStreaming else None
                put = open_sink(self.spark, "json", [str(folder / name)], {}, query=name, run=known)
                self.letters[name] = run(rows, [put], checkpoint=checkpoint, trigger=self.trigger)


def _between_drops(statements: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """Statements that are looked at together; a DROP stands alone."""
    some: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Drop):
            yield from ([some] if some else [])
            yield [statement]
            some = []
        else:
            some.append(statement)
    yield some
