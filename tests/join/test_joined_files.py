"""Joins, fills and row windows over Parquet files: workers read them, also where rows may tie."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.spark.api.plan import Plan

ARROW = "Arrow scan: workers read the files, and rows do not pass through the JVM"


def path_of(folder: Path, name: str, seed: int, count: int = 400) -> str:
    """Write rows of few keys and places, so that many of them tie."""
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "ts": pa.array(rng.integers(0, 60, count) * 1_000_000, pa.timestamp("us", tz="UTC")),
            "symbol": pa.array(rng.choice(["A", "B", "C", None], count)),
            "price": pa.array(rng.choice([0.0, -0.0, 1.5, float("nan")], count)),
            "n": pa.array(rng.integers(0, 5, count), pa.int32(), mask=rng.random(count) < 0.2),
            "day": pa.array(rng.integers(0, 9, count).astype(np.int32), pa.date32()),
        }
    )
    pq.write_table(table, folder / f"{name}.parquet", row_group_size=90)
    return str(folder / f"{name}.parquet")


def streams(spark: SparkSession, paths: list[str], *, files: bool) -> list[mt.Stream]:
    sources = [mt.parquet(spark, path) for path in paths]
    return [mt.stream(source if files else source.df, "ts", "symbol") for source in sources]


def rows_of(df: DataFrame) -> Counter[str]:
    """Return the rows as text, in which NaN is NaN and -0.0 is not 0.0."""
    return Counter(map(repr, df.collect()))


def scans(plan: Plan) -> list[str]:
    return [str(part.rows(False)) for part in plan.parts.inputs]


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
def test_an_asof_join_of_files(spark: SparkSession, tmp_path: Path, direction: str) -> None:
    paths = [path_of(tmp_path, "trades", 1), path_of(tmp_path, "quotes", 2)]

    def joined(*, files: bool) -> mt.Joined:
        left, right = streams(spark, paths, files=files)
        return left.asof(right, direction=direction)

    assert scans(joined(files=True).plan()) == [ARROW, ARROW]
    assert rows_of(joined(files=True).df) == rows_of(joined(files=False).df)


@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
def test_a_distance_join_of_files(spark: SparkSession, tmp_path: Path, how: str) -> None:
    paths = [path_of(tmp_path, "trades", 3, 80), path_of(tmp_path, "quotes", 4, 80)]

    def joined(*, files: bool) -> mt.Joined:
        left, right = streams(spark, paths, files=files)
        return left.join(right, "2 seconds", how=how)

    assert scans(joined(files=True).plan()) == [ARROW, ARROW]
    assert rows_of(joined(files=True).df) == rows_of(joined(files=False).df)


def test_windows_over_the_rows_of_files(spark: SparkSession, tmp_path: Path) -> None:
    def plan(*, files: bool) -> Plan:
        (rows,) = streams(spark, [path_of(tmp_path, "trades", 5)], files=files)
        return rows.rows(5, 2).plan("sum(n)", "max(day)", "collect(price)")

    assert scans(plan(files=True)) == [ARROW]
    assert rows_of(plan(files=True).df) == rows_of(plan(files=False).df)


def test_frames_of_a_file_filled_from_a_file(spark: SparkSession, tmp_path: Path) -> None:
    """A file need not be described as a stream to fill frames: ``on`` and the keys say enough."""
    bounds = spark.range(30).selectExpr(
        "timestamp_seconds(id * 2) AS frame_start",
        "timestamp_seconds(id * 2 + 5) AS frame_end",
        "substr('ABC', id % 3 + 1, 1) AS symbol",
    )
    bounds.write.parquet(str(tmp_path / "frames"))
    frames = mt.parquet(spark, str(tmp_path / "frames"))
    rows = mt.parquet(spark, path_of(tmp_path, "trades", 6))

    def filled(other: object) -> mt.Filled:
        return mt.frames(frames, by="symbol").fill(other, on="ts")  # type: ignore[arg-type]

    def counts(other: object) -> DataFrame:
        return filled(other).agg("count(*) AS rows", "sum(n) AS n")

    assert scans(filled(rows).plan("count(*)")) == [ARROW, ARROW]
    assert rows_of(counts(rows)) == rows_of(counts(rows.df))
