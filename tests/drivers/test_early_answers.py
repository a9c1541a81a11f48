"""Early answers on Spark without an engine: in a batch, in a stream, and after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt

SCHEMA = "k STRING, x INT, v DOUBLE"


def put(folder: Path, name: str, rows: list[tuple[str, int, float]]) -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps(dict(zip("kxv", row, strict=True))) for row in rows]
    (folder / f".{name}").write_text("\n".join(lines))
    (folder / f".{name}").rename(folder / f"{name}.json")


def run(df: DataFrame, checkpoint: Path) -> list[tuple[Any, ...]]:
    """Run a stream over the files that are there; return its rows."""
    rows: list[tuple[Any, ...]] = []
    writer = df.writeStream.foreachBatch(
        lambda batch, number: rows.extend(tuple(row) for row in batch.collect())
    )
    ready = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    ready.start().awaitTermination()
    return sorted(rows)


def test_a_batch_reports_each_answer_once_and_a_stream_its_changes(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    put(files, "1", [("a", 1, 1.0), ("a", 3, 3.0), ("b", 2, 5.0)])

    def early(rows: DataFrame) -> DataFrame:
        windows = mt.stream(rows, "x", "k", mt.slack(1)).window(range=10, slide=10)
        return windows.agg("avg(v) AS m", emit="early", confidence=0.5)

    stored = early(spark.read.schema(SCHEMA).json(str(files)))
    assert stored.columns == [
        *("k", "window_start", "window_end", "change", "final", "m", "m_low", "m_high")
    ]
    shown = [(row["k"], row["change"], row["final"], row["m"]) for row in stored.collect()]
    assert sorted(shown) == [("a", "+", True, 2.0), ("b", "+", True, 5.0)]

    stream = early(spark.readStream.schema(SCHEMA).json(str(files)))
    columns = stream.select("k", "window_end", "change", "final", "m")
    assert run(columns, tmp_path / "check") == [
        ("a", 10, "+", False, 2.0),
        ("b", 10, "+", False, 5.0),
    ]
    # What was reported is in the checkpoint: b is not reported again.
    put(files, "2", [("a", 5, 8.0)])
    assert run(columns, tmp_path / "check") == [("a", 10, "u", False, 4.0)]
    put(files, "3", [("b", 12, 1.0), ("b", 4, 7.0)])
    assert run(columns, tmp_path / "check") == [
        ("a", 10, "u", True, 4.0),
        ("b", 10, "u", True, 6.0),
        ("b", 20, "+", False, 1.0),
    ]


def test_frames_are_reported_while_they_are_open(spark: SparkSession, tmp_path: Path) -> None:
    files = tmp_path / "files"
    put(files, "1", [("a", 1, 9.0), ("a", 2, 9.0)])
    rows = mt.stream(spark.readStream.schema(SCHEMA).json(str(files)), "x", "k", mt.ordered())
    frames = rows.frames(mt.threshold("v > 5"))
    columns = ("frame_start", "frame_end", "change", "final", "n")
    df = frames.agg("count(*) AS n", emit="early").select(*columns)
    assert run(df, tmp_path / "check") == [(1, 2, "+", False, 2)]
    put(files, "2", [("a", 3, 9.0), ("a", 4, 1.0), ("a", 7, 8.0)])
    assert run(df, tmp_path / "check") == [(1, 3, "u", True, 3), (7, 7, "+", False, 1)]


def test_what_has_no_early_answers_is_refused_by_name(spark: SparkSession) -> None:
    df = spark.createDataFrame([], SCHEMA)
    windows = mt.stream(df, "x", "k").window(range=10, slide=10)
    with pytest.raises(mt.ArgumentError, match="what fills a frame or window is answered"):
        windows.fill(df).agg("count(*) AS n", emit="early")
    with pytest.raises(mt.ArgumentError, match="plans are combined when"):
        mt.combine(windows.plan("count(*) AS n", emit="early"), windows.plan("max(v) AS m"))
    with pytest.raises(mt.ArgumentError, match="fragments= reports open frames already"):
        frames = mt.stream(df, "x", "k").frames(mt.threshold("v > 5"), fragments=3)
        frames.agg("count(*) AS n", emit="early")
    with pytest.raises(mt.ArgumentError, match="no column is an average"):
        windows.agg("max(v) AS m", emit="early", confidence=0.9)
    with pytest.raises(mt.ArgumentError, match="frames of density may have equal bounds"):
        mt.stream(df, "x", "k").frames(mt.density("sum(v) > 30", per=5)).agg(
            "count(*) AS n", emit="early"
        )
    explained = str(windows.plan("count(*) AS n", emit="early", every=5).explanation)
    assert "early, every 5: what is open is reported" in explained
