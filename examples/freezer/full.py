"""Why was the freezer too warm? Warm periods, filled with door events and with the day before.

``quick.py`` is the short version. Run this one with ``python examples/freezer/full.py``. A reading
a minute says little about the time between two, so the periods have liberal bounds: from the last
cold reading before them to the first one after. One pass adds two things to each period: what the
door did, and how warm it was at the same time on the day before, since a freezer that defrosts is
warm every day.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import muntin as mt
from muntin.simulate.freezer import TOO_WARM, Freezers

#: How late rows may be. A batch does not need it.
DISORDER = mt.slack("150 seconds")


def warm(readings: DataFrame) -> mt.Frames:
    """Return periods in which a freezer may have been too warm; missing readings do not end one."""
    minutes = mt.stream(readings, on="ts", by="freezer", disorder=DISORDER, schedule="1 minute")
    return minutes.frames(
        mt.threshold(f"temperature > {TOO_WARM}"),
        min_duration="1 minute",
        bounds="liberal",
        missing="carry",
    )


def explained(frames: mt.Frames, doors: DataFrame) -> mt.Plan:
    """Return how warm it was, what the door did, and how warm it was a day before."""
    events = mt.stream(doors, on="ts", by="freezer", disorder=DISORDER)
    return mt.combine(
        frames.plan("max(temperature) AS warmest"),
        # If the first event closes the door, it was open when the period began.
        frames.fill(events).plan(
            "count_if(door = 'open') AS opened", "coalesce(first(door), '') = 'closed' AS was_open"
        ),
        frames.fill(shift="-1 day").plan("max(temperature) AS day_before"),
    )


def reason(row: pd.Series[Any]) -> str:
    """Return the reason of a period, from the door and the day before."""
    if row.was_open:
        return "the door was open"
    usual = pd.notna(row.day_before) and row.day_before > TOO_WARM
    return "as the day before" if usual else "not known"


def periods(frame_rows: pd.DataFrame) -> Table:
    """Return a table of the periods, by freezer."""
    table = Table(title=f"{len(frame_rows)} warm periods", title_justify="left")
    headings = ("freezer", "from", "to", "°F", "opened", "day before", "reason")
    for heading in headings:
        left = heading in ("freezer", "reason")
        table.add_column(heading, justify="left" if left else "right")
    for _, row in frame_rows.sort_values(["freezer", "frame_start"]).iterrows():
        before = "" if pd.isna(row.day_before) else f"{row.day_before:.1f}"
        table.add_row(
            row.freezer,
            f"{row.frame_start:%a %H:%M}",
            f"{row.frame_end:%H:%M}",
            f"{row.warmest:.1f}",
            f"{row.opened}",
            before,
            reason(row),
        )
    return table


def draw(frames: mt.Frames, frame_rows: pd.DataFrame, path: Path) -> None:
    """Draw the temperatures with the warm periods shaded; those with an open door have a label."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frames.plot(
        "temperature",
        frames=frame_rows.assign(door=frame_rows["was_open"].map({True: "open", False: ""})),
        label="door",
        path=path,
        width=820,
        height=110,
        title=f"Above {TOO_WARM:.0f} °F",
    )


def start_spark() -> SparkSession:
    """Start Spark on this machine; a batch needs no state store."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[*]")
        .appName("freezer")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Warm freezers, and what the door did.")
    parser.add_argument("--seed", type=int, default=7, help="another seed is other days (7)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo-output/freezer.svg"),
        help="the picture, .png, .svg or .html (demo-output/freezer.svg)",
    )
    options = parser.parse_args(arguments)
    console, freezers = Console(highlight=False), Freezers(seed=options.seed)
    with console.status("Starting Spark"):
        spark = start_spark()
    try:
        readings, doors = map(spark.createDataFrame, (freezers.readings(), freezers.doors()))
        with console.status("Looking for warm periods"):
            frames = warm(readings)
            frame_rows = explained(frames, doors).df.toPandas()
        console.print(periods(frame_rows))
        draw(frames, frame_rows, options.output)
    finally:
        spark.stop()
    console.print(f"Picture: {options.output}")


if __name__ == "__main__":
    main()
