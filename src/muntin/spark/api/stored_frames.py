"""Frames that were found before, to be filled now: ``mt.frames(df, ...)``."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.api.segments import Stored
from muntin.spark.api.stream import stream
from muntin.specs.disorder import Disorder
from muntin.specs.fill import CLOSED, HALF_OPEN, LEFT_OPEN, OPEN, StoredFramesSpec

_EDGES = {"[]": CLOSED, "()": OPEN, "[)": HALF_OPEN, "(]": LEFT_OPEN}


def frames(
    df: DataFrame,
    by: str | Sequence[str] | None = None,
    start: str = "frame_start",
    end: str = "frame_end",
    *,
    bounds: str = "[]",
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
        disorder: How disordered a stream of frames is by ``start``, as for :func:`stream`.
        control: As for :func:`stream`.
        shards: As for :func:`stream`.
        prefix: Put before ``frame_start`` and ``frame_end`` in the results.
    """
    described = stream(df, start, by, disorder, control=control, shards=shards)
    if end not in df.columns:
        raise UnknownColumnError("end", str(end), df.columns)
    if df.schema[end].dataType != df.schema[start].dataType:
        types = [df.schema[name].dataType.simpleString() for name in (start, end)]
        raise ArgumentError("end", end, f"it has type {types[1]} and start has {types[0]}; cast it")
    if bounds not in _EDGES:
        raise ArgumentError("bounds", bounds, f"it is one of {', '.join(map(repr, _EDGES))}")
    if not isinstance(prefix, str):
        raise ArgumentError("prefix", prefix, "it must be text such as 'mt_'")
    stored = Stored(described, prefix, StoredFramesSpec(start, end, _EDGES[bounds]))
    stored.bare.check_operator()
    return stored
