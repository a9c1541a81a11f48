"""Control rows in Spark's Python workers: they become messages about progress to the shards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from muntin.errors import ArgumentError
from muntin.operators.protocol import key_fields
from muntin.spark.exchange.messages import (
    CONTROL_REFUSED,
    KEY_PUNCTUATION,
    KEYED,
    MESSAGE,
    TRAVELLING,
    Message,
    as_batch,
    control_of,
    encode,
)
from muntin.spark.exchange.routing import ShardRoute
from muntin.spark.exchange.shards import shard_labels
from muntin.spark.exchange.shipping import shipped
from muntin.specs.axis import Axis, Domain


def announced(control: DataFrame, axis: Axis, *routes: ShardRoute) -> DataFrame:
    """Return the messages of the control rows of an input, or of several that have the same."""
    return control.mapInArrow(shipped(__name__, "announce", axis, routes), MESSAGE)


def announce(
    axis: Axis, routes: Sequence[ShardRoute], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn control rows (``kind``, ``value``) of inputs into messages to the shards.

    A row that cannot be read is counted and otherwise ignored. It stays in its source, so a query
    that failed because of it would fail again at every restart.
    """
    rows = [row for batch in batches for row in batch.to_pylist()]
    for route in routes:
        yield from _announced(axis, route.in_task(), rows)


def _announced(
    axis: Axis, route: ShardRoute, rows: Sequence[Mapping[str, Any]]
) -> Iterator[pa.RecordBatch]:
    context, control = TaskContext.get(), control_of(route.source)
    task = 0 if context is None else context.partitionId()
    labels = shard_labels(route.shards)
    for seq, row in enumerate(rows, 1):
        kind, value = row["kind"], row["value"]
        try:
            if kind == KEY_PUNCTUATION:
                parts = list(route.by_shard(key_table(axis, route, value)))
                messages = [
                    Message(labels[shard], control, task, seq, KEYED, payload=_packed(part))
                    for shard, part in parts
                ]
            else:
                tick = tick_of(axis, kind, value)
                messages = [Message(label, control, task, seq, kind, tick) for label in labels]
        except ArgumentError:
            messages = [Message(labels[0], control, task, seq, CONTROL_REFUSED, n=1)]
        yield as_batch(messages)


def _packed(table: pa.Table) -> bytes:
    return encode(table, TRAVELLING)


def tick_of(axis: Axis, kind: str | None, value: str | None) -> int | None:
    """Return the tick that a control row says, if its kind has one."""
    match kind:
        case "punctuation":
            return axis.floor("punctuation", value)
        case "clock":  # always a timestamp, for any type of `on`
            return Axis(Domain.TIMESTAMP, zone=axis.zone).point("clock", value)
        case "end" | "none":
            return None
    raise ArgumentError("kind", kind, "it is 'punctuation', 'clock', 'end' or 'none'")


def key_table(axis: Axis, route: ShardRoute, told: str | None) -> pa.Table:
    """Return punctuation for one key as a table of one row: the key and its tick."""
    types = route.punctuator.announced_keys
    try:
        value, key = (json.loads(told or "")[name] for name in ("value", "key"))
        fields = _key_columns(key, types or (), axis.zone)
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise ArgumentError("key", told, f"it is not a key of this stream: {error}") from error
    if types is None:
        raise ArgumentError("key", key, "the disorder of this stream is for all keys together")
    tick = axis.floor("punctuation", value)
    return pa.table(fields).append_column("tick", pa.array([tick], pa.int64()))


def _key_columns(
    key: Sequence[str | None], types: Sequence[pa.DataType], zone: str
) -> dict[str, pa.Array]:
    """Return the columns of a key; raise ValueError or an Arrow error if it does not suit."""
    return {
        field.name: pa.array([_value(text, field.type, zone)], field.type)
        for field, text in zip(key_fields(types), key, strict=True)
    }


def _value(text: str | None, type_: pa.DataType, zone: str) -> object:
    """Return a part of a key in its type; a time without an offset is in the session's zone."""
    if text is None:
        return None
    if pa.types.is_timestamp(type_):
        moment = datetime.fromisoformat(text)
        if type_.tz is None:
            return moment.replace(tzinfo=None)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=ZoneInfo(zone))
    value: object = pa.scalar(text).cast(type_).as_py()
    # As in the keys of rows, -0.0 is 0.0.
    return value + 0.0 if isinstance(value, float) else value
