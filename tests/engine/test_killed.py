"""An engine that is killed at every step of a commit loses nothing and doubles nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from tests.drivers.programs import PATIENCE, kill, start, wait_for
from tests.engine import program_desk
from tests.engine.test_engine import Readings, plain

STEPS = ("answers:1", "keep:3", "acknowledge:5", "pin:7")


@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.parametrize(
    "stops", [("keep:2",), pytest.param(STEPS, marks=pytest.mark.slow)], ids=["keep", "every step"]
)
def test_a_killed_engine_goes_on_exactly(
    spark: SparkSession, tmp_path: Path, stops: tuple[str, ...]
) -> None:
    readings = Readings(tmp_path / "readings")
    for part in range(12):
        readings.put(part * 15, 15)
    for stop in stops:
        process = start(Path(program_desk.__file__), str(tmp_path), stop)
        wait_for(tmp_path / f"stopped-{stop.split(':')[0]}", process, PATIENCE)
        kill(process)
        process.communicate()
    with program_desk.desk(spark, tmp_path) as engine:
        engine.start()
        engine.process_available()
        engine.end("traffic")
        engine.process_available()
        batch = readings.batch(spark)
        for name, text in program_desk.ALWAYS.items():
            answers = engine[name].results()
            assert plain(answers, "complete") == plain(mt.sql(text, traffic=batch).toArrow()), name
            assert answers["micro_batch"].to_pylist() == sorted(answers["micro_batch"].to_pylist())
        expected = plain(engine["windows"].results())
        for stop in stops:
            for kind, filled in (("late", "kept rows"), ("paned", "the base panes")):
                late = engine[f"{kind} {stop.split(':')[0]}"]
                assert (late.status, late.generation) == ("active", 1)
                assert f"filled from: {filled}" in late.explain()
                assert plain(late.results()) == expected, (kind, stop)
        active = [record.since for record in engine.queries()]
    assert None not in active
