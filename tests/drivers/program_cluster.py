"""Runs a batch and a stream on a Spark whose workers have no Muntin; prints the results as JSON.

Arguments: ``local-cluster`` or ``connect``, and a working folder.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.testing import replay
from tests.sessions import configured


def session(kind: str) -> SparkSession:
    if kind == "connect":
        builder = SparkSession.builder.remote("local[2]")
    else:
        builder = SparkSession.builder.master("local-cluster[1,2,1024]")
    spark: SparkSession = configured(builder, partitions=2, remote=kind == "connect").getOrCreate()
    return spark


def rows() -> list[list[dict[str, Any]]]:
    """Return rows with random doubles, whose plain sums depend on the order of addition."""
    chance = random.Random(3)
    return [
        [
            {
                "k": f"k{chance.randint(0, 9)}",
                "x": n * 40 + chance.randint(0, 50),
                "v": chance.random(),
            }
            for _ in range(200)
        ]
        for n in range(3)
    ]


def worker_has_muntin(spark: SparkSession) -> bool:
    def look(batches: Any) -> Any:
        import importlib.util

        import pyarrow as pa

        for _ in batches:
            pass
        installed = importlib.util.find_spec("muntin") is not None
        yield pa.RecordBatch.from_pydict({"found": [installed]})

    return any(row.found for row in spark.range(2).mapInArrow(look, "found BOOLEAN").collect())


def pyspark_aggregates() -> list[Column]:
    """Return the same aggregates as PySpark has them, and one with DISTINCT."""
    return [
        F.sum("v").alias("total"),
        F.stddev_samp("v").alias("sd"),
        F.count("*").alias("n"),
        F.first("v").alias("f"),
        F.countDistinct("v").alias("distinct"),
    ]


def main(kind: str, folder: Path) -> None:
    spark = session(kind)
    had = worker_has_muntin(spark)
    data = rows()
    aggregates = ("sum(v) AS total", "stddev_samp(v) AS sd", "count(*) AS n", "first(v) AS f")
    flat = [tuple(row.values()) for batch in data for row in batch]
    df = spark.createDataFrame(flat, "k STRING, x BIGINT, v DOUBLE").repartition(4)
    batch = mt.stream(df, on="x", by="k").window(range=30, slide=7).agg(*aggregates).collect()
    text = f"""SELECT k, window_start, window_end, {", ".join(aggregates)}
               FROM df [RANGE 30 SLIDE 7 WATTR x] GROUP BY k"""
    report: dict[str, Any] = {"had": had, "batch": sorted(map(tuple, batch))}
    report["sql"] = sorted(map(tuple, mt.sql(text, df=df).collect()))
    windows = mt.stream(df, on="x", by="k").window(range=30, slide=7)
    report["pyspark"] = sorted(map(tuple, windows.agg(*pyspark_aggregates()).collect()))
    played = replay(spark, data, "k STRING, x BIGINT, v DOUBLE", tasks=2, folder=folder)
    stream = played.stream("x", "k", mt.slack(60), shards=5)
    out = played.play(stream.window(range=30, slide=7).plan(*aggregates))
    report["stream"], report["counts"] = sorted(map(tuple, out.results)), out.counts
    print(json.dumps(report))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
