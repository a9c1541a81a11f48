"""From files: what Muntin promises beside Spark where both read the same Parquet files.

Workers read the files themselves (an Arrow scan), so Muntin's rows do not pass through the JVM.
Everything is measured with the settings of a session that nobody configured, and configured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from benchmarks.frames import fill, kinds, loops
from benchmarks.measure import (
    COLOURS,
    MUNTIN,
    SPARK,
    Report,
    Table,
    Target,
    drain,
    draining,
    medians,
    must_agree,
    printed,
    say,
    turns,
)
from benchmarks.windows import overlap
from muntin.spark.scan.file_source import FileSource

CASES = tuple(overlap.Case(seconds) for seconds in (1, 2, 10, 60))
DEFAULTS, CONFIGURED = "Spark's defaults", "`mt.configure(spark)`"
#: Settings of a session that nobody configured.
_DEFAULT_ARROW = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "67108864",
}


@dataclass(frozen=True)
class Race:
    """A query of Muntin, and what people write on Spark without it."""

    name: str
    rival: str
    promised: float
    ours: Callable[[], DataFrame]
    theirs: Callable[[], DataFrame]
    compared: tuple[str, ...] = ()


def run(spark: SparkSession, quick: bool) -> Report:
    with TemporaryDirectory(prefix="muntin-bench-") as folder:
        races = [
            *window_races(spark, Path(folder), quick),
            *frame_races(spark, Path(folder), quick),
        ]
        for race in races:
            must_agree(race.ours(), race.theirs(), race.compared)
        seconds = {DEFAULTS: timed(spark, DEFAULTS, races), CONFIGURED: {}}
        mt.configure(spark)
        seconds[CONFIGURED] = timed(spark, CONFIGURED, races)
    return report(races, seconds, quick)


def timed(spark: SparkSession, settings: str, races: list[Race]) -> dict[str, float]:
    """Return the median seconds of all queries under some settings."""
    say(settings)
    if settings == DEFAULTS:
        for name, value in _DEFAULT_ARROW.items():
            spark.conf.set(name, value)
    contestants: dict[str, Callable[[], object]] = {}
    for race in races:
        contestants[f"{race.name}, {SPARK}"] = draining(race.theirs)
        contestants[f"{race.name}, {MUNTIN}"] = draining(race.ours)
    drain(races[0].ours())  # Spark ends workers whose settings changed
    return medians(printed(turns(contestants, pause=1)))


def window_race(files: FileSource, read: DataFrame, case: overlap.Case, promised: float) -> Race:
    return Race(
        f"overlap {case.range}",
        "`window()`",
        promised,
        lambda: overlap.ours(files, case),
        lambda: overlap.theirs(read, case),
        ("hi", "mean"),
    )


def loop_race(files: FileSource, read: DataFrame, kind: str) -> Race:
    def ours() -> DataFrame:
        return kinds.framed(files, kinds.KINDS[kind]).withColumnRenamed("n", "found")

    def theirs() -> DataFrame:
        return loops.looped(read, loops.LOOPS[kind], loops.TUPLES)

    return Race(f"{kind} frames", "`itertuples`", 12, ours, theirs, ("found",))


def window_races(spark: SparkSession, folder: Path, quick: bool) -> list[Race]:
    """Sliding windows at several overlaps."""
    sizes = overlap.QUICK if quick else overlap.FULL
    rows = overlap.readings(spark, sizes, sizes.seconds)
    files, read = written(spark, rows, folder / "windows")
    promised = {1: 1.2, 2: 1.2, 10: 3.0, 60: 15.0}
    return [window_race(files, read, case, promised[case.range]) for case in CASES]


def frame_races(spark: SparkSession, folder: Path, quick: bool) -> list[Race]:
    """Frames beside what SQL and loops can do, and a fill beside a range join."""
    sizes = kinds.QUICK if quick else kinds.FULL
    rows = kinds.readings(spark, sizes.rows, sizes.keys)
    files, read = written(spark, rows, folder / "frames")
    threshold = Race(
        "threshold frames",
        "gaps and islands",
        4,
        lambda: kinds.framed(files, kinds.KINDS["threshold"]),
        lambda: kinds.islands(read),
        ("n",),
    )
    loop_races = [loop_race(files, read, kind) for kind in loops.LOOPS]
    filling = fill.QUICK if quick else fill.FULL
    filled, filled_read = written(spark, fill.readings(spark, filling), folder / "fill")
    _, bounds = written(spark, fill.given_frames(spark, filling), folder / "bounds")
    fill_race = Race(
        f"{filling.frames:,} frames filled",
        "range join",
        2.5,
        lambda: fill.filled(bounds, filled),
        lambda: fill.joined(bounds, filled_read),
        ("n", "mean"),
    )
    return [threshold, *loop_races, fill_race]


def written(spark: SparkSession, rows: DataFrame, path: Path) -> tuple[FileSource, DataFrame]:
    """Write rows as Parquet files; return them as Muntin's source and as Spark's."""
    rows.write.parquet(str(path))
    return mt.parquet(spark, str(path)), spark.read.parquet(str(path))


def report(races: list[Race], seconds: Mapping[str, Mapping[str, float]], quick: bool) -> Report:
    def ratio(settings: str, race: Race) -> float:
        taken = seconds[settings]
        return taken[f"{race.name}, {SPARK}"] / taken[f"{race.name}, {MUNTIN}"]

    windows, frames = (overlap.QUICK, kinds.QUICK) if quick else (overlap.FULL, kinds.FULL)
    about = (
        f"Both sides read the same Parquet files, results go to the `noop` sink: sliding windows, "
        f"`max` and `avg`, SLIDE 1 second, of {windows.rows:,} rows of {windows.keys} keys; frames "
        f"of {frames.rows:,} rows of {frames.keys:,} keys; the fill as below. Medians of three, "
        f"under the settings of a session that nobody configured (10,000 rows an Arrow batch) and "
        f"after `mt.configure(spark)`. The promises are those of a configured session."
    )
    columns = [
        "query",
        "Spark",
        *(f"{s}: {w}" for s in seconds for w in ("Spark, s", "Muntin, s", "times")),
    ]
    rows = [
        [race.name, race.rival]
        + [
            text
            for settings, taken in seconds.items()
            for text in (
                f"{taken[f'{race.name}, {SPARK}']:.2f}",
                f"{taken[f'{race.name}, {MUNTIN}']:.2f}",
                f"{ratio(settings, race):.1f}",
            )
        ]
        for race in races
    ]
    return Report(
        name="from_files",
        title="From files: beside Spark on the same Parquet files",
        about=about,
        tables=[Table(columns, rows)],
        targets=[
            Target(f"{race.rival} over Muntin: {race.name}", ratio(CONFIGURED, race), race.promised)
            for race in races
        ],
        chart=drawn(races, seconds[CONFIGURED]),
    )


def drawn(races: list[Race], seconds: Mapping[str, float]) -> alt.TopLevelMixin:
    """Seconds of both sides, configured, on a logarithmic scale."""
    bars = pd.DataFrame(
        [
            {"query": race.name, "engine": engine, "seconds": seconds[f"{race.name}, {engine}"]}
            for race in races
            for engine in (SPARK, MUNTIN)
        ]
    )
    bars["label"] = bars.seconds.map("{:.2f} s".format)
    base = alt.Chart(bars, width=520, height=320, title="From Parquet files: seconds").encode(
        x=alt.X("seconds:Q", title="seconds", scale=alt.Scale(type="log")),
        y=alt.Y("query:N", title=None, sort=None),
        yOffset=alt.YOffset("engine:N", sort=[SPARK, MUNTIN]),
    )
    return alt.layer(
        base.mark_point(filled=True, size=80).encode(
            color=alt.Color("engine:N", title=None, scale=COLOURS)
        ),
        base.mark_text(align="left", dx=8, fontSize=11).encode(text="label:N"),
    )
