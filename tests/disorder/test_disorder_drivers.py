"""Disorder rules on real Spark: which rows close which windows; tests/properties has more cases."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.spark.api.control import control, heartbeat
from muntin.spark.queries.write import progress
from muntin.specs.disorder import (
    Disorder,
    each,
    ordered,
    per_key,
    per_partition,
    punctuated,
    slack,
)
from muntin.specs.idle import clock, follow
from muntin.testing import Played, replay

SCHEMA = "k STRING, x BIGINT, q STRING, mark BOOLEAN"
START = datetime(2026, 1, 1)


def row(x: int | None, k: str = "a", q: str = "north", mark: bool = False) -> dict[str, Any]:
    return {"k": k, "x": x, "q": q, "mark": mark}


def play(
    spark: SparkSession,
    folder: Path,
    disorder: Disorder,
    batches: list[list[dict[str, Any]]],
    seconds: list[int] | None = None,
    told: list[dict[str, int] | None] | None = None,
) -> tuple[set[tuple[int, str, int, int]], Played]:
    """Return (micro-batch, key, window_start, rows) of every window of 5, and the played output.

    ``told`` is punctuation of single keys by control rows, for each micro-batch.
    """
    now = None if seconds is None else [START + timedelta(seconds=s) for s in seconds]
    played = replay(
        spark, batches, SCHEMA, punctuation=told, clock=now, end=False, tasks=2, folder=folder
    )
    stream = played.stream("x", "k", disorder, shards=3)
    output = played.play(stream.tumbling(5).plan("count(*) AS n"))
    counts = output.counts
    assert counts["rows_in"] == sum(map(len, batches))
    assert counts["rows_in"] == counts["rows_used"] + counts["rows_refused"]
    written = spark.read.parquet(str(folder / "results")).collect()
    return {(r.batch, r.k, r.window_start, r.n) for r in written}, output


def test_keys_close_by_their_own_rows_and_follow_the_furthest(
    spark: SparkSession, tmp_path: Path
) -> None:
    # batch   0        1             2
    # a       1 12     40            -         40 pulls b to 40 - 20 = 20
    # b       2        3 6 (in time) 7 21      7 is late: [5, 10) closed in batch 1
    batches = [
        [row(1), row(12), row(2, "b")],
        [row(40), row(3, "b"), row(6, "b")],
        [row(7, "b"), row(21, "b")],
    ]
    windows, output = play(spark, tmp_path, per_key(idle=follow(20)), batches)
    assert windows == {(0, "a", 0, 1), (1, "a", 10, 1), (1, "b", 0, 2), (1, "b", 5, 1)}
    assert [(r.k, r.x, r.reason, r.lateness) for r in output.refused] == [("b", 7, "late", 13)]


def test_a_key_that_is_silent_by_the_clock_follows(spark: SparkSession, tmp_path: Path) -> None:
    batches = [[row(1), row(2, "b")], [row(11)], [row(21)], [row(4, "b")]]
    rule = per_key(idle=clock("10 seconds"))
    windows, output = play(spark, tmp_path, rule, batches, [0, 5, 10, 11])
    assert windows == {(1, "a", 0, 1), (2, "a", 10, 1), (2, "b", 0, 1)}
    assert [(r.k, r.x, r.lateness) for r in output.refused] == [("b", 4, 17)]


def test_the_slowest_value_of_a_column_holds_all_keys_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [
        [row(11)],  # south is expected and has no rows yet
        [row(1, "b", q="south"), row(20)],
        [row(2, "b"), row(7, "b", q="south")],
        [row(12, "b", q="south")],
    ]
    windows, output = play(spark, tmp_path, each("q", 1, expect=["north", "south"]), batches)
    assert windows == {(2, "b", 0, 2), (3, "b", 5, 1)}
    assert output.refused == []


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (False, {(1, "a", 0, 1), (1, "b", 0, 2)}),
        (True, {(1, "a", 0, 1)}),
    ],
)
def test_rows_of_the_stream_that_are_punctuation(
    spark: SparkSession, tmp_path: Path, key: bool, expected: set[tuple[int, str, int, int]]
) -> None:
    batches = [
        [row(1), row(2, "b"), row(8)],
        [row(3, "b"), row(6, mark=True), row(None, mark=True)],
        [row(4)],
    ]
    windows, output = play(spark, tmp_path, punctuated("mark AND k = 'a'", key=key), batches)
    assert windows == expected
    assert output.counts["punctuations"] == 1
    assert {(r.k, r.x, r.reason) for r in output.refused} == {
        ("a", None, "null_on"),
        ("a", 4, "late"),
    }


def test_one_key_is_complete_because_somebody_says_so(spark: SparkSession, tmp_path: Path) -> None:
    # batch   0      1          2
    # a       1 7    told 5     3 (late) 8 told 10
    # b       2      -          4 (in time)
    batches = [[row(1), row(7), row(2, "b")], [], [row(3), row(8), row(4, "b")]]
    told: list[dict[str, int] | None] = [None, {"a": 5}, {"a": 10, "c": 99}]
    windows, output = play(spark, tmp_path, punctuated(key=True), batches, told=told)
    assert windows == {(1, "a", 0, 1), (2, "a", 5, 2)}
    assert [(r.k, r.x, r.reason, r.lateness) for r in output.refused] == [("a", 3, "late", 2)]
    assert output.counts["control_refused"] == 0


def test_a_stream_with_one_progress_counts_what_is_said_of_a_key(
    spark: SparkSession, tmp_path: Path
) -> None:
    told: list[dict[str, int] | None] = [{"a": 50}, None]
    windows, output = play(spark, tmp_path, slack(2), [[row(1)], [row(8)]], told=told)
    assert windows == {(1, "a", 0, 1)}
    assert output.counts["control_refused"] == 1


def test_nothing_punctuates_a_stream_without_control_rows(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load()
    stream = mt.stream(df, on="value", by="timestamp", disorder=punctuated(key=True))
    with pytest.raises(mt.ArgumentError, match="nothing punctuates the stream; add control=mt"):
        stream.tumbling(5).plan("count(*) AS n")


def test_slack_by_rows(spark: SparkSession, tmp_path: Path) -> None:
    # Two rows of slack: 99 is a wrong clock and moves the punctuation by one row only.
    batches = [[row(1), row(6)], [row(99)], [row(7), row(8)], [row(4), row(9)]]
    windows, output = play(spark, tmp_path, slack(rows=2), batches)
    assert windows == {(2, "a", 0, 1)}
    assert [(r.x, r.lateness) for r in output.refused] == [(4, 3)]


def test_a_batch_leaves_punctuation_out(spark: SparkSession) -> None:
    rows = [("a", 1, False), ("a", 9, True), ("a", None, True), ("b", 2, None)]
    df = spark.createDataFrame(rows, "k STRING, x BIGINT, mark BOOLEAN")
    stream = mt.stream(df, on="x", by="k", disorder=punctuated(F.col("mark")))
    plan = stream.tumbling(5).plan("count(*) AS n")
    assert {tuple(r) for r in plan.df.collect()} == {("a", 0, 5, 1), ("b", 0, 5, 1)}
    assert [(r.k, r.x, r.reason) for r in plan.refused.collect()] == [("a", None, "null_on")]


def test_a_heartbeat_closes_the_windows_of_a_silent_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    # PySpark reads it in the time zone of the process.
    now = datetime.fromtimestamp(int(time.time()))
    source = tmp_path / "rows"
    spark.createDataFrame([(now,)], "ts TIMESTAMP").write.parquet(str(source))
    df = spark.readStream.schema("ts TIMESTAMP").parquet(str(source))
    beats = heartbeat(spark, every="1 second", behind="1 second")
    controls = [control(spark, tmp_path / "control"), beats]
    plan = mt.stream(df, on="ts", control=controls).tumbling("2 seconds").plan("count(*) AS n")
    results: list[int] = []

    def keep(rows: DataFrame, number: int) -> None:
        results.extend(r.n for r in rows.collect())

    query = mt.write(plan, results=keep, checkpoint=tmp_path / "checkpoint")
    assert query is not None
    try:
        _wait_until(lambda: bool(results))
    finally:
        query.stop()
    assert results == [1]
    assert progress(query)["rows_in"] == 1


def _wait_until(happened: Callable[[], bool], seconds: float = 90) -> None:
    limit = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_slack_may_change_between_runs_and_the_rule_may_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [[row(x) for x in range(0, 60, 3)], [row(61)]]
    played = replay(spark, batches[:1], SCHEMA, end=False, folder=tmp_path)

    def run(disorder: Disorder) -> Played:
        stream = played.stream("x", "k", disorder, shards=1)
        return played.play(stream.tumbling(5).plan("count(*) AS n"))

    run(slack(2))
    played.extend(batches[1:])
    # A longer slack means larger buckets and a lower punctuation; the stored ones stay in force.
    output = run(slack(500))
    windows = sorted((r.window_start, r.n) for r in output.results)
    assert windows == [
        (s, len([x for x in [*range(0, 60, 3), 61] if s <= x < s + 5])) for s in range(0, 65, 5)
    ]
    played.extend([[row(70)]])
    with pytest.raises(StreamingQueryException, match="disorder slack there, per key, wait here"):
        run(per_key(2))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda d: mt.stream(d, on="x", disorder=per_key(1)), "needs keys: by='sensor'"),
        (lambda d: mt.stream(d, on="x", disorder=punctuated("mark", key=True)), "needs keys"),
        (lambda d: mt.stream(d, on="x", disorder=punctuated("marc")), "where='marc'.*marc"),
        (lambda d: mt.stream(d, on="x", disorder=punctuated("x + 1")), "has type bigint"),
        (lambda d: mt.stream(d, on="x", disorder=punctuated(7)), "SQL text or a PySpark column"),
        (lambda d: mt.stream(d, on="x", disorder=each("qq")), "each='qq' is not a column"),
        (lambda d: mt.stream(d, on="x", disorder=per_partition()), "each='partition'"),
        (lambda d: mt.stream(d, on="x", control=d), "mt.control.* or mt.heartbeat"),
        (
            lambda d: mt.stream(d, on="x", control=heartbeat(d.sparkSession)),
            "punctuates timestamps and on='x' is a integer column.*punctuate=False",
        ),
        (lambda d: heartbeat(d.sparkSession, every="1500 ms"), "whole seconds"),
        (lambda d: heartbeat(d.sparkSession, behind=7), "behind=7.*length of time"),
        (
            lambda d: (
                mt.stream(d, on="x", by="k", disorder=each("q", expect=[7]))
                .tumbling(5)
                .plan("count(*)")
                .df
            ),
            "values of the column, which has type string",
        ),
    ],
)
def test_a_mistake_is_named(
    spark: SparkSession, wrong: Callable[[DataFrame], Any], says: str
) -> None:
    df = spark.createDataFrame([], SCHEMA)
    with pytest.raises(mt.MuntinError, match=f"(?s){says}"):
        wrong(df)


def test_a_clock_must_come_from_somewhere(spark: SparkSession, tmp_path: Path) -> None:
    rates = spark.readStream.format("rate").load()
    rule = per_key(idle=clock("30 seconds"))

    def plan(source: Any) -> None:
        stream = mt.stream(rates, on="timestamp", by="value", disorder=rule, control=source)
        stream.tumbling("1 minute").plan("count(*)")

    for source in (None, control(spark, tmp_path)):
        with pytest.raises(mt.ArgumentError, match=r"add control=mt.heartbeat\(spark"):
            plan(source)
    plan(heartbeat(spark, punctuate=False))
    plan([control(spark, tmp_path), heartbeat(spark)])


def test_explain_says_the_rule_and_what_it_remembers(spark: SparkSession) -> None:
    rates = spark.readStream.format("rate").load()

    def line(disorder: Disorder) -> str:
        stream = mt.stream(rates, on="timestamp", by="value", disorder=disorder)
        text = str(stream.tumbling("1 minute").plan("count(*)").explanation)
        return next(line for line in text.splitlines() if line.startswith("disorder"))

    assert line(ordered()) == "disorder    ordered"
    assert line(slack(rows=9)) == "disorder    slack 9 rows; 80 bytes a shard"
    assert line(per_key("1 s")) == (
        "disorder    slack 1 second per key, quiet keys wait; 16 bytes and the key for each, "
        "for ever"
    )
