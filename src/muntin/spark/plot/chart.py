"""Charts of frames: the series with its frames shaded and labelled, drawn by altair.

Only :mod:`muntin.spark.plot.frames` imports this, once it knows that altair is there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import altair as alt

from muntin.spark.plot.data import FrameMark, Key, PlotData, RowMark
from muntin.specs.frames.frame_kind import FrameKind

Chart = alt.LayerChart | alt.VConcatChart
#: How many frames of one key are drawn; more would run together.
MOST_DRAWN = 2000
#: Up to this many rows, each has a point, too.
_POINTS = 150
#: How many bars of overlapping frames are below each other; the next one is at the top again.
_BARS = 6
#: The height of a bar with its label, and the width of a letter, in pixels.
_BAR_HEIGHT, _LETTER = 14, 6.5
#: The two colours of frames, in turn.
_FRAME, _OTHER = "#1e88e5", "#00897b"
_LINE, _REGION = "#37474f", "#d50000"
#: Times of 24 hours, as results show them.
_CLOCK = {"hours": "%H:%M", "minutes": "%H:%M", "seconds": "%H:%M:%S"}


@dataclass(frozen=True)
class ChartLayout:
    """What is drawn, and how; sizes are in pixels."""

    kind: FrameKind
    on: str
    by: Sequence[str]
    value: str
    data: PlotData
    width: int
    height: int

    def chart(self, title: str | None) -> Chart:
        """Return one chart for every key, below each other."""
        keys = [*self.data.rows]
        charts = [alt.layer(*self._layers(key)) for key in keys]
        sized = [chart.properties(width=self.width, height=self.height) for chart in charts]
        text = self.kind.label if title is None else title
        if len(keys) == 1:
            text = f"{text} · {_named(keys[0])}" if self.by and title is None else text
            whole: Any = sized[0]
        else:
            each = [
                chart.properties(title=alt.Title(_named(key), fontSize=11))
                for key, chart in zip(keys, sized, strict=True)
            ]
            whole = alt.vconcat(*each, spacing=8)
        whole = whole.properties(title=alt.Title(text, subtitle=self.left_out))
        chart: Chart = whole.configure_title(anchor="start").configure_view(stroke="#cfd8dc")
        return chart

    @cached_property
    def left_out(self) -> list[str]:
        """What the picture does not show."""
        lines = []
        if self.data.more:
            keys = len(self.data.rows)
            lines.append(f"{keys} of the keys, those with frames first; others with key= or limit=")
        for key, frames in self.data.frames.items():
            if len(frames) > MOST_DRAWN:
                whose = f" of {_named(key)}" if self.by else ""
                lines.append(f"the first {MOST_DRAWN:,} of {len(frames):,} frames{whose}")
        return lines

    def _layers(self, key: Key) -> list[alt.Chart]:
        frames, rows = self.data.frames[key][:MOST_DRAWN], self.data.rows[key]
        if self.kind.second_axis is not None:
            return [self._map(rows), *self._rectangles(frames)]
        shades, *above = self._shades(frames)
        return [shades, self._series(rows), *above]

    def _shades(self, frames: Sequence[FrameMark]) -> list[alt.Chart]:
        """Return a shade for every frame, a bar at its top, and a label below the bar."""
        bars = _bars(frames, self._pixel)
        drawn = _data(bars)
        # Shades on top of each other add up.
        opacity = 0.16 if len({bar["top"] for bar in bars}) < 2 else 0.05
        colour = alt.condition("datum.odd", alt.value(_OTHER), alt.value(_FRAME))
        dashed = alt.condition("datum.partial", alt.value([4, 3]), alt.value([1, 0]))
        shades = drawn.mark_rect(strokeWidth=0.7, fillOpacity=opacity).encode(
            x=self._x("start"),
            x2="end",
            fill=colour,
            stroke=colour,
            strokeDash=dashed,
            tooltip=_tooltip(frames),
        )
        top = alt.Y("top:Q", scale=None, axis=None)
        rules = drawn.mark_rule(strokeWidth=3).encode(
            x=self._x("start"), x2="end", y=top, color=colour, strokeDash=dashed
        )
        texts = drawn.mark_text(align="left", baseline="top", dx=2, dy=3, fontSize=10)
        labels = texts.encode(x=self._x("start"), y=top, text="label:N", color=colour)
        return [shades, rules, labels]

    def _series(self, rows: Sequence[RowMark]) -> alt.Chart:
        line = _data([{"x": row.x, "value": row.value} for row in rows])
        points = {"size": 14, "color": _LINE, "filled": True} if len(rows) <= _POINTS else False
        marked = line.mark_line(
            color=_LINE,
            strokeWidth=1.2,
            point=points,
            interpolate="step-after" if self.data.nominal else "linear",
            orient="vertical",  # along x, even if y is text
        )
        drawn: alt.Chart = marked.encode(x=self._x("x"), y=self._heights)
        return drawn

    @cached_property
    def _heights(self) -> alt.Y:
        """The axis of values, the same for all keys so that they can be compared."""
        values = [d.value for rows in self.data.rows.values() for d in rows]
        if self.data.nominal:
            texts = sorted({str(value) for value in values if value is not None})
            return alt.Y("value:N", title=self.value, scale=alt.Scale(domain=texts), sort=texts)
        numbers = [value for value in values if isinstance(value, float)]
        domain = [min(numbers, default=0.0), max(numbers, default=1.0)]
        scale = alt.Scale(domain=domain, zero=False, nice=True)
        return alt.Y("value:Q", title=self.value, scale=scale)

    def _map(self, cells: Sequence[RowMark]) -> alt.Chart:
        """Return values by place and time, as colours."""
        wide, tall = self._cell
        values = [
            {
                **_box(cell.x, cell.x, wide, "start", "end"),
                **_box(cell.along or 0.0, cell.along or 0.0, tall, "low", "high"),
                "value": cell.value,
            }
            for cell in cells
        ]
        scale = alt.Scale(scheme="viridis")
        colour = alt.Color("value:Q", title=self.value, scale=scale)
        drawn: alt.Chart = (
            _data(values)
            .mark_rect()
            .encode(
                x=self._x("start"),
                x2="end",
                y=self._along,
                y2="high",
                color=colour,
                # Otherwise thin lines would show between cells.
                stroke=alt.Stroke("value:Q", title=self.value, scale=scale),
            )
        )
        return drawn

    def _rectangles(self, frames: Sequence[FrameMark]) -> list[alt.Chart]:
        """Return a rectangle around the cells of every region; its bounds are their middles."""
        wide, tall = self._cell
        drawn = _data(
            [
                {
                    **_box(frame.start, frame.end, wide, "start", "end"),
                    **_box(*(frame.along or (0.0, 0.0)), tall, "low", "high"),
                    "label": frame.label,
                    **_tooltip_values(frame),
                }
                for frame in frames
            ]
        )
        edges = drawn.mark_rect(fill="white", fillOpacity=0.15, stroke=_REGION, strokeWidth=2)
        texts = drawn.mark_text(
            align="left", baseline="top", dx=4, dy=4, fontWeight="bold", color=_REGION
        )
        halo = drawn.mark_text(
            align="left",
            baseline="top",
            dx=4,
            dy=4,
            fontWeight="bold",
            stroke="white",
            strokeWidth=3,
        )
        x, tooltip = self._x("start"), _tooltip(frames)
        return [
            edges.encode(x=x, x2="end", y=self._along, y2="high", tooltip=tooltip),
            halo.encode(x=x, y=alt.Y("high:Q"), text="label:N"),
            texts.encode(x=x, y=alt.Y("high:Q"), text="label:N"),
        ]

    @property
    def _along(self) -> alt.Y:
        return alt.Y("low:Q", title=self.kind.second_axis, scale=alt.Scale(zero=False, nice=False))

    @cached_property
    def _cell(self) -> tuple[float, float]:
        """Half the width and half the height of a cell."""
        cells = [cell for rows in self.data.rows.values() for cell in rows]
        across = [cell.along for cell in cells if cell.along is not None]
        return _half_step([cell.x for cell in cells]), _half_step(across)

    def _x(self, name: str) -> alt.X:
        """Return the axis of ``on``. Times are those of the session's clock, drawn as they are."""
        axis, (low, high) = alt.Axis(grid=False), self._ends
        if self.data.temporal:
            axis = alt.Axis(grid=False, format=_CLOCK)
            scale = alt.Scale(type="utc", domain=[low, high], nice=False)
            return alt.X(f"{name}:T", title=self.on, scale=scale, axis=axis)
        scale = alt.Scale(domain=[low, high], nice=False, zero=False)
        return alt.X(f"{name}:Q", title=self.on, scale=scale, axis=axis)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The ends of the picture: the least and greatest place of all rows and frames."""
        places = [row.x for rows in self.data.rows.values() for row in rows]
        for frames in self.data.frames.values():
            places += [edge for frame in frames for edge in (frame.start, frame.end)]
        more = self._cell[0] if self.kind.second_axis is not None else 0.0
        return min(places, default=0.0) - more, max(places, default=1.0) + more

    def _pixel(self, place: float) -> float:
        low, high = self._ends
        return (place - low) / ((high - low) or 1.0) * self.width


def _data(values: list[dict[str, Any]]) -> alt.Chart:
    # As values, for which altair has no row limit: they are few enough by now.
    return alt.Chart(alt.InlineData(values=values))


def _tooltip_values(frame: FrameMark) -> dict[str, str]:
    # By number, because a column of the user may have any name.
    return {f"c{place}": text for place, text in enumerate(frame.tooltip.values())}


def _tooltip(frames: Sequence[FrameMark]) -> list[alt.Tooltip]:
    names = frames[0].tooltip if frames else ()
    return [alt.Tooltip(f"c{place}:N", title=name) for place, name in enumerate(names)]


def _bars(frames: Sequence[FrameMark], pixel: Callable[[float], float]) -> list[dict[str, Any]]:
    """Return frames as data of the chart: bars that do not overlap, labels where there is room."""
    ends: list[float] = []  # of the last frame at each height
    written: dict[int, float] = {}  # up to which pixel labels reach at each height
    bars = []
    for number, frame in enumerate(frames):
        row = next((n for n, end in enumerate(ends) if end <= frame.start), len(ends))
        ends[row : row + 1] = [frame.end]
        row, begin = row % _BARS, pixel(frame.start)
        fits = begin >= written.get(row, 0.0)
        if fits:
            written[row] = begin + _LETTER * (len(frame.label) + 1)
        bars.append(
            {
                "start": frame.start,
                "end": frame.end,
                "label": frame.label if fits else "",
                "partial": frame.partial,
                "odd": number % 2 == 1,
                "top": 1.5 + _BAR_HEIGHT * row,
                **_tooltip_values(frame),
            }
        )
    return bars


def _box(start: float, end: float, more: float, low: str, high: str) -> dict[str, float]:
    return {low: start - more, high: end + more}


def _half_step(places: Sequence[float]) -> float:
    """Return half of the median step from one place to the next."""
    steps = [after - before for before, after in itertools.pairwise(sorted(set(places)))]
    return median(steps) / 2 if steps else 0.5


def _named(key: Key) -> str:
    return ", ".join("null" if part is None else str(part) for part in key)
