"""A stored input: an input that is complete before the stream starts, and is sent with the query.

A table has few frames compared with the rows that will fill them. Each shard takes its frames in
its first micro-batch, together with the end of this input, and keeps them in its state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.operators.progress.progress import Progress
from muntin.spark.columns import named
from muntin.spark.exchange.messages import Message, control_of
from muntin.spark.exchange.routing import shard_label


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
