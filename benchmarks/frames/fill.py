"""Filling frames: the between-join against Spark's range join and stream-stream join."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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
from benchmarks.streams.micro_batches import FILES, SECOND, MicroBatch, micro_batches
from muntin.spark.scan.file_source import FileSource

#: The longest a frame lasts, in seconds; half of them last less than a minute.
LONGEST = 180


@dataclass(frozen=True)
class Sizes:
    """Rows a second for every key; frames that begin anywhere among them.

    The stream has so many seconds in each of so many micro-batches.
    """

    rows: int
    keys: int
    frames: int
    stream_keys: int
    seconds: int
    batches: int

    @property
    def stream_frames(self) -> int:
        """As dense as in the batch: for every 50 rows one."""
        return self.stream_keys * self.seconds // 50


FULL = Sizes(5_000_000, 1_000, 100_000, stream_keys=1_000, seconds=200, batches=5)
QUICK = Sizes(100_000, 100, 2_000, stream_keys=50, seconds=100, batches=4)


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    rows, frames = readings(spark, sizes).cache(), given_frames(spark, sizes).cache()
    say(f"{rows.count():,} rows and {frames.count():,} frames cached")
    must_agree(filled(frames, rows), joined(frames, rows), ["n", "mean"])
    contestants: dict[str, Callable[[], object]] = {
        SPARK: draining(joined, frames, rows),
        MUNTIN: draining(filled, frames, rows),
    }
    taken = medians(printed(turns(contestants, pause=2)))
    rows.unpersist()
    frames.unpersist()
    return report(sizes, taken, streamed(spark, sizes))


def readings(spark: SparkSession, sizes: Sizes) -> DataFrame:
    """A row a second for every key, in the order of time."""
    made = spark.range(sizes.rows)
    return made.selectExpr(
        f"timestamp_seconds(id DIV {sizes.keys}) AS ts",
        f"CAST(id % {sizes.keys} AS INT) AS k",
        "pmod(xxhash64(id), 1000) / 8 AS v",
    )


def given_frames(spark: SparkSession, sizes: Sizes) -> DataFrame:
    """Frames of any key that begin anywhere: half of them last less than a minute."""
    span = sizes.rows // sizes.keys
    made = spark.range(sizes.frames).selectExpr(
        f"CAST(id % {sizes.keys} AS INT) AS k",
        f"pmod(xxhash64(id), {span}) AS begins",
        f"least({LONGEST}, 1 + CAST(-86.6 * ln((1 + pmod(hash(id), 1000)) / 1001) AS INT)) AS last",
        "id AS frame_id",
    )
    return made.selectExpr(
        "k",
        "frame_id",
        "timestamp_seconds(begins) AS frame_start",
        "timestamp_seconds(begins + last) AS frame_end",
    )


def filled(frames: DataFrame, rows: DataFrame | FileSource) -> DataFrame:
    bounds = mt.frames(frames, by="k")
    return bounds.fill(mt.stream(rows, on="ts", by="k")).agg("count(*) AS n", "avg(v) AS mean")


def joined(frames: DataFrame, rows: DataFrame) -> DataFrame:
    """Spark's range join, and a group for every frame."""
    within = (rows.ts >= frames.frame_start) & (rows.ts <= frames.frame_end)
    pairs = frames.join(rows, (frames.k == rows.k) & within, "left")
    groups = pairs.groupBy(frames.k, frames.frame_id, frames.frame_start, frames.frame_end)
    return groups.agg(F.count(rows.ts).alias("n"), F.avg(rows.v).alias("mean"))


def streamed(spark: SparkSession, sizes: Sizes) -> dict[str, list[MicroBatch]]:
    """Both joins on the same two streams: every pair of a frame and a row in it."""
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        write_streams(folder, sizes)
        return {
            SPARK: played(folder, SPARK, joined_stream(spark, folder)),
            MUNTIN: played(folder, MUNTIN, filled_stream(spark, folder)),
        }


def write_streams(folder: Path, sizes: Sizes) -> None:
    """Frames come when they have ended, so by their start they are out of order."""
    chance = np.random.default_rng(7)
    for name in ("rows", "frames"):
        (folder / name).mkdir()
    for batch in range(sizes.batches):
        first = batch * sizes.seconds
        keys = np.tile(np.arange(sizes.stream_keys, dtype=np.int32), sizes.seconds)
        ts = np.repeat(np.arange(first, first + sizes.seconds), sizes.stream_keys)
        write(folder / "rows", batch, {"ts": _times(ts), "k": keys, "v": chance.random(len(keys))})
        ends = np.sort(chance.integers(first, first + sizes.seconds, sizes.stream_frames))
        lasted = np.minimum(LONGEST, 1 + chance.exponential(86.6, len(ends)).astype(np.int64))
        frames = {
            "k": chance.integers(0, sizes.stream_keys, len(ends)).astype(np.int32),
            "frame_id": np.arange(len(ends)) + batch * len(ends),
            "frame_start": _times(ends - lasted),
            "frame_end": _times(ends),
        }
        write(folder / "frames", batch, frames)


def _times(seconds: np.ndarray) -> pa.Array:
    return pa.array(seconds * SECOND, pa.timestamp("us", tz="UTC"))


def write(folder: Path, batch: int, columns: dict[str, object]) -> None:
    table = pa.table(columns)
    size = -(-table.num_rows // FILES)
    for part in range(FILES):
        number = batch * FILES + part
        path = folder / f"{number:04d}.parquet"
        pq.write_table(table.slice(part * size, size), path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def arriving(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    schemas = {
        "rows": "ts TIMESTAMP, k INT, v DOUBLE",
        "frames": "k INT, frame_id BIGINT, frame_start TIMESTAMP, frame_end TIMESTAMP",
    }
    reader = spark.readStream.schema(schemas[name]).option("maxFilesPerTrigger", FILES)
    return reader.parquet(str(folder / name))


def joined_stream(spark: SparkSession, folder: Path) -> DataFrame:
    """Spark's interval join; that a frame has an end lets it forget rows."""
    frames = arriving(spark, folder, "frames").withWatermark("frame_start", f"{LONGEST} seconds")
    rows = arriving(spark, folder, "rows").withColumnRenamed("k", "key")
    rows = rows.withWatermark("ts", "1 second")
    within = (
        "k = key AND ts >= frame_start AND ts <= frame_end "
        f"AND ts <= frame_start + INTERVAL {LONGEST} SECONDS"
    )
    return frames.join(rows, F.expr(within))


def filled_stream(spark: SparkSession, folder: Path) -> DataFrame:
    bounds = mt.frames(
        arriving(spark, folder, "frames"), by="k", disorder=mt.slack(f"{LONGEST} seconds")
    )
    rows = mt.stream(
        arriving(spark, folder, "rows").withColumnRenamed("k", "key"),
        on="ts",
        by="key",
        disorder=mt.slack("1 second"),
    )
    return bounds.fill(rows, empty="drop").rows()


def played(folder: Path, label: str, df: DataFrame) -> list[MicroBatch]:
    writer = df.writeStream.format("noop").outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{label}"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    batches = [batch for batch in micro_batches(query) if batch.rows]
    say(f"{label}: {', '.join(f'{batch.seconds:.2f}' for batch in batches)} s")
    return batches


def report(sizes: Sizes, taken: dict[str, float], batches: dict[str, list[MicroBatch]]) -> Report:
    streams = {name: median(b.seconds for b in found[1:]) for name, found in batches.items()}
    rows = {name: found[-1].state_rows for name, found in batches.items()}
    ours = batches[MUNTIN][-1].counts.get("state_bytes_written", 0)
    about = (
        f"*Batch*: {sizes.frames:,} frames (half of them shorter than a minute) of "
        f"{sizes.keys:,} keys and {sizes.rows:,} rows, a row a second for every key, both cached; "
        "`count` and `avg` of the rows in every frame, results to the `noop` sink, medians of "
        "three. Spark joins by key and range and groups by frame. *Stream*: frames that come when "
        f"they have ended and rows, {sizes.stream_keys:,} keys, {sizes.stream_frames:,} frames and "
        f"{sizes.stream_keys * sizes.seconds:,} rows a micro-batch, every pair of a frame and a "
        "row in it to the `noop` sink; medians of the micro-batches after the first. Spark's is a "
        "stream-stream join with watermarks on both sides and the longest duration in its "
        "condition. What is kept after the last micro-batch: Spark counts rows of both sides, "
        "Muntin chunks of state; of the bytes Muntin writes, all that is kept is a part."
    )
    table = Table(
        ["filling frames", f"{SPARK}, s", f"{MUNTIN}, s", "times faster"],
        [
            _line("batch", taken),
            _line("stream, a micro-batch", streams),
        ],
    )
    state = Table(
        ["kept after the last micro-batch", SPARK, MUNTIN],
        [
            ["entries in the state store", f"{rows[SPARK]:,}", f"{rows[MUNTIN]:,}"],
            ["bytes written in it", "unknown", f"{ours:,}"],
        ],
    )
    return Report(
        name="fill",
        title="Filling frames",
        about=about,
        tables=[table, state],
        targets=[
            Target(
                "stream: Spark's interval join over Muntin", streams[SPARK] / streams[MUNTIN], 3
            ),
        ],
        chart=_chart([("batch", taken), ("stream", streams)]),
    )


def _line(name: str, taken: dict[str, float]) -> list[str]:
    return [
        name,
        f"{taken[SPARK]:.2f}",
        f"{taken[MUNTIN]:.2f}",
        f"{taken[SPARK] / taken[MUNTIN]:.1f}",
    ]


def _chart(found: Sequence[tuple[str, dict[str, float]]]) -> alt.TopLevelMixin:
    rows = [
        {"what": what, "who": who, "seconds": seconds}
        for what, taken in found
        for who, seconds in taken.items()
    ]
    chart: alt.TopLevelMixin = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            y=alt.Y("who:N", title=None, sort=[SPARK, MUNTIN]),
            x=alt.X("seconds:Q", title="seconds"),
            color=alt.Color("who:N", scale=COLOURS, legend=None),
            row=alt.Row("what:N", title=None),
        )
        .properties(width=520, height=60, title="Filling frames from another source")
        .resolve_scale(x="independent")
    )
    return chart
