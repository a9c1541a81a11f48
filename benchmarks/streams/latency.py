"""Streams: seconds per micro-batch in the steady state, with RocksDB as the state of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import COLOURS, MUNTIN, SPARK, Report, Table, Target, say
from benchmarks.streams.micro_batches import Load, arriving, arriving_files, micro_batches
from muntin.spark.scan.file_source import FileSource

RANGE, SLIDE, SLACK = "60 seconds", "1 second", "1 second"
OURS, SLIDING, TUMBLING = f"{MUNTIN}, sliding", f"{SPARK}, sliding", f"{SPARK}, tumbling"


@dataclass(frozen=True)
class Sizes:
    """The stream of the claim; a shorter one, for Spark's sliding window; a denser one."""

    claim: Load
    fewer: Load
    dense: Load


FULL = Sizes(
    claim=Load(keys=1_000, rows_per_pane=1, seconds=2_000, batches=4),
    fewer=Load(keys=1_000, rows_per_pane=1, seconds=500, batches=3),
    dense=Load(keys=1_000, rows_per_pane=5, seconds=400, batches=3),
)
QUICK = Sizes(
    claim=Load(keys=100, rows_per_pane=1, seconds=200, batches=3),
    fewer=Load(keys=100, rows_per_pane=1, seconds=60, batches=3),
    dense=Load(keys=100, rows_per_pane=5, seconds=60, batches=3),
)


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    return report(
        sizes,
        claim=steady(spark, sizes.claim, {TUMBLING: tumbling, OURS: ours}),
        fewer=steady(spark, sizes.fewer, {SLIDING: sliding, OURS: ours}),
        dense=steady(spark, sizes.dense, {TUMBLING: tumbling, OURS: ours}),
    )


def steady(
    spark: SparkSession, load: Load, queries: Mapping[str, Callable[[Any], DataFrame]]
) -> dict[str, float]:
    """Median seconds per micro-batch of every query, the first micro-batch left out."""
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        say(f"{load.rows:,} rows in micro-batches of {load.rows_per_batch:,}")
        load.write(folder / "rows")
        return {
            label: seconds(spark, query, load, folder, label) for label, query in queries.items()
        }


def seconds(
    spark: SparkSession,
    query: Callable[[Any], DataFrame],
    load: Load,
    folder: Path,
    label: str,
) -> float:
    arrive = arriving_files if label == OURS else arriving
    rows = query(arrive(spark, folder / "rows"))
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


def ours(rows: DataFrame | FileSource) -> DataFrame:
    traffic = mt.stream(rows, on="ts", by="k", disorder=mt.slack(SLACK))
    return traffic.window(range=RANGE, slide=SLIDE).agg("max(v) AS hi", "avg(v) AS mean")


def report(
    sizes: Sizes,
    claim: Mapping[str, float],
    fewer: Mapping[str, float],
    dense: Mapping[str, float],
) -> Report:
    load = sizes.claim
    about = (
        f"`max` and `avg` of a double over {load.rows:,} rows: {load.keys:,} keys with a reading "
        f"every second, {load.batches} micro-batches of {load.rows_per_batch:,} rows; windows of "
        f"{RANGE} every {SLIDE} (overlap 60), slack and watermark of {SLACK}, rows up to 0.9 s out "
        "of order, none refused or dropped, RocksDB for all. Rows come from Parquet files, "
        "which Muntin's workers read themselves; results go to the `noop` sink. A figure is the "
        "median of the micro-batches after the "
        f"first. Spark's sliding window is measured on fewer rows ({sizes.fewer.rows:,}, in "
        f"micro-batches of {sizes.fewer.rows_per_batch:,}); the table has Muntin on the same rows "
        "beside it, the ratio below is per row. The last two lines have "
        f"{sizes.dense.rows_per_pane} rows a key and second."
    )
    rows = [*_lines(sizes.claim, claim), *_lines(sizes.fewer, fewer), *_lines(sizes.dense, dense)]
    return Report(
        name="stream",
        title="Streams: seconds per micro-batch",
        about=about,
        tables=[Table(["query", "rows a micro-batch", "s", "over Muntin"], rows)],
        targets=[
            Target(
                "Spark's sliding window over Muntin's, seconds a row",
                (fewer[SLIDING] / sizes.fewer.rows_per_batch) / (claim[OURS] / load.rows_per_batch),
                at_least=25,
            ),
            Target(
                "Spark's tumbling window over Muntin's sliding",
                claim[TUMBLING] / claim[OURS],
                at_least=12,
            ),
        ],
        chart=drawn(sizes, {"claim": claim, "fewer": fewer, "dense": dense}),
    )


def _lines(load: Load, found: Mapping[str, float]) -> list[list[str]]:
    size = f"{load.rows_per_batch:,}"
    return [
        [label, size, f"{found[label]:.2f}", f"{found[label] / found[OURS]:.1f}"] for label in found
    ]


def drawn(sizes: Sizes, found: Mapping[str, Mapping[str, float]]) -> alt.TopLevelMixin:
    bars = pd.DataFrame(
        [
            {
                "query": f"{label} ({name})",
                "engine": label.split(",")[0],
                "rate": getattr(sizes, name).rows_per_batch / seconds,
            }
            for name, timed in found.items()
            for label, seconds in timed.items()
        ]
    )
    bars["label"] = bars.rate.map("{:,.0f}".format)
    title = "Streams: rows a second in the steady state"
    base = alt.Chart(bars, width=560, height=200, title=title).encode(
        x=alt.X("rate:Q", title="rows a second"),
        y=alt.Y("query:N", title=None, sort=None),
    )
    return alt.layer(
        base.mark_bar().encode(color=alt.Color("engine:N", legend=None, scale=COLOURS)),
        base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N"),
    )
