"""Arrow scans of Parquet: the results of Spark's scan, or a reason why Spark reads the files."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.spark.scan.file_source import FileSource


def rows(seed: int, count: int = 300) -> pa.Table:
    """Return rows of many types, with nulls, NaN and both zeros."""
    rng = np.random.default_rng(seed)
    missing = rng.random(count) < 0.1
    floats = rng.choice([0.0, -0.0, float("nan"), 1.5, -2.25], count)
    micros = rng.integers(-(10**9), 10**9, count)
    return pa.table(
        {
            "ts": pa.array(micros, pa.timestamp("us", "Asia/Tokyo"), mask=missing),
            "ms": pa.array(micros // 1000, pa.timestamp("ms", "UTC")),
            "ntz": pa.array(micros, pa.timestamp("us")),
            "day": pa.array(rng.integers(-200_000, 20_000, count).astype(np.int32), pa.date32()),
            "k": pa.array(rng.choice(["a", "b", None], count)).dictionary_encode(),
            "f": pa.array(floats, mask=rng.random(count) < 0.1),
            "i": pa.array(rng.integers(-100, 100, count), pa.int16(), mask=missing),
            "u": pa.array(rng.integers(0, 2**63, count).astype(np.uint64)),
            "d": pa.array(
                [Decimal(int(n)) / 100 for n in rng.integers(-999, 999, count)], pa.decimal128(9, 2)
            ),
        }
    )


def written(folder: Path, seed: int) -> str:
    """Write files of several row groups in folders that are columns."""
    for place, part in enumerate(("1", "2", "__HIVE_DEFAULT_PARTITION__")):
        inside = folder / f"part={part}"
        inside.mkdir(parents=True)
        pq.write_table(rows(seed + place), inside / "a b%.parquet", row_group_size=70)
    return str(folder)


def scan_line(source: FileSource, on: str = "ts", by: str = "k", *aggregates: str) -> str:
    plan = mt.stream(source, on=on, by=by).window("1 minute", "20 seconds").plan(*aggregates)
    rows = plan.parts.inputs[0].rows(False)
    return str(rows)


CASES = [
    ("ts", ["k"], ["sum(i)", "max(f)", "count(*)", "min(d)", "max(u)"]),
    ("ms", ["f"], ["avg(i)", "first(ntz)"]),
    ("ntz", ["part", "k"], ["max(ts)", "count(f)", "stddev_samp(f)"]),
    (
        "ts",
        ["k"],
        [
            "sum(i + 1)",
            "max(f * 2 - i)",
            "count(*) FILTER (WHERE f > 0 OR i BETWEEN -5 AND 5)",
            "sum(100 / i) FILTER (WHERE i <> 0)",  # evaluated only where the condition holds
            "min(d + 0.5)",
            "max(CASE WHEN k = 'a' THEN i END)",
            "max(ms + INTERVAL 1 HOUR)",
        ],
    ),
]


@pytest.mark.parametrize(("on", "by", "aggregates"), CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_scan_has_the_results_of_spark(
    spark: SparkSession, tmp_path: Path, seed: int, on: str, by: list[str], aggregates: list[str]
) -> None:
    source = mt.parquet(spark, written(tmp_path / "files", seed))
    results, refused = [], []
    for given in (source, source.df):
        windows = mt.stream(given, on=on, by=by).window("5 minutes", "2 minutes")
        plan = windows.plan(*aggregates)
        scanned = plan.parts.inputs[0].rows(False).scan is not None
        assert scanned == (given is source)
        texts = [F.col(f"`{name}`").cast("string") for name in plan.df.columns]
        results.append(sorted(map(str, plan.df.select(*texts).collect())))
        refused.append(sorted(map(str, plan.parts.batch_refused().collect())))
    assert results[0]
    assert results[0] == results[1]
    assert refused[0] == refused[1]


def test_int96_and_old_dates_are_as_spark_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    old = [datetime(1500, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)]
    table = pa.table(
        {
            "ts": pa.array(old, pa.timestamp("us", "UTC")),
            "day": pa.array([date(1400, 2, 28), date(1582, 10, 10)], pa.date32()),
        }
    )
    path = str(tmp_path / "int96.parquet")
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    source = mt.parquet(spark, path)
    plans = [
        mt.stream(given, on="ts").tumbling("1 hour").plan("min(day)")
        for given in (source, source.df)
    ]
    assert "Arrow scan" in str(plans[0].parts.inputs[0].rows(False))
    assert sorted(plans[0].df.collect()) == sorted(plans[1].df.collect())


def test_a_missing_column_is_null(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "files"
    path.mkdir()
    pq.write_table(pa.table({"on": [1, 2], "v": [1.0, 2.0]}), path / "a.parquet")
    pq.write_table(pa.table({"ON": [3, 4]}), path / "b.parquet")
    source = mt.parquet(spark, str(path), schema="on BIGINT, v DOUBLE")
    plan = mt.stream(source, on="on").tumbling(10).plan("count(*)", "sum(v)")
    assert [tuple(row)[2:] for row in plan.df.collect()] == [(4, 3.0)]


@pytest.mark.parametrize(
    ("table", "schema", "reason"),
    [
        (pa.table({"on": [1], "v": [1]}), "on BIGINT, v INT", "it has type int64 there"),
        (pa.table({"on": [1], "v": [1], "V": [1]}), "on BIGINT, v BIGINT", "several columns v, V"),
    ],
)
def test_a_file_that_only_spark_can_read(
    spark: SparkSession, tmp_path: Path, table: pa.Table, schema: str, reason: str
) -> None:
    path = str(tmp_path / "one.parquet")
    pq.write_table(table, path)
    source = mt.parquet(spark, path, schema=schema)
    plan = mt.stream(source, on="on").tumbling(10).plan("sum(v)")
    why = str(plan.parts.inputs[0].rows(False))
    assert why.startswith("Spark's scan: ")
    assert reason in why
    assert "one.parquet" in why


def test_expressions_and_settings_that_only_spark_knows(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "one.parquet")
    pq.write_table(rows(1), path)
    source = mt.parquet(spark, path)
    assert "'HASH(i)' is left to Spark" in scan_line(source, "ts", "k", "sum(hash(i))")
    assert "Arrow scan" in scan_line(source, "ts", "k", "sum(i + 1)")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        why = scan_line(source, "ts", "k", "sum(i + 1)")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert "i + 1 is not a plain column, and spark.sql.ansi.enabled is false" in why
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        why = scan_line(source, "ts", "k", "sum(i)")
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    assert why == "Spark's scan: spark.sql.files.ignoreCorruptFiles is not false"


def test_an_error_in_an_expression_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "one.parquet")
    pq.write_table(pa.table({"on": [1, 2], "v": [1, 0]}), path)
    plan = mt.stream(mt.parquet(spark, path), on="on").tumbling(10).plan("sum(6 / v)")
    assert "Arrow scan" in str(plan.parts.inputs[0].rows(False))
    with pytest.raises(PySparkException, match="6 / v"):
        plan.df.collect()


def test_a_stream_filtered_later_is_not_scanned(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "one.parquet")
    pq.write_table(pa.table({"on": [1, 2], "v": [1.0, 2.0]}), path)
    source = mt.parquet(spark, path)
    rows = mt.stream(source.df.where("on > 1"), on="on").tumbling(10).plan("count(*)")
    assert str(rows.parts.inputs[0].rows(False)) == "Spark's scan"
    assert [row[2] for row in rows.df.collect()] == [1]


def test_a_truncated_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "files"
    path.mkdir()
    for name in ("a", "b"):
        pq.write_table(pa.table({"on": [1, 2], "v": [1.0, 2.0]}), path / f"{name}.parquet")
    source = mt.parquet(spark, str(path), schema="on BIGINT, v DOUBLE")
    whole = (path / "b.parquet").read_bytes()
    (path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    plan = mt.stream(source, on="on").tumbling(10).plan("sum(v)")
    assert "b.parquet cannot be read" in str(plan.parts.inputs[0].rows(False))


def test_csv_and_json_are_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("on,v\n1,2\n2,x\n")
    (tmp_path / "a.json").write_text('{"on": 1, "v": 2}\n{"on": 2, "v": "x"}\n')
    schema = "on BIGINT, v BIGINT"
    sources = (
        mt.csv(spark, str(tmp_path / "a.csv"), header=True, schema=schema),
        mt.json(spark, str(tmp_path / "a.json"), schema=schema),
    )
    for source in sources:
        plan = mt.stream(source, on="on").tumbling(10).plan("sum(v)")
        assert "are malformed is decided by Spark's own reader" in str(
            plan.parts.inputs[0].rows(False)
        )
        assert [row[2] for row in plan.df.collect()] == [2]


def test_explain_says_who_reads(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "one.parquet")
    pq.write_table(rows(1), path)
    mt.stream(mt.parquet(spark, path), on="ts").tumbling("1 hour").plan("sum(i)").explain()
    assert "scan        Arrow scan: workers read the files" in capsys.readouterr().out


def test_max_files_needs_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(rows(1), tmp_path / "one.parquet")
    with pytest.raises(mt.ArgumentError, match="only streaming=True reads files in turns"):
        mt.parquet(spark, str(tmp_path), max_files=1)


def test_configure_sets_what_streams_need(spark: SparkSession) -> None:
    names = (
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "spark.sql.execution.arrow.maxBytesPerBatch",
    )
    before = {name: spark.conf.get(name) for name in names}
    try:
        assert mt.configure(spark) is spark
        assert [spark.conf.get(name) for name in names] == ["100000", "2147483647"]
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")
