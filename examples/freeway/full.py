"""A day on a freeway: average speeds in windows, and frames of the times in which traffic was slow.

``quick.py`` is the short version. Run this one with ``make demo``. It simulates the detectors of a
freeway, streams their readings through Spark on this machine, and shows the results of windows:
rush hours that spread upstream, incidents, and readings that came too late to count. Then it looks
for frames in the averages: how long every station was congested.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table

import muntin as mt
from muntin.simulate.freeway import MILES_APART, Freeway, Incident

#: Two files to a micro-batch, so that both cores of a small machine have one to read.
FILES, FILES_PER_BATCH = 28, 2
#: Traffic below this is slow.
SLOW_MPH = 45
#: Traffic that is slow for this long is congested.
CONGESTED = "15 minutes"
#: Of the picture, in pixels.
WIDTH, STATION_HEIGHT = 864, 16


class Kept:
    """The rows of every micro-batch, in the driver, where they can be shown at once."""

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}

    def take(self, rows: DataFrame, number: int) -> None:
        # A micro-batch that is repeated after a failure replaces its first attempt.
        self.tables[number] = rows.toArrow()

    def frame(self) -> pd.DataFrame:
        frame: pd.DataFrame = pa.concat_tables(self.tables.values()).to_pandas()
        return frame

    def newest(self) -> str:
        """The end of the newest window, as a time of day."""
        # A copy, because the query's thread may add a table meanwhile.
        tables = [*self.tables.values()]
        ends = [table["window_end"].to_numpy().max() for table in tables if table]
        return f"{pd.Timestamp(max(ends)):%H:%M}" if ends else "--:--"


def main() -> None:
    options = parse()
    began = time.monotonic()
    console = Console(highlight=False)
    # Incidents are as frequent in a few hours as on the whole day.
    incidents = max(1, round(options.hours / 6))
    freeway = Freeway(hours=options.hours, seed=options.seed, incidents=incidents)
    windows, refused = Kept(), Kept()
    options.output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="muntin-") as name:
        folder = Path(name)
        with console.status("Starting Spark"):
            rows = write_files(freeway, folder / "readings")
            with errors_to(options.output / "spark.log"):
                spark = start_spark(folder)
        try:
            query = start_query(averages(spark, folder), folder, windows, refused)
            counts = watch(query, folder, rows, windows, console)
            results = windows.frame()
            with console.status("Looking for congestion"):
                periods, chart = congestion(spark, results, options.output)
        finally:
            spark.stop()
    console.print(slowest_stations(results), incidents_seen(results, freeway.happened))
    console.print(longest_periods(periods))
    console.print(counts_text(counts, refused.frame()))
    with console.status("Drawing"):
        paths = draw(results, freeway, options.output)
    console.print(f"Pictures: {', '.join(map(str, [*paths, chart]))}")
    console.print(f"Done in {time.monotonic() - began:.0f} s")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Stream a simulated freeway through Spark.")
    parser.add_argument("--hours", type=float, default=24, help="how long, from midnight (24)")
    parser.add_argument("--seed", type=int, default=7, help="another seed is another day (7)")
    parser.add_argument(
        "--output", type=Path, default=Path("demo-output"), help="for the pictures (demo-output)"
    )
    return parser.parse_args()


def write_files(freeway: Freeway, folder: Path) -> int:
    """Write the readings as files in the order in which they arrived; return how many there are."""
    folder.mkdir()
    rows = 0
    for number, piece in enumerate(freeway.batches(FILES)):
        path = folder / f"{number:03d}.parquet"
        pq.write_table(piece, path)
        # Spark sorts files by their times, which may be equal for quick writes.
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        rows += piece.num_rows
    return rows


@contextmanager
def errors_to(path: Path) -> Iterator[None]:
    """Send what processes started in this context write to standard error to a file.

    Spark's start and its Python workers write there, across the line that shows the progress.
    """
    usual = os.dup(2)
    try:
        with path.open("w") as log:
            os.dup2(log.fileno(), 2)
        yield
    except Exception as error:
        error.add_note(f"What Spark wrote is in {path}")
        raise
    finally:
        os.dup2(usual, 2)
        os.close(usual)


def start_spark(folder: Path) -> SparkSession:
    """Start Spark on this machine, with the settings that Muntin's streams need."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[*]")
        .appName("freeway")
        # The JVM's second compiler does not pay off in so short a run.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
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


def averages(spark: SparkSession, folder: Path) -> mt.Plan:
    """Return five-minute averages of every station, every minute."""
    files = str(folder / "readings")
    readings = (
        spark.readStream.schema(spark.read.parquet(files).schema)
        .option("maxFilesPerTrigger", FILES_PER_BATCH)
        .parquet(files)
    )
    traffic = mt.stream(
        readings,
        on="ts",
        by="station",
        disorder=mt.slack("1 minute"),
        control=mt.control(spark, folder / "control"),
    )
    return traffic.window(range="5 minutes", slide="1 minute").plan(
        "avg(speed) AS speed", "sum(volume) AS volume", "count(*) AS readings"
    )


def start_query(plan: mt.Plan, folder: Path, windows: Kept, refused: Kept) -> StreamingQuery:
    query = mt.write(
        plan, results=windows.take, refused=refused.take, checkpoint=folder / "checkpoint"
    )
    assert query is not None  # only a plan over a batch has none
    return query


def watch(
    query: StreamingQuery, folder: Path, rows: int, windows: Kept, console: Console
) -> dict[str, int]:
    """Follow the query until all rows are done and all windows closed; return its counts."""
    with progress_line(console) as line:
        task = line.add_task("", total=rows, rate=0, windows=0, late=0, newest=windows.newest())
        for counts, seconds in watched(query, rows):
            show(line, task, counts, seconds, windows)
        # The last windows wait for rows that will not come: end the stream.
        mt.end(folder / "control")
        query.processAllAvailable()
        counts = mt.progress(query)
        show(line, task, counts, seconds, windows)
    query.stop()
    return counts


def watched(query: StreamingQuery, rows: int) -> Iterator[tuple[dict[str, int], float]]:
    """The counts of the query and the seconds since it started, until it has seen all rows."""
    started = time.monotonic()
    counts: dict[str, int] = {}
    while counts.get("rows_in", 0) < rows:
        time.sleep(0.2)
        if (failure := query.exception()) is not None:
            raise failure
        counts = mt.progress(query)
        yield counts, time.monotonic() - started


def progress_line(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(finished_text="✓"),
        BarColumn(bar_width=10),
        TextColumn(
            "{task.completed:,} rows · {task.fields[rate]:,} rows/s · {task.fields[windows]:,} "
            "windows to {task.fields[newest]} · {task.fields[late]:,} late"
        ),
        console=console,
    )


def show(
    line: Progress, task: TaskID, counts: Mapping[str, int], seconds: float, windows: Kept
) -> None:
    rows = counts.get("rows_in", 0)
    line.update(
        task,
        completed=rows,
        rate=round(rows / seconds),
        windows=counts.get("results", 0),
        late=counts.get("late", 0),
        newest=windows.newest(),
    )


def congestion(
    spark: SparkSession, results: pd.DataFrame, folder: Path
) -> tuple[pd.DataFrame, Path]:
    """Frames: when each station was congested, and a picture of the three that were for longest."""
    speeds = spark.createDataFrame(results[["station", "window_end", "speed"]])
    slow = mt.stream(speeds, on="window_end", by="station", schedule="1 minute").frames(
        mt.threshold(f"speed < {SLOW_MPH}"), min_duration=CONGESTED, missing="carry"
    )
    found = slow.agg("avg(speed) AS mph", "min(speed) AS worst").toPandas()
    lasting = (found.frame_end - found.frame_start).groupby(found.station).sum()
    chart = folder / "congestion.png"
    slow.plot(
        "speed",
        frames=found,
        key=sorted(lasting.nlargest(3).index) or None,
        path=chart,
        width=WIDTH,
        height=90,
        limit=3,
        title=f"Below {SLOW_MPH} mph for {CONGESTED} and more",
    )
    return found, chart


def longest_periods(periods: pd.DataFrame) -> Table:
    """The five longest frames of all stations."""
    table = Table(title=f"{len(periods)} congestion periods, the longest", title_justify="left")
    for heading in ("station", "from", "to", "minutes", "mph", "mph at worst"):
        table.add_column(heading, justify="left" if heading == "station" else "right")
    minutes = (periods.frame_end - periods.frame_start).dt.total_seconds() / 60
    for _, period in periods.assign(minutes=minutes).nlargest(5, "minutes").iterrows():
        table.add_row(
            str(period.station),
            f"{period.frame_start:%H:%M}",
            f"{period.frame_end:%H:%M}",
            f"{period.minutes:.0f}",
            f"{period.mph:.1f}",
            f"{period.worst:.1f}",
        )
    return table


def slowest_stations(results: pd.DataFrame) -> Table:
    """The five stations that were slow for longest, and their slowest window."""
    table = Table(title="Slowest stations", title_justify="left")
    for heading in ("station", "minutes slow", "slowest window", "mph", "vehicles/h"):
        table.add_column(heading, justify="left" if heading == "station" else "right")
    slow = results[results.speed < SLOW_MPH]
    for station, minutes in slow.station.value_counts().head(5).items():
        worst = slow.loc[slow[slow.station == station].speed.idxmin()]
        table.add_row(
            str(station),
            str(minutes),
            f"{worst.window_start:%H:%M} - {worst.window_end:%H:%M}",
            f"{worst.speed:.1f}",
            f"{12 * worst.volume:,}",
        )
    return table


def incidents_seen(results: pd.DataFrame, incidents: Sequence[Incident]) -> Table:
    """What was simulated, and the end of the first window of the station that showed it."""
    table = Table(title="Incidents", title_justify="left")
    for heading in ("station", "from", "minutes", "mph before", "mph at worst", "first seen"):
        table.add_column(heading, justify="left" if heading == "station" else "right")
    for incident in incidents:
        here = results[results.station == incident.station].set_index("window_end").speed
        here = here.sort_index()
        start = pd.Timestamp(incident.start)
        before = here[:start]
        during = here[start : start + pd.Timedelta(minutes=incident.minutes)]
        table.add_row(
            incident.station,
            f"{start:%H:%M}",
            str(incident.minutes),
            f"{before.iloc[-1]:.1f}" if len(before) else "",
            f"{during.min():.1f}",
            first_slow(during),
        )
    return table


def first_slow(speeds: pd.Series[float]) -> str:
    """When traffic became slow, if it was not slow from the beginning."""
    slow = speeds[speeds < SLOW_MPH]
    if slow.empty:
        return "not"
    return "slow already" if slow.index[0] == speeds.index[0] else f"{slow.index[0]:%H:%M}"


def counts_text(counts: Mapping[str, int], refused: pd.DataFrame) -> str:
    text = (
        f"{counts['rows_in']:,} rows in = {counts['rows_used']:,} used "
        f"+ {counts['rows_refused']:,} refused; {counts['results']:,} windows"
    )
    if refused.empty:
        return text
    minutes = refused.lateness.max() / pd.Timedelta(minutes=1)
    return f"{text}\nThe latest of the refused rows came {minutes:.0f} minutes too late"


def draw(results: pd.DataFrame, freeway: Freeway, folder: Path) -> list[Path]:
    """The speeds of the day as a picture, and as a page that needs no network."""
    # Windows overlap: those that end every five minutes cover the day once.
    once = results[results.window_end.dt.minute % 5 == 0]
    cells = once.window_end.nunique()
    # A whole number of pixels to a cell, or thin lines would show between them.
    width = cells * max(1, WIDTH // cells)
    chart = (
        alt.vconcat(speed_map(once, freeway, width), flow(once, width), spacing=10)
        .resolve_scale(x="shared")
        .configure(padding={"left": 8, "top": 10, "right": 16, "bottom": 8})
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_legend(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_title(fontSize=18, subtitleFontSize=13, anchor="start", offset=12)
    )
    picture, page = folder / "freeway.png", folder / "freeway.html"
    chart.save(picture)
    chart.save(page, inline=True)
    return [picture, page]


def speed_map(once: pd.DataFrame, freeway: Freeway, width: int) -> alt.LayerChart:
    """Milepost by time of day; the colour is the speed."""
    places = once.station.map(freeway.mileposts)
    cells = once.assign(
        low=places - MILES_APART / 2, high=places + MILES_APART / 2, speed=once.speed.round(1)
    )
    # Red is a queue and blue is free flow, which most who do not see all colours tell apart.
    colours = alt.Scale(
        domain=[10, 25, 40, 52, 60, 70],
        range=["#8e0b26", "#dd3d2d", "#f99b5a", "#fee3a0", "#d5ebf1", "#8cc0da"],
        interpolate="rgb",
        clamp=True,
    )
    height = STATION_HEIGHT * freeway.stations
    legend = alt.Legend(gradientLength=height, values=[*range(10, 71, 10)], offset=12)
    title = alt.Title(
        "A day on the freeway, in five-minute windows",
        subtitle="Average speed by place and time. Traffic drives upwards, queues grow downwards.",
    )
    drawn = alt.Chart(cells, width=width, height=height, title=title).mark_rect()
    speeds = drawn.encode(
        x=time_of_day("window_start", labels=False),
        x2="window_end",
        y=alt.Y("low:Q", title="milepost", scale=alt.Scale(zero=False, nice=False)),
        y2="high",
        color=alt.Color("speed:Q", title="mph", scale=colours, legend=legend),
        tooltip=["station", "window_start", "window_end", "speed", "volume", "readings"],
    )
    return alt.LayerChart(layer=[speeds, *incident_marks(freeway.happened)])


def incident_marks(incidents: Sequence[Incident]) -> list[alt.Chart]:
    """A ring where an incident began, and its time on a white edge."""
    rows = [
        {"start": i.start, "milepost": i.milepost, "label": f"incident {i.start:%H:%M}"}
        for i in incidents
    ]
    where = alt.Chart(pd.DataFrame(rows)).encode(
        x=time_of_day("start", labels=False), y=alt.Y("milepost:Q", title="milepost")
    )
    labelled = where.encode(text="label:N")
    return [
        labelled.mark_text(align="right", dx=-9, fontSize=12, stroke="white", strokeWidth=3),
        labelled.mark_text(align="right", dx=-9, fontSize=12),
        where.mark_point(size=60, stroke="black", strokeWidth=1.5, fill="white", opacity=1),
    ]


def flow(once: pd.DataFrame, width: int) -> alt.Chart:
    """How many vehicles pass a station in an hour, on average over the stations."""
    passing = (12 * once.groupby("window_start").volume.mean()).rename("vehicles").reset_index()
    area: alt.Chart = (
        alt.Chart(passing, width=width, height=70)
        .mark_area(color="#cfd8dc", line={"color": "#78909c", "strokeWidth": 1.5})
        .encode(
            x=time_of_day("window_start"),
            y=alt.Y("vehicles:Q", title="vehicles/h", axis=alt.Axis(tickCount=3)),
        )
    )
    return area


def time_of_day(column: str, *, labels: bool = True) -> alt.X:
    axis = alt.Axis(format="%H:%M", labels=labels, grid=False, tickCount=8)
    return alt.X(f"{column}:T", title=None, scale=alt.Scale(type="utc"), axis=axis)


if __name__ == "__main__":
    main()
