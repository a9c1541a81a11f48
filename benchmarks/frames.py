"""Frames: threshold against gaps and islands, and the kinds that SQL cannot say against a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

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
    say,
    told,
    turns,
)
from benchmarks.streams import Load, arriving, micro_batches
from muntin.semantics.framing.kinds import Kind


@dataclass(frozen=True)
class Sizes:
    """How much data: a row a second for every key, all rows, and few for the slow ways.

    The same number of rows comes with few keys and with many, as a batch and as a stream.
    """

    rows: int
    keys: int
    few_rows: int
    many_keys: int
    stream: Load
    stream_of_many: Load


FULL = Sizes(
    rows=5_000_000,
    keys=1_000,
    few_rows=1_000_000,
    many_keys=200_000,
    stream=Load(keys=1_000, rows_per_pane=1, seconds=1_000, batches=5),
    stream_of_many=Load(keys=200_000, rows_per_pane=1, seconds=5, batches=5),
)
QUICK = Sizes(
    rows=50_000,
    keys=50,
    few_rows=20_000,
    many_keys=2_000,
    stream=Load(keys=50, rows_per_pane=1, seconds=200, batches=3),
    stream_of_many=Load(keys=2_000, rows_per_pane=1, seconds=5, batches=3),
)
#: The condition of threshold frames, and the length of appendix G's windows in seconds.
WHERE, LEAST = "v > 70", 10
DELTA, SUM = 15.0, 10_000
KINDS: Mapping[str, Kind] = {
    "threshold": mt.threshold(WHERE),
    "boundary": mt.boundary("v", every=25),
    "delta": mt.delta("v", DELTA),
    "aggregate": mt.aggregate(f"sum(v) >= {SUM}"),
    "trend": mt.trend("v", "increasing"),
    "between": mt.between(start="v > 85", end="v < 15"),
    "density": mt.density(f"sum(v) > {LEAST * 70}", per=f"{LEAST} seconds"),
}
#: What a stream is framed by: its values are scattered, and leave the range now and then.
STREAMED: Mapping[str, Kind] = {"threshold": mt.threshold("v > 3"), "delta": mt.delta("v", 97)}
ISLANDS, SCAN = f"{SPARK}, gaps and islands", f"{SPARK}, sort and scan"
SHUFFLED = "shuffled"
TUPLES, ROWS = "itertuples", "iterrows"
FRAME_LIKE = "frame-like windows"


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    rows = readings(spark, sizes.rows, sizes.keys).cache()
    say(f"{rows.count():,} rows cached")
    found, usual = framed(rows, KINDS["threshold"]), islands(rows)
    must_agree(in_seconds(found), in_seconds(usual), ["frame_start", "frame_end", "n"])
    taken = medians(told(turns(kinds(rows), pause=2)))
    shuffled = rows.orderBy(F.xxhash64("k", "ts")).cache()
    say(f"{shuffled.count():,} rows shuffled")
    rows.unpersist()
    taken |= medians(told(turns(in_no_order(shuffled), pause=2)))
    shuffled.unpersist()
    few = readings(spark, sizes.few_rows, sizes.keys).cache()
    say(f"{few.count():,} rows cached")
    for kind, of_key in LOOPS.items():
        ours = framed(few, KINDS[kind]).select(F.col("n").alias("found"))
        must_agree(ours, looped(few, of_key, TUPLES), ["found"])
    taken |= medians(told(turns(loops(few), pause=2)))
    few.unpersist()
    return report(sizes, taken, by_keys(spark, sizes), streamed(spark, sizes))


def readings(spark: SparkSession, rows: int, keys: int) -> DataFrame:
    """A row a second for every key: values that rise and fall, every key at its own pace.

    Rows are made in the order of time, so that each task holds a stretch of it.
    """
    made = spark.range(rows).selectExpr(
        f"id DIV {keys} AS second", f"CAST(id % {keys} AS INT) AS k", "xxhash64(id) AS noise"
    )
    return made.selectExpr(
        "timestamp_seconds(second) AS ts",
        "k",
        "50 + 40 * sin(second * 6.283 / (200 + k % 300) + k) + pmod(noise, 2000) / 1000 - 1 AS v",
    )


def framed(rows: DataFrame, kind: Kind) -> DataFrame:
    return mt.stream(rows, on="ts", by="k").frames(kind).df


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
    made[SCAN] = draining(scanned, rows)
    made[FRAME_LIKE] = draining(frame_like, rows)
    return made


def in_no_order(rows: DataFrame) -> dict[str, Callable[[], object]]:
    contestants = {
        ISLANDS: draining(islands, rows),
        "threshold": draining(framed, rows, KINDS["threshold"]),
    }
    return {f"{name}, {SHUFFLED}": contestant for name, contestant in contestants.items()}


def _values(rows: pd.DataFrame, how: str) -> Iterator[float]:
    """The two ways in which people loop over the rows of a pandas DataFrame."""
    ordered = rows.sort_values("ts")
    if how == ROWS:
        return (row["v"] for _, row in ordered.iterrows())
    return (float(row.v) for row in ordered.itertuples())  # type: ignore[arg-type]


def deltas(values: Iterator[float]) -> list[int]:
    """How many rows each delta frame has."""
    found: list[int] = []
    least = greatest = 0.0
    count = 0
    for value in values:
        if count and max(greatest, value) - min(least, value) >= DELTA:
            found.append(count)
            count = 0
        least = min(least, value) if count else value
        greatest = max(greatest, value) if count else value
        count += 1
    return [*found, count] if count else found


def aggregates(values: Iterator[float]) -> list[int]:
    """How many rows each frame has whose sum has to reach a limit."""
    found: list[int] = []
    total, count = 0.0, 0
    for value in values:
        total += value
        count += 1
        if total >= SUM:
            found.append(count)
            total, count = 0.0, 0
    return found


LOOPS: Mapping[str, Callable[[Iterator[float]], list[int]]] = {
    "delta": deltas,
    "aggregate": aggregates,
}


def looped(rows: DataFrame, of_key: Callable[[Iterator[float]], list[int]], how: str) -> DataFrame:
    def found(mine: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"found": of_key(_values(mine, how))})

    return rows.groupBy("k").applyInPandas(found, "found BIGINT")


def loops(rows: DataFrame) -> dict[str, Callable[[], object]]:
    made: dict[str, Callable[[], object]] = {}
    for kind, of_key in LOOPS.items():
        made[_few(kind)] = draining(framed, rows, KINDS[kind])
        for how in (TUPLES, ROWS):
            made[_few(kind, how)] = draining(looped, rows, of_key, how)
    made[_few("threshold")] = draining(framed, rows, KINDS["threshold"])
    made[_few(FRAME_LIKE)] = draining(frame_like, rows)
    made[_few(FRAME_LIKE, SPARK)] = draining(frame_like_of_spark, rows)
    return made


def _few(kind: str, how: str = MUNTIN) -> str:
    return f"{kind}, {how}, few rows"


def by_keys(spark: SparkSession, sizes: Sizes) -> dict[str, dict[int, float]]:
    """Seconds with few keys and with many, a kind at a time."""
    found: dict[str, dict[int, float]] = {kind: {} for kind in STREAMED}
    tables = {
        keys: readings(spark, sizes.rows, keys).cache() for keys in (sizes.keys, sizes.many_keys)
    }
    contestants: dict[tuple[str, int], Callable[[], object]] = {}
    for keys, rows in tables.items():
        say(f"{rows.count():,} rows of {keys:,} keys cached")
        contestants |= {(kind, keys): draining(framed, rows, KINDS[kind]) for kind in STREAMED}
    named = {f"{kind}, {keys:,} keys": one for (kind, keys), one in contestants.items()}
    taken = medians(told(turns(named, pause=2)))
    for kind, keys in contestants:
        found[kind][keys] = taken[f"{kind}, {keys:,} keys"]
    for rows in tables.values():
        rows.unpersist()
    return found


def streamed(spark: SparkSession, sizes: Sizes) -> dict[str, dict[int, float]]:
    """The same as streams: median seconds per micro-batch, the first one left out."""
    found: dict[str, dict[int, float]] = {kind: {} for kind in STREAMED}
    for load in (sizes.stream, sizes.stream_of_many):
        with TemporaryDirectory(prefix="muntin-bench-") as name:
            folder = Path(name)
            load.write(folder / "rows")
            for kind, spec in STREAMED.items():
                found[kind][load.keys] = per_micro_batch(spark, load, folder, kind, spec)
    return found


def per_micro_batch(spark: SparkSession, load: Load, folder: Path, label: str, kind: Kind) -> float:
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


def report(
    sizes: Sizes,
    taken: Mapping[str, float],
    batch: Mapping[str, Mapping[int, float]],
    stream: Mapping[str, Mapping[int, float]],
) -> Report:
    threshold = taken["threshold"], taken[f"threshold, {SHUFFLED}"]
    usual = taken[ISLANDS], taken[f"{ISLANDS}, {SHUFFLED}"]
    about = (
        f"{sizes.rows:,} rows of {sizes.keys:,} keys, a row a second each, cached, values that "
        "rise and fall; results to the `noop` sink, medians of three. *Gaps and islands* is "
        "Spark's own query for threshold frames: two `row_number()`, whose difference numbers "
        "runs, and a `GROUP BY`. Rows lie in the order of time, so that each task holds a stretch "
        f"of it; *{SHUFFLED}*, every task holds rows of all times. *Sort and scan* brings each "
        "key's rows together (`repartition`), sorts them and only reads them in Python. "
        "*Frame-like windows* are appendix G of the paper: the minimum over the last "
        f"{LEAST} seconds at every second, by Muntin's sliding windows and by Spark's `window()`. "
        "Loops run in `applyInPandas`, over the rows of a key as `itertuples` and as `iterrows`. "
        f"What takes long is measured on {sizes.few_rows:,} rows, Muntin beside it on the same."
    )
    return Report(
        name="frames",
        title="Frames",
        about=about,
        tables=[of_kinds(taken), of_loops(taken), of_keys(sizes, batch, stream)],
        targets=[
            Target("gaps and islands over threshold, time in order", usual[0] / threshold[0], 2),
            Target("gaps and islands over threshold, shuffled", usual[1] / threshold[1], 1),
            *(
                Target(f"{k} over sort and scan", taken[k] / taken[SCAN], at_most=1.3)
                for k in LOOPS
            ),
            *(
                Target(f"a loop over {kind}, {how}", taken[_few(kind, how)] / taken[_few(kind)], 20)
                for kind in LOOPS
                for how in (TUPLES, ROWS)
            ),
            *_of_keys("batch", sizes.keys, sizes.many_keys, batch),
            *_of_keys("stream", sizes.stream.keys, sizes.stream_of_many.keys, stream),
        ],
        chart=drawn(taken),
    )


def _of_keys(
    where: str, few: int, many: int, found: Mapping[str, Mapping[int, float]]
) -> list[Target]:
    return [
        Target(f"{where}: {kind}, {many:,} keys over {few:,}", of[many] / of[few], at_most=2)
        for kind, of in found.items()
    ]


def of_kinds(taken: Mapping[str, float]) -> Table:
    names = [ISLANDS, *KINDS, SCAN, FRAME_LIKE]
    names += [f"{name}, {SHUFFLED}" for name in (ISLANDS, "threshold")]
    rows = [[name, f"{taken[name]:.2f}", f"{taken[name] / taken[SCAN]:.2f}"] for name in names]
    return Table(["frames", "s", "over sort and scan"], rows)


def of_loops(taken: Mapping[str, float]) -> Table:
    rows = []
    for kind in LOOPS:
        own = taken[_few(kind)]
        for how in (MUNTIN, TUPLES, ROWS):
            seconds = taken[_few(kind, how)]
            rows.append([f"{kind}, {how}", f"{seconds:.2f}", f"{seconds / own:.1f}"])
    own = taken[_few("threshold")]
    for name, how in (("threshold", MUNTIN), (FRAME_LIKE, MUNTIN), (FRAME_LIKE, SPARK)):
        seconds = taken[_few(name, how)]
        rows.append([f"{name}, {how}", f"{seconds:.2f}", f"{seconds / own:.1f}"])
    return Table(["on fewer rows", "s", "over frames"], rows)


def of_keys(
    sizes: Sizes,
    batch: Mapping[str, Mapping[int, float]],
    stream: Mapping[str, Mapping[int, float]],
) -> Table:
    many = sizes.stream_of_many.keys
    rows = []
    for where, found in (("batch", batch), ("stream, a micro-batch", stream)):
        for kind, of in found.items():
            few, most = (of[keys] for keys in of)
            rows.append([f"{kind}, {where}", f"{few:.2f}", f"{most:.2f}", f"{most / few:.2f}"])
    return Table(["keys", f"{sizes.keys:,}, s", f"{many:,}, s", "ratio"], rows)


def drawn(taken: Mapping[str, float]) -> alt.TopLevelMixin:
    names = [ISLANDS, *KINDS, SCAN, FRAME_LIKE]
    names += [f"{name}, {SHUFFLED}" for name in (ISLANDS, "threshold")]
    bars = pd.DataFrame(
        [
            {
                "query": name,
                "engine": SPARK if name.startswith(SPARK) else MUNTIN,
                "seconds": taken[name],
            }
            for name in names
        ]
    )
    bars["label"] = bars.seconds.map("{:.1f}".format)
    title = "Frames of 5,000,000 rows: seconds"
    base = alt.Chart(bars, width=560, height=280, title=title).encode(
        x=alt.X("seconds:Q", title="seconds"),
        y=alt.Y("query:N", title=None, sort=None, axis=alt.Axis(labelLimit=240)),
    )
    return alt.layer(
        base.mark_bar().encode(color=alt.Color("engine:N", legend=None, scale=COLOURS)),
        base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N"),
    )
