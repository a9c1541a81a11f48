"""Fixtures for your tests: put ``pytest_plugins = ["muntin.testing.plugin"]`` into ``conftest.py``.

``muntin_spark`` is a session on this machine that all tests share, and ``muntin_replay`` makes
replays and removes their files after the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from muntin.spark.start.spark_session import local_session
from muntin.testing.replay import Replay, replay

#: What the fixture ``muntin_replay`` is: :func:`muntin.testing.replay` without its session.
MakeReplay = Callable[..., Replay]


@pytest.fixture(scope="session")
def muntin_spark() -> Iterator[SparkSession]:
    """Return the session that runs already, or one on this machine that ends with the tests."""
    running = SparkSession.getActiveSession()
    session = local_session(zone="UTC")
    yield session
    if running is None:
        session.stop()


@pytest.fixture
def muntin_replay(muntin_spark: SparkSession) -> Iterator[MakeReplay]:
    """Return a function that makes a replay, by default with ``driver="step"``."""
    made: list[Replay] = []

    def make(batches: Sequence[Sequence[dict[str, Any]]], schema: str, **options: Any) -> Replay:
        made.append(replay(muntin_spark, batches, schema, **{"driver": "step", **options}))
        return made[-1]

    yield make
    for each in made:
        each.remove()
