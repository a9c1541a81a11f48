"""Regions are filled with rows that lie in them along both attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import Replay, assert_same_rows, replay
from tests.drivers.streams import play
from tests.fill.routers import plain

Row = dict[str, Any]
SPEEDS = "n INT, milepost INT, speed INT"
CALLS = "at INT, mile INT"
#: Mileposts 1 to 3 are slow from 4 to 5: a region of 6 cells. 15 rows lie in its time.
GRID = [
    {"n": n, "milepost": mile, "speed": 20 if 4 <= n <= 5 and 1 <= mile <= 3 else 60}
    for n in range(9)
    for mile in range(7)
]
#: A call at every place and half a second, and one without a place.
CALLED = [{"at": n, "mile": mile} for n in range(9) for mile in (None, 0, 1, 1, 3, 4)]


@pytest.fixture(scope="module")
def grid(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in GRID], SPEEDS)


@pytest.fixture(scope="module")
def calls(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in CALLED], CALLS)


@pytest.fixture
def streamed(spark: SparkSession) -> Iterator[tuple[Replay, Replay]]:
    """Yield both streams in three micro-batches each."""
    speeds = replay(spark, [GRID[:30], GRID[30:44], GRID[44:]], SPEEDS)
    called = replay(spark, [CALLED[:40], CALLED[40:41], CALLED[41:]], CALLS)
    yield speeds, called
    speeds.remove()
    called.remove()


def slow(df: DataFrame, **options: Any) -> mt.Frames:
    return mt.stream(df, on="n", **options).frames(mt.region("speed < 30", along="milepost"))


def inside(before: int = 0) -> list[Row]:
    """Return the calls in the region, by plain comparison."""
    return [row for row in CALLED if row["mile"] in (1, 3) and 4 - before <= row["at"] <= 5]


def test_a_region_of_six_cells_has_six_rows_of_its_own(grid: DataFrame) -> None:
    frames = slow(grid)
    [region] = plain(frames.fill().agg("count(*) AS cells", "max(speed) AS speed"))
    assert (region["cells"], region["speed"]) == (6, 20)
    [applied] = plain(frames.apply(lambda rows: {"cells": rows.num_rows}, "cells BIGINT"))
    assert applied["cells"] == 6
    assert len(plain(frames.fill().rows())) == 6


def test_other_rows_name_their_column(grid: DataFrame, calls: DataFrame) -> None:
    filled = slow(grid).fill(calls, on="at", along="mile", before=1)
    [region] = plain(filled.agg("count(*) AS calls"))
    assert region["calls"] == len(inside(before=1)) == 9
    refused = filled.plan("count(*) AS calls").refused
    assert {row["reason"] for row in plain(refused)} == {"no_along"}
    assert refused.count() == 9


def test_streams_fill_regions_of_streams(streamed: tuple[Replay, Replay]) -> None:
    speeds, called = streamed
    frames = slow(speeds.df, disorder=mt.ordered(), control=speeds.control, shards=2)
    other = called.stream("at", (), mt.ordered())
    played = play(frames.fill(other, along="mile").plan("count(*) AS calls", "max(at) AS last"))
    assert [(row.calls, row["last"]) for row in played.results] == [(len(inside()), 5)]
    assert sum(row["reason"] == "no_along" for row in played.refused) == 9


def test_a_table_fills_regions_of_a_stream(
    streamed: tuple[Replay, Replay], calls: DataFrame
) -> None:
    speeds, _ = streamed
    frames = slow(speeds.df, disorder=mt.ordered(), control=speeds.control, shards=2)
    played = play(frames.fill(calls, on="at", along="mile").plan("count(*) AS calls"))
    assert [row.calls for row in played.results] == [len(inside())]


def test_a_stream_fills_regions_of_a_batch(
    grid: DataFrame, streamed: tuple[Replay, Replay]
) -> None:
    _, called = streamed
    other = called.stream("at", (), mt.ordered())
    played = play(slow(grid).fill(other, along="mile").plan("count(*) AS calls"))
    assert [row.calls for row in played.results] == [len(inside())]


def test_stored_regions(grid: DataFrame, calls: DataFrame) -> None:
    stored = mt.frames(slow(grid).df, along=("along_start", "along_end"))
    results = plain(stored.fill(calls, on="at", along="mile").agg("count(*) AS calls"))
    assert [row["calls"] for row in results] == [len(inside())]
    own = plain(slow(grid).fill(calls, on="at", along="mile").rows())
    kept = ("at", "mile")
    assert_same_rows([{name: row[name] for name in kept} for row in own], inside())
    with pytest.raises(mt.ArgumentError, match="these regions are stored; name the column of the"):
        stored.fill(calls, on="at")
    with pytest.raises(mt.ArgumentError, match="it is two columns"):
        mt.frames(slow(grid).df, along="along_start")  # type: ignore[arg-type]
    with pytest.raises(mt.ArgumentError, match="they have bigint and string; both are one number"):
        mt.frames(slow(grid).df, along=("frame_id", "status"))


def test_the_column_along_is_checked(
    spark: SparkSession, grid: DataFrame, calls: DataFrame
) -> None:
    frames = slow(grid)
    with pytest.raises(
        mt.ArgumentError, match=r"the filling rows have no column 'milepost'.*along='milepost'"
    ):
        frames.fill(calls, on="at")
    with pytest.raises(mt.UnknownColumnError, match="where"):
        frames.fill(calls, on="at", along="where")
    words = calls.withColumn("mile", calls["mile"].cast("string"))
    with pytest.raises(
        mt.ArgumentError, match="it has type string and the regions lie along int64"
    ):
        frames.fill(words, on="at", along="mile")
    with pytest.raises(mt.ArgumentError, match=r"only frames of mt\.region"):
        mt.stream(grid, "n", "milepost").tumbling(3).fill(along="speed")


def test_sql_names_the_column(grid: DataFrame, calls: DataFrame) -> None:
    text = """SELECT frame_start, count(*) AS calls
              FROM grid [FRAME REGION speed < 30 ALONG milepost WATTR n]
                   FILL calls ON at ALONG mile MATCHING NONE"""
    assert plain(mt.sql(text, grid=grid, calls=calls)) == [{"frame_start": 4, "calls": 6}]
