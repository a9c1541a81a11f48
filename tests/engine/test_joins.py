"""Joins in SQL: as the Python calls, on streams of a file as on batches, bounded or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.engine.pipeline import Pipeline
from muntin.spark.queries import drain
from tests.engine.tables import LINE, NAMES, PAIRS
from tests.engine.test_pipeline import Kept

#: A file for each micro-batch, rows out of order in it.
STREAMS = """
CREATE STREAM line FROM csv('{folder}/line', header => true, max_files => 1)
  (k STRING, x INT, v INT) ON x BY k DISORDER SLACK 2;
CREATE STREAM pairs FROM csv('{folder}/pairs', header => true, max_files => 1)
  (key STRING, y INT, w INT) ON y BY key DISORDER SLACK 2;
CREATE TABLE names FROM csv('{folder}/names', header => true) (key STRING, name STRING);
"""
#: Every one tells k, where, and a number.
QUERIES = {
    "join": "SELECT k, x, w FROM join(line, pairs, within => 1, how => left, limit => '1 MB', "
    "where => left.v < right.w)",
    "zipper": "SELECT k, x, w FROM zipper(line, pairs, every => 5)",
    "asof": "SELECT k, x, w FROM asof(line, pairs, tolerance => 3, direction => nearest)",
    "lookup": "SELECT k, x, length(name) FROM lookup(line, names, key => key, how => inner, "
    "refresh => 1 HOUR)",
    "resample": "SELECT k, x, v FROM resample(line, every => 3, max_gap => 4)",
    "resample of": "SELECT k, x, v FROM resample(line, every => 3, within => 1, "
    "how => (sum(line.v) AS v))",
    "resample at": "SELECT k, x, v FROM resample(line, at => pairs, how => previous)",
    "fill": "SELECT k, frame_start, count(pairs.w) FROM line [FRAME THRESHOLD v > 4] "
    "FILL pairs BEFORE 2 AFTER 3",
}
Call = Callable[[mt.Stream, mt.Stream, DataFrame], DataFrame]
CALLS: dict[str, Call] = {
    "join": lambda line, pairs, names: line.join(
        pairs, within=1, how="left", limit="1 MB", where="left.v < right.w"
    ).df.select("k", "x", "w"),
    "zipper": lambda line, pairs, names: line.zipper(pairs, every=5).df.select("k", "x", "w"),
    "asof": lambda line, pairs, names: line.asof(pairs, tolerance=3, direction="nearest").df.select(
        "k", "x", "w"
    ),
    "lookup": lambda line, pairs, names: line.lookup(names, key="key", how="inner").df.selectExpr(
        "k", "x", "length(name)"
    ),
    "resample": lambda line, pairs, names: line.resample(every=3, max_gap=4).df.drop("gap"),
    "resample of": lambda line, pairs, names: line.resample(
        every=3, within=1, how=["sum(v) AS v"]
    ).df.drop("gap"),
    "resample at": lambda line, pairs, names: line.resample(at=pairs, how="previous").df.drop(
        "gap"
    ),
    "fill": lambda line, pairs, names: (
        line.frames(mt.threshold("v > 4"))
        .fill(pairs, before=2, after=3)
        .agg("count(w) AS n")
        .select("k", "frame_start", "n")
    ),
}
EVERYTHING = " UNION ALL ".join(
    f"SELECT '{name}' AS kind, * FROM ({text}) AS q(k, at, n)" for name, text in QUERIES.items()
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, head, rows, cut in (
        ("line", "k,x,v", [*LINE[2::-1], *LINE[3:]], 4),
        ("pairs", "key,y,w", PAIRS, 1),
        ("names", "key,name", NAMES, 2),
    ):
        (tmp_path / name).mkdir()
        for number, part in enumerate((rows[:cut], rows[cut:])):
            lines = [head, *(",".join(map(str, row)) for row in part)]
            (tmp_path / name / f"{number}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_every_call_on_a_batch_and_on_streams(spark: SparkSession, folder: Path) -> None:
    line = mt.stream(spark.createDataFrame(LINE, "k STRING, x INT, v INT"), "x", "k")
    pairs = mt.stream(spark.createDataFrame(PAIRS, "key STRING, y INT, w INT"), "y", "key")
    names = spark.createDataFrame(NAMES, "key STRING, name STRING")
    expected = [
        (name, *row) for name, call in CALLS.items() for row in call(line, pairs, names).collect()
    ]
    assert {name for name, *_ in expected} == {*QUERIES}
    told = mt.sql(EVERYTHING, line=line, pairs=pairs, names=names).collect()
    assert sorted(map(tuple, told), key=str) == sorted(expected, key=str)
    assert sorted(played(spark, folder), key=str) == sorted(expected, key=str)


def played(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    """What the file answers as a stream, until its inputs are said to be over."""
    kept = Kept()
    pipeline = Pipeline(spark, folder / "state", True, kept.sink, lambda rows: None)
    pipeline.run(STREAMS.replace("{folder}", str(folder)) + EVERYTHING + ";")
    (one,) = pipeline.running
    try:
        drain(one.query)
        pipeline.sources.end()
        drain(one.query)
    finally:
        one.query.stop()
    assert one.watch.look().late == 0
    return kept.rows["select_1"]
