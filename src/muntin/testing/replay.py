"""A stream for tests: you write its micro-batches, its disorder and its punctuation.

A replay is deterministic: every micro-batch has exactly the rows, tasks and punctuation that you
give. It runs on real Spark streaming, or step by step in this process.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, SparkSession

from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.api.control import key_punctuation, marked
from muntin.spark.api.plan import Plan
from muntin.spark.api.stream import Stream, stream
from muntin.spark.api.stream_columns import described_columns
from muntin.spark.columns import to_arrow
from muntin.spark.connectors.temporary_folder import temporary_folder
from muntin.spark.queries.write import progress, write
from muntin.specs.disorder import Disorder
from muntin.specs.frames.schemes import Schedule
from muntin.specs.lengths import LengthLike
from muntin.testing.step_play import ReplayedRows, StepPlay, control_lines

Driver = Literal["spark", "step"]
#: The punctuation that ends a stream.
END = "end"
#: How many shards a replay has: fewer than usual, because every shard takes part in every
#: micro-batch. Results do not depend on it.
SHARDS = 4
#: Nanoseconds between the times of two files; Spark's file source sorts files by their times.
_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Played:
    """The result of a replay: result rows, refused rows, and the counts of the query."""

    results: list[Row]
    refused: list[Row]
    counts: dict[str, int]


@dataclass(frozen=True)
class Replay:
    """Micro-batches on disk, ready to be streamed; see :func:`replay`."""

    spark: SparkSession
    folder: Path
    schema: pa.Schema
    ddl: str
    tasks: int
    driver: Driver = "spark"
    _runs: dict[str, StepPlay] = field(default_factory=dict, repr=False)

    @property
    def df(self) -> DataFrame:
        """The rows as a streaming DataFrame."""
        reader = self.spark.readStream.schema(self.ddl)
        return reader.option("maxFilesPerTrigger", self.tasks).parquet(str(self.folder / "rows"))

    @property
    def control(self) -> DataFrame:
        """The punctuation and the clock as control rows, one file per micro-batch."""
        reader = self.spark.readStream.schema("kind STRING, value STRING")
        rows = reader.option("maxFilesPerTrigger", 1).json(str(self.folder / "control"))
        return marked(rows, punctuates=False)

    def stream(
        self,
        on: str | SparkColumn,
        by: str | SparkColumn | Sequence[str | SparkColumn] | None = None,
        disorder: Disorder | None = None,
        shards: int | None = SHARDS,
        functions: Mapping[str, OwnAggregate] | None = None,
        schedule: LengthLike | Schedule | None = None,
    ) -> Stream:
        """Return ``mt.stream`` over this replay; ``shards=None`` is as many as usual."""
        rows: DataFrame | ReplayedRows = self.df
        if self.driver == "step":
            rows = ReplayedRows(
                self.df, replay=self, described=lambda df: described_columns(df, on, by)[0]
            )
            shards = SHARDS if shards is None else shards
        return stream(
            rows,
            on,
            by,
            disorder,
            control=self.control,
            shards=shards,
            functions=functions,
            schedule=schedule,
        )

    def play(self, plan: Plan, checkpoint: str | Path | None = None) -> Played:
        """Run a plan over the micro-batches that have not been played, and return its results."""
        if self.driver == "step":
            if checkpoint is not None:
                expected = "driver='step' keeps state in memory, for each plan"
                raise ArgumentError("checkpoint", checkpoint, expected)
            if plan.name in self._runs:
                self._runs[plan.name].continue_with(plan)
            else:
                self._runs[plan.name] = StepPlay(plan)
            run = self._runs[plan.name]
            counts = run.run()
            return Played(list(run.results), list(run.refused), counts)
        results, refused = self.folder / "results", self.folder / "refused"
        query = write(
            plan,
            results=results,
            refused=refused,
            checkpoint=checkpoint or self.folder / "checkpoint",
            trigger={"availableNow": True},
        )
        assert query is not None  # because the plan is a stream
        query.awaitTermination()
        counts = progress(query)
        return Played(self._read(results), self._read(refused), counts)

    def _read(self, folder: Path) -> list[Row]:
        try:
            return self.spark.read.parquet(str(folder)).drop("batch").collect()
        except AnalysisException:
            return []  # nothing was ever written there

    def extend(
        self,
        batches: Sequence[Sequence[dict[str, Any]]],
        *,
        punctuation: Sequence[object] | None = None,
        clock: Sequence[datetime | None] | None = None,
        end: bool = True,
    ) -> None:
        """Append micro-batches, which are played after those that are there."""
        values = _one_each("punctuation", punctuation, len(batches))
        clocks = _one_each("clock", clock, len(batches))
        _check_names(batches, self.schema.names)
        played = [*zip(batches, values, clocks, strict=True), *([([], END, None)] if end else [])]
        first = len(list((self.folder / "control").iterdir()))
        for number, (rows, value, moment) in enumerate(played, first):
            _write_rows(self.folder / "rows", number, rows, self.schema, self.tasks)
            _write_control(self.folder / "control", number, value, moment)

    @property
    def batches_written(self) -> int:
        """How many micro-batches there are, with the one that ends the stream."""
        return len(list((self.folder / "control").iterdir()))

    def task_rows(self, number: int) -> list[DataFrame]:
        """Return the rows of a micro-batch for each task that reads some."""
        paths = sorted((self.folder / "rows").glob(f"{number:06d}-*.parquet"))
        some = [path for path in paths if pq.read_metadata(path).num_rows]
        return [self.spark.read.schema(self.ddl).parquet(str(path)) for path in some]

    def control_rows(self, number: int) -> list[dict[str, Any]]:
        """Return the control rows of a micro-batch."""
        path = self.folder / "control" / f"{number:06d}.json"
        return control_lines(path.read_text()) if path.exists() else []

    def remove(self) -> None:
        """Delete the files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def replay(
    spark: SparkSession,
    batches: Sequence[Sequence[dict[str, Any]]],
    schema: str,
    *,
    punctuation: Sequence[object] | None = None,
    clock: Sequence[datetime | None] | None = None,
    end: bool = True,
    tasks: int = 1,
    folder: str | Path | None = None,
    driver: Driver = "spark",
) -> Replay:
    """Return a stream of the micro-batches that are given.

    Args:
        spark: The session to run in.
        batches: The rows of each micro-batch, in the order of arrival.
        schema: The columns as DDL text: ``"k STRING, ts TIMESTAMP, v DOUBLE"``.
        punctuation: For each micro-batch, the value below which no more rows will come, or None;
            a mapping has such values of single keys.
        clock: For each micro-batch, the time that it reports to the stream, as a heartbeat does, or
            None.
        end: Whether the stream ends after the last micro-batch, which reports every window.
        tasks: How many tasks get the rows of a micro-batch, in turn.
        folder: Where to write; by default a new temporary folder.
        driver: ``"spark"`` runs a streaming query with a checkpoint. ``"step"`` runs the same
            steps in this process with state in memory, in a fraction of the time; Spark only
            evaluates expressions.
    """
    if driver not in ("spark", "step"):
        raise ArgumentError("driver", driver, "it is 'spark' or 'step'")
    root = Path(folder) if folder is not None else temporary_folder("replay")
    (root / "rows").mkdir(parents=True, exist_ok=True)
    (root / "control").mkdir(parents=True, exist_ok=True)
    replayed = Replay(spark, root, _arrow_schema(spark, schema), schema, tasks, driver)
    replayed.extend(batches, punctuation=punctuation, clock=clock, end=end)
    return replayed


def _arrow_schema(spark: SparkSession, ddl: str) -> pa.Schema:
    fields = spark.createDataFrame([], ddl).schema.fields
    return pa.schema([(f.name, to_arrow(f.dataType, f.name)) for f in fields])


def _check_names(batches: Sequence[Sequence[dict[str, Any]]], known: Sequence[str]) -> None:
    """Raise if a row has a column that the schema does not have."""
    for rows in batches:
        for row in rows:
            for name in row:
                if name not in known:
                    raise UnknownColumnError("batches", name, known)


def _write_rows(
    folder: Path, number: int, rows: Sequence[dict[str, Any]], schema: pa.Schema, tasks: int
) -> None:
    for task in range(tasks):
        path = folder / f"{number:06d}-{task:03d}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows[task::tasks]), schema=schema), path)
        _stamp(path, number * tasks + task)


def _one_each(argument: str, values: Sequence[Any] | None, count: int) -> list[Any]:
    if values is not None and len(values) != count:
        raise ArgumentError(argument, values, f"it needs one entry for each of {count} batches")
    return [None] * count if values is None else list(values)


def _write_control(folder: Path, number: int, value: object, clock: datetime | None) -> None:
    path = folder / f"{number:06d}.json"
    rows: list[dict[str, object]] = []
    if isinstance(value, str) and value == END:
        rows.append({"kind": "end"})
    elif isinstance(value, Mapping):
        rows += [key_punctuation(on, key) for key, on in value.items()]
    elif value is not None:
        rows.append({"kind": "punctuation", "value": str(value)})
    if clock is not None:
        rows.append({"kind": "clock", "value": str(clock)})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows or [{"kind": "none"}]))
    _stamp(path, number)


def _stamp(path: Path, place: int) -> None:
    """Give a file the time of its place, because Spark reads files in the order of their times."""
    moment = 1_000_000_000 * _SECOND + place * _SECOND
    os.utime(path, ns=(moment, moment))
