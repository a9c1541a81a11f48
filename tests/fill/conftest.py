"""The rows of the router example on Spark, as batches and as streams."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin.testing import Replay, replay
from tests.fill.routers import BGP, LOSS, LOSSES, MESSAGES


@pytest.fixture(scope="module")
def losses(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in LOSSES], LOSS)


@pytest.fixture(scope="module")
def messages(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in MESSAGES], BGP)


@pytest.fixture
def replays(spark: SparkSession) -> Iterator[tuple[Replay, Replay]]:
    """Yield both streams in three micro-batches; the second is first ahead, then behind."""
    loss_replay = replay(spark, [LOSSES[:30], LOSSES[30:44], LOSSES[44:]], LOSS)
    message_replay = replay(spark, [MESSAGES[:60], MESSAGES[60:61], MESSAGES[61:]], BGP)
    yield loss_replay, message_replay
    loss_replay.remove()
    message_replay.remove()
