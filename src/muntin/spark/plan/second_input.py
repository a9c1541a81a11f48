"""A second stream or table: its rows, and which of its columns match the keys of the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, Mention, UnknownColumnError
from muntin.expressions.spark_expressions import CastTo, Expression
from muntin.spark.columns import progressing, to_arrow
from muntin.spark.plan.inputs import PlanInput, StreamInput, TypedInput
from muntin.spark.requirements import setting
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.axis import Axis, Domain
from muntin.specs.disorder import PerKey, Punctuated
from muntin.specs.lengths import Length
from muntin.specs.windows import column_name, digits_for

#: Families of types; each type holds all values of those before it.
_FAMILIES = (
    (
        spark_types.ByteType(),
        spark_types.ShortType(),
        spark_types.IntegerType(),
        spark_types.LongType(),
    ),
    (spark_types.FloatType(), spark_types.DoubleType()),
)
#: Which columns of the second input match the keys of the first.
Key = str | Sequence[str] | Mapping[str, str] | None


class SecondInput(TypedInput):
    """Rows of one of several inputs: all share one axis, and their keys have equal types."""

    shared: Axis | None
    types: tuple[spark_types.DataType, ...]

    @cached_property
    def axis(self) -> Axis:
        assert self.shared is not None  # set when all inputs are known
        return self.shared

    @cached_property
    def key_types(self) -> tuple[pa.DataType, ...]:
        return tuple(to_arrow(type_, "key") for type_ in self.types)

    def _key(self, name: str) -> Expression:
        """Return a key in the type that all inputs share, so that equal keys are equal."""
        key = super()._key(name)
        if name not in self.keys:
            return key
        wanted = self.types[self.keys.index(name)]
        equal = self.schema[name].dataType == wanted
        return key if equal else CastTo(key, wanted.simpleString())

    def plan_input(self, name: str) -> PlanInput:
        """Return the rows as an input with a name."""
        return PlanInput(name, self)


def shared_axis(sources: Sequence[StreamInput], lengths: Sequence[Length]) -> Axis:
    """Return one axis for all inputs, fine enough for each of them."""
    first = sources[0]
    domain, _ = progressing(first.df.schema[first.on].dataType, first.on)
    digits = [digits_of(source, domain, lengths) for source in sources]
    zone = setting(first.df.sparkSession, "spark.sql.session.timeZone", "UTC")
    return Axis(domain, max(digits), zone)


def digits_of(source: StreamInput, wanted: Domain, lengths: Sequence[Length]) -> int:
    """Return the decimals that an input needs; raise if it progresses along another domain."""
    domain, scale = progressing(source.df.schema[source.on].dataType, source.on)
    if domain is not wanted:
        raise ArgumentError(
            "on",
            source.on,
            f"it is a {domain} column, and the other one has {wanted} values; cast one of them",
        )
    finest = None if source.disorder is None else source.disorder.finest
    return digits_for(domain, scale, *lengths, finest)


def other_source(
    own: StreamInput, other: Any, on: str | None
) -> tuple[StreamInput, tuple[str, ...] | None]:
    """Return the second stream or table, and the keys that it was described with, if any."""
    if other is None:
        return replace(own, on=own.on if on is None else column_name("on", on)), own.by
    if isinstance(other, StreamInput):
        if on is not None and on != other.on:
            raise ArgumentError("on", on, f"the stream progresses on {other.on!r} already")
        return other, other.by
    if not hasattr(other, "isStreaming"):
        raise ArgumentError("other", other, "it is a Spark DataFrame or what mt.stream returns")
    files = other if isinstance(other, WorkerRows) else None
    rows = other if files is None else files.df
    name = own.on if on is None else column_name("on", on)
    if name not in other.columns:
        raise UnknownColumnError("on", name, other.columns)
    progressing(other.schema[name].dataType, name)
    return StreamInput(rows, name, (), functions=own.functions, files=files), None


def matching(
    keys: Sequence[str],
    schema: spark_types.StructType,
    source: StreamInput,
    key: Key,
    described: tuple[str, ...] | None,
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the columns that match keys, and the numbers of the keys that they match."""
    pairs = _pairs(keys, source, key, described)
    for own, name in pairs:
        if name not in source.df.columns:
            raise UnknownColumnError("key", name, source.df.columns)
        _check_types(schema, own, source, name)
    by_key = isinstance(source.disorder, PerKey) or (
        isinstance(source.disorder, Punctuated) and source.disorder.key
    )
    if by_key and tuple(name for _, name in pairs) != described:
        raise ArgumentError(
            "key",
            key,
            f"{source.disorder} is about each key of {described}, so these have to match; or use "
            "another disorder",
        )
    return tuple(name for _, name in pairs), tuple(keys.index(own) for own, _ in pairs)


def _pairs(
    keys: Sequence[str], source: StreamInput, key: Key, described: tuple[str, ...] | None
) -> list[tuple[str, str]]:
    """Return pairs of a key and the column that matches it."""
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
                f"the other rows have no column {missing[0]!r}; name the one that matches (",
                Mention("key", {missing[0]: "..."}),
                "), or say ",
                Mention("key", ()),
                " so that keys do not matter",
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
            "match: ",
            Mention("key", {"router": "router_id"}),
        )
    return [(own, column_name("key", name)) for own, name in zip(keys, names, strict=True)]


def _check_types(schema: spark_types.StructType, own: str, source: StreamInput, name: str) -> None:
    wanted, other = schema[own].dataType, source.df.schema[name].dataType
    to_arrow(other, f"key={name!r}")
    if wanted != other and not _widens(other, wanted):
        raise ArgumentError(
            "key",
            name,
            f"it has type {other.simpleString()} and {own!r} has {wanted.simpleString()}; "
            "cast one of them",
        )


def _widens(narrow: spark_types.DataType, wide: spark_types.DataType) -> bool:
    """True if the wide type has every value of the narrow one, and equal values stay equal."""
    for family in _FAMILIES:
        if narrow in family and wide in family:
            return family.index(narrow) < family.index(wide)
    return False


def same_kind(left: StreamInput, right: StreamInput) -> None:
    """Raise unless both are streams or both are batches: no other pair is joined row by row."""
    if left.df.isStreaming != right.df.isStreaming:
        batch = "the other one" if left.df.isStreaming else "this one"
        raise ArgumentError(
            "other",
            "a stream and a batch",
            f"{batch} is a batch; read it as a stream too (spark.readStream), or look rows up in a "
            "stored table with .lookup(table)",
        )
