"""Run in an environment that has the wheel and nothing else: windows, frames, a stream, SQL."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

import muntin as mt
from muntin.simulate.freeway import Freeway
from muntin.testing import replay


def main() -> None:
    spark = mt.local_session(zone="UTC")
    spark.sparkContext.setLogLevel("OFF")
    assert "site-packages" in str(Path(mt.__file__)), mt.__file__
    readings = spark.createDataFrame(Freeway(hours=1).readings())
    traffic = mt.stream(readings, on="ts", by="station")
    speeds = traffic.window(range="5 minutes", slide="1 minute").agg("avg(speed) AS speed")
    slow = traffic.frames(mt.threshold("speed < 45"), ties="mean").agg("count(*) AS n")
    asked = mt.sql("SELECT count(*) AS n FROM r [TUMBLING 1 HOUR WATTR ts]", r=readings)
    start = datetime(2026, 3, 2, 8)
    batches = [[{"ts": start + timedelta(seconds=40 * n), "v": n}] for n in range(8)]
    played = replay(spark, batches, "ts TIMESTAMP, v INT")
    counts = played.stream("ts", disorder=mt.ordered()).tumbling("1 minute").plan("count(*) AS n")
    in_stream = sum(row.n for row in played.play(counts).results)
    print(".".join(map(str, sys.version_info[:2])), spark.version)
    print(speeds.count() > 0, slow.count() > 0, asked.count() > 0, in_stream)


if __name__ == "__main__":
    main()
