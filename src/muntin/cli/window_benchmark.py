"""A measurement for this machine: sliding windows by Muntin, and by Spark's own ``window()``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from muntin.spark.api.stream import stream
from muntin.spark.types import DataFrame, SparkSession

#: Seconds of a slide; windows are so many slides long.
_SLIDE = 1


@dataclass(frozen=True)
class WindowTimes:
    """How long it took to make the same windows both ways."""

    overlap: int
    rows: int
    muntin: float
    spark: float

    @property
    def ratio(self) -> float:
        """How many times as fast Muntin was."""
        return self.spark / self.muntin


def measure(spark: SparkSession, rows: int, overlaps: tuple[int, ...]) -> Iterator[WindowTimes]:
    """Windows with max and avg over rows of 50 keys; once before, so that all is warm."""
    made = spark.sql(
        f"SELECT concat('k', id % 50) AS k, timestamp_millis(1772500000000 + id * 10) AS ts, "
        f"pmod(hash(id), 1000) / 10.0D AS v FROM range({int(rows)})"
    ).persist()
    made.count()
    _run(_muntin(made, 2))
    _run(_spark(made, 2))
    for overlap in overlaps:
        yield WindowTimes(overlap, rows, _run(_muntin(made, overlap)), _run(_spark(made, overlap)))
    made.unpersist()


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
    """Seconds in which all results are made, and thrown away."""
    began = time.perf_counter()
    results.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
