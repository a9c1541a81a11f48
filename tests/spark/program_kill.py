"""Streams that stop in the middle of a micro-batch and wait to be killed.

Arguments: the folder of a replay, the queries to run, the one to stop, the micro-batch to stop it
in (or -1), and whether to stop before or after its results are written. Queries run one after
the other. The
sink writes by micro-batch number, as careful sinks do.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import Replay
from tests.sessions import configured


def plans(stream: mt.Stream) -> dict[str, mt.Plan]:
    """One query for each kind of state."""
    tied = {"ties": "first", "tie_order": "v"}
    high, much = mt.threshold("v > -4"), mt.aggregate("sum(v) >= 10")
    return {
        "windows": stream.window(range=20, slide=7).plan("sum(v) AS total", "count(*) AS n"),
        "rows": stream.rows(range=5, slide=2, tiebreak="v").plan(
            "median(v) AS total", "count(*) AS n"
        ),
        "sessions": stream.session(gap=3).plan("sum(v) AS total", "count(*) AS n"),
        "synopses": stream.window(range=20, slide=7).plan(
            mt.approx_count("v", eps=0.001).alias("total"), mt.approx_count(eps=0.001).alias("n")
        ),
        "frames": stream.frames(high, fragments=5, **tied).plan(
            "sum(v) AS total", "count(*) AS rows"
        ),
        "filled": stream.frames(high, **tied)
        .fill(stream, before=4)
        .plan("sum(v) AS total", "count(*) AS n"),
        "overlapping": stream.frames(much, scheme="advancing", **tied).plan(
            "sum(v) AS total", "count(*) AS rows"
        ),
    }


def main(folder: Path, queries: list[str], stopped: str, stop_in: int, when: str) -> None:
    spark = configured(SparkSession.builder.master("local[2]")).getOrCreate()
    replay = Replay(spark, folder, pa.schema([]), "k STRING, x BIGINT, v DOUBLE", tasks=2)
    known = plans(replay.stream("x", "k", mt.slack(5), shards=4))
    for name in queries:
        done = folder / "queries" / name / "done"
        if not done.exists():
            run(done.parent, known[name], stop_in if name == stopped else -1, when)
            done.touch()


def run(folder: Path, plan: mt.Plan, stop_in: int, when: str) -> None:
    def sink(rows: DataFrame, number: int) -> None:
        def hang(moment: str) -> None:
            if number == stop_in and moment == when:
                (folder / "stopped").touch()
                time.sleep(600)

        rows.count()  # the stateful operator has run by now
        hang("before")
        rows.write.mode("overwrite").parquet(f"{folder}/results/batch={number}")
        hang("after")

    query = mt.write(
        plan,
        results=sink,
        refused=folder / "refused",
        checkpoint=folder / "checkpoint",
        trigger={"availableNow": True},
    )
    assert query is not None
    query.awaitTermination()


if __name__ == "__main__":
    folder, queries, stopped, stop_in, when = sys.argv[1:]
    main(Path(folder), queries.split(","), stopped, int(stop_in), when)
