"""Frames of a stream filled from several sources at once: two tables, a table and a stream."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import Replay, assert_same_rows
from tests.drivers.streams import play
from tests.fill.routers import BGP, MESSAGES, high_loss, plain

TABLE = [row for n, row in enumerate(MESSAGES) if n % 5]


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in TABLE], BGP)


def combined(frames: mt.Frames, first: Any, second: Any, **options: Any) -> mt.Plan:
    """Return frames with their own mean, and what both sources have in them."""
    return mt.combine(
        frames.fill(first, key="router_id", **options).plan("count(*) AS near", "max(at) AS last"),
        frames.plan("avg(loss_rate) AS mean"),
        frames.fill(second, key="router_id", before="5 minutes").plan("count(*) AS wide"),
    )


def of(df: DataFrame) -> mt.Stream:
    return mt.stream(df, on="at", by="router_id")


def check(streamed: mt.Plan, batch: mt.Plan) -> list[dict[str, Any]]:
    """Compare the results of a stream with those of a batch, columns in their order."""
    results = [row.asDict() for row in play(streamed).results]
    assert streamed.df.columns == batch.df.columns
    assert_same_rows(results, plain(batch.df))
    return results


def test_two_tables(
    replays: tuple[Replay, Replay], losses: DataFrame, messages: DataFrame, table: DataFrame
) -> None:
    stream = high_loss(replays[0].df, disorder=mt.ordered(), control=replays[0].control)
    found = check(
        combined(stream, of(messages), of(table), shift=["0 seconds", "-5 minutes"]),
        combined(high_loss(losses), of(messages), of(table), shift=["0 seconds", "-5 minutes"]),
    )
    assert len(found) == 2  # a frame and two shifts
    assert all(row["wide"] > 10 for row in found)


@pytest.mark.parametrize("stream_first", [True, False])
def test_a_table_and_a_stream(
    replays: tuple[Replay, Replay],
    losses: DataFrame,
    messages: DataFrame,
    table: DataFrame,
    stream_first: bool,
) -> None:
    ours, theirs = replays
    stream = high_loss(ours.df, disorder=mt.ordered(), control=ours.control, shards=2)
    other = theirs.stream("at", "router_id", mt.slack("1 minute"))
    pair: tuple[Any, Any] = (other, of(table)) if stream_first else (of(table), other)
    batch = (of(messages), of(table)) if stream_first else (of(table), of(messages))
    text = str(combined(stream, *pair).explanation)
    assert "held        nothing: the table is complete, and is read again in every" in text
    assert "held        bounded by the longest frame: rows since the open frame began" in text
    (found,) = check(combined(stream, *pair), combined(high_loss(losses), *batch))
    assert found["near"] < found["wide"]


def test_frames_that_no_table_fills_are_dropped(
    replays: tuple[Replay, Replay], losses: DataFrame, table: DataFrame
) -> None:
    """One of two tables is enough to keep a frame."""
    stream = high_loss(replays[0].df, disorder=mt.ordered(), control=replays[0].control)
    far = {"shift": "1 day", "empty": "drop"}
    both = mt.combine(
        stream.fill(of(table), key="router_id", **far).plan("count(*) AS far"),
        stream.fill(of(table), key="router_id", empty="drop").plan("count(*) AS near"),
    )
    assert [(row.far, row.near > 0) for row in play(both).results] == [(0, True)]


def test_empty_frames_of_a_table_and_a_stream_are_kept(
    replays: tuple[Replay, Replay], table: DataFrame
) -> None:
    ours, theirs = replays
    stream = high_loss(ours.df, disorder=mt.ordered(), control=ours.control)
    other = theirs.stream("at", "router_id", mt.slack("1 minute"))
    with pytest.raises(mt.ArgumentError, match="where a table and a stream fill, which frames are"):
        combined(stream, other, of(table), empty="drop")
