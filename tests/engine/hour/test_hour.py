"""Shows it all: queries come, change and go over a disordered freeway, and kills between."""

from __future__ import annotations

import json
import random
import time
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.engine_stream import EngineStream
from muntin.spark.queries.many_queries import NetworkStream
from tests.drivers.programs import finish, kill, start
from tests.engine.hour import program_hour
from tests.engine.hour.lives import Ran, lines
from tests.engine.hour.script import SCHEMA, Script
from tests.engine.pool import COLUMNS

#: Two minutes of the stream, and an hour; the engine is killed after some steps.
KINDS = ("filter", "sliding", "HAVING", "landmark", "rows", "session", "threshold", "filled")
MINUTES = Script(seed=1, steps=16, seconds=8, queries=12, live=6, kinds=KINDS)
HOUR = Script(seed=2, steps=240, seconds=15, queries=200, live=25)
#: State of a stream without queries: a few rows for each of two shards.
EMPTY = 4


def killed_and_run(root: Path, script: Script, kills: list[int], master: str) -> None:
    """Run a script to its end, killed some time after each of these steps."""
    chance = random.Random(script.seed)
    for step in [*kills, None]:
        process = start(Path(program_hour.__file__), str(root), json.dumps(asdict(script)), master)
        if step is None:
            finish(process, 3000)
            return
        try:
            while not (root / "step").exists() or int((root / "step").read_text()) < step:
                assert process.poll() is None, process.communicate()[1][-4000:]
                time.sleep(0.05)
            time.sleep(chance.uniform(0, 2))  # in any step of a micro-batch
        finally:
            kill(process)
            process.communicate()


def check(spark: SparkSession, root: Path, script: Script) -> int:
    """Compare every answer of every generation; return how many there were."""
    ran = Ran(root / "home")
    source = mt.stream(spark.createDataFrame([], COLUMNS), "ts", "station", mt.slack("4 seconds"))
    network = NetworkStream(source, tuple(SCHEMA.names), name="s")
    planner = EngineStream("s", network, Path(), ran.registry)
    rows = pa.Table.from_pylist([row for rows in script.files for row in rows], SCHEMA)
    assert lines(pa.concat_tables(batch.rows for batch in ran.arrived)) == lines(rows)
    answers = 0
    for life in ran.lives():
        expected = ran.expected(life, planner.plan(life.record.text), spark)
        found = ran.found(life)
        about = f"{life}: {life.record.text}"
        for batch in sorted({*expected, *found}):
            assert found.get(batch) == expected.get(batch), f"micro-batch {batch} of {about}"
        answers += sum(map(len, found.values()))
    ran.close()
    return answers


@pytest.mark.timeout(900)
def test_two_minutes_of_a_freeway(spark: SparkSession, tmp_path: Path) -> None:
    killed_and_run(tmp_path, MINUTES, [8], "local[2]")
    assert check(spark, tmp_path, MINUTES) > 300
    assert json.loads((tmp_path / "left").read_text()) <= EMPTY


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_an_hour_of_a_freeway(spark: SparkSession, tmp_path: Path, master: str) -> None:
    """Killed every five minutes of the stream; memory and state return to what they were."""
    killed_and_run(tmp_path, HOUR, [*range(20, 160, 20)], master)
    assert check(spark, tmp_path, HOUR) > 50_000
    assert json.loads((tmp_path / "left").read_text()) <= EMPTY
    lines_ = [line.split() for line in (tmp_path / "memory").read_text().splitlines()]
    last = [int(kilobytes) for pid, _, kilobytes in lines_ if pid == lines_[-1][0]]
    assert len(last) > 60
    assert max(last[-10:]) < 1.5 * max(last[10:20])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(20))
def test_many_queries_on_a_stream_answer_as_each_alone(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    script = Script(100 + seed, steps=8, seconds=8, queries=12, live=6)
    program_hour.run(spark, tmp_path, script)
    assert check(spark, tmp_path, script) > 100
    assert json.loads((tmp_path / "left").read_text()) <= EMPTY
