"""One cell for each place on Spark: aggregates of every family side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import ArgumentError
from muntin.testing import replay
from tests.aggregates.examples import Squares
from tests.drivers.streams import play

AGGREGATES = (
    mt.max("v").alias("most"),
    mt.approx_sum("v", eps=0.01).alias("total"),
    mt.correlated("count", where="v > avg(v)", mode="focused", bounds=True).alias("above"),
    mt.correlated("sum", "v", where="v = max(v)").alias("at_most"),
    mt.approx_count_distinct("v").alias("different"),
    mt.own(Squares(), "v").alias("squares"),
)
#: Whole numbers, so that the synopses of few rows are exact.
VALUES = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
Segments = Callable[[mt.Stream], Any]
PLACES: dict[str, Segments] = {
    "window": lambda s: s.window(range=4, slide=2),
    "rows": lambda s: s.rows(range=4, slide=2),
    "by_tuple": lambda s: s.by_tuple(range=3),
    "session": lambda s: s.session(2),
    "frames": lambda s: s.frames(mt.threshold("v > 1")),
    "fill": lambda s: s.frames(mt.threshold("v > 1")).fill(before=1),
}


def numbers(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(list(enumerate(VALUES)), "at BIGINT, v BIGINT")


def check(rows: list[Any]) -> None:
    """Compare all aggregates with each other, over the values that ``collect`` has."""
    assert rows
    for row in rows:
        values = row["held"]
        average = sum(values) / len(values)
        assert row["most"] == max(values)
        assert row["total"] == sum(values)
        above = len([value for value in values if value > average])
        assert row["above"]["low"] <= above <= row["above"]["high"]
        assert row["at_most"] == max(values) * values.count(max(values))
        assert row["different"] == len(set(values))
        assert row["squares"] == sum(value * value for value in values)


@pytest.mark.parametrize("place", PLACES)
def test_a_batch(spark: SparkSession, place: str) -> None:
    segments = PLACES[place](mt.stream(numbers(spark), on="at"))
    check(segments.agg(*AGGREGATES, mt.collect("v").alias("held")).collect())


def test_resampling(spark: SparkSession) -> None:
    stream = mt.stream(numbers(spark), on="at")
    aggregates = [*AGGREGATES, mt.collect("v").alias("held")]
    check(stream.resample(3, how=aggregates, within=1).df.collect())


@pytest.mark.parametrize("place", ["window", "session", "frames"])
def test_a_stream(spark: SparkSession, place: str) -> None:
    rows = [{"at": at, "v": value} for at, value in enumerate(VALUES)]
    source = replay(spark, [rows[:4], rows[4:7], rows[7:]], "at BIGINT, v BIGINT")
    segments = PLACES[place](source.stream("at", disorder=mt.ordered()))
    check(play(segments.plan(*AGGREGATES, mt.collect("v").alias("held"))).results)


def test_sql_names_a_synopsis(spark: SparkSession) -> None:
    text = "SELECT window_end, approx_sum(v) FROM t [TUMBLING 5 WATTR at] GROUP BY window_end"
    with pytest.raises(mt.SqlError, match=r"synopsis approx_sum; write mt\.approx_sum\(\.\.\.\)"):
        mt.sql(text, t=numbers(spark)).collect()


def test_within_is_refused_in_frames(spark: SparkSession) -> None:
    frames = mt.stream(numbers(spark), on="at").frames(mt.threshold("v > 1"))
    with pytest.raises(ArgumentError, match=r"within='2' .* approx_sum\(v.*by_tuple"):
        frames.agg(mt.approx_sum("v", within=2))
