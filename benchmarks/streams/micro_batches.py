"""Streams for benchmarks: rows as files that arrive in micro-batches, and what a query reports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import muntin as mt
from muntin.spark.exchange.counts import observed
from muntin.spark.scan.file_source import FileSource

SCHEMA = "ts TIMESTAMP, k INT, v DOUBLE"
#: Files to a micro-batch, so that the cores of a small machine have one each.
FILES = 2
SECOND = 1_000_000
#: Rows come at most this late after rows with greater times, in microseconds.
DELAY = 900_000


@dataclass(frozen=True)
class Load:
    """How many rows come with each micro-batch: every key has as many in every second.

    The rows begin at the second ``start``, after those of another load in the same folder.
    """

    keys: int
    rows_per_pane: int
    seconds: int
    batches: int
    start: int = 0

    @property
    def rows_per_batch(self) -> int:
        return self.keys * self.rows_per_pane * self.seconds

    @property
    def rows(self) -> int:
        return self.batches * self.rows_per_batch

    def write(self, folder: Path) -> None:
        """The micro-batches as Parquet files in the order of their arrival."""
        folder.mkdir(parents=True, exist_ok=True)
        first = len(list(folder.iterdir()))
        for batch in range(self.batches):
            rows = self.table(batch)
            size = -(-rows.num_rows // FILES)
            for part in range(FILES):
                number = first + batch * FILES + part
                path = folder / f"{number:04d}.parquet"
                pq.write_table(rows.slice(part * size, size), path)
                # Spark takes files in the order of their times, equal for quick writes.
                os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))

    def table(self, batch: int) -> pa.Table:
        """Slightly out of order; no row is later than the slack that the queries allow."""
        random = np.random.default_rng(batch)
        every = np.tile(np.arange(self.keys, dtype=np.int32), (self.seconds, self.rows_per_pane))
        key = random.permuted(every, axis=1).ravel()
        ts = np.arange(len(key), dtype=np.int64) * self.seconds * SECOND // len(key)
        arrival = np.argsort(ts + random.integers(0, DELAY, len(key)), kind="stable")
        ts += (self.start + batch * self.seconds) * SECOND
        return pa.table(
            {
                "ts": pa.array(ts[arrival], pa.timestamp("us", tz="UTC")),
                "k": pa.array(key[arrival]),
                "v": pa.array(random.uniform(0, 100, len(key))),
            }
        )


def arriving(spark: SparkSession, folder: Path) -> DataFrame:
    """The files of a folder as a stream, a micro-batch at a time."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    return reader.parquet(str(folder))


def arriving_files(spark: SparkSession, folder: Path) -> FileSource:
    """The same files, as Muntin's source: workers read them."""
    return mt.parquet(spark, str(folder), streaming=True, schema=SCHEMA, max_files=FILES)


@dataclass(frozen=True)
class MicroBatch:
    """What a query's progress says of one micro-batch."""

    rows: int
    seconds: float
    dropped: int
    state_rows: int
    state_memory: int
    counts: Mapping[str, int]


def micro_batches(query: StreamingQuery) -> Iterator[MicroBatch]:
    """Those that did something, in order; ``counts`` are Muntin's, empty for Spark's queries."""
    for report in query.recentProgress:
        if "addBatch" not in report.durationMs:
            continue
        counts = [
            {name: value or 0 for name, value in observed(row).items()}
            for name, row in report.observedMetrics.items()
            if name.startswith("muntin")
        ]
        states = report.stateOperators
        own = counts[0] if counts else {}
        yield MicroBatch(
            # Of files that workers read, Spark counts the names.
            rows=own.get("rows_in", report.numInputRows),
            seconds=report.durationMs["triggerExecution"] / 1000,
            dropped=sum(state.numRowsDroppedByWatermark for state in states),
            state_rows=sum(state.numRowsTotal for state in states),
            state_memory=sum(state.memoryUsedBytes for state in states),
            counts=own,
        )
