"""Messages: the rows that the map side sends to the shards.

A message is a row of a small Spark DataFrame. It has the shard that it is for, its sender (so that
the receiver can always sort messages in the same order), the progress of the sender, and an Arrow
IPC payload. Every task sends its progress to every shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

MESSAGE = """
    shard INT, input INT, task INT, seq INT,
    kind STRING, progress BIGINT, n BIGINT, payload BINARY
"""
_SCHEMA = pa.schema(
    [
        ("shard", pa.int32()),
        ("input", pa.int32()),
        ("task", pa.int32()),
        ("seq", pa.int32()),
        ("kind", pa.string()),
        ("progress", pa.int64()),
        ("n", pa.int64()),
        ("payload", pa.binary()),
    ]
)
#: Inputs are numbered from 0; negative numbers are their control inputs.
DATA = 0
#: Kinds of messages from a punctuator's map side: the count of rows that are punctuation, tables
#: for every shard, and tables for the shards of their keys.
PUNCTUATIONS, EVERYWHERE, KEYED = "punctuations", "everywhere", "keyed"
#: Kinds of messages of an input whose shards judge which rows are ahead: the values of ``on`` for
#: every shard, and rows as they came for the shards of their keys.
VALUES, UNJUDGED = "values", "unjudged"
#: The kind of a message with the count of rows that are used but not sent.
PASSED = "passed"
#: The kind of a message that counts control rows which cannot be read.
CONTROL_REFUSED = "control_refused"
#: The kind of a control row that is punctuation for one key; its value is JSON.
KEY_PUNCTUATION = "key_punctuation"
#: Rows that the map side combines at once: many, but few enough for memory.
ROWS_AT_ONCE = 1_000_000
#: Bytes that the map side combines at once. The offsets of an Arrow text column end at 2 GB, and
#: a million rows of long texts have more.
BYTES_AT_ONCE = 2**29
#: A payload has at most about this size.
PAYLOAD_BYTES = 32 * 2**20
#: Payloads are copied several times, which costs more than compressing them.
TRAVELLING = "lz4"


@dataclass(frozen=True)
class Message:
    """One row of the exchange between the map side and the shards."""

    shard: int
    input: int
    task: int
    seq: int
    kind: str
    progress: int | None = None
    n: int = 0
    payload: bytes | None = None

    def table(self) -> pa.Table:
        assert self.payload is not None
        return decode(self.payload)


def message_of(row: Mapping[str, Any]) -> Message:
    """Return a row of the exchange as a message."""
    payload = None if row["payload"] is None else bytes(row["payload"])
    return Message(
        **{name: row[name] for name in _SCHEMA.names if name != "payload"}, payload=payload
    )


def encode(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def decode(payload: bytes) -> pa.Table:
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()


def control_of(source: int) -> int:
    """Return the number of the control input of an input."""
    return -1 - source


def in_order(messages: Iterable[Message]) -> list[Message]:
    """Sort messages by input (control first), task and sequence number."""
    return sorted(messages, key=lambda m: (m.input, m.task, m.seq))


def of_input(messages: Sequence[Message], source: int) -> list[Message]:
    return [message for message in messages if message.input == source]


def of_kind(messages: Sequence[Message], kind: str) -> list[pa.Table]:
    return [message.table() for message in messages if message.kind == kind]


def count_of(messages: Sequence[Message], kind: str) -> int:
    return sum(message.n for message in messages if message.kind == kind)


def refused_counts(messages: Sequence[Message]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for message in messages:
        if message.kind.startswith("refused:"):
            reason = message.kind.removeprefix("refused:")
            counts[reason] = counts.get(reason, 0) + message.n
    return counts


def as_batch(messages: Sequence[Message]) -> pa.RecordBatch:
    """Return messages as rows of the exchange."""
    return pa.RecordBatch.from_pylist([vars(message) for message in messages], schema=_SCHEMA)
