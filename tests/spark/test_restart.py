"""Checkpoints: nothing lost or doubled by a kill, other cores work, another query is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import muntin as mt
from muntin.semantics import aggregation
from muntin.semantics.axis import Axis, Domain
from muntin.semantics.punctuation import Rule
from muntin.semantics.reference import Outcome, Reference
from muntin.semantics.window import Window
from muntin.testing import assert_same_rows, replay
from tests.spark.programs import PATIENCE, finish, kill, start, wait_for

SCHEMA = "k STRING, x BIGINT, v DOUBLE"
PROGRAM = Path(__file__).with_name("program_kill.py")


def arrivals(batches: int) -> list[list[dict[str, Any]]]:
    """Rows that drift forward with disorder, some of them later than the slack."""
    chance = random.Random(11)
    return [
        [
            {
                "k": chance.choice(["a", "b", "c"]),
                "x": number * 15 + chance.randint(-35, 15),
                "v": chance.randint(-500, 500) / 64,
            }
            for _ in range(30)
        ]
        for number in range(batches)
    ]


def expected(batches: list[list[dict[str, Any]]]) -> Outcome:
    axis = Axis(Domain.INTEGER)
    evaluate = {
        "total": lambda rows: aggregation.total([row["v"] for row in rows]),
        "n": len,
    }
    reference = Reference(Window(20, 7, "x").edges(axis), axis, "x", ("k",), evaluate)
    return reference.run(Rule(mt.slack(5), axis, "x").punctuate(batches))


@pytest.mark.timeout(PATIENCE + 300)
def test_kill_9_loses_and_doubles_nothing(spark: SparkSession, tmp_path: Path) -> None:
    batches = arrivals(6)
    replay(spark, batches, SCHEMA, tasks=2, folder=tmp_path)
    for stop_in, when in [(1, "before"), (3, "after")]:
        process = start(PROGRAM, str(tmp_path), str(stop_in), when)
        wait_for(tmp_path / f"stopped-{when}", process)
        kill(process)
        process.communicate()
    finish(start(PROGRAM, str(tmp_path), "-1", "never"))
    wanted = expected(batches)
    results = spark.read.parquet(str(tmp_path / "results")).drop("batch").collect()
    refused = spark.read.parquet(str(tmp_path / "refused")).drop("batch").collect()
    assert_same_rows(results, wanted.results)
    assert len(refused) == len(wanted.refused) > 0
    assert {row.reason for row in refused} == {"late"}


def test_a_restart_with_other_partitions_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    batches = arrivals(4)
    played = replay(spark, batches[:2], SCHEMA, end=False, tasks=2, folder=tmp_path)

    def plan() -> mt.Plan:
        stream = played.stream("x", "k", mt.slack(5))
        return stream.window(range=20, slide=7).plan("sum(v) AS total", "count(*) AS n")

    played.play(plan())
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        played.extend(batches[2:])
        made = played.play(plan())
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))
    assert_same_rows(made.results, expected(batches).results)


@pytest.mark.parametrize(
    ("range_", "aggregate", "column", "shards", "differs"),
    [
        (30, "sum(v) AS total", "k", None, "window RANGE 20 SLIDE 7.* there, RANGE 30 SLIDE 7"),
        (20, "max(v) AS total", "k", None, "aggregates sum\\(v\\) there, max\\(v\\) here"),
        (20, "sum(v) AS total", "x", None, "schema .*by k string.* there, .*by x bigint"),
        (20, "sum(v) AS total", "k", 3, "shard count 16 there, 3 here"),
    ],
)
def test_another_query_on_the_checkpoint_is_refused(
    spark: SparkSession,
    tmp_path: Path,
    range_: int,
    aggregate: str,
    column: str,
    shards: int | None,
    differs: str,
) -> None:
    batches = arrivals(2)
    played = replay(spark, batches[:1], SCHEMA, end=False, folder=tmp_path)
    stream = played.stream("x", "k", mt.slack(5))
    played.play(stream.window(range=20, slide=7).plan("sum(v) AS total"))
    played.extend(batches[1:], end=False)
    other = played.stream("x", column, mt.slack(5), shards=shards)
    with pytest.raises(StreamingQueryException, match=f"(?s)belongs to another query.*{differs}"):
        played.play(other.window(range=range_, slide=7).plan(aggregate))
