"""Routing: Spark's Python workers turn the rows of a task into messages to the shards.

A stored input is complete before the stream starts: its messages are made at the start and sent
with the query. A table has few frames compared with the rows that will fill them. Each shard takes
its frames in its first micro-batch, together with the end of this input, and keeps them in its
state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.kernels.hashing import shard_of
from muntin.operators.progress.ahead import AHEAD, AheadOfClock, AheadOfEarlier, AheadRule
from muntin.operators.progress.progress import Progress, Punctuator
from muntin.operators.protocol import MapSide, Operator
from muntin.spark.columns import named
from muntin.spark.exchange.messages import (
    BYTES_AT_ONCE,
    EVERYWHERE,
    KEYED,
    MESSAGE,
    PASSED,
    PAYLOAD_BYTES,
    PUNCTUATIONS,
    ROWS_AT_ONCE,
    TRAVELLING,
    UNJUDGED,
    VALUES,
    Message,
    as_batch,
    control_of,
    encode,
    message_of,
)
from muntin.spark.exchange.shards import (
    shard_label,
    shard_labels,
    shards_here,
    spark_hash,
)
from muntin.spark.exchange.shipping import shipped
from muntin.spark.exchange.split_rows import split

if TYPE_CHECKING:  # workers that read no files do not import what reads them
    from muntin.spark.scan.choose import InputRows
    from muntin.spark.scan.row_sample import RowSample
    from muntin.spark.scan.scan import ArrowScan
#: Kinds of messages with rows that go to the shards of their keys, and those to every shard. The
#: others are counts and refused rows, which one shard gets.
_OF_KEYS = ("partial", "rows", KEYED)
_OF_ALL = ("progress", "end", EVERYWHERE)


@dataclass(frozen=True)
class ShardRoute:
    """How tables are sent to the shards: by which keys, or to every shard if ``everywhere``.

    ``source`` is the number of the input, and ``punctuator`` the rule of its disorder. ``shards``
    is the number of shards, or ``PER_PARTITION``.
    """

    source: int
    shard_keys: tuple[str, ...]
    punctuator: Punctuator
    shards: int
    everywhere: bool = False

    def in_task(self) -> Self:
        """Return the route with the number of shards, which a task of the query knows."""
        return replace(self, shards=shards_here(self.shards))

    def by_shard(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Split a table by the shards of its keys."""
        yield from split_by_shard(table, self.shard_keys, self.shards, self.everywhere)


def split_by_shard(
    table: pa.Table, shard_keys: Sequence[str], shards: int, everywhere: bool = False
) -> Iterator[tuple[int, pa.Table]]:
    """Split a table by the shards of its keys; ``everywhere`` gives all of it to every shard."""
    if table.num_rows == 0:
        return
    if shards == 1 or everywhere:
        yield from ((shard, table) for shard in range(shards))
        return
    yield from split(table, shard_keys, shards)


@dataclass(frozen=True)
class InputRoute(ShardRoute):
    """How one input of a plan is sent to the shards, and the map side that prepares its rows.

    ``ahead`` is the rule for rows that lie too far ahead, if there is one.
    """

    map_side: MapSide = field(kw_only=True)
    ahead: AheadRule | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls,
        operator: Operator,
        source: int,
        punctuator: Punctuator,
        shards: int,
        everywhere: bool = False,
        ahead: AheadRule | None = None,
    ) -> InputRoute:
        """Return the route of an input of an operator."""
        return cls(
            source,
            tuple(operator.shard_keys[source]),
            punctuator,
            shards,
            everywhere,
            map_side=operator.map_sides[source],
            ahead=ahead,
        )


def routed(rows: InputRows, route: InputRoute) -> DataFrame:
    """Return the messages of the rows of an input."""
    return rows.df.mapInArrow(shipped(__name__, "route", route, rows.scan), MESSAGE)


def route(
    input_route: InputRoute, scan: ArrowScan | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Map side: turn the rows of a task into messages to the shards."""
    return sent(input_route, task_here(), tables_of(scan, batches))


def sent(
    input_route: InputRoute, task: int, tables: Iterator[pa.Table]
) -> Iterator[pa.RecordBatch]:
    """Yield the messages that a task makes of tables of rows."""
    sender = _Sender(input_route, task)
    for rows in gathered(tables):
        yield from sender.take(rows)
    yield from sender.finish()


class _Sender:
    """Splits the output of an operator's map side by shard, and numbers the messages of a task."""

    def __init__(self, route: InputRoute, task: int) -> None:
        self.route = route.in_task()
        self.labels = shard_labels(self.route.shards)
        self.task = task
        self.seq = 0
        self.progress: int | None = None
        self.pending: list[list[pa.Table]] = [[] for _ in self.labels]
        self.pending_bytes = 0

    def take(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        match self.route.ahead:
            case None:
                yield from self._observed(rows)
            case AheadOfClock() as rule:
                judged = rule.judge(rows)
                yield from self.refused(judged.ahead, judged.refused_rows)
                yield from self._observed(judged.rows)
            case AheadOfEarlier() as rule:
                yield from self._to_every_shard(VALUES, rule.values(rows))
                for shard, part in self._by_shard(rows):
                    yield from self._payloads(shard, UNJUDGED, part)

    def refused(self, ahead: int, rows: pa.Table | None) -> Iterator[pa.RecordBatch]:
        """Yield the count of the rows that are ahead, and these rows if they are wanted."""
        if ahead:
            yield as_batch([self._message(0, f"refused:{AHEAD}", n=ahead)])
        if rows is not None:
            yield from self._payloads(0, "refused_rows", rows)

    def _observed(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        observed = self.route.punctuator.observe(rows)
        if observed.rows.num_rows:
            yield from self._route(observed.rows)
        if observed.punctuations:
            yield as_batch([self._message(0, PUNCTUATIONS, n=observed.punctuations)])
        if observed.everywhere is not None:
            yield from self._to_every_shard(EVERYWHERE, observed.everywhere)
        for shard, part in self._by_shard(observed.keyed):
            yield from self._payloads(shard, KEYED, part)

    def _to_every_shard(self, kind: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
        payload = encode(table, TRAVELLING)
        shards = range(len(self.labels))
        yield as_batch([self._message(shard, kind, payload=payload) for shard in shards])

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


def judged(
    route: InputRoute, label: int, earlier: int | None, messages: Sequence[Message]
) -> list[Message]:
    """Return the messages of an input after its shard has judged which rows are ahead.

    The accepted rows go through the map side here. ``earlier`` is the largest tick of earlier
    micro-batches. Messages of other inputs are returned as they are.
    """
    rule = route.ahead
    if not isinstance(rule, AheadOfEarlier):
        return list(messages)
    mine = [m for m in messages if m.input == route.source and m.kind in (VALUES, UNJUDGED)]
    if not mine:
        return list(messages)
    sender = _Sender(replace(route, ahead=None, shards=1), mine[0].task)
    batches = []
    for rows in gathered(message.table() for message in mine if message.kind == UNJUDGED):
        split_rows = rule.judge(rows, earlier)
        batches += [*sender.refused(split_rows.ahead, split_rows.refused_rows)]
        batches += [*sender.take(split_rows.rows)]
    made = [message_of(row) for batch in [*batches, *sender.finish()] for row in batch.to_pylist()]
    if route.everywhere and label != shard_label(0):  # one shard counts rows that all of them have
        made = [message for message in made if message.kind in (*_OF_KEYS, *_OF_ALL)]
    largest = rule.largest([m.table() for m in mine if m.kind == VALUES], earlier)
    progress = replace(mine[0], kind="progress", progress=largest, n=0, payload=None)
    return [*(message for message in messages if message not in mine), progress, *made]


def tables_of(
    scan: ArrowScan | None, batches: Iterator[pa.RecordBatch], sample: RowSample | None = None
) -> Iterator[pa.Table]:
    """Return the rows that travel: as they came, or as an Arrow scan reads them or a sample."""
    if scan is not None:
        return scan.tables(batches, sample)
    return (pa.Table.from_batches([batch]) for batch in batches)


def gathered(
    tables: Iterator[pa.Table], most_rows: int = ROWS_AT_ONCE, most_bytes: int = BYTES_AT_ONCE
) -> Iterator[pa.Table]:
    """Yield tables of about as many rows as the map side combines at once, or fewer long ones."""
    held: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        for piece in _cut(table, most_bytes):
            if held and size + piece.nbytes > most_bytes:
                yield pa.concat_tables(held)
                held, rows, size = [], 0, 0
            held.append(piece)
            rows += piece.num_rows
            size += piece.nbytes
        if rows >= most_rows:
            yield pa.concat_tables(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_tables(held)


def _cut(table: pa.Table, most_bytes: int) -> Iterator[pa.Table]:
    """Yield a table in halves of halves until each is small enough, or a single row."""
    if table.num_rows <= 1 or table.nbytes <= most_bytes:
        if table.num_rows:
            yield table
        return
    half = table.num_rows // 2
    yield from _cut(table.slice(0, half), most_bytes)
    yield from _cut(table.slice(half), most_bytes)


def task_here() -> int:
    """Return the number of this task."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


@dataclass(frozen=True)
class StoredInput:
    """The messages of an input, as if there were one shard; each shard takes its rows of them."""

    route: InputRoute
    messages: Sequence[Message] = ()

    @classmethod
    def of(cls, rows: InputRows, route: InputRoute) -> StoredInput:
        """Collect the messages that the map side makes from a batch."""
        end = Message(shard_label(0), control_of(route.source), 0, 0, "end")
        sent = routed(rows, replace(route, shards=1)).collect()
        return cls(route, [end, *(message_of(row.asDict()) for row in sent)])

    def due(self, label: int, shards: int, progress: Progress) -> Iterator[Message]:
        """Yield the messages to a shard, unless it has taken them already."""
        if not progress.ended:
            for message in self.messages:
                yield from self._own(message, label, shards)

    def _own(self, message: Message, label: int, shards: int) -> Iterator[Message]:
        """Yield what a shard gets of a message to a single shard."""
        if message.kind in _OF_KEYS and shards > 1 and not self.route.everywhere:
            table = message.table()
            keys = [table[name].combine_chunks() for name in self.route.shard_keys]
            own = shard_of(keys, table.num_rows, shards) == spark_hash(label)
            if own.any():
                part = table.filter(pa.array(own))
                payload = encode(part, TRAVELLING)
                yield replace(message, shard=label, n=part.num_rows, payload=payload)
        elif message.kind in (*_OF_KEYS, *_OF_ALL) or label == shard_label(0):
            yield replace(message, shard=label)


def digest(df: DataFrame) -> str:
    """Return a text that identifies the rows in any order: a checkpoint belongs to these rows."""
    hashed = F.xxhash64(*(named(name) for name in df.columns)).cast("decimal(38,0)")
    count, total = df.select(F.count(F.lit(1)), F.sum(hashed)).collect()[0]
    return f"{count} rows, {total}"
