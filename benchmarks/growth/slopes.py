"""Growth: time against rows, keys, RANGE and cores; a slope of 1 is proportional growth."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from benchmarks.growth.files import Readings
from benchmarks.measure import RUNS, Report, Table, Target, drain, say
from muntin.spark.scan.file_source import FileSource

ROOT = Path(__file__).resolve().parents[2]
STEEPEST = 1.1
#: What Muntin computes: a sliding window, and frames.
Query = Callable[[FileSource, int], DataFrame]
#: The seconds of each query, by the size that grows.
Curve = Mapping[int, float]


def windows(files: FileSource, seconds: int = 60) -> DataFrame:
    """Sliding windows of so many seconds, every second."""
    stream = mt.stream(files, on="ts", by="k")
    return stream.window(f"{seconds} seconds", "1 second").agg("max(v) AS hi", "avg(v) AS mean")


def frames(files: FileSource, _seconds: int = 0) -> DataFrame:
    """Threshold frames."""
    return mt.stream(files, on="ts", by="k").frames(mt.threshold("v > 50")).df


QUERIES: Mapping[str, Query] = {"windows": windows, "frames": frames}


def run(spark: SparkSession, quick: bool) -> Report:
    million = 10_000 if quick else 1_000_000
    with TemporaryDirectory(prefix="muntin-bench-") as folder:
        path = Path(folder) / "readings.parquet"
        curves = {
            f"{name}, rows": by_rows(spark, path, query, million) for name, query in QUERIES.items()
        }
        curves |= {
            f"{name}, keys": by_keys(spark, path, query, 4 * million)
            for name, query in QUERIES.items()
        }
        curves["windows, RANGE"] = by_range(spark, path, 4 * million)
        curves["windows, cores"] = by_cores(path)
    return report(curves, million)


def by_rows(spark: SparkSession, path: Path, query: Query, million: int) -> Curve:
    """Rows from 1 to 32 million, 50 keys, as dense in time."""
    return {
        rows: seconds(spark, path, Readings(rows, 50, rows // 50), query, 60)
        for rows in (million * 2**power for power in range(6))
    }


def by_keys(spark: SparkSession, path: Path, query: Query, rows: int) -> Curve:
    """Keys from 10 to a quarter of the rows; every key has its rows in an hour."""
    return {
        keys: seconds(spark, path, Readings(rows, keys, 3_600), query, 60)
        for keys in (10, 100, 1_000, 10_000, 100_000, 1_000_000)
        if keys <= rows // 4
    }


def by_range(spark: SparkSession, path: Path, rows: int) -> Curve:
    """RANGE from 10 s to a day, 10 keys, SLIDE 1 second, over a day."""
    files = mt.parquet(spark, Readings(rows, 10, 86_400).write(path))
    return {
        length: best(lambda length=length: windows(files, length), f"RANGE {length}")  # type: ignore[misc]
        for length in (10, 60, 600, 3_600, 86_400)
    }


def by_cores(path: Path) -> Curve:
    """The file of the last curve on one core and on two, in processes of their own."""
    return {cores: float(in_process(f"local[{cores}]", path)) for cores in (1, 2)}


def seconds(
    spark: SparkSession, path: Path, readings: Readings, query: Query, length: int
) -> float:
    files = mt.parquet(spark, readings.write(path))
    return best(lambda: query(files, length), f"{readings.rows:,} rows, {readings.keys:,} keys")


def best(query: Callable[[], DataFrame], text: str) -> float:
    """The median seconds of a query, the first run left out."""
    taken = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        drain(query())
        taken.append(time.perf_counter() - began)
    found = median(taken[1:])
    say(f"{text}: {found:.2f} s")
    return found


def in_process(master: str, path: Path) -> str:
    """Run the windows in a session of their own, and return the seconds that it prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth.on_cores", master, str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=600,
        check=True,
    )
    return ended.stdout.split()[-1]


def slope(curve: Curve) -> float:
    """The steepest rise between sizes, in logarithms, from the second size on.

    The smallest size is mostly what a query costs whatever it reads.
    """
    sizes, taken = (np.log(np.array(list(part), float)) for part in (curve.keys(), curve.values()))
    rises = np.diff(taken) / np.diff(sizes)
    return float(np.max(rises[1:] if len(rises) > 1 else rises))


def report(curves: Mapping[str, Curve], million: int) -> Report:
    about = (
        f"Sliding windows (`max` and `avg`, 60 seconds every second, unless RANGE grows) and "
        f"threshold frames of Parquet files to the `noop` sink. Rows grow from {million:,} to "
        f"{32 * million:,} with 50 keys; keys grow to 1,000,000 with {4 * million:,} rows in an "
        f"hour; RANGE grows to a day with 10 keys and {4 * million:,} rows in a day. A slope is "
        "the steepest rise between two sizes, in logarithms: 1 is proportional growth. Medians of "
        "three."
    )
    rows = [
        [name, f"{size:,}", f"{taken:.2f}"]
        for name, curve in curves.items()
        for size, taken in curve.items()
    ]
    growing = {name: curve for name, curve in curves.items() if not name.endswith("cores")}
    targets = [
        Target(f"slope: {name}", slope(curve), at_most=STEEPEST) for name, curve in growing.items()
    ]
    cores = curves["windows, cores"]
    targets.append(Target("one core over two", cores[1] / cores[2], at_least=1.3))
    return Report(
        name="growth",
        title="Growth",
        about=about,
        tables=[Table(["what grows", "size", "s"], rows)],
        targets=targets,
        chart=drawn(growing),
    )


def drawn(curves: Mapping[str, Curve]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"curve": name, "size": size, "seconds": taken}
            for name, curve in curves.items()
            for size, taken in curve.items()
        ]
    )
    base = alt.Chart(points, width=560, height=320, title="Seconds by size").encode(
        x=alt.X("size:Q", title="rows, keys or seconds of RANGE", scale=alt.Scale(type="log")),
        y=alt.Y("seconds:Q", title="seconds", scale=alt.Scale(type="log")),
        color=alt.Color("curve:N", title=None),
    )
    return alt.layer(base.mark_line(point=True))


def of_master(master: str, path: str) -> float:
    """The median seconds of the windows in a session on a master, the first run left out."""
    builder = SparkSession.Builder().master(master).config("spark.ui.enabled", "false")
    spark = mt.configure(builder.config("spark.driver.memory", "4g").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    files = mt.parquet(spark, path)
    try:
        return best(lambda: windows(files), master)
    finally:
        spark.stop()
