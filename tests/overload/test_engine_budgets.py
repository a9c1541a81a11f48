"""Budgets of an engine on Spark: asked for, shown, in force, and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.handle import QueryHandle
from muntin.errors import ArgumentError, EngineError
from tests.engine.test_engine import Readings, declared, windows

LOW = "SELECT ts, speed FROM traffic WHERE speed < 40"


def test_a_budget_from_the_first_word_to_the_last(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    with declared(spark, tmp_path, readings) as engine:
        counts = engine.register("counts", windows())
        low = engine.register("low", LOW)
        engine.register("frames", "SELECT station FROM traffic [FRAME THRESHOLD speed < 25]")
        check_refusals(engine)
        engine.budget(units=320, query="counts", policy="random")
        engine.budget(share=0.5, query="low", policy=mt.Policy("newest"), waiting=0)
        readings.put(0, 60)
        engine.start()
        engine.process_available()
        shown = {row["query"]: row for row in engine.budgets().to_pylist()}
        assert shown["counts"]["units"] == 320
        assert shown["low"]["policy"] == "newest"
        assert shown["frames"]["exact_because"] == "it has no budget"
        check_low(low, readings, shown["low"])
        answers = counts.results()
        assert set(answers["completeness"].to_pylist()) == {1.0}
        assert set(answers["completeness_by"].to_pylist()) == {"count"}
        engine.drop_budget("low")
        engine.process_available()
        readings.put(60, 20)
        engine.process_available()
        assert low.counts.shed == shown["low"]["shed"]
        later = [row for row in low.results().to_pylist() if row["ts"].minute]
        assert len(later) == sum(row["speed"] < 40 for row in readings.rows[60:])
        assert {row["completeness"] for row in later} == {None}
        used, seconds = low.cost.used, engine.budget(seconds=60, policy="oldest")
        assert used == low.counts.used
        assert seconds.to_pylist()[0]["units"] > 0
        engine.serve()
        other = mt.connect(tmp_path / "desk")
        assert other.budgets().equals(engine.budgets())
        shown = other.budget(7, query="low", policy=mt.Policy("random", seed=2)).to_pylist()
        assert [row["units"] for row in shown if row["query"] == "low"] == [7]
        other.drop_budget()
        assert engine.budgets().to_pylist()[0]["units"] is None


def check_low(low: QueryHandle, readings: Readings, shown: dict[str, object]) -> None:
    """Half of the rows are shed in each shard, and every row is accounted for."""
    wanted = sum(row["speed"] < 40 for row in readings.rows)
    answers = low.results().to_pylist()
    assert 0 < len(answers) == shown["used"] < wanted
    assert shown["used"] + shown["shed"] == wanted
    assert shown["shed_by"] == [("newest: no room to wait", shown["shed"])]
    assert all(0 < row["completeness"] < 1 for row in answers)
    assert {row["complete"] for row in answers} == {False}


def check_refusals(engine: mt.Engine) -> None:
    with pytest.raises(ArgumentError, match=r"frames.*only windows, joins by distance"):
        engine.budget(units=5, query="frames")
    with pytest.raises(ArgumentError, match=r"low.*only queries over windows"):
        engine.budget(units=5, query="low", policy="windows")
    with pytest.raises(ArgumentError, match=r"share=0\.5 .*nothing beside units="):
        engine.budget(units=5, share=0.5)
    with pytest.raises(ArgumentError, match="query='low'"):
        engine.budget(query="low")
    with pytest.raises(EngineError, match="nothing has been measured"):
        engine.budget(seconds=1)
    with pytest.raises(ArgumentError, match="prefers nothing"):
        engine.budget(units=5, query="low", policy="preference")
