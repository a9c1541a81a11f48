"""Texts and names in SQL mean what Spark reads them as."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.parser.parse import parse
from muntin.parser.statements import CreateTable

#: Texts with doubled quotes, escapes, raw and consecutive ones.
LITERALS = [
    *("'it''s'", "''''", "'''a'", "'a''''b'", '"a""b"', '""""', "'a\"\"b'", "\"a''b\"", "''"),
    *(r"'it\'s'", r"'\\''b'", r"'a\nb'", r"'\u00e9'", r"'\U0001F600'", r"'\%x\_'", r"'\101'"),
    *(r"'\x'", r"r'a\nb'", r"R'it''s'", 'r"a\\"', r"'a' r'\n'", "'a' 'b''c'", "'a'\"b\"", "'{x}'"),
]


def test_literals_are_read_as_spark_reads_them(spark: SparkSession) -> None:
    text = "SELECT " + ", ".join(f"{literal} AS c{n}" for n, literal in enumerate(LITERALS))
    line = spark.range(1)
    assert tuple(mt.sql(f"{text} FROM line", line=line).collect()[0]) == tuple(
        spark.sql(text).collect()[0]
    )


def test_literals_in_windows_frames_and_fills(spark: SparkSession) -> None:
    rows = [("it's", 1, 5), ("its", 2, 9)]
    line = mt.stream(spark.createDataFrame(rows, "`k``s` STRING, x INT, v INT"), on="x")
    found = mt.sql(
        """SELECT sum(v) FILTER (WHERE `k``s` = 'it''s') AS one, count(*) AS n, 'a''b' AS `c``d`,
                  first(concat(`k``s`, '''')) AS quoted
           FROM line [TUMBLING 10] GROUP BY 'it''s'""",
        line=line,
    )
    assert found.columns == ["one", "n", "c`d", "quoted"]
    assert [tuple(row) for row in found.collect()] == [(5, 2, "a'b", "it's'")]
    framed = mt.sql(
        """SELECT frame_start, count(f.v) AS n FROM line [FRAME THRESHOLD `k``s` = 'it''s']
           FILL line AS f BEFORE 5 AFTER 5 WHERE `k``s` <> 'it''s'""",
        line=line,
    )
    assert [tuple(row) for row in framed.collect()] == [(1, 1)]
    windows = line.tumbling(10)
    assert windows.agg("count(*) FILTER (WHERE `k``s` = 'it''s') AS n").collect()[0]["n"] == 1


@pytest.mark.parametrize(
    ("written", "meant"), [("'it''s.csv'", "it's.csv"), ("r'a\\b.csv'", "a\\b.csv")]
)
def test_arguments_are_read_as_texts_are(written: str, meant: str) -> None:
    (created,) = parse(f"CREATE TABLE t FROM csv({written})")
    assert isinstance(created, CreateTable)
    assert created.source.arguments == (meant,)
