"""The engine without Spark: its own registry, commits, history and workers' code, run in memory.

Everything is the engine's but what Spark does: a micro-batch begins when a test says so, and state
and messages stay in this process.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import muntin as mt
from muntin.engine.engine_stream import EngineStream
from muntin.engine.plan_query import PlannedQuery
from muntin.operators.shared.prepared_column import PreparedColumn
from muntin.spark.exchange.control_rows import announce
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.network_driver import (
    ANSWERS,
    KEPT,
    NetworkTask,
    PinnedNetwork,
    route,
    run_shard,
)
from muntin.spark.exchange.pinned_versions import VersionFiles
from muntin.spark.exchange.shards import shard_labels
from muntin.spark.queries.many_queries import Commit, NetworkStream

NAME = "s"


@dataclass(frozen=True)
class OneBatchTask(NetworkTask):
    """The tasks of one micro-batch; Spark would tell them its number."""

    micro_batch: int = 0

    def network_here(self) -> PinnedNetwork:
        return self.network_of(self.micro_batch)


@dataclass
class Head:
    """Spark's ValueState."""

    value: tuple[Any, ...] | None = None

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, newValue: tuple[Any, ...]) -> None:  # noqa: N803
        self.value = newValue


@dataclass
class Chunks:
    """Spark's MapState."""

    values: dict[tuple[Any, ...], tuple[Any, ...]] = field(default_factory=dict)

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:  # noqa: N802
        return self.values.get(key)

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        self.values[key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        self.values.pop(key, None)

    def iterator(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        return iter(list(self.values.items()))


@dataclass
class Checkpoint:
    """What Spark keeps of a stream: the state of its shards, and the number of what comes next."""

    shards: int
    heads: list[Head] = field(default_factory=list)
    chunks: list[Chunks] = field(default_factory=list)
    next: int = 0

    def __post_init__(self) -> None:
        self.heads = [Head() for _ in range(self.shards)]
        self.chunks = [Chunks() for _ in range(self.shards)]

    @property
    def tables(self) -> set[str]:
        """The names of the tables of the state."""
        return {str(key[0]) for chunks in self.chunks for key in chunks.values}


@dataclass
class MemoryQuery:
    """The streaming query of a stream, which runs a micro-batch when it is told to."""

    task: OneBatchTask
    network: NetworkStream
    commit: Commit
    checkpoint: Checkpoint
    isActive: bool = True  # noqa: N815
    lastProgress: None = None  # noqa: N815  (Spark has no report of a micro-batch here)

    def exception(self) -> None:
        return None

    def processAllAvailable(self) -> None:  # noqa: N802
        self.run([])

    def stop(self) -> None:
        self.isActive = False

    def run(self, tasks: Sequence[pa.Table], *, end: bool = False, repeats: int = 0) -> None:
        """Run a micro-batch; some times more, as after a crash before Spark notes the commit."""
        number = self.checkpoint.next
        for _ in range(repeats):
            self._run(tasks, end, number, copy.deepcopy(self.checkpoint))
        self._run(tasks, end, number, self.checkpoint)
        self.checkpoint.next = number + 1

    def run_empty_file(self) -> None:
        """Run a micro-batch without any row, of the stream or of control: no task has a message."""
        self.commit([], [], self.checkpoint.next)
        self.checkpoint.next += 1

    def _run(self, tasks: Sequence[pa.Table], end: bool, number: int, saved: Checkpoint) -> None:
        own = self.task
        task = OneBatchTask(
            *(own.rule, own.versions, own.shard_keys, own.shards, own.fingerprint, own.keep, number)
        )
        messages = [
            batch.set_column(2, batch.schema.field(2), pa.array([place] * len(batch), pa.int32()))
            for place, rows in enumerate(tasks)
            for batch in route(task, None, 0, iter(rows.to_batches()))
        ]
        control = pa.record_batch({"kind": ["end" if end else "none"], "value": [None]})
        messages += announce(self.network.axis, task.routes, iter([control]))
        arrived = pa.Table.from_batches(messages).to_pandas()
        outputs = [
            row
            for head, chunks, label in zip(
                saved.heads, saved.chunks, shard_labels(saved.shards), strict=True
            )
            for frame in run_shard(
                task, head, chunks, label, iter([arrived[arrived["shard"] == label]])
            )
            for row in frame.to_dict("records")
        ]
        reports = [decode(bytes(row["payload"])) for row in outputs if row["tag"] == ANSWERS]
        kept = sorted((row["counts"], row["payload"]) for row in outputs if row["tag"] == KEPT)
        self.commit(reports, [decode(bytes(payload)) for _, payload in kept], number)


@dataclass(frozen=True, eq=False)
class MemoryNetwork(NetworkStream):
    """A stream that runs in memory."""

    saved: list[Checkpoint] = field(default_factory=list)

    def check(self) -> None:
        return None

    def start(
        self,
        versions: VersionFiles,
        commands: str,
        checkpoint: Path,
        commit: Commit,
        name: str,
        trigger: Mapping[str, Any] | None = None,
        prepared: Iterable[PreparedColumn] = (),
        empty: Container[PreparedColumn] = (),
    ) -> Any:
        (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
        (saved,) = self.saved
        shard_keys = tuple(own.shard_keys for own in self.inputs)
        identity = Fingerprint(self.identity)
        task = OneBatchTask(self.rule, versions, shard_keys, saved.shards, identity, self.keep)
        return MemoryQuery(task, self, commit, saved)


def memory_engine(
    spark: Any,
    home: Path,
    network: MemoryNetwork,
    keep: int | None = None,
    plans: dict[str, PlannedQuery] | None = None,
) -> tuple[mt.Engine, EngineStream]:
    """Return an engine with one stream, ``s``, which is not started.

    ``plans`` has the queries that were planned before.
    """
    engine = mt.Engine(spark, home)
    if NAME not in engine.registry.streams():
        engine.registry.log(NAME, "create_stream", None, {})
    folder = engine._home.stream(NAME)
    own = EngineStream(NAME, network, folder, engine.registry, keep)
    if plans is not None:
        own._planned = plans
    engine._streams[NAME] = own
    return engine, own
