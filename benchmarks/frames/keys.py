"""Frames by few keys and by many: the same number of rows, as a batch and as a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import SparkSession

import muntin as mt
from benchmarks.frames.kinds import KINDS, cached, framed, readings
from benchmarks.measure import Report, Table, Target, draining, medians, printed, say, turns
from benchmarks.streams.micro_batches import Load, arriving, micro_batches
from muntin.specs.frames.frame_kind import FrameKind


@dataclass(frozen=True)
class Sizes:
    """The same number of rows comes with few keys and with many."""

    rows: int
    keys: int
    many_keys: int
    stream: Load
    stream_of_many: Load


FULL = Sizes(
    rows=5_000_000,
    keys=1_000,
    many_keys=200_000,
    stream=Load(keys=1_000, rows_per_pane=1, seconds=1_000, batches=5),
    stream_of_many=Load(keys=200_000, rows_per_pane=1, seconds=5, batches=5),
)
QUICK = Sizes(
    rows=50_000,
    keys=50,
    many_keys=2_000,
    stream=Load(keys=50, rows_per_pane=1, seconds=200, batches=3),
    stream_of_many=Load(keys=2_000, rows_per_pane=1, seconds=5, batches=3),
)
#: What a stream is framed by: its values are scattered, and leave the range now and then.
STREAMED: Mapping[str, FrameKind] = {"threshold": mt.threshold("v > 3"), "delta": mt.delta("v", 97)}
#: Seconds by kind and by number of keys.
Found = Mapping[str, Mapping[int, float]]


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    return report(sizes, {"batch": in_batch(spark, sizes), "stream": streamed(spark, sizes)})


def in_batch(spark: SparkSession, sizes: Sizes) -> Found:
    tables = {
        keys: cached(readings(spark, sizes.rows, keys), f"of {keys:,} keys")
        for keys in (sizes.keys, sizes.many_keys)
    }
    contestants: dict[str, Callable[[], object]] = {
        _named(kind, keys): draining(framed, rows, KINDS[kind])
        for keys, rows in tables.items()
        for kind in STREAMED
    }
    taken = medians(printed(turns(contestants, pause=2)))
    for rows in tables.values():
        rows.unpersist()
    return {kind: {keys: taken[_named(kind, keys)] for keys in tables} for kind in STREAMED}


def _named(kind: str, keys: int) -> str:
    return f"{kind}, {keys:,} keys"


def streamed(spark: SparkSession, sizes: Sizes) -> Found:
    """Median seconds per micro-batch, the first one left out."""
    found: dict[str, dict[int, float]] = {kind: {} for kind in STREAMED}
    for load in (sizes.stream, sizes.stream_of_many):
        with TemporaryDirectory(prefix="muntin-bench-") as name:
            folder = Path(name)
            load.write(folder / "rows")
            for kind, spec in STREAMED.items():
                found[kind][load.keys] = per_micro_batch(spark, load, folder, kind, spec)
    return found


def per_micro_batch(
    spark: SparkSession, load: Load, folder: Path, label: str, kind: FrameKind
) -> float:
    rows = mt.stream(
        arriving(spark, folder / "rows"), on="ts", by="k", disorder=mt.slack("1 second")
    )
    writer = rows.frames(kind).df.writeStream.format("noop").outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / label))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    batches = [batch for batch in micro_batches(running) if batch.rows]
    say(f"{label}, {load.keys:,} keys: {', '.join(f'{b.seconds:.2f}' for b in batches)} s")
    lost = sum(batch.counts.get("rows_refused", 0) for batch in batches)
    if lost or [batch.rows for batch in batches] != [load.rows_per_batch] * load.batches:
        raise AssertionError(f"{label}: {lost} rows lost, or other micro-batches than planned")
    return median(batch.seconds for batch in batches[1:])


def report(sizes: Sizes, taken: Mapping[str, Found]) -> Report:
    about = (
        f"{sizes.rows:,} rows, cached, with {sizes.keys:,} keys and with {sizes.many_keys:,}, "
        f"medians of three; and as a stream, {sizes.stream.rows_per_batch:,} rows a micro-batch, "
        "the median of the micro-batches after the first."
    )
    few, many = f"{sizes.keys:,}", f"{sizes.many_keys:,}"
    times = {
        f"{where}: {kind}": tuple(by_keys.values())
        for where, found in taken.items()
        for kind, by_keys in found.items()
    }
    rows = [[name, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}"] for name, (a, b) in times.items()]
    return Report(
        name="frame_keys",
        title="Frames by many keys",
        about=about,
        tables=[Table(["frames", f"{few} keys, s", f"{many} keys, s", "ratio"], rows)],
        targets=[
            Target(f"{name}, {many} keys over {few}", b / a, at_most=2)
            for name, (a, b) in times.items()
        ],
        chart=drawn(taken),
    )


def drawn(taken: Mapping[str, Found]) -> alt.TopLevelMixin:
    bars = pd.DataFrame(
        [
            {"frames": f"{where}: {kind}", "keys": f"{keys:,} keys", "seconds": seconds}
            for where, found in taken.items()
            for kind, by_keys in found.items()
            for keys, seconds in by_keys.items()
        ]
    )
    chart: alt.TopLevelMixin = (
        alt.Chart(bars, width=560, height=220, title="Frames by few keys and by many: seconds")
        .mark_bar()
        .encode(
            x=alt.X("seconds:Q", title="seconds"),
            y=alt.Y("frames:N", title=None, sort=None, axis=alt.Axis(labelLimit=240)),
            yOffset=alt.YOffset("keys:N", sort=None),
            color=alt.Color(
                "keys:N", title=None, sort=None, scale=alt.Scale(range=["#7fb2dd", "#1f6fb4"])
            ),
        )
    )
    return chart
