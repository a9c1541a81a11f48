"""Asking a running engine: eager, partial and lazy queries, previews and staged generations."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from muntin.errors import ArgumentError, EngineError
from tests.engine.test_engine import Readings, declared, plain, windows

LOW = "SELECT ts, speed FROM traffic WHERE speed < 5"
FRAMES = "SELECT station, frame_start, frame_end FROM traffic [FRAME THRESHOLD speed < 30]"


def test_all_modes_answer_alike_while_the_stream_runs(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    modes = ("eager", "partial", "lazy")
    with declared(spark, tmp_path, readings, keep="1 hour") as engine:
        queries = [
            [engine.register(f"{name}_{mode}", text, answer=mode) for mode in modes]
            for name, text in (("w", windows()), ("low", LOW), ("f", FRAMES))
        ]
        readings.put(0, 60)
        engine.start()
        engine.process_available()
        for first in (60, 120):
            answers = [[plain(query.invoke()) for query in same] for same in queries]
            assert all(eager == partial == lazy for eager, partial, lazy in answers)
            assert all(same[0] for same in answers)
            readings.put(first, 60)
            engine.process_available()
        # One row for each key: the newest window that is certain.
        assert len(queries[0][1].invoke().to_pylist()) == 2
        assert [query.results().num_rows > 0 for query in queries[0]] == [True, True, False]
        asked = engine.sql("INVOKE QUERY w_partial")
        assert plain(asked) == plain(queries[0][0].invoke())
        assert "when somebody asks" in queries[0][2].explain()
        with pytest.raises(EngineError, match="no sinks"):
            _ = queries[0][1].sinks
        with pytest.raises(EngineError, match="needs no pause"):
            queries[0][2].pause()


def test_previews_drop_themselves_and_staged_generations_run_beside(
    spark: SparkSession, tmp_path: Path
) -> None:
    readings = Readings(tmp_path / "readings")
    with declared(spark, tmp_path, readings) as engine:
        readings.put(0, 60)
        counts = engine.register("counts", windows())
        engine.start()
        seen = engine.preview(windows(10, 10), ttl="1 second")
        kept = engine.preview(LOW, ttl="1 second")
        kept.keep("low")
        assert engine["low"].id == kept.id
        counts.stage(windows(30, 30)).wait()
        until = time.monotonic() + 30
        while seen.status != "dropped" and time.monotonic() < until:
            time.sleep(0.1)
        assert seen.status == "dropped"
        readings.put(60, 60)
        engine.process_available()
        assert kept.status == "active"
        assert counts.generation == 1
        assert counts.results(generation=2).num_rows > 0
        with pytest.raises(EngineError, match="staged generation 2"):
            counts.change(windows(5, 5))
        since = counts.apply().wait().micro_batch
        assert counts.generation == 2
        readings.put(120, 60)
        engine.process_available()
        assert min(counts.results()["micro_batch"].to_pylist()) >= since
        assert min(counts.results(generation=2)["micro_batch"].to_pylist()) < since
        counts.stage(windows(5, 5)).wait()
        counts.discard().wait()
        assert counts.generation == 2


def test_what_cannot_be_asked_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    with declared(spark, tmp_path, readings) as engine:
        for answer, reason in (
            ("lazy", "keep="),
            ("never", "eager, partial, lazy or auto"),
        ):
            with pytest.raises(ArgumentError, match=reason):
                engine.register("q", windows(), answer=answer)
        with pytest.raises(ArgumentError, match="length of time"):
            engine.preview(windows(), ttl="10")
        query = engine.register("q", windows(), answer="partial")
        with pytest.raises(EngineError, match="not started"):
            query.invoke()
        with pytest.raises(EngineError, match="no preview"):
            query.keep("other")
