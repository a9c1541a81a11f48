"""What docs/concepts/exactness.md says about zeros and ties, and where Spark differs."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)], ids=str)
def test_the_least_and_the_greatest_of_zeros_is_zero(
    spark: SparkSession, zeros: tuple[float, float]
) -> None:
    df = spark.createDataFrame(list(enumerate(zeros)), "at BIGINT, x DOUBLE").coalesce(1)
    (ours,) = mt.stream(df, on="at").tumbling(5).agg("min(x) AS lo", "max(x) AS hi").collect()
    assert [math.copysign(1, zero) for zero in (ours.lo, ours.hi)] == [1, 1]
    (theirs,) = df.agg(F.min("x").alias("lo"), F.max("x").alias("hi")).collect()
    first = math.copysign(1, zeros[0])
    assert [math.copysign(1, zero) for zero in (theirs.lo, theirs.hi)] == [first, first]


def test_first_last_and_collect_follow_the_tiebreak_of_rows(spark: SparkSession) -> None:
    data = [(1, "b", 1), (1, "a", 3), (1, "c", 2)]
    stream = mt.stream(spark.createDataFrame(data, "at BIGINT, s STRING, t BIGINT"), on="at")
    asked = ("first(s) AS f", "last(s) AS l", "collect_list(s) AS c")
    (ranked,) = stream.rows(range=3, slide=3, tiebreak="t").agg(*asked).collect()
    assert (ranked.f, ranked.l, ranked.c) == ("b", "a", ["b", "c", "a"])
    (along,) = stream.tumbling(5).agg(*asked).collect()
    assert (along.f, along.l, along.c) == ("a", "c", ["a", "b", "c"])


def test_variances_beyond_doubles(spark: SparkSession) -> None:
    data = [(1, 9007199254740993), (2, 9007199254740995)]
    df = spark.createDataFrame(data, "at BIGINT, x BIGINT")
    (ours,) = mt.stream(df, on="at").tumbling(5).agg("var_pop(x) AS v").collect()
    (theirs,) = df.agg(F.var_pop("x").alias("v")).collect()
    assert (ours.v, theirs.v) == (1.0, 4.0)
