"""Structs, arrays and maps in aggregates that pass values on: as Spark's own aggregates do."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.errors import UnsupportedTypeError
from muntin.testing import assert_same_rows, replay
from tests.drivers.streams import play

SCHEMA = (
    "t INT, s STRING, d DOUBLE, a ARRAY<INT>, m MAP<INT, STRING>, "
    "st STRUCT<`p q`: DOUBLE, ts: TIMESTAMP, n: TIMESTAMP_NTZ, bin: BINARY, dec: DECIMAL(20, 5), "
    "day: DATE, aa: ARRAY<STRUCT<x: FLOAT>>, ms: MAP<STRING, INT>>"
)
#: In Berlin this half hour came twice that day.
TWICE = datetime(2026, 10, 25, 1, 30, 0, 123456, tzinfo=UTC)
LOCAL = datetime(2026, 1, 1, 2, 3, 4, 567891)
FULL = (-0.0, TWICE, LOCAL, b"\x00\xff", Decimal("123456789.12345"), date(2026, 1, 1))
ROWS = [
    (1, "a", 0.0, [1, None, 2], {1: "x", 2: None}, (*FULL, [(1.5,), (None,)], {"k": None})),
    (2, "b", -0.0, None, None, None),
    (3, "a", -0.0, [], {}, (float("inf"), TWICE - timedelta(hours=1), *[None] * 6)),
    (4, None, 1.0, [7], {5: "it's"}, (1e-300, *[None] * 7)),
]
TEXTS = (
    "first(st) AS first_struct",
    "last(st) AS last_struct",
    "any_value(a) AS some_array",
    "collect_list(a) AS arrays",
    "collect_list(m) AS maps",
    "last(m) AS last_map",
    "count(a) AS n_arrays",
    "count(DISTINCT s, d) AS pairs",
    "count(DISTINCT a) AS different",
    "collect_list(struct(t, s)) AS together",
    "size(collect_list(st)) AS how_many",
    "min_by(st, t) AS least",
    "first(st.ts) AS of_a_field",
    "first(a) FILTER (WHERE t > 2) AS filtered",
)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA)


def test_values_are_sparks(spark: SparkSession, rows: DataFrame) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        ours = mt.stream(rows, "t").tumbling(10).agg(*TEXTS)
        theirs = rows.orderBy("t").coalesce(1).agg(*map(F.expr, TEXTS))
        types = [[f.dataType.simpleString() for f in df.schema] for df in (ours, theirs)]
        assert types[0][2:] == types[1]
        # As texts, in which 0.0 is not -0.0.
        ours, theirs = (df.select(*theirs.columns).collect() for df in (ours, theirs))
        assert repr(ours) == repr(theirs)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_in_pyspark_python_sql_and_streams(spark: SparkSession, rows: DataFrame) -> None:
    plain = rows.select("t", "s")
    wanted = [{"t": t, "s": s} for t, s, *_ in ROWS]
    windows = mt.stream(plain, "t").tumbling(10)
    pair = F.struct("t", "s")
    (row,) = windows.agg(
        F.collect_list(pair).alias("a"), mt.collect(pair).alias("b"), F.countDistinct("t", "s")
    ).collect()
    asked = "collect_list(struct(t, s)) AS a, count(DISTINCT t, s) AS n"
    (by_sql,) = mt.sql(f"SELECT {asked} FROM r [TUMBLING 10 WATTR t]", r=plain).collect()
    played = replay(spark, [wanted[:2], wanted[2:]], "t INT, s STRING")
    stream = played.stream("t", disorder=mt.ordered())
    (streamed,) = play(stream.tumbling(10).plan(F.collect_list(pair).alias("a"))).results
    played.remove()
    for found in (row.a, row.b, by_sql.a, streamed.a):
        assert [value.asDict() for value in found] == wanted
    assert by_sql.n == row["count(DISTINCT t, s)"] == 3
    frames = mt.stream(plain, "t").frames(mt.threshold("t < 3")).agg("last(struct(t, s)) AS l")
    assert_same_rows([frames.collect()[0].l], [{"t": 2, "s": "b"}])


@pytest.mark.parametrize("text", ["mode(a)", "collect_set(st)", "count(DISTINCT st)", "max(a)"])
def test_what_has_no_order_is_refused(rows: DataFrame, text: str) -> None:
    with pytest.raises(UnsupportedTypeError, match="which Muntin does not carry"):
        mt.stream(rows, "t").tumbling(10).agg(text)
