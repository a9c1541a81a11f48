"""Frames that were found before, to be filled now: ``mt.frames(df, ...)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.operators.fill.stored_frames import StoredFrameSegments
from muntin.spark.api.segments import Segments
from muntin.spark.api.stream import stream
from muntin.spark.columns import named
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.inputs import Source
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.result_names import ResultNames
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.types import to_arrow
from muntin.specs.disorder import Disorder
from muntin.specs.fill import CLOSED, HALF_OPEN, LEFT_OPEN, OPEN, StoredFrames
from muntin.specs.frames.framing import Framing

_EDGES = {"[]": CLOSED, "()": OPEN, "[)": HALF_OPEN, "(]": LEFT_OPEN}


@dataclass(frozen=True, eq=False)
class StoredFramesPlan(WindowPlan):
    """Stored frames, typed; their other columns go along."""

    @property
    def stored(self) -> StoredFrames:
        assert isinstance(self.spec, StoredFrames)
        return self.spec

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The columns that are neither keys nor bounds."""
        own = {*self.source.by, self.source.on, self.stored.end}
        return tuple(name for name in self.schema.names if name not in own)

    def _for_the_window(self) -> list[SparkColumn]:
        made = [named(self.stored.end).alias("until")]
        return made + [named(name).alias(f"r{place}") for place, name in enumerate(self.kept)]

    @cached_property
    def operator(self) -> StoredFrameSegments:
        return StoredFrameSegments(
            axis=self.axis,
            keys=self.key_types,
            kept=tuple(to_arrow(self.schema[name].dataType, name) for name in self.kept),
            bound_type=self.on_type,
            lateness_type=self.lateness_type,
            names=self.stored.names,
        )

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        return self.stored.names

    @cached_property
    def naming(self) -> ResultNames:
        kept = tuple((name, 1, None) for name in self.kept)
        return ResultNames(self.keys, self.bounds, self.prefix, kept, first=self.stored.first)

    def explained(self) -> object:
        return f"frames      {self.stored}, as they are stored"


@dataclass(frozen=True, eq=False)
class Stored(Segments):
    """Frames that are there already, waiting for what to fill them with."""

    spec: StoredFrames

    def compiled(self, columns: Sequence[Column]) -> StoredFramesPlan:
        return StoredFramesPlan(self.source, self.spec, tuple(columns), prefix=self.prefix)


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
    """Frames that were found before, as a table or a stream of them, to be filled.

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
    source: Source = described.described()
    made = Stored(source, prefix, StoredFrames(start, end, _EDGES[bounds]))
    made.compiled(()).operator  # noqa: B018  (a type that does not suit is said here)
    return made


def stored(segmented: Segments, shards: int) -> Stored:
    """Frames or windows of a batch as frames that were found before."""
    if isinstance(segmented, Stored):
        return replace(segmented, source=replace(segmented.source, shards=shards))
    plain = segmented.compiled(())
    framing = plain.spec
    if isinstance(framing, Framing) and framing.fragments is not None:
        raise ArgumentError(
            "fragments", str(framing.fragments), "these frames come from a batch, and all are whole"
        )
    edge = FillPlan(plain, ()).edge
    names = [name for name in plain.naming.bounds if name not in ("n", "n_missing")]
    start, end = (name for name in names if name.endswith(("_start", "_end")))
    told = [plain.prefix + name for name in names]
    found = Plan(plain).df.select(*(named(name) for name in (*plain.keys, *told)))
    bounds = plain.prefix + start, plain.prefix + end
    described = stream(found, bounds[0], plain.keys, shards=shards)
    spec = StoredFrames(*bounds, edge, (start, end), (*plain.keys, *told))
    return Stored(described.described(), plain.prefix, spec)
