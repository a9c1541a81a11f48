"""Batch: a row costs Spark's ``window()`` more the more windows overlap, and Muntin the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import altair as alt
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import (
    COLOURS,
    MUNTIN,
    SPARK,
    Report,
    Table,
    Target,
    drain,
    draining,
    medians,
    must_agree,
    printed,
    say,
    turns,
)
from muntin.spark.scan.file_source import FileSource


@dataclass(frozen=True)
class Sizes:
    """How much data, and how many seconds it spans; dense data spans a tenth of that."""

    rows: int
    keys: int
    seconds: int

    @property
    def rows_per_pane(self) -> float:
        """Of one key, at a slide of one second."""
        return self.rows / self.keys / self.seconds


@dataclass(frozen=True)
class Case:
    """A window in seconds, and whom it is measured for."""

    range: int
    slide: int = 1
    dense: bool = False
    spark: bool = True

    def __str__(self) -> str:
        return f"RANGE {self.range:,} SLIDE {self.slide:,}{' (dense)' * self.dense}"


FULL = Sizes(rows=2_000_000, keys=50, seconds=36_000)
QUICK = Sizes(rows=20_000, keys=50, seconds=3_600)
LOW, SIXTY, HIGH = Case(10), Case(60), Case(300)
#: Spark would copy every row 3,600 times; a slide that divides the range, one that almost does.
HUGE, EVEN, UNEVEN = (Case(3600, slide, spark=False) for slide in (1, 3600, 3599))
DENSE = Case(60, dense=True)
CASES = (LOW, SIXTY, HIGH, HUGE, DENSE, EVEN, UNEVEN)


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    rows = readings(spark, sizes, sizes.seconds).cache()
    dense = readings(spark, sizes, sizes.seconds // 10).cache()
    say(f"{rows.count():,} and {dense.count():,} rows cached")
    # Also the warm-up of both sides, and of a window of two panes a slide.
    must_agree(ours(rows, LOW), theirs(rows, LOW), ["hi", "mean"])
    drain(ours(rows, UNEVEN))
    contestants: dict[str, Callable[[], object]] = {}
    for case in CASES:
        data = dense if case.dense else rows
        if case.spark:
            contestants[f"{SPARK} {case}"] = draining(theirs, data, case)
        contestants[f"{MUNTIN} {case}"] = draining(ours, data, case)
    seconds = medians(printed(turns(contestants, pause=3, ready=lambda: ready(rows, dense))))
    rows.unpersist()
    dense.unpersist()
    return report(seconds, sizes)


def ready(rows: DataFrame, dense: DataFrame) -> None:
    """Both sides as they are when they have just run: rows in memory, workers and memory at hand.

    A query that copies rows 300 times drives them from memory, leaves garbage to be collected, and
    lasts longer than Spark keeps idle Python workers. The next one would pay for that.
    """
    drain(dense)
    for side in (theirs, ours):
        drain(side(rows, LOW))


def readings(spark: SparkSession, sizes: Sizes, seconds: int) -> DataFrame:
    """Rows in the order of time, as a log has them, their keys and values scattered."""
    step = seconds * 1_000_000 / sizes.rows
    return spark.range(sizes.rows).select(
        F.timestamp_micros((F.col("id") * step).cast("long")).alias("ts"),
        F.pmod(F.xxhash64("id"), F.lit(sizes.keys)).cast("int").alias("k"),
        (F.pmod(F.xxhash64("id", F.lit(1)), F.lit(1_000_000)) / 10_000).alias("v"),
    )


def theirs(rows: DataFrame, case: Case) -> DataFrame:
    window = F.window("ts", f"{case.range} seconds", f"{case.slide} seconds")
    return rows.groupBy("k", window).agg(F.max("v").alias("hi"), F.avg("v").alias("mean"))


def ours(rows: DataFrame | FileSource, case: Case) -> DataFrame:
    windows = mt.stream(rows, on="ts", by="k").window(
        range=f"{case.range} seconds", slide=f"{case.slide} seconds"
    )
    return windows.agg("max(v) AS hi", "avg(v) AS mean")


def report(seconds: Mapping[str, float], sizes: Sizes) -> Report:
    def ratio(case: Case) -> float:
        return seconds[f"{SPARK} {case}"] / seconds[f"{MUNTIN} {case}"]

    flat = seconds[f"{MUNTIN} {HUGE}"] / seconds[f"{MUNTIN} {LOW}"]
    uneven = seconds[f"{MUNTIN} {UNEVEN}"] / seconds[f"{MUNTIN} {EVEN}"]
    about = (
        f"`max` and `avg` of a double over {sizes.rows:,} rows of {sizes.keys} keys that span "
        f"{sizes.seconds:,} s ({sizes.rows_per_pane:.1f} rows a key and second), cached, in the "
        "order of time, results to the `noop` sink; ranges and slides in seconds, medians of "
        f"three. The dense data spans a tenth of that time ({10 * sizes.rows_per_pane:.0f} rows a "
        "key and second). Before every turn both sides run RANGE 10 SLIDE 1, outside the time: "
        "copying rows 300 times drives them from memory, and Spark ends Python workers that were "
        "idle for a minute, for which whoever comes next would pay. Spark is not run at RANGE "
        "3,600, where it would copy every row 3,600 times."
    )
    return Report(
        name="batch_overlap",
        title="Batch: time does not grow with overlap",
        about=about,
        tables=[table(seconds, ratio)],
        targets=[
            Target("Spark's time over Muntin's, overlap 60", ratio(SIXTY), at_least=10),
            Target("Spark's time over Muntin's, overlap 300", ratio(HIGH), at_least=40),
            Target("Muntin, overlap 3,600 over overlap 10", flat, at_most=1.5),
            Target("Muntin, RANGE 3,600: SLIDE 3,599 over 3,600", uneven, at_most=2),
        ],
        chart=drawn(seconds),
    )


def table(seconds: Mapping[str, float], ratio: Callable[[Case], float]) -> Table:
    rows = []
    for case in CASES:
        mine = f"{seconds[f'{MUNTIN} {case}']:.2f}"
        if case.spark:
            other, times = f"{seconds[f'{SPARK} {case}']:.2f}", f"{ratio(case):.1f}"
        else:
            other, times = "not run", ""
        rows.append([str(case), other, mine, times])
    return Table(["window", "Spark `window()`, s", "Muntin, s", "times faster"], rows)


def drawn(seconds: Mapping[str, float]) -> alt.TopLevelMixin:
    """Seconds by overlap, both logarithmic."""
    points = pd.DataFrame(
        [
            {"engine": engine, "overlap": case.range, "seconds": seconds[f"{engine} {case}"]}
            for engine in (SPARK, MUNTIN)
            for case in (LOW, SIXTY, HIGH, HUGE)
            if f"{engine} {case}" in seconds
        ]
    )
    points["label"] = points.seconds.map("{:.3g} s".format)
    ticks = [mantissa * 10.0**power for power in range(-2, 4) for mantissa in (1, 2, 5)]
    base = alt.Chart(points, width=560, height=300, title="Batch: seconds by overlap").encode(
        x=alt.X(
            "overlap:Q",
            title="overlap: windows a row lies in (range over slide)",
            scale=alt.Scale(type="log", domain=[8, 5000]),
            axis=alt.Axis(values=[case.range for case in (LOW, SIXTY, HIGH, HUGE)], format=","),
        ),
        y=alt.Y(
            "seconds:Q", title="seconds", scale=alt.Scale(type="log"), axis=alt.Axis(values=ticks)
        ),
        color=alt.Color("engine:N", title=None, scale=COLOURS),
    )
    return alt.layer(
        base.mark_line(point=alt.OverlayMarkDef(size=60)),
        *(
            base.mark_text(dy=dy, fontSize=12)
            .encode(text="label:N")
            .transform_filter(alt.datum.engine == engine)
            for engine, dy in ((SPARK, -13), (MUNTIN, 16))
        ),
    )
