"""A day on a freeway: the average speed of five minutes at every station, every minute.

Run it with ``make demo``. It simulates the detectors of a freeway, streams their readings through
Spark on this machine, and shows what the windows saw: rush hours that spread upstream, incidents,
and readings that came too late to count.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table

import muntin as mt
from muntin.simulate.freeway import MILES_APART, Freeway, Incident

#: Two files to a micro-batch, so that both cores of a small machine have one to read.
FILES, FILES_PER_BATCH = 28, 2
#: Traffic below this is slow.
SLOW_MPH = 45
#: Of the pictures, in points.
WIDTH = 864


class Kept:
    """The result rows of every micro-batch, in the driver, where they can be shown at once."""

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
        ends = [table["window_end"].to_numpy().max() for table in self.tables.values() if table]
        return f"{pd.Timestamp(max(ends)):%H:%M}" if ends else "--:--"


def main() -> None:
    options = parse()
    began = time.monotonic()
    console = Console(highlight=False)
    # Incidents as often as on the whole day, also when only some hours are asked for.
    incidents = max(1, round(options.hours / 6))
    freeway = Freeway(hours=options.hours, seed=options.seed, incidents=incidents)
    windows = Kept()
    with TemporaryDirectory(prefix="muntin-") as name:
        folder = Path(name)
        with console.status("Starting Spark"):
            rows = write_files(freeway, folder / "readings")
            spark = start_spark(folder)
        try:
            counts = stream(spark, folder, rows, windows, console)
        finally:
            spark.stop()
        refused = pq.read_table(folder / "refused").to_pandas()
    results = windows.frame()
    console.print(slowest_stations(results), incidents_seen(results, freeway.happened))
    console.print(counts_text(counts, refused))
    with console.status("Drawing"):
        paths = draw(results, freeway, options.output)
    console.print(f"Pictures: {', '.join(map(str, paths))}")
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
    """Write the readings as files in the order in which they arrived; how many there are."""
    folder.mkdir()
    rows = 0
    for number, piece in enumerate(freeway.batches(FILES)):
        path = folder / f"{number:03d}.parquet"
        pq.write_table(piece, path)
        # Spark takes files in the order of their times, which may be equal for quick writes.
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        rows += piece.num_rows
    return rows


def start_spark(folder: Path) -> SparkSession:
    """Spark on this machine, with what Muntin's streams need."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[*]")
        .appName("freeway")
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
    """Five-minute averages of every station, every minute."""
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


def stream(
    spark: SparkSession, folder: Path, rows: int, windows: Kept, console: Console
) -> dict[str, int]:
    """Run the query until all rows are through it and all windows closed; its counts."""
    query = mt.write(
        averages(spark, folder),
        results=windows.take,
        refused=folder / "refused",
        checkpoint=folder / "checkpoint",
    )
    assert query is not None  # a plan on a stream has a query
    with progress_line(console) as line:
        task = line.add_task("", total=rows, windows=0, late=0, newest=windows.newest(), rate=0)
        for counts, seconds in watched(query, rows):
            show(line, task, counts, seconds, windows)
        # The last windows wait for rows that will not come: tell them so.
        mt.end(folder / "control")
        query.processAllAvailable()
        counts = mt.progress(query)
        show(line, task, counts, seconds, windows)
    query.stop()
    return counts


def watched(query: StreamingQuery, rows: int) -> Iterator[tuple[Mapping[str, int], float]]:
    """The counts of the query and the seconds since it started, until it has seen all rows."""
    started = time.monotonic()
    counts: Mapping[str, int] = {}
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
    """What was simulated, and when the first window of the station showed it."""
    table = Table(title="Incidents", title_justify="left")
    for heading in ("station", "from", "minutes", "mph before", "mph at worst", "first seen"):
        table.add_column(heading, justify="left" if heading == "station" else "right")
    for incident in incidents:
        here = results[results.station == incident.station].set_index("window_end").speed
        start = pd.Timestamp(incident.start)
        before = here[:start]
        during = here[start : start + pd.Timedelta(minutes=incident.minutes)]
        seen = during[during < SLOW_MPH]
        table.add_row(
            incident.station,
            f"{start:%H:%M}",
            str(incident.minutes),
            f"{before.iloc[-1]:.1f}" if len(before) else "",
            f"{during.min():.1f}",
            f"{seen.index[0]:%H:%M}" if len(seen) else "not",
        )
    return table


def counts_text(counts: Mapping[str, int], refused: pd.DataFrame) -> str:
    text = (
        f"{counts['rows_in']:,} rows in = {counts['rows_used']:,} used "
        f"+ {counts['rows_refused']:,} refused; {counts['results']:,} windows"
    )
    if refused.empty:
        return text
    return f"{text}\nThe latest refused row came {refused.lateness.max()} behind the punctuation"


def draw(results: pd.DataFrame, freeway: Freeway, folder: Path) -> list[Path]:
    """The speeds of the day as a picture and as a page that needs no network."""
    folder.mkdir(parents=True, exist_ok=True)
    # Windows overlap: those that end every five minutes cover the day once.
    panes = results[results.window_end.dt.minute % 5 == 0]
    speeds = speed_map(panes, freeway)
    chart = (
        alt.vconcat(speeds, flow(panes), spacing=12)
        .resolve_scale(x="shared")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_title(fontSize=17, subtitleFontSize=13, anchor="start", offset=14)
    )
    picture, page = folder / "freeway.png", folder / "freeway.html"
    chart.save(picture)
    chart.save(page, inline=True)
    return [picture, page]


def speed_map(panes: pd.DataFrame, freeway: Freeway) -> alt.LayerChart:
    """Milepost by time of day; the colour is the speed."""
    places = panes.station.map(freeway.mileposts)
    cells = panes.assign(
        low=places - MILES_APART / 2, high=places + MILES_APART / 2, speed=panes.speed.round(1)
    )
    # Red is a queue, blue is free flow: told apart also by those who do not see red or green.
    colours = alt.Scale(
        domain=[10, 25, 40, 52, 60, 68],
        range=["#8e0b26", "#dd3d2d", "#f99b5a", "#fee3a0", "#d5ebf1", "#9ccbe0"],
        interpolate="rgb",
        clamp=True,
    )
    title = alt.Title(
        "A day on the freeway, in five-minute windows",
        subtitle="Average speed by place and time. Traffic drives upwards, queues grow downwards.",
    )
    drawn = alt.Chart(cells, width=WIDTH, height=384, title=title).mark_rect()
    speeds = drawn.encode(
        x=time_of_day("window_start"),
        x2="window_end",
        y=alt.Y("low:Q", title="milepost", scale=alt.Scale(zero=False, nice=False)),
        y2="high",
        color=alt.Color(
            "speed:Q", title="mph", scale=colours, legend=alt.Legend(gradientLength=384)
        ),
        tooltip=["station", "window_start", "window_end", "speed", "volume", "readings"],
    )
    return speeds + incident_marks(freeway.happened)


def incident_marks(incidents: Sequence[Incident]) -> alt.LayerChart:
    """A ring where an incident began, with its name."""
    rows = [
        {"start": i.start, "milepost": i.milepost, "label": f"incident {i.start:%H:%M}"}
        for i in incidents
    ]
    where = alt.Chart(pd.DataFrame(rows)).encode(
        x=time_of_day("start"), y=alt.Y("milepost:Q", title="milepost")
    )
    ring = where.mark_point(size=60, stroke="black", strokeWidth=1.5, fill="white", opacity=1)
    text = where.encode(text="label:N").mark_text(align="right", dx=-9, fontSize=12)
    return ring + text


def flow(panes: pd.DataFrame) -> alt.Chart:
    """How many vehicles pass a station in an hour, on average over the stations."""
    passing = (12 * panes.groupby("window_start").volume.mean()).rename("vehicles").reset_index()
    drawn = alt.Chart(passing, width=WIDTH, height=70).mark_area(color="#90a4ae", line=True)
    return drawn.encode(
        x=time_of_day("window_start"),
        y=alt.Y("vehicles:Q", title="vehicles/h", axis=alt.Axis(tickCount=3)),
    )


def time_of_day(column: str) -> alt.X:
    return alt.X(
        f"{column}:T",
        title=None,
        scale=alt.Scale(type="utc"),
        axis=alt.Axis(format="%H:%M", tickCount=12, grid=False),
    )


if __name__ == "__main__":
    main()
