"""Files in a batch and in a stream: good rows are all there, malformed ones have their reason."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import ArgumentError
from muntin.spark.connectors.sinks.registry import open_sink
from muntin.spark.connectors.sources.protocol import OpenedSource
from muntin.spark.connectors.sources.registry import open_source
from muntin.spark.queries.progress import Watch

SCHEMA = "ts TIMESTAMP, k STRING, v DOUBLE"
CSV = """ts,k,v
2026-03-03 00:00:00,a,1.5
2026-03-03 00:00:10,b,fast
2026-03-03 00:00:20,a
2026-03-03 00:00:30,,
not a time,a,2.0
2026-03-03 00:00:40,c,3.0
"""
JSON = """{"ts": "2026-03-03 00:00:00", "k": "a", "v": 1.5}
{"ts": "2026-03-03 00:00:10", "k": "b", "v": "fast"}
{"ts": "2026-03-03 00:00:20", "k":
{"ts": "2026-03-03 00:00:30"}

[1, 2]
{"ts": "2026-03-03 00:00:40", "k": "c", "v": 3.0, "more": true}
"""
GOOD = [("a", 1.5), ("c", 3.0), (None, None)]


def opened(
    spark: SparkSession, name: str, path: Path, schema: str | None, **options: Any
) -> OpenedSource:
    streaming = options.pop("streaming", False)
    return open_source(spark, name, [str(path)], options, schema, streaming=streaming)


def values(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, df.select("k", "v").collect()), key=str)


def reasons(rows: Any) -> dict[str, str]:
    return {row["raw"].strip(): row["reason"] for row in rows}


def in_memory(df: DataFrame, name: str, folder: Path) -> StreamingQuery:
    writer = df.writeStream.format("memory").queryName(name)
    query = writer.option("checkpointLocation", str(folder / name)).start()
    query.processAllAvailable()
    return query


@pytest.mark.parametrize("name", ["csv", "json", "parquet"])
@pytest.mark.parametrize("schema", [None, "k STRING, v DOUBLE"])
def test_what_a_sink_wrote_is_read_beside_other_files(
    spark: SparkSession, name: str, schema: str | None, tmp_path: Path
) -> None:
    old = spark.sql("SELECT 'a' AS k, 1.5D AS v")
    old.write.format(name).mode("append").save(str(tmp_path))
    header = {"header": False} if name == "csv" else {}
    for query in ("q", "trigger/keep"):
        put = open_sink(spark, name, [str(tmp_path)], header, query=query)
        put(spark.sql("SELECT 'c' AS k, 3.0D AS v"), 0)
    df = opened(spark, name, tmp_path, schema).df
    assert len(df.columns) == 2
    assert sorted(map(tuple, df.collect())) == [("a", 1.5), ("c", 3.0), ("c", 3.0)]


def test_csv_in_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    made = opened(spark, "csv", path, SCHEMA, header=True)
    assert values(made.df) == GOOD
    assert made.df.count() == 3
    assert made.df.select("k").where("k = 'b'").count() == 0
    assert made.malformed is not None
    assert made.malformed.count() == 3
    rows = made.malformed.collect()
    assert reasons(rows) == {
        "2026-03-03 00:00:10,b,fast": "v: 'fast' is not DOUBLE",
        "2026-03-03 00:00:20,a": "it does not have 3 values",
        "not a time,a,2.0": "ts: 'not a time' is not TIMESTAMP",
    }
    assert {row["origin"].rpartition("/")[2] for row in rows} == {"rows.csv"}


def test_json_in_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.json.gz"
    path.write_bytes(gzip.compress(JSON.encode()))
    made = opened(spark, "json", path, SCHEMA)
    assert values(made.df) == GOOD
    assert made.malformed is not None
    assert reasons(made.malformed.collect()) == {
        '{"ts": "2026-03-03 00:00:10", "k": "b", "v": "fast"}': "v: 'fast' is not DOUBLE",
        '{"ts": "2026-03-03 00:00:20", "k":': "it is not a JSON object",
        "[1, 2]": "it is not a JSON object",
    }


@pytest.mark.parametrize(("name", "text"), [("csv", CSV), ("json", JSON)])
def test_in_a_stream(spark: SparkSession, tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "in"
    options = {"header": True} if name == "csv" else {}
    made = opened(spark, name, folder, SCHEMA, streaming=True, **options)
    assert made.malformed is not None
    assert folder.is_dir()
    (folder / f"1.{name}").write_text(text)
    good = in_memory(made.df, f"good_{name}", tmp_path)
    bad = in_memory(made.malformed, f"bad_{name}", tmp_path)
    try:
        (folder / f"2.{name}").write_text(text)
        good.processAllAvailable()
        bad.processAllAvailable()
        assert len(values(spark.table(f"good_{name}"))) == 6
        assert len(reasons(spark.table(f"bad_{name}").collect())) == 3
        assert Watch(good).look().malformed == 6
    finally:
        good.stop()
        bad.stop()


def test_columns_are_learned_from_the_files(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,k,v\n2026-03-03 00:00:00,a,1.5\n")
    made = opened(spark, "csv", path, None, header=True)
    assert made.df.dtypes == [("ts", "timestamp"), ("k", "string"), ("v", "double")]
    assert made.df.count() == 1


def test_parquet_cannot_be_malformed(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(5).write.parquet(str(tmp_path / "rows"))
    made = opened(spark, "parquet", tmp_path / "rows", None)
    assert made.malformed is None
    assert made.df.count() == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there is no such file or folder in"),
        ({"streaming": True}, r"csv needs one, since there are no files in .* yet"),
        ({"heder": True}, r"csv has no such option \(did you mean 'header'\?\)"),
    ],
)
def test_errors(spark: SparkSession, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        opened(spark, "csv", tmp_path / "nothing", None, **options)


def test_a_schema_that_spark_does_not_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1\n")
    with pytest.raises(ArgumentError, match="schema='a NUMBR' cannot be used: Spark says"):
        opened(spark, "csv", tmp_path / "x.csv", "a NUMBR")


def test_a_doubled_quote_in_csv_is_a_quote(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    path.write_text('k,v\n"a, ""b""",1.5\n"""",2.5\n"C:\\",3.5\n"x""y\n')
    expected = [('"', 2.5), ("C:\\", 3.5), ('a, "b"', 1.5)]
    for schema in ("k STRING, v DOUBLE", None):
        source = opened(spark, "csv", path, schema, header=True)
        assert values(source.df) == expected
        assert source.malformed is not None
        assert list(reasons(source.malformed.collect()).values()) == ["it does not have 2 values"]
    # What the sink writes is read again; another escape can still be asked for.
    folder = tmp_path / "again"
    open_sink(spark, "csv", [str(folder)], {}, query="q")(source.df, 0)
    assert values(opened(spark, "csv", folder, "k STRING, v DOUBLE", header=True).df) == expected
    path.write_text('"a \\"b\\"",1.5\n')
    escaped = opened(spark, "csv", path, "k STRING, v DOUBLE", escape="\\")
    assert values(escaped.df) == [('a "b"', 1.5)]
