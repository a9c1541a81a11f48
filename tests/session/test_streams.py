"""Queries on streams: the same as on a batch, in order within a micro-batch, or refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.parser.parse import parse_query
from muntin.parser.statements import ConnectorCall
from muntin.session.session import SqlSession
from muntin.spark.connectors.sinks.registry import open_sink
from muntin.spark.connectors.sources.registry import open_source
from muntin.testing.replay import Replay, replay
from tests.session.tables import LINE, tables

ROWS = [dict(zip("kxv", row, strict=True)) for row in LINE]
#: The results of every micro-batch.
Batches = list[list[tuple[Any, ...]]]


@pytest.fixture
def line(spark: SparkSession) -> Iterator[Replay]:
    played = replay(spark, [ROWS[:4], ROWS[4:5], ROWS[5:]], "k STRING, x INT, v INT")
    yield played
    played.remove()


def played(line: Replay, text: str, folder: Path) -> Batches:
    """Return a query's results on a stream, micro-batch by micro-batch, until it has ended."""
    stream = line.stream("x", "k", mt.slack(1), shards=2)
    given = {**tables(line.spark), "line": stream}
    answer = SqlSession(line.spark, given).answer(parse_query(text))
    found: Batches = []

    def keep(batch: DataFrame, number: int) -> None:
        rows = batch if answer.finish is None else answer.finish(batch)
        found.append([tuple(row) for row in rows.collect()])

    writer = answer.df.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder))
    writer.trigger(availableNow=True).start().awaitTermination()
    return [rows for rows in found if rows]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT n.name, sum(v) AS total, window_end FROM line [RANGE 4 SLIDE 2 WATTR x] AS l "
        "JOIN names AS n ON l.k = n.key WHERE v > 1 GROUP BY n.name HAVING total > 4",
        "SELECT k, frame_start, frame_end, avg(v) AS mean FROM line [FRAME THRESHOLD v > 3]",
        "SELECT k, note, frame_start, count(*) AS n, sum(v) AS s FROM nights "
        "[STORED FRAMES START began END ended PATTR k] FILL line AFTER 1",
        "SELECT k, l.v, frame_end, count(n.y) AS n FROM (SELECT *, x + 3 AS until FROM line) AS l "
        "[STORED FRAMES START x END until PATTR k DISORDER SLACK 1] "
        "FILL pairs AS n ON y MATCHING (k = key)",
    ],
    ids=["windows", "frames", "stored frames", "a stream of stored frames"],
)
def test_a_stream_answers_as_a_batch(line: Replay, text: str, tmp_path: Path) -> None:
    spark = line.spark
    given = tables(spark)
    given["line"] = mt.stream(given["line"], on="x", by="k")
    expected = sorted((tuple(row) for row in mt.sql(text, **given).collect()), key=str)
    found = sorted((row for batch in played(line, text, tmp_path) for row in batch), key=str)
    assert found == expected
    assert found


def test_the_first_rows_of_every_window_come_in_order(line: Replay, tmp_path: Path) -> None:
    """
    x   0 1 2 . . 5 6 . 8 9     v of a: 5 6 | 1 9     v of b: 7 | 2 4
    """
    text = (
        "SELECT window_end, k, sum(v) AS s FROM line [TUMBLING 5 WATTR x] GROUP BY k "
        "ORDER BY window_end, s DESC LIMIT 1 PER WINDOW"
    )
    assert played(line, text, tmp_path) == [[(5, "a", 11)], [(10, "a", 10)]]


#: The same, described.
RATE = "stream(r, on => timestamp, disorder => SLACK 10 SECONDS)"


def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "SELECT max(value) FROM r [TUMBLING 1 MINUTE WATTR timestamp]",
            "this stream does not declare its disorder",
        ),
        (
            "SELECT max(value) AS m FROM r [TUMBLING 1 MINUTE WATTR timestamp DISORDER ORDERED] "
            "ORDER BY m LIMIT 3",
            "a stream has no end, so it has no first rows",
        ),
        (
            "SELECT max(value) AS m FROM r [TUMBLING 1 MINUTE WATTR timestamp DISORDER ORDERED] "
            "ORDER BY m",
            "a stream is sorted micro-batch by micro-batch",
        ),
        (
            "SELECT median(value) FROM r "
            "[LANDMARK '2026-01-01' SLIDE 1 HOUR WATTR timestamp DISORDER ORDERED]",
            "the state of r would grow for ever: a landmark window may go on for ever",
        ),
        (
            "SELECT DISTINCT m FROM (SELECT max(value) AS m FROM r "
            "[TUMBLING 1 MINUTE WATTR timestamp DISORDER ORDERED])",
            "the state of Spark would grow for ever: DISTINCT remembers every row",
        ),
        (
            "SELECT count(*) FROM r [FRAME THRESHOLD value > 3 WATTR timestamp DISORDER ORDERED] "
            "FILL r AS s",
            "r does not declare its disorder, so no frame would ever be full",
        ),
        (
            "SELECT count(*) AS n FROM r",
            "the state of Spark would grow for ever: an aggregate outside of windows is never",
        ),
        (
            "SELECT max(m) FROM (SELECT window_end AS e, median(value) AS m FROM r "
            "[LANDMARK '2026-01-01' SLIDE 1 HOUR WATTR timestamp DISORDER ORDERED]) "
            "[TUMBLING 1 HOUR WATTR e DISORDER ORDERED]",
            "the state of r would grow for ever: a landmark window",
        ),
        (
            "SELECT a.value FROM r AS a JOIN r AS b ON a.value = b.value",
            "the state of Spark would grow for ever: a join of two streams remembers every row",
        ),
        (
            "SELECT count(*) FROM r AS a [TUMBLING 1 MINUTE WATTR timestamp DISORDER ORDERED] "
            "JOIN r AS b ON a.value = b.value",
            "the state of Spark would grow for ever: a join of two streams remembers every row",
        ),
        (
            "SELECT count(*) FROM (SELECT DISTINCT timestamp, value FROM r) "
            "[TUMBLING 1 MINUTE WATTR timestamp DISORDER ORDERED]",
            "the state of Spark would grow for ever: DISTINCT remembers every row",
        ),
        (
            "WITH u AS (SELECT DISTINCT timestamp, value FROM r) SELECT count(*) FROM u "
            "[TUMBLING 1 MINUTE WATTR timestamp DISORDER ORDERED]",
            "the state of Spark would grow for ever: DISTINCT remembers every row",
        ),
        (
            "WITH a AS (SELECT value FROM r), b AS (SELECT value FROM r) "
            "SELECT a.value FROM a JOIN b ON a.value = b.value",
            "the state of Spark would grow for ever: a join of two streams remembers every row",
        ),
        (
            f"SELECT * FROM asof({RATE}, {RATE}, direction => forward)",
            "the state of r would grow for ever: rows wait for the next row of their key",
        ),
        (
            f"SELECT * FROM resample({RATE}, at => {RATE})",
            "the state of r would grow for ever: instants wait for the next row of their key",
        ),
        (
            f"SELECT * FROM join({RATE}, r, within => 1 MINUTE)",
            "r does not declare its disorder, so nothing would be certain",
        ),
        (
            f"SELECT * FROM asof({RATE}, (SELECT current_timestamp() AS timestamp) AS b)",
            "r is a stream, and b is a table",
        ),
        (
            f"SELECT * FROM lookup({RATE}, r AS s)",
            "s is a stream, and rows are looked up in a table",
        ),
        (
            "WITH a AS (SELECT value AS g, count(*) AS n FROM r [TUMBLING 1 MINUTE WATTR timestamp "
            "DISORDER ORDERED]), b AS (SELECT DISTINCT n FROM a) SELECT * FROM b",
            "the state of Spark would grow for ever: DISTINCT remembers every row",
        ),
        (
            "SELECT value AS g, rank() OVER (ORDER BY count(*)) AS place FROM r "
            "[TUMBLING 1 MINUTE WATTR timestamp DISORDER ORDERED]",
            "Spark has no window functions on streams",
        ),
        (
            "SELECT * FROM r BEGIN (NOW - 1 MINUTE) END (NOW) ON timestamp",
            "a stream has no last row that could be NOW",
        ),
    ],
)
def test_what_a_stream_cannot_do_is_refused(spark: SparkSession, text: str, problem: str) -> None:
    with pytest.raises(mt.SqlError) as error:
        mt.sql(text, r=rate(spark))
    assert error.value.problem.startswith(problem)


def test_state_that_grows_is_kept_when_the_user_says_so(spark: SparkSession) -> None:
    text = (
        "SELECT median(value) AS m FROM r "
        "[LANDMARK '2026-01-01' SLIDE 1 HOUR WATTR timestamp DISORDER ORDERED] WITH UNBOUNDED STATE"
    )
    made = mt.sql(text, r=rate(spark))
    assert made.isStreaming
    assert made.columns == ["m"]


def test_explain_says_where_rows_go(spark: SparkSession) -> None:
    text = (
        "EXPLAIN SELECT value % 7 AS g, sum(value) AS s FROM r [RANGE 5 MINUTES SLIDE 1 MINUTE "
        "WATTR timestamp DISORDER SLACK 10 SECONDS] GROUP BY value % 7 HAVING s > 3"
    )
    (row,) = mt.sql(text, r=rate(spark)).collect()
    lines = [line.rstrip() for line in row.plan.splitlines()]
    assert lines == [
        "relation    r, a stream",
        "operator    WindowOperator",
        "window      RANGE 5 minutes SLIDE 1 minute WATTR timestamp  [CF]",
        "aggregates  sum(value)",
        "panes       1 minute long, 5 per window",
        "rows copied 5 per row by Spark's window(), at most 1 per row here",
        "exchange    rows become panes before the shuffle; where a pane holds about one row per "
        "key they travel as they are; 1 shard",
        "disorder    slack 10 seconds",
        "state       bounded: at most 7 panes per key between punctuations, 40 bytes and the key "
        "each, whatever the number of rows",
        "Stream      windows that punctuation has closed",
        "Store       partial results of open windows",
        "Scratch     empty",
        "Throw       rows once their part is in the state; late rows, counted; windows once "
        "reported",
        "verdict     bounded: whatever the number of rows, for each key",
        "",
        "Spark       SELECT `_group_0` AS g, `_aggregate_0` AS s FROM `w0` AS `r` WHERE "
        "(`_aggregate_0`) > 3",
    ]


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        (
            f"join({RATE}, {RATE}, within => 5 MINUTES, where => left.value < right.value)",
            [
                "operator    PairJoinOperator",
                "join        INNER JOIN WITHIN 5 minutes WHERE left.value < right.value",
                "state       bounded if the rows within 5 minutes are: rows of each side until the "
                "other is complete 5 minutes after them",
                "Scratch     rows that one to come may still meet",
                "verdict     bounded if the rows within 5 minutes are: they wait for partners",
            ],
        ),
        (
            f"zipper({RATE}, {RATE}, every => 1 SECOND, limit => '1 MB')",
            ["verdict     bounded: at most 1,000,000 bytes, then the oldest rows go"],
        ),
        (
            f"asof({RATE}, {RATE}, tolerance => 1 MINUTE, direction => nearest)",
            [
                "Stream      rows once their partner is certain",
                "verdict     bounded if the rows by which one side is ahead of the other are: "
                "they wait for it",
            ],
        ),
        (
            f"resample({RATE}, every => 1 MINUTE)",
            [
                "verdict     bounded: the last row of each key, and rows that punctuation has not "
                "passed"
            ],
        ),
        (
            f"lookup({RATE}, (SELECT 1 AS limit), key => ())",
            ["operator    a join of Spark's", "verdict     bounded: nothing waits for a table"],
        ),
    ],
)
def test_explain_says_what_joins_hold(spark: SparkSession, call: str, lines: list[str]) -> None:
    (row,) = mt.sql(f"EXPLAIN SELECT * FROM {call}", r=rate(spark)).collect()
    plan = [line.rstrip() for line in row.plan.splitlines()]
    assert plan[0] == "relation    r, a stream"
    assert [line for line in plan if line in lines] == lines


def test_explain_draws_both_sides_of_a_join(spark: SparkSession) -> None:
    text = f"EXPLAIN (FORMAT svg) SELECT * FROM lookup({RATE}, (SELECT 1 AS x) AS t, key => ())"
    (row,) = mt.sql(text, r=rate(spark)).collect()
    assert all(f">{label}</text>" in row.plan for label in ("r", "(t)", "table", "lookup"))


def test_an_unbounded_query_is_explained(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    (row,) = mt.sql("EXPLAIN SELECT DISTINCT value FROM r", r=stream).collect()
    assert row.plan.splitlines()[-2:] == [
        "verdict     unbounded: DISTINCT remembers every row",
        "            refused, unless the query says WITH UNBOUNDED STATE",
    ]


def test_what_spark_keeps_of_a_table_is_bounded(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    known = spark.sql("SELECT 1L AS value")
    text = "SELECT value FROM r WHERE value IN (SELECT DISTINCT value FROM known)"
    assert mt.sql(text, r=stream, known=known).isStreaming


def test_a_console_with_few_rows_lets_a_stream_go_on(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit would leave partitions of a micro-batch unread, and their state uncommitted."""
    batches = [[{"k": f"k{n}", "x": x, "v": n} for n in range(40)] for x in range(4)]
    source = replay(spark, batches, "k STRING, x INT, v INT")
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        stream = source.stream("x", "k", mt.ordered(), shards=8)
        query = parse_query("SELECT k, window_end FROM line [TUMBLING 1] GROUP BY k")
        rows = SqlSession(spark, {"line": stream}).answer(query).df
        console = open_sink(spark, "console", [], {"rows": 1}, query="q", run="r")
        writer = rows.writeStream.foreachBatch(console).option("checkpointLocation", str(tmp_path))
        writer.trigger(availableNow=True).start().awaitTermination()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
        source.remove()
    assert "q: 1 of more rows" in capsys.readouterr().out


def test_a_quiet_key_is_passed_over_by_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    """IDLE CLOCK brings its own heartbeat; without it the silent key b would hold a back."""
    rows = [{"k": "b", "x": 0, "v": 1}, *({"k": "a", "x": x, "v": 1} for x in range(8))]
    source = replay(spark, [rows], "k STRING, x INT, v INT", end=False)
    text = (
        "SELECT k, window_end, count(*) AS n FROM line [TUMBLING 5 WATTR x PATTR k "
        "DISORDER EACH (k) IDLE CLOCK 1 SECOND]"
    )
    found: list[tuple[Any, ...]] = []
    writer = mt.sql(text, line=source.df).writeStream.foreachBatch(
        lambda batch, number: found.extend(map(tuple, batch.collect()))
    )
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    deadline = time.monotonic() + 90
    while len(found) < 2 and time.monotonic() < deadline and query.isActive:
        time.sleep(0.5)
    query.stop()
    source.remove()
    assert sorted(found) == [("a", 5, 5), ("b", 5, 1)]


def test_a_heartbeat_closes_the_windows_of_a_silent_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "rows"
    spark.sql("SELECT current_timestamp() AS ts").write.parquet(str(source))
    create = (
        f"CREATE STREAM calls FROM parquet('{source}') (ts TIMESTAMP) ON ts "
        "HEARTBEAT EVERY 1 SECOND BEHIND 1 SECOND;"
    )
    session = SqlSession(spark, open_source=opened_files, streaming=True)
    rows = session.sql(create + "SELECT count(*) AS n FROM calls [TUMBLING 2 SECONDS]")
    found: list[int] = []
    writer = rows.writeStream.foreachBatch(
        lambda batch, number: found.extend(row.n for row in batch.collect())
    )
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    deadline = time.monotonic() + 90
    while not found and time.monotonic() < deadline and query.isActive:
        time.sleep(0.5)
    query.stop()
    assert found == [1]


def test_a_heartbeat_punctuates_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    create = f"CREATE STREAM s FROM json('{tmp_path}/rows') (x INT) ON x HEARTBEAT;"
    session = SqlSession(spark, open_source=opened_files, streaming=True)
    with pytest.raises(mt.ArgumentError, match=r"HEARTBEAT punctuates timestamps.*type int"):
        session.sql(create + "SELECT count(*) AS n FROM s [TUMBLING 2]")
    batch = SqlSession(spark, open_source=opened_files)
    assert batch.sql(create + "SELECT count(*) AS n FROM s [TUMBLING 2]").collect() == []


def opened_files(
    spark: SparkSession, call: ConnectorCall, schema: str | None, live: bool
) -> DataFrame:
    """Open the files of a source, as a session of the command line does."""
    arguments = call.name, call.arguments, call.options, schema
    return open_source(spark, *arguments, streaming=live).df
