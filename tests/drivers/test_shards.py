"""How many shards a stream has, and what each gets of a stored input; nothing here starts Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.kernels.hashing import shard_of
from muntin.operators.progress.progress import Progress
from muntin.spark.exchange import shards
from muntin.spark.exchange.messages import Message, decode, encode
from muntin.spark.exchange.routing import ShardRoute, StoredInput
from muntin.spark.exchange.shards import (
    MOST_SHARDS,
    PER_PARTITION,
    SHARDS_SETTING,
    shard_labels,
    shards_here,
)
from muntin.spark.exchange.split_rows import split

OF_SESSION = "spark.sql.shuffle.partitions"
OF_CHECKPOINT = "spark.sql.streaming.internal.stateStore.partitions"


class Task:
    """Spark's TaskContext, as far as it is used here."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def get(self) -> Task:
        return self

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        return self.properties.get(name)


@pytest.mark.parametrize(
    ("properties", "given", "count"),
    [
        ({OF_SESSION: "2"}, PER_PARTITION, 2),
        ({OF_SESSION: "5", OF_CHECKPOINT: "3"}, PER_PARTITION, 3),
        ({OF_SESSION: "200"}, PER_PARTITION, MOST_SHARDS),
        ({}, PER_PARTITION, MOST_SHARDS),  # nobody has set the partitions, so there are 200
        ({OF_SESSION: "2"}, 16, 16),
        ({OF_CHECKPOINT: "2", SHARDS_SETTING: "16"}, PER_PARTITION, 16),
    ],
)
def test_a_stream_has_a_shard_for_each_partition(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], given: int, count: int
) -> None:
    monkeypatch.setattr(shards, "TaskContext", Task(properties))
    assert shards_here(given) == count


@pytest.mark.parametrize("everywhere", [False, True])
def test_each_shard_takes_its_rows_of_a_stored_input(everywhere: bool) -> None:
    unused: Any = None
    route = ShardRoute(0, ("k0",), unused, PER_PARTITION, everywhere)
    table = pa.table({"k0": pa.array([*"abcdefgh"])})
    sent = [
        Message(0, -1, 0, 0, "end"),
        Message(0, 0, 0, 1, "refused:late", n=2),
        Message(0, 0, 0, 2, "partial", 9, table.num_rows, encode(table)),
        Message(0, 0, 0, 3, "progress", 9),
    ]
    labels = shard_labels(3)
    got = {label: list(StoredInput(route, sent).due(label, 3, Progress())) for label in labels}
    for label, messages in got.items():
        assert {message.shard for message in messages} == {label}
        assert [m.kind for m in messages if m.kind in ("end", "progress")] == ["end", "progress"]
        assert not list(StoredInput(route, sent).due(label, 3, Progress(ended=True)))
    keys = [
        decode(message.payload)["k0"].to_pylist()
        for messages in got.values()
        for message in messages
        if message.payload is not None
    ]
    assert sorted(key for some in keys for key in some) == sorted(
        "abcdefgh" * (3 if everywhere else 1)
    )
    assert len(keys) == 3
    refused = [m.n for messages in got.values() for m in messages if m.kind == "refused:late"]
    assert refused == [2]


@pytest.mark.parametrize("run", [1, 3, 200])
@pytest.mark.parametrize(
    "keys",
    [
        [pa.array([3, None, 1, 2, 5, 4], pa.int32())],
        [pa.array(["a", "", None, "b", "c", "d"])],
        [pa.array([0.0, -0.0, float("nan"), None, 1.0, 2.0])],
        [pa.array([1, 1, 2, 2, None, 3]), pa.array(["a", "b", "a", "b", "b", "a"])],
    ],
)
def test_runs_of_a_key_go_where_its_rows_go_one_by_one(keys: list[pa.Array], run: int) -> None:
    """Keys come again in later runs, and rows of a shard stay in their order."""
    rows = np.tile(np.repeat(np.arange(6), run), 2)
    table = pa.table({f"k{at}": key.take(pa.array(rows)) for at, key in enumerate(keys)})
    names = table.column_names
    table = table.append_column("row", pa.array(np.arange(len(rows))))
    shard = shard_of([table[name].combine_chunks() for name in names], len(rows), 3)
    parts = dict(split(table, names, 3))
    assert list(parts) == sorted(set(shard.tolist()))
    for number, part in parts.items():
        assert part["row"].to_pylist() == np.flatnonzero(shard == number).tolist()
