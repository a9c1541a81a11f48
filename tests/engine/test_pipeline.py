"""Pipelines: what runs, what is told to streams, and what a second query sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin.engine.pipeline import Pipeline
from muntin.engine.waiting import wait
from muntin.semantics.errors import MuntinError
from muntin.spark.sinks.sending import Put

STREAM = """
CREATE STREAM sales FROM simulate('retail', hours => 0.5, closed => 0, files => 3)
  ON ts BY store DISORDER SLACK '20 seconds';
"""
COUNT = "SELECT store, count(*) AS n FROM sales [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY store;"


class Kept:
    """Rows that queries without a sink found."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}

    def sink(self, name: str, streaming: bool) -> Put:
        found = self.rows.setdefault(name, [])

        def put(rows: DataFrame, number: int) -> None:
            found.extend(map(tuple, rows.collect()))

        return put


def never() -> bool:
    return False


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path: Path, kept: Kept) -> Pipeline:
    return Pipeline(spark, tmp_path, True, kept.sink, lambda rows: None)


def test_a_second_query_reads_a_stream_from_its_beginning(pipeline: Pipeline, kept: Kept) -> None:
    """The first one ended because the simulation was over; that is not told to the second."""
    pipeline.run(STREAM)
    for _ in range(2):
        pipeline.run(COUNT)
        ended = wait(pipeline, never, never, lambda standings: None)
        assert not ended.stopped
        pipeline.running.clear()
    first, second = kept.rows["select_1"], kept.rows["select_2"]
    assert sorted(first) == sorted(second)
    assert len(first) >= 6


def test_a_query_that_fails_is_said(pipeline: Pipeline) -> None:
    def broken(rows: DataFrame, number: int) -> None:
        raise OSError("the disk is full")

    pipeline.default = lambda name, streaming: broken
    pipeline.run(STREAM + COUNT)
    with pytest.raises(MuntinError, match=r"query select_1 failed: .*the disk is full"):
        wait(pipeline, never, never, lambda standings: None)
    assert not any(one.query.isActive for one in pipeline.running)


def test_a_query_is_dropped_while_it_runs(pipeline: Pipeline, tmp_path: Path) -> None:
    into = f"INTO json('{tmp_path}/out')"
    pipeline.run(STREAM + f"CREATE QUERY q AS {COUNT.rstrip(';')} {into};")
    (one,) = pipeline.running
    assert (one.name, one.shown) == ("q", False)
    pipeline.run("DROP QUERY q;")
    assert pipeline.running == []
    assert not one.query.isActive
