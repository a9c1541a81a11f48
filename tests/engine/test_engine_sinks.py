"""Sinks and triggers of an engine that runs on Spark: what they have is what the log has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.sinks.query_sinks import read_call
from muntin.errors import ArgumentError
from muntin.parser.errors import SqlError
from tests.engine.receivers import web_receiver
from tests.engine.test_engine import WINDOWS, Readings

QUERY = WINDOWS.format(range=20, slide=10, where="")


@pytest.fixture
def readings(tmp_path: Path) -> Readings:
    return Readings(tmp_path / "readings")


def engine(spark: SparkSession, tmp_path: Path, readings: Readings) -> mt.Engine:
    engine = mt.Engine(spark, tmp_path / "home")
    engine.stream("traffic", readings.stream(spark), "ts", "station", mt.ordered())
    return engine


def rows(answers: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, float]]:
    return sorted((row["station"], row["n"], row["v"]) for row in answers)


def test_a_sink_and_a_trigger_have_each_answer_once(
    spark: SparkSession, tmp_path: Path, readings: Readings
) -> None:
    out = tmp_path / "out"
    with web_receiver() as web, engine(spark, tmp_path, readings) as desk:
        slow = desk.register("slow", QUERY, into=f"json('{out}')")
        desk.start()
        readings.put(0, 60)
        desk.process_available()
        assert desk.deliveries.wait(60)
        before = slow.results()
        assert before.num_rows > 0
        assert rows(spark.read.json(str(out)).collect()) == rows(before.to_pylist())
        slow.sinks.add("alarm", f"webhook('{web.url}')")
        readings.put(60, 60)
        desk.process_available()
        last = max(before["micro_batch"].to_pylist())
        desk.stop()  # gives sinks the time to deliver
        after = [row for _, row in web.got]
        with engine(spark, tmp_path, readings) as again:
            again.start()
            readings.put(120, 60)
            again.process_available()
            assert again.deliveries.wait(60)
            slow = again["slow"]
            assert [(s.record.call.name, s.stopped) for s in slow.sinks.status()] == [
                ("", None),
                ("alarm", None),
            ]
            everything = slow.results()
            assert len(after) > 0
            assert rows(web.once) == rows(slow.results(after=last).to_pylist())
            assert len(web.got) == len(web.once)
            assert rows(spark.read.json(str(out)).collect()) == rows(everything.to_pylist())


def test_what_cannot_work_is_refused_at_once(
    spark: SparkSession, tmp_path: Path, readings: Readings
) -> None:
    with engine(spark, tmp_path, readings) as desk:
        with pytest.raises(ArgumentError, match=r"sink='cvs' cannot be used.*did you mean 'csv'"):
            desk.register("slow", QUERY, into="cvs('out')")
        slow = desk.register("slow", QUERY)
        with pytest.raises(ArgumentError, match=r"url='\*+' cannot be used: it is a web address"):
            slow.sinks.add("alarm", "webhook('x')")
        with pytest.raises(ArgumentError, match="the sinks and triggers of the query are: none"):
            slow.sinks.drop("alarm")
        slow.sinks.add("note", "command('true')")
        with pytest.raises(ArgumentError, match="the sinks and triggers of the query are: 'note'"):
            slow.sinks.letters("alarm")
        slow.sinks.drop("note")
        assert slow.sinks.status() == []


def test_the_words_of_a_call() -> None:
    call = read_call("into", "", "csv('out', header => false)")
    assert (call.connector, call.arguments, call.options) == ("csv", ("out",), {"header": False})
    with pytest.raises(ArgumentError, match="it is one sink or action"):
        read_call("into", "", "csv('out'); SHOW TABLES")
    with pytest.raises(ArgumentError, match="name the sink itself"):
        read_call("into", "", "insert('t')")
    with pytest.raises(SqlError):
        read_call("into", "", "csv(")
