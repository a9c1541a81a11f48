"""Sinks in a batch and in a stream; a repeated micro-batch writes nothing twice."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import ArgumentError, RequirementError
from muntin.session.triggers.trigger import Ledger, Trigger
from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.connectors.sinks.registry import open_sink, run, together
from muntin.testing import replay

SCHEMA = "k STRING, ts TIMESTAMP, v DOUBLE"


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "SELECT * FROM VALUES (1, 'a,b', NULL, TIMESTAMP '2026-03-03 08:00:00'), "
        "(2, NULL, 0.5, NULL) AS t(n, k, v, ts)"
    ).coalesce(1)


def sink(spark: SparkSession, name: str, *arguments: object, **options: object) -> Sink:
    return open_sink(spark, name, list(arguments), options, query="q")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["csv", "json", "parquet"])
def test_files(spark: SparkSession, rows: DataFrame, name: str, tmp_path: Path) -> None:
    put = sink(spark, name, str(tmp_path / "out"))
    put(rows, 0)
    put(rows, 0)
    put(rows.limit(1), 1)
    options = {"header": "true"} if name == "csv" else {}
    read = spark.read.format(name).options(**options).load(str(tmp_path / "out"))
    assert sorted(str(row["n"]) for row in read.collect()) == ["1", "1", "2"]


def test_files_of_several_writers_stand_beside_each_other(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    def opened(query: str, run: str | None) -> Sink:
        return open_sink(spark, "json", [str(tmp_path)], {}, query=query, run=run)

    first, resumed, anew = (opened("q", run) for run in ("aaaa", "aaaa", "bbbb"))
    first(rows, 0)
    first(rows, 1)
    resumed(rows.limit(1), 1)
    anew(rows, 0)
    opened("q/late", "aaaa")(rows, 0)
    opened("q", None)(rows, 0)
    opened("q", None)(rows.limit(1), 0)
    found = {
        str(path.parent.relative_to(tmp_path)): len(path.read_text().splitlines())
        for path in tmp_path.rglob("part-*.json")
    }
    assert found == {
        "writer=q-aaaa/batch=0": 2,
        "writer=q-aaaa/batch=1": 1,
        "writer=q-bbbb/batch=0": 2,
        "writer=q%2Flate-aaaa/batch=0": 2,
        "writer=q/batch=0": 1,
    }


def test_stdout_as_json(
    spark: SparkSession, rows: DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    sink(spark, "stdout")(rows, 0)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"n": 1, "k": "a,b", "v": None, "ts": "2026-03-03T08:00:00.000Z"}
    assert second == {"n": 2, "k": None, "v": 0.5, "ts": None}


def test_stdout_as_csv_has_its_names_once(
    spark: SparkSession, rows: DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    put = sink(spark, "stdout", "csv")
    put(rows, 0)
    put(rows.limit(1), 1)
    assert capsys.readouterr().out.splitlines() == [
        "n,k,v,ts",
        '1,"a,b",,2026-03-03T08:00:00.000000Z',
        "2,,0.5,",
        '1,"a,b",,2026-03-03T08:00:00.000000Z',
    ]


def test_memory_replaces_a_repeated_micro_batch(spark: SparkSession, rows: DataFrame) -> None:
    put = sink(spark, "memory", "kept")
    put(rows, 0)
    put(rows, 1)
    put(rows, 1)
    assert spark.table("kept").count() == 4


def test_the_console_shows_the_last_rows(
    spark: SparkSession, rows: DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    sink(spark, "console", rows=1)(rows, 0)
    shown = capsys.readouterr().out
    assert "q: 1 of more rows" in shown
    assert "a,b" in shown


def test_times_are_shown_in_the_zone_of_the_session(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The machine's zone is another, and its clock shows the second hour of the day twice."""
    before = spark.conf.get("spark.sql.session.timeZone")
    monkeypatch.setenv("TZ", "America/New_York")
    monkeypatch.setenv("COLUMNS", "200")
    time.tzset()
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        rows = spark.sql(
            "SELECT ts, array(ts) AS several, named_struct('at', ts) AS inner, map('at', ts) AS m "
            "FROM VALUES TIMESTAMP '2026-11-01 14:30:00', TIMESTAMP '2026-11-01 15:30:00' AS t(ts)"
        ).coalesce(1)
        for name, arguments in (("console", []), ("stdout", ["json"]), ("stdout", ["csv"])):
            sink(spark, name, *arguments)(rows if name == "console" else rows.select("ts"), 0)
            shown = capsys.readouterr().out
            assert [shown.count(f"2026-11-01{t}14:30:00") for t in " T"] in ([4, 0], [0, 1]), name
        put = sink(spark, "memory", "zoned")
        put(rows, 0)
        put(rows, 1)
        kept = spark.sql("SELECT DISTINCT CAST(ts AS STRING) AS ts FROM zoned ORDER BY ts")
        assert [row["ts"] for row in kept.collect()] == [
            "2026-11-01 14:30:00",
            "2026-11-01 15:30:00",
        ]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
        monkeypatch.undo()
        time.tzset()


def test_a_plan_of_a_stream_into_several_sinks(spark: SparkSession, tmp_path: Path) -> None:
    moments = [datetime(2026, 3, 3, 0, minute, tzinfo=UTC) for minute in range(4)]
    batches = [[{"k": "a", "ts": moment, "v": 1.0}] for moment in moments]
    source = replay(spark, batches, SCHEMA, folder=tmp_path / "in")
    stream = source.stream("ts", "k", mt.slack("10 seconds"))
    plan = stream.tumbling("1 minute").plan("count(*) AS n")
    fired: list[str] = []
    trigger = Trigger(fired.append, Ledger(tmp_path / "fired"))
    files = sink(spark, "json", str(tmp_path / "out"))
    query = run(plan, [files, trigger], checkpoint=tmp_path / "ck", trigger={"availableNow": True})
    assert query is not None
    query.awaitTermination()
    assert query.exception() is None
    written = spark.read.json(str(tmp_path / "out")).count()
    assert written == len(fired) == trigger.fired == 4


def test_a_trigger_goes_on_where_it_was(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    """A process died after the first row of micro-batch 7."""
    fired: list[str] = []
    ledger = Ledger(tmp_path)
    ledger.note(7)
    Trigger(fired.append, ledger)(rows, 7)
    assert [json.loads(row)["n"] for row in fired] == [2]
    Trigger(fired.append, ledger)(rows, 7)
    assert len(fired) == 1


def test_a_trigger_stops_nothing(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    def broken(row: str) -> None:
        raise KeyError(row)

    trigger = Trigger(broken, Ledger(tmp_path))
    trigger(rows, 0)
    assert (trigger.fired, trigger.failed) == (0, 2)
    assert "KeyError" in (tmp_path / "failed.jsonl").read_text()


def test_rows_are_made_also_for_no_sink(spark: SparkSession, tmp_path: Path) -> None:
    together([])(spark.sql("SELECT 1 AS x"), 0)
    with pytest.raises(Exception, match="nobody wants this"):
        together([])(spark.sql("SELECT raise_error('nobody wants this') AS x"), 0)


def test_what_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ArgumentError, match=r"no such sink \(did you mean 'parquet'\?\)"):
        sink(spark, "parket", "x")
    with pytest.raises(RequirementError, match="this session has no Delta Lake"):
        sink(spark, "delta", "x")
    with pytest.raises(
        ArgumentError, match="it is an address such as 'postgresql://localhost:5432/mydb'"
    ):
        sink(spark, "postgres", "t", url="mysql://x")


def test_no_connector(spark: SparkSession, rows: DataFrame) -> None:
    put = sink(spark, "kafka", "t", servers="127.0.0.1:1")
    with pytest.raises(RequirementError, match=r"spark-sql-kafka-0-10_2\.13:4\.3"):
        put(rows, 0)
