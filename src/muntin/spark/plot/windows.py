"""A picture of the results of windows: a line for every key, along the ends of the windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.columns import named
from muntin.spark.plot.frames import check_picture

#: More points than this are not collected.
MOST_POINTS = 20_000
_TIMES = (spark_types.TimestampType, spark_types.TimestampNTZType, spark_types.DateType)
_NUMBERS = (spark_types.NumericType,)


@dataclass(frozen=True)
class WindowLines:
    """What is drawn: a column along ``end``, a line for every value of ``by``."""

    rows: DataFrame
    value: str
    end: str
    by: Sequence[str]

    @property
    def temporal(self) -> bool:
        return isinstance(self.rows.schema[self.end].dataType, _TIMES)

    def points(self) -> list[dict[str, Any]]:
        """Return places, values and keys, as many as can be drawn."""
        place = named(self.end)
        # Charts count in milliseconds, and their times have no zone: they get the session's.
        wall = F.from_utc_timestamp(place.cast("timestamp"), F.current_timezone())
        x = F.unix_millis(wall) if self.temporal else place.cast("double")
        key = F.concat_ws(", ", *[named(name).cast("string") for name in self.by])
        columns = [x.alias("x"), named(self.value).cast("double").alias("y"), key.alias("key")]
        return [
            row.asDict()
            for row in self.rows.select(*columns).orderBy("key", "x").limit(MOST_POINTS).collect()
        ]


def lines_of(rows: DataFrame, value: str | None, by: Sequence[str]) -> WindowLines:
    """Return the lines of results with ``window_end``; the default value is the first number."""
    if "window_end" not in rows.columns:
        expected = "a picture of windows needs window_end in the SELECT list"
        raise ArgumentError("query", ", ".join(rows.columns), expected)
    keys = [name for name in by if name in rows.columns]
    numbers = [
        field.name
        for field in rows.schema
        if isinstance(field.dataType, _NUMBERS) and field.name not in (*keys, "wid", "window_end")
    ]
    if value is not None and value not in rows.columns:
        raise UnknownColumnError("value", value, rows.columns)
    if value is None and not numbers:
        raise ArgumentError("value", None, "the results have no number to draw")
    return WindowLines(rows, numbers[0] if value is None else value, "window_end", keys)


def draw(lines: WindowLines, path: Path, *, width: int, height: int, title: str | None) -> None:
    """Write the picture to a file."""
    check_picture(path, width=width, height=height)
    import altair as alt

    kind = "T" if lines.temporal else "Q"
    scale = alt.Scale(type="utc") if lines.temporal else alt.Scale(zero=False)
    base = alt.Chart(alt.InlineData(values=lines.points()), width=width, height=height)
    chart = base.mark_line(interpolate="step-before", strokeWidth=1.2).encode(
        x=alt.X(f"x:{kind}", title=lines.end, scale=scale),
        y=alt.Y("y:Q", title=lines.value, scale=alt.Scale(zero=False)),
        **({"color": alt.Color("key:N", title=", ".join(lines.by))} if lines.by else {}),
    )
    if title is not None:
        chart = chart.properties(title=title)
    # A page includes its scripts, so that it needs no network.
    chart.save(path, **({"inline": True} if path.suffix == ".html" else {}))
