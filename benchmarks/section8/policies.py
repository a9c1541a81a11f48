"""What a stream's answers are and when they come, for each way to make punctuation.

The operator is stepped without Spark, as a driver would. Punctuation takes effect at the end of a
micro-batch, so micro-batches of many rows would add a latency of their own. Here a micro-batch
ends with each row whose punctuation closes a window. The answers and their times are those of
micro-batches of one row, because a punctuation that closes nothing changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.section8.disorder import SECOND, Arrivals, Floats, Ints
from muntin.aggregates.definition import AggregateCall
from muntin.operators.progress.progress import Progress, ProgressMessages, Punctuator
from muntin.operators.protocol import InputBatch, MemoryState
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Domain
from muntin.specs.disorder import Late
from muntin.specs.windows import Window

#: A micro-batch: its rows from and to, and the punctuation from outside that comes with the last.
MicroBatch = tuple[int, int, int | None]


@dataclass(frozen=True)
class Query:
    """One aggregate over sliding windows in microseconds."""

    function: str
    range: int
    slide: int
    late: Late = "generous"

    def operator(self) -> WindowOperator:
        window = Window(range=self.range, slide=self.slide, on="on")
        axis = window.axis(Domain.INTEGER, scale=0, zone="UTC")
        return WindowOperator(
            axis=axis,
            edges=window.edges(axis),
            keys=(),
            calls=(AggregateCall(self.function, self.function, (0,), (pa.float64(),), True),),
            bound_type=pa.int64(),
            late=self.late,
        )

    def ends(self, first: int, last: int) -> Ints:
        """The ends of the windows that begin and end between two times."""
        least = -(-(first + self.range) // self.slide)
        return np.arange(least, last // self.slide + 1, dtype=np.int64) * self.slide


@dataclass(frozen=True)
class Answers:
    """The result of each window by its end, and the time at which it came."""

    end: Ints
    value: Floats
    clock: Ints

    def at(self, ends: Ints) -> Answers:
        """The answers of these windows; those that were never given have the value NaN."""
        place = np.minimum(np.searchsorted(self.end, ends), len(self.end) - 1)
        value = np.where(self.end[place] == ends, self.value[place], np.nan)
        return Answers(ends, value, self.clock[place])


@dataclass(frozen=True)
class Quality:
    """How good answers are: mean error and share of wrong ones in percent, latency in seconds."""

    error: float
    wrong: float
    latency: float


def with_slack(query: Query, rows: Arrivals, slack: int) -> Answers:
    """Punctuation ``slack`` below the largest value seen."""
    closed = (np.maximum.accumulate(rows.on) - slack) // query.slide
    stops = np.flatnonzero(np.diff(closed, prepend=closed[0] - 1)) + 1
    return play(query, rows, Punctuator(slack), batches(stops, [None] * len(stops)))


def with_external(query: Query, rows: Arrivals) -> Answers:
    """Punctuation from the source: for each window right after the last row below its end."""
    place = np.argsort(rows.on, kind="stable")
    below = np.sort(rows.on)
    ends = np.arange(below[0] // query.slide + 1, below[-1] // query.slide + 1) * query.slide
    last = np.maximum.accumulate(place)[np.searchsorted(below, ends) - 1]
    # Of several after the same row, the greatest is enough.
    final = np.flatnonzero(np.diff(last, append=len(rows)))
    return play(query, rows, Punctuator(None), batches(last[final] + 1, ends[final].tolist()))


def batches(stops: Ints, punctuations: Sequence[int | None]) -> list[MicroBatch]:
    """Return micro-batches; rows after the last stop close no window and are left out."""
    edges = itertools.pairwise([0, *stops.tolist()])
    return [(start, stop, value) for (start, stop), value in zip(edges, punctuations, strict=True)]


def play(
    query: Query, rows: Arrivals, punctuator: Punctuator, parts: Iterable[MicroBatch]
) -> Answers:
    """Route and step every micro-batch."""
    operator, state, progress = query.operator(), MemoryState(), Progress()
    table = pa.table({"on": pa.array(rows.on), "s0": pa.array(rows.value)})
    closed, clocks = [operator.result_schema.empty_table()], [np.empty(0, np.int64)]
    for start, stop, punctuation in parts:
        routed = operator.route(table.slice(start, stop - start))
        heard = ProgressMessages(seen=[routed.progress], announced=[punctuation])
        advanced = punctuator.advance(state, progress, heard)
        progress = advanced.progress
        step = operator.step(state, [InputBatch([routed.partial], advanced.punctuation)])
        state.apply(step.changes)
        closed.append(step.results)
        clocks.append(np.full(step.results.num_rows, rows.clock[stop - 1]))
    results = pa.concat_tables(closed)
    end = results["window_end"].to_numpy()
    # What the source says of a window it says when the window is over, not before.
    clock = np.maximum(np.concatenate(clocks), end)
    return Answers(end, results["r0"].to_numpy().astype(np.float64), clock)


def truth(query: Query, rows: Arrivals) -> Answers:
    """The answers when all rows are there: a batch."""
    everything = [(0, len(rows), int(rows.on.max()) + 1)]
    return play(query, rows, Punctuator(None), everything)


def judge(answers: Answers, right: Answers, ends: Ints) -> Quality:
    """Compare the answers for some windows; one that was never given is all wrong."""
    actual, wanted = answers.at(ends), right.at(ends)
    missing = np.isnan(actual.value)
    error = np.abs(actual.value - wanted.value) / np.abs(wanted.value)
    return Quality(
        error=100 * float(np.where(missing, 1.0, error).mean()),
        wrong=100 * float((actual.value != wanted.value).mean()),
        latency=float((actual.clock - ends)[~missing].mean()) / SECOND,
    )
