"""The same questions for Muntin, Polars and DuckDB, about the same Parquet files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from benchmarks.joins import asof

#: Seconds of windows, and how many of them hold a row where windows slide.
MINUTE, OVERLAP = 60, 5
#: Rows of a row window, and rows from one to the next.
ROWS, EVERY = 100, 10
#: Rows of the shortest trend that is reported.
RISE = 4
_MICROS = 1_000_000


@dataclass(frozen=True)
class Files:
    """The path of readings, and both sides of an as-of join."""

    readings: str
    sides: asof.Files


@dataclass(frozen=True)
class Question:
    """A question in three languages; the sum of ``compared`` tells whether answers agree."""

    name: str
    muntin: Callable[[SparkSession, Files], DataFrame]
    polars: Callable[[Files], pl.LazyFrame]
    duckdb: Callable[[Files], str]
    compared: str = "hi"


def _stream(spark: SparkSession, files: Files) -> mt.Stream:
    return mt.stream(mt.parquet(spark, files.readings), on="ts", by="k")


def _tumbling(spark: SparkSession, files: Files) -> DataFrame:
    return _stream(spark, files).tumbling("1 minute").agg("max(v) AS hi", "avg(v) AS mean")


def _tumbling_in_polars(files: Files) -> pl.LazyFrame:
    minutes = pl.col("ts").dt.truncate("1m")
    values = pl.col("v")
    rows = pl.scan_parquet(files.readings)
    return rows.group_by("k", minutes).agg(hi=values.max(), mean=values.mean())


def _tumbling_in_duckdb(files: Files) -> str:
    return (
        f"SELECT k, epoch_us(ts) // {MINUTE * _MICROS} AS minute, max(v) AS hi, avg(v) AS mean "
        f"FROM '{files.readings}' GROUP BY ALL"
    )


def _sliding(spark: SparkSession, files: Files) -> DataFrame:
    windows = _stream(spark, files).window(f"{OVERLAP} minutes", "1 minute")
    return windows.agg("max(v) AS hi", "avg(v) AS mean")


def _sliding_in_polars(files: Files) -> pl.LazyFrame:
    values = pl.col("v")
    windows = pl.scan_parquet(files.readings).group_by_dynamic(
        "ts", every="1m", period=f"{OVERLAP}m", offset=f"-{OVERLAP - 1}m", group_by="k"
    )
    return windows.agg(hi=values.max(), mean=values.mean())


def _sliding_in_duckdb(files: Files) -> str:
    return (
        f"SELECT k, minute + back AS last, max(v) AS hi, avg(v) AS mean FROM (SELECT k, v, "
        f"epoch_us(ts) // {MINUTE * _MICROS} AS minute, unnest(range({OVERLAP})) AS back "
        f"FROM '{files.readings}') GROUP BY ALL"
    )


def _rows(spark: SparkSession, files: Files) -> DataFrame:
    windows = _stream(spark, files).rows(ROWS, EVERY, unfinished="drop")
    return windows.agg("max(v) AS hi", "avg(v) AS mean")


def _rows_in_polars(files: Files) -> pl.LazyFrame:
    values = pl.col("v")
    ranked = pl.scan_parquet(files.readings).select(
        "k",
        "ts",
        rank=pl.int_range(1, pl.len() + 1).over("k"),
        hi=values.rolling_max(ROWS, min_samples=1).over("k"),
        mean=values.rolling_mean(ROWS, min_samples=1).over("k"),
    )
    return ranked.filter(pl.col("rank") % EVERY == 0)


def _rows_in_duckdb(files: Files) -> str:
    return (
        "SELECT k, ts, row_number() OVER in_order AS rank, max(v) OVER last AS hi, "
        f"avg(v) OVER last AS mean FROM '{files.readings}' "
        "WINDOW in_order AS (PARTITION BY k ORDER BY ts), last AS (PARTITION BY k ORDER BY ts "
        f"ROWS BETWEEN {ROWS - 1} PRECEDING AND CURRENT ROW) QUALIFY rank % {EVERY} = 0"
    )


def _by_tuple(spark: SparkSession, files: Files) -> DataFrame:
    return _stream(spark, files).by_tuple("1 minute").agg("max(v) AS hi")


def _by_tuple_in_polars(files: Files) -> pl.LazyFrame:
    highest = pl.col("v").rolling_max_by("ts", "1m").over("k")
    return pl.scan_parquet(files.readings).select("k", "ts", hi=highest)


def _by_tuple_in_duckdb(files: Files) -> str:
    # Both ends of its range are inside, so it begins a microsecond later for the same rows.
    return (
        "SELECT k, ts, max(v) OVER (PARTITION BY k ORDER BY epoch_us(ts) RANGE BETWEEN "
        f"{MINUTE * _MICROS - 1} PRECEDING AND CURRENT ROW) AS hi FROM '{files.readings}'"
    )


def _trend(spark: SparkSession, files: Files) -> DataFrame:
    rising = mt.trend("v", "increasing")
    return _stream(spark, files).frames(rising, min_count=RISE).df


def _trend_in_polars(files: Files) -> pl.LazyFrame:
    falls = ~(pl.col("v").diff() > 0).fill_null(value=False)
    rows = pl.scan_parquet(files.readings)
    runs = rows.with_columns(run=falls.cum_sum().over("k")).group_by("k", "run")
    bounds = runs.agg(frame_start=pl.col("ts").min(), frame_end=pl.col("ts").max(), n=pl.len())
    return bounds.filter(pl.col("n") >= RISE)


def _trend_in_duckdb(files: Files) -> str:
    return (
        "SELECT k, run, min(ts) AS frame_start, max(ts) AS frame_end, count(*) AS n FROM ("
        "SELECT k, ts, count(*) FILTER (NOT rises) OVER (PARTITION BY k ORDER BY ts) AS run FROM ("
        "SELECT k, ts, coalesce(v > lag(v) OVER (PARTITION BY k ORDER BY ts), false) AS rises "
        f"FROM '{files.readings}')) GROUP BY k, run HAVING n >= {RISE}"
    )


def _asof(spark: SparkSession, files: Files) -> DataFrame:
    return asof.joined_by_muntin(spark, files.sides)


def _asof_in_polars(files: Files) -> pl.LazyFrame:
    return asof.joined_by_polars(files.sides)


def _asof_in_duckdb(files: Files) -> str:
    return asof.joined_by_duckdb(files.sides)


QUESTIONS = (
    Question("tumbling windows", _tumbling, _tumbling_in_polars, _tumbling_in_duckdb),
    Question("sliding windows", _sliding, _sliding_in_polars, _sliding_in_duckdb),
    Question("row windows", _rows, _rows_in_polars, _rows_in_duckdb),
    Question("a window at every row", _by_tuple, _by_tuple_in_polars, _by_tuple_in_duckdb),
    Question("trend frames", _trend, _trend_in_polars, _trend_in_duckdb, "n"),
    Question("as-of join", _asof, _asof_in_polars, _asof_in_duckdb, "bid"),
)
