"""The as-of join, from Parquet files to Parquet files, beside Polars and DuckDB."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from benchmarks.measure import MUNTIN, RUNS, Report, Table, Target, medians, printed, turns

POLARS, DUCKDB = "Polars", "DuckDB"
#: A day of trading, in microseconds.
_DAY = 23_400_000_000
_ROW_GROUP = 250_000
_SYMBOLS = 500


@dataclass(frozen=True)
class Sizes:
    """How many trades ask, and how many quotes answer."""

    trades: int
    quotes: int


FULL, QUICK = Sizes(2_800_000, 1_400_000), Sizes(40_000, 20_000)


@dataclass(frozen=True)
class Files:
    """The files of both sides, and the folder for results."""

    folder: Path

    @property
    def trades(self) -> str:
        return str(self.folder / "trades.parquet")

    @property
    def quotes(self) -> str:
        return str(self.folder / "quotes.parquet")

    def fresh(self, who: str) -> Path:
        """Return the place of someone's results, with nothing there."""
        place = self.folder / who
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        return place


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        files = Files(Path(name))
        write(files, sizes)
        contestants: Mapping[str, Callable[[], object]] = {
            MUNTIN: lambda: with_muntin(spark, files),
            POLARS: lambda: with_polars(files),
            DUCKDB: lambda: with_duckdb(files),
        }
        for contestant in contestants.values():
            contestant()
        must_agree(files, list(contestants))
        taken = medians(printed(turns(contestants, pause=1)))
    return report(sizes, taken)


def write(files: Files, sizes: Sizes) -> None:
    """Write both sides in the order of time, their symbols and prices scattered."""
    chance = np.random.default_rng(5)
    trades = _rows(chance, sizes.trades) | {
        "price": chance.integers(1_000, 90_000, sizes.trades) / 100,
        "size": chance.integers(1, 1_000, sizes.trades),
    }
    bid = chance.integers(1_000, 90_000, sizes.quotes) / 100
    quotes = _rows(chance, sizes.quotes) | {"bid": bid, "ask": bid + 0.01}
    for path, columns in ((files.trades, trades), (files.quotes, quotes)):
        pq.write_table(pa.table(columns), path, row_group_size=_ROW_GROUP)


def _rows(chance: np.random.Generator, count: int) -> dict[str, object]:
    # No two rows have the same time, so that ties do not matter.
    times = (np.arange(count) * (_DAY / count)).astype(np.int64)
    symbols = pa.array([f"SYM{number:04}" for number in range(_SYMBOLS)])
    return {
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        "symbol": symbols.take(pa.array(chance.integers(0, _SYMBOLS, count))),
    }


def joined_by_muntin(spark: SparkSession, files: Files) -> DataFrame:
    trades, quotes = (
        mt.stream(mt.parquet(spark, path), on="ts", by="symbol")
        for path in (files.trades, files.quotes)
    )
    return trades.asof(quotes).df


def joined_by_polars(files: Files) -> pl.LazyFrame:
    trades, quotes = (pl.scan_parquet(path) for path in (files.trades, files.quotes))
    quotes = quotes.with_columns(right_ts=pl.col("ts"))
    return trades.join_asof(quotes, on="ts", by="symbol", check_sortedness=False)


def joined_by_duckdb(files: Files) -> str:
    """Return the query."""
    return (
        "SELECT t.*, q.ts AS right_ts, q.bid, q.ask "
        f"FROM '{files.trades}' t ASOF LEFT JOIN '{files.quotes}' q "
        "ON t.symbol = q.symbol AND t.ts >= q.ts"
    )


def with_muntin(spark: SparkSession, files: Files) -> None:
    joined = joined_by_muntin(spark, files)
    joined.write.mode("overwrite").parquet(str(files.fresh(MUNTIN)))


def with_polars(files: Files) -> None:
    joined_by_polars(files).collect().write_parquet(files.fresh(POLARS) / "part.parquet")


def with_duckdb(files: Files) -> None:
    with duckdb.connect(config={"threads": os.cpu_count() or 1}) as connection:
        place = files.fresh(DUCKDB) / "part.parquet"
        connection.execute(f"COPY ({joined_by_duckdb(files)}) TO '{place}' (FORMAT parquet)")


def must_agree(files: Files, names: list[str]) -> None:
    """A race between different answers would mean nothing."""
    found = []
    for name in names:
        rows = pq.read_table(files.folder / name, columns=["ts", "right_ts", "bid"])
        times = [
            rows[name].cast(pa.timestamp("us")).cast(pa.int64()) for name in ("ts", "right_ts")
        ]
        waited = pc.subtract(*times)
        found.append((rows.num_rows, rows["bid"].null_count, pc.sum(waited).as_py()))
    if len(set(found)) != 1:
        raise AssertionError(f"{names} differ: {found}")


def report(sizes: Sizes, taken: Mapping[str, float]) -> Report:
    about = (
        f"{sizes.trades:,} trades, each joined with the last of {sizes.quotes:,} quotes of its "
        f"symbol ({_SYMBOLS} symbols) at or before it, both sides in the order of time. From one "
        f"Parquet file a side, in row groups of {_ROW_GROUP:,} rows, to Parquet files with all "
        f"columns; medians of {RUNS}. Muntin reads with Arrow scans; Polars and DuckDB run in one "
        "process on all cores. Million trades a second:"
    )
    rates = {name: sizes.trades / seconds / 1e6 for name, seconds in taken.items()}
    rows = [[name, f"{taken[name]:.2f}", f"{rates[name]:.2f}"] for name in taken]
    return Report(
        name="asof",
        title="As-of join",
        about=about,
        tables=[Table(["who", "s", "million trades a second"], rows)],
        targets=[Target("million trades a second", rates[MUNTIN], at_least=1)],
        chart=drawn(rates),
    )


def drawn(rates: Mapping[str, float]) -> alt.TopLevelMixin:
    bars = pd.DataFrame([{"who": name, "rate": rate} for name, rate in rates.items()])
    chart: alt.TopLevelMixin = (
        alt.Chart(bars, width=560, height=110, title="As-of join, Parquet to Parquet")
        .mark_bar()
        .encode(
            x=alt.X("rate:Q", title="million trades a second"),
            y=alt.Y("who:N", title=None, sort=None),
        )
    )
    return chart
