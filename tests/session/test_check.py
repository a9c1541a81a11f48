"""Checking a text runs nothing: no table, file or setting is changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from muntin.errors import MuntinError
from muntin.session.check import Check

#: Texts that Spark would run at once if it were given them.
COMMANDS = [
    "SELECT id INTO made FROM line",
    "SELECT * FROM (SELECT id INTO made FROM line)",
    "WITH w AS (SELECT id INTO made FROM line) SELECT * FROM w",
    "SELECT id FROM line UNION ALL SELECT id INTO made FROM line",
    "SELECT id FROM line INTO made",
    "SELECT id FROM line INTO parquet('made')",
    "CREATE QUERY q AS SELECT id INTO made FROM line",
    "CREATE QUERY q AS SELECT id FROM line INTO made",
    "EXPLAIN SELECT id INTO made FROM line",
    "CREATE TABLE made AS SELECT id FROM line",
    "CREATE TABLE made (id INT) USING parquet",
    "CREATE OR REPLACE TEMP VIEW made AS SELECT 1",
    "INSERT INTO line SELECT 1",
    "WITH w AS (SELECT 1) INSERT INTO line SELECT * FROM w",
    "FROM line INSERT OVERWRITE TABLE made SELECT id",
    "INSERT OVERWRITE DIRECTORY 'made' USING parquet SELECT 1",
    "DROP VIEW line",
    "DELETE FROM line",
    "UPDATE line SET id = 1",
    "MERGE INTO line USING line AS s ON line.id = s.id WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE line",
    "ALTER TABLE line RENAME TO made",
    "CACHE TABLE line",
    "ADD JAR 'made.jar'",
    "SET spark.sql.shuffle.partitions = 77",
    "RESET",
    "USE made",
    "EXECUTE IMMEDIATE 'CREATE TABLE made (id INT)'",
    "BEGIN CREATE TABLE made (id INT); END",
    "DECLARE made INT",
    "DESCRIBE EXTENDED line",
]


@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
def test_nothing_is_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streaming: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    spark.range(3).createOrReplaceTempView("line")
    warehouse = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))

    def everything() -> object:
        tables = sorted(table.name for table in spark.catalog.listTables())
        stored = sorted(warehouse.rglob("*")) if warehouse.exists() else []
        files = [path for path in sorted(tmp_path.rglob("*")) if "check" not in path.parts]
        settings = spark.conf.get("spark.sql.shuffle.partitions")
        return tables, stored, files, settings, spark.catalog.currentDatabase()

    before = everything()
    for text in COMMANDS:
        check = Check(spark, tmp_path / "check", streaming)
        with pytest.raises(MuntinError):
            check.check(text)
            if check.mistakes:
                raise check.mistakes[0]
        assert everything() == before, text
    Check(spark, tmp_path / "check", streaming).check("DROP TABLE IF EXISTS line; SHOW TABLES")
    assert everything() == before
    spark.catalog.dropTempView("line")


def test_sinks_and_triggers_are_not_opened(spark: SparkSession, tmp_path: Path) -> None:
    made = tmp_path / "made"
    text = f"""CREATE TABLE numbers FROM parquet('nowhere') (id BIGINT);
        CREATE QUERY q AS SELECT id FROM numbers INTO csv('{made}');
        CREATE TRIGGER t ON q DO command('touch {made}');
        SELECT * FROM q"""
    check = Check(spark, tmp_path / "check", streaming=False)
    assert check.check(text) == 4
    assert check.mistakes == []
    assert not made.exists()
