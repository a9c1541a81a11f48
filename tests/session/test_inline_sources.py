"""Sources that a query names itself, and what DESCRIBE says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt

ROWS = """time;station;code;speed;ok
2026-03-02 23:56:00;a;00123;61.5;true
2026-03-02 23:57:00;b;00124;62.5;false
2026-03-02 23:58:00;a;00125;;true
"""


def test_files_are_asked_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "readings.csv"
    file.write_text(ROWS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.json").write_text('{"code": "00123", "name": "north"}\n')
    spark.sql("SELECT '00124' AS code, 'south' AS name").write.parquet(
        str(tmp_path / "south.parquet")
    )
    rows = mt.sql(
        f"""SELECT readings.code, name, speed FROM '{file}'
            JOIN (SELECT * FROM '{tmp_path}/folder' UNION SELECT * FROM '{tmp_path}/south.parquet')
              AS names ON names.code = readings.code
            ORDER BY code"""
    )
    assert [tuple(row) for row in rows.collect()] == [
        ("00123", "north", 61.5),
        ("00124", "south", 62.5),
    ]
    windows = mt.sql(
        f"""SELECT station, avg(speed) AS speed
            FROM csv('{file}', sep => ';') AS r [TUMBLING 5 MINUTES WATTR time]
            GROUP BY station ORDER BY station"""
    )
    assert [tuple(row) for row in windows.collect()] == [("a", 61.5), ("b", 62.5)]
    described = mt.sql(f"CREATE STREAM t FROM '{file}' ON time BY station; DESCRIBE t").collect()
    assert [tuple(row) for row in described] == [
        ("time", "TIMESTAMP", "ON"),
        ("station", "STRING", "BY"),
        ("code", "STRING", None),
        ("speed", "DOUBLE", None),
        ("ok", "BOOLEAN", None),
        ("header", "true", "found in the first file"),
        ("sep", ";", "found in the first file"),
    ]
    names = {row["name"] for row in mt.sql("SHOW FUNCTIONS appro").collect()}
    assert {"approx_count_distinct", "approx_percentile"} <= names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT * FROM 'nothing.csv'",
            "line 1, column 15: path => 'nothing.csv': .* no such file",
        ),
        ("SELECT * FROM 'pyproject.toml'", "no name says what it is"),
        ("SELECT * FROM csv('x', heder => true)", "did you mean 'header'"),
        ("SET zone = 'UTC'", "SET is for a session of muntin sql"),
        ("DESCRIBE nothing", "there is no table nothing"),
    ],
)
def test_what_cannot_be_asked(spark: SparkSession, text: str, message: str) -> None:
    with pytest.raises(mt.SqlError, match=message):
        mt.sql(text)


def test_safe_mode_looks_at_files_in_queries(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("k,v\na,1\n")
    text = f"SELECT * FROM '{tmp_path}/in.csv'"
    assert mt.sql(text, safe=True, root=tmp_path).count() == 1
    for elsewhere in ("/etc/passwd", f"{tmp_path}/../x.csv", "-"):
        with pytest.raises(mt.SqlError, match="is not below"):
            mt.sql(f"SELECT * FROM '{elsewhere}'", safe=True, root=tmp_path)
    with pytest.raises(mt.SqlError, match="there are no files in safe mode"):
        mt.sql(text, safe=True)
