"""Routing: Spark's Python workers turn the rows of a task into messages to the shards.

Spark hashes the shard column again (Murmur3, seed 42), so the labels 0, 1, 2... would leave
partitions empty. The hash of a 32-bit integer can be inverted. The label of shard ``i`` is the
integer whose hash is ``i``, so the shard is in partition ``i mod partitions``. Labels are the keys
of the state, so they must not depend on the number of partitions, and these labels do not.

A stored input is complete before the stream starts: its messages are made at the start and sent
with the query. A table has few frames compared with the rows that will fill them. Each shard takes
its frames in its first micro-batch, together with the end of this input, and keeps them in its
state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.kernels.hashing import shard_of
from muntin.operators.progress.progress import Progress, Punctuator
from muntin.operators.protocol import MapSide, Operator
from muntin.spark.columns import named
from muntin.spark.exchange.messages import (
    EVERYWHERE,
    KEYED,
    MESSAGE,
    PASSED,
    PAYLOAD_BYTES,
    PUNCTUATIONS,
    ROWS_AT_ONCE,
    TRAVELLING,
    Message,
    as_batch,
    control_of,
    encode,
)
from muntin.spark.exchange.shipping import shipped

if TYPE_CHECKING:  # workers that read no files do not import what reads them
    from muntin.spark.scan.choose import InputRows
    from muntin.spark.scan.scan import ArrowScan

_MASK = 0xFFFF_FFFF
_SEED = 42


@dataclass(frozen=True)
class InputRoute:
    """How one input is sent to the shards: its number, its map side and its punctuator.

    Rows go to the shards of their keys or, if ``everywhere``, to every shard.
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
        """Return the route of an input of an operator."""
        map_side, shard_keys = operator.map_sides[source], tuple(operator.shard_keys[source])
        return cls(source, map_side, shard_keys, punctuator, shards, everywhere)

    def by_shard(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Split a table by the shards of its keys."""
        if table.num_rows == 0:
            return
        if self.shards == 1 or self.everywhere:
            yield from ((shard, table) for shard in range(self.shards))
            return
        keys = [table[name].combine_chunks() for name in self.shard_keys]
        shard = shard_of(keys, table.num_rows, self.shards)
        # NumPy sorts 16-bit numbers by radix, which is several times faster.
        small = shard.astype(np.uint16) if self.shards <= 2**16 else shard
        order = np.argsort(small, kind="stable")
        table, shard = table.take(pa.array(order)), shard[order]
        cuts = [0, *(np.flatnonzero(np.diff(shard)) + 1).tolist(), len(shard)]
        for start, end in itertools.pairwise(cuts):
            yield int(shard[start]), table.slice(start, end - start)


def routed(rows: InputRows, route: InputRoute) -> DataFrame:
    """Return the messages of the rows of an input."""
    return rows.df.mapInArrow(shipped(__name__, "route", route, rows.scan), MESSAGE)


def route(
    input_route: InputRoute, scan: ArrowScan | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Map side: turn the rows of a task into messages to the shards."""
    sender = _Sender(input_route, _task())
    for rows in _gather(tables_of(scan, batches)):
        yield from sender.take(rows)
    yield from sender.finish()


class _Sender:
    """Splits the output of an operator's map side by shard, and numbers the messages of a task."""

    def __init__(self, route: InputRoute, task: int) -> None:
        self.route = route
        self.labels = [shard_label(shard) for shard in range(route.shards)]
        self.task = task
        self.seq = 0
        self.progress: int | None = None
        self.pending: list[list[pa.Table]] = [[] for _ in range(route.shards)]
        self.pending_bytes = 0

    def take(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        observed = self.route.punctuator.observe(rows)
        if observed.rows.num_rows:
            yield from self._route(observed.rows)
        if observed.punctuations:
            yield as_batch([self._message(0, PUNCTUATIONS, n=observed.punctuations)])
        if observed.everywhere is not None:
            payload = encode(observed.everywhere, TRAVELLING)
            shards = range(len(self.labels))
            yield as_batch([self._message(s, EVERYWHERE, payload=payload) for s in shards])
        for shard, part in self._by_shard(observed.keyed):
            yield from self._payloads(shard, KEYED, part)

    def _route(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        routed = self.route.map_side.route(rows)
        self.progress = max(
            (p for p in (self.progress, routed.progress) if p is not None), default=None
        )
        for shard, partial in self._by_shard(routed.partial):
            self.pending[shard].append(partial)
            self.pending_bytes += partial.nbytes
        if routed.passed:
            yield as_batch([self._message(0, PASSED, n=routed.passed)])
        for reason, count in routed.refused.items():
            yield as_batch([self._message(0, f"refused:{reason}", n=count)])
        if routed.refused_rows is not None:
            yield from self._payloads(0, "refused_rows", routed.refused_rows)
        for shard, part in self._by_shard(routed.rows):
            yield from self._payloads(shard, "rows", part)
        if self.pending_bytes > PAYLOAD_BYTES * len(self.labels):
            yield from self._flush()

    def finish(self) -> Iterator[pa.RecordBatch]:
        if self.seq or self.progress is not None:
            yield from self._flush()
            yield as_batch([self._message(s, "progress") for s in range(len(self.labels))])

    def _by_shard(self, table: pa.Table | None) -> Iterable[tuple[int, pa.Table]]:
        return () if table is None else self.route.by_shard(table)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        for shard, tables in enumerate(self.pending):
            if tables:
                merged = tables[0] if len(tables) == 1 else self.route.map_side.merge(tables)
                yield from self._payloads(shard, "partial", merged)
                self.pending[shard] = []
        self.pending_bytes = 0

    def _payloads(self, shard: int, kind: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
        pieces = max(1, -(-table.nbytes // PAYLOAD_BYTES))
        size = -(-table.num_rows // pieces)
        for start in range(0, table.num_rows, size):
            piece = table.slice(start, size)
            payload = encode(piece, TRAVELLING)
            yield as_batch([self._message(shard, kind, n=piece.num_rows, payload=payload)])

    def _message(
        self, shard: int, kind: str, *, n: int = 0, payload: bytes | None = None
    ) -> Message:
        self.seq += 1
        place = (self.labels[shard], self.route.source, self.task, self.seq)
        return Message(*place, kind, self.progress, n, payload)


def tables_of(scan: ArrowScan | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Return the rows that travel: as they came, or as an Arrow scan reads them."""
    if scan is not None:
        return scan.tables(batches)
    return (pa.Table.from_batches([batch]) for batch in batches)


def _gather(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        if table.num_rows:
            held.append(table)
            rows += table.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.concat_tables(held)
            held, rows = [], 0
    if held:
        yield pa.concat_tables(held)


def _task() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def shard_label(shard: int) -> int:
    """Return the 32-bit integer whose Spark hash is ``shard``.

    >>> spark_hash(shard_label(5))
    5
    """
    value = _undo_finalize(shard & _MASK)
    value = (value - 0xE654_6B64) * pow(5, -1, 2**32) & _MASK
    value = _rotate(value, 32 - 13) ^ _SEED
    value = value * pow(0x1B87_3593, -1, 2**32) & _MASK
    value = _rotate(value, 32 - 15)
    value = value * pow(0xCC9E_2D51, -1, 2**32) & _MASK
    return value - 2**32 if value >= 2**31 else value


def spark_hash(value: int) -> int:
    """Return Spark's ``hash`` of a 32-bit integer."""
    mixed = (value & _MASK) * 0xCC9E_2D51 & _MASK
    mixed = _rotate(mixed, 15) * 0x1B87_3593 & _MASK
    state = _rotate(_SEED ^ mixed, 13)
    state = (state * 5 + 0xE654_6B64) & _MASK
    state ^= 4  # the length of the value in bytes
    state ^= state >> 16
    state = state * 0x85EB_CA6B & _MASK
    state ^= state >> 13
    state = state * 0xC2B2_AE35 & _MASK
    state ^= state >> 16
    return state - 2**32 if state >= 2**31 else state


def _undo_finalize(state: int) -> int:
    state ^= state >> 16
    state = state * pow(0xC2B2_AE35, -1, 2**32) & _MASK
    state ^= (state >> 13) ^ (state >> 26)
    state = state * pow(0x85EB_CA6B, -1, 2**32) & _MASK
    state ^= state >> 16
    return state ^ 4


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK


@dataclass(frozen=True)
class StoredInput:
    """The messages of an input to each shard."""

    source: int
    messages: Mapping[int, Sequence[Message]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: int, routed: DataFrame, shards: int) -> StoredInput:
        """Collect the messages that the map side makes from a batch."""
        held: dict[int, list[Message]] = {
            label: [Message(label, control_of(source), 0, 0, "end")]
            for label in (shard_label(shard) for shard in range(shards))
        }
        for row in routed.collect():
            fields = row.asDict()
            payload = None if fields["payload"] is None else bytes(fields["payload"])
            held[fields["shard"]].append(Message(**{**fields, "payload": payload}))
        return cls(source, held)

    def due(self, shard: int, progress: Progress) -> Iterator[Message]:
        """Yield the messages to a shard, unless it has taken them already."""
        if not progress.ended:
            yield from self.messages[shard]


def digest(df: DataFrame) -> str:
    """Return a text that identifies the rows in any order: a checkpoint belongs to these rows."""
    hashed = F.xxhash64(*(named(name) for name in df.columns)).cast("decimal(38,0)")
    count, total = df.select(F.count(F.lit(1)), F.sum(hashed)).collect()[0]
    return f"{count} rows, {total}"
