"""What is in a checkpoint: shards, tables, bytes, and how far each input has come.

State is read by Spark's own reader of checkpoints; nothing is changed, and the query may be
running.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import ArgumentError, CheckpointError, MuntinError
from muntin.kernels.frames.records import is_open
from muntin.operators.common.columns import ints
from muntin.operators.frames.key_memory import KEYS
from muntin.spark.columns import problem
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.shard_state import Head
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Window

_WINDOW = re.compile(r"RANGE (?P<range>.+) SLIDE (?P<slide>.+) WATTR (?P<on>\S+) \(")
_DOMAIN = re.compile(r"\((\w+)[^()]*\)$")


@dataclass(frozen=True)
class StateTable:
    """A table of a shard's state."""

    shard: int
    name: str
    chunks: int
    bytes: int


@dataclass(frozen=True)
class OperatorState:
    """The state of one operator of a query."""

    query: str
    operator: int
    batch: int
    heads: Mapping[int, Head]
    tables: tuple[StateTable, ...]
    oldest: object | None

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What the query is, in words; the same in every shard."""
        return next((head.fingerprint for head in self.heads.values()), {})

    @property
    def bytes(self) -> int:
        return sum(table.bytes for table in self.tables)

    @property
    def open(self) -> int:
        """Frames, or panes and cells of windows, that are open."""
        return sum(sum(head.held.values()) for head in self.heads.values())

    @property
    def complete(self) -> object | None:
        """Up to where the first input of every shard is complete."""
        return _least(self.fingerprint, [_reached(head) for head in self.heads.values()])

    def as_dict(self) -> dict[str, object]:
        """As plain values, for machines."""
        return {
            "query": self.query,
            "operator": self.operator,
            "batch": self.batch,
            "fingerprint": dict(self.fingerprint),
            "shards": len(self.heads),
            "tables": [vars(table) for table in self.tables],
            "bytes": self.bytes,
            "open": self.open,
            "complete": None if self.complete is None else str(self.complete),
            "oldest_open": None if self.oldest is None else str(self.oldest),
        }


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder: itself, or those of queries that ``muntin run`` ran there."""
    if (folder / "offsets").is_dir():
        return [folder]
    found = sorted(path.parent for path in (folder / "checkpoints").glob("*/offsets"))
    if not found:
        expected = "it is no checkpoint, nor a folder that was given to muntin run --checkpoint"
        raise ArgumentError("checkpoint", str(folder), expected)
    return found


def contents(spark: SparkSession, checkpoint: Path) -> Iterator[OperatorState]:
    """What each stateful operator of a query has kept."""
    try:
        listed = spark.read.format("state-metadata").load(str(checkpoint)).collect()
    except PySparkException as error:
        raise CheckpointError(f"{checkpoint} cannot be read: {problem(error)}") from error
    for number in sorted({row["operatorId"] for row in listed}):
        mine = [row for row in listed if row["operatorId"] == number]
        if "transformWithState" in mine[0]["operatorName"]:
            yield _operator(spark, checkpoint, number, max(row["maxBatchId"] for row in mine))


def _operator(spark: SparkSession, checkpoint: Path, operator: int, batch: int) -> OperatorState:
    def variable(name: str) -> DataFrame:
        reader = spark.read.format("statestore").option("operatorId", operator)
        return reader.option("stateVarName", name).load(str(checkpoint))

    heads = {
        row["shard"]: Head.from_json(row["value"])
        for row in variable("head").select("key.shard", "value.value").collect()
    }
    chunks = variable("chunks").select(
        "key.shard", "user_map_key.name", "user_map_key.bucket", "user_map_value.payload"
    )
    sizes = chunks.groupBy("shard", "name").agg(
        F.count_distinct("bucket").alias("chunks"), F.sum(F.length("payload")).alias("bytes")
    )
    tables = tuple(StateTable(**row.asDict()) for row in sizes.orderBy("shard", "name").collect())
    oldest = _oldest(heads, chunks)
    return OperatorState(checkpoint.name, operator, batch, heads, tables, oldest)


def _oldest(heads: Mapping[int, Head], chunks: DataFrame) -> object | None:
    """Where the oldest window or frame that is open begins."""
    told = next((head.fingerprint for head in heads.values()), {})
    window = _WINDOW.match(told.get("window", ""))
    if window is not None:
        reached = [tick for tick in map(_reached, heads.values()) if tick is not None]
        return _oldest_window(told, window, min(reached)) if reached else None
    firsts = []
    for row in chunks.where(F.col("name") == KEYS).select("payload").collect():
        table = decode(row["payload"])
        if "mode" in table.column_names:
            records = {"mode": ints(table["mode"])}
            firsts += ints(table["first"])[is_open(records)].tolist()
    return _least(told, firsts)


def _oldest_window(told: Mapping[str, str], window: re.Match[str], reached: int) -> object:
    """The start of the first window that ends behind the punctuation."""
    axis = _axis(told)
    edges = Window(window["range"], window["slide"], window["on"]).edges(axis)
    ends = (reached - edges.origin) // edges.slide * edges.slide + edges.slide + edges.origin
    return axis.value(ends - edges.range)


def _axis(told: Mapping[str, str]) -> Axis:
    domain = _DOMAIN.search(told.get("window", ""))
    if domain is None:
        raise MuntinError("this checkpoint does not say what its windows are over")
    digits = int(told.get("resolution", "0 decimals").split()[0])
    return Axis(Domain(domain[1]), digits)


def _least(told: Mapping[str, str], ticks: list[int | None]) -> object | None:
    known = [tick for tick in ticks if tick is not None]
    if not known or _DOMAIN.search(told.get("window", "")) is None:
        return None
    return _axis(told).value(min(known))


def _reached(head: Head) -> int | None:
    return head.progress_of(0).reached
