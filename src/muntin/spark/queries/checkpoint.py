"""What is in a checkpoint: shards, tables, bytes, and how far each input has come.

Spark's own reader of checkpoints reads the state. Nothing is changed, and the query may be
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
from muntin.operators.frames.key_memory import KEYS
from muntin.operators.protocol import ints
from muntin.spark.columns import problem
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.shard_state import Head
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Window

_WINDOW = re.compile(r"RANGE (?P<range>.+) SLIDE (?P<slide>.+) WATTR (?P<on>\S+) \(")
_DOMAIN = re.compile(r"\((\w+)[^()]*\)$")
#: Where days begin, if the windows depend on it.
_ZONE = re.compile(r", days in ([^()]+)\)$")


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
        """The description of the query, the same in every shard."""
        return next((head.fingerprint for head in self.heads.values()), {})

    @property
    def bytes(self) -> int:
        return sum(table.bytes for table in self.tables)

    @property
    def open(self) -> int:
        """How many frames, or panes and cells of windows, are open."""
        return sum(sum(head.held.values()) for head in self.heads.values())

    @property
    def complete(self) -> object | None:
        """The value of ``on`` up to which the first input of every shard is complete."""
        return _least(self.fingerprint, [_reached(head) for head in self.heads.values()])

    def as_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
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
    """Return the checkpoints in a folder: itself, or those that ``muntin run`` keeps there."""
    if (folder / "offsets").is_dir():
        return [folder]
    folders = sorted(path.parent for path in (folder / "checkpoints").glob("*/offsets"))
    if not folders:
        expected = "it is no checkpoint, nor a folder that was given to muntin run --checkpoint"
        raise ArgumentError("checkpoint", str(folder), expected)
    return folders


def contents(spark: SparkSession, checkpoint: Path) -> Iterator[OperatorState]:
    """Yield the state of each stateful operator of a query."""
    try:
        listed = spark.read.format("state-metadata").load(str(checkpoint)).collect()
    except PySparkException as error:
        raise CheckpointError(f"{checkpoint} cannot be read: {problem(error)}") from error
    for number in sorted({row["operatorId"] for row in listed}):
        rows = [row for row in listed if row["operatorId"] == number]
        if "transformWithState" in rows[0]["operatorName"]:
            yield _operator(spark, checkpoint, number, max(row["maxBatchId"] for row in rows))


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
    """Return where the oldest open window or frame begins; None if none is open."""
    fingerprint = next((head.fingerprint for head in heads.values()), {})
    window = _WINDOW.match(fingerprint.get("window", ""))
    if window is not None:
        reached = [tick for tick in map(_reached, heads.values()) if tick is not None]
        return _oldest_window(fingerprint, window, min(reached)) if reached else None
    firsts = []
    for row in chunks.where(F.col("name") == KEYS).select("payload").collect():
        table = decode(row["payload"])
        if "mode" in table.column_names:
            records = {"mode": ints(table["mode"])}
            firsts += ints(table["first"])[is_open(records)].tolist()
    return _least(fingerprint, firsts)


def _oldest_window(fingerprint: Mapping[str, str], window: re.Match[str], reached: int) -> object:
    """Return the start of the first window that ends after the punctuation."""
    axis = _axis(fingerprint)
    edges = Window(window["range"], window["slide"], window["on"]).edges(axis)
    return axis.value(edges.start(edges.last_closed(reached) + 1))


def _axis(fingerprint: Mapping[str, str]) -> Axis:
    domain = _DOMAIN.search(fingerprint.get("window", ""))
    if domain is None:
        raise MuntinError("this checkpoint does not say what its windows are over")
    digits = int(fingerprint.get("resolution", "0 decimals").split()[0])
    zone = _ZONE.search(fingerprint["window"])
    return Axis(Domain(domain[1]), digits, zone[1] if zone else "UTC")


def _least(fingerprint: Mapping[str, str], ticks: list[int | None]) -> object | None:
    known = [tick for tick in ticks if tick is not None]
    if not known or _DOMAIN.search(fingerprint.get("window", "")) is None:
        return None
    return _axis(fingerprint).value(min(known))


def _reached(head: Head) -> int | None:
    return head.progress_of(0).reached
