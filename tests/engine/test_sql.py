"""Statements of SQL against an engine: what each does, and what is refused, at which place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.sql import run_statements
from tests.engine.line_rows import CREATE, SUMS, sums, write_rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    write_rows(folder, "first", range(12))
    return folder


@pytest.fixture(scope="module")
def engine(
    spark: SparkSession, rows: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[mt.Engine]:
    """An engine with a stream and a query, not started."""
    with mt.Engine(spark, tmp_path_factory.mktemp("home")) as made:
        made.sql(f"{CREATE.format(rows=rows)}; CREATE QUERY first OWNER 'ada' AS {SUMS}")
        yield made


def shown(engine: mt.Engine, *columns: str) -> list[tuple[object, ...]]:
    table = engine.sql("SHOW QUERIES").select([*columns])
    return [tuple(row.values()) for row in table.to_pylist()]


def test_queries_come_change_and_go(spark: SparkSession, rows: Path, tmp_path: Path) -> None:
    """The whole life of queries in SQL, over a stream that goes on in a second engine."""
    home = tmp_path / "home"
    own = tmp_path / "rows"
    write_rows(own, "first", range(12))
    with mt.Engine(spark, home) as engine:
        text = (
            f"{CREATE.format(rows=own)}; CREATE QUERY totals OWNER 'ada' TAGS ('a', 'b') "
            f"DESCRIPTION 'it''s all' AS {SUMS}; CREATE QUERY big AS SELECT x FROM line WHERE v > 9"
        )
        assert engine.sql(text).to_pylist() == [{"done": "created query big"}]
        engine.start()
        engine.process_available()
        assert sums(engine.sql("INVOKE QUERY totals").to_pylist()) == [("a", 10, 14), ("b", 10, 21)]
        assert sorted(engine.sql("INVOKE QUERY big")["x"].to_pylist()) == [10, 11]
        kept = ("name", "generation", "status", "owner", "tags", "description", "since", "used")
        assert shown(engine, *kept) == [
            ("totals", 1, "active", "ada", ["a", "b"], "it's all", 0, 12),
            ("big", 1, "active", None, [], "", 0, 2),
        ]
        assert shown(engine, "name", "runs_as", "shared_with") == [
            ("totals", "windows over shared panes", []),
            ("big", "rows chosen", []),
        ]
        (stream,) = engine.sql("SHOW STREAMS").to_pylist()
        assert (stream["name"], stream["queries"], stream["punctuation"]) == ("line", 2, "10")
        assert "FROM json(" in stream["statement"]
        assert engine.sql("PAUSE QUERY big").to_pylist() == [{"done": "paused query big"}]
        changed = SUMS.replace("sum(v) AS s", "max(v) AS s")
        assert engine.sql(f"ALTER QUERY totals AS {changed}")["done"][0].as_py() == (
            "changed query totals"
        )
        assert engine["big"].status == "paused"
        assert shown(engine, "name", "generation") == [("totals", 2), ("big", 1)]
        engine.process_available()
        engine.sql("RESUME QUERY big")
        engine.process_available()
    with mt.Engine(spark, home) as engine:
        engine.start()  # with the stream that a statement made
        write_rows(own, "second", range(12, 17))
        engine.process_available()
        assert sums(engine.sql("INVOKE QUERY totals").to_pylist()) == [("a", 15, 14), ("b", 15, 13)]
        assert sorted(engine.sql("INVOKE QUERY big")["x"].to_pylist()) == [12, 13, 14, 15, 16]
        done = engine.sql("DROP QUERY big; DROP QUERY IF EXISTS big")
        assert done.to_pylist() == [{"done": "there was no query big"}]
        assert shown(engine, "name", "generation") == [("totals", 2)]
        assert "generation 2" in engine.sql("EXPLAIN QUERY totals")["plan"][0].as_py()


def test_answers_go_into_sinks_and_to_triggers(spark: SparkSession, tmp_path: Path) -> None:
    rows, out, fired = tmp_path / "rows", tmp_path / "it's out", tmp_path / "fired"
    write_rows(rows, "first", range(12))
    trigger = f"CREATE TRIGGER note ON totals DO command('tee -a {fired}')"
    with mt.Engine(spark, tmp_path / "home") as engine:
        into = str(out).replace("'", "''")
        engine.sql(f"{CREATE.format(rows=rows)}; CREATE QUERY totals AS {SUMS} INTO json('{into}')")
        assert engine.sql(trigger).to_pylist() == [{"done": "created trigger note"}]
        assert run_statements(engine, trigger, keep=True)["done"][0].as_py() == (
            "trigger note is there already"
        )
        with pytest.raises(mt.SqlError, match="query totals has a trigger note already"):
            engine.sql(trigger)
        engine.start()
        engine.process_available()
        assert engine.deliveries.wait(60)
        answers = sums(engine["totals"].results().to_pylist())
        assert sums(row.asDict() for row in spark.read.json(str(out)).collect()) == answers
        lines = fired.read_text().replace("}{", "}\n{").splitlines()
        assert sums(map(json.loads, lines)) == answers
        (shown_trigger,) = engine.sql("SHOW TRIGGERS").to_pylist()
        assert shown_trigger == {
            "name": "note",
            "query": "totals",
            "action": f"command('tee -a {fired}')",
            "delivered": 4,
            "letters": 0,
            "stopped": None,
        }
        assert engine.sql("DROP TRIGGER note").to_pylist() == [{"done": "dropped trigger note"}]
        assert engine.sql("SHOW TRIGGERS").num_rows == 0
        assert engine.sql("DROP TRIGGER IF EXISTS note").to_pylist() == [
            {"done": "there was no trigger note"}
        ]


def test_a_query_begins_with_what_a_stream_keeps(spark: SparkSession, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    write_rows(rows, "first", range(12))
    with mt.Engine(spark, tmp_path / "home") as engine:
        engine.sql(f"{CREATE.format(rows=rows)} KEEP 100; CREATE QUERY early AS {SUMS}")
        engine.start()
        engine.process_available()
        engine.sql(f"CREATE QUERY all START HISTORY AS {SUMS}; CREATE QUERY some START 6 AS {SUMS}")
        engine.process_available()
        early = sums(engine["early"].results().to_pylist())
        assert sums(engine["all"].results().to_pylist()) == early
        assert sums(engine["some"].results().to_pylist()) == [("a", 10, 14), ("b", 10, 16)]
        assert early == [("a", 5, 6), ("a", 10, 14), ("b", 5, 4), ("b", 10, 21)]
        engine.sql(f"CREATE QUERY past START HISTORY UNTIL 5 AS {SUMS}")
        engine.process_available()
        assert sums(engine["past"].results().to_pylist()) == [("a", 5, 6), ("b", 5, 4)]


REFUSED = [
    ("SELECT nix FROM line AS OF 5", "nix", "there is no column nix"),
    ("EXPLAIN SELECT x FROM line AS OF 5", "AS OF", "AS OF asks once"),
    ("EXPLAIN QUERY frist", "QUERY", "there is no query frist"),
    ("CREATE TABLE t FROM json('x')", "t FROM", "queries of an engine read its streams, and no"),
    ("CREATE TRIGGER t ON frist DO command('x')", "t ON", "there is no query frist"),
    ("CREATE TRIGGER t ON first DO comand('x')", "comand", "there is no such sink"),
    ("CREATE TRIGGER t ON first DO insert('x')", "insert", "name the sink itself, such as"),
    ("DROP TRIGGER t", "TRIGGER", "there is no trigger t"),
    ("CREATE QUERY q AS SELECT x FROM line INTO cvs('x')", "cvs", "did you mean 'csv'"),
    ("CREATE QUERY q AS SELECT x FROM line LATE INTO csv('x')", "csv", "LATE INTO is not there"),
    ("CREATE QUERY first AS SELECT x FROM line", "first", "it is the name of query q1"),
    ("CREATE QUERY q AS SELECT nix FROM line", "nix", "there is no column nix"),
    ("CREATE QUERY q UNTIL 'never' AS SELECT x FROM line", "UNTIL", "never"),
    ("ALTER QUERY first AS SELECT nix FROM line", "nix", "there is no column nix"),
    ("ALTER QUERY frist AS SELECT x FROM line", "ALTER", "there is no query frist"),
    ("PAUSE QUERY frist", "PAUSE", "there is no query frist"),
    ("INVOKE QUERY frist", "INVOKE", "there is no query frist"),
    ("DROP QUERY frist", "QUERY", "there is no query frist"),
    ("DROP STREAM line", "STREAM", "an engine keeps its streams"),
    ("SHOW TABLES", "SHOW", "an engine has no tables of its own"),
    ("CREATE STREAM a/b FROM json('x') (x INT) ON x", "a", "/ is not allowed here"),
    ("CREATE STREAM `a/b` FROM json('x') (x INT) ON x", "`a/b`", "cannot be a name"),
    ("CREATE STREAM t FROM jsn('x') (x INT) ON x", "jsn", "did you mean 'json'"),
    (
        "CREATE STREAM t FROM json('x') (x INT) ON x DISORDER ORDERED CARRY (y)",
        "CARRY",
        "the columns are x",
    ),
    ("", "", "there is no statement"),
]


@pytest.mark.parametrize(("text", "place", "problem"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_is_refused(engine: mt.Engine, text: str, place: str, problem: str) -> None:
    before = "SHOW STREAMS;\n" if text else ""
    with pytest.raises(mt.SqlError) as caught:
        engine.sql(before + text)
    assert problem in str(caught.value)
    if place and "not allowed here" not in problem:
        assert (before + text)[caught.value.place.offset :].startswith(place)
    if "frist" in problem:
        assert caught.value.suggestion == "first"
    assert shown(engine, "name") == [("first",)]


def test_a_continuous_query_has_no_as_of(engine: mt.Engine) -> None:
    with pytest.raises(mt.SqlError, match="AS OF asks once, and this query goes on"):
        engine.register("past", "SELECT x FROM line AS OF 5")


def test_a_text_can_be_run_again(engine: mt.Engine, rows: Path) -> None:
    """What is there by the same text stays; what is there by another is refused."""
    create = CREATE.format(rows=rows)
    text = f"{create}; CREATE QUERY first AS {SUMS}"
    answer = run_statements(engine, text, keep=True)
    assert answer == pa.table({"done": ["query first is there already"]})
    with pytest.raises(mt.SqlError, match="there is a query first already, with another text"):
        run_statements(engine, "CREATE QUERY first AS SELECT x FROM line", keep=True)
    with pytest.raises(mt.SqlError, match="there is a stream line already, by another statement"):
        run_statements(engine, create.replace("SLACK 1", "SLACK 2"), keep=True)
