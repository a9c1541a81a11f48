"""Sources through ``mt.sql``: a text's sources are opened, and errors show their place."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt


def test_a_file_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,k,v\n2026-03-03 00:00:00,a,1\n2026-03-03 00:00:30,a,x\n")
    answer = mt.sql(
        f"CREATE STREAM t FROM csv('{path}', header => true) (ts TIMESTAMP, k STRING, v INT)\n"
        "  ON ts BY k;\n"
        "SELECT k, sum(v) AS v FROM t [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY k"
    )
    assert [tuple(row) for row in answer.collect()] == [("a", 1)]


def test_a_simulation(spark: SparkSession) -> None:
    answer = mt.sql(
        "CREATE TABLE s FROM simulate('retail', hours => 0.5, closed => 0); "
        "SELECT count(DISTINCT store) AS n FROM s"
    )
    assert [row["n"] for row in answer.collect()] == [2]


def test_a_mistake_in_a_call_has_its_place(spark: SparkSession) -> None:
    with pytest.raises(mt.SqlError) as caught:
        mt.sql("CREATE TABLE t\n  FROM csv('x.csv', heder => true);\nSELECT * FROM t")
    message, line, caret = str(caught.value).splitlines()
    assert message.startswith("line 2, column 8: heder => TRUE: csv has no such option")
    assert "(did you mean 'header'?); it takes path, header (optional), max_files" in message
    assert (line, caret) == ("    FROM csv('x.csv', heder => true);", "         ^")
