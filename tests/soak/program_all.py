"""Streams of all operators that run until they are killed or have read all rows.

Arguments: the master of Spark, the folder of a replay, and the names of the queries. A file
``going`` appears when a first micro-batch has reached its sink. Sinks write by micro-batch number,
so that a repeated micro-batch replaces its results.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import muntin as mt
from muntin.testing import Replay
from tests.drivers.program_kill import begun
from tests.drivers.program_kill import plans as plans_of_kinds
from tests.sessions import configured

SCHEMA = "k STRING, x BIGINT, v DOUBLE"


def plans(stream: mt.Stream) -> dict[str, mt.Plan]:
    """Return a query for each operator."""
    tied = {"ties": "first", "tie_order": "v"}
    aggregates = ("sum(v) AS total", "count(*) AS n")
    high, rising = mt.threshold("v > -4"), mt.pattern("a b+", a="v > 0", b="v < 0")
    return {
        **plans_of_kinds(stream),
        "landmark": stream.landmark(slide=50, origin=0).plan(*aggregates),
        "latch": stream.latch(25).plan(*aggregates),
        "by_tuple": stream.by_tuple(20, every=2).plan(*aggregates),
        "starts": stream.landmark(start="v > 7").plan(*aggregates),
        "forgetting frames": stream.frames(high, forget=6, **tied).plan(*aggregates),
        "forgetting rows": stream.rows(range=5, slide=2, tiebreak="v", forget=6).plan(*aggregates),
        "pattern": stream.frames(rising, **tied).plan(*aggregates),
        "early": stream.window(range=20, slide=7).plan(*aggregates, emit="early", every=10),
        "joined": stream.join(stream, within=3).plan(),
        "zipper": stream.zipper(stream, every=10).plan(),
        "resampled": stream.resample(5).plan(),
    }


def started(spark: SparkSession, root: Path, names: Sequence[str]) -> Iterator[StreamingQuery]:
    """Start queries over the replay; each micro-batch of theirs has its own folder of results."""
    replayed = Replay(spark, root, pa.schema([]), SCHEMA, tasks=2)
    known = plans(replayed.stream("x", "k", mt.slack(5), shards=4))

    def reached(number: int, when: str) -> None:
        (root / "going").touch()

    for name in names:
        yield begun(root / "queries" / name.replace(" ", "_"), known[name], reached)


def main(master: str, root: Path, names: Sequence[str]) -> None:
    spark = configured(SparkSession.builder.master(master)).getOrCreate()
    for query in list(started(spark, root, names)):
        query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
