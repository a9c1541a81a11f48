"""Joins in SQL: the same as the Python calls, on streams as on batches, bounded or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.parser.parse import parse_query
from muntin.session.pipeline import Pipeline
from muntin.spark.api.lookup import Probed
from muntin.spark.queries.stop import drain
from tests.session.tables import LINE, PAIRS
from tests.session.test_pipeline import Kept

#: A file for each micro-batch; its rows are out of order.
STREAMS = """
CREATE STREAM line FROM csv('{folder}/line', header => true, max_files => 1)
  (k STRING, x INT, v INT) ON x BY k DISORDER SLACK 2;
CREATE STREAM pairs FROM csv('{folder}/pairs', header => true, max_files => 1)
  (key STRING, y INT, w INT) ON y BY key DISORDER SLACK 2;
CREATE TABLE old FROM csv('{folder}/pairs', header => true) (key STRING, y INT, w INT);
"""
#: Every query returns k, a place along `on`, and a number.
QUERIES = {
    "join": "SELECT k, x, w FROM join(line, pairs, within => 1, how => left, limit => '1 MB', "
    "where => left.v < right.w)",
    "zipper": "SELECT k, x, w FROM zipper(line, pairs, every => 5)",
    "asof": "SELECT k, x, w FROM asof(line, pairs, tolerance => 3, direction => nearest)",
    "lookup": "SELECT k, x, w FROM lookup(line, old, key => key, how => inner, refresh => 1 HOUR)",
    "resample": "SELECT k, x, v FROM resample(line, every => 3, max_gap => 4)",
    "resample of": "SELECT k, x, total FROM resample(line, every => 3, within => 1, "
    "how => (sum(line.v) AS total))",
    "resample at": "SELECT k, x, v FROM resample(line, at => pairs, how => previous)",
    "fill": "SELECT k, frame_start, count(pairs.w) FROM line [FRAME THRESHOLD v > 4] "
    "FILL pairs BEFORE 2 AFTER 3",
}
Made = mt.Plan | Probed
Call = Callable[[mt.Stream, mt.Stream, DataFrame], Made]
CALLS: dict[str, Call] = {
    "join": lambda line, pairs, old: line.join(
        pairs, within=1, how="left", limit="1 MB", where="left.v < right.w"
    ).plan(),
    "zipper": lambda line, pairs, old: line.zipper(pairs, every=5).plan(),
    "asof": lambda line, pairs, old: line.asof(pairs, tolerance=3, direction="nearest").plan(),
    # A batch reads the table once; the SQL is the same for both.
    "lookup": lambda line, pairs, old: line.lookup(
        old, key="key", how="inner", refresh="1 hour" if line.df.isStreaming else None
    ),
    "resample": lambda line, pairs, old: line.resample(every=3, max_gap=4).plan(),
    "resample of": lambda line, pairs, old: line.resample(
        every=3, within=1, how=["sum(v) AS total"]
    ).plan(),
    "resample at": lambda line, pairs, old: line.resample(at=pairs, how="previous").plan(),
    "fill": lambda line, pairs, old: (
        line.frames(mt.threshold("v > 4"))
        .fill(pairs, before=2, after=3)
        .plan("count(w) AS `_aggregate_0`")
    ),
}
#: The name of a query's third column, if it is not w.
NUMBERS = {"resample": "v", "resample of": "total", "resample at": "v", "fill": "_aggregate_0"}
#: Running all queries as streams takes long; these cover every way to join streams.
RUN = ("join", "asof", "lookup", "fill")


def union(names: Iterable[str]) -> str:
    parts = [f"SELECT '{name}' AS kind, * FROM ({QUERIES[name]}) AS q(k, at, n)" for name in names]
    return " UNION ALL ".join(parts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, head, rows, cut in (
        ("line", "k,x,v", [*LINE[2::-1], *LINE[3:]], 4),
        ("pairs", "key,y,w", PAIRS, 1),
    ):
        (tmp_path / name).mkdir()
        for number, part in enumerate((rows[:cut], rows[cut:])):
            lines = [head, *(",".join(map(str, row)) for row in part)]
            (tmp_path / name / f"{number}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def pipeline(spark: SparkSession, folder: Path, kept: Kept) -> Pipeline:
    """Return the pipeline of the file, with its sources as streams."""
    made = Pipeline(spark, folder / "state", True, kept.sink, lambda rows: None)
    made.run(STREAMS.replace("{folder}", str(folder)))
    return made


@pytest.fixture
def kept() -> Kept:
    return Kept()


def in_order(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, rows), key=str)


def test_every_function_is_the_call_on_a_batch(spark: SparkSession) -> None:
    df = spark.createDataFrame(PAIRS, "key STRING, y INT, w INT")
    line = mt.stream(spark.createDataFrame(LINE, "k STRING, x INT, v INT"), "x", "k")
    pairs = mt.stream(df, "y", "key")
    answers = mt.sql(union(QUERIES), line=line, pairs=pairs, old=df).collect()
    expected: list[Any] = []
    for name, call in CALLS.items():
        place = "frame_start" if name == "fill" else "x"
        rows = call(line, pairs, df).df.select("k", place, NUMBERS.get(name, "w")).collect()
        assert rows
        expected += [(name, *row) for row in rows]
    assert in_order(answers) == in_order(expected)


def test_every_function_is_the_call_on_streams(pipeline: Pipeline) -> None:
    """Plans are equal if their names and their explanations are equal."""
    session = pipeline.session
    relations = [session.opened(session.catalog.relations[n]) for n in ("line", "pairs", "old")]
    for name, text in QUERIES.items():
        (made,) = session.answer(parse_query(text)).plans.values()
        expected = CALLS[name](*relations)  # type: ignore[arg-type]
        assert made.is_streaming
        assert str(made.explanation) == str(expected.explanation)
        if isinstance(made, mt.Plan):
            assert isinstance(expected, mt.Plan)
            assert made.name == expected.name


def test_streams_answer_as_batches(
    spark: SparkSession, folder: Path, pipeline: Pipeline, kept: Kept
) -> None:
    """One of the queries fills frames from a second stream."""
    pipeline.run(union(RUN) + ";")
    (one,) = pipeline.running
    try:
        drain(one.query)
        pipeline.sources.end()
        drain(one.query)
    finally:
        one.query.stop()
    assert one.watch.look().late == 0
    stored = Kept()
    batch = Pipeline(spark, folder / "batch", False, stored.sink, lambda rows: None)
    batch.run(STREAMS.replace("{folder}", str(folder)) + union(RUN) + ";")
    assert in_order(kept.rows["select_1"]) == in_order(stored.rows["select_1"])
    assert {row[0] for row in kept.rows["select_1"]} == {*RUN}
