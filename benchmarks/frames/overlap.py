"""Frames that overlap: one pass takes the same time however long they are, a walk does not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import altair as alt
import numpy as np
import pandas as pd

from benchmarks.measure import Report, Table, Target, medians, turns
from muntin.kernels.frames.overlapping_fast import candidates_in_one_pass
from muntin.kernels.frames.records import DELTA, FOUND, REAL, row_columns
from muntin.kernels.frames.walk import candidates
from muntin.operators.frames.arrow_kind import kernel_record

#: So many rows of one key, in frames of so many rows from their first.
ROWS, QUICK_ROWS = 100_000, 20_000
LENGTHS = (10, 100, 1_000, 10_000)
RUNS = 3
WAYS: Mapping[str, Callable[..., int]] = {
    "walked": candidates,
    "in one pass": candidates_in_one_pass,
}


def run(quick: bool) -> Report:
    rows = QUICK_ROWS if quick else ROWS
    contestants = {
        f"{way} {length}": framed(rows, length, find)
        for length in LENGTHS
        for way, find in WAYS.items()
    }
    for length in LENGTHS:  # also the warm-up
        walked, passed = (contestants[f"{way} {length}"]() for way in WAYS)
        assert walked.tobytes() == passed.tobytes()
    return report(rows, medians(turns(contestants, RUNS, clock=time.process_time)))


def framed(rows: int, length: int, find: Callable[..., int]) -> Callable[[], np.ndarray]:
    """A contestant: the delta frame from every row, on plateaus of so many rows."""
    none, no_flags, no_ints = np.empty(0), np.empty(0, np.uint8), np.empty(0, np.int64)
    starts, order = np.array([0, rows]), np.arange(rows)
    value = order // length * 10
    arrays = starts, order, np.full(rows, REAL, np.uint8), no_flags, no_flags, value, none, none
    fields = (("kind", DELTA), ("whole", 1), ("size", 5), ("every_candidate", 1))

    def contestant() -> np.ndarray:
        found = np.zeros(rows, FOUND)
        columns = row_columns(*arrays, no_ints, no_flags)
        find(kernel_record(fields), columns, 1, 1, starts[:1], found)
        return found

    return contestant


def report(rows: int, taken: Mapping[str, float]) -> Report:
    about = (
        f"{rows:,} rows of one key on plateaus of different lengths, and the `delta` frame from "
        "every row; one core, processor time of the kernels alone, medians of "
        f"{RUNS}. Both ways find the same frames; the walk is the one that sums and averages take."
    )
    longest, shortest = LENGTHS[-1], LENGTHS[0]
    cells = [
        [f"{length:,}", *(f"{taken[f'{way} {length}'] * 1e3:.1f}" for way in WAYS)]
        for length in LENGTHS
    ]
    flat = taken[f"in one pass {longest}"] / taken[f"in one pass {shortest}"]
    gain = taken[f"walked {longest}"] / taken[f"in one pass {longest}"]
    return Report(
        name="frame_overlap",
        title="Frames that overlap, by their length",
        about=about,
        tables=[Table(["rows of a plateau", *(f"{way}, ms" for way in WAYS)], cells)],
        targets=[
            Target(f"one pass, plateaus of {longest:,} over {shortest}", flat, at_most=2),
            Target(f"walked over one pass, plateaus of {longest:,}", gain, at_least=100),
        ],
        chart=drawn(taken),
    )


def drawn(taken: Mapping[str, float]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"way": way, "length": length, "ms": taken[f"{way} {length}"] * 1e3}
            for way in WAYS
            for length in LENGTHS
        ]
    )
    scale = alt.Scale(type="log")
    chart: alt.TopLevelMixin = (
        alt.Chart(points, width=560, height=240, title="Frames that overlap: milliseconds")
        .mark_line(point=True)
        .encode(
            x=alt.X("length:Q", title="rows of a plateau", scale=scale),
            y=alt.Y("ms:Q", title="milliseconds", scale=scale),
            color=alt.Color("way:N", title=None),
        )
    )
    return chart
