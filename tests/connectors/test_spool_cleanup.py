"""Spooled files go when all queries have read them for good, and not before."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from muntin.spark.connectors.sources.registry import open_source
from muntin.spark.connectors.sources.spool import SpoolCleanup


def query(folder: Path, *batches: tuple[int, str | None]) -> Any:
    """Stands for a query that reports micro-batches, each with the last file that it read."""
    source = SimpleNamespace(description=f"FileStreamSource[file:{folder}]")
    reports = [
        SimpleNamespace(batchId=number, sources=[source], observedMetrics={"m": {"last": last}})
        for number, last in batches
    ]
    return SimpleNamespace(recentProgress=reports)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "123456":
        (tmp_path / f"{name}.txt").write_text(name)
    return tmp_path


def left(folder: Path) -> str:
    return "".join(sorted(path.stem for path in folder.iterdir()))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        # The last micro-batch of all may have missed a file that a later one sees.
        ([], "456"),
        # Another one has read less.
        ([[(0, "1.txt"), (1, "2.txt")]], "23456"),
        ([[(0, "5.txt")]], "123456"),
        ([[]], "123456"),
        # A micro-batch without lines is a later one, too.
        ([[(7, "3.txt"), (8, None)]], "456"),
    ],
)
def test_what_is_removed(
    folder: Path, others: list[list[tuple[int, str | None]]], expected: str
) -> None:
    mine = query(folder, (0, "3.txt"), (1, "6.txt"))
    SpoolCleanup(folder, "m").remove([mine, *(query(folder, *batches) for batches in others)])
    assert left(folder) == expected


def test_queries_over_other_sources_do_not_matter(folder: Path) -> None:
    elsewhere = query(folder / "elsewhere", (0, None))
    assert SpoolCleanup(folder, "m").remove([elsewhere]) == 0
    SpoolCleanup(folder, "m").remove([query(folder, (0, "3.txt"), (1, "6.txt")), elsewhere])
    assert left(folder) == "456"


def test_two_queries_over_one_pipe(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both get every line, and the files of the first lines are gone."""
    out, into = os.pipe()
    with os.fdopen(out) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        made = open_source(spark, "stdin", ["csv"], {}, "v INT", streaming=True, folder=tmp_path)
        assert made.sweep is not None
        assert made.malformed is not None
        queries = [
            df.writeStream.format("memory").queryName(name).start()
            for name, df in (("swept_good", made.df), ("swept_bad", made.malformed))
        ]
        until = time.monotonic() + 60
        count = 0
        while not made.sweep.remove(queries):
            assert time.monotonic() < until
            os.write(into, f"{count}\nx{count}\n".encode())
            count += 1
            time.sleep(0.3)
        os.close(into)
        assert made.over is not None
        while not made.over():
            time.sleep(0.05)
        for one in queries:
            one.processAllAvailable()
            one.stop()
    assert sorted(row["v"] for row in spark.table("swept_good").collect()) == [*range(count)]
    bad = spark.table("swept_bad").collect()
    assert sorted(row["raw"] for row in bad) == sorted(f"x{n}" for n in range(count))
    assert all(row["origin"].startswith("stdin: ") for row in bad)
    for name in ("swept_good", "swept_bad"):
        spark.catalog.dropTempView(name)
