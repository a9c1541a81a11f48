"""The panes paper's Figure 3 (panes.txt, section 4): paned over unpaned time of a sliding max."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from benchmarks.measure import Report, Table, draining, must_agree, race, say
from muntin.aggregates.binding import Call
from muntin.operators.protocol import MemoryState, Punctuation
from muntin.operators.windows import Windows
from muntin.semantics.axis import Domain
from muntin.semantics.window import Window

#: Ticks of a pane in the kernels' race: a pane is a second on both stages.
PANE = 1_000_000
#: Where the unpaned time comes from.
STAGES = {"spark": "against Spark's window()", "kernel": "kernels alone, against NumPy"}
Cell = tuple[int, int]


@dataclass(frozen=True)
class Grid:
    """The cells of the figure, and how many rows each cell processes."""

    rows: int
    rows_per_pane: tuple[int, ...]
    panes_per_window: tuple[int, ...]


FULL = Grid(200_000, (1, 2, 5, 10, 20, 50, 100), (2, 5, 10, 20, 50, 100, 300))
QUICK = Grid(20_000, (1, 10, 100), (2, 20, 100))


def run(spark: SparkSession, quick: bool) -> Report:
    grid = QUICK if quick else FULL
    ratios: dict[str, dict[Cell, float]] = {stage: {} for stage in STAGES}
    for rows_per_pane in grid.rows_per_pane:
        rows = readings(spark, grid.rows, rows_per_pane).cache()
        say(f"{rows.count():,} rows, {rows_per_pane} rows a pane")
        if not ratios["spark"]:
            must_agree(paned(rows, 2), unpaned(rows, 2), ["hi"])
        for panes in grid.panes_per_window:
            cell = rows_per_pane, panes
            ratios["spark"][cell] = ratio(
                draining(paned, rows, panes), draining(unpaned, rows, panes)
            )
            ratios["kernel"][cell] = kernel_ratio(grid.rows, rows_per_pane, panes)
        rows.unpersist()
    return report(grid, ratios)


def ratio(with_panes: Callable[[], object], without: Callable[[], object]) -> float:
    taken = race({"paned": with_panes, "unpaned": without})
    return taken["paned"] / taken["unpaned"]


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


def kernel_ratio(rows: int, rows_per_pane: int, panes: int) -> float:
    """Without Spark: the whole operator against a scan of every window's rows."""
    tick = np.arange(rows, dtype=np.int64) * PANE // rows_per_pane
    value = np.random.default_rng(rows_per_pane).uniform(0, 100, rows)
    operator = sliding_max(panes)
    columns = {"shard": pa.array(np.zeros(rows, np.int32)), "on": pa.array(tick)}
    table = pa.table({**columns, "s0": pa.array(value)})
    # Also the warm-up.
    mine, other = operated(operator, table), scanned(tick, value, panes * PANE)
    if not np.array_equal(mine["r0"].to_numpy(), other):
        raise AssertionError("the operator and the scan differ")
    return ratio(lambda: operated(operator, table), lambda: scanned(tick, value, panes * PANE))


def sliding_max(panes: int) -> Windows:
    window = Window(range=panes * PANE, slide=PANE, on="on")
    axis = window.axis(Domain.INTEGER, scale=0, zone="UTC")
    return Windows(
        axis=axis,
        edges=window.edges(axis),
        keys=(),
        calls=(Call("max", "max(v)", (0,), (pa.float64(),), True),),
        bound_type=pa.int64(),
    )


def operated(operator: Windows, rows: pa.Table) -> pa.Table:
    """Route and step as the batch driver does, all rows in one shard."""
    routed = operator.route(rows)
    end = Punctuation(None, None, routed.progress, ended=True)
    partial = routed.partial.drop_columns(["shard"])
    return operator.step(MemoryState(), [partial], end).results


def scanned(
    tick: npt.NDArray[np.int64], value: npt.NDArray[np.float64], length: int
) -> npt.NDArray[np.float64]:
    """Formula 3.3: every window scans its rows, here sorted and in one NumPy call for all."""
    first, last = tick[0] // PANE, (tick[-1] + length) // PANE - 1
    ends = (np.arange(first, last + 1) + 1) * PANE
    bounds = np.column_stack([np.searchsorted(tick, ends - length), np.searchsorted(tick, ends)])
    # reduceat takes the stretches between bounds in turn; every second one is no window.
    greatest = np.maximum.reduceat(np.append(value, -np.inf), bounds.ravel())
    windows: npt.NDArray[np.float64] = greatest[::2]
    return windows


def report(grid: Grid, ratios: Mapping[str, Mapping[Cell, float]]) -> Report:
    about = (
        f"Figure 3 of the panes paper: the time with panes over the time without, for a sliding "
        f"`max` of one group over {grid.rows:,} rows; below 1 panes win. Rows are those of a pane "
        "(down), panes those of a window (across); medians of three. First Muntin over Spark's "
        "`window()`, which copies every row once per window: whole queries on cached rows, with "
        "all that Spark spends on starting one. Then the kernels alone, without Spark: Muntin's "
        "operator with all its bookkeeping (any order, any key, nulls) over one NumPy call "
        "(`maximum.reduceat`) that scans every window's rows, already sorted."
    )
    return Report(
        name="figure3",
        title="Figure 3 of the panes paper",
        about=about,
        tables=[table(grid, stage, ratios[stage]) for stage in STAGES],
        targets=[],
        chart=alt.hconcat(*(heat_map(stage, ratios[stage]) for stage in STAGES), spacing=30),
    )


def table(grid: Grid, stage: str, ratios: Mapping[Cell, float]) -> Table:
    rows = [
        [str(r), *(shown(ratios[r, panes]) for panes in grid.panes_per_window)]
        for r in grid.rows_per_pane
    ]
    columns = ["rows a pane", *(f"{panes} panes" for panes in grid.panes_per_window)]
    return Table(columns, rows, f"Paned over unpaned time, {STAGES[stage]}:")


def shown(ratio: float) -> str:
    """Two digits, whatever the size."""
    return f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2g}"


def heat_map(stage: str, ratios: Mapping[Cell, float]) -> alt.LayerChart | alt.FacetChart:
    """Blue where panes win, orange where they lose, white where it is the same."""
    cells = pd.DataFrame(
        [
            {"rows": r, "panes": p, "log": np.log10(ratio), "label": shown(ratio)}
            for (r, p), ratio in ratios.items()
        ]
    )
    title = alt.Title("Paned over unpaned time", subtitle=STAGES[stage])
    base = alt.Chart(cells, width=350, height=280, title=title).encode(
        x=alt.X("panes:O", title="panes a window", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("rows:O", title="rows a pane"),
    )
    scale = alt.Scale(
        domain=[-2, -1, 0, 1], range=["#1f6fb4", "#9cc5e6", "#ffffff", "#d95f02"], clamp=True
    )
    return alt.layer(
        base.mark_rect(stroke="#dddddd").encode(color=alt.Color("log:Q", scale=scale, legend=None)),
        base.mark_text(fontSize=12).encode(text="label:N"),
    )
