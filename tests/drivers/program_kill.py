"""Streams that stop in the middle of a micro-batch and wait to be killed.

Arguments: the folder of a replay, and for each query its name, the micro-batch in which it stops,
and whether it stops before or after its results are written: ``windows:1:before``. Queries run at
the same time. The sink writes by micro-batch number, so that a repeated micro-batch replaces its
results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import muntin as mt
from muntin.testing import Replay
from tests.sessions import configured, warm


def plans(stream: mt.Stream) -> dict[str, mt.Plan]:
    """Return one query for each kind of state."""
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


@dataclass(frozen=True)
class Stop:
    """Where a query stops and waits: in a micro-batch, before or after its results are written."""

    query: str
    batch: int
    when: str

    @classmethod
    def read(cls, text: str) -> Stop:
        query, batch, when = text.split(":")
        return cls(query, int(batch), when)

    def __str__(self) -> str:
        return f"{self.query}:{self.batch}:{self.when}"

    def folder(self, root: Path) -> Path:
        """Return the folder of the output of the query."""
        return root / "queries" / self.query

    def stopped(self, root: Path) -> Path:
        """Return the file that exists once the query waits."""
        return self.folder(root) / "stopped"


Moment = Callable[[int, str], None]


def started(
    spark: SparkSession, root: Path, stops: Sequence[Stop], *, wait: bool
) -> Iterator[StreamingQuery]:
    """Start the queries, which stop and wait, or run to the end of the replay."""
    replay = Replay(spark, root, pa.schema([]), "k STRING, x BIGINT, v DOUBLE", tasks=2)
    known = plans(replay.stream("x", "k", mt.slack(5), shards=4))
    for stop in stops:
        yield begun(stop.folder(root), known[stop.query], waiting(root, stop) if wait else go_on)


def waiting(root: Path, stop: Stop) -> Moment:
    def wait(number: int, when: str) -> None:
        if (number, when) == (stop.batch, stop.when):
            stop.stopped(root).touch()
            time.sleep(600)

    return wait


def go_on(number: int, when: str) -> None:
    """Do nothing: the query does not stop."""


def begun(folder: Path, plan: mt.Plan, reached: Moment) -> StreamingQuery:
    def sink(rows: DataFrame, number: int) -> None:
        rows.count()  # this runs the stateful operator
        reached(number, "before")
        rows.write.mode("overwrite").parquet(f"{folder}/results/batch={number}")
        reached(number, "after")

    query = mt.write(
        plan,
        results=sink,
        refused=folder / "refused",
        checkpoint=folder / "checkpoint",
        trigger={"availableNow": True},
    )
    assert query is not None
    return query


def main(root: Path, stops: list[Stop]) -> None:
    spark = warm(configured(SparkSession.builder.master("local[2]"))).getOrCreate()
    for query in list(started(spark, root, stops, wait=True)):
        query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Stop.read(text) for text in sys.argv[2:]])
