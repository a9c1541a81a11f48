"""Checkpoints on full disks, damaged ones and copies: the exact answer, or none."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import muntin as mt
from muntin.testing import Replay, assert_same_rows, replay
from tests.drivers.program_kill import begun, go_on
from tests.drivers.programs import kill
from tests.soak.program_all import SCHEMA, plans
from tests.soak.test_kills import arrivals, results

PROGRAM = Path(__file__).with_name("program_disk.py")
ROOT = Path(__file__).parents[2]
NAMES = ("windows", "rows", "frames", "forgetting frames", "joined")
#: How many checkpoints are damaged.
DAMAGES = int(os.environ.get("MUNTIN_DAMAGES", "60"))


def run(spark: SparkSession, root: Path, name: str, folder: Path | None = None) -> list[Any]:
    """Run a query over what is there, in a folder of its own or another one."""
    replayed = Replay(spark, root, pa.schema([]), SCHEMA, tasks=2)
    plan = plans(replayed.stream("x", "k", mt.slack(5), shards=4))[name]
    folder = folder or root / "queries" / name.replace(" ", "_")
    begun(folder, plan, go_on).awaitTermination()
    found = spark.read.parquet(str(folder / "results")).drop("batch").collect()
    return [row.asDict() for row in found]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_full_disk_loses_and_doubles_nothing(spark: SparkSession, tmp_path: Path) -> None:
    batches = arrivals(random.Random(3), 8)
    filled, clean, disk = tmp_path / "filled", tmp_path / "clean", tmp_path / "disk"
    disk.mkdir()
    for root in (filled, clean):
        replay(spark, batches, SCHEMA, tasks=2, folder=root)
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    words = [*apart, sys.executable, str(PROGRAM), str(filled), str(disk), *NAMES]
    process = subprocess.Popen(
        words,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(timeout=3000)
    finally:
        kill(process)
    assert process.returncode == 0, errors[-4000:]
    failures = json.loads(out.strip().splitlines()[-1])
    for name in NAMES:
        assert failures[name], f"{name} never failed"
        assert set(failures[name]) == {"No space left"}
        wanted = run(spark, clean, name)
        assert_same_rows([row.asDict() for row in results(spark, filled, name)], wanted)


def damage(folder: Path, chance: random.Random) -> str:
    """Damage one file of a checkpoint and say how."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size)
    file = chance.choice(files)
    how = chance.choice(["remove", "cut", "flip", "empty"])
    content = bytearray(file.read_bytes())
    if how == "remove":
        file.unlink()
        return f"{how} {file}"
    if how == "cut":
        content = content[: chance.randrange(len(content))]
    elif how == "flip":
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    else:
        content.clear()
    file.write_bytes(content)
    return f"{how} {file}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_damaged_checkpoint_gives_the_exact_answer_or_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What is refused ends with an error; results that come are those of a clean run."""
    chance = random.Random(5)
    batches = arrivals(chance, 6)
    paused, clean = tmp_path / "paused", tmp_path / "clean"
    replay(spark, batches, SCHEMA, tasks=2, folder=clean)
    played = replay(spark, batches[:3], SCHEMA, tasks=2, folder=paused, end=False)
    for name in NAMES:
        run(spark, paused, name)
    played.extend(batches[3:])
    wanted = {name: run(spark, clean, name) for name in NAMES}
    refused, wrong = 0, []
    for number in range(DAMAGES):
        name = NAMES[number % len(NAMES)]
        folder = tmp_path / f"damaged{number}"
        shutil.copytree(paused / "queries" / name.replace(" ", "_"), folder)
        # A copy that is not damaged goes on as the first one does.
        what = damage(folder / "checkpoint", chance) if number >= len(NAMES) else "a copy"
        try:
            found = run(spark, paused, name, folder)
        except (PySparkException, mt.MuntinError, AssertionError):
            assert what != "a copy"
            refused += 1
        else:
            try:
                assert_same_rows(found, wanted[name])
            except AssertionError as error:
                wrong.append(f"{name}, {what}: {str(error)[:300]}")
        shutil.rmtree(folder)
    assert not wrong, "\n".join(wrong)
    assert refused or DAMAGES < 20
