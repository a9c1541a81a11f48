"""Frames and windows filled from a stream or a table: ``frames.fill(other, ...)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.text import Column, parse_condition
from muntin.semantics.disorder import CHOICES, PerKey, Punctuated
from muntin.semantics.errors import ArgumentError, UnknownColumnError
from muntin.semantics.filling import Filling, StoredFrames
from muntin.semantics.framing.properties import Framing
from muntin.semantics.window import Window, column_name
from muntin.spark.compile import Compiled, Source
from muntin.spark.compile_fill import CompiledFill, CompiledSource
from muntin.spark.compile_history import CompiledHistory, check_history
from muntin.spark.disorder import check_clock
from muntin.spark.expressions import condition
from muntin.spark.plan import Plan
from muntin.spark.requirements import check_stream
from muntin.spark.segmented import Segmented
from muntin.spark.types import progressing, to_arrow

if TYPE_CHECKING:
    from muntin.spark.stream import Stream

#: How the columns of the filling rows correspond to keys of the segments.
Key = str | Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True, eq=False)
class Filled:
    """Frames or windows and what fills them, waiting for what to compute of it."""

    segmented: Segmented
    source: Source
    filling: Filling
    matches: tuple[int, ...]
    where: SparkColumn | None = None

    def agg(self, *aggregates: str | Aggregate) -> DataFrame:
        """Aggregates of the rows in each frame or window, as an ordinary Spark DataFrame.

        The columns of the frame or window, ``shift`` where several were given, then one column
        per aggregate of the *filling* rows: SQL text (``"count(*) AS updates"``) or ``mt.*``.
        """
        return self.plan(*aggregates).df

    def plan(self, *aggregates: str | Aggregate) -> Plan:
        """As :meth:`agg`, but a plan: for :func:`muntin.write`, and to be combined."""
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, such as 'count(*) AS n'")
        columns = [self.segmented.column(one, self.source.functions) for one in aggregates]
        return self._planned(columns, whole_rows=False)

    def rows(self) -> DataFrame:
        """Every filling row with the frame or window that it fills, one row for each pair."""
        return self.rows_plan().df

    def rows_plan(self) -> Plan:
        """As :meth:`rows`, but a plan."""
        return self._planned((), whole_rows=True)

    def explain(self, *aggregates: str | Aggregate) -> None:
        """Print what is filled with what, and what a stream holds for it."""
        self.plan(*(aggregates or ("count(*)",))).explain()

    def _planned(self, columns: Sequence[Column], *, whole_rows: bool) -> Plan:
        plain = self.segmented.compiled(())
        return planned(self.segmented, plain, [self.compiled(columns, whole_rows=whole_rows)])

    def compiled(self, columns: Sequence[Column], *, whole_rows: bool = False) -> CompiledSource:
        plain = self.segmented.compiled(())
        return CompiledSource(
            self.source,
            plain.spec,
            tuple(columns),
            filling=self.filling,
            matches=self.matches,
            types=tuple(plain.schema[plain.keys[n]].dataType for n in self.matches),
            where=self.where,
            whole_rows=whole_rows,
        )


def planned(segmented: Segmented, plain: Compiled, sources: Sequence[CompiledSource]) -> Plan:
    """The plan of segments and everything that fills them."""
    compiled = CompiledFill(plain, tuple(sources))
    compiled.check_names()
    compiled.joint.result_schema  # noqa: B018  (a type that does not suit is said here)
    for feed in compiled.feeds:
        feed.punctuator  # noqa: B018
    if plain.is_streaming:
        segmented.check_stream()
    return filled_plan(compiled)


def filled_plan(compiled: CompiledFill) -> Plan:
    """The plan of what streams on both sides or on none; or of a stream's bounds and a table."""
    stored = [not source.source.df.isStreaming for source in compiled.sources]
    if not compiled.is_streaming:
        return Plan(compiled)
    if any(stored):
        check_history(compiled)
        return Plan(CompiledHistory(compiled))
    for source in compiled.sources:
        _check_stream(source.source)
    return Plan(compiled)


def _check_stream(source: Source) -> None:
    if source.disorder is None and source.control is None:
        raise ArgumentError(
            "other",
            "a stream",
            "a stream that fills must say how disordered it is, or nothing would ever be complete: "
            f"mt.stream(other, on=..., by=..., disorder={CHOICES})",
        )
    check_clock(source.disorder, source.clock)
    check_stream(source.df.sparkSession)


def filled(
    segmented: Segmented,
    other: DataFrame | Stream | None,
    on: str | None,
    key: Key,
    where: str | SparkColumn | None,
    filling: Filling,
) -> Filled:
    """What ``fill`` returns: a source found and checked."""
    plain = segmented.compiled(())
    if not isinstance(plain.spec, Framing | Window | StoredFrames):
        raise ArgumentError(
            "fill", str(plain.spec), "frames, sliding and tumbling windows can be filled"
        )
    source, described = _source(segmented, other, on)
    by, matches = _keys(plain, source, key, described)
    source = replace(source, by=by)
    _check_sides(plain, source)
    chosen = None if where is None else _condition(where)
    made = Filled(segmented, source, filling, matches, chosen)
    made._planned((), whole_rows=False)  # what does not suit is said here
    return made


def _source(
    segmented: Segmented, other: Any, on: str | None
) -> tuple[Source, tuple[str, ...] | None]:
    """The rows that fill, and the keys that they were described with."""
    from muntin.spark.stream import Stream  # which can make frames and windows

    own = segmented.source
    if other is None:
        return replace(own, on=own.on if on is None else column_name("on", on)), own.by
    if isinstance(other, Stream):
        source = other.described()
        if on is not None and on != source.on:
            raise ArgumentError("on", on, f"the stream progresses on {source.on!r} already")
        return replace(source, shards=own.shards), source.by
    if not hasattr(other, "isStreaming"):
        raise ArgumentError("other", other, "it is a Spark DataFrame or what mt.stream returns")
    name = own.on if on is None else column_name("on", on)
    if name not in other.columns:
        raise UnknownColumnError("on", name, other.columns)
    progressing(other.schema[name].dataType, name)
    return Source(other, name, (), None, own.shards, functions=own.functions), None


def _keys(
    plain: Compiled, source: Source, key: Key, described: tuple[str, ...] | None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The columns that match, and which keys of the segments they match."""
    pairs = _pairs(plain, source, key, described)
    for _, name in pairs:
        if name not in source.df.columns:
            raise UnknownColumnError("key", name, source.df.columns)
    for own, name in pairs:
        _check_types(plain, own, source, name)
    by_key = isinstance(source.disorder, PerKey) or (
        isinstance(source.disorder, Punctuated) and source.disorder.key
    )
    if by_key and tuple(name for _, name in pairs) != described:
        raise ArgumentError(
            "key",
            key,
            f"{source.disorder} tells of each key of {described}, so these have to match; or use "
            "another disorder",
        )
    return tuple(name for _, name in pairs), tuple(plain.keys.index(own) for own, _ in pairs)


def _pairs(
    plain: Compiled, source: Source, key: Key, described: tuple[str, ...] | None
) -> list[tuple[str, str]]:
    """Pairs of a key of the segments and the column that matches it."""
    keys = plain.keys
    if isinstance(key, Mapping):
        for own in key:
            if own not in keys:
                raise UnknownColumnError("key", str(own), keys)
        return [(own, column_name("key", key[own])) for own in keys if own in key]
    if key is None and described is not None:
        names: Sequence[str] = described
    elif key is None:
        missing = [own for own in keys if own not in source.df.columns]
        if missing:
            raise ArgumentError(
                "key",
                None,
                f"the filling rows have no column {missing[0]!r}; name the one that matches "
                f"(key={{{missing[0]!r}: '...'}}), or say key=() so that every frame sees all rows",
            )
        names = keys
    else:
        names = (key,) if isinstance(key, str) else tuple(key)
    if not names:
        return []
    if len(names) != len(keys):
        raise ArgumentError(
            "key",
            list(names),
            f"the keys are {', '.join(keys) or 'none'}; name a column for each, or say which "
            "match: key={'router': 'router_id'}",
        )
    return [(own, column_name("key", name)) for own, name in zip(keys, names, strict=True)]


def _check_types(plain: Compiled, own: str, source: Source, name: str) -> None:
    one, other = plain.schema[own].dataType, source.df.schema[name].dataType
    to_arrow(other, f"key={name!r}")
    numbers = (spark_types.NumericType,)
    if one != other and not (isinstance(one, numbers) and isinstance(other, numbers)):
        raise ArgumentError(
            "key",
            name,
            f"it has type {other.simpleString()} and {own!r} has {one.simpleString()}; cast it",
        )


def _check_sides(plain: Compiled, source: Source) -> None:
    if source.df.isStreaming and not plain.is_streaming:
        raise ArgumentError(
            "other",
            "a stream",
            "these bounds come from a batch; read them as a stream too (spark.readStream)",
        )


def _condition(where: object) -> SparkColumn:
    if isinstance(where, SparkColumn):
        return where
    if not isinstance(where, str):
        raise ArgumentError("where", where, "it is SQL text or a PySpark column")
    return condition(parse_condition(where))
