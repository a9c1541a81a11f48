"""Every aggregate and type against Spark's own ``groupBy(window(...))`` on the same rows.

Spark aligns window starts and Muntin window ends, so Spark's ``startTime`` is -RANGE mod SLIDE.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.reference import aggregates
from muntin.testing import assert_same_rows

SCHEMA = (
    "ts TIMESTAMP, n TIMESTAMP_NTZ, k STRING, byte TINYINT, short SMALLINT, whole INT, big BIGINT, "
    "float FLOAT, double DOUBLE, small DECIMAL(9,3), large DECIMAL(30,8), text STRING, raw BINARY, "
    "flag BOOLEAN, day DATE, moment TIMESTAMP"
)
NUMBERS = ["byte", "short", "whole", "big", "float", "double", "small", "large"]
ORDERED = [*NUMBERS, "text", "raw", "flag", "day", "moment", "n"]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Return rows with nulls and without NaN; sums of their values are exact as doubles."""
    chance = random.Random(5)
    start = datetime(2026, 3, 1)

    def row(place: int) -> tuple[Any, ...]:
        n = chance.randint(-120, 120)
        moment = start + timedelta(seconds=chance.randint(0, 900))
        values = (
            n,
            n * 200,
            n * 10**6,
            n * 10**12,
            n / 4,
            n / 64,
            Decimal(n * 1001).scaleb(-3),
            Decimal(n * 10**20 + 12345678).scaleb(-8),
            f"é{n}",
            str(n).encode(),
            n > 0,
            (start + timedelta(days=n)).date(),
            start + timedelta(minutes=n),
        )
        kept = tuple(None if chance.random() < 0.1 else value for value in values)
        return (moment, moment, chance.choice(["a", "b", None]), *kept)

    return spark.createDataFrame([row(place) for place in range(400)], SCHEMA).cache()


def by_spark(df: DataFrame, on: str, range_: int, slide: int, *aggregates: str) -> DataFrame:
    shift = -range_ % slide
    window = F.window(on, f"{range_} seconds", f"{slide} seconds", f"{shift} seconds")
    grouped = df.groupBy("k", window).agg(*(F.expr(text) for text in aggregates))
    names = [name for name in grouped.columns if name not in ("k", "window")]
    return grouped.select("k", "window.start", "window.end", *names).toDF(
        "k", "window_start", "window_end", *names
    )


def by_muntin(df: DataFrame, on: str, range_: int, slide: int, *aggregates: str) -> DataFrame:
    windowed = mt.stream(df, on=on, by="k").window(f"{range_} seconds", f"{slide} seconds")
    return windowed.agg(*aggregates)


def exact_texts() -> list[str]:
    texts = ["count(*) AS n_rows", "count(text) AS n_text", "count_if(whole > 0) AS up"]
    for name in NUMBERS:
        texts += [f"sum({name}) AS sum_{name}", f"avg({name}) AS avg_{name}"]
    for name in ORDERED:
        texts += [f"min({name}) AS min_{name}", f"max({name}) AS max_{name}"]
    texts += ["bool_or(flag) AS some", "bool_and(flag) AS every"]
    texts += ["sum(big) FILTER (WHERE flag) AS flagged", "max(double) - min(double) AS spread"]
    return texts


@pytest.mark.parametrize("on", ["ts", "n"])
@pytest.mark.parametrize(("range_", "slide"), [(60, 60), (120, 30), (100, 30), (61, 60)])
def test_every_aggregate_and_type_is_sparks(
    rows: DataFrame, on: str, range_: int, slide: int
) -> None:
    ours = by_muntin(rows, on, range_, slide, *exact_texts())
    theirs = by_spark(rows, on, range_, slide, *exact_texts())
    assert [(f.name, f.dataType) for f in ours.schema] == [
        (f.name, f.dataType) for f in theirs.schema
    ]
    assert_same_rows(ours.collect(), theirs.collect())


def holistic_texts() -> list[str]:
    texts = []
    for name in NUMBERS:
        texts += [f"median({name}) AS median_{name}", f"percentile({name}, 0.3) AS p_{name}"]
        texts += [f"percentile({name}, array(0.0, 0.95, 1.0)) AS ps_{name}"]
    for name in ORDERED:
        texts += [f"sort_array(collect_list({name})) AS list_{name}"]
        texts += [f"sort_array(collect_set({name})) AS set_{name}"]
        if name != "raw":  # Spark compares arrays of bytes by their address here
            texts += [f"mode({name}, true) AS mode_{name}"]
    texts += ["median(double) FILTER (WHERE flag) AS flagged", "mode(text, true) = 'é1' AS one"]
    return [*texts, "percentile(double, 0.75) - percentile(double, 0.25) AS spread"]


def distinct_texts() -> list[str]:
    return ["count(*) AS n", *(f"count(DISTINCT {name}) AS distinct_{name}" for name in ORDERED)]


# In a separate query, because Spark copies every row with all its columns for each DISTINCT.
@pytest.mark.parametrize("texts", [holistic_texts(), distinct_texts()], ids=["lists", "distinct"])
def test_holistic_aggregates_are_sparks(rows: DataFrame, texts: list[str]) -> None:
    ours = by_muntin(rows, "ts", 100, 30, *texts)
    theirs = by_spark(rows, "ts", 100, 30, *texts)
    assert [(f.name, f.dataType.simpleString()) for f in ours.schema] == [
        (f.name, f.dataType.simpleString()) for f in theirs.schema
    ]
    assert_same_rows(ours.collect(), theirs.collect())


def test_frequent_items_of_every_type_are_those_of_sparks_lists(rows: DataFrame) -> None:
    asked = [f"top_k({name}, 3) AS top_{name}" for name in ORDERED]
    asked += [f"heavy_hitters({name}, 0.1) AS heavy_{name}" for name in ORDERED]
    lists = [f"collect_list({name}) AS {name}" for name in ORDERED]
    expected = []
    for row in by_spark(rows, "ts", 120, 30, *lists).collect():
        expected_row = {name: row[name] for name in ("k", "window_start", "window_end")}
        expected_row |= {f"top_{name}": aggregates.top_k(row[name], 3) for name in ORDERED}
        expected_row |= {f"heavy_{n}": aggregates.heavy_hitters(row[n], "0.1") for n in ORDERED}
        expected.append(expected_row)
    results = by_muntin(rows, "ts", 120, 30, *asked)
    assert results.schema["top_text"].dataType.simpleString() == (
        "array<struct<item:string,count:bigint>>"
    )
    assert_same_rows(results.collect(), expected)


def test_collect_goes_by_on(spark: SparkSession) -> None:
    data = [(3, "c"), (1, "b"), (2, None), (1, "a"), (9, "z")]
    df = spark.createDataFrame(data, "x INT, s STRING")
    results = mt.stream(df, on="x").tumbling(5).agg("collect_list(s) AS l").collect()
    assert sorted((row.window_start, row.l) for row in results) == [
        (0, ["a", "b", "c"]),
        (5, ["z"]),
    ]


def test_variance_agrees_with_spark_to_sparks_own_rounding(rows: DataFrame) -> None:
    """Spark rounds at every row, Muntin once. There are n = 400 rows with values below 2**7."""
    texts = [
        f"{f}({c}) AS {f}_{c}"
        for f in ("var_samp", "var_pop", "stddev_samp", "stddev_pop")
        for c in ("double", "whole", "small")
    ]
    ours = by_muntin(rows, "ts", 120, 30, *texts).orderBy("k", "window_start").collect()
    theirs = by_spark(rows, "ts", 120, 30, *texts).orderBy("k", "window_start").collect()
    assert len(ours) == len(theirs) > 50
    for our, their in zip(ours, theirs, strict=True):
        for name in our.asDict():
            muntin, other = our[name], their[name]
            if isinstance(muntin, float) and isinstance(other, float):
                assert muntin == pytest.approx(other, rel=400 * 2**-52, abs=1e-9)
            else:
                assert muntin == other


def test_moments_agree_with_spark_to_sparks_own_rounding(rows: DataFrame) -> None:
    texts = [
        *(f"{f}(double, whole) AS {f}" for f in ("covar_pop", "covar_samp", "corr")),
        *(f"{f}(double) AS {f}" for f in ("skewness", "kurtosis")),
    ]
    ours = by_muntin(rows, "ts", 120, 30, *texts).orderBy("k", "window_start").collect()
    theirs = by_spark(rows, "ts", 120, 30, *texts).orderBy("k", "window_start").collect()
    assert len(ours) == len(theirs) > 50
    for our, their in zip(ours, theirs, strict=True):
        for name in our.asDict():
            if isinstance(our[name], float) and isinstance(their[name], float):
                assert our[name] == pytest.approx(their[name], rel=1e-9, abs=1e-9)
            else:
                assert our[name] == their[name]


def test_bits_distinct_sums_and_values_by_another_are_sparks(spark: SparkSession) -> None:
    data = [(x, x * 37 % 11, x * x % 7, None if x % 5 == 0 else f"s{x % 3}") for x in range(40)]
    df = spark.createDataFrame(data, "x INT, v INT, w TINYINT, s STRING")
    texts = ["bit_and(v) AS a", "bit_or(w) AS o", "bit_xor(v) AS e", "sum(DISTINCT w) AS s"]
    texts += ["avg(DISTINCT v) AS m", "max_by(x, v * 100 + x) AS hi", "min_by(s, x) AS lo"]
    ours = mt.stream(df, on="x").tumbling(8).agg(*texts)
    theirs = df.groupBy(F.expr("x div 8")).agg(*map(F.expr, texts)).drop("(x div 8)")
    assert ours.drop("window_start", "window_end").schema.simpleString() == (
        theirs.schema.simpleString()
    )
    assert_same_rows(ours.drop("window_start", "window_end").collect(), theirs.collect())
    joined = mt.stream(df, on="x").tumbling(8).agg("listagg(s, ', ') AS texts").first()
    assert joined is not None and joined.texts == "s1, s2, s0, s1, s0, s1"


def test_nothing_varies_and_what_is_not_finite_as_in_spark(spark: SparkSession) -> None:
    nan, infinite = float("nan"), float("inf")
    pairs = [
        *[(0, 1.0, 2.0)],
        *[(10, 1.0, 2.0), (11, 1.0, 3.0)],
        *[(20, None, 2.0), (21, 3.0, None)],
        *[(30, nan, 2.0), (31, 1.0, 3.0), (32, 2.0, 5.0)],
        *[(40, infinite, 2.0), (41, 1.0, 3.0), (42, 2.0, 5.0)],
        *[(50, 1.0, 1.0), (51, 2.0, 3.0), (52, 4.0, 4.0), (53, 9.0, None)],
    ]
    df = spark.createDataFrame(pairs, "at INT, x DOUBLE, y DOUBLE")
    texts = [f"{f}(x, y) AS {f}" for f in ("covar_pop", "covar_samp", "corr")]
    texts += [f"{f}(x) AS {f}" for f in ("skewness", "kurtosis")]
    ours = mt.stream(df, on="at").tumbling(10).agg(*texts).orderBy("window_start").collect()
    theirs = df.groupBy(F.expr("at div 10 AS ten")).agg(*map(F.expr, texts)).orderBy("ten")
    for our, their in zip(ours, theirs.collect(), strict=True):
        for text in texts:
            name = text.split(" AS ")[1]
            if their[name] is None:
                assert our[name] is None, name
            else:
                assert our[name] == pytest.approx(their[name], rel=1e-12, nan_ok=True), name


def test_nan_and_infinity_follow_spark(spark: SparkSession) -> None:
    start = datetime(2026, 1, 1)
    values = [1.0, float("nan"), float("inf"), -float("inf"), None, -0.0]
    data = [(start + timedelta(seconds=s), "k", values[s % 6]) for s in range(36)]
    df = spark.createDataFrame(data, "ts TIMESTAMP, k STRING, x DOUBLE")
    texts = ["min(x) AS lo", "max(x) AS hi", "sum(x) AS total", "avg(x) AS mean", "count(x) AS n"]
    texts += ["median(x) AS middle", "percentile(x, 0.7) AS p", "count(DISTINCT x) AS distinct"]
    for range_, slide in [(2, 1), (3, 1), (6, 3)]:
        assert_same_rows(
            by_muntin(df, "ts", range_, slide, *texts).collect(),
            by_spark(df, "ts", range_, slide, *texts).collect(),
        )


def test_first_and_last_go_by_on(spark: SparkSession) -> None:
    data = [(3, "c"), (1, "a"), (2, None), (1, "b"), (9, "z")]
    df = spark.createDataFrame(data, "x INT, s STRING")
    results = (
        mt.stream(df, on="x")
        .tumbling(5)
        .agg(
            mt.first("s").alias("f"),
            mt.last("s").alias("l"),
            mt.first("s", ignore_nulls=True).filter("x > 1").alias("g"),
            "last(s, true) FILTER (WHERE x < 3) AS h",
        )
    )
    edges = [(row.window_start, row.f, row.l, row.g, row.h) for row in results.collect()]
    assert sorted(edges) == [(0, "a", "c", "c", "b"), (5, "z", "z", "z", None)]


def test_columns_and_weights(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 10.0, 1), (2, 20.0, 3), (3, None, 5)], "x INT, v DOUBLE, w INT")
    results = (
        mt.stream(df, on="x")
        .tumbling(10)
        .agg(
            mt.max(F.col("v") * 2).alias("twice"),
            mt.weighted_avg("v", "w").alias("mean"),
            mt.count().alias("n"),
            mt.count("v").alias("values"),
            mt.any("v > 15").alias("any"),
            mt.all(F.col("v") > 15).alias("all"),
        )
    )
    row = results.first()
    assert row is not None
    assert (row.twice, row["mean"], row.n, row["values"], row.any, row.all) == (
        40.0,
        17.5,
        3,
        2,
        True,
        False,
    )


def test_a_sum_of_longs_overflows_as_sparks(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 2**62), (2, 2**62)], "x INT, v BIGINT")
    windowed = mt.stream(df, on="x").tumbling(10)
    with pytest.raises(Exception, match="sum\\(v\\) left the range of bigint"):
        windowed.agg("sum(v) AS s").collect()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        wrapped = windowed.agg("sum(v) AS s").first()
        theirs = df.agg(F.sum("v").alias("s")).first()
        assert wrapped is not None
        assert theirs is not None
        assert wrapped.s == theirs.s == -(2**63)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def test_null_nan_and_signed_zero_keys_are_sparks_groups(spark: SparkSession) -> None:
    keys = [0.0, -0.0, float("nan"), None, 1.5, float("nan"), None]
    data = [(place, key) for place, key in enumerate(keys)]
    df = spark.createDataFrame(data, "x INT, k DOUBLE")
    ours = mt.stream(df, on="x", by="k").tumbling(100).agg("count(*) AS n").select("k", "n")
    assert_same_rows(ours.collect(), df.groupBy("k").agg(F.count("*").alias("n")).collect())


def test_days_begin_at_the_sessions_midnight(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        df = spark.sql("SELECT TIMESTAMP'2026-01-15 23:30:00' AS ts, 1 AS v")
        row = (
            mt.stream(df, on="ts")
            .tumbling("1 day")
            .agg("sum(v) AS s")
            .selectExpr("string(window_start) AS s", "string(window_end) AS e")
            .first()
        )
        assert row is not None
        assert (row.s, row.e) == ("2026-01-15 00:00:00", "2026-01-16 00:00:00")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_rows_have_their_windows(spark: SparkSession) -> None:
    #        0    5    10   15
    # w=1    [---------)           range 10, slide 5
    # w=2         [---------)
    df = spark.createDataFrame([(3,), (7,), (None,)], "x INT")
    windowed = mt.stream(df, on="x").window(range=10, slide=5)
    tagged = {row.x: (row.first_wid, row.last_wid) for row in windowed.rows().collect()}
    assert tagged == {3: (0, 1), 7: (1, 2), None: (None, None)}
    exploded = windowed.rows(explode=True).collect()
    copies = sorted((row.x, row.wid, row.window_start, row.window_end) for row in exploded)
    assert copies == [(3, 0, -5, 5), (3, 1, 0, 10), (7, 1, 0, 10), (7, 2, 5, 15)]
    sampled = mt.stream(df, on="x").window(range=2, slide=5).rows().collect()
    assert {row.x: row.first_wid for row in sampled} == {3: 0, 7: None, None: None}


def test_no_by_is_one_window_for_all(spark: SparkSession) -> None:
    df = spark.range(0, 1000, numPartitions=4)
    results = (
        mt.stream(df, on="id").window(range=100, slide=50).agg("count(*) AS n", "max(id) AS hi")
    )
    by_end = {row.window_end: (row.n, row.hi) for row in results.collect()}
    assert by_end[100] == (100, 99)
    assert by_end[1050] == (50, 999)
    assert sum(n for n, _ in by_end.values()) == 2000


def test_explain_speaks_of_panes_and_state(spark: SparkSession, capsys: Any) -> None:
    df = spark.range(1000).selectExpr("id % 5 AS k", "id AS x", "double(id) AS v")
    windowed = mt.stream(df, on="x", by="k").window(range=3600, slide=3599)
    windowed.explain("max(v)")
    printed = capsys.readouterr().out
    assert "panes       3598 and 1 long, 3 per window" in printed
    assert "rows copied 2 per row by Spark's window(), at most 1 per row here" in printed
    mt.stream(df, on="x", by="k").window(range=10, slide=1).explain(measured=True)
    assert "rows travel as they are" in capsys.readouterr().out
    mt.stream(df, on="x", by="k").window(range=500, slide=100).explain(measured=True)
    assert "20.0 rows a pane in 1,000 rows: rows become panes" in capsys.readouterr().out
