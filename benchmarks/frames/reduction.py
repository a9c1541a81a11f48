"""Frames as data reduction [Frames, Figures 4 to 7]: how well few rows stand for many.

A series is reduced to a number of rows, each the mean of a window or a frame. The histogram of the
reduced values, every value weighing as many rows as it stands for, is compared with that of the
series by the earth-mover distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

import muntin as mt
from benchmarks.measure import Report, Table, say
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.specs.axis import Domain
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "nab"
SERIES = {
    "machine temperature": "machine_temperature_system_failure.csv",
    "ambient temperature": "ambient_temperature_system_failure.csv",
    "taxi rides": "nyc_taxi.csv",
}
ORIGINAL, WINDOWS = "all rows", "tumbling windows"
DELTA, SUM, DEVIATION = "delta frames", "aggregate frames, sum", "aggregate frames, deviation"
COLOURS = {
    ORIGINAL: "#888888",
    WINDOWS: "#d95f02",
    DELTA: "#1f6fb4",
    SUM: "#7570b3",
    DEVIATION: "#66a9d9",
}
#: Into about so many rows series are reduced; that many for the histograms.
COUNTS = (10, 20, 50, 100, 200, 500, 1_000, 2_000)
QUICK_COUNTS = (20, 100)
SHOWN = 100
#: Halvings of the range in which a size is looked for that gives the rows wanted.
_HALVINGS = 40
_BINS = 60


@dataclass(frozen=True)
class Reduced:
    """Values, and how many rows of the series each stands for."""

    value: Floats
    rows: Ints

    @classmethod
    def of(cls, series: Floats, starts: Ints) -> Reduced:
        """The means of the stretches that begin at these rows."""
        rows = np.diff(np.append(starts, len(series)))
        return cls(np.add.reduceat(series, starts) / rows, rows)

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class Error:
    """How far a reduction is from its series, and windows of equally many rows."""

    way: str
    rows: int
    frames: float
    windows: float


def earth_mover_distance(left: Reduced, right: Reduced) -> float:
    """The least work that turns one distribution into the other: what is moved times how far.

    On a line it is the area between the two distribution functions; no bins are needed.
    """
    at = np.concatenate([left.value, right.value])
    mass = np.concatenate([left.rows / left.rows.sum(), -right.rows / right.rows.sum()])
    place = np.argsort(at, kind="stable")
    ahead = np.cumsum(mass[place])[:-1]
    return float(np.sum(np.abs(ahead) * np.diff(at[place])))


def windows(series: Floats, count: int) -> Ints:
    """Where tumbling windows of equally many rows begin."""
    starts: Ints = np.arange(count) * len(series) // count
    return starts


def frames(series: Floats, kind: FrameKind) -> Ints:
    """Where frames that partition a series begin, found by the operator."""
    framing = Framing(kind, "on")
    axis = framing.axis(Domain.INTEGER, scale=0, zone="UTC", also=None)
    whole, real = pa.int64(), pa.float64()
    typed = FrameOperatorInputs(
        axis, (), calls=(), bound_type=whole, lateness_type=whole, read=(real,)
    )
    operator = build(framing, typed)
    rows = {"on": np.arange(len(series)), "f0": series, "lacks": np.isnan(series)}
    routed = operator.route(pa.table(rows))
    end = Punctuation(None, None, routed.progress, ended=True)
    found = operator.step(MemoryState(), [InputBatch([routed.partial], end)]).results
    if found["n"].to_numpy().sum() != len(series):
        raise AssertionError(f"{kind.label} leaves rows out")
    starts: Ints = found["frame_start"].to_numpy()
    return starts


#: For a series a kind of frames of any size, and the range that sizes are looked for in.
Sized = tuple[Callable[[float], FrameKind], float, float]


def sized(series: Floats) -> Mapping[str, Sized]:
    """A row is never too much for a frame of its own, or it would stand nowhere."""
    spread = float(np.ptp(series))
    return {
        DELTA: (lambda size: mt.delta("v", size), 1e-9, 2 * spread),
        SUM: (
            lambda size: mt.aggregate(f"sum(v) <= {size:.9f}"),
            float(series.max()) + 1e-6,
            2 * float(series.sum()),
        ),
        DEVIATION: (lambda size: mt.aggregate(f"stddev_pop(v) <= {size:.9f}"), 1e-9, spread),
    }


def reduced_to(series: Floats, way: Sized, count: int) -> Ints:
    """Where frames begin, of the size that gives about so many of them."""
    kind, low, high = way
    best = frames(series, kind(high))
    for _ in range(_HALVINGS):
        size = float(np.sqrt(low * high))
        found = frames(series, kind(size))
        if abs(len(found) - count) < abs(len(best) - count):
            best = found
        if len(found) == count:
            break
        low, high = (size, high) if len(found) > count else (low, size)
    return best


def run(quick: bool) -> Report:
    counts = QUICK_COUNTS if quick else COUNTS
    series = {name: readings(DATA / file) for name, file in SERIES.items()}
    errors = {name: list(compared(name, values, counts)) for name, values in series.items()}
    return report(series, errors)


def readings(path: Path) -> Floats:
    values: Floats = pd.read_csv(path)["value"].to_numpy(np.float64)
    return values


def compared(name: str, series: Floats, counts: Sequence[int]) -> Iterator[Error]:
    whole = Reduced.of(series, np.arange(len(series)))
    for way, how in sized(series).items():
        for count in counts:
            made = Reduced.of(series, reduced_to(series, how, count))
            same = Reduced.of(series, windows(series, len(made)))
            distances = [earth_mover_distance(one, whole) for one in (made, same)]
            yield Error(way, len(made), *distances)
        say(f"{name}: {way}")


def report(series: Mapping[str, Floats], errors: Mapping[str, Sequence[Error]]) -> Report:
    sizes = ", ".join(f"{name} ({len(values):,} rows)" for name, values in series.items())
    about = (
        "The paper's Figures 4 to 7 on three series of the Numenta Anomaly Benchmark: "
        f"{sizes}. A series is reduced to some number of rows, each the mean of a stretch of it: "
        "tumbling windows of equally many rows, delta frames (`delta(v, size)`), or aggregate "
        "frames (`sum(v) <= size`, `stddev_pop(v) <= size`). The error is the earth-mover distance "
        "between the values of the reduced rows, each weighing as many rows as it stands for, and "
        "those of the series, in the series' own unit. The table has the error of frames over that "
        "of windows of exactly as many rows (Figure 7): below 1 frames keep more. Frames "
        "of equal sums are short where values are high and not where they move, so they "
        "gain little or lose."
    )
    return Report(
        name="frame_reduction",
        title="Frames as data reduction",
        about=about,
        tables=[of_errors(name, found) for name, found in errors.items()],
        targets=[],
        chart=drawn(series, errors),
    )


def of_errors(name: str, errors: Sequence[Error]) -> Table:
    ways = list(dict.fromkeys(error.way for error in errors))
    by_way = {way: [error for error in errors if error.way == way] for way in ways}
    rows = []
    for together in zip(*by_way.values(), strict=True):
        cells = [f"{e.frames / e.windows:.2f} ({e.frames:.3g}, {e.rows:,} rows)" for e in together]
        rows.append([f"{together[0].windows:.3g}", *cells])
    columns = ["error of windows", *ways]
    return Table(columns, rows, f"{name}, error of frames over that of windows:")


def drawn(series: Mapping[str, Floats], errors: Mapping[str, Sequence[Error]]) -> alt.TopLevelMixin:
    ways = [way for way in COLOURS if way != ORIGINAL]
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    legend = alt.Legend(labelLimit=240)
    curves, shapes = [], []
    for name, found in errors.items():
        points = pd.DataFrame(
            [{"way": e.way, "rows": e.rows, "error": e.frames} for e in found]
            + [{"way": WINDOWS, "rows": e.rows, "error": e.windows} for e in found]
        )
        curves.append(
            alt.Chart(points, width=300, height=240, title=name)
            .mark_line(point=alt.OverlayMarkDef(size=30))
            .encode(
                x=alt.X("rows:Q", title="rows left", scale=alt.Scale(type="log")),
                y=alt.Y("error:Q", title="earth-mover distance", scale=alt.Scale(type="log")),
                color=alt.Color("way:N", title=None, scale=scale, sort=ways, legend=legend),
            )
        )
        shapes.append(
            alt.Chart(histograms(series[name]), width=300, height=160)
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X("value:Q", title=f"value, {SHOWN} rows left", scale=alt.Scale(zero=False)),
                y=alt.Y("share:Q", title="share of rows", axis=alt.Axis(format="%")),
                color=alt.Color("way:N", title=None, scale=scale),
            )
        )
    return alt.vconcat(alt.hconcat(*curves), alt.hconcat(*shapes))


def histograms(series: Floats) -> pd.DataFrame:
    """Figure 4: how values lie, of all rows and of reduced ones."""
    edges = np.linspace(series.min(), series.max(), _BINS + 1)
    starts = {ORIGINAL: np.arange(len(series)), WINDOWS: windows(series, SHOWN)}
    starts[DELTA] = reduced_to(series, sized(series)[DELTA], SHOWN)
    parts = []
    for way, begins in starts.items():
        made = Reduced.of(series, begins)
        mass, _ = np.histogram(made.value, edges, weights=made.rows / len(series))
        parts.append(pd.DataFrame({"way": way, "value": edges[:-1], "share": mass}))
    return pd.concat(parts)
