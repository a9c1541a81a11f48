"""A traffic desk: six people ask different questions of one freeway, and it is read once.

``quick.py`` is the short version. Run this one with ``python examples/traffic_desk/full.py``. The
readings of some hours come as files. Three people have questions from the start; three come later
and first want to know what they missed. One changes her question, one pauses his, and in between
the engine is stopped and started again. At the end everybody's answers are shown, and what they
shared.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import muntin as mt
from muntin.simulate.freeway import Freeway

#: Files that arrive, and after how many of them something happens.
FILES = 8
LATER, CHANGED, RESTARTED = 2, 4, 6


@dataclass(frozen=True)
class Question:
    """Who asks what; those who come later start with history."""

    owner: str
    name: str
    text: str
    later: bool = False


QUESTIONS = (
    Question(
        "ada",
        "speeds",
        "SELECT station, window_end, avg(speed) AS mph "
        "FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE] WHERE lane < 3 GROUP BY station",
    ),
    Question(
        "bo",
        "vehicles",
        "SELECT station, window_end, sum(volume) AS vehicles "
        "FROM traffic [TUMBLING 10 MINUTES] GROUP BY station",
    ),
    Question(
        "chen",
        "crawling",
        "SELECT ts, detector, speed FROM traffic WHERE speed < 12 AND volume > 0",
    ),
    Question(
        "dina",
        "jams",
        "SELECT station, frame_start, frame_end, min(speed) AS slowest "
        "FROM traffic [FRAME THRESHOLD speed < 40 LASTING 3 MINUTES TIES MEAN]",
        later=True,
    ),
    Question(
        "eve",
        "trucks",
        "SELECT lane, window_end, max(occupancy) AS fullest "
        "FROM traffic [RANGE 15 MINUTES SLIDE 5 MINUTES] GROUP BY lane",
        later=True,
    ),
    Question(
        "finn",
        "recent",
        "SELECT station, window_end, on_end, avg(speed) AS mph "
        "FROM traffic [ROWS 30 SLIDE 15 TIEBREAK detector] GROUP BY station",
        later=True,
    ),
)
#: What ada asks after some time: the same over ten minutes.
WIDER = QUESTIONS[0].text.replace("RANGE 5", "RANGE 10")


def main() -> None:
    options = parse()
    console = Console(highlight=False)
    with TemporaryDirectory(prefix="muntin-") as name:
        folder = Path(name)
        with console.status("Starting Spark"):
            spark = start_spark(folder)
        try:
            with console.status("The desk is open"):
                rows = Freeway(hours=options.hours, stations=6, seed=options.seed, very_late=0)
                desk = day(spark, list(rows.batches(FILES)), folder)
            with desk:
                console.print(answered(desk), shared(desk))
        finally:
            spark.stop()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Six people ask questions of one freeway.")
    parser.add_argument("--hours", type=float, default=2, help="how long, from midnight (2)")
    parser.add_argument("--seed", type=int, default=7, help="another seed is another day (7)")
    return parser.parse_args()


def start_spark(folder: Path) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    mt.configure(spark)
    return spark


def opened(spark: SparkSession, folder: Path) -> mt.Engine:
    """Return the engine of the desk, new or as it was."""
    desk = mt.Engine(spark, folder / "home")
    rows = mt.parquet(spark, str(folder / "readings"), streaming=True)
    slack = mt.slack("1 minute")
    desk.stream("traffic", rows, on="ts", by="station", disorder=slack, keep="12 hours")
    return desk


def day(spark: SparkSession, pieces: Sequence[pa.Table], folder: Path) -> mt.Engine:
    """Let all readings arrive, and people come, change, pause and resume; return the engine."""
    (folder / "readings").mkdir()
    arrive(pieces, 0, folder)
    desk = opened(spark, folder)
    ask(desk, [question for question in QUESTIONS if not question.later])
    desk.start()
    for number in range(1, len(pieces)):
        desk.process_available()
        if number == LATER:
            ask(desk, [question for question in QUESTIONS if question.later])
        if number == CHANGED:
            desk["speeds"].change(WIDER)
            desk["crawling"].pause()
        if number == RESTARTED:
            desk["crawling"].resume().wait()
            desk.stop()
            desk = opened(spark, folder)
            desk.start()
        arrive(pieces, number, folder)
    desk.process_available()
    desk.end("traffic")
    desk.process_available()
    return desk


def ask(desk: mt.Engine, questions: Sequence[Question]) -> None:
    for asked in questions:
        start = "history" if asked.later else "now"
        desk.register(asked.name, asked.text, owner=asked.owner, start=start)


def arrive(pieces: Sequence[pa.Table], number: int, folder: Path) -> None:
    """Write a file; it appears whole, since the stream looks for files all the time."""
    hidden = folder / "readings" / f".{number}"
    pq.write_table(pieces[number], hidden)
    hidden.rename(folder / "readings" / f"{number:03d}.parquet")


def answered(desk: mt.Engine) -> Table:
    """Return how many answers everybody has, and the last of them."""
    table = Table("who", "query", "generation", "answers", "not complete", "the last", box=None)
    for record in desk.queries():
        answers = desk[record.id].results()
        incomplete = answers.num_rows - sum(answers["complete"].to_pylist())
        last = answers.slice(max(answers.num_rows - 1, 0)).drop_columns(["complete", "micro_batch"])
        shown = ", ".join(str(value) for row in last.to_pylist() for value in row.values())
        counts = (record.generation, answers.num_rows, incomplete)
        table.add_row(record.owner, record.name, *map(str, counts), shown)
    return table


def shared(desk: mt.Engine) -> Table:
    """Return what runs for the queries."""
    table = Table("what runs", "for", box=None)
    for part in desk.stream_of("traffic").shared():
        table.add_row(part.kind, ", ".join(part.queries))
    return table


if __name__ == "__main__":
    main()
