"""reference = batch = stream for windows over rows on real Spark; other tests have more cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.reference.windows import END, MicroBatch
from muntin.specs.axis import Domain
from muntin.specs.row_windows import Landmarks, RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.testing import Played, assert_same_rows, replay
from tests.drivers.cases import COLUMNS, ddl, naive, texts
from tests.drivers.many_cases import Streamed, check_each, check_streams
from tests.drivers.test_properties import START, is_short
from tests.properties.sequences import SequenceCase, sequence_cases

NAMES = (*COLUMNS, "slide_on", "gap", "tie")
#: For each domain, a function that makes a gap from a number of small units.
GAP = {
    Domain.TIMESTAMP: "make_dt_interval(0, 0, 0, gap)",
    Domain.TIMESTAMP_NTZ: "make_dt_interval(0, 0, 0, gap)",
    Domain.DATE: "make_dt_interval(gap)",
    Domain.INTEGER: "gap",
    Domain.DECIMAL: "CAST(gap AS DECIMAL(10, 0)) / 10",
    Domain.DOUBLE: "gap / 10D",
}


def on_workers(case: SequenceCase) -> SequenceCase:
    """Return a case without the tests' own aggregate, whose module workers do not have."""
    return replace(case, calls=[call for call in case.calls if call[0] != "own"])


def rows_of(case: SequenceCase, batches: Sequence[Sequence[Any]]) -> list[list[dict[str, Any]]]:
    """Return rows with their gap as an integer."""
    return [[{**row, "gap": units(case, row["gap"])} for row in batch] for batch in batches]


def units(case: SequenceCase, gap: Any) -> int | None:
    if isinstance(gap, timedelta):
        return (
            gap // timedelta(days=1) if case.domain is Domain.DATE else round(gap.total_seconds())
        )
    if isinstance(gap, Decimal | float):
        return round(gap * 10)
    return gap


def schema(case: SequenceCase) -> str:
    return f"{ddl(case)}, slide_on BIGINT, gap INT, tie BIGINT"


def plan(case: SequenceCase, stream: mt.Stream) -> mt.Plan:
    spec, unfinished = case.spec, case.unfinished
    match spec:
        case RowWindow():
            windowed = stream.rows(
                spec.range,
                spec.slide,
                group="k" if case.grouped else None,
                within=spec.within,
                forget=spec.forget,
                order=spec.order,
                tiebreak="tie",
                min_rows=spec.min_rows,
                unfinished=unfinished,
            )
        case TupleWindow(order=order):
            slide_on = "rank" if order == "on" else "row-num"
            windowed = stream.window(
                spec.range, spec.every, slide_on=slide_on, unfinished=unfinished
            )
        case SlideOnWindow():
            windowed = stream.window(
                spec.range,
                spec.slide,
                slide_on="slide_on",
                group="k" if case.grouped else None,
                unfinished=unfinished,
            )
        case Landmarks(first=True):
            windowed = stream.landmark(spec.slide, "first", unfinished=unfinished)
        case Landmarks(origins=()):
            windowed = stream.landmark(spec.slide, start="b", unfinished=unfinished)
        case Landmarks():
            windowed = stream.landmark(spec.slide, list(spec.origins), unfinished=unfinished)
        case Session(gap=None):
            windowed = stream.session(F.expr(GAP[case.domain]))
        case Session():
            windowed = stream.session(spec.gap)
        case _:
            raise AssertionError(spec)
    return windowed.plan(*texts(case.calls))


@pytest.mark.hypothesis
def test_batch_equals_the_reference(spark: SparkSession) -> None:
    check_each(partial(check_batch, spark), sequence_cases().map(on_workers))


def check_batch(spark: SparkSession, case: SequenceCase) -> None:
    disorder = case.disorder if case.rule in ("marks", "key marks") else None
    rows = [row for batch in rows_of(case, case.batches) for row in naive(batch)]
    df = spark.createDataFrame([tuple(row[n] for n in NAMES) for row in rows], schema(case))
    windows = plan(case, mt.stream(df, on="on", by=case.by, disorder=disorder))
    whole = [r for b in case.batches for r in b] if disorder is None else case.data()
    wanted = case.reference().run([MicroBatch(whole, END)])
    assert_same_rows(windows.df.collect(), naive(wanted.results))
    refused = [(row["k"], row["reason"]) for row in windows.refused.collect()]
    assert sorted(refused, key=str) == sorted(((r["k"], why) for r, why in wanted.refused), key=str)


@pytest.mark.hypothesis
def test_stream_equals_the_reference(spark: SparkSession) -> None:
    cases = sequence_cases().filter(is_short).map(on_workers)
    check_streams(partial(streamed, spark), check_stream, cases)


def streamed(spark: SparkSession, case: SequenceCase) -> Streamed:
    clock = [None if now is None else START + timedelta(seconds=now) for now in case.clocks]
    batches = rows_of(case, case.batches)
    played = replay(spark, batches, schema(case), clock=clock, punctuation=case.told_by_batch)
    stream = played.stream("on", case.by, case.disorder, shards=3)
    return Streamed(plan(case, stream), [played])


def check_stream(case: SequenceCase, made: Played) -> None:
    wanted = case.expected()
    assert_same_rows(made.results, naive(wanted.results))
    refused = [(row["k"], row["reason"]) for row in made.refused]
    assert sorted(refused, key=str) == sorted(((r["k"], why) for r, why in wanted.refused), key=str)
    assert made.counts["rows_in"] == sum(map(len, case.batches))
    assert made.counts["rows_in"] == made.counts["rows_used"] + made.counts["rows_refused"]


def test_sessions_are_sparks(spark: SparkSession) -> None:
    start = datetime(2026, 1, 1)
    rows = [(f"k{n % 3}", start + timedelta(seconds=n * n % 997), n % 60) for n in range(400)]
    df = spark.createDataFrame(rows, "k STRING, ts TIMESTAMP, v INT")
    for gap in ("10 seconds", F.when(F.col("v") < 30, "3 seconds").otherwise("12 seconds")):
        ours = mt.stream(df, on="ts", by="k").session(gap).agg("count(*) AS n", "sum(v) AS s")
        window = F.session_window("ts", gap).alias("w")
        theirs = df.groupBy("k", window).agg(F.count("*").alias("n"), F.sum("v").alias("s"))
        wanted = theirs.selectExpr("k", "w.start AS window_start", "w.end AS window_end", "n", "s")
        assert_same_rows(ours.collect(), wanted.collect())


def test_by_tuple_is_sparks_range_between(spark: SparkSession) -> None:
    df = spark.range(600).selectExpr("id * id % 113 AS x", "id % 4 AS k", "id % 17 AS v")
    ours = mt.stream(df, on="x", by="k").by_tuple(10).agg("max(v) AS hi", "count(*) AS n")
    over = "OVER (PARTITION BY k ORDER BY x RANGE BETWEEN 9 PRECEDING AND CURRENT ROW)"
    theirs = df.selectExpr(
        "k",
        "x - 10 AS window_start",
        "x AS window_end",
        f"max(v) {over} AS hi",
        f"count(*) {over} AS n",
    ).distinct()
    assert_same_rows(ours.collect(), theirs.collect())


def test_row_windows_are_sparks_rows_between(spark: SparkSession) -> None:
    df = spark.range(500).selectExpr("id * 7919 % 1009 AS x", "id % 3 AS k", "id % 23 AS v")
    rows = mt.stream(df, on="x", by="k").rows(range=10, slide=1, unfinished="drop")
    ours = rows.agg("sum(v) AS s", "median(v) AS m")
    over = "OVER (PARTITION BY k ORDER BY x ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)"
    rank = "row_number() OVER (PARTITION BY k ORDER BY x)"
    theirs = df.selectExpr(
        "k",
        f"greatest(0, {rank} - 10) AS window_start",
        f"{rank} AS window_end",
        f"min(x) {over} AS on_start",
        "x AS on_end",
        f"sum(v) {over} AS s",
        f"percentile(v, 0.5) {over} AS m",
    )
    assert_same_rows(ours.collect(), theirs.collect())


def test_groups_inside_need_windows_that_rows_end(spark: SparkSession) -> None:
    line = mt.stream(spark.createDataFrame([("a", 1)], "k STRING, x INT"), on="x")
    with pytest.raises(mt.ArgumentError, match="end at the same places for all keys; give it as"):
        line.window(5, 1, group="k")
