"""Memory: peaks of driver, JVM and workers, and whether they grow with the micro-batches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import SparkSession

import muntin as mt
from benchmarks.growth.files import Readings
from benchmarks.growth.processes import peaks, resident_workers
from benchmarks.growth.slopes import frames, windows
from benchmarks.measure import Report, Table, Target, drain, say
from benchmarks.streams.micro_batches import Load, arriving

MEGABYTE = 2**20
#: The micro-batch after which memory must no longer grow, and the share by which it may.
SETTLED, MAY_GROW = 0.25, 1.2


def run(spark: SparkSession, quick: bool) -> Report:
    batches = 20 if quick else 200
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        resident = streamed(spark, folder, batches)
        rows = 200_000 if quick else 16_000_000
        files = mt.parquet(spark, Readings(rows, 1_000, 36_000).write(folder / "large.parquet"))
        for query in (windows, frames):
            drain(query(files))
    return report(rows, resident, peaks())


def streamed(spark: SparkSession, folder: Path, batches: int) -> dict[int, int]:
    """Return the memory of all workers after each micro-batch."""
    load = Load(keys=1_000, rows_per_pane=1, seconds=10, batches=batches)
    load.write(folder / "rows")
    traffic = mt.stream(
        arriving(spark, folder / "rows"), on="ts", by="k", disorder=mt.slack("1 second")
    )
    results = traffic.window("60 seconds", "1 second").agg("max(v) AS hi", "avg(v) AS mean")
    resident: dict[int, int] = {}

    def taken(rows: object, number: int) -> None:
        drain(rows)  # type: ignore[arg-type]
        resident[number] = resident_workers()

    writer = results.writeStream.foreachBatch(taken)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    say(f"{len(resident)} micro-batches, {max(resident.values()) / MEGABYTE:,.0f} MB of workers")
    return resident


def report(rows: int, resident: Mapping[int, int], peak: Mapping[str, int]) -> Report:
    settled = int(len(resident) * SETTLED)
    early = max(size for number, size in resident.items() if number <= settled)
    late = max(size for number, size in resident.items() if number > settled)
    about = (
        f"A stream of {len(resident)} micro-batches of 10,000 rows, 1,000 keys, windows of 60 "
        f"seconds every second; then sliding windows and threshold frames of {rows:,} rows of "
        "1,000 keys from a Parquet file. Memory is what the processes have resident; the peaks are "
        "those of the whole run, the worker's that of the largest worker."
    )
    table = Table(["process", "peak, MB"], [[n, f"{b / MEGABYTE:,.0f}"] for n, b in peak.items()])
    workers = [
        [f"{number}", f"{resident[number] / MEGABYTE:,.0f}"]
        for number in sorted({0, settled, len(resident) // 2, max(resident)})
    ]
    return Report(
        name="memory",
        title="Memory",
        about=about,
        tables=[table, Table(["micro-batch", "workers, MB"], workers)],
        targets=[
            Target(
                f"workers, after micro-batch {settled} over up to it",
                late / early,
                at_most=MAY_GROW,
            )
        ],
        chart=drawn(resident),
    )


def drawn(resident: Mapping[int, int]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [{"batch": number, "MB": size / MEGABYTE} for number, size in resident.items()]
    )
    title = "Resident memory of all workers"
    base = alt.Chart(points, width=560, height=240, title=title).encode(
        x=alt.X("batch:Q", title="micro-batch"), y=alt.Y("MB:Q", title="MB")
    )
    return alt.layer(base.mark_line())
