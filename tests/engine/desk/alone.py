"""A query that is the only one: its operator, fed with the rows that it wants, and nothing shared.

Each predicate is evaluated by itself, punctuation is that of the plain reference, and whether an
answer is complete is decided from its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import NEVER
from muntin.operators.protocol import InputBatch, MemoryState, Operator, Punctuation
from muntin.operators.shared.program import QueryProgram
from muntin.reference.disorder import Rule
from muntin.specs.axis import Axis, Domain

ON, BY = "ts", "station"
_AXIS = Axis(Domain.TIMESTAMP)


@dataclass(frozen=True)
class Arrived:
    """The rows of a micro-batch: all, those that are data, and the progress of the stream."""

    rows: pa.Table
    data: pa.Table
    punctuation: Punctuation
    largest_before: int | None


def arrived(
    rule: Rule, batches: Sequence[pa.Table], end: int | None, marked: bool = False
) -> list[Arrived]:
    """Return the micro-batches with their punctuation; ``end`` is the one at whose end all ends.

    Rows whose lane is 2 are punctuation if the stream is ``marked``.
    """
    axis = rule.axis
    told = rule.punctuate([table.to_pylist() for table in batches], end=False)
    before: int | None = None
    largest: int | None = None
    of_keys: dict[Any, int] = {}
    result = []
    for place, (rows, batch) in enumerate(zip(batches, told, strict=True)):
        after = before if batch.punctuation is None else _tick(axis, batch.punctuation, before)
        moved = {
            key[0]: _tick(axis, value, of_keys.get(key[0])) for key, value in batch.keys.items()
        }
        data = rows
        if marked:
            place_known = pc.and_kleene(pc.equal(rows["lane"], 2), pc.is_valid(rows[ON]))
            data = rows.filter(pc.invert(pc.fill_null(place_known, False)))
        largest_before = largest
        ticks = [axis.tick(value) for value in data[ON].to_pylist() if value is not None]
        largest = max([*ticks, *([] if largest is None else [largest])], default=None)
        keys = {**of_keys, **moved}
        by_key = pa.table(
            {
                "k0": pa.array(list(keys), pa.string()),
                "before": pa.array([of_keys.get(key, NEVER) for key in keys], pa.int64()),
                "after": pa.array([keys[key] for key in keys], pa.int64()),
            }
        )
        ended, over = end is not None and place >= end, end is not None and place > end
        now = Punctuation(before, after, largest, ended, over, by_key if keys else None)
        result.append(Arrived(rows, data, now, largest_before))
        before, of_keys = after, keys
    return result


def _tick(axis: Axis, value: Any, before: int | None) -> int:
    tick = axis.tick(value)
    assert tick is not None
    return tick if before is None else max(tick, before)


@dataclass
class Alone:
    """One query, fed with micro-batches one after the other.

    Args:
        program: The query as it was planned, without ``until`` and without a cut.
        since: The first value of ``on`` whose rows count.
        until: The first value of ``on`` whose rows do not count any more.
    """

    program: QueryProgram
    since: Any = None
    until: Any = None
    state: MemoryState = field(default_factory=MemoryState)
    begun: bool = False
    known_from: int | None = None
    wanted: int = 0
    used: int = 0
    refused: int = 0

    def step(self, batch: Arrived) -> pa.Table | None:
        """Take a micro-batch; return the answers, None if there are none."""
        if not self.begun:
            self.begun, self.known_from = True, batch.largest_before
            if self.since is not None:
                cut = _microseconds(pa.array([self.since]))[0].as_py() - 1
                self.known_from = cut if self.known_from is None else max(cut, self.known_from)
        if self.program.operator is None:
            rows = self._wanted(batch.rows, 0)
            self.used += rows.num_rows
            return self._answers(rows, pa.repeat(pa.scalar(True), rows.num_rows))
        results = self._results(self.program.operator, batch)
        if results is None or not results.num_rows:
            return None
        if self.until is not None and self.program.extent is not None:
            end = _microseconds(results[self.program.extent[1]])
            until = _microseconds(pa.array([self.until]))[0]
            results = results.filter(pc.less_equal(end, until))
        complete = self._complete(results, batch.punctuation)
        if "complete" in results.column_names:
            complete = pc.and_(complete, results["complete"])
            results = results.drop_columns(["complete"])
        return self._answers(results, complete)

    def _wanted(self, rows: pa.Table, source: int) -> pa.Table:
        predicate = self.program.inputs[source].predicate
        if predicate is not None:
            rows = rows.filter(predicate.evaluate(rows))
        if self.until is not None:
            rows = rows.filter(pc.less(rows[ON], pa.scalar(self.until, rows[ON].type)))
        if self.since is not None:
            rows = rows.filter(pc.greater_equal(rows[ON], pa.scalar(self.since, rows[ON].type)))
        return rows

    def _results(self, operator: Operator, batch: Arrived) -> pa.Table:
        punctuation = batch.punctuation
        if not self.program.keyed:
            punctuation = replace(punctuation, by_key=None)
        inputs = []
        for source, (own, side) in enumerate(
            zip(self.program.inputs, operator.map_sides, strict=True)
        ):
            rows = self._wanted(batch.data, source)
            self.wanted += rows.num_rows
            routed = side.route(own.columns.evaluate(rows))
            self.used += routed.passed
            self.refused += sum(routed.refused.values())
            inputs.append(InputBatch([routed.partial], punctuation))
        step = operator.step(self.state, inputs)
        self.state.apply(step.changes)
        for counts in step.rows:
            self.used += counts.used
            self.refused += counts.late + (0 if counts.fallen is None else counts.fallen.num_rows)
        return step.results

    def _complete(self, results: pa.Table, punctuation: Punctuation) -> pa.Array:
        complete = pa.repeat(pa.scalar(True), results.num_rows)
        if self.program.extent is None:
            return complete
        start, end = self.program.reach.ticks(self.program.extent, results, _AXIS)
        if self.known_from is not None:
            complete = pc.and_(complete, pa.array(start > self.known_from))
        if punctuation.ended and punctuation.largest is not None:
            complete = pc.and_(complete, pa.array(end <= punctuation.largest))
        return complete

    def _answers(self, results: pa.Table, complete: pa.Array) -> pa.Table | None:
        table = results.append_column("complete", complete)
        if self.program.answers is not None:
            table = self.program.answers.of(table)
        return table if table.num_rows else None


def _microseconds(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
