"""[Frames, Table 1 and Figure 10] on a real day of freeway readings.

Three specifications give short, medium and long frames. The paper runs them on four data sets, and
beside them a query with windows that comes near to a frame: a window as long as the least frame
ends at every reading, and those stay in which all readings satisfy the predicate. Here the four
data sets are the readings of 5, 17, 35 and 69 detectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import Report, Table, draining, medians, printed, turns

DAY = Path(__file__).resolve().parents[3] / "shared" / "data" / "freeway" / "loopdata_1day.csv.gz"
SCHEMA = (
    "date_part BIGINT, starttime TIMESTAMP, detectorid INT, volume INT, speed DOUBLE, "
    "occupancy INT, status INT, dqflags INT"
)
#: The specifications of Table 1.
SPECIFICATIONS = {"short": "speed <= 30", "medium": "speed >= 50", "long": "speed >= 30"}
#: What holds for the least and the greatest speed of a window if all its readings satisfy.
ALL_SATISFY = {"short": "hi <= 30", "medium": "lo >= 50", "long": "lo >= 30"}
LEAST = "2 minutes"
EVERY = "20 seconds"
DETECTORS = (5, 17, 35, 69)
QUICK_DETECTORS = (5, 69)
READ, FRAMES, WINDOWS, SPARK_WINDOWS = "reading", "frames", "windows", "Spark's windows"


@dataclass(frozen=True)
class Found:
    """A row of Table 1: the frames of a specification."""

    name: str
    frames: int
    average: float
    share: float


def run(spark: SparkSession, quick: bool) -> Report:
    readings = day(spark)
    found = [counted(readings, name) for name in SPECIFICATIONS]
    times: dict[tuple[int, str], float] = {}
    sizes: dict[int, int] = {}
    for count in QUICK_DETECTORS if quick else DETECTORS:
        rows = of_detectors(readings, count).repartition(2).cache()
        sizes[count] = rows.count()
        taken = medians(printed(turns(contestants(rows), pause=1)))
        times |= {(count, name): seconds for name, seconds in taken.items()}
        rows.unpersist()
    return report(found, sizes, times)


def day(spark: SparkSession) -> DataFrame:
    """The readings that have a speed."""
    reader = spark.read.option("header", True).option("timestampFormat", "yyyy-MM-dd HH:mm:ssX")
    rows = reader.schema(SCHEMA).csv(str(DAY)).where("speed IS NOT NULL")
    return rows.select("detectorid", "starttime", "speed")


def of_detectors(readings: DataFrame, count: int) -> DataFrame:
    """The readings of the first detectors, by their number."""
    first = readings.select("detectorid").distinct().orderBy("detectorid").limit(count)
    return readings.join(F.broadcast(first), "detectorid", "left_semi")


def framed(readings: DataFrame, name: str) -> DataFrame:
    stream = mt.stream(readings, on="starttime", by="detectorid")
    return stream.frames(mt.threshold(SPECIFICATIONS[name]), min_duration=LEAST).df


def windowed(readings: DataFrame, name: str) -> DataFrame:
    """The frame-like query, with Muntin's windows."""
    stream = mt.stream(readings, on="starttime", by="detectorid")
    results = stream.window(range=LEAST, slide=EVERY).agg("min(speed) AS lo", "max(speed) AS hi")
    return results.where(ALL_SATISFY[name])


def windowed_by_spark(readings: DataFrame, name: str) -> DataFrame:
    """The frame-like query, with Spark's windows."""
    windows = readings.groupBy("detectorid", F.window("starttime", LEAST, EVERY))
    results = windows.agg(F.min("speed").alias("lo"), F.max("speed").alias("hi"))
    return results.where(ALL_SATISFY[name])


def counted(readings: DataFrame, name: str) -> Found:
    """A row of Table 1, for frames of any length as in the paper."""
    stream = mt.stream(readings, on="starttime", by="detectorid")
    frames = stream.frames(mt.threshold(SPECIFICATIONS[name])).df
    row = frames.agg(F.count("*"), F.avg("n"), F.sum("n")).first()
    assert row is not None
    return Found(name, row[0], row[1], row[2] / readings.count())


def contestants(rows: DataFrame) -> dict[str, Callable[[], object]]:
    """The base cost, and each query for each specification."""
    racing: dict[str, Callable[[], object]] = {READ: draining(lambda: rows)}
    for name in SPECIFICATIONS:
        racing[f"{name}, {FRAMES}"] = draining(framed, rows, name)
        racing[f"{name}, {WINDOWS}"] = draining(windowed, rows, name)
        racing[f"{name}, {SPARK_WINDOWS}"] = draining(windowed_by_spark, rows, name)
    return racing


def report(
    found: Sequence[Found], sizes: Mapping[int, int], times: Mapping[tuple[int, str], float]
) -> Report:
    about = (
        "The paper's Table 1 and Figure 10 on one day of readings of 69 freeway detectors, from "
        f"Spark's cache. The table counts frames of any length. The times are for frames of at "
        f"least {LEAST}, and for the query with windows that comes near to them: a window of "
        f"{LEAST} that ends every {EVERY}, of which those stay whose readings all satisfy the "
        "predicate. Such windows still have to be put together to frames, which is not in their "
        "time. Medians of three."
    )
    return Report(
        name="frame_figure10",
        title="Frames of three lengths on a freeway",
        about=about,
        tables=[of_frames(found), of_times(sizes, times)],
        targets=[],
        chart=drawn(sizes, times),
    )


def of_frames(found: Sequence[Found]) -> Table:
    rows = [
        [
            f"{f.name} ({SPECIFICATIONS[f.name]})",
            f"{f.frames:,}",
            f"{f.average:.1f}",
            f"{f.share:.1%}",
        ]
        for f in found
    ]
    return Table(["frames", "number", "rows each", "rows in frames"], rows, "Table 1:")


def of_times(sizes: Mapping[int, int], times: Mapping[tuple[int, str], float]) -> Table:
    ways = list(dict.fromkeys(way for _, way in times))
    rows = [[way, *(f"{times[count, way]:.2f}" for count in sizes)] for way in ways]
    return Table(["seconds", *(f"{rows:,} rows" for rows in sizes.values())], rows, "Figure 10:")


def drawn(sizes: Mapping[int, int], times: Mapping[tuple[int, str], float]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"rows": sizes[count], "length": length, "query": query, "seconds": seconds}
            for (count, way), seconds in times.items()
            for length, _, query in [way.partition(", ")]
            if query
        ]
    )
    base = pd.DataFrame([{"rows": sizes[c], "seconds": times[c, READ]} for c in sizes])
    axis = alt.X("rows:Q", title="readings")
    lines = (
        alt.Chart(points)
        .mark_line(point=True)
        .encode(
            x=axis,
            y=alt.Y("seconds:Q"),
            color=alt.Color("query:N", title=None),
            strokeDash=alt.StrokeDash("length:N", title="frames"),
        )
    )
    reading = alt.Chart(base).mark_line(color="#888888", strokeDash=[2, 3])
    layers = alt.layer(lines, reading.encode(x=axis, y="seconds:Q"))
    return layers.properties(width=520, height=320)
