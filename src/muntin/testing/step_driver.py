"""The stream driver without Spark: its own code, on micro-batches and state in memory.

Everything that Spark's workers run is run here: the map side of each task, the messages, and the
step of each shard with its state. Spark's part is played by this file: it brings messages to their
shards in any order, and commits the state of all shards together or not at all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import pyarrow as pa

from muntin.spark.exchange import stream_driver
from muntin.spark.exchange.counts import COLUMN, counts_of
from muntin.spark.exchange.messages import (
    KEYED,
    TRAVELLING,
    Message,
    control_of,
    decode,
    encode,
    message_of,
)
from muntin.spark.exchange.routing import InputRoute, sent
from muntin.spark.exchange.shards import shard_labels
from muntin.spark.exchange.stream_driver import REFUSED, RESULTS, ShardTask

Row = tuple[Any, ...]


class SimulatedCrash(Exception):  # noqa: N818  (it is raised on purpose)
    """The process died at a call of the state store."""


@dataclass(frozen=True)
class ArrivingRows:
    """What a micro-batch brings of one input: the rows of each task, and control rows.

    ``control`` has the kind and the tick of control rows (``clock``, ``punctuation``, ``end``), and
    ``keys`` tables of punctuation for single keys.
    """

    tasks: Sequence[pa.Table] = ()
    control: Sequence[tuple[str, int | None]] = ()
    keys: Sequence[pa.Table] = ()


@dataclass
class StepOutput:
    """What the shards report in a micro-batch; ``calls`` counts the calls of the state store."""

    results: list[pa.Table] = field(default_factory=list)
    refused_by_input: list[tuple[int, pa.Table]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    calls: int = 0

    @property
    def refused(self) -> list[pa.Table]:
        return [table for _, table in self.refused_by_input]

    @property
    def counts(self) -> dict[str, int | None]:
        return counts_of("\n".join(self.lines))


@dataclass
class _StoredShard:
    """The state of a shard in the forms of Spark's ValueState and MapState."""

    head: Row | None = None
    chunks: dict[Row, Row] = field(default_factory=dict)
    on_call: Callable[[], None] = lambda: None

    def copy(self, on_call: Callable[[], None]) -> _StoredShard:
        return _StoredShard(self.head, dict(self.chunks), on_call)

    def get(self) -> Row | None:
        self.on_call()
        return self.head

    def update(self, newValue: Row) -> None:  # noqa: N803  (Spark's name)
        self.on_call()
        self.head = newValue

    def getValue(self, key: Row) -> Row | None:  # noqa: N802
        self.on_call()
        return self.chunks.get(key)

    def updateValue(self, key: Row, value: Row) -> None:  # noqa: N802
        self.on_call()
        self.chunks[key] = value

    def removeKey(self, key: Row) -> None:  # noqa: N802
        self.on_call()
        self.chunks.pop(key, None)

    def iterator(self) -> Iterator[tuple[Row, Row]]:
        self.on_call()
        yield from list(self.chunks.items())


@dataclass
class StepDriver:
    """Runs the micro-batches of a plan, with the committed state of its shards."""

    task: ShardTask
    shards: dict[int, _StoredShard] = field(default_factory=dict)

    def run(self, inputs: Sequence[ArrivingRows], order: random.Random) -> StepOutput:
        """Run a micro-batch and commit it; ``order`` decides how messages come to the shards."""
        output, stored = self._run(inputs, order, None)
        self.shards |= stored
        return output

    def attempt(
        self, inputs: Sequence[ArrivingRows], order: random.Random, crash_at: int | None = None
    ) -> StepOutput:
        """Run a micro-batch and commit nothing; raise at a call of the state store if it is given.

        Raises:
            SimulatedCrash: The call ``crash_at`` was reached.
        """
        return self._run(inputs, order, crash_at)[0]

    def _run(
        self, inputs: Sequence[ArrivingRows], order: random.Random, crash_at: int | None
    ) -> tuple[StepOutput, dict[int, _StoredShard]]:
        output = StepOutput()

        def call() -> None:
            output.calls += 1
            if output.calls == crash_at:
                raise SimulatedCrash(f"at call {crash_at} of the state store")

        messages = [
            message
            for route, arriving in zip(self.task.routes, inputs, strict=True)
            for message in _messages(route, arriving)
        ]
        order.shuffle(messages)
        stored = {}
        for label in dict.fromkeys(message.shard for message in messages):
            shard = self.shards.get(label, _StoredShard()).copy(call)
            own = [message for message in messages if message.shard == label]
            frames = iter(_frames(own, order))
            for frame in stream_driver.run_shard(self.task, shard, shard, label, frames):
                _take(output, frame)
            stored[label] = shard
        return output, stored


def _messages(route: InputRoute, arriving: ArrivingRows) -> Iterator[Message]:
    """Yield the messages of an input to all shards."""
    for task, rows in enumerate(arriving.tasks):
        for batch in sent(route, task, iter([rows])):
            yield from map(message_of, batch.to_pylist())
    control, seq = control_of(route.source), 0
    labels = shard_labels(route.in_task().shards)
    for kind, tick in arriving.control:
        seq += 1
        yield from (Message(label, control, 0, seq, kind, tick) for label in labels)
    for table in arriving.keys:
        seq += 1
        plain = replace(route, everywhere=False).in_task()
        for shard, part in plain.by_shard(table):
            payload = encode(part, TRAVELLING)
            yield Message(labels[shard], control, 0, seq, KEYED, payload=payload)


def _frames(messages: Sequence[Message], order: random.Random) -> list[pd.DataFrame]:
    """Return messages as Spark hands them to a shard, in one frame or two."""
    cut = order.randint(0, len(messages))
    parts = [part for part in (messages[:cut], messages[cut:]) if part]
    return [pd.DataFrame([vars(message) for message in part], dtype=object) for part in parts]


def _take(output: StepOutput, frame: pd.DataFrame) -> None:
    for tag, payload, counts in zip(
        *(frame[name].tolist() for name in ("tag", "payload", COLUMN)), strict=True
    ):
        if tag == COLUMN:
            output.lines.append(counts)
        elif tag == RESULTS:
            output.results.append(decode(payload))
        elif tag.startswith(REFUSED):
            output.refused_by_input.append((int(tag.rpartition(":")[2]), decode(payload)))
