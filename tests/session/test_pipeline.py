"""Pipelines: which queries run, how streams learn of their end, and what a second query reads."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import MuntinError
from muntin.session.pipeline import Pipeline
from muntin.session.wait import wait
from muntin.spark.connectors.sinks.protocol import Sink

STREAM = """
CREATE STREAM sales FROM simulate('retail', hours => 0.5, closed => 0, files => 3)
  ON ts BY store DISORDER SLACK '20 seconds';
"""
COUNT = "SELECT store, count(*) AS n FROM sales [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY store;"


class Kept:
    """Keeps the result rows of queries without a sink."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}

    def sink(self, name: str, streaming: bool) -> Sink:
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
    """The first query ended with the simulation; the second query does not know of that end."""
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
    checkpoint, runs = tmp_path / "checkpoints" / "q", tmp_path / "runs" / "queries" / "q"
    assert checkpoint.is_dir() and runs.is_file()
    pipeline.run("DROP QUERY Q;")
    assert pipeline.running == []
    assert not one.query.isActive
    # Another query of this name starts from the beginning.
    assert not checkpoint.exists() and not runs.exists()


def test_a_stream_whose_checkpoint_was_removed_is_another_run(
    spark: SparkSession, kept: Kept, tmp_path: Path
) -> None:
    runs = []
    for _ in range(3):
        pipeline = Pipeline(spark, tmp_path, True, kept.sink, lambda rows: None)
        pipeline.run(STREAM + COUNT)
        pipeline.stop("select_1")
        runs.append((tmp_path / "runs" / "queries" / "select_1").read_text())
        if len(runs) == 2:
            shutil.rmtree(tmp_path / "checkpoints")
    assert runs[0] == runs[1] != runs[2]


def test_a_trigger_is_dropped_while_its_query_runs(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.run(STREAM + f"CREATE QUERY q AS {COUNT} CREATE TRIGGER a ON q DO command('true');")
    (one,) = pipeline.running
    pipeline.run("CREATE TRIGGER B ON q DO command('true'); DROP TRIGGER A;")
    assert [*one.output.sinks] == ["b"]
    pipeline.run("DROP QUERY q;" + f"CREATE QUERY q AS {COUNT}")
    assert pipeline.session.catalog.triggers == {}
    assert pipeline.running == []


def test_a_mistake_in_the_last_query_is_found_before_the_first_runs(
    spark: SparkSession, kept: Kept, tmp_path: Path
) -> None:
    answers: list[DataFrame] = []
    pipeline = Pipeline(spark, tmp_path, False, kept.sink, answers.append)
    first = f"CREATE QUERY q AS SELECT 1 AS x INTO json('{tmp_path}/out'); SHOW QUERIES;"
    for last in (
        "SELECT 1 AS x FROM nowhere;",
        "CREATE QUERY r AS SELECT 1 AS x INTO jsn('x');",
        "CREATE TRIGGER t ON q DO webhok('x');",
        "EXPLAIN SELECT y FROM nowhere;",
    ):
        with pytest.raises(MuntinError):
            pipeline.run(first + last)
        pipeline.session.catalog.relations.clear()
        pipeline.session.catalog.triggers.clear()
    assert not (tmp_path / "out").exists()
    assert answers == []


def test_what_follows_a_drop_is_looked_at_after_it(
    spark: SparkSession, kept: Kept, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, tmp_path, False, kept.sink, lambda rows: None)
    pipeline.run("CREATE QUERY q AS SELECT 1 AS x; SELECT * FROM q; DROP QUERY q;")
    pipeline.run("DROP QUERY IF EXISTS q; CREATE QUERY q AS SELECT 2 AS x; SELECT * FROM q;")
    assert kept.rows == {"select_1": [(1,)], "select_2": [(2,)]}


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_table_has_its_old_rows_and_those_that_are_inserted(
    spark: SparkSession, kept: Kept, tmp_path: Path, form: str
) -> None:
    path = tmp_path / "kept"
    spark.sql("SELECT 1 AS x, 'a' AS k").write.format(form).save(str(path))
    table = f"CREATE TABLE kept FROM {form}('{path}');"
    pipeline = Pipeline(spark, tmp_path / "state", False, kept.sink, lambda rows: None)
    pipeline.run(
        table
        + """CREATE QUERY q AS SELECT 2 AS x, 'b' AS k;
      CREATE TRIGGER keep ON q DO insert('kept');"""
    )
    rows = [[*row] for row in mt.sql(table + "SELECT * FROM kept").collect()]
    # JSON columns are in alphabetical order.
    assert sorted(sorted(row, key=str) for row in rows) == [[1, "a"], [2, "b"]]


def test_where_rows_cannot_be_inserted(spark: SparkSession, kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"x": 1}')
    (tmp_path / "parted" / "day=1").mkdir(parents=True)
    for name, says in (("one.json", "it is one file"), ("parted", r"columns \(day=1\)")):
        pipeline = Pipeline(spark, tmp_path / "state", False, kept.sink, lambda rows: None)
        with pytest.raises(mt.SqlError, match=says):
            pipeline.run(f"""CREATE TABLE t FROM json('{tmp_path / name}');
              CREATE QUERY q AS SELECT 1 AS x; CREATE TRIGGER keep ON q DO insert('t');""")
