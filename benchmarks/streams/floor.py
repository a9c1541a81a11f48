"""The floor of a micro-batch: seconds when hardly any rows come, so that only fixed costs count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from benchmarks.measure import COLOURS, MUNTIN, SPARK, Report, Table, Target, say
from benchmarks.streams.latency import SLACK, ours, sliding, tumbling
from benchmarks.streams.micro_batches import Load, arriving, micro_batches

SLIDING, TUMBLING, WINDOW = f"{SPARK}, sliding", f"{SPARK}, tumbling", f"{MUNTIN}, window"
FRAMES, FILL, JOIN = f"{MUNTIN}, frames", f"{MUNTIN}, fill", f"{MUNTIN}, join"
#: Seconds of rows in the first micro-batch, so that as many windows are open as later.
RANGE = 60
#: Micro-batches of each run that are left out, with the first one.
WARM = 2
#: At most these ratios, with the query that the first one is measured against.
PROMISED = {
    WINDOW: [(TUMBLING, 1.5), (SLIDING, 1.0)],
    FRAMES: [(WINDOW, 1.3)],
    FILL: [(WINDOW, 1.6)],
    JOIN: [(WINDOW, 1.6)],
}


@dataclass(frozen=True)
class Sizes:
    """How many keys have a row in a micro-batch, and how many micro-batches and runs count."""

    keys: tuple[int, ...]
    batches: int
    runs: int


FULL, QUICK = Sizes((10, 1_000), 5, 2), Sizes((10,), 3, 1)


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    if not quick:  # Java compiles what runs often, and the queries that come first do not gain
        floors(spark, sizes.keys[0], batches=1, runs=1)
    return report(
        sizes, {keys: floors(spark, keys, sizes.batches, sizes.runs) for keys in sizes.keys}
    )


def floors(spark: SparkSession, keys: int, batches: int, runs: int) -> dict[str, float]:
    """Median seconds per micro-batch of every query; the queries take turns."""
    before = Load(keys, rows_per_pane=1, seconds=RANGE, batches=1)
    load = Load(keys, rows_per_pane=1, seconds=1, batches=WARM - 1 + batches, start=RANGE)
    taken: dict[str, list[float]] = {}
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        before.write(folder / "rows")
        load.write(folder / "rows")
        for run in range(runs):
            for label, query in queries(spark, folder).items():
                checkpoint = folder / f"{label}, {run}".replace(", ", "-")
                seconds = list(micro_batch_seconds(query(), checkpoint))
                say(f"{keys:,} keys, {label}: {', '.join(f'{one:.2f}' for one in seconds)} s")
                taken.setdefault(label, []).extend(seconds)
    return {label: median(seconds) for label, seconds in taken.items()}


def queries(spark: SparkSession, folder: Path) -> dict[str, Callable[[], DataFrame]]:
    """Return what is measured; the last two read the rows twice, as two sources."""

    def rows() -> DataFrame:
        return arriving(spark, folder / "rows")

    def stream() -> mt.Stream:
        return mt.stream(rows(), on="ts", by="k", disorder=mt.slack(SLACK))

    def frames() -> mt.Frames:
        return stream().frames(mt.threshold("v > 50"))

    return {
        TUMBLING: lambda: tumbling(rows()),
        SLIDING: lambda: sliding(rows()),
        WINDOW: lambda: ours(rows()),
        FRAMES: lambda: frames().agg("max(v) AS hi", "avg(v) AS mean"),
        FILL: lambda: frames().fill(stream(), before="5 seconds").agg("max(v) AS hi"),
        JOIN: lambda: stream().join(stream(), within="1 second", prefix="other_").df,
    }


def micro_batch_seconds(rows: DataFrame, checkpoint: Path) -> Iterator[float]:
    """Yield how long the micro-batches of a query take, the first ones left out."""
    writer = rows.writeStream.format("noop").outputMode("append")
    writer = writer.option("checkpointLocation", str(checkpoint))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    # Spark ends with a micro-batch without rows, in which the watermark closes windows.
    filled = [batch for batch in micro_batches(running) if batch.rows]
    yield from (batch.seconds for batch in filled[WARM:])


def report(sizes: Sizes, found: Mapping[int, Mapping[str, float]]) -> Report:
    about = (
        "One row a key and micro-batch, a second apart, from Parquet files to the `noop` sink, so "
        "that little but the fixed costs of a micro-batch is measured; the first micro-batch has "
        f"{RANGE} rows a key and is not counted. Windows of 60 s every "
        "second with `max` and `avg` (Spark's tumbling ones of 1 s); frames `v > 50` with the same "
        "aggregates; the same frames filled with the rows from 5 s before them; and a join of rows "
        f"within 1 s. Fill and join read two sources. Slack and watermark of {SLACK}, settings as "
        f"they are. The queries take turns; medians of {sizes.batches} micro-batches after the "
        f"first {WARM}, of {sizes.runs} runs."
    )
    labels = list(next(iter(found.values())))
    tables = Table(
        ["query", *(f"{keys:,} keys, s" for keys in found)],
        [[label, *(f"{taken[label]:.3f}" for taken in found.values())] for label in labels],
    )
    return Report(
        name="floor",
        title="Streams: the floor of a micro-batch",
        about=about,
        tables=[tables],
        targets=[
            Target(
                f"{keys:,} keys: {label} over {beside}",
                taken[label] / taken[beside],
                at_most=at_most,
            )
            for keys, taken in found.items()
            for label, promises in PROMISED.items()
            for beside, at_most in promises
        ],
        chart=drawn(found),
    )


def drawn(found: Mapping[int, Mapping[str, float]]) -> alt.TopLevelMixin:
    bars = pd.DataFrame(
        [
            {"query": label, "engine": label.split(",")[0], "keys": f"{keys:,} keys", "s": taken}
            for keys, floors in found.items()
            for label, taken in floors.items()
        ]
    )
    bars["label"] = bars.s.map("{:.2f}".format)
    base = alt.Chart(width=270, height=200).encode(
        x=alt.X("s:Q", title="seconds a micro-batch"),
        y=alt.Y("query:N", title=None, sort=None),
    )
    bar = base.mark_bar().encode(color=alt.Color("engine:N", legend=None, scale=COLOURS))
    text = base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N")
    return alt.layer(bar, text, data=bars).facet(
        column=alt.Column("keys:N", title=None, sort=[f"{keys:,} keys" for keys in found]),
        title="Streams: the floor of a micro-batch",
    )
