"""One run of the simulator: rows in micro-batches, crashes and repetitions, all of a seed."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark import cloudpickle

from muntin.operators.protocol import REASONS, Operator
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.routing import InputRoute
from muntin.spark.exchange.stream_driver import ShardTask
from muntin.testing.step_driver import (
    ArrivingRows,
    SimulatedCrash,
    StepDriver,
    StepOutput,
)
from tests.properties.arriving import Arrivals

Row = dict[str, Any]
MOST_SHARDS, MOST_TASKS, MOST_CRASHES = 4, 3, 3


@dataclass
class Simulated:
    """The results and counts of the committed micro-batches, and what went wrong on the way."""

    results: list[Row] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    refused_rows: int = 0
    used: int = 0
    crashes: int = 0
    repeated: int = 0
    restarts: int = 0

    def take(self, output: StepOutput) -> None:
        for table in output.results:
            self.results += table.to_pylist()
        counts = {name: count or 0 for name, count in output.counts.items()}
        self.refused.update({reason: counts[reason] for reason in REASONS if counts[reason]})
        self.refused_rows += sum(table.num_rows for table in output.refused)
        self.used += counts["rows_used"]


def simulate(
    operator: Operator, inputs: Sequence[Arrivals], ends: Sequence[int], seed: int
) -> Simulated:
    """Run all micro-batches of some inputs; ``ends`` has the one in which each input ends."""
    chance, ran = random.Random(seed), Simulated()
    keyed = all(len(keys) > 0 for keys in operator.shard_keys)
    shards = chance.randint(1, MOST_SHARDS) if keyed else 1
    routes = tuple(
        InputRoute.of(operator, source, case.punctuator(), shards, ahead=case.ahead_rule())
        for source, case in enumerate(inputs)
    )
    driver = StepDriver(ShardTask(operator, routes, Fingerprint({}), shards))
    sent: bytes = cloudpickle.dumps(driver.task)  # type: ignore[no-untyped-call]
    last = [max(end, len(case.batches)) for end, case in zip(ends, inputs, strict=True)]
    for number in range(max(last) + 1):

        def arriving(number: int = number) -> list[ArrivingRows]:
            """Return the micro-batch as some number of tasks read it."""
            return [
                _arriving(case, number, end, chance) for case, end in zip(inputs, last, strict=True)
            ]

        if chance.random() < 0.2:
            # After a restart there are other processes and partitions; Spark keeps the state.
            driver = StepDriver(pickle.loads(sent), dict(driver.shards))
            ran.restarts += 1
        if chance.random() < 0.5:
            _disturb(driver, arriving(), chance, ran)
        # Spark may read the rows of a repeated micro-batch with other tasks.
        ran.take(driver.run(arriving(), chance))
    return ran


def _disturb(
    driver: StepDriver, arriving: Sequence[ArrivingRows], chance: random.Random, ran: Simulated
) -> None:
    """Run a micro-batch that is not committed, and crash in others at calls of the state."""
    calls = driver.attempt(arriving, chance).calls
    ran.repeated += 1
    for _ in range(chance.randint(0, MOST_CRASHES) if calls else 0):
        with pytest.raises(SimulatedCrash):
            driver.attempt(arriving, chance, crash_at=chance.randint(1, calls))
        ran.crashes += 1


def _arriving(case: Arrivals, number: int, last: int, chance: random.Random) -> ArrivingRows:
    rows = list(case.batches[number]) if number < len(case.batches) else []
    tasks = chance.randint(1, MOST_TASKS)
    if getattr(getattr(case, "spec", None), "order", "on") == "arrival":
        # Rows arrive in the order of the tasks, and of the rows in each task.
        cuts = sorted(chance.randint(0, len(rows)) for _ in range(tasks - 1))
        dealt = [rows[low:high] for low, high in itertools.pairwise([0, *cuts, len(rows)])]
    else:
        dealt = [rows[task::tasks] for task in range(tasks)]
    tables = [case.arriving_table(number, part) for part in dealt if part]
    clock = case.clocks[number] if number < len(case.clocks) else None
    control: list[tuple[str, int | None]] = []
    if clock is not None:
        control.append(("clock", clock * 1_000_000))
    if number == last:
        control.append(("end", None))
    # Something reaches every shard in every micro-batch, as Spark calls no other shard.
    keys = case.announced_keys(number) if number < len(case.batches) else []
    return ArrivingRows(tables, control or [("none", None)], keys)
