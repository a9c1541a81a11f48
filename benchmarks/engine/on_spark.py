"""The engine on Spark: a micro-batch with many window queries beside one with a single query.

All queries are registered over one stream of files, and each micro-batch has 10 seconds of it. The
same queries as streaming queries of their own are measured for a few and multiplied, which is said
in the table; so is Spark's own ``groupBy(window(...))`` of the same windows, one query each.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import Report, Table, Target, say
from benchmarks.streams.micro_batches import Load, arriving, arriving_files, micro_batches

#: How many queries run alone, to be multiplied.
ALONE = 10
SLIDES = (1, 2, 5, 10)
RANGES = (10, 20, 30, 60, 90, 120, 180, 240, 300)
AGGREGATES = ("max(v)", "min(v)", "sum(v)", "avg(v)", "count(*)")


@dataclass(frozen=True)
class WindowQuery:
    """Windows of a length and a slide in seconds, over rows in a range of values."""

    range: int
    slide: int
    aggregate: str
    low: int

    @property
    def text(self) -> str:
        return (
            f"SELECT k, window_end, {self.aggregate} AS a FROM s "
            f"[RANGE {self.range} SECONDS SLIDE {self.slide} SECONDS] "
            f"WHERE v >= {self.low} GROUP BY k"
        )


def queries(count: int) -> list[WindowQuery]:
    """Return so many queries that differ in slide, range, aggregate and condition."""
    lows = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90)
    every = itertools.cycle(zip(itertools.cycle(RANGES), itertools.cycle(SLIDES), strict=False))
    aggregates, conditions = itertools.cycle(AGGREGATES), itertools.cycle(lows)
    return [WindowQuery(*next(every), next(aggregates), next(conditions)) for _ in range(count)]


def run(spark: SparkSession, quick: bool) -> Report:
    load = Load(50, 20 if quick else 2_000, 10, 5 if quick else 7)
    counts = (1, 10) if quick else (1, 10, 100)
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        load.write(folder / "rows")
        engine = {count: list(engine_seconds(spark, folder, count)) for count in counts}
        alone = list(separate(spark, folder, queries(ALONE)))
        sparks = list(spark_queries(spark, folder, queries(ALONE)))
    return report(load, engine, median(alone), median(sparks))


def engine_seconds(spark: SparkSession, folder: Path, count: int) -> Iterator[float]:
    """Yield the seconds of the micro-batches after the first two, with so many queries."""
    with TemporaryDirectory(prefix="muntin-bench-") as home, mt.Engine(spark, home) as engine:
        rows = arriving_files(spark, folder / "rows")
        stream = engine.stream("s", rows, "ts", "k", mt.slack("1 second"))
        begun = time.perf_counter()
        for number, query in enumerate(queries(count)):
            engine.register(f"q{number} of {count}", query.text)
        registered = time.perf_counter() - begun
        engine.start()
        engine.process_available()
        assert stream.query is not None
        reports = [r for r in stream.query.recentProgress if r.numInputRows > 1]
        seconds = [r.durationMs["triggerExecution"] / 1000 for r in reports]
        answers = sum(part.answers for part in stream.counts.values())
    say(
        f"{count} queries: {median(seconds[2:]):.2f} s a micro-batch, {answers:,} answers, "
        f"{registered / count:.2f} s to register one"
    )
    yield from seconds[2:]


def separate(spark: SparkSession, folder: Path, asked: Sequence[WindowQuery]) -> Iterator[float]:
    """Yield the seconds of micro-batches of queries that run alone."""
    for query in asked:
        rows = mt.stream(arriving_files(spark, folder / "rows"), "ts", "k", mt.slack("1 second"))
        results = mt.sql(query.text, s=rows)
        yield from _streamed(results.writeStream, folder, query)


def spark_queries(
    spark: SparkSession, folder: Path, asked: Sequence[WindowQuery]
) -> Iterator[float]:
    """Yield the seconds of micro-batches of Spark's own windows."""
    for query in asked:
        rows = arriving(spark, folder / "rows").withWatermark("ts", "1 second")
        window = F.window("ts", f"{query.range} seconds", f"{query.slide} seconds")
        chosen = rows.where(F.col("v") >= query.low).groupBy("k", window)
        results = chosen.agg(F.expr(query.aggregate).alias("a"))
        yield from _streamed(results.writeStream, folder, query)


def _streamed(writer, folder: Path, query: WindowQuery) -> Iterator[float]:  # type: ignore[no-untyped-def]
    with TemporaryDirectory(prefix="muntin-bench-") as checkpoint:
        started = writer.format("noop").outputMode("append")
        started = started.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        running = started.start()
        running.awaitTermination()
        taken = [batch.seconds for batch in micro_batches(running) if batch.rows]
    say(f"{query.text}: {median(taken[2:]):.2f} s a micro-batch")
    yield from taken[2:]


def report(load: Load, engine: dict[int, list[float]], alone: float, sparks: float) -> Report:
    most = max(engine)
    seconds = {count: median(taken) for count, taken in engine.items()}
    rows = [
        [f"engine, {count} queries", f"{taken:.2f}", f"{taken / seconds[1]:.1f}"]
        for count, taken in seconds.items()
    ]
    rows += [
        [f"{most} streaming queries ({ALONE} measured, extrapolated)", f"{alone * most:.1f}", ""],
        [
            f"{most} queries of Spark's window ({ALONE} measured, extrapolated)",
            f"{sparks * most:.1f}",
            "",
        ],
    ]
    about = (
        f"Window queries over one stream of {load.rows_per_batch:,} rows a micro-batch, 50 keys, "
        "10 s of stream time: four slides, nine ranges, five aggregates, ten conditions."
    )
    targets = [
        Target(f"{most} queries over one query", seconds[most] / seconds[1], at_most=4),
        Target(
            f"{most} separate queries over the engine", alone * most / seconds[most], at_least=20
        ),
        Target(
            f"Spark's {most} windows over the engine", sparks * most / seconds[most], at_least=5
        ),
    ]
    table = Table(["what runs", "seconds a micro-batch", "of one query"], rows)
    frame = pd.DataFrame({"queries": list(seconds), "seconds": list(seconds.values())})
    chart = alt.Chart(frame).mark_line(point=True).encode(x="queries:Q", y="seconds:Q")
    return Report("engine", "Many queries over one stream", about, [table], targets, chart)
