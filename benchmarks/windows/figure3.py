"""Figure 3 of the panes paper [Panes 4]: paned over unpaned time of a sliding max."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import Report, Table, draining, medians, must_agree, say, turns
from muntin.aggregates.definition import AggregateCall
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Domain
from muntin.specs.windows import Window

#: Ticks of a pane, everywhere: a second.
PANE = 1_000_000
#: Rows that the unpaned operator takes together, as the exchange does.
AT_ONCE = 1_000_000
#: What is divided by what.
STAGES = {
    "spark": "Muntin over Spark's window()",
    "operator": "Muntin's operator over itself without panes",
    "scan": "Muntin's operator over a NumPy scan",
}
Cell = tuple[int, int]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """The cells of the figure, and how many rows a cell processes with and without Spark."""

    rows: int
    kernel_rows: int
    rows_per_pane: tuple[int, ...]
    panes_per_window: tuple[int, ...]


FULL = Grid(200_000, 50_000, (1, 2, 5, 10, 20, 50, 100), (2, 5, 10, 20, 50, 100, 300))
QUICK = Grid(20_000, 20_000, (1, 10, 100), (2, 20, 100))


def run(spark: SparkSession, quick: bool) -> Report:
    grid = QUICK if quick else FULL
    ratios: dict[Cell, dict[str, float]] = {}
    for rows_per_pane in grid.rows_per_pane:
        rows = readings(spark, grid.rows, rows_per_pane).cache()
        rows.count()
        for panes in grid.panes_per_window:
            if not ratios:
                # Also the warm-up.
                must_agree(paned(rows, panes), unpaned(rows, panes), ["hi"])
            cell = rows_per_pane, panes
            found = medians(
                turns({"p": draining(paned, rows, panes), "u": draining(unpaned, rows, panes)})
            )
            ratios[cell] = {"spark": found["p"] / found["u"]}
            ratios[cell] |= without_spark(grid.kernel_rows, rows_per_pane, panes)
            quotients = ", ".join(
                f"{shown(value)} {stage}" for stage, value in ratios[cell].items()
            )
            say(f"{rows_per_pane} rows a pane, {panes} panes a window: {quotients}")
        rows.unpersist()
    return report(grid, ratios)


def readings(spark: SparkSession, rows: int, rows_per_pane: int) -> DataFrame:
    """One group, as in the paper, with the same number of rows in every second."""
    return spark.range(rows).select(
        F.timestamp_micros(F.floor(F.col("id") * PANE / rows_per_pane)).alias("ts"),
        (F.pmod(F.xxhash64("id"), F.lit(1_000_000)) / 10_000).alias("v"),
    )


def paned(rows: DataFrame, panes: int) -> DataFrame:
    windows = mt.stream(rows, on="ts").window(range=f"{panes} seconds", slide="1 second")
    return windows.agg("max(v) AS hi")


def unpaned(rows: DataFrame, panes: int) -> DataFrame:
    """Spark's way: every row is copied once for every window that holds it."""
    window = F.window("ts", f"{panes} seconds", "1 second")
    return rows.groupBy(window).agg(F.max("v").alias("hi"))


def without_spark(rows: int, rows_per_pane: int, panes: int) -> dict[str, float]:
    """The operator over itself without panes, and over a scan of every window's rows."""
    tick = np.arange(rows, dtype=np.int64) * PANE // rows_per_pane
    value = np.random.default_rng(rows_per_pane).uniform(0, 100, rows)
    table = prepared(tick, value)
    sliding, single = max_over(panes * PANE, PANE), max_over(1, 1)
    contestants: dict[str, Callable[[], Floats]] = {
        "paned": lambda: operated(sliding, [table]),
        "copied": lambda: operated(single, copies(tick, value, panes)),
        "scanned": lambda: scanned(tick, value, panes * PANE),
    }
    # Also the warm-up.
    results = [contestant() for contestant in contestants.values()]
    if not all(np.array_equal(results[0], other) for other in results):
        raise AssertionError("the ways differ in their results")
    found = medians(turns(contestants))
    return {
        "operator": found["paned"] / found["copied"],
        "scan": found["paned"] / found["scanned"],
    }


def max_over(length: int, slide: int) -> WindowOperator:
    window = Window(range=length, slide=slide, on="on")
    axis = window.axis(Domain.INTEGER, scale=0, zone="UTC")
    return WindowOperator(
        axis=axis,
        edges=window.edges(axis),
        keys=(),
        calls=(AggregateCall("max", "max(v)", (0,), (pa.float64(),), True),),
        bound_type=pa.int64(),
    )


def prepared(on: Ints, value: Floats) -> pa.Table:
    """Rows as Spark hands them to the operator."""
    return pa.table({"on": pa.array(on), "s0": pa.array(value)})


def operated(operator: WindowOperator, tables: Iterable[pa.Table]) -> Floats:
    """Route and step as the batch driver does, all rows in one shard."""
    routed = [operator.route(table) for table in tables]
    partials = [part.partial for part in routed]
    end = Punctuation(None, None, routed[-1].progress, ended=True)
    step = operator.step(MemoryState(), [InputBatch(partials, end)])
    found: Floats = step.results["r0"].to_numpy()
    return found


def copies(tick: Ints, value: Floats, panes: int) -> Iterator[pa.Table]:
    """Without panes [Window-ids 5.2.1]: every row once for every window, by the window's id."""
    size = max(1, AT_ONCE // panes)
    for start in range(0, len(tick), size):
        first = tick[start : start + size] // PANE
        wid = (first[:, np.newaxis] + np.arange(panes)).ravel()
        yield prepared(wid, np.repeat(value[start : start + size], panes))


def scanned(tick: Ints, value: Floats, length: int) -> Floats:
    """Formula 3.3: every window scans its rows, here sorted and in one NumPy call for all."""
    first, last = tick[0] // PANE, (tick[-1] + length) // PANE - 1
    ends = (np.arange(first, last + 1) + 1) * PANE
    bounds = np.column_stack([np.searchsorted(tick, ends - length), np.searchsorted(tick, ends)])
    # reduceat takes the stretches between bounds in turn; every second one is no window.
    greatest = np.maximum.reduceat(np.append(value, -np.inf), bounds.ravel())
    windows: Floats = greatest[::2]
    return windows


def report(grid: Grid, ratios: Mapping[Cell, Mapping[str, float]]) -> Report:
    about = (
        "Figure 3 of the panes paper: the time with panes over the time without, for a sliding "
        "`max` of one group; below 1 panes win; medians of three. *Against Spark*: whole queries "
        f"on {grid.rows:,} cached rows, with all that Spark spends on starting one; its `window()` "
        "copies every row once per window. *The operator against itself*, which is what the paper "
        f"measured: no Spark, {grid.kernel_rows:,} rows, and the same code fed with one copy of "
        "each row per window. *Against a scan*: the same rows, already sorted, and one NumPy call "
        "(`maximum.reduceat`) for all windows. It is a bare scan where the operator also takes "
        "any order, keys and nulls, and shows what that costs."
    )
    maps = [heat_map(ratios, stage) for stage in STAGES]
    return Report(
        name="figure3",
        title="Figure 3 of the panes paper",
        about=about,
        tables=[table(grid, ratios, stage) for stage in STAGES],
        targets=[],
        chart=alt.hconcat(*maps, spacing=24),
    )


def table(grid: Grid, ratios: Mapping[Cell, Mapping[str, float]], stage: str) -> Table:
    rows = [
        [str(r), *(shown(ratios[r, panes][stage]) for panes in grid.panes_per_window)]
        for r in grid.rows_per_pane
    ]
    columns = ["rows a pane", *(f"{panes} panes" for panes in grid.panes_per_window)]
    return Table(columns, rows, f"{STAGES[stage]}:")


def shown(ratio: float) -> str:
    """Two digits, or one where that is enough to say how small it is."""
    if ratio >= 10:
        return f"{ratio:.0f}"
    if ratio >= 1:
        return f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def heat_map(
    ratios: Mapping[Cell, Mapping[str, float]], stage: str
) -> alt.LayerChart | alt.FacetChart:
    """Blue where panes win, orange where they lose, white where it is the same."""
    cells = pd.DataFrame(
        [
            {"rows": r, "panes": p, "log": np.log10(found[stage]), "label": shown(found[stage])}
            for (r, p), found in ratios.items()
        ]
    )
    title = alt.Title("Paned over unpaned time", subtitle=STAGES[stage])
    base = alt.Chart(cells, width=290, height=250, title=title).encode(
        x=alt.X("panes:O", title="panes a window", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("rows:O", title="rows a pane"),
    )
    scale = alt.Scale(
        domain=[-2, 0, 1], range=["#5b9bd0", "#ffffff", "#f0a35e"], interpolate="rgb", clamp=True
    )
    return alt.layer(
        base.mark_rect(stroke="#dddddd").encode(color=alt.Color("log:Q", scale=scale, legend=None)),
        base.mark_text(fontSize=11).encode(text="label:N"),
    )
