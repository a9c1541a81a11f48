"""Batch: a window that ends at every row, against Spark's ``RANGE BETWEEN`` window function."""

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
    draining,
    medians,
    must_agree,
    printed,
    say,
    turns,
)


@dataclass(frozen=True)
class Sizes:
    """How much data: a row a second for every key."""

    rows: int
    keys: int


FULL = Sizes(rows=1_000_000, keys=100)
QUICK = Sizes(rows=20_000, keys=10)
#: Ranges in seconds; an hour is the claim.
MINUTE, QUARTER, HOUR = 60, 900, 3600
RANGES = (MINUTE, QUARTER, HOUR)


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    rows = readings(spark, sizes).cache()
    say(f"{rows.count():,} rows cached")
    must_agree(ours(rows, MINUTE), theirs(rows, MINUTE), ["hi"])
    contestants: dict[str, Callable[[], object]] = {}
    for seconds in RANGES:
        contestants[f"{SPARK} {seconds}"] = draining(theirs, rows, seconds)
        contestants[f"{MUNTIN} {seconds}"] = draining(ours, rows, seconds)
    taken = medians(printed(turns(contestants, pause=3)))
    rows.unpersist()
    return report(taken, sizes)


def readings(spark: SparkSession, sizes: Sizes) -> DataFrame:
    """A row a second for every key, in the order of time, values scattered."""
    return spark.range(sizes.rows).select(
        F.timestamp_seconds(F.floor(F.col("id") / sizes.keys)).alias("ts"),
        (F.col("id") % sizes.keys).cast("int").alias("k"),
        (F.pmod(F.xxhash64("id"), F.lit(1_000_000)) / 10_000).alias("v"),
    )


def theirs(rows: DataFrame, seconds: int) -> DataFrame:
    """Spark's frame has both ends inside, so it begins a second later for the same rows."""
    frame = f"RANGE BETWEEN INTERVAL {seconds - 1} SECONDS PRECEDING AND CURRENT ROW"
    return rows.selectExpr("k", "ts", f"max(v) OVER (PARTITION BY k ORDER BY ts {frame}) AS hi")


def ours(rows: DataFrame, seconds: int) -> DataFrame:
    return mt.stream(rows, on="ts", by="k").by_tuple(f"{seconds} seconds").agg("max(v) AS hi")


def report(taken: Mapping[str, float], sizes: Sizes) -> Report:
    def ratio(seconds: int) -> float:
        return taken[f"{SPARK} {seconds}"] / taken[f"{MUNTIN} {seconds}"]

    cells = [
        [
            f"({seconds:,} s back, row]",
            f"{taken[f'{SPARK} {seconds}']:.2f}",
            f"{taken[f'{MUNTIN} {seconds}']:.2f}",
            f"{ratio(seconds):.1f}",
        ]
        for seconds in RANGES
    ]
    about = (
        f"`max` of a double over the rows before each of {sizes.rows:,} rows of {sizes.keys} keys, "
        "a row a second each, cached, in the order of time, results to the `noop` sink; medians "
        "of three. Spark's side is `max(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN ...)`, "
        "which a stream refuses."
    )
    return Report(
        name="by_tuple",
        title="Batch: a window at every row",
        about=about,
        tables=[Table(["window", "Spark `RANGE BETWEEN`, s", "Muntin, s", "times faster"], cells)],
        targets=[
            Target("Spark's time over Muntin's, an hour's range", ratio(HOUR), at_least=10),
            Target(
                "Muntin, an hour over a minute",
                taken[f"{MUNTIN} {HOUR}"] / taken[f"{MUNTIN} {MINUTE}"],
                at_most=1.5,
            ),
        ],
        chart=drawn(taken),
    )


def drawn(taken: Mapping[str, float]) -> alt.TopLevelMixin:
    """Seconds by range, both logarithmic."""
    points = pd.DataFrame(
        [
            {"engine": engine, "range": seconds, "seconds": taken[f"{engine} {seconds}"]}
            for engine in (SPARK, MUNTIN)
            for seconds in RANGES
        ]
    )
    chart: alt.Chart = (
        alt.Chart(points, width=560, height=300, title="A window at every row: seconds by range")
        .mark_line(point=alt.OverlayMarkDef(size=60))
        .encode(
            x=alt.X(
                "range:Q",
                title="range, seconds (rows in a window)",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(values=list(RANGES), format=","),
            ),
            y=alt.Y("seconds:Q", title="seconds", scale=alt.Scale(type="log")),
            color=alt.Color("engine:N", title=None, scale=COLOURS),
        )
    )
    return chart
