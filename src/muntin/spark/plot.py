"""Pictures of frames: the series with its frames shaded and labelled, drawn by altair."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from muntin.semantics.errors import ArgumentError, RequirementError
from muntin.semantics.framing.kinds import Region
from muntin.spark.plotted import Drawn, Gathered, Gathering, Key, Shown, as_batch, in_order

if TYPE_CHECKING:
    import altair as alt

    from muntin.spark.frames import Frames

_SUFFIXES = (".png", ".svg", ".html")
#: Frames of one key that are drawn; more cannot be told apart.
_MOST_DRAWN = 2000
#: Up to so many rows each is shown as a point too.
_POINTS = 150
#: Frames that overlap have bars below each other; further ones begin at the top again.
_LANES = 6
_LANE_HEIGHT, _CHARACTER = 14, 6.5
_FRAME, _OTHER, _LINE = "#1e88e5", "#00897b", "#37474f"


def plot(
    frames: Frames,
    value: object,
    *,
    found: object,
    rows: object,
    key: object,
    path: str | Path | None,
    width: int,
    height: int,
    title: str | None,
    label: str | None,
    limit: int,
) -> alt.LayerChart | alt.VConcatChart:
    """The picture that :meth:`muntin.Frames.plot` describes."""
    where = None if path is None else Path(path)
    _check(where, width=width, height=height, limit=limit)
    source = frames.source
    if source.df.isStreaming and (found is None or rows is None):
        raise ArgumentError(
            "rows" if found is not None else "frames",
            None,
            "a stream cannot be drawn while it runs; write it, then draw what was written: "
            "frames.plot(value, frames=..., rows=...) with its frames and its rows",
        )
    spark = source.df.sparkSession
    gathering = Gathering(
        source,
        frames.framing,
        frames.prefix,
        rows=source.df if rows is None else as_batch(spark, "rows", rows, source.df),
        found=frames.df if found is None else as_batch(spark, "frames", found, frames.df),
        value=value,
        label=label or frames.prefix + "frame_id",
        width=width,
    )
    gathered = gathering.gather(_keys(key, source.by), limit)
    chart = _Drawing(frames, value, gathered, width, height).chart(title)
    if where is not None:
        # A page takes its scripts with it: it can be read without a network.
        chart.save(where, **({"inline": True} if where.suffix == ".html" else {}))
    return chart


def _check(path: Path | None, **sizes: object) -> None:
    for argument, given in sizes.items():
        if type(given) is not int or given < 1:
            raise ArgumentError(argument, given, "it must be a whole number above zero")
    if path is not None and path.suffix not in _SUFFIXES:
        raise ArgumentError("path", str(path), f"it must end in {', '.join(_SUFFIXES)}")
    needed = ["altair"] if path is None else ["altair", "vl_convert"]
    if any(importlib.util.find_spec(package) is None for package in needed):
        raise RequirementError(
            "pictures are drawn by altair and written by vl-convert, which are not installed; "
            "run: pip install 'muntin[plot]'"
        )


def _keys(given: object, by: Sequence[str]) -> list[Key] | None:
    if given is None:
        return None
    if not by:
        raise ArgumentError("key", given, "the stream has no `by`, so it has no keys")
    several = list(given) if isinstance(given, list) else [given]
    keys = [one if isinstance(one, tuple) and len(by) > 1 else (one,) for one in several]
    if not keys or any(len(one) != len(by) for one in keys):
        raise ArgumentError(
            "key",
            given,
            f"it is one value or a list of values of {by[0]}"
            if len(by) == 1
            else f"it is a tuple of {', '.join(by)}, or a list of such tuples",
        )
    return keys


class _Drawing:
    """From what was gathered to a chart."""

    def __init__(
        self, frames: Frames, value: object, gathered: Gathered, width: int, height: int
    ) -> None:
        import altair

        self.alt = altair
        self.kind = frames.framing.kind
        self.on, self.by = frames.source.on, frames.source.by
        self.value = value if isinstance(value, str) else str(value)[8:-2]
        self.gathered = gathered
        self.width, self.height = width, height
        every = [d.x for rows in gathered.rows.values() for d in rows]
        every += [edge for some in gathered.frames.values() for f in some for edge in (f.start, f.end)]
        self.low, self.high = min(every, default=0.0), max(every, default=1.0)

    def chart(self, title: str | None) -> alt.LayerChart | alt.VConcatChart:
        alt = self.alt
        keys = [*self.gathered.rows]
        regions = isinstance(self.kind, Region)
        layers = [alt.layer(*(self.region(key) if regions else self.line(key))) for key in keys]
        heading = alt.Title(self.kind.label if title is None else title, subtitle=self.remarks())
        charts = [
            layer.properties(width=self.width, height=self.height)
            if not self.by
            else layer.properties(
                width=self.width, height=self.height, title=alt.Title(_named(key), fontSize=12)
            )
            for key, layer in zip(keys, layers, strict=True)
        ]
        made: alt.LayerChart | alt.VConcatChart
        if len(charts) == 1:
            key = keys[0]
            text = f"{heading.text} · {_named(key)}" if self.by and title is None else heading.text
            made = charts[0].properties(title=alt.Title(text, subtitle=self.remarks()))
        else:
            made = alt.vconcat(*charts, spacing=8).properties(title=heading)
        return made.configure_title(anchor="start").configure_view(stroke="#cfd8dc")

    def remarks(self) -> list[str]:
        """What the picture leaves out."""
        said = []
        if self.gathered.more:
            keys = len(self.gathered.rows)
            said.append(f"{keys} of the keys, those with frames first; others with key= or limit=")
        for key, frames in self.gathered.frames.items():
            if len(frames) > _MOST_DRAWN:
                whose = f" of {_named(key)}" if self.by else ""
                said.append(f"the first {_MOST_DRAWN:,} of {len(frames):,} frames{whose}")
        return said

    def x(self, name: str, **axis: Any) -> alt.X:
        """Along ``on``. Times are those of the session's clock, so they are drawn as they stand."""
        alt = self.alt
        if self.gathered.temporal:
            scale = alt.Scale(type="utc", domain=[self.low, self.high], nice=False)
            return alt.X(f"{name}:T", title=self.on, scale=scale, axis=alt.Axis(grid=False))
        scale = alt.Scale(domain=[self.low, self.high], nice=False, zero=False)
        return alt.X(f"{name}:Q", title=self.on, scale=scale, axis=alt.Axis(grid=False))

    def line(self, key: Key) -> list[alt.Chart]:
        """Shades, the series on them, and a bar with a label at the top of every shade."""
        frames = self.gathered.frames[key][:_MOST_DRAWN]
        bars = _bars(frames, lambda place: self.pixel(place))
        shades = self.data(bars).mark_rect(strokeWidth=0.7)
        tooltip = [self.alt.Tooltip(f"{name}:N") for name in (frames[0].told if frames else ())]
        shaded = shades.encode(
            x=self.x("start"),
            x2="end",
            tooltip=tooltip,
            **self.style(fill=0.16),
        )
        rule = self.data(bars).mark_rule(strokeWidth=3, strokeCap="butt")
        top = self.alt.Y("top:Q", scale=None, axis=None)
        ruled = rule.encode(x=self.x("start"), x2="end", y=top, tooltip=tooltip, **self.style())
        text = self.data([bar for bar in bars if bar["label"]])
        texts = text.mark_text(align="left", baseline="top", dx=2, dy=2, fontSize=10)
        labels = texts.encode(x=self.x("start"), y=top, text="label:N", color=self.colour())
        return [shaded, self.series(key), ruled, labels]

    def series(self, key: Key) -> alt.Chart:
        alt, rows = self.alt, self.gathered.rows[key]
        y = alt.Y("value:Q", title=self.value, scale=self.heights())
        steps: dict[str, Any] = {}
        if self.gathered.nominal:
            texts = {str(d.value) for some in self.gathered.rows.values() for d in some if d.value is not None}
            y = alt.Y("value:N", title=self.value, sort=sorted(texts), scale=alt.Scale(domain=sorted(texts)))
            steps = {"interpolate": "step-after"}
        if len(rows) <= _POINTS:
            steps["point"] = {"size": 14, "color": _LINE, "filled": True}
        drawn = self.data([{"x": row.x, "value": row.value} for row in rows])
        line = drawn.mark_line(color=_LINE, strokeWidth=1.2, **steps)
        chart: alt.Chart = line.encode(x=self.x("x"), y=y)
        return chart

    def heights(self) -> alt.Scale:
        """The same for all keys, so that they can be compared."""
        rows = self.gathered.rows.values()
        values = [d.value for some in rows for d in some if isinstance(d.value, float)]
        domain = [min(values, default=0.0), max(values, default=1.0)]
        return self.alt.Scale(domain=domain, zero=False, nice=True, padding=2)

    def region(self, key: Key) -> list[alt.Chart]:
        """The values as cells of a map, and rectangles around the cells of every region."""
        alt, cells = self.alt, self.gathered.rows[key]
        wide = _half_step([cell.x for cell in cells])
        tall = _half_step([cell.along for cell in cells if cell.along is not None])
        assert isinstance(self.kind, Region)
        y = alt.Y("from:Q", title=self.kind.along, scale=alt.Scale(zero=False, nice=False))
        self.low, self.high = self.low - wide, self.high + wide
        values = self.data([_cell(cell, wide, tall) for cell in cells])
        colour = alt.Color("value:Q", title=self.value, scale=alt.Scale(scheme="viridis"))
        drawn = values.mark_rect().encode(x=self.x("start"), x2="end", y=y, y2="to", color=colour)
        frames = self.gathered.frames[key][:_MOST_DRAWN]
        edges = self.data([_rectangle(frame, wide, tall) for frame in frames])
        tooltip = [alt.Tooltip(f"{name}:N") for name in (frames[0].told if frames else ())]
        outlined = edges.mark_rect(
            fill="#ffffff", fillOpacity=0.12, stroke="#d50000", strokeWidth=2
        ).encode(x=self.x("start"), x2="end", y=y, y2="to", tooltip=tooltip)
        texts = edges.mark_text(
            align="left", baseline="top", dx=4, dy=4, fontSize=11, fontWeight="bold", color="#d50000"
        ).encode(x=self.x("start"), y=alt.Y("to:Q"), text="label:N")
        return [drawn, outlined, texts]

    def style(self, fill: float | None = None) -> dict[str, Any]:
        """Neighbours have two colours in turn; what is only partial is dashed."""
        alt = self.alt
        dashed = alt.condition("datum.partial", alt.value([4, 3]), alt.value([1, 0]))
        if fill is None:
            return {"color": self.colour(), "strokeDash": dashed}
        return {
            "fill": self.colour(),
            "stroke": self.colour(),
            "fillOpacity": alt.condition("datum.partial", alt.value(fill / 2), alt.value(fill)),
            "strokeDash": dashed,
        }

    def colour(self) -> Any:
        return self.alt.condition("datum.odd", self.alt.value(_OTHER), self.alt.value(_FRAME))

    def data(self, values: list[dict[str, Any]]) -> alt.Chart:
        # Given as values, which no row limit of altair applies to: they are few enough by now.
        return self.alt.Chart(self.alt.InlineData(values=values))

    def pixel(self, place: float) -> float:
        return (place - self.low) / ((self.high - self.low) or 1.0) * self.width
