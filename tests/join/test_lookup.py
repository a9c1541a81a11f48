"""Lookups: a stream probes a stored table, also while the table changes."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import muntin as mt
from muntin.testing import assert_same_rows

Row = dict[str, Any]
SCHEMA = "ts TIMESTAMP, car STRING, speed DOUBLE"


def minute(n: float) -> datetime:
    return datetime(2026, 1, 5, 9) + timedelta(minutes=n)


SPEEDS = [(minute(0), "a", 50.0), (minute(1), "b", 90.0), (minute(9), None, 30.0)]


@pytest.fixture(scope="module")
def speeds(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(SPEEDS, SCHEMA)


@pytest.fixture(scope="module")
def owners(spark: SparkSession) -> DataFrame:
    """Return two owners of one car, and an owner whose car is null."""
    rows = [(minute(0), "a", "Ada", 60.0), (minute(5), "a", "Abe", 40.0), (minute(9), None, "?", 1)]
    typed = [(*row[:3], float(row[3])) for row in rows]
    return spark.createDataFrame(typed, "ts TIMESTAMP, car STRING, owner STRING, most DOUBLE")


def told(df: DataFrame, *names: str) -> list[Row]:
    return [{name: row[name] for name in names} for row in df.collect()]


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("left", [("a", "Ada"), ("a", "Abe"), ("b", None), (None, "?")]),
        ("inner", [("a", "Ada"), ("a", "Abe"), (None, "?")]),
        ("semi", [("a",), (None,)]),
        ("anti", [("b",)]),
    ],
)
def test_by_key(speeds: DataFrame, owners: DataFrame, how: str, wanted: list[Any]) -> None:
    joined = mt.stream(speeds, "ts", "car").lookup(owners, how=how).df
    names = ("car", "owner")[: len(wanted[0])]
    assert_same_rows(told(joined, *names), [dict(zip(names, row, strict=True)) for row in wanted])


def test_columns_of_the_table_stand_behind(speeds: DataFrame, owners: DataFrame) -> None:
    joined = mt.stream(speeds, "ts", "car").lookup(owners).df
    assert joined.columns == ["ts", "car", "speed", "right_ts", "owner", "most"]


def test_near_and_where(speeds: DataFrame, owners: DataFrame) -> None:
    stream = mt.stream(speeds, "ts", "car")
    near = stream.lookup(owners, within="1 minute", how="inner").df
    assert_same_rows(told(near, "owner"), [{"owner": "Ada"}, {"owner": "?"}])
    fast = stream.lookup(owners, where="left.speed > right.most", how="inner").df
    assert_same_rows(told(fast, "owner"), [{"owner": "Abe"}, {"owner": "?"}])
    other = owners.withColumnsRenamed({"car": "sign", "ts": "since"})
    back = stream.lookup(
        other, "sign", within="2 minutes", direction="backward", on="since", how="inner"
    )
    assert_same_rows(told(back.df, "owner"), [{"owner": "Ada"}, {"owner": "?"}])


def test_a_table_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    """A query sees a file that is added while it runs, also after it is started again."""
    folder, rows = tmp_path / "owners", tmp_path / "rows"
    folder.mkdir()
    _owner(folder, "one", "a", "Ada")
    _speed(rows, 0, "b")
    df = spark.readStream.schema(SCHEMA).json(str(rows))
    stream = mt.stream(df, "ts", "car", mt.ordered())
    lookup = stream.lookup(spark.read.parquet(str(folder)), refresh="1 second")
    for run, (car, owner) in enumerate([("b", "Bob"), ("c", "Cid")]):
        query = (
            lookup.df.writeStream.format("memory")
            .queryName(f"owners{run}")
            .option("checkpointLocation", str(tmp_path / f"checkpoint{run}"))
            .start()
        )
        try:
            query.processAllAvailable()
            _owner(folder, owner, car, owner)
            seen = _until(spark, rows, query, car, owner)
        finally:
            query.stop()
        assert seen
        assert spark.table(query.name).orderBy("ts").collect()[0].owner == (None, "Bob")[run]
    assert "read again after 1 s" in lookup.explanation


def _until(spark: SparkSession, rows: Path, query: StreamingQuery, car: str, owner: str) -> bool:
    """Write rows until one is reported with the owner, for at most about a minute."""
    for _ in range(60):
        _speed(rows, len(list(rows.glob("*.json"))), car)
        query.processAllAvailable()
        if any(row.owner == owner for row in spark.table(query.name).collect()):
            return True
        time.sleep(1)
    return False


def _owner(folder: Path, file: str, car: str, owner: str) -> None:
    """Write an owner to the table without Spark, so that the session does not know of it."""
    pq.write_table(pa.table({"car": [car], "owner": [owner]}), folder / f"{file}.parquet")


def _speed(folder: Path, number: int, car: str) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number}.json"
    hidden.write_text(f'{{"ts": "2026-01-05 09:00:{number:02}", "car": "{car}", "speed": 1.0}}\n')
    hidden.rename(folder / f"{number}.json")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"how": "full"}, "how='full'"),
        ({"refresh": "1 minute"}, "a batch reads the table once"),
        ({"refresh": 3}, "it is a time"),
        ({"where": "left.sped > 1"}, "sped"),
        ({"where": "left.speed >"}, "where|speed"),
        ({"key": "owner_id"}, "key='owner_id' is not a column"),
        ({"prefix": ""}, "a column 'ts' is there already"),
    ],
)
def test_a_mistake_is_named(
    speeds: DataFrame, owners: DataFrame, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(mt.MuntinError, match=says):
        mt.stream(speeds, "ts", "car").lookup(owners, **given)
