"""Resampling on Spark: on a grid and at another stream's instants, batch and stream alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import Played, assert_same_rows, replay
from tests.drivers.many_cases import check_each, check_streams
from tests.drivers.streams import play
from tests.join.test_join import is_exact, is_short, streamed, streams_of
from tests.properties.joinings import COLUMNS
from tests.properties.resamplings import ResampleCase, resample_cases

Row = dict[str, Any]
VALUES = COLUMNS[1:]
cases = resample_cases().filter(is_exact)


def plan(case: ResampleCase, *streams: mt.Stream) -> mt.Plan:
    """Return the plan of a case, as a user would write it."""
    spec = case.spec
    where: dict[str, Any] = {"every": spec.every, "origin": spec.origin}
    if spec.every is None:
        where = {"at": streams[0]}
    return (
        streams[-1]
        .resample(how=spec.how, max_gap=spec.max_gap, columns=VALUES, tiebreak=["s", "n"], **where)
        .plan()
    )


def wanted(results: Sequence[Row], case: ResampleCase) -> list[Row]:
    values = {f"r{n}": name for n, name in enumerate(VALUES, 1)}
    key = {"k0": "k"} if case.right.keyed else {}
    names = {**key, "at": "on", **values, "gap": "gap"}
    rows = [{name: row[own] for own, name in names.items()} for row in results]
    return [{**row, "on": _naive(row["on"])} for row in rows]


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@pytest.mark.hypothesis
def test_batch_equals_the_reference(spark: SparkSession) -> None:
    check_each(lambda case: check_batch(spark, case), cases)


def check_batch(spark: SparkSession, case: ResampleCase) -> None:
    planned = plan(case, *streams_of(spark, case))
    rows = [
        side.data()
        if side.rule in ("marks", "key marks")
        else [row for batch in side.batches for row in batch]
        for side in case.sides
    ]
    expected, _ = case.whole(rows)
    assert_same_rows([row.asDict() for row in planned.df.collect()], wanted(expected, case))


@pytest.mark.hypothesis
def test_stream_equals_the_reference(spark: SparkSession) -> None:
    check_streams(
        lambda case: streamed(spark, case, lambda *streams: plan(case, *streams)),
        check_stream,
        cases.filter(is_short),
    )


def check_stream(case: ResampleCase, played: Played) -> None:
    expected, _ = case.expected()
    assert_same_rows([row.asDict() for row in played.results], wanted(expected, case))
    row_count = sum(len(rows) for side in case.sides for rows in side.batches)
    assert played.counts["rows_used"] + played.counts["rows_refused"] == row_count


def second(n: float) -> datetime:
    return datetime(2026, 1, 5, 9) + timedelta(seconds=n)


SPEEDS = [
    {"ts": second(n), "car": car, "speed": float(speed)}
    for n, car, speed in [(1, "a", 10), (4, "a", 40), (20, "a", 200), (2, "b", 5), (6, "b", 5)]
]
SCHEMA = "ts TIMESTAMP, car STRING, speed DOUBLE"


@pytest.fixture(scope="module")
def speeds(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in SPEEDS], SCHEMA)


def mean(rows: pa.Table) -> dict[str, float]:
    values = rows["speed"].to_pylist()
    return {"mean": sum(values) / len(values)}


MEANS = [
    {"car": "a", "ts": second(4), "mean": 40.0, "gap": False},
    {"car": "a", "ts": second(8), "mean": None, "gap": True},
    {"car": "a", "ts": second(12), "mean": None, "gap": True},
    {"car": "a", "ts": second(16), "mean": None, "gap": True},
    {"car": "a", "ts": second(20), "mean": 200.0, "gap": False},
    {"car": "b", "ts": second(4), "mean": 5.0, "gap": False},
]


def test_a_function_of_the_rows_around(speeds: DataFrame) -> None:
    """A function gets the rows at most two seconds away on both sides."""
    stream = mt.stream(speeds, "ts", "car")
    by_function = stream.resample("4 seconds", mean, within="2 seconds", schema="mean DOUBLE").df
    assert by_function.columns == ["car", "ts", "mean", "gap"]
    assert_same_rows([row.asDict() for row in by_function.collect()], MEANS)
    by_aggregate = stream.resample("4 seconds", ["avg(speed) AS mean"], within="2 seconds").df
    assert by_aggregate.columns == by_function.columns
    assert_same_rows([row.asDict() for row in by_aggregate.collect()], MEANS)


def test_a_function_on_streams(spark: SparkSession, speeds: DataFrame) -> None:
    """A function works on a grid, and at instants of another stream, each reported once."""
    asked = [{"ts": second(n), "car": "a"} for n in (4, 20, 4, 8)]
    rows = replay(spark, [SPEEDS[:2], SPEEDS[2:]], SCHEMA)
    at = replay(spark, [asked[:2], asked[2:]], "ts TIMESTAMP, car STRING")
    own = rows.stream("ts", "car", mt.slack("1 minute"), shards=2)
    options: dict[str, Any] = {"how": mean, "within": "2 seconds", "schema": "mean DOUBLE"}
    grid = play(own.resample("4 seconds", **options).plan())
    assert_same_rows([row.asDict() for row in grid.results], MEANS)
    others = at.stream("ts", "car", mt.slack("1 minute"))
    at_instants = play(own.resample(at=others, **options).plan())
    chosen = [MEANS[place] for place in (0, 1, 4)]
    assert_same_rows([row.asDict() for row in at_instants.results], chosen)
    rows.remove()
    at.remove()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "say every how often"),
        ({"every": "0 seconds"}, "longer than zero"),
        ({"every": "1 second", "how": "cubic"}, "how='cubic'"),
        ({"every": "1 second", "columns": "speeed"}, "did you mean 'speed'"),
        ({"every": "1 second", "within": "1 second"}, "it is for a function"),
        ({"every": "1 second", "how": mean, "schema": "mean DOUBLE"}, "how far it sees"),
        ({"every": "1 second", "how": mean, "within": "1 second"}, "what the function returns"),
        (
            {"every": "1 second", "how": mean, "within": "1 second", "schema": "gap DOUBLE"},
            "a column of this name",
        ),
        ({"every": "1 second", "how": ["max(speed)"]}, "how far they see"),
        ({"every": "1 second", "how": [], "within": "1 second"}, "name at least one"),
        (
            {"every": "1 second", "how": ["max(speed)"], "within": "1 second", "schema": "x INT"},
            "aggregates know what they return",
        ),
        ({"every": 3}, "needs a unit"),
    ],
)
def test_a_mistake_is_named(speeds: DataFrame, given: dict[str, Any], says: str) -> None:
    with pytest.raises(mt.MuntinError, match=re.escape(says)):
        mt.stream(speeds, "ts", "car").resample(**given)


def test_explain_says_what_is_held(spark: SparkSession) -> None:
    rows = replay(spark, [SPEEDS], SCHEMA)
    stream = rows.stream("ts", "car", mt.ordered())
    explanation = str(stream.resample("1 second", max_gap="5 seconds").plan().explanation)
    assert "RESAMPLE LINEAR EVERY 1 second MAX GAP 5 seconds" in explanation
    assert "the last final one of every key" in explanation
    rows.remove()
