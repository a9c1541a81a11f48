"""Frames that were found before, to be filled now: ``mt.frames(df, ...)``."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import NumericType

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.api.segments import Stored
from muntin.spark.api.stream import Stream, stream
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.disorder import Disorder
from muntin.specs.fill import CLOSED, HALF_OPEN, LEFT_OPEN, OPEN, StoredFramesSpec
from muntin.specs.windows import column_name

_EDGES = {"[]": CLOSED, "()": OPEN, "[)": HALF_OPEN, "(]": LEFT_OPEN}


def frames(
    df: DataFrame | WorkerRows,
    by: str | Sequence[str] | None = None,
    start: str = "frame_start",
    end: str = "frame_end",
    *,
    bounds: str = "[]",
    along: tuple[str, str] | None = None,
    disorder: Disorder | None = None,
    control: DataFrame | Sequence[DataFrame] | None = None,
    shards: int | None = None,
    prefix: str = "",
) -> Stored:
    """Take frames that were found before, from a table or a stream, to fill them.

    Their columns come back in the results, ``start`` and ``end`` as ``frame_start`` and
    ``frame_end``. A row without both, or that ends before it starts, is refused.

    Args:
        df: One row per frame, such as ``frames.df`` wrote yesterday.
        by: The columns that filling rows are matched by.
        start: The column where a frame begins.
        end: The column where it ends, of the same type.
        bounds: Whether rows exactly at start and end are inside: ``"[]"`` both, ``"[)"``,
            ``"(]"`` or ``"()"`` neither.
        along: The two columns with the bounds of regions along their second attribute, both
            inside: ``("along_start", "along_end")``, as ``frames.df`` of a region has them.
        disorder: How disordered a stream of frames is by ``start``, as for :func:`stream`.
        control: As for :func:`stream`.
        shards: As for :func:`stream`.
        prefix: Put before ``frame_start`` and ``frame_end`` in the results.
    """
    described = stream(df, start, by, disorder, control=control, shards=shards)
    return stored_frames(described, end, bounds=bounds, along=along, prefix=prefix)


def stored_frames(
    described: Stream,
    end: str = "frame_end",
    *,
    bounds: str = "[]",
    along: Sequence[str] | None = None,
    prefix: str = "",
) -> Stored:
    """Return frames that are rows of a stream or table, which begin where the rows lie."""
    df, start = described.df, described.on
    if end not in df.columns:
        raise UnknownColumnError("end", str(end), df.columns)
    if df.schema[end].dataType != df.schema[start].dataType:
        types = [df.schema[name].dataType.simpleString() for name in (start, end)]
        raise ArgumentError("end", end, f"it has type {types[1]} and start has {types[0]}; cast it")
    if bounds not in _EDGES:
        raise ArgumentError("bounds", bounds, f"it is one of {', '.join(map(repr, _EDGES))}")
    if not isinstance(prefix, str):
        raise ArgumentError("prefix", prefix, "it must be text such as 'mt_'")
    regions = None if along is None else _regions(df, along, (start, end, *described.by))
    spec = StoredFramesSpec(start, end, _EDGES[bounds], along=regions)
    stored = Stored(described, prefix, spec)
    stored.bare.check_operator()
    return stored


def _regions(df: DataFrame, along: object, taken: Sequence[str]) -> tuple[str, str]:
    """Return the columns with the bounds of regions; raise unless they are two of one type."""
    if not (isinstance(along, list | tuple) and len(along) == 2):
        raise ArgumentError("along", along, "it is two columns: ('along_start', 'along_end')")
    low, high = (column_name("along", name) for name in along)
    for name in (low, high):
        if name not in df.columns:
            raise UnknownColumnError("along", name, df.columns)
        if name in taken:
            raise ArgumentError("along", name, "it is a key or a bound already")
    types = [df.schema[name].dataType for name in (low, high)]
    if types[0] != types[1] or not isinstance(types[0], NumericType):
        shown = " and ".join(type_.simpleString() for type_ in types)
        raise ArgumentError("along", [low, high], f"they have {shown}; both are one number type")
    return low, high
