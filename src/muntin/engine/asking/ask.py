"""Asking a query: its answer as of the last committed micro-batch, in each of three ways.

*The answer of micro-batch N* is, for each key of the answer, the newest rows that the query has
reported in micro-batches up to N (:mod:`muntin.operators.shared.asking.newest`). An eager query's
rows are in the result log, a partial query's stand in the shards, and a lazy query's are made from
kept rows when somebody asks. [PSoup 4.3]
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from muntin.engine.engine_stream import EngineStream
from muntin.engine.history_run import HistoryRun
from muntin.engine.planning.early_queries import answer_schema
from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.engine.result_log import MICRO_BATCH, Answer
from muntin.errors import EngineError
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.asking.newest import CERTAIN_IN, certain_in
from muntin.operators.shared.program import QueryProgram

#: Seconds between two looks at whether an ask is answered.
_LOOK = 0.005
#: The column with the micro-batch in whose log answers are.
_TOLD_IN = "_told_in"


@dataclass
class LoggedNewest:
    """The newest answers of an eager query, and the last micro-batch that they are read up to."""

    upto: int = -1
    answers: pa.Table | None = None

    def after(self, logged: Iterable[Answer], program: QueryProgram) -> LoggedNewest:
        """Return the newest answers when more have been read."""
        parts = [] if self.answers is None else [self.answers]
        upto = self.upto
        for answer in logged:
            parts.append(_noted(answer.table, answer.micro_batch, program.auto))
            upto = max(upto, answer.micro_batch)
        if upto == self.upto:
            return self
        newest = program.newest
        if program.auto:
            # What stands is told again by every question; the rows of one telling count.
            newest = replace(newest, bounds=(*newest.bounds, _TOLD_IN))
        return LoggedNewest(upto, newest.of(pa.concat_tables(parts)))

    def shown(self) -> pa.Table | None:
        """Return the answers without the column that tells tellings apart."""
        answers = self.answers
        if answers is None or _TOLD_IN not in answers.column_names:
            return answers
        return answers.drop_columns([_TOLD_IN])


@dataclass
class Asker:
    """Answers questions about the queries of an engine.

    What was read of the log for an eager query is remembered, so that a second question reads only
    what came since.
    """

    registry: Registry
    _read: dict[tuple[int, int], LoggedNewest] = field(default_factory=dict)

    def ask(self, stream: EngineStream, record: QueryRecord, timeout: float) -> pa.Table:
        """Return the answer of a query; the last column is the micro-batch of each row."""
        program: QueryProgram = from_json(record.program).numbered(record.number)
        match program.answer:
            case _ if program.auto:
                answers = self._chosen(stream, record, program, timeout)
            case "partial":
                answers = self._told(stream, record, timeout)
            case "lazy":
                answers = _computed(stream, record, program)
            case _:
                answers = self._logged(stream, record, program)
        if answers is None or not answers.num_rows:
            return _empty(stream, record)
        answers = program.newest.of(answers)
        order = [(name, "ascending") for name in stream.plan_of(record).order]
        answers = answers.sort_by(order) if order else answers
        return answers.rename_columns([*answers.column_names[:-1], MICRO_BATCH])

    def _logged(
        self, stream: EngineStream, record: QueryRecord, program: QueryProgram
    ) -> pa.Table | None:
        """Return the newest answers in the log."""
        place = (record.number, stream.epoch)
        known = self._read.get(place, LoggedNewest())
        found = known.after(stream.answers().answers([record.number], known.upto), program)
        if found is not known:
            self._read[place] = known = found
        return _retained(known.shown(), stream.answers().forgotten(record.number))

    def _chosen(
        self, stream: EngineStream, record: QueryRecord, program: QueryProgram, timeout: float
    ) -> pa.Table | None:
        """Return the newest answers of a query that is eager at times and partial at others.

        What it answered while it was eager is in the log, and so is what a question brings there.
        """
        stream.rates.asked(record.number)
        if program.answer == "partial":
            self._told(stream, record, timeout)
        return self._logged(stream, record, program)

    def _told(self, stream: EngineStream, record: QueryRecord, timeout: float) -> pa.Table | None:
        """Let the next micro-batch log the answers that stand in the shards; return them."""
        if stream.query is None:
            raise EngineError(
                f"{record.name or record.id} is answered by the next micro-batch, and the engine "
                "is not started; call engine.start()"
            )
        with stream.publishing:
            seq = self.registry.ask(record.number)
            stream.publish()
        stream.awake()
        until = time.monotonic() + timeout
        while (found := self.registry.acknowledgement(seq)) is None:
            stream.check()
            if time.monotonic() > until:
                raise EngineError(
                    f"{record.name or record.id} has not answered after {timeout} seconds"
                )
            time.sleep(_LOOK)
        if found.micro_batch is None:
            raise EngineError(f"{record.name or record.id} was not asked: {found.refused}")
        number = found.micro_batch
        answers = stream.answers().answers([record.number], number - 1, number)
        return next((answer.table for answer in answers), None)


def _noted(answers: pa.Table, micro_batch: int, auto: bool) -> pa.Table:
    """Return answers of the log with the micro-batch in which they became certain.

    Those that stood in a shard until somebody asked say so themselves. For a query that answers
    both ways there is also the micro-batch in which they were logged, before it.
    """
    if CERTAIN_IN not in answers.column_names:
        answers = certain_in(answers, micro_batch)
    if not auto:
        return answers
    column = pa.repeat(pa.scalar(micro_batch, pa.int64()), answers.num_rows)
    return answers.add_column(answers.num_columns - 1, _TOLD_IN, column)


def _retained(answers: pa.Table | None, forgotten: int) -> pa.Table | None:
    """Return answers without those that the log has forgotten: a new process answers the same."""
    if answers is None or forgotten < 0:
        return answers
    return answers.filter(pc.greater(answers[CERTAIN_IN], forgotten))


def _computed(stream: EngineStream, record: QueryRecord, program: QueryProgram) -> pa.Table | None:
    """Run a query over the kept rows since it began; return its newest answers."""
    history = stream.history
    if history is None:
        raise EngineError(
            f"{record.name or record.id} is computed from kept rows when asked, and the engine is "
            "not started; call engine.start()"
        )
    if record.start == "now" and record.since is None:
        return None
    first = _first(stream, record)
    shards = history.shards or 1
    cut = stream.start_of(record)
    run = HistoryRun(from_json(history.rule), _always(program), history.kept, shards, cut)
    run.done = first - 1
    with history.reading():
        return newest_over(run, program, first)


def newest_over(run: HistoryRun, program: QueryProgram, first: int) -> pa.Table | None:
    """Run a query over kept micro-batches from one on; return its newest answers."""
    newest: pa.Table | None = None
    for number in run.kept.batches(first - 1):
        run.advance(number)
        made, run.answers = run.answers, []
        parts = [certain_in(table, number) for table in made if table.num_rows]
        if parts:
            before = [] if newest is None else [newest]
            newest = program.newest.of(pa.concat_tables([*before, *parts]))
    return newest


def _first(stream: EngineStream, record: QueryRecord) -> int:
    """Return the first micro-batch whose rows count."""
    if record.start != "now" or record.since is None or record.since[1] != stream.epoch:
        return 0
    return record.since[0]


def _always(program: QueryProgram) -> QueryProgram:
    return replace(program, answer="eager")


def _empty(stream: EngineStream, record: QueryRecord) -> pa.Table:
    columns = answer_schema(stream.plan_of(record).columns, record)
    return columns.append(pa.field(MICRO_BATCH, pa.int64())).empty_table()
