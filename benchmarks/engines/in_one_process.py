"""Windows, frames and joins of large Parquet files, beside Polars and DuckDB."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
import duckdb
import pandas as pd
import polars as pl
from pyspark.sql import SparkSession

from benchmarks.engines.queries import EVERY, OVERLAP, QUESTIONS, RISE, ROWS, Files, Question
from benchmarks.growth.files import Readings
from benchmarks.joins import asof
from benchmarks.joins.asof import DUCKDB, POLARS
from benchmarks.measure import (
    MUNTIN,
    RUNS,
    Report,
    Table,
    Target,
    drain,
    medians,
    printed,
    say,
    turns,
)

#: How many rows there are: a thousand in every second.
FULL, QUICK = 20_000_000, 200_000
#: Muntin's time over that of Polars is at most this.
LIMIT = 4.0
_KEYS = 1_000
_ENGINES = (MUNTIN, POLARS, DUCKDB)
_COLOURS = alt.Scale(domain=list(_ENGINES), range=["#1f6fb4", "#7b3294", "#e6ab02"])


def run(spark: SparkSession, quick: bool) -> Report:
    rows = QUICK if quick else FULL
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        files = written(Path(name), rows)
        taken: dict[str, float] = {}
        for question in QUESTIONS:
            say(question.name)
            must_agree(spark, question, files)
            taken |= medians(printed(turns(contestants(spark, question, files), pause=1)))
    return report(rows, taken)


def written(folder: Path, rows: int) -> Files:
    """Write readings, and trades and quotes: two of three rows are trades."""
    readings = Readings(rows, _KEYS, rows // _KEYS).write(folder / "readings.parquet")
    files = Files(readings, asof.Files(folder))
    asof.write(files.sides, asof.Sizes(rows - rows // 3, rows // 3))
    return files


def contestants(
    spark: SparkSession, question: Question, files: Files
) -> Mapping[str, Callable[[], object]]:
    """Return what takes turns; all results are computed, and none is written to a file."""
    return {
        f"{question.name}, {MUNTIN}": lambda: drain(question.muntin(spark, files)),
        f"{question.name}, {POLARS}": lambda: question.polars(files).collect(),
        f"{question.name}, {DUCKDB}": lambda: kept_by_duckdb(question.duckdb(files)),
    }


def kept_by_duckdb(query: str, asked: str = "SELECT 1") -> tuple[Any, ...]:
    """Keep the results of a query in memory, and return the first row of another about them."""
    with duckdb.connect(config={"threads": os.cpu_count() or 1}) as connection:
        connection.execute(f"CREATE TEMP TABLE found AS {query}")
        return connection.execute(asked).fetchone() or ()


def must_agree(spark: SparkSession, question: Question, files: Files) -> None:
    """A race between different answers would mean nothing."""
    total = f"sum({question.compared})"
    ours = question.muntin(spark, files).selectExpr("count(*)", total).first()
    theirs = question.polars(files).select(pl.len(), pl.col(question.compared).sum()).collect()
    third = kept_by_duckdb(question.duckdb(files), f"SELECT count(*), {total} FROM found")
    found = dict(zip(_ENGINES, (tuple(ours or ()), theirs.row(0), third), strict=True))
    for answers in zip(*found.values(), strict=True):
        if not all(math.isclose(answer, answers[0], rel_tol=1e-9) for answer in answers):
            raise AssertionError(f"{question.name}: count and sum differ: {found}")


def report(rows: int, taken: Mapping[str, float]) -> Report:
    def over(question: Question, engine: str) -> float:
        return taken[f"{question.name}, {MUNTIN}"] / taken[f"{question.name}, {engine}"]

    about = (
        f"{rows:,} rows of {_KEYS:,} keys, about a row a second for every key, in one Parquet file "
        f"in the order of time. Windows are of a minute (tumbling), of {OVERLAP} minutes every "
        f"minute (sliding) and of {ROWS} rows every {EVERY} rows, with `max` and `avg`; the window "
        f"at every row is of a minute, with `max`; trends rise for {RISE} rows or more. The as-of "
        f"join is that of [its own section](#as-of-join), of {rows - rows // 3:,} trades and "
        f"{rows // 3:,} quotes. Muntin's results go to the `noop` sink of Spark, those of Polars "
        f"and DuckDB stay in their memory. Each uses all cores; medians of {RUNS}, in turns."
    )
    columns = ["question", *(f"{engine}, s" for engine in _ENGINES)]
    columns += [f"{MUNTIN} over {engine}" for engine in _ENGINES[1:]]
    cells = [
        [question.name]
        + [f"{taken[f'{question.name}, {engine}']:.2f}" for engine in _ENGINES]
        + [f"{over(question, engine):.1f}" for engine in _ENGINES[1:]]
        for question in QUESTIONS
    ]
    return Report(
        name="engines",
        title="Beside Polars and DuckDB",
        about=about,
        tables=[Table(columns, cells)],
        targets=[
            Target(f"{MUNTIN} over {POLARS}: {question.name}", over(question, POLARS), None, LIMIT)
            for question in QUESTIONS
        ],
        chart=drawn(taken),
    )


def drawn(taken: Mapping[str, float]) -> alt.TopLevelMixin:
    """Seconds of all engines, on a logarithmic scale."""
    points = pd.DataFrame(
        [
            {"question": q.name, "engine": engine, "seconds": taken[f"{q.name}, {engine}"]}
            for q in QUESTIONS
            for engine in _ENGINES
        ]
    )
    chart: alt.TopLevelMixin = (
        alt.Chart(points, width=520, height=260, title="From Parquet files: seconds")
        .mark_point(filled=True, size=80)
        .encode(
            x=alt.X("seconds:Q", title="seconds", scale=alt.Scale(type="log")),
            y=alt.Y("question:N", title=None, sort=None),
            color=alt.Color("engine:N", title=None, scale=_COLOURS),
        )
    )
    return chart
