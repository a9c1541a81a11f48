"""A text of statements as a running pipeline: sources opened, queries started, watched, stopped."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muntin.engine.counting import Counting
from muntin.engine.lateness import original, with_late_rows
from muntin.engine.outputs import Default, Fan, Outputs, runs
from muntin.engine.session import Session
from muntin.engine.sources import Sources
from muntin.engine.standing import BatchWatch
from muntin.spark.observing import counted
from muntin.spark.plan import Plan
from muntin.spark.queries import StreamingQuery
from muntin.spark.sinks.opening import SINKS, open_sink
from muntin.spark.sinks.running import run
from muntin.spark.sinks.sending import Put
from muntin.spark.types import DataFrame, SparkSession
from muntin.spark.watching import Watch
from muntin.sql.parse import parse
from muntin.sql.statements import (
    Call,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Drop,
    Query,
    Select,
    Statement,
)


@dataclass(frozen=True)
class Running:
    """A streaming query, and what watches it; ``shown`` are those that name no sink."""

    name: str
    query: StreamingQuery
    watch: Watch
    fan: Fan
    shown: bool


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
    running: list[Running] = field(default_factory=list)
    letters: dict[str, StreamingQuery | None] = field(default_factory=dict)
    _selects: int = 0

    def __post_init__(self) -> None:
        self.batch = BatchWatch(self.spark, Counting())
        self.session = Session(self.spark, streaming=self.streaming)
        self.sources = Sources.serving(self.session, folder=self.folder)

    def run(self, text: str) -> int:
        """Run a text: first everything is declared, then queries run; how many there were.

        So a trigger may stand after its query, and sees every row.
        """
        statements = parse(text)
        self.batch.begin()
        self.declare(statements, text)
        ran = sum(self._run(statement, text) for statement in statements)
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
            if isinstance(statement, CreateTrigger):
                self._add_trigger(statement, text)

    def _run(self, statement: Statement, text: str) -> bool:
        """Run a statement if there is something to run."""
        match statement:
            case CreateStream() | CreateTable() | CreateTrigger():
                return False
            case CreateQuery(name=name, query=query, into=into, late=late):
                triggers = self.session.catalog.reading(name)
                if runs(statement, triggers):
                    self._start(name, query, into, triggers, text, late)
                return runs(statement, triggers)
            case Select(query=query):
                self._selects += 1
                self._start(f"select_{self._selects}", query, None, (), text)
            case _:
                self.answer(self.session.run(statement, text))
                if isinstance(statement, Drop) and statement.what == "QUERY":
                    self.stop(statement.name)
        return True

    @property
    def pauses(self) -> bool:
        """Whether streams only work on what is there, and are not over after that."""
        return self.trigger is not None and "availableNow" in self.trigger

    def stop(self, name: str) -> None:
        """Stop a query that runs."""
        for one in [one for one in self.running if one.name.casefold() == name.casefold()]:
            one.query.stop()
            self.running.remove(one)

    def _add_trigger(self, trigger: CreateTrigger, text: str) -> None:
        """A trigger on a query that runs already fires from its next micro-batch on."""
        for one in self.running:
            if one.name.casefold() == trigger.query_name.casefold():
                one.fan.sinks.append(self._outputs(text, streaming=True).trigger(trigger))

    def _start(
        self,
        name: str,
        query: Query,
        into: Call | None,
        triggers: Sequence[CreateTrigger],
        text: str,
        late: Call | None = None,
    ) -> None:
        answer = self.session.answer(query)
        outputs = self._outputs(text, streaming=answer.is_streaming)
        rows: DataFrame | Plan = answer.df
        fan = Fan(outputs.of(name, into, triggers), answer.finish)
        if into is not None and not answer.is_streaming and SINKS[into.name.lower()].counts:
            fan.sinks[0] = self._counting(name, fan.sinks[0])
        refused: Put | None = None
        if late is not None:
            alone = with_late_rows(answer, late)
            rows, fan.finish = alone.plan, alone.results
            refused = original(outputs.sink(late, f"{name}_late"))
        if not self.streaming:
            self.batch.counting.begin(self.sources.opened, self.session.catalog)
        checkpoint = self.folder / "checkpoints" / name
        started = run(
            rows, [fan], refused=refused, checkpoint=checkpoint, trigger=self.trigger, name=name
        )
        if started is not None:
            watch = Watch.of(started, self.session.plans)
            shown = into is None and not triggers
            self.running.append(Running(name, started, watch, fan, shown))

    def _counting(self, name: str, sink: Put) -> Put:
        """The sink of a batch, which counts what it writes."""

        def put(rows: DataFrame, number: int) -> None:
            self.batch.written[name] = None
            seen, count = counted(rows)
            sink(seen, number)
            self.batch.written[name] = count()

        return put

    def _outputs(self, text: str, *, streaming: bool) -> Outputs:
        run = self._stream_run() if streaming else None
        return Outputs(self.session, self.folder, text, self.default, run)

    def _stream_run(self) -> str:
        """What tells the micro-batches of this stream from those of one that began anew."""
        path = self.folder / "run"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(uuid.uuid4().hex)
        return path.read_text()

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
                put = open_sink(self.spark, "json", [str(folder / name)], {}, query=name)
                checkpoint = self.folder / "checkpoints" / f"malformed_{name}"
                self.letters[name] = run(rows, [put], checkpoint=checkpoint, trigger=self.trigger)
