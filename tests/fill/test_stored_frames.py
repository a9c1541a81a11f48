"""Stored frames and windows, filled by a later stream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.testing import Replay, assert_same_rows, replay
from tests.drivers.streams import play
from tests.fill.routers import BGP, MESSAGES, high_loss, inside, plain

AGGREGATES = ("count(*) AS updates", "max(at) AS latest")


@pytest.fixture
def later(spark: SparkSession) -> Iterator[Replay]:
    message_replay = replay(spark, [MESSAGES[:20], MESSAGES[20:61], MESSAGES[61:]], BGP)
    yield message_replay
    message_replay.remove()


def segments(losses: DataFrame, kind: str) -> mt.Frames | mt.Stored | mt.Windowed:
    if kind == "windows":
        return mt.stream(losses, "ts", "router").window("10 minutes", "5 minutes")
    if kind == "frames":
        return high_loss(losses)
    noted = high_loss(losses).df.withColumn("note", F.lit("look at this"))
    return mt.frames(noted, by="router")


@pytest.mark.parametrize("kind", ["frames", "stored", "windows"])
def test_a_stream_fills_what_a_batch_found(
    losses: DataFrame, messages: DataFrame, later: Replay, kind: str
) -> None:
    frames_or_windows = segments(losses, kind)
    rows = later.stream("at", "router_id", mt.slack("1 minute"), shards=3)
    plan = frames_or_windows.fill(rows, key="router_id", before="30 seconds").plan(*AGGREGATES)
    played = play(plan)
    batch = frames_or_windows.fill(messages, on="at", key="router_id", before="30 seconds").agg(
        *AGGREGATES
    )
    assert plan.df.columns == batch.columns
    assert_same_rows([row.asDict() for row in played.results], plain(batch))
    frames = segments(losses, kind).fill().plan("count(*)").df.count()
    assert played.counts["rows_used"] == len(MESSAGES) + frames


def test_a_frame_comes_when_its_rows_are_there(spark: SparkSession, losses: DataFrame) -> None:
    """The frame from 08:10 to 08:20 is reported before the stream ends."""
    message_replay = replay(spark, [MESSAGES[:70]], BGP, end=False)
    rows = message_replay.stream("at", "router_id", mt.ordered(), shards=2)
    plan = high_loss(losses).fill(rows, key="router_id").plan(*AGGREGATES)
    assert [row.updates for row in play(plan).results] == [len(inside(10, 20))]
    message_replay.remove()


def test_a_checkpoint_is_about_its_frames(losses: DataFrame, later: Replay) -> None:
    frames = high_loss(losses).df

    def play(stored: DataFrame) -> None:
        rows = later.stream("at", "router_id", mt.ordered(), shards=2)
        later.play(
            mt.frames(stored, by="router").fill(rows, key="router_id").plan("count(*) AS rows")
        )

    play(frames)
    later.extend([MESSAGES[-1:]])
    with pytest.raises(StreamingQueryException, match=r"frames"):
        play(frames.withColumn("frame_id", F.col("frame_id") + 1))


def test_what_cannot_be_filled_by_a_stream(losses: DataFrame, later: Replay) -> None:
    rows = later.stream("at", "router_id", mt.ordered())
    parts = mt.stream(losses, "ts", "router").frames(
        mt.threshold("loss_rate > 0.3"), fragments="1 minute"
    )
    with pytest.raises(mt.ArgumentError, match="these frames come from a batch"):
        parts.fill(rows, key="router_id")
    with pytest.raises(mt.ArgumentError, match="must say how disordered"):
        high_loss(losses).fill(later.df, on="at", key="router_id")
