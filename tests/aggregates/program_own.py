"""A user's own aggregate, defined in the program itself, on workers that have no Muntin.

Prints the results of batch and stream, for it and for sketches, as JSON. Its argument is a folder
to work in.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import muntin as mt
from muntin.aggregates.functions import own
from muntin.aggregates.own_aggregate import OwnAggregate, grouped_count, grouped_sum
from muntin.testing import replay

Ints = npt.NDArray[np.int64]
Columns = Sequence[pa.Array]


class GeometricMean(OwnAggregate):
    partials = (pa.float64(), pa.int64())

    def __init__(self, fail: bool = False) -> None:
        self.fail = fail

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.float64()

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        if self.fail:
            raise ZeroDivisionError("on purpose")
        logs = pc.ln(columns[0])
        return [grouped_sum(logs, groups, count), grouped_count(logs, groups, count)]

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        return [grouped_sum(column, groups, count) for column in partials]

    def finish(self, partials: Columns) -> pa.Array:
        logs, n = partials
        return pc.if_else(pc.greater(n, 0), pc.exp(pc.divide(logs, n)), None)


def rows() -> list[list[dict[str, Any]]]:
    chance = random.Random(5)
    return [
        [
            {"k": f"k{chance.randint(0, 3)}", "x": n * 40 + chance.randint(0, 50), "v": 2.0**power}
            for power in (chance.randint(-3, 3) for _ in range(100))
        ]
        for n in range(3)
    ]


AGGREGATES: tuple[Any, ...] = (
    "geometric_mean(v) AS g",
    own(GeometricMean(), "v").filter("v > 1").alias("above"),
    "approx_count_distinct(v) AS kinds",
    "approx_percentile(v, array(0, 1)) AS ends",
    "approx_top_k(v, 1)[0].count AS most",
)


def expected(data: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the results by definition; logarithms of powers of two add up exactly in base 2."""
    found = []
    for key in sorted({row["k"] for row in data}):
        for end in range(-7, 200, 7):
            inside = [r["v"] for r in data if r["k"] == key and end - 30 <= r["x"] < end]
            if inside:
                above = [v for v in inside if v > 1]
                most = max(inside.count(v) for v in inside)
                ends = [min(inside), max(inside)]
                means = [_mean(inside), _mean(above)]
                found.append([key, end - 30, end, *means, len(set(inside)), ends, most])
    return found


def _mean(values: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _collected(made: Sequence[Any]) -> list[Any]:
    return sorted([list(row) for row in made], key=lambda row: row[:3])


def failure(stream: mt.Stream) -> str:
    """Return the message that a user sees when their code fails on a worker."""
    try:
        stream.window(range=30, slide=7).agg(own(GeometricMean(fail=True), "v")).collect()
    except PythonException as error:
        return str(error)
    return "nothing failed"


def main(folder: Path) -> None:
    # This module is beside the program, so it is only found when this runs as a program.
    from program_cluster import session, worker_has_muntin

    spark: SparkSession = session("local-cluster")
    data = rows()
    flat = [row for batch in data for row in batch]
    made: dict[str, Any] = {"had": worker_has_muntin(spark), "expected": expected(flat)}
    schema = "k STRING, x BIGINT, v DOUBLE"
    df = spark.createDataFrame([tuple(row.values()) for row in flat], schema).repartition(4)
    functions = {"geometric_mean": GeometricMean()}
    stream = mt.stream(df, on="x", by="k", functions=functions)
    made["batch"] = _collected(stream.window(range=30, slide=7).agg(*AGGREGATES).collect())
    made["failure"] = failure(stream)
    played = replay(spark, data, schema, tasks=3, folder=folder / "stream")
    arriving = played.stream("x", "k", mt.slack(60), shards=5, functions=functions)
    out = played.play(arriving.window(range=30, slide=7).plan(*AGGREGATES))
    made["stream"] = _collected(out.results)
    print(json.dumps(made))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
