"""State: what a stream keeps grows with its open windows, not with the rows in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import muntin as mt
from benchmarks.measure import Report, Table, Target, say
from benchmarks.streams.micro_batches import Load, MicroBatch, arriving, micro_batches

RANGE, SLIDE, SLACK = 60, 1, 1
#: Of a row that is kept as it is: a timestamp, a key and a double.
ROW_BYTES = 8 + 4 + 8


@dataclass(frozen=True)
class Kept:
    """What a stream kept at the end of its micro-batches."""

    load: Load
    state_bytes: float
    open_windows: int
    state_rows: int

    @property
    def bytes_per_window(self) -> float:
        return self.state_bytes / self.open_windows

    @property
    def row_bytes_per_window(self) -> float:
        """If the rows of the open windows were kept instead: those of the range and the slack."""
        seconds = RANGE + SLACK
        return self.load.keys * self.load.rows_per_pane * seconds * ROW_BYTES / self.open_windows


def run(spark: SparkSession, quick: bool) -> Report:
    # A micro-batch spans more than a range and the slack, so it writes all of the live state.
    keys, seconds, growth = (100, 80, (1, 10)) if quick else (1_000, 120, (1, 2, 5, 10))
    loads = [Load(keys, rows_per_pane, seconds, batches=4) for rows_per_pane in growth]
    return report([kept(spark, load) for load in loads])


def kept(spark: SparkSession, load: Load) -> Kept:
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        load.write(folder / "rows")
        query = start(spark, folder)
        query.processAllAvailable()
        # Windows that are still open are reported when the stream is over: so they are counted.
        mt.end(folder / "control")
        query.processAllAvailable()
        batches = list(micro_batches(query))
        query.stop()
    return found(load, [b for b in batches if b.counts["rows_in"]], batches[-1])


def start(spark: SparkSession, folder: Path) -> StreamingQuery:
    traffic = mt.stream(
        arriving(spark, folder / "rows"),
        on="ts",
        by="k",
        disorder=mt.slack(f"{SLACK} seconds"),
        control=mt.control(spark, folder / "control"),
    )
    windows = traffic.window(range=f"{RANGE} seconds", slide=f"{SLIDE} seconds")
    rows = windows.agg("max(v) AS hi", "avg(v) AS mean")
    writer = rows.writeStream.format("noop").outputMode("append")
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def found(load: Load, filled: Sequence[MicroBatch], last: MicroBatch) -> Kept:
    if len(filled) != load.batches or any(batch.counts["rows_refused"] for batch in filled):
        raise AssertionError("rows refused, or other micro-batches than planned")
    written = median(batch.counts["state_bytes_written"] for batch in filled[1:])
    result = Kept(load, written, last.counts["results"], filled[-1].state_rows)
    say(f"{load.rows_per_pane} rows a pane: {result.bytes_per_window:.1f} bytes an open window")
    return result


def report(results: Sequence[Kept]) -> Report:
    least, most = results[0], results[-1]
    load = least.load
    about = (
        f"Windows of {RANGE} s every {SLIDE} s with `max` and `avg` over {load.keys:,} keys, "
        f"slack {SLACK} s, micro-batches of {load.seconds} s of data, with more and more rows in "
        "the same panes. State is what a micro-batch writes (`state_bytes_written` in the query's "
        "progress; the median of three), which here is all that is live, because a micro-batch "
        "spans more than a range. Open windows are those that are reported when the stream is "
        "then ended. The last column is computed: what the rows themselves would need."
    )
    ratio = most.bytes_per_window / least.bytes_per_window
    times = most.load.rows_per_pane / least.load.rows_per_pane
    return Report(
        name="state",
        title="State: flat in the number of rows",
        about=about,
        tables=[table(results)],
        targets=[Target(f"bytes per open window, {times:g} times the rows", ratio, at_most=1.1)],
        chart=drawn(results),
    )


def table(results: Sequence[Kept]) -> Table:
    columns = [
        "rows a key and pane",
        "rows a micro-batch",
        "state, bytes",
        "entries in RocksDB",
        "open windows",
        "bytes an open window",
        "if rows were kept",
    ]
    rows = [
        [
            str(kept.load.rows_per_pane),
            f"{kept.load.rows_per_batch:,}",
            f"{kept.state_bytes:,.0f}",
            f"{kept.state_rows:,}",
            f"{kept.open_windows:,}",
            f"{kept.bytes_per_window:.1f}",
            f"{kept.row_bytes_per_window:.1f}",
        ]
        for kept in results
    ]
    return Table(columns, rows)


def drawn(results: Sequence[Kept]) -> alt.TopLevelMixin:
    ways = {
        "panes, as measured": [kept.bytes_per_window for kept in results],
        "rows, if they were kept (computed)": [kept.row_bytes_per_window for kept in results],
    }
    points = pd.DataFrame(
        [
            {"way": way, "rows": kept.load.rows_per_pane, "bytes": size}
            for way, sizes in ways.items()
            for kept, size in zip(results, sizes, strict=True)
        ]
    )
    chart = alt.Chart(points, width=560, height=260, title="State per open window")
    lines: alt.Chart = chart.mark_line(point=alt.OverlayMarkDef(size=60)).encode(
        x=alt.X("rows:Q", title="rows a key and pane", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("bytes:Q", title="bytes an open window"),
        color=alt.Color(
            "way:N",
            title=None,
            sort=list(ways),
            scale=alt.Scale(range=["#1f6fb4", "#888888"]),
            legend=alt.Legend(orient="top-left", labelLimit=300),
        ),
    )
    return lines
