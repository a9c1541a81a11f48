"""Every mistake of a user gets a message that names it and tells what would work."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.testing import replay


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [], "ts TIMESTAMP, day DATE, x INT, real DOUBLE, name STRING, list ARRAY<INT>, single FLOAT"
    )


Wrong = Callable[[DataFrame], Any]


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda d: mt.stream(d, on="tss"), LookupError, "did you mean 'ts'"),
        (lambda d: mt.stream(d, on="ts", by="nam"), mt.UnknownColumnError, "by='nam'"),
        (lambda d: mt.stream(d, on="name"), TypeError, "to_timestamp"),
        (lambda d: mt.stream(d, on="single"), mt.UnsupportedTypeError, "cast to double"),
        (lambda d: mt.stream(d, on="ts", by=["x", "x"]), mt.ArgumentError, "twice"),
        (lambda d: mt.stream(d, on=""), mt.ArgumentError, "on=''"),
        (lambda d: mt.stream("no", on="ts"), mt.ArgumentError, "Spark DataFrame"),  # type: ignore[arg-type]
        (lambda d: mt.stream(d, on="ts", shards=0), mt.ArgumentError, "shards=0"),
        (lambda d: mt.stream(d, on="ts", disorder="late"), mt.ArgumentError, "mt.slack"),  # type: ignore[arg-type]
        (lambda d: mt.slack("-1 second"), mt.ArgumentError, "must not be negative"),
        (lambda d: mt.slack("1 second", late="never"), mt.ArgumentError, "late='never'"),  # type: ignore[arg-type]
        (lambda d: _time(d).window("-5 minutes", "1 minute"), ValueError, "range='-5 minutes'"),
        (lambda d: _time(d).window("5 minutes", "0 seconds"), ValueError, "longer than zero"),
        (
            lambda d: _time(d).window("1 hour", "1 month"),
            ValueError,
            "slide='1 month'.*'1 calendar month'",
        ),
        (lambda d: _time(d).window("1 hour", "5 foo"), ValueError, "not a unit"),
        (lambda d: _time(d).window("1 hour", 5), ValueError, "both be durations or both numbers"),
        (lambda d: _time(d).window(10, 5), ValueError, "needs a unit"),
        (lambda d: _time(d).window(None, 5), ValueError, "range=None"),
        (lambda d: _time(d).landmark("1 hour"), ValueError, "needs its landmark"),
        (lambda d: _time(d).landmark("1 hour", "soon"), ValueError, "origin='soon'"),
        (lambda d: _time(d).tumbling("1 hour", unfinished="?"), ValueError, "unfinished='\\?'"),  # type: ignore[arg-type]
        (lambda d: mt.stream(d, on="day").tumbling("36 hours"), ValueError, "whole days"),
        (lambda d: mt.stream(d, on="x").tumbling("1 minute"), ValueError, "plain number"),
        (lambda d: mt.stream(d, on="x").tumbling(2.5), ValueError, "whole number"),
        (lambda d: _hour(d).agg(), mt.ArgumentError, "at least one"),
        (lambda d: _hour(d).agg(F.regr_slope("x", "x")), mt.ArgumentError, "regr_slope"),
        (lambda d: _hour(d).agg(7), mt.ArgumentError, "SQL text"),  # type: ignore[arg-type]
        (lambda d: _hour(d).agg("max(speeed)"), mt.ExpressionError, "speeed.*columns are ts"),
        (lambda d: _hour(d).agg("mox(x)"), mt.ExpressionError, "did you mean 'max'"),
        (lambda d: _hour(d).agg("max(x"), mt.ExpressionError, "\\^"),
        (lambda d: _hour(d).agg("sum(name)"), TypeError, "sum\\(name\\) needs a number"),
        (lambda d: _hour(d).agg("max(list)"), TypeError, "array<int>"),
        (lambda d: _hour(d).agg("any(x)"), TypeError, "condition"),
        (lambda d: _hour(d).agg("max(x) AS a", "min(x) AS a"), mt.ArgumentError, "alias"),
        (lambda d: _hour(d).agg("max(x) AS window_end"), mt.ArgumentError, "prefix='mt_'"),
        (lambda d: mt.write(d, results="r"), mt.ArgumentError, ".plan"),  # type: ignore[arg-type]
        (lambda d: _time(d).landmark("1 hour", "2026-01-01").rows(), mt.MuntinError, "last_wid"),
        (lambda d: mt.stream(d, on="ts", by=7), mt.ArgumentError, "by=7 .*a column name or sev"),  # type: ignore[arg-type]
        (lambda d: mt.stream(d, on="ts", by=["x", 7]), mt.ArgumentError, "by=7 .*name of a col"),  # type: ignore[list-item]
        (lambda d: mt.stream(d, on="ts", by="list").tumbling("1 h"), TypeError, "by='list' has ty"),
        (lambda d: _lower(d, "by").tumbling("1 h"), TypeError, "by='name' .*collate UTF8_LCASE: "),
        (lambda d: _lower(d).tumbling("1 h").agg("max(name)"), TypeError, "max.name. has type str"),
        (
            lambda d: _time(d).tumbling("1 h", prefix=7),
            mt.ArgumentError,
            "prefix=7 .*such as 'mt_'",
        ),  # type: ignore[arg-type]
        (
            lambda d: _time(d.withColumnRenamed("x", "last_wid")).tumbling("1 hour").rows(),
            mt.ArgumentError,
            "prefix='' .*has a column 'last_wid' already; give prefix='mt_'",
        ),
        (lambda d: _write(d, results=7), mt.ArgumentError, "results=7 .*a folder, or a function"),
        (lambda d: _write(d, results=""), mt.ArgumentError, "results='' .*a folder, or a funct"),
        (lambda d: _write(d, refused=7), mt.ArgumentError, "refused=7 .*a folder, or a function"),
        (lambda d: _write(d, trigger="now"), mt.ArgumentError, "trigger='now' .*availableNow"),
        (lambda d: _write(d, trigger={}), mt.ArgumentError, "trigger={} .*processingTime"),
        (lambda d: _write(d, trigger={"every": 5}), mt.ArgumentError, "trigger=.*it is one of"),
        (lambda d: mt.stream(d, on="ts", control="told"), mt.ArgumentError, "mt.control.spark, 't"),  # type: ignore[arg-type]
        (lambda d: mt.stream(d, on="ts", control=7), mt.ArgumentError, "control=7 .*mt.heartbeat"),  # type: ignore[arg-type]
        (lambda d: mt.progress(d), mt.ArgumentError, "query=.*the query that mt.write"),  # type: ignore[arg-type]
    ],
)
def test_a_mistake_is_named(df: DataFrame, wrong: Wrong, error: type[Exception], says: str) -> None:
    with pytest.raises(mt.MuntinError, match=f"(?s){says}") as caught:
        wrong(df)
    assert isinstance(caught.value, error)


def _time(df: DataFrame) -> mt.Stream:
    return mt.stream(df, on="ts")


def _lower(df: DataFrame, role: str = "value") -> mt.Stream:
    named = df.selectExpr("ts", "name COLLATE UTF8_LCASE AS name")
    return mt.stream(named, on="ts", by="name" if role == "by" else None)


def _write(df: DataFrame, **wrong: Any) -> None:
    mt.write(_hour(df).plan("count(*)"), **{"results": "unused", **wrong})


def _hour(df: DataFrame) -> mt.Windowed:
    return mt.stream(df, on="ts", by="name").tumbling("1 hour")


def test_a_stream_must_say_how_disordered_it_is(spark: SparkSession) -> None:
    streaming = spark.readStream.format("rate").load()
    windowed = mt.stream(streaming, on="timestamp").tumbling("1 minute")
    with pytest.raises(mt.ArgumentError, match=r"mt.ordered\(\).*mt.slack"):
        windowed.agg("count(*)")


def test_a_stream_needs_rocksdb(spark: SparkSession) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(name)
    streaming = spark.readStream.format("rate").load()
    windowed = mt.stream(streaming, on="timestamp", disorder=mt.ordered()).tumbling("1 minute")
    hdfs = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    spark.conf.set(name, hdfs)
    try:
        with pytest.raises(mt.RequirementError, match=r"spark.conf.set.*RocksDB"):
            windowed.agg("count(*)")
    finally:
        spark.conf.set(name, str(before))


def test_a_stream_needs_protobuf(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    windowed = _streaming(spark).tumbling("1 minute")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda n: None if n == "google.protobuf" else find_spec(n)
    )
    with pytest.raises(mt.RequirementError, match=r"package protobuf.*pip install protobuf"):
        windowed.agg("count(*)")


def test_a_stream_needs_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    plan = _streaming(spark).tumbling("1 minute").plan("count(*)")
    for wrong in (None, 7, ""):
        with pytest.raises(mt.ArgumentError, match=f"checkpoint={wrong!r} .*needs a folder for it"):
            mt.write(plan, results=tmp_path, checkpoint=wrong)  # type: ignore[arg-type]


def test_a_trigger_that_spark_refuses(spark: SparkSession, tmp_path: Path) -> None:
    plan = _streaming(spark).tumbling("1 minute").plan("count(*)")
    for trigger in ({"processingTime": "soon"}, {"availableNow": False}):
        with pytest.raises(mt.ArgumentError, match=r"trigger=\{.*Spark says: \S"):
            mt.write(plan, results=tmp_path, checkpoint=tmp_path, trigger=trigger)


def test_a_stream_cannot_be_measured_ahead(spark: SparkSession) -> None:
    with pytest.raises(mt.ArgumentError, match=r"measured=True .*only a batch DataFrame can be"):
        _streaming(spark).tumbling("1 minute").explain("count(*)", measured=True)


def test_a_query_without_a_plan_has_no_counts() -> None:
    report = SimpleNamespace(observedMetrics={"mine": None}, numInputRows=1)
    query: Any = SimpleNamespace(recentProgress=[report])
    with pytest.raises(mt.MuntinError, match="no Muntin plan in it, so it has no counts"):
        mt.progress(query)


def _streaming(spark: SparkSession) -> mt.Stream:
    rates = spark.readStream.format("rate").load()
    return mt.stream(rates, on="timestamp", disorder=mt.ordered())


def test_refused_rows_of_a_stream_come_by_write(spark: SparkSession) -> None:
    streaming = spark.readStream.format("rate").load()
    plan = mt.stream(streaming, on="timestamp", disorder=mt.ordered()).tumbling("1 hour")
    with pytest.raises(mt.MuntinError, match=r"mt\.write"):
        plan.plan("count(*)").refused  # noqa: B018


def test_a_prefix_renames_what_is_muntins(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 2)], "x INT, window_start INT")
    results = (
        mt.stream(df, on="x", by="window_start").tumbling(5, prefix="mt_").agg("count(*) AS n")
    )
    assert results.columns == ["window_start", "mt_window_start", "mt_window_end", "n"]
    row = results.first()
    assert row is not None
    assert tuple(row) == (2, 0, 5, 1)


def test_a_replay_needs_punctuation_for_every_batch(spark: SparkSession) -> None:
    with pytest.raises(mt.ArgumentError, match="one entry for each of 1 batches"):
        replay(spark, [[]], "x INT", punctuation=[1, 2])
