"""Why do routers lose packets? Periods of high loss, filled with the routing messages around them.

``quick.py`` is the short version. Run this one with ``python examples/router/full.py``, or with
``--stream`` on two streams. Frames are found in one stream, the loss rates, and filled from
another, the routing messages: those in the frame or up to 30 seconds before it, since a burst of
updates comes before the loss that it causes. It is the first example of the paper on frames.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

import muntin as mt
from muntin.simulate.router import HIGH_LOSS, KINDS, Network

#: How late rows may be. A batch does not need it.
DISORDER = mt.slack("30 seconds")
#: How long before the loss that it causes a burst begins.
BEFORE = "30 seconds"
#: More updates and withdrawals than this in a minute are a burst.
BURST = 10
#: Of the picture, in pixels.
WIDTH, HEIGHT, TICKS_HEIGHT = 820, 90, 42
#: Files of each stream, one to a micro-batch.
FILES = 4


def high_loss(losses: DataFrame, control: DataFrame | None = None) -> mt.Frames:
    """Return frames of five minutes or more with high loss; missing reports do not end one."""
    reports = mt.stream(
        losses, on="ts", by="router", disorder=DISORDER, schedule="10 seconds", control=control
    )
    return reports.frames(
        mt.threshold(f"loss_rate > {HIGH_LOSS}"), min_duration="5 minutes", missing="carry"
    )


def explained(frames: mt.Frames, messages: DataFrame, control: DataFrame | None = None) -> mt.Plan:
    """Return the mean loss of each period, and how many messages of each kind its router got."""
    routing = mt.stream(messages, on="at", by="router_id", disorder=DISORDER, control=control)
    counts = [f"count(*) FILTER (WHERE kind = '{kind}') AS {kind}" for kind in KINDS]
    return mt.combine(
        frames.plan("avg(loss_rate) AS loss"),
        frames.fill(routing, before=BEFORE).plan(*counts, "min(at) AS first_message"),
    )


def in_batch(spark: SparkSession, network: Network) -> tuple[mt.Frames, DataFrame]:
    """Return the frames and the result of a batch, which has all rows of both tables at once."""
    losses, messages = map(spark.createDataFrame, (network.losses(), network.messages()))
    frames = high_loss(losses)
    return frames, explained(frames, messages).df


def streamed(spark: SparkSession, network: Network, folder: Path) -> DataFrame:
    """Return the same result from two streams of files, read from where it was written."""
    control = folder / "control"
    losses = stream_of(spark, network.losses(), folder / "losses")
    messages = stream_of(spark, network.messages(), folder / "messages")
    frames = high_loss(losses, mt.control(spark, control))
    query = mt.write(
        explained(frames, messages, mt.control(spark, control)),
        results=folder / "results",
        checkpoint=folder / "checkpoint",
    )
    assert query is not None  # only a plan over a batch has none
    query.processAllAvailable()
    mt.end(control)
    query.processAllAvailable()
    query.stop()
    return spark.read.parquet(str(folder / "results")).drop("batch")


def stream_of(spark: SparkSession, rows: pa.Table, folder: Path) -> DataFrame:
    """Return rows, in the order in which they arrived, as a stream of files."""
    folder.mkdir(parents=True)
    cuts = [part * rows.num_rows // FILES for part in range(FILES + 1)]
    for number, (start, end) in enumerate(pairwise(cuts)):
        path = folder / f"{number}.parquet"
        pq.write_table(rows.slice(start, end - start), path)
        # Spark sorts files by their times, which may be equal for quick writes.
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    reader = spark.readStream.schema(spark.read.parquet(str(folder)).schema)
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def reason(row: pd.Series[Any]) -> str:
    """Return the reason of a period, from its messages."""
    minutes = (row.frame_end - row.frame_start).total_seconds() / 60
    burst = (row["update"] + row["withdraw"]) / minutes > BURST
    return "updates" if burst else "other"


def periods(frame_rows: pd.DataFrame) -> Table:
    """Return a table of the periods in order of time."""
    table = Table(title=f"{len(frame_rows)} periods of high loss", title_justify="left")
    for heading in ("router", "from", "to", "loss %", *KINDS, "reason"):
        left = heading in ("router", "reason")
        table.add_column(heading, justify="left" if left else "right")
    for _, row in frame_rows.sort_values("frame_start").iterrows():
        counts = [f"{row[kind]}" for kind in KINDS]
        times = [f"{row.frame_start:%H:%M}", f"{row.frame_end:%H:%M}"]
        table.add_row(row.router, *times, f"{row.loss:.2f}", *counts, reason(row))
    return table


def draw(
    frames: mt.Frames,
    frame_rows: pd.DataFrame,
    messages: DataFrame,
    routers: Sequence[str],
    path: Path,
) -> None:
    """Draw loss rates with the periods shaded, and a tick for every update and withdrawal."""
    charts = []
    for router in routers:
        series = frames.plot(
            "loss_rate",
            frames=frame_rows,
            key=router,
            label="update",
            title=f"Loss of {router}, periods with the number of updates",
            width=WIDTH,
            height=HEIGHT,
        )
        updates = messages.where((F.col("router_id") == router) & (F.col("kind") != "keepalive"))
        # Charts in one picture share one configuration.
        series.config = alt.Undefined
        charts.append(alt.vconcat(series, ticks(updates), spacing=4).resolve_scale(x="shared"))
    whole = alt.vconcat(*charts, spacing=14).configure_title(anchor="start")
    path.parent.mkdir(parents=True, exist_ok=True)
    # A page includes its scripts, so that it needs no network.
    whole.save(path, **({"inline": True} if path.suffix == ".html" else {}))


def ticks(messages: DataFrame) -> alt.Chart:
    """Return a chart of messages over time, with a line for each kind."""
    at = F.unix_millis("at").alias("at")
    rows = [row.asDict() for row in messages.select(at, "kind").collect()]
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows), width=WIDTH, height=TICKS_HEIGHT)
        .mark_tick(thickness=1, opacity=0.6)
        .encode(
            x=alt.X("at:T", title=None, axis=None, scale=alt.Scale(type="utc")),
            y=alt.Y("kind:N", title=None, scale=alt.Scale(domain=KINDS[1:])),
            color=alt.Color(
                "kind:N",
                legend=None,
                scale=alt.Scale(domain=KINDS[1:], range=["#37474f", "#d84315"]),
            ),
        )
    )
    return drawn


def start_spark(folder: Path) -> SparkSession:
    """Start Spark on this machine, with the settings that Muntin's streams need."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[*]")
        .appName("router")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="High loss, and the messages that explain it.")
    parser.add_argument("--seed", type=int, default=7, help="another seed is another day (7)")
    parser.add_argument("--stream", action="store_true", help="from two streams, not a batch")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo-output/router.svg"),
        help="the picture, .png, .svg or .html (demo-output/router.svg)",
    )
    options = parser.parse_args(arguments)
    console, network = Console(highlight=False), Network(seed=options.seed)
    with TemporaryDirectory(prefix="muntin-") as name:
        with console.status("Starting Spark"):
            spark = start_spark(Path(name))
        try:
            with console.status("Looking for high loss"):
                frames, answer = in_batch(spark, network)
                if options.stream:
                    answer = streamed(spark, network, Path(name))
                frame_rows = answer.toPandas()
            console.print(periods(frame_rows))
            troubled = sorted(frame_rows.router.unique())
            draw(
                frames,
                frame_rows,
                spark.createDataFrame(network.messages()),
                troubled,
                options.output,
            )
        finally:
            spark.stop()
    console.print(f"Picture: {options.output}")


if __name__ == "__main__":
    main()
