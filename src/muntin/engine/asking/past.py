"""Asking once: a SELECT over kept rows, which no stream goes on answering.

Without ``AS OF`` it has every answer that kept rows hold, up to the last committed micro-batch: the
answers of a query that began with history. ``AS OF v`` has the newest answers that were certain
when the punctuation of the stream reached ``v``: of the rows with ``on`` below ``v`` that had come
by then. It does not depend on how the stream was cut into micro-batches.
[Aurora 2.2]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.engine.engine_stream import EngineStream
from muntin.engine.history_run import HistoryRun
from muntin.engine.kept_rows import HistoryRows, KeptProgress
from muntin.engine.plan_query import PlannedQuery
from muntin.engine.result_log import MICRO_BATCH
from muntin.errors import ArgumentError, EngineError
from muntin.expressions.row_expression import RowExpression, compile_row_expression
from muntin.operators.protocol import numbered
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.asking.newest import NewestOf, certain_in, orderable
from muntin.operators.shared.program import COMPLETE, QueryProgram

#: How the argument is named in errors: the words of SQL.
AS_OF = "as of"
#: How the name of a column begins that is only there to find the newest answers.
_HIDDEN = "\0newest "


@dataclass(frozen=True)
class RowsAsOf:
    """Kept rows up to the micro-batch in which the punctuation passed a tick, and only to there."""

    kept: HistoryRows
    tick: int
    last: int

    def batches(self, after: int = -1) -> list[int]:
        """Return the micro-batches after one up to the last."""
        return [number for number in self.kept.batches(after) if number <= self.last]

    def progress(self, micro_batch: int) -> KeptProgress:
        """Return the progress of the stream; the punctuation of the last one is the tick."""
        progress = self.kept.progress(micro_batch)
        if micro_batch < self.last or self._ends(progress):
            return progress
        return replace(progress, after=self.tick, ended=False)

    def _ends(self, progress: KeptProgress) -> bool:
        """Whether the stream had ended before it could come to the tick: nothing follows."""
        return progress.ended and (progress.largest is None or progress.largest < self.tick)

    def read(self, micro_batch: int) -> pa.Table:
        """Return the rows of a micro-batch."""
        return self.kept.read(micro_batch)


def ask_history(stream: EngineStream, planned: PlannedQuery, as_of: object = None) -> pa.Table:
    """Return the answers of a query over kept rows: all of them, or the newest as of a value.

    The last column is the micro-batch in which a row became certain.
    """
    history = stream.history
    if stream.keep is None:
        raise EngineError(
            f"{stream.name} keeps no rows, so it cannot be asked about the past; declare it with "
            "keep='2 hours', or register the query"
        )
    if planned.finish is not None:
        raise EngineError(
            f"Spark evaluates the select list of this query, because {planned.why_spark}; a query "
            "over kept rows is evaluated without Spark, so it is refused"
        )
    if history is None:
        raise EngineError(
            f"{stream.name} is asked about rows that are kept while it runs; call engine.start()"
        )
    program = planned.program.numbered(0)
    with history.reading():
        rows: HistoryRows = history.kept
        if as_of is not None:
            tick = stream.network.axis.point(AS_OF, as_of)
            rows = rows_as_of(history.kept, tick, _Refusal(stream, as_of))
            program = stream.ending(program, as_of)
        run = HistoryRun(from_json(history.rule), program, rows, history.shards or 1)
        answers = all_answers(run, planned.order) if as_of is None else newest_answers_of(run)
    return _empty(planned) if answers is None else answers


@dataclass(frozen=True)
class _Refusal:
    """Says why a question about a value of ``on`` cannot be answered."""

    stream: EngineStream
    value: object

    def too_old(self, tick: int) -> ArgumentError:
        since = self.stream.value_of(tick)
        reason = f"{self.stream.name} keeps rows since its punctuation was {since}; ask for later"
        return ArgumentError(AS_OF, self.value, reason)

    def too_new(self, tick: int | None) -> ArgumentError:
        reached = self.stream.value_of(tick)
        there = "there is no punctuation yet" if reached is None else f"punctuation is {reached}"
        reason = f"it is not certain yet what {self.stream.name} answers then: {there}"
        return ArgumentError(AS_OF, self.value, reason)


def rows_as_of(kept: HistoryRows, tick: int, refusal: _Refusal) -> RowsAsOf:
    """Return the kept rows up to a tick of the punctuation; raise if they do not tell."""
    numbers = kept.batches()
    first = kept.progress(numbers[0]).before if numbers else None
    if first is not None and tick <= first:
        raise refusal.too_old(first)
    for number in numbers:
        progress = kept.progress(number)
        if progress.ended or (progress.after is not None and progress.after >= tick):
            return RowsAsOf(kept, tick, number)
    raise refusal.too_new(kept.progress(numbers[-1]).after if numbers else None)


def all_answers(run: HistoryRun, order: tuple[str, ...]) -> pa.Table | None:
    """Return every answer over kept rows, those of a micro-batch in the order of some columns."""
    tables = [
        table.sort_by([(name, "ascending") for name in order]) if order else table
        for table in _by_micro_batch(run)
    ]
    return pa.concat_tables(tables) if tables else None


def newest_answers_of(run: HistoryRun) -> pa.Table | None:
    """Return for each key the newest answer, by the bounds of its extent.

    Rows that a query only chooses are all returned: each of them stays as it is.
    """
    program = run.program
    if program.operator is None:
        return all_answers(run, ())
    shown, newest = with_hidden(program)
    run = replace(run, program=shown)
    best: pa.Table | None = None
    for table in _by_micro_batch(run):
        # Which micro-batch an answer came in does not matter: its bounds tell how new it is.
        table = certain_in(table, 0)
        best = newest.of(table if best is None else pa.concat_tables([best, table]))
    if best is None:
        return None
    order = [(name, "ascending") for name in (*newest.keys, *reversed(newest.bounds))]
    best = best.sort_by(order) if order else best
    kept = [name for name in best.column_names[:-1] if not name.startswith(_HIDDEN)]
    return best.select(kept)


def with_hidden(program: QueryProgram) -> tuple[QueryProgram, NewestOf]:
    """Return a program whose answers also have its keys and bounds, and how these are named."""
    assert program.answers is not None and program.operator is not None
    schema = program.operator.result_schema
    names = dict(program.answers.names)
    types = {name: schema.field(letter).type for letter, name in names.items()}
    keys = numbered([*names], "k")
    bounds = [n for n in names if n not in keys and n not in numbered([*names], "r")]
    there = [letter for letter in (*keys, *bounds) if orderable(types[names[letter]])]
    hidden = tuple((_HIDDEN + letter, _column(names[letter], types)) for letter in there)
    answers = replace(program.answers, columns=(*program.answers.columns, *hidden))
    newest = NewestOf(
        tuple(_HIDDEN + letter for letter in keys if letter in there),
        tuple(_HIDDEN + letter for letter in reversed(bounds) if letter in there),
    )
    return replace(program, answers=answers), newest


def _column(name: str, types: Mapping[str, pa.DataType]) -> RowExpression:
    # A column by itself is the same in every zone.
    return compile_row_expression(f"`{name}`", types, zone="UTC", errors="null")


def _by_micro_batch(run: HistoryRun) -> Iterator[pa.Table]:
    """Yield the answers of every micro-batch that has any, with its number as the last column."""
    for number in run.kept.batches(run.done):
        run.advance(number)
        made, run.answers = run.answers, []
        tables = [table for table in made if table.num_rows]
        if tables:
            table = pa.concat_tables(tables)
            numbers = pa.repeat(pa.scalar(number, pa.int64()), table.num_rows)
            yield table.append_column(MICRO_BATCH, numbers)


def _empty(planned: PlannedQuery) -> pa.Table:
    columns = planned.columns
    if COMPLETE not in columns.names:
        columns = columns.append(pa.field(COMPLETE, pa.bool_()))
    return columns.append(pa.field(MICRO_BATCH, pa.int64())).empty_table()
