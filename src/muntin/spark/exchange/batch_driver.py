"""The batch driver: the same messages as in a stream, and one step per shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from muntin.operators.protocol import InputBatch, MemoryState, Operator, Punctuation
from muntin.spark.exchange.messages import Message, in_order, of_input, of_kind
from muntin.spark.exchange.routing import InputRoute, tables_of
from muntin.spark.exchange.shipping import shipped

if TYPE_CHECKING:
    from muntin.spark.scan.scan import ArrowScan

_OUTPUT_ROWS = 200_000


def run(
    messages: DataFrame,
    operator: Operator,
    schema: StructType,
    columns: Sequence[tuple[str, str]] | None = None,
) -> DataFrame:
    """Return the results of all shards.

    With ``columns``, these columns of the schema under other names, and nothing else. Workers
    rename them, because Spark copies every row to do so.
    """
    places = None
    if columns is not None:
        places = [(schema.names.index(own), name) for own, name in columns]
        renamed = [StructField(name, schema[place].dataType) for place, name in places]
        schema = StructType(renamed)
    # Without a number of partitions, adaptive execution makes few of them for little data.
    sharded = messages.repartition("shard")
    return sharded.mapInArrow(shipped(__name__, "run_shards", operator, places), schema)


def fallen(messages: DataFrame, operator: Operator, source: int, schema: StructType) -> DataFrame:
    """Return the rows of an input that break an order which the windows rely on."""
    sharded = messages.repartition("shard")
    return sharded.mapInArrow(shipped(__name__, "run_fallen", operator, source), schema)


def run_fallen(
    operator: Operator, source: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Worker side: yield the rows that the shards of a partition refuse because of other rows."""
    for messages in _by_shard(batches):
        refused = operator.step(MemoryState(), _arrived(operator, messages)).rows[source].fallen
        if refused is not None:
            yield from refused.to_batches()


def run_shards(
    operator: Operator,
    columns: Sequence[tuple[int, str]] | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Worker side: run the shards of a partition, one after the other."""
    for messages in _by_shard(batches):
        results = operator.step(MemoryState(), _arrived(operator, messages)).results
        if columns is not None:
            places, names = zip(*columns, strict=True)
            results = results.select(list(places)).rename_columns(list(names))
        yield from results.to_batches(max_chunksize=_OUTPUT_ROWS)


def _arrived(operator: Operator, messages: Sequence[Message]) -> list[InputBatch]:
    """Return the whole of every input of a shard, up to its end."""
    inputs = []
    for source in range(len(operator.map_sides)):
        own = of_input(messages, source)
        seen = [message.progress for message in own if message.progress is not None]
        end = Punctuation(None, None, max(seen, default=None), ended=True)
        inputs.append(InputBatch(of_kind(own, "partial"), end, UndecodedTables(own, "rows")))
    return inputs


class UndecodedTables(Sequence[pa.Table]):
    """The tables of one kind of messages, decoded on access, because few operators need them."""

    def __init__(self, messages: Sequence[Message], kind: str) -> None:
        self.messages = [message for message in messages if message.kind == kind]

    def __len__(self) -> int:
        return len(self.messages)

    @overload
    def __getitem__(self, place: int) -> pa.Table: ...
    @overload
    def __getitem__(self, place: slice) -> list[pa.Table]: ...
    def __getitem__(self, place: int | slice) -> pa.Table | list[pa.Table]:
        if isinstance(place, slice):
            return [message.table() for message in self.messages[place]]
        return self.messages[place].table()


def refusals(
    route: InputRoute, scan: ArrowScan | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Worker side: yield the rows that the map side of an operator refuses."""
    for table in tables_of(scan, batches):
        rows = route.punctuator.observe(table).rows
        refused = route.map_side.route(rows).refused_rows
        if refused is not None:
            yield from refused.to_batches()


def _by_shard(batches: Iterator[pa.RecordBatch]) -> Iterator[list[Message]]:
    """Yield the messages of each shard, gathered here because a sort in the JVM copies payloads."""
    held: dict[int, list[Message]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            message = Message(**row)
            held.setdefault(message.shard, []).append(message)
    for shard in sorted(held):
        yield in_order(held.pop(shard))
