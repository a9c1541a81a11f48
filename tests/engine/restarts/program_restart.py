"""An engine that stops somewhere in a restart of its stream and waits to be killed.

Arguments: the folder with the readings and the home, and where it stops: ``logged`` before the
restart, ``stopped`` between the two streaming queries, ``started`` when the new one has begun, and
``published`` when the version of the new query is written.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from muntin.engine.engine_stream import EngineStream
from tests.engine.program_desk import desk
from tests.sessions import configured, warm

#: Only Spark evaluates this.
SOUNDS = "SELECT ts, soundex(station) AS sound, speed FROM traffic WHERE soundex(station) = 'B000'"
CODED = (
    "SELECT station, window_end, sum(length(soundex(station))) AS v FROM traffic "
    "[RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY station"
)
STOPS = ("logged", "stopped", "started", "published")


def waits_at(root: Path, stop: str) -> None:
    """Let the engine wait where a step of a restart begins or ends."""
    owner: type[Any] = EngineStream
    name = {"logged": "restart", "stopped": "_run", "started": "_run"}.get(stop, "_write_version")
    real = getattr(owner, name)

    def waiting(self: EngineStream, *arguments: Any) -> Any:
        # The stream has begun before; only a restart has, or needs, columns that Spark prepares.
        if not (self.prepared.running or self.needs_restart):
            return real(self, *arguments)
        done = real(self, *arguments) if stop in ("started", "published") else None
        (root / f"stopped-{stop}").touch()
        time.sleep(600)
        return done

    setattr(owner, name, waiting)


def main(root: Path, stop: str) -> None:
    spark = warm(configured(SparkSession.builder.master("local[2]"))).getOrCreate()
    with desk(spark, root) as engine:
        engine.start()
        engine.process_available()
        waits_at(root, stop)
        engine.register("sounds", SOUNDS)
        engine.register("coded", CODED)
        time.sleep(600)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
