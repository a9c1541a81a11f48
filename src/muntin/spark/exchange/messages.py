"""The exchange: rows in, one message per shard out, and messages back to tables.

A message is a row of a small Spark DataFrame: which shard it is for, where it comes from (so
that the receiver can put messages in the same order every time), how far its sender has
progressed, and an Arrow IPC payload. Every task tells every shard of its progress.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from muntin.errors import ArgumentError
from muntin.kernels.hashing import shard_of
from muntin.operators.progress.slack import Punctuator
from muntin.operators.protocol import MapSide, Operator
from muntin.spark.exchange.shard_labels import shard_label
from muntin.spark.exchange.shipping import shipped
from muntin.specs.axis import Axis, Domain

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
#: Inputs are numbered from 0; below that is what controls them.
DATA = 0
#: Kinds of messages from a punctuator's map side: how many rows are punctuation, what every shard
#: hears, and what the shard of a key hears.
PUNCTUATIONS, EVERYWHERE, KEYED = "punctuations", "everywhere", "keyed"
#: How many rows are used without having to travel.
PASSED = "passed"
#: Control rows that say nothing a stream could follow.
CONTROL_REFUSED = "control_refused"
#: Rows taken together on the map side: enough that combining pays, little enough for memory.
ROWS_AT_ONCE = 1_000_000
#: A payload is cut at about this size.
PAYLOAD_BYTES = 32 * 2**20
#: Payloads are copied several times on their way, which costs more than to pack them.
TRAVELLING = "lz4"


@dataclass(frozen=True)
class Message:
    """One row of the exchange."""

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
    """The input of the messages that control an input."""
    return -1 - source


@dataclass(frozen=True)
class InputRoute:
    """One input on its way to the shards: which it is, who sends it, and by which rule.

    The rows of an input go to the shards of their keys, or ``everywhere``.
    """

    source: int
    map_side: MapSide
    shard_keys: tuple[str, ...]
    punctuator: Punctuator
    shards: int
    everywhere: bool = False

    @classmethod
    def of(
        cls,
        operator: Operator,
        source: int,
        punctuator: Punctuator,
        shards: int,
        everywhere: bool = False,
    ) -> InputRoute:
        """The route of an input of an operator."""
        map_side, shard_keys = operator.map_sides[source], tuple(operator.shard_keys[source])
        return cls(source, map_side, shard_keys, punctuator, shards, everywhere)


def routed(prepared: DataFrame, lane: InputRoute) -> DataFrame:
    """The messages of a prepared DataFrame."""
    return prepared.mapInArrow(shipped(__name__, "route", lane), MESSAGE)


def announced(control: DataFrame, axis: Axis, shards: int, source: int = DATA) -> DataFrame:
    """The messages of the control rows of an input."""
    worker = shipped(__name__, "announce", axis, shards, source)
    return control.mapInArrow(worker, MESSAGE)


def route(lane: InputRoute, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Map side: what the rows of a task mean to each shard."""
    sender = _Sender(lane, _task())
    for rows in _gather(batches):
        yield from sender.take(rows)
    yield from sender.finish()


class _Sender:
    """Splits what an operator routes by shard and numbers the messages of a task."""

    def __init__(self, lane: InputRoute, task: int) -> None:
        self.lane = lane
        self.labels = [shard_label(shard) for shard in range(lane.shards)]
        self.task = task
        self.seq = 0
        self.progress: int | None = None
        self.pending: list[list[pa.Table]] = [[] for _ in range(lane.shards)]
        self.pending_bytes = 0

    def take(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        observed = self.lane.punctuator.observe(rows)
        if observed.rows.num_rows:
            yield from self._route(observed.rows)
        if observed.punctuations:
            yield _batch([self._message(0, PUNCTUATIONS, n=observed.punctuations)])
        if observed.everywhere is not None:
            payload = encode(observed.everywhere, TRAVELLING)
            shards = range(len(self.labels))
            yield _batch([self._message(s, EVERYWHERE, payload=payload) for s in shards])
        for shard, mine in self._by_shard(observed.keyed):
            yield from self._payloads(shard, KEYED, mine)

    def _route(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        routed = self.lane.map_side.route(rows)
        self.progress = max(
            (p for p in (self.progress, routed.progress) if p is not None), default=None
        )
        for shard, partial in self._by_shard(routed.partial):
            self.pending[shard].append(partial)
            self.pending_bytes += partial.nbytes
        if routed.passed:
            yield _batch([self._message(0, PASSED, n=routed.passed)])
        for reason, count in routed.refused.items():
            yield _batch([self._message(0, f"refused:{reason}", n=count)])
        if routed.refused_rows is not None:
            yield from self._payloads(0, "refused_rows", routed.refused_rows)
        for shard, mine in self._by_shard(routed.rows):
            yield from self._payloads(shard, "rows", mine)
        if self.pending_bytes > PAYLOAD_BYTES * len(self.labels):
            yield from self._flush()

    def finish(self) -> Iterator[pa.RecordBatch]:
        if self.seq or self.progress is not None:
            yield from self._flush()
            yield _batch([self._message(s, "progress") for s in range(len(self.labels))])

    def _by_shard(self, table: pa.Table | None) -> Iterator[tuple[int, pa.Table]]:
        """A table cut by the shards of its keys."""
        if table is None or table.num_rows == 0:
            return
        if len(self.labels) == 1 or self.lane.everywhere:
            yield from ((shard, table) for shard in range(len(self.labels)))
            return
        keys = [table[name].combine_chunks() for name in self.lane.shard_keys]
        shard = shard_of(keys, table.num_rows, len(self.labels))
        # Numbers of 16 bits are sorted by radix, which is several times faster.
        small = shard.astype(np.uint16) if len(self.labels) <= 2**16 else shard
        order = np.argsort(small, kind="stable")
        table, shard = table.take(pa.array(order)), shard[order]
        cuts = [0, *(np.flatnonzero(np.diff(shard)) + 1).tolist(), len(shard)]
        for start, end in itertools.pairwise(cuts):
            yield int(shard[start]), table.slice(start, end - start)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        for shard, tables in enumerate(self.pending):
            if tables:
                merged = tables[0] if len(tables) == 1 else self.lane.map_side.merge(tables)
                yield from self._payloads(shard, "partial", merged)
                self.pending[shard] = []
        self.pending_bytes = 0

    def _payloads(self, shard: int, kind: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
        pieces = max(1, -(-table.nbytes // PAYLOAD_BYTES))
        size = -(-table.num_rows // pieces)
        for start in range(0, table.num_rows, size):
            piece = table.slice(start, size)
            payload = encode(piece, TRAVELLING)
            yield _batch([self._message(shard, kind, n=piece.num_rows, payload=payload)])

    def _message(
        self, shard: int, kind: str, *, n: int = 0, payload: bytes | None = None
    ) -> Message:
        self.seq += 1
        place = (self.labels[shard], self.lane.source, self.task, self.seq)
        return Message(*place, kind, self.progress, n, payload)


def announce(
    axis: Axis, shards: int, source: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Control rows (``kind``, ``value``) of an input as messages to every shard.

    A row that cannot be read is counted and otherwise ignored: it stays in its source, so a query
    that failed over it would fail again at every restart.
    """
    task, control = _task(), control_of(source)
    labels = [shard_label(shard) for shard in range(shards)]
    rows = (row for batch in batches for row in batch.to_pylist())
    for seq, row in enumerate(rows, 1):
        kind = row["kind"]
        try:
            tick = _told(axis, kind, row["value"])
        except ArgumentError:
            yield _batch([Message(labels[0], control, task, seq, CONTROL_REFUSED, n=1)])
        else:
            yield _batch([Message(label, control, task, seq, kind, tick) for label in labels])


def _told(axis: Axis, kind: str | None, value: str | None) -> int | None:
    match kind:
        case "punctuation":
            return axis.floor("punctuation", value)
        case "clock":  # a moment, whatever the stream is ordered by
            return Axis(Domain.TIMESTAMP, zone=axis.zone).point("clock", value)
        case "end" | "none":
            return None
    raise ArgumentError("kind", kind, "it is 'punctuation', 'clock', 'end' or 'none'")


def in_order(messages: Iterable[Message]) -> list[Message]:
    """Control first, then by input, task and sequence: the same order however they arrived."""
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


def _gather(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _batch(messages: Sequence[Message]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([vars(message) for message in messages], schema=_SCHEMA)


def _task() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
