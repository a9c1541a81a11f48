"""An input that is there before a stream starts: it travels with the query, not through it.

The frames of a table are few beside the rows that will fill them. Each shard takes its own in its
first micro-batch, together with the news that there will be no more, and keeps them as it keeps all
that waits.
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
    """The messages of an input for each shard."""

    source: int
    messages: Mapping[int, Sequence[Message]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: int, routed: DataFrame, shards: int) -> StoredInput:
        """Collect what the map side makes of a batch."""
        held: dict[int, list[Message]] = {
            label: [Message(label, control_of(source), 0, 0, "end")]
            for label in (shard_label(shard) for shard in range(shards))
        }
        for row in routed.collect():
            told = row.asDict()
            payload = None if told["payload"] is None else bytes(told["payload"])
            held[told["shard"]].append(Message(**{**told, "payload": payload}))
        return cls(source, held)

    def due(self, shard: int, progress: Progress) -> Iterator[Message]:
        """What a shard has to hear, unless it has."""
        if not progress.ended:
            yield from self.messages[shard]


def digest(df: DataFrame) -> str:
    """What rows are there, whatever their order: a checkpoint is about these and no others."""
    hashed = F.xxhash64(*(named(name) for name in df.columns)).cast("decimal(38,0)")
    count, total = df.select(F.count(F.lit(1)), F.sum(hashed)).collect()[0]
    return f"{count} rows, {total}"
