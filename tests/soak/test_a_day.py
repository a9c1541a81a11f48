"""A day of stream time in which a million keys come and go: exact answers, and level memory.

The stream driver runs without Spark; ``MUNTIN_DAY_KEYS`` makes the day smaller.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.operators.build import build, punctuator
from muntin.operators.protocol import Operator
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.routing import InputRoute
from muntin.spark.exchange.stream_driver import ShardTask
from muntin.specs.row_windows import RowWindow
from muntin.specs.windows import Window
from muntin.testing.step_driver import ArrivingRows, StepDriver
from tests.faults.test_forget import above, ordered_of
from tests.operators.stepping import COUNT, INTEGER, typed

KEYS = int(os.environ.get("MUNTIN_DAY_KEYS", "1000000"))
DAY, STEP, SHARDS = 86_400, 300, 4
#: A key has this many rows, one a minute, and is forgotten ten minutes after the last one.
ROWS, APART, FORGET = 3, 60, 600


def windows() -> Operator:
    return build(Window(900, 300, "on"), typed((COUNT,)))


def operators() -> dict[str, Operator]:
    return {
        "frames": above(forget=FORGET).work.frames,  # type: ignore[attr-defined]
        "rows": ordered_of(RowWindow(2, 2, "on", forget=FORGET)),
        "windows": windows(),
    }


def a_day() -> list[pa.Table]:
    """Return the rows of each micro-batch; within one they come in any order."""
    chance = np.random.default_rng(7)
    key = np.repeat(np.arange(KEYS), ROWS)
    begins = chance.integers(0, DAY - ROWS * APART, KEYS)
    on = np.repeat(begins, ROWS) + np.tile(np.arange(ROWS) * APART, KEYS)
    order = np.argsort(on // STEP + chance.random(len(on)) * 0.9, kind="stable")
    key, on = key[order], on[order]
    cuts = np.searchsorted(on // STEP, np.arange(DAY // STEP + 1))
    tables = []
    for low, high in itertools.pairwise(cuts):
        ones = pa.array(np.ones(high - low, np.int64))
        tables.append(
            pa.table(
                {
                    "on": pa.array(on[low:high]),
                    "k0": pa.array(np.char.add("key", key[low:high].astype(str)), pa.string()),
                    "s0": ones,
                    "t0": pa.array(np.arange(high - low)),
                    "f0": pa.array(np.ones(high - low, np.bool_)),
                }
            )
        )
    return tables


def stored(driver: StepDriver) -> int:
    """Return the bytes of the state of all shards."""
    return sum(len(v[0]) for shard in driver.shards.values() for v in shard.chunks.values())


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("name", ["frames", "rows", "windows"])
def test_memory_is_level_over_a_day_of_keys_that_never_return(name: str) -> None:
    operator = operators()[name]
    rule = punctuator(mt.slack(STEP), INTEGER, [pa.string()])
    routes = (InputRoute.of(operator, 0, rule, SHARDS),)
    driver = StepDriver(ShardTask(operator, routes, Fingerprint({}), SHARDS))
    chance, sizes, used = random.Random(1), [], 0
    answers: Counter[Any] = Counter()
    batches = a_day()
    for number in range(len(batches) + 1):
        tasks = batches[number : number + 1]
        ended = [("end", None)] if not tasks else [("none", None)]
        output = driver.run([ArrivingRows(tasks, ended)], chance)
        sizes.append(stored(driver))
        used += output.counts["rows_used"] or 0
        for table in output.results:
            answers.update(counted(name, table))
    assert used == KEYS * ROWS
    assert answers == expected(name)
    tenth = len(sizes) // 10
    early, late = max(sizes[tenth : 2 * tenth]), max(sizes[-2 * tenth : -1])
    assert late < 1.25 * early, (early, late)
    assert sizes[-1] < 4096  # windows note how their state is laid out


def counted(name: str, table: pa.Table) -> Counter[Any]:
    """Return how often each answer is there, without what differs between keys."""
    if name == "windows":
        return Counter({"rows": sum(table["r0"].to_pylist())})
    names = ("frame_id", "n", "r0") if name == "frames" else ("window_start", "window_end", "r0")
    return Counter(zip(*(table[column].to_pylist() for column in names), strict=True))


def expected(name: str) -> Counter[Any]:
    match name:
        case "frames":
            return Counter({(0, ROWS, ROWS): KEYS})
        case "rows":
            return Counter({(0, 2, 2): KEYS, (2, 4, 1): KEYS})
    return Counter({"rows": KEYS * ROWS * 3})  # a row is in three windows
