"""A running engine is asked about the past: from Python, SQL, another process and the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import muntin as mt
from muntin.cli.commands.engine import command
from muntin.errors import ArgumentError, EngineError
from tests.engine.line_rows import CREATE, SUMS, sums, write_rows

LARGE = "SELECT x FROM line {} WHERE v > 4"


def as_of(value: object) -> str:
    return SUMS.replace("FROM line", f"FROM line AS OF {value}")


def test_the_past_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    rows, home = tmp_path / "rows", tmp_path / "home"
    write_rows(rows, "1", range(12))
    with mt.Engine(spark, home) as engine:
        engine.sql(f"{CREATE.format(rows=rows)} KEEP 20")
        with pytest.raises(EngineError, match=r"call engine\.start"):
            engine.ask(SUMS)
        always = engine.register("always", SUMS)
        engine.start()
        engine.process_available()
        write_rows(rows, "2", range(12, 24))
        engine.process_available()
        # Once: everything that a query with history would have answered.
        assert engine.ask(SUMS) == always.results()
        assert sorted(engine.sql(LARGE.format(""))["x"].to_pylist()) == [*range(5, 24)]
        # As of: one answer for each key, the newest that was certain then.
        assert sums(engine.ask(as_of(10)).to_pylist()) == [("a", 10, 14), ("b", 10, 21)]
        assert sums(engine.ask(as_of(14)).to_pylist()) == [("a", 10, 14), ("b", 10, 21)]
        assert sums(engine.ask(as_of("'15'")).to_pylist()) == [("a", 15, 36), ("b", 15, 24)]
        unselected = as_of(15).replace("k, window_end,", "k,")
        assert {row["s"] for row in engine.ask(unselected).to_pylist()} == {36, 24}
        assert engine.sql(LARGE.format("AS OF 8"))["x"].to_pylist() == [5, 6, 7]
        assert engine.ask(as_of(4)).num_rows == 0
        with pytest.raises(ArgumentError, match=r"not certain yet .* punctuation is 22"):
            engine.ask(as_of(23))
        with pytest.raises(mt.SqlError, match="punctuation is 22") as caught:
            engine.sql("SHOW STREAMS; " + as_of(30))
        assert caught.value.text[caught.value.place.offset :].startswith("AS OF 30")
        # Kept rows go: what is asked about must be later.
        write_rows(rows, "3", range(24, 40))
        engine.process_available()
        with pytest.raises(ArgumentError, match="since its punctuation was 10; ask for later"):
            engine.ask(as_of(10))
        assert {row["complete"] for row in engine.ask(as_of(20)).to_pylist()} == {True}
        assert {row["complete"] for row in engine.ask(as_of(15)).to_pylist()} == {False}
        engine.serve()
        client = mt.connect(home)
        assert client.ask(as_of(20)) == engine.ask(as_of(20))
        shell = CliRunner().invoke(command, ["ask", str(home), as_of(20), "--format", "json"])
        assert shell.exit_code == 0, shell.output
        printed = [json.loads(line) for line in shell.stdout.splitlines()]
        assert sums(printed) == sums(engine.ask(as_of(20)).to_pylist())
        wrong = CliRunner().invoke(command, ["ask", str(home), SUMS, "--after", "1"])
        assert "--after is for a query of the engine" in wrong.output
        # An ended stream takes no queries, and answers questions.
        engine.end("line")
        engine.process_available()
        with pytest.raises(EngineError, match="has ended"):
            engine.register("late", SUMS)
        assert sums(engine.ask(as_of(100)).to_pylist()) == [("a", 40, 74), ("b", 40, 111)]
        assert sums(engine.ask(as_of(35)).to_pylist()) == [("a", 35, 96), ("b", 35, 64)]


def test_a_stream_that_keeps_nothing_is_not_asked(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", "1", range(12))
    with mt.Engine(spark, tmp_path / "home") as engine:
        engine.sql(CREATE.format(rows=tmp_path / "rows"))
        with pytest.raises(EngineError, match="keeps no rows, so it cannot be asked"):
            engine.sql(as_of(5))
        with pytest.raises(EngineError, match="the query reads nothing_there"):
            engine.ask("SELECT x FROM nothing_there")
