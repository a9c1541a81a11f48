"""Every kind of frames, beside Spark's gaps and islands, a sorted scan and frame-like windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd
import pyarrow as pa
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
from muntin.spark.scan.file_source import FileSource
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.own_function import OwnFraming

#: The condition of threshold frames, and the length of appendix G's windows in seconds.
WHERE, LEAST = "v > 70", 10
DELTA, SUM = 15.0, 10_000
ISLANDS, SCAN = f"{SPARK}, gaps and islands", f"{SPARK}, sort and scan"
WINDOWS, WINDOWS_OF_SPARK = "frame-like windows", f"{SPARK}, frame-like windows"
SHUFFLED = "shuffled"
#: How far the rows of a key come from the order of time where clusters are sought, in seconds.
SCATTER = 60


class Spread(mt.FramingFunction):
    """Delta frames as somebody would write them row by row."""

    columns = ("v",)

    def open(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["least"] = state["greatest"] = row["v"]
        return True

    def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["least"] = min(state["least"], row["v"])
        state["greatest"] = max(state["greatest"], row["v"])
        return bool(state["greatest"] - state["least"] < DELTA)


class CompiledSpread(mt.CompiledFraming):
    """The same, compiled."""

    columns = ("v",)
    numbers = 2

    @staticmethod
    def open(row: Any, state: Any) -> bool:
        state[0] = state[1] = row[0]
        return True

    @staticmethod
    def update(row: Any, state: Any) -> bool:
        state[0] = min(state[0], row[0])
        state[1] = max(state[1], row[0])
        return bool(state[1] - state[0] < DELTA)


@dataclass(frozen=True)
class Sizes:
    """How much data: a row a second for every key, or for every place of a key."""

    rows: int
    keys: int
    places: int


FULL = Sizes(rows=5_000_000, keys=1_000, places=10)
QUICK = Sizes(rows=50_000, keys=50, places=5)
#: What is asked of rows in the order of time.
KINDS: Mapping[str, FrameKind | OwnFraming] = {
    "threshold": mt.threshold(WHERE),
    "boundary": mt.boundary("v", every=25),
    "delta": mt.delta("v", DELTA),
    "aggregate": mt.aggregate(f"sum(v) >= {SUM}"),
    "trend": mt.trend("v", "increasing"),
    "between": mt.between(start="v > 85", end="v < 15"),
    "density": mt.density(f"sum(v) > {LEAST * 70}", per=f"{LEAST} seconds"),
    "own, compiled": CompiledSpread(),
    "own, row by row": Spread(),
}
CLUSTERS, REGIONS = "density, by chance", "region"


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    rows = cached(readings(spark, sizes.rows, sizes.keys), "in the order of time")
    check(rows)
    taken = medians(printed(turns(kinds(rows), pause=2)))
    shuffled = cached(rows.orderBy(F.xxhash64("k", "ts")), "shuffled")
    rows.unpersist()
    taken |= medians(printed(turns(in_no_order(shuffled), pause=2)))
    shuffled.unpersist()
    at_places = cached(readings(spark, sizes.rows, sizes.keys, sizes.places), "by place")
    taken |= medians(printed(turns({REGIONS: draining(regions, at_places)}, pause=2)))
    at_places.unpersist()
    return report(sizes, taken)


def cached(rows: DataFrame, told_as: str) -> DataFrame:
    rows = rows.cache()
    say(f"{rows.count():,} rows {told_as}")
    return rows


def check(rows: DataFrame) -> None:
    """Threshold frames are Spark's islands, and framing functions of users find delta frames."""
    found, usual = framed(rows, KINDS["threshold"]), islands(rows)
    must_agree(in_seconds(found), in_seconds(usual), ["frame_start", "frame_end", "n"])
    for own in ("own, compiled", "own, row by row"):
        found, usual = (in_seconds(framed(rows, KINDS[name])) for name in (own, "delta"))
        must_agree(found, usual, ["frame_start", "frame_end", "n"])


def readings(spark: SparkSession, rows: int, keys: int, places: int = 1) -> DataFrame:
    """A row a second for every place of every key: values that rise and fall, each at its pace.

    Rows are made in the order of time, so that each task holds a stretch of it. What rises at one
    place of a key rises a little later at the next.
    """
    made = spark.range(rows).selectExpr(
        f"id DIV {keys * places} AS second",
        f"CAST(id DIV {places} % {keys} AS INT) AS k",
        f"CAST(id % {places} AS INT) AS place",
        "xxhash64(id) AS noise",
    )
    return made.selectExpr(
        "timestamp_seconds(second) AS ts",
        "k",
        *["place"] * (places > 1),
        "50 + 40 * sin(second * 6.283 / (200 + k % 300) + k - place / 4)"
        " + pmod(noise, 2000) / 1000 - 1 AS v",
    )


def framed(rows: DataFrame | FileSource, kind: FrameKind | OwnFraming) -> DataFrame:
    return mt.stream(rows, on="ts", by="k").frames(kind).df


def clusters(rows: DataFrame) -> DataFrame:
    """Rows that come at any time, one a second on average: where do they come too densely?

    No two rows of a key come at the same time: seconds are in the last digits.
    """
    scattered = rows.selectExpr(
        "k",
        f"timestamp_micros(unix_micros(ts) + pmod(xxhash64(ts, k), {SCATTER * 100}) * 10000"
        " + unix_seconds(ts) % 10000) AS ts",
    )
    chance = mt.density(p=0.0001, rate=60, per="1 minute")
    return mt.stream(scattered, on="ts", by="k").frames(chance, max_count=20).df


def regions(rows: DataFrame) -> DataFrame:
    """Where and when values are high, at four places or more for ten seconds or more."""
    kind = mt.region(WHERE, along="place", min_extent=3)
    return mt.stream(rows, on="ts", by="k").frames(kind, min_duration=f"{LEAST} seconds").df


def islands(rows: DataFrame) -> DataFrame:
    """The usual query: within a run, a row's number among all and among its like differ alike.

    Marking where runs start by ``lag`` and numbering them by a running ``sum`` was no faster.
    """
    among_all = "row_number() OVER (PARTITION BY k ORDER BY ts)"
    among_like = "row_number() OVER (PARTITION BY k, inside ORDER BY ts)"
    judged = rows.selectExpr("k", "ts", f"{WHERE} AS inside")
    numbered = judged.selectExpr("k", "ts", "inside", f"{among_all} - {among_like} AS island")
    found = numbered.where("inside").groupBy("k", "island")
    return found.agg(
        F.min("ts").alias("frame_start"), F.max("ts").alias("frame_end"), F.count("*").alias("n")
    )


def in_seconds(frames: DataFrame) -> DataFrame:
    """Bounds as numbers, which can be added up."""
    bounds = [F.unix_seconds(name).alias(name) for name in ("frame_start", "frame_end")]
    return frames.select(*bounds, "n")


def frame_like(rows: DataFrame) -> DataFrame:
    """Appendix G: sliding windows as long as the shortest frame, and those that satisfy."""
    windows = mt.stream(rows, on="ts", by="k").window(f"{LEAST} seconds", "1 second")
    return windows.agg("min(v) AS least").where("least > 70")


def frame_like_of_spark(rows: DataFrame) -> DataFrame:
    windows = rows.groupBy("k", F.window("ts", f"{LEAST} seconds", "1 second"))
    return windows.agg(F.min("v").alias("least")).where("least > 70")


def scanned(rows: DataFrame) -> DataFrame:
    """What any frames cost at the least: each key's rows together, in order, in Python."""
    return rows.repartition("k").sortWithinPartitions("k", "ts").mapInArrow(read, "n BIGINT")


def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    count = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"n": [count]})


def kinds(rows: DataFrame) -> dict[str, Callable[[], object]]:
    made: dict[str, Callable[[], object]] = {ISLANDS: draining(islands, rows)}
    made |= {name: draining(framed, rows, kind) for name, kind in KINDS.items()}
    made[CLUSTERS] = draining(clusters, rows)
    made[SCAN] = draining(scanned, rows)
    made[WINDOWS] = draining(frame_like, rows)
    made[WINDOWS_OF_SPARK] = draining(frame_like_of_spark, rows)
    return made


def in_no_order(rows: DataFrame) -> dict[str, Callable[[], object]]:
    contestants = {
        ISLANDS: draining(islands, rows),
        "threshold": draining(framed, rows, KINDS["threshold"]),
    }
    return {f"{name}, {SHUFFLED}": contestant for name, contestant in contestants.items()}


def report(sizes: Sizes, taken: Mapping[str, float]) -> Report:
    threshold = taken["threshold"], taken[f"threshold, {SHUFFLED}"]
    usual = taken[ISLANDS], taken[f"{ISLANDS}, {SHUFFLED}"]
    about = (
        f"{sizes.rows:,} rows of {sizes.keys:,} keys, a row a second each, cached, values that "
        "rise and fall; results to the `noop` sink, medians of three. *Gaps and islands* is "
        "Spark's own query for threshold frames: two `row_number()`, whose difference numbers "
        "runs, and a `GROUP BY`. Rows lie in the order of time, so that each task holds a stretch "
        f"of it; *{SHUFFLED}*, every task holds rows of all times. *Own* are delta frames once "
        "more, as a framing function that a user writes, compiled and in Python row by row. "
        f"*Density, by chance* seeks clusters of at most 20 rows among rows that come at any time "
        f"({SCATTER} s of scatter, made with the query); *region* has {sizes.places} places a "
        "key and as many seconds fewer. *Sort and scan* brings each "
        "key's rows together (`repartition`), sorts them and only reads them in Python. "
        "*Frame-like windows* are appendix G of the paper: the minimum over the last "
        f"{LEAST} seconds at every second, by Muntin's sliding windows and by Spark's `window()`."
    )
    return Report(
        name="frames",
        title="Frames",
        about=about,
        tables=[of_kinds(taken)],
        targets=[
            Target("gaps and islands over threshold, time in order", usual[0] / threshold[0], 2),
            Target("gaps and islands over threshold, shuffled", usual[1] / threshold[1], 1),
            *(
                Target(f"{kind} over sort and scan", taken[kind] / taken[SCAN], at_most=1.3)
                for kind in ("delta", "aggregate")
            ),
        ],
        chart=drawn(sizes, taken),
    )


def shown() -> list[str]:
    """What the table and the picture have, from top to bottom."""
    own = [name for name in KINDS if name.startswith("own")]
    built_in = [name for name in KINDS if name not in own]
    names = [ISLANDS, *built_in, CLUSTERS, REGIONS, *own, SCAN, WINDOWS, WINDOWS_OF_SPARK]
    return [*names, *(f"{name}, {SHUFFLED}" for name in (ISLANDS, "threshold"))]


def of_kinds(taken: Mapping[str, float]) -> Table:
    rows = [[name, f"{taken[name]:.2f}", f"{taken[name] / taken[SCAN]:.2f}"] for name in shown()]
    return Table(["frames", "s", "over sort and scan"], rows)


def drawn(sizes: Sizes, taken: Mapping[str, float]) -> alt.TopLevelMixin:
    bars = pd.DataFrame(
        [
            {
                "query": name,
                "engine": SPARK if name.startswith(SPARK) else MUNTIN,
                "seconds": taken[name],
            }
            for name in shown()
        ]
    )
    bars["label"] = bars.seconds.map("{:.1f}".format)
    title = f"Frames of {sizes.rows:,} rows: seconds"
    base = alt.Chart(bars, width=560, height=360, title=title).encode(
        x=alt.X("seconds:Q", title="seconds"),
        y=alt.Y("query:N", title=None, sort=None, axis=alt.Axis(labelLimit=240)),
    )
    return alt.layer(
        base.mark_bar().encode(color=alt.Color("engine:N", legend=None, scale=COLOURS)),
        base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N"),
    )
