"""Files: rows that Spark reads and hands to Python, against rows that workers read themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import RUNS, Report, Table, Target, medians, printed, say, turns
from muntin.spark.exchange.routing import tables_of
from muntin.spark.scan.choose import InputRows
from muntin.spark.scan.file_source import FileSource
from muntin.spark.scan.scan import ArrowScan

HANDED, SCANNED, NATIVE = "Spark's scan", "Arrow scan", "Spark's own max"
BATCH = "batch"


@dataclass(frozen=True)
class Sizes:
    """Rows of the batch in files, and rows of a micro-batch, which is one file."""

    rows: int
    files: int
    large: int
    small: int
    batches: int


FULL = Sizes(rows=8_000_000, files=4, large=2_000_000, small=10_000, batches=6)
QUICK = Sizes(rows=40_000, files=2, large=20_000, small=1_000, batches=3)


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / BATCH, sizes.files, sizes.rows // sizes.files)
        streams = {f"{rows:,} rows a micro-batch": rows for rows in (sizes.large, sizes.small)}
        for label, rows in streams.items():
            write(folder / label, sizes.batches, rows)
        seconds = batch_seconds(spark, folder / BATCH, sizes)
        for label, rows in streams.items():
            for scan, source in sources(spark, folder / label, streaming=True).items():
                seconds[f"{scan} {label}"] = micro_batch(
                    source, folder / f"ck {scan} {label}", rows
                )
                say(f"{scan} {label}: {seconds[f'{scan} {label}']:.2f} s")
    return report(seconds, sizes, list(streams))


def write(folder: Path, files: int, rows: int) -> None:
    """Write files of rows in the order of time, in row groups of an eighth of a file."""
    folder.mkdir()
    keys = pa.array([f"segment-{number:04d}" for number in range(1000)])
    for number in range(files):
        random = np.random.default_rng(number)
        ts = number * rows + np.arange(rows, dtype=np.int64)
        table = pa.table(
            {
                "ts": pa.array(ts * 1000, pa.timestamp("us", tz="UTC")),
                "k": keys.take(pa.array(random.integers(0, len(keys), rows))),
                "v": random.uniform(0, 100, rows),
                "other": random.uniform(0, 100, rows),
            }
        )
        pq.write_table(table, folder / f"{number:04d}.parquet", row_group_size=max(1, rows // 8))


def sources(
    spark: SparkSession, folder: Path, *, streaming: bool
) -> dict[str, FileSource | DataFrame]:
    """Return the files as both sides take them; a stream takes them one by one."""
    max_files = 1 if streaming else None
    source = mt.parquet(spark, str(folder), streaming=streaming, max_files=max_files)
    return {HANDED: source.df, SCANNED: source}


def rows_of(source: FileSource | DataFrame) -> InputRows:
    """Return what the map side of a window would get."""
    stream = mt.stream(source, on="ts", by="k", disorder=mt.ordered())
    return stream.tumbling("1 second").plan("max(v)").parts.inputs[0].rows(False)


def counted(source: FileSource | DataFrame) -> DataFrame:
    """Return how many rows the tasks see; they do nothing else with them."""
    rows = rows_of(source)
    assert (rows.scan is not None) == isinstance(source, FileSource)
    return rows.df.mapInArrow(partial(_count, rows.scan), "n BIGINT")


def _count(scan: ArrowScan | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    total = sum(table.num_rows for table in tables_of(scan, batches))
    yield pa.RecordBatch.from_pydict({"n": [total]})


def batch_seconds(spark: SparkSession, folder: Path, sizes: Sizes) -> dict[str, float]:
    def total(rows: DataFrame) -> None:
        found = rows.agg(F.sum("n")).collect()[0][0]
        assert found == sizes.rows, found

    def native() -> None:
        files.agg(F.max("ts"), F.max("k"), F.max("v")).collect()

    files = spark.read.parquet(str(folder))

    contestants: dict[str, Callable[[], object]] = {NATIVE: native}
    for scan, source in sources(spark, folder, streaming=False).items():
        contestants[scan] = partial(total, counted(source))
    for contestant in contestants.values():
        contestant()
    found = medians(printed(turns(contestants, runs=RUNS)))
    return {f"{name} {BATCH}": seconds for name, seconds in found.items()}


def micro_batch(source: FileSource | DataFrame, checkpoint: Path, rows: int) -> float:
    """Return the median seconds of a micro-batch after the first one."""
    seen: list[int] = []

    def keep(batch: DataFrame, number: int) -> None:
        seen.append(sum(row[0] for row in batch.collect()))

    query = (
        counted(source)
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert {*seen} == {rows}, seen
    reports = [report for report in query.recentProgress if "addBatch" in report.durationMs]
    return median(report.durationMs["triggerExecution"] for report in reports[1:]) / 1000


def report(seconds: Mapping[str, float], sizes: Sizes, streams: list[str]) -> Report:
    labels = [BATCH, *streams]
    ratios = {
        label: seconds[f"{HANDED} {label}"] / seconds[f"{SCANNED} {label}"] for label in labels
    }
    cells = [
        [
            f"{label}, {sizes.rows:,} rows" if label == BATCH else label,
            f"{seconds[f'{HANDED} {label}']:.2f}",
            f"{seconds[f'{SCANNED} {label}']:.2f}",
            f"{ratios[label]:.1f}",
        ]
        for label in labels
    ]
    native = seconds[f"{NATIVE} {BATCH}"]
    about = (
        "Three of four columns of Parquet files (a timestamp, a text of 1,000 keys, a double) are "
        "brought to Python, which counts the rows and does nothing else: either Spark reads the "
        "files and hands the rows over, or workers read the files (`mt.parquet`). The batch is "
        "planned before it is timed. A stream takes one file of eight row groups a micro-batch; "
        "its times have Spark's own overhead. Spark's own `max` of the three columns of the batch, "
        f"without Python, takes {native:.2f} s."
    )
    large, small = streams
    return Report(
        name="arrow_scan",
        title="Files: rows that do not pass through the JVM",
        about=about,
        tables=[Table(["", "Spark's scan, s", "Arrow scan, s", "times faster"], cells)],
        targets=[
            Target("Spark's scan over Arrow scan, batch", ratios[BATCH], at_least=4),
            Target(f"Spark's scan over Arrow scan, {large}", ratios[large], at_least=1.5),
            Target(f"Arrow scan over Spark's scan, {small}", 1 / ratios[small], at_most=1.2),
        ],
        chart=drawn(seconds, labels),
    )


def drawn(seconds: Mapping[str, float], labels: list[str]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"rows": label, "scan": scan, "seconds": seconds[f"{scan} {label}"]}
            for label in labels
            for scan in (HANDED, SCANNED)
        ]
    )
    colours = alt.Scale(domain=[HANDED, SCANNED], range=["#d95f02", "#1f6fb4"])
    title = "Files: seconds to bring rows to Python"
    base = alt.Chart(points, width=560, height=220, title=title).encode(
        y=alt.Y("rows:N", title=None, sort=labels),
        yOffset=alt.YOffset("scan:N", sort=[HANDED, SCANNED]),
        x=alt.X("seconds:Q", title="seconds"),
    )
    bars = base.mark_bar().encode(color=alt.Color("scan:N", title=None, scale=colours))
    return alt.layer(bars)
