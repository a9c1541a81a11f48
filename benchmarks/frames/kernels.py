"""Framing functions alone: rows a second on one core, without Spark, sorting or Arrow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

import muntin as mt
from benchmarks.measure import Report, Table, Target, medians, say, turns
from muntin.kernels.frames.records import REAL, fresh
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.frames.operator import FrameOperator, walked
from muntin.operators.frames.ordered_rows import OrderedRows
from muntin.specs.axis import Domain
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: More than elsewhere: the times are short.
RUNS = 7
#: Rows a second on one core, in millions.
PROMISED = 20
#: Ticks between the rows of a key: a second.
SECOND = 1_000_000
#: About so many rows are a frame.
LENGTH = 100


@dataclass(frozen=True)
class Sizes:
    """How much data: as many rows for every key."""

    keys: int
    rows_per_key: int

    @property
    def rows(self) -> int:
        return self.keys * self.rows_per_key


FULL = Sizes(keys=1_000, rows_per_key=5_000)
QUICK = Sizes(keys=100, rows_per_key=5_000)


@dataclass(frozen=True)
class Course:
    """A kind, the type of what it reads, and values under the name that kernels know."""

    kind: FrameKind
    type: pa.DataType
    name: str
    values: npt.NDArray[np.generic]

    @property
    def operator(self) -> FrameOperator:
        framing = Framing(self.kind, "on")
        axis = framing.axis(Domain.TIMESTAMP, scale=0, zone="UTC", also=None)
        made = build(
            framing,
            FrameOperatorInputs(
                axis=axis,
                keys=(pa.int64(),),
                calls=(),
                bound_type=pa.timestamp("us", "UTC"),
                lateness_type=pa.duration("us"),
                read=(self.type,),
            ),
        )
        assert isinstance(made, FrameOperator)  # no key is forgotten
        return made

    def framed(self, sizes: Sizes) -> Callable[[], np.ndarray]:
        """A contestant: from rows in order to frames, every key from its first row to its end."""
        asked = self.operator.record
        starts = np.arange(sizes.keys + 1, dtype=np.int64) * sizes.rows_per_key
        order = np.tile(np.arange(sizes.rows_per_key, dtype=np.int64) * SECOND, sizes.keys)
        what = np.full(sizes.rows, REAL, np.uint8)
        rows = OrderedRows(starts, order, what, pa.table({}), columns={self.name: self.values})
        return lambda: walked(asked, rows, fresh(sizes.keys), True)


def run(quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    contestants = {name: course.framed(sizes) for name, course in courses(sizes).items()}
    # Also the warm-up.
    frames = {name: len(contestant()) for name, contestant in contestants.items()}
    taken = medians(turns(contestants, RUNS, clock=time.process_time))
    for name, seconds in taken.items():
        say(f"{name}: {sizes.rows / seconds / 1e6:.0f} million rows a second")
    return report(sizes, frames, taken)


def courses(sizes: Sizes) -> Mapping[str, Course]:
    """Values that give frames of about a hundred rows, of different lengths."""
    random = np.random.default_rng(4)
    real, whole = pa.float64(), pa.int64()
    switched = np.cumsum(random.random(sizes.rows) < 1 / LENGTH)
    walk = np.cumsum(random.normal(0, 1, sizes.rows))
    vehicles = random.integers(0, 2 * LENGTH, sizes.rows)
    ramp = _ramps(random, sizes.rows)
    return {
        "threshold": Course(mt.threshold("v"), pa.bool_(), "whole", switched % 2),
        "boundary": Course(mt.boundary("v"), whole, "whole", switched % 17),
        "delta, doubles": Course(mt.delta("v", 14.0), real, "real", walk),
        "delta, integers": Course(mt.delta("v", 140), whole, "whole", (10 * walk).astype(np.int64)),
        "aggregate, sum of doubles": Course(
            mt.aggregate(f"sum(v) >= {LENGTH * LENGTH}"), real, "real", vehicles.astype(np.float64)
        ),
        "aggregate, sum of integers": Course(
            mt.aggregate(f"sum(v) <= {LENGTH * LENGTH}"), whole, "whole", vehicles
        ),
        "aggregate, avg": Course(mt.aggregate("avg(v) <= 20"), real, "real", walk % 40),
        "trend": Course(mt.trend("v", "increasing"), whole, "whole", ramp),
    }


def _ramps(random: np.random.Generator, rows: int) -> Ints:
    """Values that rise for a while and then fall at once."""
    falls = np.where(random.random(rows) < 1 / LENGTH, -1_000, 0)
    ramps: Ints = np.cumsum(random.integers(1, 20, rows) + falls)
    return ramps


def report(sizes: Sizes, frames: Mapping[str, int], taken: Mapping[str, float]) -> Report:
    about = (
        f"{sizes.rows:,} rows of {sizes.keys:,} keys, in order and as arrays, from the first row "
        "to the frames as records; one core, processor time, medians of "
        f"{RUNS}. Sorting, Arrow and Spark are in the figures of the section above."
    )
    rate = {name: sizes.rows / seconds / 1e6 for name, seconds in taken.items()}
    cells = [
        [
            name,
            f"{frames[name]:,}",
            f"{sizes.rows / max(1, frames[name]):,.0f}",
            f"{rate[name]:.0f}",
        ]
        for name in taken
    ]
    return Report(
        name="frame_kernels",
        title="Framing functions alone",
        about=about,
        tables=[Table(["kind", "frames", "rows a frame", "million rows a second"], cells)],
        targets=[
            Target(f"million rows a second on one core: {name}", rate[name], at_least=PROMISED)
            for name in rate
        ],
        chart=drawn(rate),
    )


def drawn(rate: Mapping[str, float]) -> alt.TopLevelMixin:
    bars = pd.DataFrame([{"kind": name, "rate": value} for name, value in rate.items()])
    bars["label"] = bars.rate.map("{:.0f}".format)
    title = "Framing functions alone: million rows a second on one core"
    base = alt.Chart(bars, width=560, height=240, title=title).encode(
        x=alt.X("rate:Q", title="million rows a second"), y=alt.Y("kind:N", title=None, sort=None)
    )
    promised = alt.Chart(pd.DataFrame([{"rate": PROMISED}])).mark_rule(strokeDash=[4, 4])
    return alt.layer(
        base.mark_bar(color="#1f6fb4"),
        base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N"),
        promised.encode(x="rate:Q"),
    )
