"""A PySpark engineer has a job with window(), and a stream with a watermark."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.testing import replay
from tests.journeys.steps import Journey

START = datetime(2026, 3, 2, 8)
ROWS = [
    {
        "time": str(START + timedelta(seconds=20 * n)),
        "event": {"station": f"s{n % 3}", "lane": n % 7},
        "speed": 50.0 + n,
    }
    for n in range(60)
]
SCHEMA = "time STRING, event STRUCT<station: STRING, lane: INT>, speed DOUBLE"


def job(df: DataFrame) -> DataFrame:
    """The job as it was."""
    return (
        df.withColumn("ts", F.to_timestamp("time"))
        .groupBy("event.station", F.window("ts", "5 minutes", "1 minute"))
        .agg(F.avg("speed").alias("mean"), F.countDistinct("event.lane").alias("lanes"))
        .select("station", "window.start", "window.end", "mean", "lanes")
    )


def test_an_existing_job_moves_in_five_steps(spark: SparkSession, tmp_path: Path) -> None:
    journey = Journey("PySpark engineer")
    df = spark.createDataFrame([tuple(row.values()) for row in ROWS], SCHEMA)

    with journey.step("the same aggregates, columns and fields give the same answers"):
        traffic = mt.stream(df, on=F.to_timestamp("time").alias("ts"), by="EVENT.station")
        after = traffic.window("5 minutes", "1 minute").agg(
            F.avg("speed").alias("mean"), F.countDistinct("event.lane").alias("lanes")
        )
        assert sorted(map(tuple, after.collect())) == sorted(map(tuple, job(df).collect()))

    with (
        journey.step("a typing mistake is answered with the name that was meant", at_most=5),
        pytest.raises(mt.UnknownColumnError, match="did you mean 'speed'"),
    ):
        traffic.rows(10, tiebreak="sped")

    with (
        journey.step("an aggregate that Muntin has not says what to write", at_most=10),
        pytest.raises(mt.ArgumentError, match="write SQL text such as 'max"),
    ):
        traffic.tumbling("1 minute").agg(F.histogram_numeric("speed", F.lit(3)))

    with journey.step("the watermark of a stream is told what it is here", at_most=10):
        arriving = spark.readStream.format("rate").load().withWatermark("timestamp", "10 seconds")
        with pytest.raises(mt.ArgumentError, match=r"disorder=mt.slack\('10 seconds'\)"):
            mt.stream(arriving, on="timestamp").tumbling("1 minute").agg("count(*)")

    with journey.step("a stream gives the answers of the batch"):
        made = replay(spark, [ROWS[:20], ROWS[20:40], ROWS[40:]], SCHEMA, driver="step")
        stream = made.stream(
            F.to_timestamp("time").alias("ts"), "event.station", mt.slack("10 seconds")
        )
        plan = stream.window("5 minutes", "1 minute").plan(
            F.avg("speed").alias("mean"), F.countDistinct("event.lane").alias("lanes")
        )
        assert sorted(map(tuple, made.play(plan).results)) == sorted(map(tuple, after.collect()))
        made.remove()

    with journey.step("a month is a month", at_most=30):
        months = traffic.tumbling("1 calendar month").agg({"*": "count"})
        assert {row.window_start for row in months.collect()} == {datetime(2026, 3, 1)}

    with journey.step("what is missing is one line to paste", at_most=10):
        name = "spark.sql.streaming.stateStore.providerClass"
        kept = spark.conf.get(name)
        spark.conf.unset(name)
        plain = spark.readStream.format("rate").load()
        try:
            with pytest.raises(mt.RequirementError, match=r"mt\.configure\(spark\)"):
                mt.stream(plain, "timestamp", disorder=mt.ordered()).tumbling("1 minute").agg(
                    "count(*)"
                )
            mt.configure(spark)
            mt.stream(plain, "timestamp", disorder=mt.ordered()).tumbling("1 minute").agg(
                "count(*)"
            )
        finally:
            spark.conf.set(name, str(kept))
    assert len(journey.seconds) == 7
