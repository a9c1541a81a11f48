"""Figure 11 of the frames paper: the latency of filling, and what is held, by fragment size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Report, Table
from muntin.aggregates.definition import AggregateCall
from muntin.operators.fill.operator import FillOperator
from muntin.operators.fill.segments import OperatorSegments
from muntin.operators.fill.source import FillInput, FillReach
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import CLOSED
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Threshold

SECOND = 1_000_000
AXIS = Axis(Domain.TIMESTAMP)
TIME = pa.timestamp("us", tz="UTC")
#: A frame lasts so many seconds, and the next begins so many after it.
LASTS, PAUSE = 1_200, 300
#: Fragment sizes in seconds; None is a frame in one piece.
SIZES: tuple[int | None, ...] = (None, 600, 300, 120, 60, 30, 10)
#: How often punctuation comes, in seconds.
PUNCTUATIONS = (10, 60, 300)


@dataclass(frozen=True)
class Found:
    """How late rows are in a result after they have come, and the most rows held at a time."""

    size: int | None
    every: int
    latency: float
    held: int


def run(quick: bool) -> Report:
    frames = 3 if quick else 12
    found = [measured(size, every, frames) for every in PUNCTUATIONS for size in SIZES]
    return report(found, frames)


def operator(size: int | None) -> FillOperator:
    framing = Framing(Threshold("b"), "ts", fragments=None if size is None else f"{size} seconds")
    count = AggregateCall("count", "count(*)", (), (), True)
    typed = FrameOperatorInputs(
        axis=AXIS,
        keys=(pa.int64(),),
        calls=(),
        bound_type=TIME,
        lateness_type=pa.duration("us"),
        read=(pa.bool_(),),
        ties=(),
        bridge=None,
    )
    segments = OperatorSegments(
        build(framing, typed), AXIS, (pa.int64(),), edge=CLOSED, fragments=size is not None
    )
    fill = FillInput(
        FillReach(AXIS, CLOSED), ("k0",), (pa.int64(),), ("k0",), (count,), pa.duration("us")
    )
    return FillOperator(segments, (fill,), ("k0",))


def measured(size: int | None, every: int, frames: int) -> Found:
    """A reading and a filling row a second, punctuation ``every`` so many seconds."""
    work, state = operator(size), MemoryState()
    latencies: list[float] = []
    reported: dict[int, int] = {}  # of each frame the last second that has been reported
    held = 0
    for now in range(every, frames * (LASTS + PAUSE) + 1, every):
        seconds = np.arange(now - every, now)
        step = work.step(state, _arrived(work, seconds, now))
        state.apply(step.changes)
        held = max(held, _held(state))
        for row in step.results.to_pylist():
            end = int(row["frame_end"].timestamp())
            since = reported.get(row["frame_id"], int(row["frame_start"].timestamp()) - 1)
            latencies += [now - second for second in range(since + 1, end + 1)]
            reported[row["frame_id"]] = end
    return Found(size, every, float(np.mean(latencies)), held)


def _arrived(work: FillOperator, seconds: np.ndarray, now: int) -> list[InputBatch]:
    """Rows that are complete with their micro-batch."""
    on = pa.array(seconds * SECOND, TIME)
    key = pa.array(np.zeros(len(seconds), np.int64))
    inside = pa.array(seconds % (LASTS + PAUSE) < LASTS)
    readings = pa.table({"on": on, "k0": key, "f0": inside})
    filling = pa.table({"on": on, "k0": key})
    before = int(seconds[0]) * SECOND
    told = Punctuation(before or None, now * SECOND, int(seconds[-1]) * SECOND)
    return [
        InputBatch([sender.route(rows).partial], told)
        for sender, rows in zip(work.map_sides, (readings, filling), strict=True)
    ]


def _held(state: MemoryState) -> int:
    """Filling rows that are remembered."""
    return sum(table.num_rows for (name, _), table in state.chunks.items() if name == "fill0:rows")


def report(found: list[Found], frames: int) -> Report:
    by: dict[tuple[int | None, int], Found] = {(one.size, one.every): one for one in found}
    columns = ["fragments", *(f"every {every} s" for every in PUNCTUATIONS)]
    latency = [
        [_name(size), *(f"{by[size, every].latency:.0f} s" for every in PUNCTUATIONS)]
        for size in SIZES
    ]
    held = [
        [_name(size), *(f"{by[size, every].held:,}" for every in PUNCTUATIONS)] for size in SIZES
    ]
    about = (
        f"{frames} frames of {LASTS} seconds, a reading and a filling row a second, punctuation of "
        "both every 10, 60 and 300 seconds. *Latency* is how long after it came a filling row is "
        "in a result, in the stream's own time and on average; *held* the most filling rows that "
        "were remembered at a time. The operator is stepped without Spark, so these are properties "
        "of the data and not of the machine."
    )
    return Report(
        name="fragments",
        title="Figure 11: fragments and the latency of filling",
        about=about,
        tables=[
            Table(columns, latency, caption="Latency, with punctuation:"),
            Table(columns, held, caption="Filling rows held, with punctuation:"),
        ],
        targets=[],
        chart=_chart(found),
    )


def _name(size: int | None) -> str:
    return "none" if size is None else f"{size} s"


def _chart(found: list[Found]) -> alt.TopLevelMixin:
    rows: list[dict[str, Any]] = [
        {
            "fragments": _name(one.size),
            "latency": one.latency,
            "punctuation": f"every {one.every} s",
        }
        for one in found
    ]
    order = [_name(size) for size in SIZES]
    chart: alt.TopLevelMixin = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("fragments:N", sort=order, title="fragment size"),
            y=alt.Y("latency:Q", title="seconds until a row is in a result"),
            color=alt.Color("punctuation:N", sort=[f"every {n} s" for n in PUNCTUATIONS]),
        )
        .properties(width=520, height=280, title="Short fragments fill sooner")
    )
    return chart
