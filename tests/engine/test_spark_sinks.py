"""Sinks of Spark that read the result log, and rows as JSON compared with Spark's."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin.engine.sinks.deliveries import Deliveries
from muntin.engine.sinks.row_json import row_lines
from muntin.engine.sinks.sink_call import SinkCall, to_text
from muntin.engine.sinks.targets import open_target
from muntin.spark.columns import dataframe
from muntin.spark.connectors.sinks.stdout import lines_of
from tests.cli.processes import environment
from tests.engine.test_deliveries import Desk
from tests.servers.database import Database, database
from tests.servers.jars import fetch

CHILD = Path(__file__).with_name("deliver_in_child.py")
_DRIVER = "org.postgresql:postgresql:42.7.14"


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Iterator[Desk]:
    desk = on_spark(spark, Desk(tmp_path / "home"))
    yield desk
    desk.close()


def on_spark(spark: SparkSession, desk: Desk) -> Desk:
    desk.deliveries.close()
    desk.deliveries = Deliveries(
        desk.registry,
        desk.home,
        lambda call, query: open_target(spark, call, query),
        lambda stream, epoch: desk.logs.get(epoch),
        pause=0.01,
    )
    return desk


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_files_have_each_answer_once(
    spark: SparkSession, desk: Desk, tmp_path: Path, form: str
) -> None:
    out = tmp_path / "out"
    desk.query("slow", SinkCall("", form, (str(out),)))
    desk.commit(0, {1: [1, 2]})
    desk.commit(1, {1: [3]})
    (writer,) = out.iterdir()
    assert writer.name.startswith("writer=slow-")
    assert {path.name for path in writer.iterdir()} == {"batch=0", "batch=1"}
    # As if the process had died before it noted its position.
    desk.close()
    for path in desk.home.glob("deliveries.db*"):
        path.unlink()
    again = on_spark(spark, Desk(desk.home))
    again.commit(2, {1: [4]})
    rows = spark.read.format(form).options(header="true").load(str(out)).collect()
    assert sorted(int(row["n"]) for row in rows) == [1, 2, 3, 4]
    again.close()


def test_a_view_has_everything_in_the_next_process_too(spark: SparkSession, desk: Desk) -> None:
    desk.query("slow", SinkCall("", "memory", ("delivered_view",)))
    desk.commit(0, {1: [1, 2]})
    assert sorted(row.n for row in spark.table("delivered_view").collect()) == [1, 2]
    desk.close()
    again = on_spark(spark, Desk(desk.home))
    again.commit(1, {1: [3]})
    assert sorted(row.n for row in spark.table("delivered_view").collect()) == [1, 2, 3]
    again.close()


def test_a_sink_of_spark_that_fails_says_why(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("not a folder")
    desk.query("slow", SinkCall("", "parquet", (str(tmp_path / "out"),), attempts=1))
    desk.query("fast", SinkCall("", "parquet", (str(tmp_path / "fine"),)))
    desk.commit(0, {1: [1], 2: [1]})
    stopped = desk.status(1).stopped
    assert stopped is not None and stopped.startswith("micro-batch 0: ")
    assert desk.status(2).stopped is None
    assert len([*(tmp_path / "fine").iterdir()]) == 1


ROWS = pa.table(
    {
        "text": ["a", 'quote " and \\ and é', None, "\n"],
        "whole": pa.array([1, -(2**40), None, 0], pa.int64()),
        "double": [1.5, float("nan"), float("-inf"), None],
        "truth": [True, False, None, True],
        "decimal": pa.array(
            [Decimal("1.50"), Decimal("-0.01"), None, Decimal(0)], pa.decimal128(9, 2)
        ),
        "day": pa.array([0, 20_000, None, -1], pa.date32()),
        "time": pa.array(
            [
                datetime(2026, 7, 1, 12, 0, 0, 250_000, UTC),
                None,
                datetime(1969, 1, 1, tzinfo=UTC),
                datetime(2026, 1, 1, tzinfo=UTC),
            ],
            pa.timestamp("us", "UTC"),
        ),
        "local": pa.array([datetime(2026, 1, 1), None, None, None], pa.timestamp("us")),
        "bytes": pa.array([b"\x00\xff", b"", None, b"abc"]),
        "list": pa.array([[1.0, None], [], None, [2.5]], pa.list_(pa.float64())),
        "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": 2, "b": ""}]),
        "map": pa.array([[("k", 1)], [], None, [("a", None)]], pa.map_(pa.string(), pa.int64())),
    }
)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_rows_are_json_as_spark_writes_it(spark: SparkSession, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        theirs = [*map(json.loads, lines_of(dataframe(spark, ROWS), "json"))]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    ours = [*map(json.loads, row_lines(ROWS, ZoneInfo(zone)))]
    assert ours == theirs


def test_times_keep_their_microseconds() -> None:
    moment = datetime(2026, 7, 1, 12, 0, 0, 1, UTC)
    table = pa.table({"t": [moment], "l": pa.array([timedelta(minutes=1)], pa.duration("us"))})
    assert row_lines(table, UTC) == ['{"t":"2026-07-01T12:00:00.000001Z","l":60.0}']


def child(home: Path, call: SinkCall, jars: str, death: str) -> int:
    words = [sys.executable, str(CHILD), str(home), to_text(call), jars, death]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.timeout(600)
def test_killed_around_a_delivery_files_have_each_answer_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    call = SinkCall("", "parquet", (str(out),))
    for death in ("during-0", "after-1", "before-2"):
        assert child(home, call, "", death) == -signal.SIGKILL
    assert child(home, call, "", "never") == 0
    rows = spark.read.parquet(str(out)).collect()
    assert sorted(row.n for row in rows) == [1, 2, 3, 4, 5]


@pytest.fixture
def postgres() -> Iterator[Database]:
    with database() as running:
        yield running


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_killed_around_a_delivery_a_table_has_each_answer_once(
    postgres: Database, tmp_path: Path
) -> None:
    why = fetch(_DRIVER, tmp_path / "jars", alone=True)
    if why is not None:
        pytest.skip(why)
    (jar,) = (tmp_path / "jars").glob("*.jar")
    place = {"url": postgres.url, "user": postgres.user, "password": postgres.password}
    call = SinkCall("", "postgres", ("delivered",), place)
    home = tmp_path / "home"
    for death in ("during-0", "after-1", "before-2"):
        assert child(home, call, str(jar), death) == -signal.SIGKILL
    assert child(home, call, str(jar), "never") == 0
    assert postgres.ask("SELECT n FROM delivered ORDER BY n") == ["1", "2", "3", "4", "5"]
