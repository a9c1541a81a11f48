"""Streams on real Spark: when windows close, which rows are refused, and how a stream ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.simulate.freeway import Freeway
from muntin.spark.exchange.counts import observed
from muntin.testing import END, Played, assert_same_rows, replay

SCHEMA = "k STRING, x BIGINT, v DOUBLE"


def row(x: int | None, v: float = 1.0, k: str = "a") -> dict[str, Any]:
    return {"k": k, "x": x, "v": v}


def wait_until(happened: Callable[[], bool], seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_a_window_closes_in_the_micro_batch_of_its_punctuation(
    spark: SparkSession, tmp_path: Path
) -> None:
    # x      0    5    10   15   20
    # batch 0  . .                     punctuation 6: closes [0, 5)
    # batch 1       .    .             punctuation 12: closes [5, 10)
    # batch 2                          the end: closes [10, 15)
    batches = [[row(1), row(6)], [row(7), row(12)]]
    played = replay(spark, batches, SCHEMA, folder=tmp_path)
    plan = played.stream("x", "k", mt.ordered()).tumbling(5).plan("count(*) AS n")
    played.play(plan)
    written = spark.read.parquet(str(tmp_path / "results"))
    windows = {(r.batch, r.window_start, r.n) for r in written.collect()}
    assert windows == {(0, 0, 1), (1, 5, 2), (2, 10, 1)}


def test_late_rows_come_with_their_columns_and_how_late_they_were(spark: SparkSession) -> None:
    batches = [[row(1), row(30)], [row(4, v=4.0), row(26, v=26.0), row(None, v=0.5)]]
    # Punctuation 28 after the first batch closes [15, 25) and [10, 20), not [20, 30): 26 is in
    # time, 22 is late for one of its two windows, 4 for both.
    batches[1].append(row(22, v=22.0))
    null = (None, 0.5, "null_on", None)
    for late, refused in [
        ("generous", {(4, 4.0, "late", 24), null}),
        ("consistent", {(4, 4.0, "late", 24), (22, 22.0, "late", 6), null}),
    ]:
        played = replay(spark, batches, SCHEMA)
        stream = played.stream("x", "k", mt.slack(2, late=late))  # type: ignore[arg-type]
        output = played.play(stream.window(range=10, slide=5).plan("sum(v) AS s"))
        played.remove()
        assert {(r.x, r.v, r.reason, r.lateness) for r in output.refused} == refused
        counts = output.counts
        assert counts["rows_in"] == 6 == counts["rows_used"] + counts["rows_refused"]
        assert counts["rows_refused"] == len(refused) == counts["late"] + counts["null_on"]


def test_written_punctuation_closes_windows_without_any_disorder_rule(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [[row(1), row(9)], [row(3)], []]
    played = replay(spark, batches, SCHEMA, punctuation=[None, 5, 10], end=False, folder=tmp_path)
    output = played.play(played.stream("x", "k").tumbling(5).plan("sum(v) AS s", "count(*) AS n"))
    assert_same_rows(
        output.results,
        [
            {"k": "a", "window_start": 0, "window_end": 5, "s": 2.0, "n": 2},
            {"k": "a", "window_start": 5, "window_end": 10, "s": 1.0, "n": 1},
        ],
    )
    written = spark.read.parquet(str(tmp_path / "results"))
    assert {(r.batch, r.window_start) for r in written.collect()} == {(1, 0), (2, 5)}


def test_nothing_enters_a_stream_that_is_over(spark: SparkSession) -> None:
    played = replay(spark, [[row(1)], [row(2)]], SCHEMA, punctuation=[END, None], end=False)
    output = played.play(played.stream("x", "k", mt.slack(100)).tumbling(5).plan("count(*) AS n"))
    played.remove()
    assert [(r.window_start, r.n) for r in output.results] == [(0, 1)]
    assert [(r.x, r.reason) for r in output.refused] == [(2, "late")]


def test_a_control_row_that_cannot_be_read_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    """The row stays in its source for ever, so a restart must not fail because of it."""
    played = replay(spark, [[row(1)]], SCHEMA, punctuation=["soon"], end=False, folder=tmp_path)

    def play() -> Played:
        return played.play(played.stream("x", "k").tumbling(5).plan("count(*) AS n"))

    output = play()
    assert (output.counts["control_refused"], output.counts["rows_in"], output.results) == (
        1,
        1,
        [],
    )
    played.extend([[row(2)]], punctuation=[5], end=False)
    output = play()
    assert (output.counts["control_refused"], output.counts["results"]) == (0, 1)
    assert [(r.window_start, r.n) for r in output.results] == [(0, 2)]


def test_two_plans_over_the_same_columns_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    played = replay(spark, [[row(1), row(6)]], SCHEMA, end=False, folder=tmp_path)
    stream = played.stream("x", "k", mt.ordered())
    plans = [stream.tumbling(size).plan("count(*) AS n") for size in (5, 6)]
    query = (
        plans[0]
        .df.union(plans[1].df)
        .writeStream.format("memory")
        .queryName("both")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    windows = {(r.window_start, r.window_end, r.n) for r in spark.table("both").collect()}
    assert windows == {(0, 5, 1), (0, 6, 1)}
    (report,) = query.recentProgress
    assert {plan.name for plan in plans} == {*report.observedMetrics}
    assert mt.progress(query)["rows_in"] == 4  # two rows, counted by two plans


def test_a_running_query_is_told_and_ended(spark: SparkSession, tmp_path: Path) -> None:
    """``mt.control``, ``mt.punctuate`` and ``mt.end`` work on a running query."""
    start = datetime(2026, 1, 1)
    rows = [(start + timedelta(seconds=s), float(s)) for s in (0, 30, 70)]
    source = tmp_path / "rows"
    spark.createDataFrame(rows, "ts TIMESTAMP, v DOUBLE").coalesce(1).write.parquet(str(source))
    df = spark.readStream.schema("ts TIMESTAMP, v DOUBLE").parquet(str(source))
    control = mt.control(spark, tmp_path / "control")
    results = mt.stream(df, on="ts", control=control).tumbling("1 minute").agg("sum(v) AS s")
    query = (
        results.writeStream.format("memory")
        .queryName("told")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        wait_until(lambda: mt.progress(query).get("rows_in", 0) == 3)
        mt.punctuate(tmp_path / "control", "2026-01-01 00:01:00")
        wait_until(lambda: mt.progress(query)["results"] == 1)
        assert [r.s for r in spark.table("told").collect()] == [30.0]
        mt.end(tmp_path / "control")
        wait_until(lambda: mt.progress(query)["results"] == 2)
        assert sorted(r.s for r in spark.table("told").collect()) == [30.0, 70.0]
    finally:
        query.stop()


def test_state_is_forgotten_with_the_windows(spark: SparkSession) -> None:
    batches = [[row(n * 100 + x) for x in range(0, 100, 5)] for n in range(4)]
    played = replay(spark, batches, SCHEMA, end=False)
    windowed = played.stream("x", "k", mt.ordered(), shards=1).window(range=20, slide=10)
    plan = windowed.plan("count(*) AS n")
    query = mt.write(
        plan,
        results=played.folder / "results",
        checkpoint=played.folder / "checkpoint",
        trigger={"availableNow": True},
    )
    assert query is not None
    query.awaitTermination()
    reports = [observed(report.observedMetrics[plan.name]) for report in query.recentProgress]
    written = [report["state_bytes_written"] for report in reports]
    held = spark.read.format("statestore").option("stateVarName", "chunks")
    chunks = held.load(str(played.folder / "checkpoint"))
    live = chunks.select(F.length("user_map_value.payload").alias("size")).collect()
    played.remove()
    assert len(written) == 4
    assert written[3] == written[1]  # the fourth hundred costs as much as the second
    assert sum(r.size for r in live) < 4096


def test_hours_of_a_freeway_equal_spark(spark: SparkSession) -> None:
    raw = spark.createDataFrame(Freeway(hours=3).readings())
    df = raw.select("ts", "detector", F.col("speed").cast("DECIMAL(10,2)")).cache()
    ours = mt.stream(df, on="ts", by="detector").window("5 minutes", "1 minute")
    results = ours.agg("avg(speed) AS mean", "count(*) AS n", "max(speed) AS hi")
    window = F.window("ts", "5 minutes", "1 minute")
    theirs = df.groupBy("detector", window).agg(
        F.avg("speed").alias("mean"), F.count("*").alias("n"), F.max("speed").alias("hi")
    )
    flat = theirs.select(
        "detector",
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        *("mean", "n", "hi"),
    )
    assert results.count() == flat.count() > 10_000
    assert results.exceptAll(flat).count() == 0
