"""Streams: seconds per micro-batch in the steady state, with RocksDB as the state of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import COLOURS, MUNTIN, SPARK, Report, Table, Target, say
from benchmarks.streams import Load, arriving, micro_batches

RANGE, SLIDE, SLACK = "60 seconds", "1 second", "1 second"
OURS, SLIDING, TUMBLING = f"{MUNTIN}, sliding", f"{SPARK}, sliding", f"{SPARK}, tumbling"


@dataclass(frozen=True)
class Sizes:
    """The stream of the claim, and one in small micro-batches, which also warms everything up."""

    large: Load
    small: Load


FULL = Sizes(
    large=Load(keys=1_000, rows_per_pane=5, seconds=400, batches=4),
    small=Load(keys=1_000, rows_per_pane=5, seconds=12, batches=12),
)
QUICK = Sizes(
    large=Load(keys=100, rows_per_pane=5, seconds=100, batches=3),
    small=Load(keys=100, rows_per_pane=5, seconds=6, batches=3),
)


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    small = steady(spark, sizes.small)
    large = steady(spark, sizes.large)
    return report(large, small, sizes)


def steady(spark: SparkSession, load: Load) -> dict[str, float]:
    """Median seconds per micro-batch of every query, the first micro-batch left out."""
    queries = {TUMBLING: tumbling, SLIDING: sliding, OURS: ours}
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        say(f"{load.rows:,} rows in micro-batches of {load.rows_per_batch:,}")
        load.write(folder / "rows")
        return {
            label: seconds(spark, query, load, folder, label) for label, query in queries.items()
        }


def seconds(
    spark: SparkSession,
    query: Callable[[DataFrame], DataFrame],
    load: Load,
    folder: Path,
    label: str,
) -> float:
    rows = query(arriving(spark, folder / "rows"))
    writer = rows.writeStream.format("noop").outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / label.replace(", ", "-")))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    # Spark ends with a micro-batch without rows, in which the watermark closes windows.
    batches = [batch for batch in micro_batches(running) if batch.rows]
    say(f"{label}: {', '.join(f'{batch.seconds:.2f}' for batch in batches)} s")
    lost = sum(batch.dropped + batch.counts.get("rows_refused", 0) for batch in batches)
    if lost or [batch.rows for batch in batches] != [load.rows_per_batch] * load.batches:
        raise AssertionError(f"{label}: {lost} rows lost, or other micro-batches than planned")
    return median(batch.seconds for batch in batches[1:])


def tumbling(rows: DataFrame) -> DataFrame:
    return theirs(rows, F.window("ts", SLIDE))


def sliding(rows: DataFrame) -> DataFrame:
    return theirs(rows, F.window("ts", RANGE, SLIDE))


def theirs(rows: DataFrame, window: Column) -> DataFrame:
    windows = rows.withWatermark("ts", SLACK).groupBy("k", window)
    return windows.agg(F.max("v").alias("hi"), F.avg("v").alias("mean"))


def ours(rows: DataFrame) -> DataFrame:
    traffic = mt.stream(rows, on="ts", by="k", disorder=mt.slack(SLACK))
    return traffic.window(range=RANGE, slide=SLIDE).agg("max(v) AS hi", "avg(v) AS mean")


def report(large: Mapping[str, float], small: Mapping[str, float], sizes: Sizes) -> Report:
    load = sizes.large
    about = (
        f"`max` and `avg` of a double over {load.rows:,} rows of {load.keys:,} keys, "
        f"{load.rows_per_pane} rows a key and second, in {load.batches} micro-batches of "
        f"{load.rows_per_batch:,} rows ({load.seconds} s of data each); windows of {RANGE} every "
        f"{SLIDE} (overlap 60), slack and watermark of {SLACK}, rows up to 0.9 s out of order, "
        "none of them refused or dropped. Rows come from Parquet files, results go to the `noop` "
        "sink. A figure is the median of the micro-batches after the first. All three queries "
        "get the same rows. The small micro-batches have "
        f"{sizes.small.rows_per_batch:,} rows ({sizes.small.seconds} s of data)."
    )
    return Report(
        name="stream",
        title="Streams: seconds per micro-batch",
        about=about,
        tables=[table(large, small, sizes)],
        targets=[
            Target(
                "Spark's sliding window over Muntin's", large[SLIDING] / large[OURS], at_least=20
            ),
            Target(
                "Spark's tumbling window over Muntin's sliding",
                large[TUMBLING] / large[OURS],
                at_least=3,
            ),
        ],
        chart=drawn(large, load),
    )


def table(large: Mapping[str, float], small: Mapping[str, float], sizes: Sizes) -> Table:
    columns = ["query"]
    for load in (sizes.large, sizes.small):
        columns += [f"{load.rows_per_batch:,} rows, s", "over Muntin"]
    rows = []
    for label in (SLIDING, TUMBLING, OURS):
        row = [label]
        for found in (large, small):
            row += [f"{found[label]:.2f}", f"{found[label] / found[OURS]:.1f}"]
        rows.append(row)
    return Table(columns, rows)


def drawn(large: Mapping[str, float], load: Load) -> alt.TopLevelMixin:
    bars = pd.DataFrame(
        [
            {"query": label, "engine": label.split(",")[0], "seconds": large[label]}
            for label in (SLIDING, TUMBLING, OURS)
        ]
    )
    bars["label"] = bars.seconds.map("{:.3g} s".format)
    title = f"Streams: seconds per micro-batch of {load.rows_per_batch:,} rows"
    base = alt.Chart(bars, width=560, height=150, title=title).encode(
        x=alt.X("seconds:Q", title="seconds, steady state"),
        y=alt.Y("query:N", title=None, sort=None),
    )
    return alt.layer(
        base.mark_bar().encode(color=alt.Color("engine:N", legend=None, scale=COLOURS)),
        base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N"),
    )
