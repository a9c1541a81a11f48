"""Playing a replay without a streaming query: the stream driver itself, in this process.

Spark reads the rows of a micro-batch and evaluates the expressions of the plan; everything after
that is :class:`~muntin.testing.step_driver.StepDriver`, with state in memory.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.operators.progress.ahead import AheadOfClock
from muntin.spark.api.plan import Plan
from muntin.spark.columns import dataframe
from muntin.spark.exchange.control_rows import key_table, tick_of
from muntin.spark.exchange.counts import COUNTS
from muntin.spark.exchange.messages import KEY_PUNCTUATION
from muntin.spark.plan.inputs import PlanInput
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.testing.step_driver import ArrivingRows, StepDriver, StepOutput


class WrittenBatches(Protocol):
    """The micro-batches of a replay, as they were written."""

    @property
    def batches_written(self) -> int:
        """How many micro-batches there are."""

    def task_rows(self, number: int) -> list[DataFrame]:
        """Return the rows of a micro-batch for each task that reads some."""

    def control_rows(self, number: int) -> list[dict[str, Any]]:
        """Return the control rows of a micro-batch."""


@dataclass(frozen=True, eq=False)
class ReplayedRows(WorkerRows):
    """The rows of a replay; ``described`` makes the columns of the stream from those of rows."""

    replay: WrittenBatches = field(kw_only=True)
    described: Callable[[DataFrame], DataFrame] = field(kw_only=True)


@dataclass
class StepPlay:
    """The run of a plan so far: its state, its rows and its counts."""

    plan: Plan
    played: int = 0
    results: list[Row] = field(default_factory=list)
    refused: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = self.plan.parts
        self._inputs = [plan_input for plan_input in parts.inputs if not plan_input.stored]
        task = parts.shard_task(keep_refused=True)
        if any(isinstance(route.ahead, AheadOfClock) for route in task.routes):
            expected = "rows ahead of the clock need driver='spark', which has a clock"
            raise ArgumentError("driver", "step", expected)
        self._driver = StepDriver(task)
        self._replays = [_replay_of(plan_input) for plan_input in self._inputs]

    def continue_with(self, plan: Plan) -> None:
        """Go on with a plan, as a restart does: its fingerprint is compared with the state's."""
        fresh = StepPlay(plan)
        fresh._driver.shards = self._driver.shards
        self.plan, self._driver = plan, fresh._driver
        self._inputs, self._replays = fresh._inputs, fresh._replays

    def run(self) -> dict[str, int]:
        """Run the micro-batches that were not played, and return their counts."""
        totals = dict.fromkeys(COUNTS, 0)
        last = max(rows.replay.batches_written for rows in self._replays)
        while self.played < last:
            output = self._driver.run(self._arriving(self.played), random.Random(self.played))
            self._take(output)
            for name in COUNTS:
                totals[name] += output.counts[name] or 0
            self.played += 1
        return totals

    def _arriving(self, number: int) -> list[ArrivingRows]:
        by_source = {plan_input.name: plan_input for plan_input in self._inputs}
        found = []
        for plan_input in self.plan.parts.inputs:
            if plan_input.name not in by_source:
                found.append(ArrivingRows())
                continue
            place = self._inputs.index(plan_input)
            found.append(self._rows_of(plan_input, self._replays[place], number))
        return found

    def _rows_of(self, plan_input: PlanInput, rows: ReplayedRows, number: int) -> ArrivingRows:
        typed, axis = plan_input.typed, plan_input.axis
        tables = []
        for df in rows.replay.task_rows(number):
            source = replace(typed.source, df=rows.described(df))
            tables.append(replace(typed, source=source).prepared(originals=True).toArrow())
        control: list[tuple[str, int | None]] = []
        keys = []
        route = self._driver.task.routes[self.plan.parts.inputs.index(plan_input)]
        for told in rows.replay.control_rows(number):
            if told["kind"] == KEY_PUNCTUATION:
                keys.append(key_table(axis, route, told["value"]))
            else:
                control.append((told["kind"], tick_of(axis, told["kind"], told.get("value"))))
        return ArrivingRows([t for t in tables if t.num_rows], control or [("none", None)], keys)

    def _take(self, output: StepOutput) -> None:
        parts = self.plan.parts
        spark = parts.stream.df.sparkSession
        if output.results:
            flat = dataframe(spark, pa.concat_tables(output.results))
            self.results += parts.finisher.apply(flat).collect()
        if output.refused:
            refusing = parts.output.refusing
            rows = [
                _rows(spark, schema, [t for s, t in output.refused_by_input if s == source])
                for source, schema in enumerate(refusing.schemas)
            ]
            self.refused += refusing.together(rows).collect()


def _rows(spark: Any, schema: StructType, tables: Sequence[pa.Table]) -> DataFrame:
    if not tables:
        empty: DataFrame = spark.createDataFrame([], schema)
        return empty
    return dataframe(spark, pa.concat_tables(tables)).toDF(*schema.names)


def _replay_of(plan_input: PlanInput) -> ReplayedRows:
    rows = plan_input.typed.source.files
    if not isinstance(rows, ReplayedRows):
        expected = "every stream of the plan must come from a replay with driver='step'"
        raise ArgumentError("plan", plan_input.name, expected)
    return rows


def control_lines(text: str) -> list[dict[str, Any]]:
    """Return the control rows of a file."""
    return [json.loads(line) for line in text.splitlines()]
