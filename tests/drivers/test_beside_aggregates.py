"""``n``, ``n_missing`` and ``wid`` beside aggregates, alone or in an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import assert_same_rows, replay

#: Two frames above 5; the row at 3 has no value and is bridged.
VALUES = [(0, 1), (1, 9), (2, 8), (3, None), (4, 7), (5, 2), (6, 6)]
SCHEMA = "n BIGINT, v INT"


@pytest.fixture(scope="module")
def line(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(VALUES, SCHEMA)


def high(df: DataFrame, **options: Any) -> mt.Frames:
    return mt.stream(df, "n", **options).frames(mt.threshold("v > 5"), missing="satisfy")


def rows(df: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in df.collect())


def test_counts_of_frames(line: DataFrame) -> None:
    found = high(line).agg("n", "n_missing AS missed", "sum(v) AS total", "sum(v) / n AS mean")
    assert found.columns[-4:] == ["n", "missed", "total", "mean"]
    assert rows(found, "n", "missed", "total", "mean") == [(1, 0, 6, 6.0), (3, 1, 24, 8.0)]
    plain = high(line).df
    assert rows(plain, "n", "n_missing") == rows(found, "n", "missed")


def test_counts_of_filled_frames(line: DataFrame) -> None:
    filled = high(line).fill(before=1).agg("n", "n_missing", "count(*) AS filled")
    assert rows(filled, "n", "n_missing", "filled") == [(1, 0, 2), (3, 1, 5)]
    prefixed = mt.stream(line, "n").frames(mt.threshold("v > 5"), prefix="f_").agg("f_n", "max(v)")
    assert rows(prefixed, "f_n") == [(1,), (1,), (2,)]


def test_counts_of_frames_on_a_stream(spark: SparkSession, line: DataFrame) -> None:
    batches = [[dict(zip(("n", "v"), row, strict=True)) for row in VALUES]]
    with_counts = ("n", "n_missing AS missed", "sum(v) AS total")
    played = replay(spark, batches, SCHEMA)
    frames = high(played.df, disorder=mt.ordered(), control=played.control)
    results = played.play(frames.plan(*with_counts)).results
    expected = high(line).agg(*with_counts).collect()
    assert_same_rows([row.asDict() for row in results], [row.asDict() for row in expected])
    played.remove()


WINDOWS: dict[str, Callable[[DataFrame], mt.Windowed]] = {
    "sliding": lambda df: mt.stream(df, "n").window(3, 2),
    "origin": lambda df: mt.stream(df, "n").tumbling(3, origin=-4),
    "timestamp": lambda df: mt.stream(_timed(df, "timestamp_micros(n * 500000)"), "t").window(
        "2 seconds", "1 second"
    ),
    "ntz": lambda df: mt.stream(
        _timed(df, "CAST(timestamp_micros(n) AS TIMESTAMP_NTZ)"), "t"
    ).tumbling("3 microseconds"),
    "date": lambda df: mt.stream(_timed(df, "date_add('1969-12-30', CAST(n AS INT))"), "t").window(
        "3 days", "2 days"
    ),
    "decimal": lambda df: mt.stream(_timed(df, "CAST(n * 0.1 AS DECIMAL(9, 1))"), "t").window(
        0.3, 0.1
    ),
    "double": lambda df: mt.stream(_timed(df, "n * 0.1D"), "t").window(0.3, 0.1),
}


def _timed(df: DataFrame, on: str) -> DataFrame:
    return df.selectExpr(f"{on} AS t", "v")


@pytest.mark.parametrize("name", WINDOWS)
def test_the_numbers_of_windows_are_those_of_their_rows(line: DataFrame, name: str) -> None:
    windows = WINDOWS[name](line)
    tagged = windows.rows(explode=True).groupBy("wid", "window_start", "window_end").count()
    found = windows.agg("wid", "count(*) AS count")
    columns = ("wid", "window_start", "window_end", "count")
    assert rows(found, *columns) == rows(tagged, *columns)


def test_the_numbers_of_other_windows(line: DataFrame) -> None:
    stream = mt.stream(line, "n")
    ranked = stream.rows(range=3, slide=2).agg("wid", "count(*) AS n")
    assert rows(ranked, "wid", "window_end", "n") == [(0, 2, 2), (1, 4, 3), (2, 6, 3), (3, 8, 2)]
    by_tuple = stream.by_tuple(range=2, every=3).agg("wid", "count(*) AS n")
    assert rows(by_tuple, "wid", "n") == [(2, 2), (5, 2)]
    landmark = stream.landmark(slide=4, origin=0).agg("wid + 1 AS nth", "count(*) AS n")
    assert rows(landmark, "nth", "n") == [(1, 4), (2, 7)]
    filled = stream.tumbling(4).fill(line, on="n").agg("wid", "count(*) AS n")
    assert rows(filled, "wid", "n") == [(0, 4), (1, 3)]


def test_what_has_no_number_is_refused(line: DataFrame) -> None:
    with pytest.raises(mt.ExpressionError, match="there is no aggregate in it"):
        mt.stream(line, "n").session(2).agg("wid", "count(*)")
    with pytest.raises(mt.ExpressionError, match="there is no aggregate in it"):
        high(line).agg("v", "count(*)")
    with pytest.raises(mt.ExpressionError, match="column 'n_missing' stands outside an aggregate"):
        mt.stream(line, "n").tumbling(3).agg("count(*) + n_missing AS x")
