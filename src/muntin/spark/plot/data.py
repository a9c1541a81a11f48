"""The data of a picture of frames: the frames and rows of some keys, few enough to draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, reduce
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, UnknownColumnError, UnsupportedTypeError
from muntin.spark.columns import named, problem
from muntin.spark.plan.inputs import StreamInput
from muntin.specs.frames.framing import Framing

Key = tuple[Any, ...]
#: More frames than this are not collected.
MOST_FRAMES = 200_000
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class FrameMark:
    """A frame in a picture: its start, its end, its label, and the values of its tooltip."""

    start: float
    end: float
    label: str
    partial: bool
    tooltip: dict[str, str]
    along: tuple[float, float] | None


@dataclass(frozen=True)
class RowMark:
    """A row in a picture: its place, its value, and its place along a second attribute."""

    x: float
    value: float | str | None
    along: float | None = None


@dataclass(frozen=True)
class PlotData:
    """The frames and rows of the keys to be drawn; ``more`` is True if keys are left out."""

    frames: dict[Key, list[FrameMark]]
    rows: dict[Key, list[RowMark]]
    more: bool
    temporal: bool
    nominal: bool


@dataclass(frozen=True, eq=False)
class PlotQuery:
    """Reads the rows of a source and its frames for a picture.

    ``rows`` and ``found`` are DataFrames that are no streams. ``value`` is what is drawn, ``label``
    is the column of the frames with their labels, and rows are thinned for ``width`` pixels.
    """

    source: StreamInput
    framing: Framing
    prefix: str
    rows: DataFrame
    found: DataFrame
    value: object
    label: str
    width: int

    def gather(self, keys: Sequence[Key] | None, limit: int) -> PlotData:
        for column in [*self.source.by, *map(self._own, ("frame_start", "frame_end", "status"))]:
            if column not in self.found.columns:
                raise UnknownColumnError("frames", column, self.found.columns)
        if self.label not in self.found.columns:
            raise UnknownColumnError("label", self.label, self.found.columns)
        frames = self._frames(keys, limit)
        chosen, more = self._chosen(keys, frames, limit)
        rows = self._drawn(chosen)
        for key in () if keys is None else keys:
            if not rows.get(key) and not frames.get(key):
                raise ArgumentError("key", key[0] if len(key) == 1 else key, "no row has it")
        return PlotData(
            {key: frames.get(key, []) for key in chosen},
            {key: rows.get(key, []) for key in chosen},
            more,
            self._temporal,
            self._nominal,
        )

    @cached_property
    def _along(self) -> str | None:
        kind = self.framing.kind
        return kind.second_axis

    @cached_property
    def _temporal(self) -> bool:
        on = self.source.df.schema[self.source.on].dataType
        times = (spark_types.DateType, spark_types.TimestampType, spark_types.TimestampNTZType)
        return isinstance(on, times)

    @cached_property
    def _value(self) -> tuple[Column, bool]:
        """What is drawn, as a double or as text, and whether it is text."""
        value, columns = self.value, self.rows.columns
        if isinstance(value, str) and value in columns:
            column = named(value)
        elif isinstance(value, str) and value.strip():
            column = F.expr(value)
        elif isinstance(value, Column):
            column = value
        else:
            raise ArgumentError("value", value, "it is a column, SQL text or a PySpark column")
        try:
            type_ = self.rows.select(column.alias("value")).schema["value"].dataType
        except AnalysisException as error:
            if isinstance(value, str) and value.isidentifier():
                raise UnknownColumnError("value", value, columns) from None
            raise ArgumentError("value", value, problem(error)) from None
        if isinstance(type_, spark_types.StringType) and self._along is None:
            return column, True
        if not isinstance(type_, spark_types.NumericType | spark_types.BooleanType):
            wanted = "a number" if self._along else "a number, a boolean or text"
            raise UnsupportedTypeError(
                f"value={value!r} is {type_.simpleString()}, but only {wanted} can be drawn"
            )
        number = column.cast("double")
        return F.when(~F.isnan(number), number), False

    @property
    def _nominal(self) -> bool:
        return self._value[1]

    def _own(self, name: str) -> str:
        return self.prefix + name

    def _placed(self, column: Column) -> Column:
        """Return a value of ``on`` as it is drawn: a number, or the time on the session's clock."""
        return column.cast("timestamp_ntz" if self._temporal else "double")

    def _keys(self, df: DataFrame) -> list[Column]:
        return [named(name).alias(f"k{place}") for place, name in enumerate(self.source.by)]

    def _of(self, keys: Sequence[Key] | None) -> Column:
        """Return whether a row has one of these keys."""
        if keys is None or not self.source.by:
            return F.lit(True)
        each = [
            reduce(
                Column.__and__,
                (named(n).eqNullSafe(F.lit(v)) for n, v in zip(self.source.by, key, strict=True)),
            )
            for key in keys
        ]
        return reduce(Column.__or__, each, F.lit(False))

    def _frames(self, keys: Sequence[Key] | None, limit: int) -> dict[Key, list[FrameMark]]:
        """Return the frames of each key by their start; of a frame's fragments the newest.

        If there are too many, only those of the first ``limit`` keys and of one more.
        """
        found, start, end = self.found, self._own("frame_start"), self._own("frame_end")
        columns = [
            *self._keys(found),
            self._placed(named(start)).alias("start"),
            self._placed(named(end)).alias("end"),
            named(self._own("status")).alias("status"),
            *([] if self._along is None else self._extent()),
            *(named(name).cast("string").alias(f"c{p}") for p, name in enumerate(found.columns)),
        ]
        collected = self._collected(found.where(self._of(keys)).select(*columns))
        if len(collected) > MOST_FRAMES and keys is None and self.source.by:
            first = self._of(self._first(found, limit + 1))
            collected = self._collected(found.where(first).select(*columns))
        if len(collected) > MOST_FRAMES:
            instead = "a smaller limit= or fewer keys with key=" if self.source.by else "fewer rows"
            raise ArgumentError(
                "frames", None, f"there are more than {MOST_FRAMES:,} of them; choose {instead}"
            )
        newest: dict[tuple[Key, object], tuple[Row, FrameMark]] = {}
        for row in collected:
            shown = self._shown(row, found.columns)
            # Without ids (renamed, or left out) there are no fragments to distinguish.
            number = shown.tooltip.get(self._own("frame_id"), len(newest))
            before = newest.get((self._key(row), number))
            if before is None or (before[1].partial, shown.end) >= (shown.partial, before[1].end):
                newest[self._key(row), number] = row, shown
        frames: dict[Key, list[FrameMark]] = {}
        for row, shown in newest.values():
            frames.setdefault(self._key(row), []).append(shown)
        return {key: sorted(some, key=lambda f: (f.start, f.end)) for key, some in frames.items()}

    @staticmethod
    def _collected(frames: DataFrame) -> list[Row]:
        return frames.limit(MOST_FRAMES + 1).collect()

    def _first(self, df: DataFrame, count: int) -> list[Key]:
        """Return the first keys of a DataFrame, in Spark's order."""
        keys = df.select(*self._keys(df)).distinct()
        return [*map(self._key, keys.orderBy(*keys.columns).limit(count).collect())]

    def _extent(self) -> list[Column]:
        names = ("along_start", "along_end")
        return [named(self._own(name)).cast("double").alias(name) for name in names]

    def _shown(self, row: Row, names: Sequence[str]) -> FrameMark:
        texts = {name: row[f"c{place}"] for place, name in enumerate(names)}
        texts = {name: "null" if text is None else text for name, text in texts.items()}
        along = None if self._along is None else (row["along_start"], row["along_end"])
        partial = row["status"] == "partial"
        return FrameMark(x(row["start"]), x(row["end"]), texts[self.label], partial, texts, along)

    def _key(self, row: Row) -> Key:
        return one_key(row[f"k{place}"] for place in range(len(self.source.by)))

    def _chosen(
        self, keys: Sequence[Key] | None, frames: Iterable[Key], limit: int
    ) -> tuple[list[Key], bool]:
        """Return the keys to draw, those with frames first, and whether others are left out."""
        if keys is not None:
            return list(keys), False
        if not self.source.by:
            return [()], False
        ordered = sorted(frames, key=in_order)
        if len(ordered) <= limit:
            # Enough for `limit` and one more, whichever of them have frames.
            some, known = self._first(self.rows, limit + 1 + len(ordered)), set(ordered)
            ordered += [key for key in some if key not in known]
        return sorted(ordered[:limit], key=in_order), len(ordered) > limit

    def _drawn(self, keys: Sequence[Key]) -> dict[Key, list[RowMark]]:
        """Return the rows of each key in order, thinned if there are more than pixels."""
        on = named(self.source.on)
        number = on.cast("timestamp").cast("double") if self._temporal else on.cast("double")
        value, _ = self._value
        columns = [number.alias("number"), self._placed(on).alias("x"), value.alias("value")]
        if self._along is not None:
            columns.append(named(self._along).cast("double").alias("along"))
        rows = self.rows.where(self._of(keys)).select(*self._keys(self.rows), *columns)
        rows = rows.where("number IS NOT NULL AND NOT isnan(number)")
        rows = self._untied(rows)
        counted = "count(*) AS n" if self._along is None else "approx_count_distinct(number) AS n"
        extent = rows.selectExpr("min(number) AS low", "max(number) AS high", counted).collect()[0]
        if self._along is not None:
            rows = _cells(rows, extent, max(1, self.width // 3), self.source.by)
        elif extent["n"] > 4 * self.width * len(keys):
            rows = _thinned(rows, extent, self.width, self.source.by)
        marks: dict[Key, list[RowMark]] = {}
        for row in rows.orderBy("x").collect():
            drawn = RowMark(
                x(row["x"]), _plain(row["value"]), row["along"] if self._along else None
            )
            marks.setdefault(self._key(row), []).append(drawn)
        return marks

    def _untied(self, rows: DataFrame) -> DataFrame:
        """Return rows with one row for those that tie, if the framing combines them."""
        if not self.framing.combines_ties or self._nominal or self._along is not None:
            return rows
        ties = self.framing.ties
        how = dict(ties).get(self.value) if isinstance(ties, tuple) else ties
        combine = {"max": F.max, "min": F.min, "sum": F.sum}.get(str(how), F.avg)
        keys = [f"k{place}" for place in range(len(self.source.by))]
        return rows.groupBy(*keys, "number", "x").agg(combine("value").alias("value"))


def _bucket(extent: Row, width: int) -> Column:
    """Return which of ``width`` equal parts of the line a row is in."""
    low, high = extent["low"] or 0.0, extent["high"] or 0.0
    share = (F.col("number") - F.lit(low)) / F.lit((high - low) or 1.0)
    return F.least(F.floor(share * width), F.lit(width - 1))


def _thinned(rows: DataFrame, extent: Row, width: int, by: Sequence[str]) -> DataFrame:
    """Return the first, last, least and greatest row of each pixel: their line looks the same.

    A pixel without any value has a null, at which the line breaks as at every null of a short
    series.
    """
    keys = [f"k{place}" for place in range(len(by))]
    point, present = F.struct("number", "x", "value"), F.col("value").isNotNull()
    corners = [
        F.min_by(point, F.when(present, F.col("number"))),
        F.max_by(point, F.when(present, F.col("number"))),
        F.min_by(point, "value"),
        F.max_by(point, "value"),
    ]
    gap = F.array(F.min_by(point, "number"))
    shown = F.when(F.count("value") == 0, gap).otherwise(F.array(*corners)).alias("shown")
    grouped = rows.withColumn("bucket", _bucket(extent, width)).groupBy(*keys, "bucket").agg(shown)
    points = grouped.select(*keys, F.explode(F.array_distinct("shown")).alias("p"))
    return points.select(*keys, "p.x", "p.value")


def _cells(rows: DataFrame, extent: Row, width: int, by: Sequence[str]) -> DataFrame:
    """Return a cell for each place and each value of ``on``, or each of ``width`` parts of it."""
    keys = [f"k{place}" for place in range(len(by))]
    column = _bucket(extent, width) if extent["n"] > width else F.col("number")
    grouped = rows.withColumn("bucket", column).groupBy(*keys, "bucket", "along")
    return grouped.agg(F.min("x").alias("x"), F.avg("value").alias("value"))


def x(value: object) -> float:
    """Return a place on the drawn line; times are milliseconds of the clock that is shown."""
    if isinstance(value, datetime):
        return (value - _EPOCH).total_seconds() * 1000
    return float(str(value))


def one_key(parts: Iterable[Any]) -> Key:
    """Return a key that can be looked up: with immutable bytes and always the same NaN."""
    return tuple(
        bytes(part) if isinstance(part, bytearray) else math.nan if part != part else part
        for part in parts
    )


def in_order(key: Key) -> list[tuple[bool, bool, Any]]:
    """Return what sorts keys as Spark does: null first, NaN last."""
    return [(part is not None, part is math.nan, part) for part in key]


def _plain(value: float | str | None) -> float | str | None:
    """Return a value for JSON, which has neither NaN nor infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
