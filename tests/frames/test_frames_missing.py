"""Conditions on missing rows as users write them: bridged if Spark finds the condition true."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import replay
from tests.drivers.streams import play

SCHEMA = "n INT, x DOUBLE, i INT, s STRING, ts TIMESTAMP, day DATE, inner STRUCT<a: INT>"
BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 3, 28, 22)
#: A row in every second slot; the seconds from one to the next grow.
VALUES = [(1.0, 7, "ab"), (4.5, 3, "b"), (None, None, None), (-2.0, -3, "a"), (9.0, 4, "abc")]
ROWS = [
    {
        "n": 2 * place,
        "x": x,
        "i": i,
        "s": s,
        "ts": START + timedelta(seconds=20 * place**3),
        "day": (START + timedelta(days=place**2)).date(),
        "inner": (i,),
    }
    for place, (x, i, s) in enumerate(VALUES)
]
CONDITIONS = [
    "next.ts - prev.ts < INTERVAL 1 MINUTE",
    "next.ts < prev.ts + INTERVAL 3 MINUTES",
    "timestampdiff(SECOND, prev.ts, next.ts) < 200",
    "next.day <= date_add(prev.day, 3)",
    "datediff(next.day, prev.day) BETWEEN 2 AND 5",
    "prev.s LIKE 'a%'",
    "prev.s LIKE 'a%' AND next.s < prev.s",
    "coalesce(prev.x, 0) < 5",
    "prev.i % 2 = 1",
    "TRUE",
    "prev.ts > '2026-03-28 22:00:10'",
    "prev.ts > TIMESTAMP '2026-03-28 22:00:10'",
    "abs(next.x - prev.x) < 5",
    "CASE WHEN prev.x IS NULL THEN next.i < 0 ELSE next.x > prev.x END",
    "sqrt(abs(prev.i)) < 2 OR upper(next.s) = 'B'",
    "prev.inner.a > next.inner.a",
    "next.n - prev.n = 2",
]


@pytest.fixture(scope="module")
def gappy(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in ROWS], SCHEMA).coalesce(1).cache()


def expected(spark: SparkSession, texts: list[str]) -> list[list[tuple[int, int]]]:
    """Return the frames of rows that all satisfy: they end where the condition is not true."""
    rows = [tuple(row.values()) for row in ROWS]
    schema = f"prev STRUCT<{SCHEMA}>, next STRUCT<{SCHEMA}>"
    pairs = spark.createDataFrame([*itertools.pairwise(rows)], schema)
    asked = [f"{text} AS c{place}" for place, text in enumerate(texts)]
    answers = pairs.coalesce(1).selectExpr(*asked).collect()
    made = []
    for place in range(len(texts)):
        ends = [2 * n for n, answer in enumerate(answers) if answer[place] is not True]
        starts = [0, *(end + 2 for end in ends)]
        made.append([*zip(starts, [*ends, 2 * len(rows) - 2], strict=True)])
    return made


def test_a_missing_row_is_bridged_where_spark_finds_the_condition_true(
    spark: SparkSession, gappy: DataFrame
) -> None:
    """
    on   0 . 2 . 4 . 6 . 8
    """
    every_one = mt.stream(gappy, "n", schedule=1)
    wanted = expected(spark, CONDITIONS)
    for text, frames in zip(CONDITIONS, wanted, strict=True):
        found = every_one.frames(mt.threshold("n >= 0"), missing=text).df
        got = sorted((row.frame_start, row.frame_end) for row in found.collect())
        assert got == frames, text
    assert len({tuple(frames) for frames in wanted}) > 8


def test_the_same_on_a_stream(spark: SparkSession) -> None:
    text = "prev.s LIKE '%b%' AND next.ts - prev.ts < INTERVAL 1 MINUTE"
    rows = [{name: row[name] for name in ("n", "s", "ts")} for row in ROWS]
    played = replay(spark, [rows[:1], rows[1:2], rows[2:]], "n INT, s STRING, ts TIMESTAMP")
    try:
        stream = played.stream(on="n", disorder=mt.slack(1), schedule=1)
        found = play(stream.frames(mt.threshold("n >= 0"), missing=text).plan()).results
    finally:
        played.remove()
    got = sorted((row.frame_start, row.frame_end) for row in found)
    assert [got] == expected(spark, [text]) == [[(0, 2), (4, 4), (6, 6), (8, 8)]]


def test_rows_that_tie_are_combined_before_they_are_looked_at(gappy: DataFrame) -> None:
    """Then Spark passes only the columns, and Muntin evaluates the whole condition."""
    twice = gappy.unionAll(gappy.selectExpr("n", "x + 1", "i", "s", "ts", "day", "inner"))
    every_one = mt.stream(twice, "n", schedule=1)

    def found(missing: str) -> list[tuple[int, int]]:
        ways = dict.fromkeys(("n", "x", "s", "ts"), "max")
        frames = every_one.frames(mt.threshold("n >= 0"), ties=ways, missing=missing)
        return sorted((row.frame_start, row.frame_end) for row in frames.df.collect())

    assert found("coalesce(prev.x, 0) > 5") == [(0, 0), (2, 4), (6, 6), (8, 8)]
    assert found("prev.s LIKE 'a%' AND next.ts - prev.ts < INTERVAL 1 MINUTE") == [
        (0, 2),
        (4, 4),
        (6, 6),
        (8, 8),
    ]
    assert found("TRUE") == [(0, 8)]
    with pytest.raises(mt.ExpressionError, match=r"'sqrt\(prev.x\)' cannot be used; .*CASE"):
        found("sqrt(prev.x) > 1")


@pytest.mark.parametrize(
    ("missing", "error", "says"),
    [
        ("sqrt(next.x - prev.x) > 1", mt.ExpressionError, "Muntin evaluates itself 'sqrt.*CASE"),
        ("next.ts > prev.x", TypeError, "needs a timestamp.*where it has a value of type number"),
        ("least(prev.ts, next.ts) > '2026-01-01'", TypeError, "write TIMESTAMP '2026-01-31'"),
        ("least(prev.x, next.s) = 3", TypeError, "needs a number where it has a value of type str"),
        ("next.x - prev.x = NULL", TypeError, "value of type null; write IS NULL"),
        ("coalesce(NULL, NULL)", TypeError, "chooses among nothing but NULL"),
        ("least(prev.day, next.day) + INTERVAL 1 HOUR > next.day", TypeError, "so many days"),
        ("least(prev.x, next.x) + INTERVAL 1 DAY > prev.x", TypeError, "needs a timestamp"),
        ("next.x + INTERVAL 1 DAY > prev.x", mt.ExpressionError, "Spark cannot evaluate this"),
        ("sqrtt(prev.x) > 1", mt.ExpressionError, "Cannot resolve routine `SQRTT`"),
        ("prev.inner.b > 1", mt.ExpressionError, "No such struct field `b`"),
    ],
)
def test_what_is_no_condition_on_two_rows(
    gappy: DataFrame, missing: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        print(mt.stream(gappy, "n").frames(mt.threshold("n >= 0"), missing=missing).df)


def test_slots_of_a_day_where_clocks_change(spark: SparkSession) -> None:
    """
    March      27   28   29   30   31      clocks of Berlin go forward on the 29th
    at 12:30    T    T    T    .    T
    """
    hours = [datetime(2026, 3, day, 12, 30, tzinfo=BERLIN) for day in (27, 28, 29, 31)]
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        df = spark.createDataFrame([(at,) for at in hours], "ts TIMESTAMP")
        daily = mt.stream(df, "ts", schedule="1 day").frames
        always = mt.threshold("true")
        apart = daily(always).df.orderBy("frame_start")
        cut = daily(always, missing="satisfy", max_count=4, cut=True).df.orderBy("frame_start")
        clocks = [
            f"date_format({name}, 'dd HH:mm') AS {name}" for name in ("frame_start", "frame_end")
        ]
        found = [
            [tuple(row) for row in one.selectExpr(*clocks, "n", "n_missing").collect()]
            for one in (apart, cut)
        ]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found == [
        [("27 12:30", "29 12:30", 3, 0), ("31 12:30", "31 12:30", 1, 0)],
        # A missing row lies where its slot starts, which is one o'clock by then.
        [("27 12:30", "30 01:00", 3, 1), ("31 12:30", "31 12:30", 1, 0)],
    ]


# n   0 1        nothing came before the null, so no condition lets it satisfy: it bounds the frame
# x   ? 1
#     (---]
def test_a_missing_row_before_the_first_row_is_not_bridged(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(0, None), (1, 1.0)], "n INT, x DOUBLE")
    for condition in ("prev.x IS NULL", "TRUE", "break"):
        framing = {"missing": condition, "bounds": "liberal"}
        (frame,) = mt.stream(rows, on="n").frames(mt.threshold("x > 0"), **framing).df.collect()
        assert (frame.frame_start, frame.frame_end, frame.n) == (0, 1, 1)
