"""``frames.plot(...)``: checks its arguments, reads frames and rows, and has them drawn."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError, RequirementError
from muntin.expressions.dialect import columns_of
from muntin.expressions.spark_expressions import Name, Sql
from muntin.spark.columns import text_of
from muntin.spark.plan.inputs import StreamInput
from muntin.spark.plot.data import Key, PlotQuery, one_key
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing

if TYPE_CHECKING:
    from muntin.spark.plot.chart import Chart

Types = Mapping[str, spark_types.DataType]
_SUFFIXES = (".png", ".svg", ".html")


def plot(
    source: StreamInput,
    framing: Framing,
    prefix: str,
    value: object,
    *,
    frames: Callable[[], DataFrame],
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
    """Return the picture that :meth:`muntin.Frames.plot` describes.

    ``frames`` makes the DataFrame of the frames; ``found`` are those that the user collected.
    """
    where = None if path is None else Path(path)
    check_picture(where, width=width, height=height, limit=limit)
    if source.df.isStreaming and (found is None or rows is None):
        raise ArgumentError(
            "rows" if found is not None else "frames",
            None,
            "a stream cannot be drawn while it runs; write it, then draw what was written: "
            "frames.plot(value, frames=..., rows=...) with its frames and its rows",
        )
    spark = source.df.sparkSession
    value = read_by(framing.kind, source.df.columns) if value is None else value
    query = PlotQuery(
        source,
        framing,
        prefix,
        rows=source.df if rows is None else as_batch(spark, "rows", rows, source.df),
        found=frames() if found is None else as_batch(spark, "frames", found, frames()),
        value=value,
        label=label or prefix + "frame_id",
        width=width,
    )
    data = query.gather(_keys(key, source.by), limit)
    from muntin.spark.plot.chart import ChartLayout  # altair is there, as was checked

    layout = ChartLayout(framing.kind, source.on, source.by, text_of(value), data, width, height)
    chart = layout.chart(title)
    if where is not None:
        if where.suffix == ".html":
            chart.save(where, inline=True)  # with its scripts, so that it needs no network
        else:
            chart.save(where)
    return chart


def read_by(kind: FrameKind, names: Sequence[str]) -> object:
    """Return what is drawn by default: the one column that a kind of frame reads."""
    if len(kind.operands) == 1 and kind.operands[0].role == "value":
        return kind.operands[0].given
    aggregates = [*kind.running_aggregates, kind.window_aggregate]
    read: Sequence[object] = [o.given for o in kind.operands if o.role != "column"]
    for aggregate in aggregates:
        if isinstance(aggregate, Aggregate):
            read = [*read, *aggregate.arguments]
    texts = [str(value) for value in read if isinstance(value, str | Name | Sql)]
    columns_read = [[text] if text in names else columns_of(text) for text in texts]
    # Where a kind looks back, ``prev.x`` is the column ``x`` of the row before.
    before = "prev." if kind.looks_back else ""
    read_names = (name.removeprefix(before) for name in itertools.chain(*columns_read))
    columns = list(dict.fromkeys(read_names))
    if len(columns) == 1 and len(texts) == len(read):
        return columns[0]
    reads = f"reads {' and '.join(columns)}" if columns else "does not say which column it reads"
    example = columns[0] if columns else "speed"
    raise ArgumentError(
        "value", None, f"{kind.label} {reads}; name what to draw: frames.plot({example!r})"
    )


def check_picture(path: Path | None, **sizes: object) -> None:
    """Raise unless a picture of these sizes can be drawn and written."""
    for argument, size in sizes.items():
        if type(size) is not int or size < 1:
            raise ArgumentError(argument, size, "it must be a whole number above zero")
    if path is not None and path.suffix not in _SUFFIXES:
        raise ArgumentError("path", str(path), f"it must end in {', '.join(_SUFFIXES)}")
    needed = ["altair"] if path is None else ["altair", "vl_convert"]
    if any(importlib.util.find_spec(package) is None for package in needed):
        raise RequirementError(
            "pictures are drawn by altair and written by vl-convert, which are not installed; "
            "run: pip install 'muntin[plot]'"
        )


def _keys(key: object, by: Sequence[str]) -> list[Key] | None:
    """Return the keys of the ``key=`` argument: one value, a tuple, or a list of them."""
    if key is None:
        return None
    if not by:
        raise ArgumentError("key", key, "the stream has no `by`, so it has no keys")
    listed = list(key) if isinstance(key, list) else [key]
    keys = [one_key(k if isinstance(k, tuple) and len(by) > 1 else (k,)) for k in listed]
    if not keys or any(len(parts) != len(by) for parts in keys):
        raise ArgumentError(
            "key",
            key,
            f"it is one value or a list of values of {by[0]}"
            if len(by) == 1
            else f"it is a tuple of {', '.join(by)}, or a list of such tuples",
        )
    return keys


def as_batch(spark: SparkSession, argument: str, data: object, like: DataFrame) -> DataFrame:
    """Return frames or rows that a user has, collected or not, as a DataFrame that is no stream.

    Everything that is drawn comes from DataFrames, so that the times of PySpark's rows and those of
    pandas, which are in different zones, become the same times.
    """
    if hasattr(data, "isStreaming"):
        if data.isStreaming:
            raise ArgumentError(
                argument,
                data,
                f"it is a stream; write it, then read what was written as {argument}=",
            )
        return data  # type: ignore[return-value]
    known = {field.name: field.dataType for field in like.schema}
    if hasattr(data, "iloc"):
        return _from_pandas(spark, data, known)
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise ArgumentError(
            argument, data, "it is a DataFrame, a pandas DataFrame or a list of rows"
        )
    if not data:
        return spark.createDataFrame([], like.schema)
    names = list(data[0] if isinstance(data[0], Mapping) else getattr(data[0], "__fields__", ()))
    values = [
        tuple(row[n] if n in known or row[n] is None else str(row[n]) for n in names)
        for row in data
    ]
    return spark.createDataFrame(values, _schema(names, known))


def _schema(names: Iterable[str], known: Types) -> spark_types.StructType:
    """Return the columns; those that are not known are only shown, so they are text."""
    text = spark_types.StringType()
    return spark_types.StructType(
        [spark_types.StructField(name, known.get(name, text)) for name in names]
    )


def _from_pandas(spark: SparkSession, data: Any, known: Types) -> DataFrame:
    """Return a pandas DataFrame as one of Spark; types are known, as text may be all null."""
    if data.empty:
        return spark.createDataFrame([], _schema(list(data.columns) or known, known))
    copy, types = data.copy(deep=False), dict(known)
    for name in copy.columns:
        column = copy[name]
        if isinstance(known.get(name, spark_types.StringType()), spark_types.StringType):
            copy[name] = column.astype(object).map(str, na_action="ignore")
        elif column.dtype.kind in "iufb":
            copy[name], types[name] = _number(column, known[name])
    return spark.createDataFrame(copy, _schema(copy.columns, types))


def _number(column: Any, known: spark_types.DataType) -> tuple[Any, spark_types.DataType]:
    """Return a column and its type in pandas, or the known one for numbers beside nulls."""
    if column.dtype.kind != "f":
        whole = spark_types.BooleanType() if column.dtype.kind == "b" else spark_types.LongType()
        return column, whole
    there = column[column.notna()]
    if not isinstance(known, spark_types.IntegralType) or (there != there.round()).any():
        return column, spark_types.DoubleType()
    return column.astype("Int64").astype(object).where(column.notna(), None), known
