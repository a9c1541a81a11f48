"""Frames by several columns, of which any may be null."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Row, SparkSession

import muntin as mt
from muntin.testing import replay
from tests.drivers.streams import play

SCHEMA = "road STRING, lane INT, at DATE, n INT, x INT"
#: Above 5:        0 1 2 3 4 5
LINES = {
    ("I5", 1): "     9 9 1 9 9 9",
    ("I5", None): "  1 9 9 9 1 1",
    (None, 1): "     9 1 9 1 9 1",
    (None, None): "  1 1 1 1 1 9",
    ("I5", 2): "     1 1 1 1 1 1",
}
FRAMES = [
    ("I5", 1, 0, 0, 1),
    ("I5", 1, 1, 3, 5),
    ("I5", None, 0, 1, 3),
    (None, 1, 0, 0, 0),
    (None, 1, 1, 2, 2),
    (None, 1, 2, 4, 4),
    (None, None, 0, 5, 5),
]


def rows() -> list[dict[str, Any]]:
    """By ``n``, so that the rows of all keys are mixed."""
    values = {key: [int(word) for word in line.split()] for key, line in LINES.items()}
    return [
        {"road": road, "lane": lane, "at": None, "n": n, "x": each[n]}
        for n in range(6)
        for (road, lane), each in values.items()
    ]


def found(frames: list[Row]) -> set[tuple[Any, ...]]:
    names = ("road", "lane", "frame_id", "frame_start", "frame_end")
    assert all(row["at"] is None and row["status"] == "final" for row in frames)
    got = [tuple(row[name] for name in names) for row in frames]
    assert len(got) == len(set(got))
    return set(got)


def test_on_a_batch(spark: SparkSession) -> None:
    df = spark.createDataFrame(rows(), SCHEMA)
    frames = mt.stream(df, on="n", by=["road", "lane", "at"]).frames(mt.threshold("x > 5"))
    assert found(frames.df.collect()) == set(FRAMES)
    told = frames.agg("sum(x) AS total").where("road IS NULL").collect()
    assert sorted((row.lane or 0, row.frame_start, row.total) for row in told) == [
        (0, 5, 9),
        (1, 0, 9),
        (1, 2, 9),
        (1, 4, 9),
    ]


def test_on_a_stream(spark: SparkSession) -> None:
    """Run steps that cut frames in two, with a row of one key late by one step."""
    given = rows()
    batches = [given[:8], given[9:17], [given[8], *given[17:]]]
    played = replay(spark, batches, SCHEMA)
    try:
        stream = played.stream(on="n", by=["road", "lane", "at"], disorder=mt.slack(3))
        ran = play(stream.frames(mt.threshold("x > 5")).plan())
    finally:
        played.remove()
    assert found(ran.results) == set(FRAMES)
    assert ran.refused == []
