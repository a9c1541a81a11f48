"""``mt.merge``: several streams of the same columns as one [AU-7]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import ArgumentError
from muntin.spark.api.stream import Stream, stream
from muntin.specs.disorder import Disorder, Slack, each
from muntin.specs.idle import Idle, Wait
from muntin.specs.lengths import Duration, Length
from muntin.specs.windows import column_name


def merge(
    streams: Mapping[str, Stream],
    source: str = "source",
    *,
    idle: Idle = Wait(),  # noqa: B008  (frozen)
    disorder: Disorder | None = None,
    control: DataFrame | Sequence[DataFrame] | None = None,
) -> Stream:
    """Several streams with the same columns as one, which has their rows.

    A column says which stream a row is of. The one stream is complete up to where all of them
    are, each by its own order or slack; so the fastest waits for the slowest.

    Args:
        streams: The streams by their names: ``{"north": north, "south": south}``.
        source: The column for the names.
        idle: What becomes of a stream that goes quiet, as in :func:`each`.
        disorder: Another rule for the one stream; needed where theirs are neither
            ``mt.ordered()`` nor ``mt.slack("...")``.
        control: The control rows of the one stream; those of the others do not speak for it.
    """
    _check_given(streams)
    column_name("source", source)
    first, *others = streams.items()
    for other in others:
        _check(first, other)
    one = first[1]
    if source in one.df.columns:
        raise ArgumentError("source", source, "the streams have such a column; use another name")
    rows = [s.df.withColumn(source, F.lit(name)) for name, s in streams.items()]
    rule = disorder
    if rule is None and one.df.isStreaming:
        rule = _rule(streams, source, idle)
    return stream(
        reduce(DataFrame.unionByName, rows),
        one.on,
        one.by,
        rule,
        control=control,
        shards=one.shards,
        functions=one.functions,
        schedule=one.schedule,
    )


def _check_given(streams: object) -> None:
    if not isinstance(streams, Mapping) or len(streams) < 2:
        raise ArgumentError("streams", streams, "they are two or more: {'north': a, 'south': b}")
    for name, one in streams.items():
        if not isinstance(name, str) or not isinstance(one, Stream):
            raise ArgumentError("streams", {name: one}, "they are what mt.stream returns, by name")


def _check(first: tuple[str, Stream], other: tuple[str, Stream]) -> None:
    """Refuse streams that are not alike, naming what differs."""
    (name, one), (other_name, two) = first, other
    if (one.on, one.by) != (two.on, two.by):
        raise ArgumentError(
            "streams",
            [name, other_name],
            f"one is on {one.on} by {one.by}, the other on {two.on} by {two.by}",
        )
    if one.df.isStreaming != two.df.isStreaming:
        raise ArgumentError("streams", [name, other_name], "one is a batch and the other streams")
    here, there = ({f.name: f.dataType for f in s.df.schema.fields} for s in (one, two))
    for column in {**here, **there}:
        types = [side.get(column) for side in (here, there)]
        if types[0] != types[1]:
            told = [t.simpleString() if t is not None else "not there" for t in types]
            raise ArgumentError(
                "streams",
                [name, other_name],
                f"column {column!r} is {told[0]} in {name!r} and {told[1]} in {other_name!r}; "
                "select and cast the same columns",
            )


def _rule(streams: Mapping[str, Stream], source: str, idle: Idle) -> Disorder:
    """Order within each of the streams; the most slack that any has is that of all."""
    slacks: list[Length | None] = []
    for name, one in streams.items():
        if not isinstance(one.disorder, Slack) or one.control is not None:
            said = "its control rows" if one.control is not None else str(one.disorder)
            raise ArgumentError(
                "streams",
                name,
                f"{said} cannot speak for all of them; say disorder= for the one stream",
            )
        slacks.append(one.disorder.slack)
    given = [length for length in slacks if length is not None]
    most = max(given, key=_size, default=None)
    late = next(iter(streams.values())).disorder
    assert late is not None  # each has a slack
    return each(source, most, idle=idle, expect=list(streams), late=late.late)


def _size(length: Length) -> Decimal:
    return Decimal(length.micros) if isinstance(length, Duration) else length.value
