"""``frames.plot(...)``: what is needed and asked for, checked before anything is drawn."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError, RequirementError
from muntin.expressions.dialect import columns_of
from muntin.expressions.spark_expressions import Name, Sql
from muntin.spark.columns import text_of
from muntin.spark.plot.collected import as_batch
from muntin.spark.plot.data import Key, PlotQuery, one_key
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import Between, Boundary, Crossing, Delta, Threshold, Trend
from muntin.specs.frames.own_function import CompiledFraming, FramingFunction, OwnKind
from muntin.specs.frames.row_kinds import Density, Region

if TYPE_CHECKING:
    from muntin.spark.api.frames import Frames
    from muntin.spark.plot.chart import Chart

_SUFFIXES = (".png", ".svg", ".html")


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
) -> Chart:
    """The picture that :meth:`muntin.Frames.plot` describes."""
    where = None if path is None else Path(path)
    check_picture(where, width=width, height=height, limit=limit)
    source = frames.source
    if source.df.isStreaming and (found is None or rows is None):
        raise ArgumentError(
            "rows" if found is not None else "frames",
            None,
            "a stream cannot be drawn while it runs; write it, then draw what was written: "
            "frames.plot(value, frames=..., rows=...) with its frames and its rows",
        )
    spark = source.df.sparkSession
    value = read_by(frames.framing.kind, source.df.columns) if value is None else value
    gathering = PlotQuery(
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
    from muntin.spark.plot.chart import (
        ChartLayout,  # which imports what is known to be there by now
    )

    kind, drawn = frames.framing.kind, text_of(value)
    picture = ChartLayout(kind, source.on, source.by, drawn, gathered, width, height)
    chart = picture.chart(title)
    if where is not None:
        if where.suffix == ".html":
            chart.save(where, inline=True)  # with its scripts: it can be read without a network
        else:
            chart.save(where)
    return chart


def read_by(kind: FrameKind, names: Sequence[str]) -> object:
    """What is drawn unless something is named: the one column that a kind of frame reads."""
    match kind:
        case Boundary(value=value) | Delta(value=value) | Trend(value=value):
            return value
        case Threshold(where=where) | Region(where=where):
            read: Sequence[object] = [where]
        case Between(start=start, end=end):
            read = [start, end]
        case (
            Crossing(aggregate=Aggregate(arguments=read))
            | Density(aggregate=Aggregate(arguments=read))
        ):
            pass
        case OwnKind(framing=FramingFunction() | CompiledFraming() as own):
            read = own.columns
        case _:
            read = ()
    texts = [str(one) for one in read if isinstance(one, str | Name | Sql)]
    found = [[text] if text in names else columns_of(text) for text in texts]
    columns = list(dict.fromkeys(itertools.chain.from_iterable(found)))
    if len(columns) == 1 and len(texts) == len(read):
        return columns[0]
    reads = f"reads {' and '.join(columns)}" if columns else "does not say which column it reads"
    example = columns[0] if columns else "speed"
    raise ArgumentError(
        "value", None, f"{kind.label} {reads}; name what to draw: frames.plot({example!r})"
    )


def check_picture(path: Path | None, **sizes: object) -> None:
    """Whether a picture of these sizes can be drawn and written."""
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
    keys = [one_key(one if isinstance(one, tuple) and len(by) > 1 else (one,)) for one in several]
    if not keys or any(len(one) != len(by) for one in keys):
        raise ArgumentError(
            "key",
            given,
            f"it is one value or a list of values of {by[0]}"
            if len(by) == 1
            else f"it is a tuple of {', '.join(by)}, or a list of such tuples",
        )
    return keys
