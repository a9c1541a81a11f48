"""The tables that the queries of the fixtures read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

import muntin as mt

START = datetime(2026, 1, 5, 12)
#: k, x, v: two keys along whole numbers.
LINE = [
    ("a", 0, 5),
    ("b", 1, 7),
    ("a", 2, 6),
    ("a", 5, 1),
    ("b", 6, 2),
    ("a", 8, 9),
    ("b", 9, 4),
]
#: seg-id, speed, ts: two segments every 30 seconds.
TRAFFIC = [
    ("s1" if n % 2 else "s2", float(speed), START + timedelta(seconds=30 * n))
    for n, speed in enumerate([60, 50, 20, 25, 22, 58, 61, 59])
]
#: key, y, w: rows that are joined with those of LINE.
PAIRS = [("a", 1, 10), ("b", 4, 20), ("a", 6, 30)]
NAMES = [("a", "north"), ("b", "south")]
#: k, began, ended, note: frames that are stored.
NIGHTS = [("a", 0, 2, "short"), ("b", 1, 6, "long"), ("a", 5, 5, "at once"), ("b", 7, 8, None)]


def tables(spark: SparkSession) -> dict[str, Any]:
    line = spark.createDataFrame(LINE, "k STRING, x INT, v INT")
    traffic = "`seg-id` STRING, speed DOUBLE, ts TIMESTAMP"
    road = spark.createDataFrame(TRAFFIC, traffic)
    return {
        "line": line,
        "stream": mt.stream(line, on="x", by="k"),
        "traffic": road,
        "road": mt.stream(road, on="ts"),
        "pairs": spark.createDataFrame(PAIRS, "key STRING, y INT, w INT"),
        "nights": spark.createDataFrame(NIGHTS, "k STRING, began INT, ended INT, note STRING"),
        "names": spark.createDataFrame(NAMES, "key STRING, name STRING"),
    }
