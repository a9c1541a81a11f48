"""Merged streams: all rows, complete up to where every stream is complete."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.testing import assert_same_rows, replay

SCHEMA = "x BIGINT, k STRING, v DOUBLE"


def rows(*places: int) -> list[dict[str, Any]]:
    return [{"x": x, "k": "a", "v": float(x)} for x in places]


def test_the_fastest_waits_for_the_slowest(spark: SparkSession) -> None:
    """North is at 30 and south is at 12, so only the window up to 10 is complete."""
    fast, slow = (
        replay(spark, [rows(1, 15, 30), rows(31)], SCHEMA, end=False),
        replay(spark, [rows(2, 12), rows(13)], SCHEMA, end=False),
    )
    try:
        streams = {
            name: mt.stream(replayed.df, "x", "k", mt.ordered(), shards=1)
            for name, replayed in (("north", fast), ("south", slow))
        }
        merged = mt.merge(streams)
        played = fast.play(merged.tumbling(10).plan("count(*) AS n", "max(source) AS last"))
    finally:
        fast.remove()
        slow.remove()
    wanted = [{"k": "a", "window_start": 0, "window_end": 10, "n": 2, "last": "south"}]
    assert_same_rows([row.asDict() for row in played.results], wanted)
    assert played.counts["rows_refused"] == 0


def test_a_batch_of_both(spark: SparkSession) -> None:
    first, second = (
        mt.stream(spark.createDataFrame([(x, "a", 1.0)], SCHEMA), "x", "k") for x in (1, 2)
    )
    merged = mt.merge({"one": first, "other": second}, source="of").df.orderBy("x").collect()
    assert [(row.x, row["of"]) for row in merged] == [(1, "one"), (2, "other")]


def test_what_differs_is_named(spark: SparkSession) -> None:
    def stream(schema: str, on: str = "x", **options: Any) -> mt.Stream:
        return mt.stream(spark.createDataFrame([], schema), on, **options)

    first = stream(SCHEMA)
    for second, says in (
        (stream("x BIGINT, k STRING, v INT"), "column 'v' is double in 'a' and int in 'b'"),
        (stream("x BIGINT, k STRING"), "column 'v' is double in 'a' and not there in 'b'"),
        (stream(SCHEMA, by="k"), r"one is on x by \(\), the other on x by \('k',\)"),
    ):
        with pytest.raises(mt.ArgumentError, match=says):
            mt.merge({"a": first, "b": second})
    with pytest.raises(mt.ArgumentError, match="the streams have such a column"):
        mt.merge({"a": first, "b": first}, source="v")
    with pytest.raises(mt.ArgumentError, match="they are two or more"):
        mt.merge({"a": first})
    with pytest.raises(mt.ArgumentError, match=r"they are what mt\.stream returns"):
        mt.merge({"a": first, "b": first.df})  # type: ignore[dict-item]
    rates = spark.readStream.format("rate").load()
    marked = mt.stream(rates, "timestamp", disorder=mt.punctuated("value = 0"))
    with pytest.raises(mt.ArgumentError, match="cannot speak for all of them; say disorder="):
        mt.merge({"a": marked, "b": marked})
