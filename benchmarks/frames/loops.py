"""Delta and aggregate frames against a Python loop in ``applyInPandas``: SQL cannot say them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.frames.kinds import DELTA, FULL, KINDS, QUICK, SUM, Sizes, readings
from benchmarks.measure import (
    MUNTIN,
    Report,
    Table,
    Target,
    draining,
    medians,
    must_agree,
    printed,
    turns,
)

TUPLES, ROWS = "itertuples", "iterrows"


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    with TemporaryDirectory(prefix="muntin-bench-") as folder:
        path = f"{folder}/rows"
        readings(spark, sizes.rows, sizes.keys).write.parquet(path)
        rows = spark.read.parquet(path)
        for kind, of_key in LOOPS.items():
            ours = found_by(spark, path, kind).select(F.col("n").alias("found"))
            must_agree(ours, looped(rows, of_key, TUPLES), ["found"])
        taken = medians(printed(turns(contestants(rows, path), pause=2)))
        # Minutes each: once is enough to tell them from seconds.
        taken |= medians(printed(turns(slowest(rows), runs=1, pause=2)))
    return report(sizes, taken)


def found_by(spark: SparkSession, path: str, kind: str) -> DataFrame:
    """Return Muntin's frames of the rows in some files."""
    return mt.stream(mt.parquet(spark, path), on="ts", by="k").frames(KINDS[kind]).df


def _values(rows: pd.DataFrame, how: str) -> Iterator[float]:
    """The two ways in which people loop over the rows of a pandas DataFrame."""
    ordered = rows.sort_values("ts")
    if how == ROWS:
        return (row["v"] for _, row in ordered.iterrows())
    return (float(row.v) for row in ordered.itertuples())  # type: ignore[arg-type]


def deltas(values: Iterator[float]) -> list[int]:
    """How many rows each delta frame has."""
    found: list[int] = []
    least = greatest = 0.0
    count = 0
    for value in values:
        if count and max(greatest, value) - min(least, value) >= DELTA:
            found.append(count)
            count = 0
        least = min(least, value) if count else value
        greatest = max(greatest, value) if count else value
        count += 1
    return [*found, count] if count else found


def aggregates(values: Iterator[float]) -> list[int]:
    """How many rows each frame has whose sum has to reach a limit."""
    found: list[int] = []
    total, count = 0.0, 0
    for value in values:
        total += value
        count += 1
        if total >= SUM:
            found.append(count)
            total, count = 0.0, 0
    return found


LOOPS: Mapping[str, Callable[[Iterator[float]], list[int]]] = {
    "delta": deltas,
    "aggregate": aggregates,
}


def looped(rows: DataFrame, of_key: Callable[[Iterator[float]], list[int]], how: str) -> DataFrame:
    def found(mine: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"found": of_key(_values(mine, how))})

    return rows.groupBy("k").applyInPandas(found, "found BIGINT")


def contestants(rows: DataFrame, path: str) -> dict[str, Callable[[], object]]:
    made: dict[str, Callable[[], object]] = {}
    for kind, of_key in LOOPS.items():
        made[f"{kind}, {MUNTIN}"] = draining(found_by, rows.sparkSession, path, kind)
        made[f"{kind}, {TUPLES}"] = draining(looped, rows, of_key, TUPLES)
    return made


def slowest(rows: DataFrame) -> dict[str, Callable[[], object]]:
    return {
        f"{kind}, {ROWS}": draining(looped, rows, of_key, ROWS) for kind, of_key in LOOPS.items()
    }


def report(sizes: Sizes, taken: Mapping[str, float]) -> Report:
    about = (
        f"{sizes.rows:,} rows of {sizes.keys:,} keys as above, in Parquet files. SQL has no query "
        "for delta and aggregate frames; what people write is a function for `applyInPandas` that "
        "sorts the rows of a key and loops over them, as `itertuples` or as `iterrows`. Medians of "
        "three, `iterrows` once."
    )
    ratios = {
        f"{kind}, {how}": taken[f"{kind}, {how}"] / taken[f"{kind}, {MUNTIN}"]
        for kind in LOOPS
        for how in (MUNTIN, TUPLES, ROWS)
    }
    rows = [[name, f"{taken[name]:.2f}", f"{ratio:.1f}"] for name, ratio in ratios.items()]
    return Report(
        name="frame_loops",
        title="Frames beside loops",
        about=about,
        tables=[Table(["frames", "s", f"over {MUNTIN}"], rows)],
        targets=[
            Target(f"a loop over {MUNTIN}: {name}", ratio, 20)
            for name, ratio in ratios.items()
            if name.endswith(ROWS)
        ],
        chart=drawn(taken),
    )


def drawn(taken: Mapping[str, float]) -> alt.TopLevelMixin:
    bars = pd.DataFrame(
        [
            {"kind": kind, "how": how, "seconds": taken[f"{kind}, {how}"]}
            for kind in LOOPS
            for how in (MUNTIN, TUPLES, ROWS)
        ]
    )
    bars["label"] = bars.seconds.map("{:.1f}".format)
    hows = alt.Scale(domain=[MUNTIN, TUPLES, ROWS], range=["#1f6fb4", "#7b7b7b", "#b3b3b3"])
    base = alt.Chart(bars, width=560, height=110).encode(
        x=alt.X("seconds:Q", title="seconds"),
        y=alt.Y("how:N", title=None, sort=None),
    )
    layers = alt.layer(
        base.mark_bar().encode(color=alt.Color("how:N", legend=None, scale=hows)),
        base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N"),
    )
    return layers.facet(row=alt.Row("kind:N", title=None)).properties(
        title="Frames and the same by loops in applyInPandas: seconds"
    )
