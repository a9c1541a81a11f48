"""Filling new queries while a stream runs: from base panes, and from kept rows.

A stream that keeps rows and base panes reads a history as fast as it can. Then it runs at half of
its capacity (a micro-batch is begun after twice the time that one takes), and two queries begin
with history: one that base panes cover, and one whose predicate they do not know.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

import muntin as mt
from benchmarks.measure import Report, Table, Target, say
from benchmarks.streams.micro_batches import Load, arriving_files
from muntin.engine.engine_stream import EngineStream

QUERY = (
    "SELECT k, window_end, avg(v) AS a, count(*) AS n "
    "FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE] {where} GROUP BY k"
)
#: Seconds that kept rows may take to fill a query, and that base panes may add to a micro-batch.
ROWS_WITHIN, PANES_ADD = 60.0, 0.5


@dataclass(frozen=True)
class Sizes:
    """The history, and the micro-batches that come while queries are filled."""

    history: Load
    live: Load
    settled: int

    @classmethod
    def of(cls, rows_per_pane: int, batches: int, live: int, settled: int) -> Sizes:
        history = Load(50, rows_per_pane, 10, batches)
        return cls(history, Load(50, rows_per_pane, 10, live, 10 * batches), settled)


#: Ten million rows; micro-batches of 100,000.
FULL = Sizes.of(rows_per_pane=200, batches=100, live=200, settled=20)
QUICK = Sizes.of(rows_per_pane=10, batches=10, live=30, settled=5)


@dataclass(frozen=True)
class Measured:
    """What a run took, in seconds.

    ``first`` is the first micro-batch that has the query from base panes, ``before`` and ``during``
    are the micro-batches before and while kept rows are run.
    """

    first: float
    rows: float
    before: list[float]
    during: list[float]
    filled: tuple[str, str]


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        return report(sizes, measured(spark, Path(name), sizes))


def measured(spark: SparkSession, folder: Path, sizes: Sizes) -> Measured:
    sizes.history.write(folder / "rows")
    with mt.Engine(spark, folder / "home") as engine:
        rows = arriving_files(spark, folder / "rows")
        disorder = mt.slack("1 second")
        stream = engine.stream("s", rows, "ts", "k", disorder, keep="10 hours", grain="10 seconds")
        for number in range(10):
            engine.register(f"other {number}", QUERY.format(where=f"WHERE v >= {number}"))
        engine.start()
        engine.process_available()
        pace = 2 * median(list(seconds(stream).values())[2:])
        say(f"{sizes.history.rows:,} rows of history; a micro-batch every {pace:.2f} s")
        stream.stop()
        sizes.live.write(folder / "rows")
        begun = stream.micro_batch
        stream.start({"processingTime": f"{max(1, round(pace * 1000))} milliseconds"})
        every: dict[int, float] = {}
        await_batch(stream, begun + sizes.settled, every)
        panes = engine.register("panes", QUERY.format(where=""), start="history")
        from_panes = panes.wait(600)
        await_batch(stream, from_panes.micro_batch + 2, every)
        from_batch, asked = stream.micro_batch, time.perf_counter()
        late = engine.register("rows", QUERY.format(where="WHERE v < 50"), start="history")
        from_rows = late.wait(600)
        taken = time.perf_counter() - asked
        await_batch(stream, from_rows.micro_batch, every)
        stream.stop()
    return Measured(
        first=every[from_panes.micro_batch],
        rows=taken,
        before=[s for n, s in every.items() if begun + 2 < n < from_panes.micro_batch],
        during=[s for n, s in every.items() if from_batch < n <= from_rows.micro_batch],
        filled=(from_panes.filled, from_rows.filled),
    )


def seconds(stream: EngineStream) -> dict[int, float]:
    """Return how long each of the last micro-batches with rows took."""
    assert stream.query is not None
    return {
        report.batchId: report.durationMs["triggerExecution"] / 1000
        for report in stream.query.recentProgress
        if "addBatch" in report.durationMs
    }


def await_batch(stream: EngineStream, number: int, every: dict[int, float]) -> None:
    """Wait until a micro-batch is reported; note what each takes, before Spark forgets it."""
    while max(every, default=-1) < number:
        stream.check()
        time.sleep(0.2)
        every |= seconds(stream)


def p95(values: list[float]) -> float:
    return float(np.percentile(values, 95))


def report(sizes: Sizes, found: Measured) -> Report:
    usual = median(found.before)
    about = (
        f"{sizes.history.rows:,} kept rows of 50 keys; then micro-batches of "
        f"{sizes.history.rows_per_batch:,} rows at half of capacity, with ten other queries. Two "
        f"queries start with history and are filled from {found.filled[0]} and {found.filled[1]}."
    )
    rows = [
        ["median micro-batch before", f"{usual:.2f}"],
        ["first micro-batch of the query from base panes", f"{found.first:.2f}"],
        ["until the query from kept rows is in force", f"{found.rows:.1f}"],
        ["95th percentile of micro-batches before", f"{p95(found.before):.2f}"],
        ["95th percentile of micro-batches meanwhile", f"{p95(found.during):.2f}"],
    ]
    targets = [
        Target(
            "seconds that the first micro-batch from base panes takes longer",
            found.first - usual,
            at_most=PANES_ADD,
        ),
        Target("seconds to fill a query from kept rows", found.rows, at_most=ROWS_WITHIN),
        Target(
            "95th percentile of micro-batches meanwhile over the median before",
            p95(found.during) / usual,
            at_most=2,
        ),
    ]
    frame = pd.DataFrame(
        [{"when": "before", "seconds": s} for s in found.before]
        + [{"when": "meanwhile", "seconds": s} for s in found.during]
    )
    chart = alt.Chart(frame, width=560, height=200).mark_tick().encode(x="seconds:Q", y="when:N")
    table = Table(["what", "seconds"], rows)
    return Report("filling", "Filling new queries of the engine", about, [table], targets, chart)
