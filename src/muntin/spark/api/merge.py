"""``mt.merge``: several streams with the same columns as one stream [AU-7]."""

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
    """Merge several streams with the same columns into one stream with all their rows.

    A column says which stream a row comes from. The merged stream is complete up to where all of
    them are, each by its own order or slack; so the fastest waits for the slowest.

    Args:
        streams: The streams by their names: ``{"north": north, "south": south}``.
        source: The column for the names.
        idle: What happens to a stream that goes quiet, as in :func:`each`.
        disorder: Another rule for the merged stream; needed where theirs are neither
            ``mt.ordered()`` nor ``mt.slack("...")``.
        control: The control rows of the merged stream; those of the others do not count for it.
    """
    _check_streams(streams)
    column_name("source", source)
    first, *others = streams.items()
    for other in others:
        _check(first, other)
    model = first[1]
    if source in model.df.columns:
        raise ArgumentError("source", source, "the streams have such a column; use another name")
    rows = [s.df.withColumn(source, F.lit(name)) for name, s in streams.items()]
    rule = disorder
    if rule is None and model.df.isStreaming:
        rule = _rule(streams, source, idle)
    return stream(
        reduce(DataFrame.unionByName, rows),
        model.on,
        model.by,
        rule,
        control=control,
        shards=model.shards,
        functions=model.functions,
        schedule=model.schedule,
    )


def _check_streams(streams: object) -> None:
    if not isinstance(streams, Mapping) or len(streams) < 2:
        raise ArgumentError("streams", streams, "they are two or more: {'north': a, 'south': b}")
    for name, member in streams.items():
        if not isinstance(name, str) or not isinstance(member, Stream):
            raise ArgumentError(
                "streams", {name: member}, "they are what mt.stream returns, by name"
            )


def _check(first: tuple[str, Stream], other: tuple[str, Stream]) -> None:
    """Raise if two streams are not alike, and name what differs."""
    (name, left), (other_name, right) = first, other
    if (left.on, left.by) != (right.on, right.by):
        raise ArgumentError(
            "streams",
            [name, other_name],
            f"one is on {left.on} by {left.by}, the other on {right.on} by {right.by}",
        )
    if left.df.isStreaming != right.df.isStreaming:
        raise ArgumentError("streams", [name, other_name], "one is a batch and the other streams")
    here, there = ({f.name: f.dataType for f in s.df.schema.fields} for s in (left, right))
    for column in {**here, **there}:
        types = [side.get(column) for side in (here, there)]
        if types[0] != types[1]:
            names = [t.simpleString() if t is not None else "not there" for t in types]
            raise ArgumentError(
                "streams",
                [name, other_name],
                f"column {column!r} is {names[0]} in {name!r} and {names[1]} in {other_name!r}; "
                "select and cast the same columns",
            )


def _rule(streams: Mapping[str, Stream], source: str, idle: Idle) -> Disorder:
    """Return order within each of the streams, with the largest slack of all of them."""
    slacks: list[Length | None] = []
    for name, member in streams.items():
        if not isinstance(member.disorder, Slack) or member.control is not None:
            rule = "its control rows" if member.control is not None else str(member.disorder)
            raise ArgumentError(
                "streams",
                name,
                f"{rule} cannot speak for all of them; say disorder= for the one stream",
            )
        if member.disorder.ahead is not None:
            raise ArgumentError(
                "streams",
                name,
                f"{member.disorder} cannot speak for all of them; say disorder= for the one "
                f"stream, such as mt.each({source!r}, ..., ahead={str(member.disorder.ahead)!r})",
            )
        slacks.append(member.disorder.slack)
    lengths = [length for length in slacks if length is not None]
    most = max(lengths, key=_size, default=None)
    late = next(iter(streams.values())).disorder
    assert late is not None  # each has a slack
    return each(source, most, idle=idle, expect=list(streams), late=late.late)


def _size(length: Length) -> Decimal:
    return Decimal(length.micros) if isinstance(length, Duration) else length.value
