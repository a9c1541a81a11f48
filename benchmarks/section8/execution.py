"""Figure 8 of [Window-ids]: the time of window-id, buffering and panes as windows overlap more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Report, Table, medians, say, turns
from muntin.aggregates.definition import AggregateCall
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, kernel
from muntin.kernels.grouping import least_by_group
from muntin.kernels.sliding import slide_least
from muntin.operators.progress.progress import Progress, ProgressMessages, Punctuator
from muntin.operators.protocol import InputBatch, MemoryState
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Domain
from muntin.specs.windows import Window

Ints = npt.NDArray[np.int64]
RANGE = 4_000
#: More than elsewhere: the times are short.
RUNS = 7
#: Rows that the operator is given at a time.
MICRO_BATCH = 100_000
WID, BUFFERING, KERNELS, OPERATOR, SCAN = (
    "window-id",
    "buffering",
    "panes, kernels alone",
    "panes, Muntin's operator",
    "scan",
)
COLOURS = {
    WID: "#7570b3",
    BUFFERING: "#d95f02",
    KERNELS: "#66a9d9",
    OPERATOR: "#1f6fb4",
    SCAN: "#888888",
}
NOTHING = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Sizes:
    """How many rows, which RANGE divides, and the slides, which divide RANGE."""

    rows: int
    slides: tuple[int, ...]


FULL = Sizes(1_000_000, (4_000, 2_000, 1_000, 400, 200, 100, 40, 20, 10, 4, 2, 1))
QUICK = Sizes(40_000, (4_000, 400, 40, 4, 1))


@kernel(NONE, INTS, INTS, INT, INT, OUT_INTS)
def _window_id(row_num: Ints, value: Ints, length: int, slide: int, out: Ints) -> None:
    """Every row updates each of its windows when it comes [Window-ids 5.2]."""
    overlap = length // slide
    # The windows of a row are as many as the places of the ring, so it updates them all.
    open_ = np.full(overlap, NOTHING, np.int64)
    closed = 0
    for row in range(len(value)):
        while closed < row_num[row] // slide:
            out[closed] = open_[closed % overlap]
            open_[closed % overlap] = NOTHING
            closed += 1
        new = value[row]
        for place in range(overlap):
            open_[place] = max(open_[place], new)
    while closed < len(out):
        out[closed] = open_[closed % overlap]
        closed += 1


@kernel(NONE, INTS, INTS, INT, INT, OUT_INTS)
def _buffering(row_num: Ints, value: Ints, length: int, slide: int, out: Ints) -> None:
    """Rows are kept; a window that ends is computed anew from all of its rows."""
    kept = np.empty(2 * length, np.int64)
    start = stop = 0
    closed = 0
    for row in range(len(value) + 1):
        # Behind the last row comes the punctuation that ends the last window.
        reached = row_num[row] if row < len(value) else len(out) * slide
        while closed < reached // slide:
            end = (closed + 1) * slide
            start = max(start, stop - min(end, length))
            # A slice counts from 0, which lets the compiler vectorise the loop.
            extent = kept[start:stop]
            greatest = NOTHING
            for place in range(len(extent)):
                greatest = max(greatest, extent[place])
            out[closed] = greatest
            closed += 1
        if row == len(value):
            break
        if stop == len(kept):
            kept[: stop - start] = kept[start:stop]
            start, stop = 0, stop - start
        kept[stop] = value[row]
        stop += 1


@kernel(INT, INTS, INTS)
def _scan(row_num: Ints, value: Ints) -> int:
    """Look at every row once: nobody can be faster."""
    seen = 0
    for row in range(len(value)):
        seen = max(seen, row_num[row] ^ value[row])
    return seen


def window_id(row_num: Ints, value: Ints, slide: int) -> Ints:
    out = np.empty(len(value) // slide, np.int64)
    _window_id(row_num, value, RANGE, slide, out)
    return out


def buffering(row_num: Ints, value: Ints, slide: int) -> Ints:
    out = np.empty(len(value) // slide, np.int64)
    _buffering(row_num, value, RANGE, slide, out)
    return out


def panes_by_kernels(row_num: Ints, value: Ints, slide: int) -> Ints:
    """What the operator does at heart, for one key and without nulls."""
    panes = len(value) // slide
    greatest = np.full(panes, np.iinfo(np.int64).max)
    # The complement turns the least into the greatest, as the operator does it.
    least_by_group(row_num // slide, ~value, greatest)
    high = np.arange(1, panes + 1)
    out = np.empty(panes, np.int64)
    slide_least(greatest, np.maximum(high - RANGE // slide, 0), high, out)
    return ~out


def panes_by_operator(row_num: Ints, value: Ints, slide: int) -> Ints:
    """The stream's operator with punctuation that follows the rows."""
    window = Window(range=RANGE, slide=slide, on="row_num")
    axis = window.axis(Domain.INTEGER, scale=0, zone="UTC")
    operator = WindowOperator(
        axis=axis,
        edges=window.edges(axis),
        keys=(),
        calls=(AggregateCall("max", "max(v)", (0,), (pa.int64(),), True),),
        bound_type=pa.int64(),
        panes_per_bucket=max(1, RANGE // slide),
    )
    table = pa.table({"on": pa.array(row_num), "s0": pa.array(value)})
    state, progress, punctuator = MemoryState(), Progress(), Punctuator(None)
    found = []
    for start in range(0, len(value), MICRO_BATCH):
        routed = operator.route(table.slice(start, MICRO_BATCH))
        assert routed.progress is not None
        heard = ProgressMessages(seen=[routed.progress], announced=[routed.progress + 1])
        advanced = punctuator.advance(state, progress, heard)
        progress = advanced.progress
        step = operator.step(state, [InputBatch([routed.partial], advanced.punctuation)])
        state.apply(step.changes)
        found.append(step.results["r0"])
    results: Ints = pa.chunked_array([part for one in found for part in one.chunks]).to_numpy()
    return results


WAYS: Mapping[str, Callable[[Ints, Ints, int], Ints]] = {
    WID: window_id,
    BUFFERING: buffering,
    KERNELS: panes_by_kernels,
    OPERATOR: panes_by_operator,
}


def readings(rows: int) -> tuple[Ints, Ints]:
    """Ordered rows: their numbers, and speeds that rise and fall."""
    random = np.random.default_rng(8)
    row_num = np.arange(rows, dtype=np.int64)
    speed = 55_000 + 15_000 * np.sin(row_num / 10_000) + random.normal(0, 8_000, rows)
    return row_num, speed.astype(np.int64)


def run(quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    row_num, value = readings(sizes.rows)
    seconds: dict[int, dict[str, float]] = {}
    for slide in sizes.slides:
        # Also the warm-up.
        results = [way(row_num, value, slide) for way in WAYS.values()]
        if not all(np.array_equal(results[0], other) for other in results):
            raise AssertionError(f"SLIDE {slide}: the ways differ in their results")
        raced = contestants(row_num, value, slide)
        seconds[slide] = medians(turns(raced, RUNS, clock=time.process_time))
        times = ", ".join(f"{name} {1000 * s:.1f} ms" for name, s in seconds[slide].items())
        say(f"SLIDE {slide}: {times}")
    return report(sizes, seconds)


def contestants(row_num: Ints, value: Ints, slide: int) -> dict[str, Callable[[], object]]:
    def timed(way: Callable[[Ints, Ints, int], Ints]) -> Callable[[], object]:
        return lambda: way(row_num, value, slide)

    raced: dict[str, Callable[[], object]] = {name: timed(way) for name, way in WAYS.items()}
    return {**raced, SCAN: lambda: _scan(row_num, value)}


def report(sizes: Sizes, seconds: Mapping[int, Mapping[str, float]]) -> Report:
    about = (
        f"`max` over {sizes.rows:,} ordered rows ({16 * sizes.rows / 1e6:.0f} MB), RANGE "
        f"{RANGE:,} rows over the row number, no keys; processor time, medians of {RUNS}, in "
        "turns. *Window-id*: every row updates all the windows it lies in, as partial aggregates "
        "in an array. "
        "*Buffering*: rows are kept and every window is computed from its rows. Both are bare "
        "Numba loops over two integer arrays, which the compiler vectorises. *Panes* twice: the "
        "operator's own kernels called as bare as those two, and the operator as streams run it, "
        f"from Arrow tables in micro-batches of {MICRO_BATCH:,} rows, for rows in any order with "
        "keys and nulls. *Scan* reads both arrays once."
    )
    return Report(
        name="section8-execution",
        title="Execution time by slide",
        about=about,
        tables=[table(seconds)],
        targets=[],
        chart=drawn(seconds),
    )


def table(seconds: Mapping[int, Mapping[str, float]]) -> Table:
    names = [*WAYS, SCAN]
    ratios = ["window-id / operator", "buffering / operator", "window-id / buffering"]
    rows = []
    for slide, found in seconds.items():
        rows.append(
            [
                f"{slide:,}",
                f"{RANGE // slide:,}",
                *(f"{1000 * found[name]:.1f}" for name in names),
                f"{found[WID] / found[OPERATOR]:.2f}",
                f"{found[BUFFERING] / found[OPERATOR]:.2f}",
                f"{found[WID] / found[BUFFERING]:.2f}",
            ]
        )
    return Table(["SLIDE", "overlap", *(f"{name}, ms" for name in names), *ratios], rows)


def drawn(seconds: Mapping[int, Mapping[str, float]]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"way": way, "slide": slide, "ms": 1000 * found[way]}
            for slide, found in seconds.items()
            for way in (*WAYS, SCAN)
        ]
    )
    title = "Execution time by slide, RANGE 4,000 rows"
    lines: alt.Chart = (
        alt.Chart(points, width=560, height=320, title=title)
        .mark_line(point=alt.OverlayMarkDef(size=45))
        .encode(
            x=alt.X(
                "slide:Q",
                title="SLIDE, rows (more overlap to the right)",
                scale=alt.Scale(type="log", reverse=True),
                axis=alt.Axis(values=[4000, 1000, 100, 10, 1], format=","),
            ),
            y=alt.Y(
                "ms:Q",
                title="milliseconds of processor time",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(values=[10.0**power for power in range(-1, 5)], format="~g"),
            ),
            color=alt.Color(
                "way:N",
                title=None,
                sort=list(COLOURS),
                scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
                legend=alt.Legend(labelLimit=220),
            ),
        )
    )
    return lines
