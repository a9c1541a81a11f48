"""Measuring this machine: sliding windows by Muntin, and by Spark's own ``window()``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from muntin.spark.api.stream import stream
from muntin.spark.columns import DataFrame, SparkSession

#: Seconds per slide.
_SLIDE = 1


@dataclass(frozen=True)
class WindowTimes:
    """How many seconds the same windows took, both ways."""

    overlap: int
    rows: int
    muntin: float
    spark: float

    @property
    def ratio(self) -> float:
        """How many times faster Muntin was."""
        return self.spark / self.muntin


def measure(spark: SparkSession, rows: int, overlaps: tuple[int, ...]) -> Iterator[WindowTimes]:
    """Yield the times of windows with max and avg over 50 keys, after a first run to warm up."""
    data = spark.sql(
        f"SELECT concat('k', id % 50) AS k, timestamp_millis(1772500000000 + id * 10) AS ts, "
        f"pmod(hash(id), 1000) / 10.0D AS v FROM range({int(rows)})"
    ).persist()
    data.count()
    _run(_muntin(data, 2))
    _run(_spark(data, 2))
    for overlap in overlaps:
        yield WindowTimes(overlap, rows, _run(_muntin(data, overlap)), _run(_spark(data, overlap)))
    data.unpersist()


def _muntin(rows: DataFrame, overlap: int) -> DataFrame:
    windows = stream(rows, "ts", "k").window(
        range=f"{overlap * _SLIDE} seconds", slide=f"{_SLIDE} second"
    )
    return windows.agg("max(v) AS hi", "avg(v) AS mean")


def _spark(rows: DataFrame, overlap: int) -> DataFrame:
    window = f"window(ts, '{overlap * _SLIDE} seconds', '{_SLIDE} seconds')"
    return rows.sparkSession.sql(
        f"SELECT k, {window} AS w, max(v) AS hi, avg(v) AS mean FROM {{rows}} GROUP BY k, {window}",
        rows=rows,
    )


def _run(results: DataFrame) -> float:
    """Return the seconds in which all results are computed and discarded."""
    began = time.perf_counter()
    results.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
