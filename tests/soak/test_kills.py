"""Kills at any moment, of the process or of an executor: the results are those of a clean run.

``MUNTIN_KILLS`` says how many kills there are (200 by default), and ``MUNTIN_SEED`` when they come.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from muntin.testing import assert_same_rows, replay
from tests.drivers.programs import kill, start
from tests.soak.program_all import SCHEMA, plans, started

PROGRAM = Path(__file__).with_name("program_all.py")
KILLS = int(os.environ.get("MUNTIN_KILLS", "200"))
#: So many queries run at the same time; more would be starting for longer than they live.
AT_ONCE = 4
MASTERS = ("local[2]", "local-cluster[2,1,1024]")


def arrivals(chance: random.Random, batches: int) -> list[list[dict[str, Any]]]:
    """Return rows that move forward with disorder; some are later than the slack."""
    return [
        [
            {
                "k": chance.choice(["a", "b", "c", "d"]),
                "x": number * 15 + chance.randint(-35, 15),
                "v": chance.randint(-500, 500) / 64,
            }
            for _ in range(30)
        ]
        for number in range(batches)
    ]


def executors(process: subprocess.Popen[str]) -> list[int]:
    """Return the executors that a program has started, by their process ids."""
    parents, executing = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                executing.append(int(folder.name))

    def is_own(number: int) -> bool:
        while number not in (0, 1, process.pid):
            number = parents.get(number, 0)
        return number == process.pid

    return [number for number in executing if is_own(number)]


def run_and_kill(master: str, root: Path, names: list[str], chance: random.Random) -> int:
    """Start a program and kill it at some moment; return how many kills there were."""
    (root / "going").unlink(missing_ok=True)
    process, kills = start(PROGRAM, master, str(root), *names), 0
    try:
        while process.poll() is None and not (root / "going").exists():
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 4))
        for executor in executors(process)[: chance.randint(0, 1)]:
            with suppress(ProcessLookupError):
                os.kill(executor, signal.SIGKILL)
            kills += 1
            time.sleep(chance.uniform(0, 4))
        if process.poll() is not None:
            assert process.returncode == 0, process.communicate()[1][-4000:]
    finally:
        kill(process)
        process.communicate()
    return kills + 1


def results(spark: SparkSession, root: Path, name: str) -> list[Row]:
    folder = root / "queries" / name.replace(" ", "_") / "results"
    return spark.read.parquet(str(folder)).drop("batch").collect()


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("master", MASTERS)
def test_kills_at_any_moment_change_nothing(
    spark: SparkSession, tmp_path: Path, master: str
) -> None:
    seed = int(os.environ.get("MUNTIN_SEED", "1"))
    chance = random.Random(f"{seed} {master}")
    empty = replay(spark, [], SCHEMA, folder=tmp_path / "empty")
    waiting, kills = list(plans(empty.stream("x", "k"))), 0
    only = os.environ.get("MUNTIN_QUERIES")
    waiting = [name for name in waiting if only is None or name in only.split(",")]
    share = -(-KILLS * AT_ONCE // (len(MASTERS) * len(waiting)))
    while waiting:
        names, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        batches, here = arrivals(chance, 6 + share), 0
        killed, clean = tmp_path / f"killed{len(waiting)}", tmp_path / f"clean{len(waiting)}"
        for root in (killed, clean):
            replay(spark, batches, SCHEMA, tasks=2, folder=root)
        while here < share:
            here += run_and_kill(master, killed, names, chance)
        kills += here
        for root in (killed, clean):
            for query in list(started(spark, root, names)):
                query.awaitTermination()
        for name in names:
            wanted = [row.asDict() for row in results(spark, clean, name)]
            assert wanted, name
            assert_same_rows([row.asDict() for row in results(spark, killed, name)], wanted)
    assert kills >= KILLS // len(MASTERS)
