"""What is refused before anything runs, and what is left of it: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.session.pipeline import Pipeline


def pipeline(spark: SparkSession, folder: Path, *, streaming: bool = False) -> Pipeline:
    return Pipeline(
        spark,
        folder / "checkpoint",
        streaming,
        lambda name, live: lambda rows, number: None,
        lambda rows: None,
        trigger={"availableNow": True},
        whole=True,
        end=False,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE x FROM csv('f', heder => true)", "did you mean 'header'"),
        ("CREATE TABLE x FROM cvs('f')", "did you mean 'csv'"),
        ("CREATE STREAM x FROM simulate('freeway', hour => 1) ON ts", "hour => 1"),
        (
            "CREATE QUERY x AS SELECT 1 AS n INTO csv('f', modus => 1)",
            "modus => 1: csv has no such",
        ),
        ("CREATE QUERY x AS SELECT nothing INTO csv('f')", "there is no column nothing"),
        ("CREATE QUERY x AS SELECT * FROM csv('f', heder => true)", "did you mean 'header'"),
    ],
)
def test_a_failed_create_leaves_nothing_of_its_name(
    spark: SparkSession, tmp_path: Path, text: str, message: str
) -> None:
    made = pipeline(spark, tmp_path)
    with pytest.raises(mt.SqlError, match=message):
        made.run(text)
    assert made.session.catalog.relations == {}
    assert made.run(f"CREATE QUERY x AS SELECT 1 AS n INTO json('{tmp_path}/out')") == 1


def test_a_failed_trigger_leaves_nothing_of_its_name(spark: SparkSession, tmp_path: Path) -> None:
    made = pipeline(spark, tmp_path)
    made.run("CREATE QUERY q AS SELECT 1 AS n")
    with pytest.raises(mt.SqlError, match="a => 1: webhook has no such option"):
        made.run("CREATE TRIGGER x ON q DO webhook('http://localhost', a => 1)")
    assert made.session.catalog.triggers == {}


def test_set_zone_changes_how_a_session_reads_times(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    made = pipeline(spark, tmp_path)
    try:
        made.run("SET zone = 'europe/berlin'")
        assert spark.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
        with pytest.raises(mt.SqlError, match="there is no such zone"):
            made.run("SET zone = 'Europe/Berln'")
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
