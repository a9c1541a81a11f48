"""A replay on a streaming query and step by step: the same rows, refused rows and counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.errors import ArgumentError, CheckpointError, UnknownColumnError
from muntin.testing import Played, Replay, assert_same_rows, replay

SCHEMA = "k STRING, ts TIMESTAMP, v DOUBLE"


def at(minute: int, second: int) -> datetime:
    return datetime(2026, 3, 2, 8, minute, second)


def row(k: str, minute: int, second: int, v: float) -> dict[str, Any]:
    return {"k": k, "ts": at(minute, second), "v": v}


#: Eight micro-batches; the last but one brings a row that is late.
BATCHES = [
    [row("a", 0, 10, 1.0), row("b", 0, 50, 2.0)],
    [row("a", 1, 10, 3.0)],
    [],
    [row("b", 1, 40, 4.0), row("a", 1, 20, 5.0), {"k": "a", "ts": None, "v": 0.0}],
    [row("a", 2, 30, 6.0)],
    [row("b", 3, 0, 7.0)],
    [row("a", 0, 5, 8.0)],
    [row("a", 4, 0, 9.0)],
]


@contextmanager
def replayed(spark: SparkSession, driver: Any, **options: Any) -> Iterator[Replay]:
    rows = replay(spark, BATCHES, SCHEMA, driver=driver, **options)
    yield rows
    rows.remove()


PLANS: dict[str, Callable[[mt.Stream], mt.Plan]] = {
    "windows": lambda s: s.window("2 minutes", "1 minute").plan(
        "sum(v) AS v", F.max(F.col("v") + 1)
    ),
    "rows": lambda s: s.rows(2).plan("avg(v) AS v"),
    "frames": lambda s: s.frames(mt.threshold("v > 2.5")).plan("count(*) AS n"),
}


@pytest.mark.parametrize(
    "name",
    ["windows", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rows", "frames"))],
)
def test_steps_give_what_spark_gives(spark: SparkSession, name: str) -> None:
    found = {}
    for driver in ("spark", "step"):
        with replayed(spark, driver, tasks=2) as rows:
            stream = rows.stream("ts", "k", mt.slack("10 seconds"), shards=2)
            found[driver] = rows.play(PLANS[name](stream))
    ours, theirs = found["step"], found["spark"]
    assert ours.results
    assert_same_rows(ours.results, theirs.results)
    assert_same_rows(ours.refused, theirs.refused)
    assert {r.reason for r in ours.refused} == {"late", "null_on"}
    counts = ("rows_in", "rows_used", "rows_refused", "late", "null_on", "results")
    assert [ours.counts[c] for c in counts] == [theirs.counts[c] for c in counts]


def test_eight_micro_batches_take_seconds(spark: SparkSession) -> None:
    began = time.monotonic()
    with replayed(spark, "step") as rows:
        stream = rows.stream("ts", "k", mt.slack("10 seconds"))
        played = rows.play(stream.tumbling("1 minute").plan("sum(v) AS v"))
    assert played.counts["rows_in"] == 10
    assert time.monotonic() - began < 20


def test_two_replays_meet(spark: SparkSession) -> None:
    with replayed(spark, "step") as left, replayed(spark, "step", end=True) as right:
        asked = left.stream("ts", "k", mt.slack("1 minute"))
        other = right.stream("ts", "k", mt.slack("1 minute"))
        played = left.play(asked.asof(other).plan())
        assert len(played.results) + len([r for r in played.refused if r.input == "left"]) == 10
        assert all(r.v == r.right_v for r in played.results)


def test_punctuation_and_restarts(spark: SparkSession) -> None:
    def plan(rows: Replay, width: int = 5) -> mt.Plan:
        return rows.stream("n").tumbling(width).plan("count(*) AS rows")

    rows = replay(spark, [[{"n": 1}, {"n": 2}]], "n INT", punctuation=[3], end=False, driver="step")
    assert rows.play(plan(rows)).results == []
    rows.extend([[{"n": 7}], []], punctuation=[5, None], end=False)
    played: Played = rows.play(plan(rows))
    assert_same_rows(played.results, [{"window_start": 0, "window_end": 5, "rows": 2}])
    assert played.counts["rows_in"] == 1  # of its own run
    rows.remove()


def test_another_plan_on_the_same_state_is_refused(spark: SparkSession) -> None:
    rows = replay(spark, [[{"n": 1}]], "n INT", end=False, driver="step")

    def plan(disorder: mt.Disorder) -> mt.Plan:
        return rows.stream("n", disorder=disorder).tumbling(5).plan("count(*) AS n")

    rows.play(plan(mt.ordered()))
    rows.extend([[{"n": 2}]])
    with pytest.raises(CheckpointError, match="belongs to another query"):
        rows.play(plan(mt.slack(rows=3)))
    rows.remove()


def test_what_cannot_be_replayed(spark: SparkSession) -> None:
    with pytest.raises(UnknownColumnError, match="batches='m'"):
        replay(spark, [[{"n": 1}, {"m": 2}]], "n INT")
    with pytest.raises(ArgumentError, match="it is 'spark' or 'step'"):
        replay(spark, [], "n INT", driver="flink")  # type: ignore[arg-type]
    with replayed(spark, "step") as rows, replayed(spark, "spark") as streamed:
        own = rows.stream("ts", "k", mt.slack("1 minute"))
        with pytest.raises(ArgumentError, match="must come from a replay with driver='step'"):
            rows.play(own.asof(streamed.stream("ts", "k", mt.slack("1 minute"))).plan())
        with pytest.raises(ArgumentError, match="keeps state in memory"):
            rows.play(own.tumbling("1 minute").plan("count(*)"), checkpoint="x")
        ahead = rows.stream("ts", "k", mt.slack("1 minute", ahead="1 hour"))
        with pytest.raises(ArgumentError, match="need driver='spark'"):
            rows.play(ahead.tumbling("1 minute").plan("count(*)"))
