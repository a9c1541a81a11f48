"""An engine that stops at a step of a commit and waits to be killed.

Arguments: the folder with the readings and the home, and where it stops: ``answers:2`` stops in
micro-batch 2 before its answers are written. The steps are those of a commit in their order:
``answers``, ``acknowledge``, ``keep``, ``pin`` and ``committed``. Each run registers two more
queries that start with history, one from kept rows and one from base panes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.engine_stream import EngineStream
from muntin.engine.result_log import ResultLog
from muntin.spark.exchange.pinned_versions import VersionFiles
from tests.sessions import configured, warm

SCHEMA = "ts TIMESTAMP, station STRING, lane INT, speed DOUBLE"
WINDOWS = (
    "SELECT station, window_end, count(*) AS n, sum(speed) AS v "
    "FROM traffic [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY station"
)
#: The same rows, but base panes do not know that: it is filled from kept rows.
FROM_ROWS = WINDOWS.replace("GROUP BY", "WHERE lane < 9 GROUP BY")
FRAMES = (
    "SELECT station, frame_start, frame_end, count(*) AS n "
    "FROM traffic [FRAME THRESHOLD speed < 30]"
)
CHOSEN = "SELECT ts, speed FROM traffic WHERE speed < 20"
ALWAYS = {"windows": WINDOWS, "frames": FRAMES, "chosen": CHOSEN}


def desk(spark: SparkSession, root: Path) -> mt.Engine:
    """Return the engine with its stream and the queries that are always there."""
    engine = mt.Engine(spark, root / "desk")
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    engine.stream(
        "traffic",
        rows.json(str(root / "readings")),
        "ts",
        "station",
        mt.slack("5 seconds"),
        keep="1 hour",
        grain="10 seconds",
    )
    for name, text in ALWAYS.items():
        if name not in engine:
            engine.register(name, text)
    return engine


def waits_at(root: Path, step: str, batch: int) -> None:
    """Let the engine wait where a step of a commit begins."""
    steps: dict[str, tuple[type[Any], str, int]] = {
        "answers": (ResultLog, "write", 0),
        "acknowledge": (EngineStream, "_acknowledge", 1),
        "keep": (EngineStream, "_keep", 0),
        "pin": (VersionFiles, "pin", 0),
    }
    owner, name, place = steps[step]
    real = getattr(owner, name)

    def waiting(self: object, *arguments: Any) -> Any:
        number = arguments[place] - (step == "pin")
        if number == batch:
            (root / f"stopped-{step}").touch()
            time.sleep(600)
        return real(self, *arguments)

    setattr(owner, name, waiting)


def main(root: Path, stop: str) -> None:
    step, batch = stop.split(":")
    spark = warm(configured(SparkSession.builder.master("local[2]"))).getOrCreate()
    waits_at(root, step, int(batch))
    with desk(spark, root) as engine:
        engine.start()
        engine.register(f"late {step}", FROM_ROWS, start="history")
        engine.register(f"paned {step}", WINDOWS, start="history")
        engine.process_available()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
