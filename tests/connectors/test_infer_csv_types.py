"""The columns inferred from files are those that Spark would find, whatever comes late."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from muntin.spark.connectors.sources.infer_csv_types import infer_columns
from muntin.spark.connectors.sources.registry import open_source

#: So many lines come before the last one.
MANY = 2000
HEADER = {"header": "true"}


def types(columns: StructType | None) -> list[str]:
    assert columns is not None
    return [field.dataType.simpleString() for field in columns]


def by_spark(spark: SparkSession, path: Path, options: dict[str, str]) -> StructType:
    reader = spark.read.options(**options).option("inferSchema", "true")
    return reader.csv(str(path)).schema


def test_what_comes_late_counts(spark: SparkSession, tmp_path: Path) -> None:
    """Each column is one thing in the first lines and another in the last."""
    early = "1,2147483647,1,2026-01-01,2026-01-01,,true,1,7,1.5,x"
    late = "2.5,2147483648,east,2026-01-01 10:00:00,2026-12-31,4,false,,NaN,1e3,9"
    names = "real,long,text,moment,day,sparse,truth,whole,nan,power,name"
    path = tmp_path / "late.csv"
    path.write_text("\n".join([names, *[early] * MANY, late]) + "\n")
    found = infer_columns(spark, str(path), HEADER)
    assert found == by_spark(spark, path, HEADER)
    assert types(found) == [
        *("double", "bigint", "string", "timestamp", "date", "int"),
        *("boolean", "int", "double", "double", "string"),
    ]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a,a,\n1,2,3\n", HEADER),
        ("1;x\n;y\n", {"header": "false", "sep": ";"}),
        ('k,v\n"a ""b"", c",1\n\n"d",-2\n', HEADER),
        ("k,v\nNA,1\nNA,NA\n", {**HEADER, "nullValue": "NA"}),
        ("k,v\r\n 5,+5\r\n", HEADER),
        ("k,v\n2026-13-01,2011-09-15 00:00:00-07\n", HEADER),
        ("k,v\n99999999999999999999,1.\n", HEADER),
        ("k,v\n", HEADER),
        ("k,v,w\n1,1,1\n2147483648,2147483648,99999999999999999999\n,0.5,\n", HEADER),
        ("k,v\n'x';1\n", HEADER),
        ("k,v\n" + "".join(f"{'x' * n},{'1' * (n % 9 + 1)}\n" for n in range(100)), HEADER),
        ("k,v\n" + "".join(f"{'0' * n}1e{n},1\n" for n in range(100)), HEADER),
    ],
)
def test_the_same_as_spark(
    spark: SparkSession, tmp_path: Path, text: str, options: dict[str, str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    assert infer_columns(spark, str(path), options) == by_spark(spark, path, options)


def test_common_types_need_no_job(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,k,n,v,name\n2026-03-03 00:00:00,1,2147483648,1,a\n,2,3,0.5,b c\n")
    context = spark.sparkContext
    context.setJobGroup("inferring", "no job has this group")
    try:
        found = infer_columns(spark, str(path), HEADER)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    assert types(found) == ["timestamp", "int", "bigint", "double", "string"]
    assert list(context.statusTracker().getJobIdsForGroup("inferring")) == []


def test_several_files_and_compressed_ones(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("k,v\na,1\n")
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"k,v\nb,2.5\n"))
    (tmp_path / "3.csv.bz2").write_bytes(bz2.compress(b"k,v\nc,3\n"))
    (tmp_path / "_SUCCESS").write_text("not,a\nfile,either\n")
    assert types(infer_columns(spark, str(tmp_path), HEADER)) == ["string", "double"]
    assert types(infer_columns(spark, str(tmp_path / "[13]*"), HEADER)) == ["string", "int"]


def test_a_line_that_is_no_row_says_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """To Spark's own learning it would make the first column a text."""
    path = tmp_path / "rows.csv"
    path.write_text("ts,v\n2026-03-03 00:00:00,1\noops\n2026-03-03 00:00:10,2\n")
    assert types(infer_columns(spark, str(path), HEADER)) == ["timestamp", "int"]
    made = open_source(spark, "csv", [str(path)], {"header": True}, None, streaming=False)
    assert made.df.count() == 2
    assert made.malformed is not None
    assert [row["raw"] for row in made.malformed.collect()] == ["oops"]


def test_what_only_spark_can_say(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("v\n" + "".join(f"{'0' * n}1e{n}\n" for n in range(600)))
    assert infer_columns(spark, str(path), HEADER) is None  # too many kinds, no text
    path.write_text("v\n1\n")
    assert infer_columns(spark, str(path), {**HEADER, "dateFormat": "dd.MM.yyyy"}) is None
    assert infer_columns(spark, str(tmp_path / "nothing"), HEADER) is None
    path.write_bytes(b"\xff\xfe\x00\x80\n")
    assert infer_columns(spark, str(path), HEADER) is None
    (tmp_path / "year=2026").mkdir()
    assert infer_columns(spark, str(tmp_path), HEADER) is None
