"""A picture of results: a line for every key along the ends of windows, a bar for every frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.columns import named
from muntin.spark.plot.frames import check_picture

if TYPE_CHECKING:
    from altair import Chart

#: More points than this are not collected.
MOST_POINTS = 20_000
_TIMES = (spark_types.TimestampType, spark_types.TimestampNTZType, spark_types.DateType)
_NUMBERS = (spark_types.NumericType,)
#: Numbers that say where a result is, not what it is.
_PLACES = (
    *("wid", "window_start", "window_end", "on_start", "on_end", "shift"),
    *("frame_id", "frame_start", "frame_end", "along_start", "along_end"),
)


@dataclass(frozen=True)
class WindowLines:
    """What is drawn: a column along ``end``, a line for every value of ``by``.

    With a ``start`` each result is a bar from there to its end: frames do not follow each other.
    """

    rows: DataFrame
    value: str
    end: str
    by: Sequence[str]
    start: str | None = None

    @property
    def temporal(self) -> bool:
        return isinstance(self.rows.schema[self.end].dataType, _TIMES)

    def points(self) -> list[dict[str, Any]]:
        """Return places, values and keys, as many as can be drawn."""
        key = F.concat_ws(", ", *[named(name).cast("string") for name in self.by])
        value = named(self.value).cast("double")
        columns = [self._place(self.end).alias("x"), value.alias("y"), key.alias("key")]
        if self.start is not None:
            columns.append(self._place(self.start).alias("start"))
        return [
            row.asDict()
            for row in self.rows.select(*columns).orderBy("key", "x").limit(MOST_POINTS).collect()
        ]

    def _place(self, name: str) -> Column:
        """Return a bound as a number, or as a time in milliseconds as charts count them.

        Their times have no zone: they get the session's.
        """
        wall = F.from_utc_timestamp(named(name).cast("timestamp"), F.current_timezone())
        return F.unix_millis(wall) if self.temporal else named(name).cast("double")


def lines_of(
    rows: DataFrame, value: str | None, by: Sequence[str], prefix: str = ""
) -> WindowLines:
    """Return the lines of results with ``window_end``, or the bars of results with ``frame_end``.

    The default value is the first number.
    """
    end, start = f"{prefix}window_end", None
    if {f"{prefix}frame_start", f"{prefix}frame_end"} <= {*rows.columns}:
        end, start = f"{prefix}frame_end", f"{prefix}frame_start"
    if end not in rows.columns:
        expected = "a picture of windows needs window_end in the SELECT list"
        raise ArgumentError("query", ", ".join(rows.columns), expected)
    keys = [name for name in by if name in rows.columns]
    places = {*keys, *(prefix + name for name in _PLACES)}
    numbers = [
        field.name
        for field in rows.schema
        if isinstance(field.dataType, _NUMBERS) and field.name not in places
    ]
    if value is not None and value not in rows.columns:
        raise UnknownColumnError("value", value, rows.columns)
    if value is None and not numbers:
        raise ArgumentError("value", None, "the results have no number to draw")
    return WindowLines(rows, numbers[0] if value is None else value, end, keys, start)


def draw(
    lines: WindowLines, path: Path | None, *, width: int, height: int, title: str | None
) -> Chart:
    """Return the picture; with a path, write it to a file as well."""
    check_picture(path, width=width, height=height)
    if lines.rows.isStreaming:
        raise ArgumentError(
            "rows",
            None,
            "a stream cannot be drawn while it runs; write it, then draw what was written: "
            "plot(rows=...)",
        )
    import altair as alt

    kind = "T" if lines.temporal else "Q"
    scale = alt.Scale(type="utc") if lines.temporal else alt.Scale(zero=False)
    base = alt.Chart(alt.InlineData(values=lines.points()), width=width, height=height)
    if lines.start is None:
        marks = base.mark_line(interpolate="step-before", strokeWidth=1.2)
        along: dict[str, Any] = {"x": alt.X(f"x:{kind}", title=lines.end, scale=scale)}
    else:
        marks = base.mark_rule(strokeWidth=4, strokeCap="round")
        along = {"x": alt.X(f"start:{kind}", title=lines.start, scale=scale), "x2": alt.X2("x")}
    chart = marks.encode(
        **along,
        y=alt.Y("y:Q", title=lines.value, scale=alt.Scale(zero=False)),
        **({"color": alt.Color("key:N", title=", ".join(lines.by))} if lines.by else {}),
    )
    if title is not None:
        chart = chart.properties(title=title)
    # A page includes its scripts, so that it needs no network.
    if path is not None:
        chart.save(path, **({"inline": True} if path.suffix == ".html" else {}))
    drawn: Chart = chart
    return drawn
