"""Arrow scans of streams of Parquet: the rows of Spark's scan, each once, whatever happens."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import ScanError
from muntin.spark.scan import choose, listing
from muntin.spark.scan.file_source import FileSource
from muntin.spark.scan.named_files import NamedFiles, parts_of
from tests.drivers.streams import partitions, play

SCHEMA = "x BIGINT, k STRING, v DOUBLE, part INT"
CLOCK = itertools.count(1_700_000_000)


def put(path: Path, first: int, *, count: int = 40, **changes: pa.Array) -> Path:
    """Write rows from ``x = first`` on; Spark takes files in the order in which they were put."""
    path.parent.mkdir(parents=True, exist_ok=True)
    x = range(first, first + count)
    rows = {"x": pa.array(x), "k": [f"k{n % 3}" for n in x], "v": [n / 8 for n in x], **changes}
    pq.write_table(pa.table(rows), path, row_group_size=7)
    moment = next(CLOCK)
    os.utime(path, (moment, moment))
    return path


def plan_of(source: FileSource | DataFrame, *aggregates: str) -> mt.Plan:
    stream = mt.stream(source, on="x", by="k", disorder=mt.slack(5), shards=2)
    return stream.window(10, 4).plan(*(aggregates or ("count(*) AS n", "sum(v) AS total")))


def rows_of(plan: mt.Plan) -> list[str]:
    return sorted(map(str, play(plan).results))


def is_scanned(plan: mt.Plan) -> bool:
    return plan.parts.inputs[0].rows(False).scan is not None


class Run:
    """Runs plans on one checkpoint, each up to the end of the files that are there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results: dict[int, list[str]] = {}

    def go(self, plan: mt.Plan, stop: Callable[[int], None] = lambda number: None) -> int:
        """Run a plan and return the rows that it read."""

        def keep(rows: DataFrame, number: int) -> None:
            found = sorted(map(str, rows.collect()))
            stop(number)
            self.results[number] = found

        query = mt.write(plan, results=keep, checkpoint=self.folder, trigger={"availableNow": True})
        assert query is not None
        query.awaitTermination()
        return mt.progress(query).get("rows_in", 0)

    @property
    def rows(self) -> list[str]:
        return sorted(itertools.chain.from_iterable(self.results.values()))


@pytest.fixture(autouse=True)
def two_partitions(spark: SparkSession) -> Any:
    with partitions(spark, 2):
        yield


def test_a_stream_has_the_results_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    for number, part in enumerate((1, 2, 1, 2)):
        put(tmp_path / f"files/part={part}/{number}.parquet", 40 * number)
    source = mt.parquet(spark, str(tmp_path / "files"), streaming=True, max_files=1)
    aggregates = "count(*)", "max(part)", "sum(v * 2) FILTER (WHERE part = 1)", "min(x + part)"
    results = []
    for given in (source, source.df):
        plan = plan_of(given, *aggregates)
        assert is_scanned(plan) == (given is source)
        results.append(rows_of(plan))
    assert results[0]
    assert results[0] == results[1]


def test_counts_are_rows_and_each_file_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    source = mt.parquet(
        spark, str(tmp_path / "files"), streaming=True, schema=SCHEMA, pathGlobFilter="*.parquet"
    )
    run, spark_run = Run(tmp_path / "ck"), Run(tmp_path / "ck2")
    for number in range(3):
        put(tmp_path / f"files/part={number % 2}/{number}.parquet", 40 * number)
        put(tmp_path / f"files/part={number % 2}/{number}.other", 40 * number)
        plan = plan_of(source, "count(*) AS n", "max(part) AS part")
        assert is_scanned(plan)
        assert run.go(plan) == 40
        spark_run.go(plan_of(source.df, "count(*) AS n", "max(part) AS part"))
    assert run.rows
    assert run.rows == spark_run.rows


def test_a_micro_batch_that_failed_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(4):
        put(tmp_path / f"files/{number}.parquet", 40 * number)
    source = mt.parquet(spark, str(tmp_path / "files"), streaming=True, max_files=1)
    run = Run(tmp_path / "ck")

    def stop(number: int) -> None:
        if number == 2:
            raise RuntimeError("the sink is full")

    with pytest.raises(StreamingQueryException, match="the sink is full"):
        run.go(plan_of(source), stop)
    assert sorted(run.results) == [0, 1]
    assert run.go(plan_of(source)) == 80
    assert run.rows == rows_of(plan_of(source.df))


@pytest.mark.parametrize("scanned_first", [True, False])
def test_a_checkpoint_continues_with_the_other_scan(
    spark: SparkSession, tmp_path: Path, scanned_first: bool
) -> None:
    # Spark's log has the names of the files that were read, whoever reads their rows.
    source = mt.parquet(spark, str(tmp_path / "files"), streaming=True, schema=SCHEMA)
    run = Run(tmp_path / "ck")
    for number in range(3):
        put(tmp_path / f"files/part={number}/{number} a.parquet", 40 * number)
        plan = plan_of(source if (number % 2 == 0) == scanned_first else source.df)
        assert run.go(plan) == 40
    assert run.rows == rows_of(plan_of(source.df))


def test_a_file_that_only_spark_can_read_is_named(spark: SparkSession, tmp_path: Path) -> None:
    source = mt.parquet(
        spark, str(tmp_path / "files"), streaming=True, schema="x BIGINT, k STRING, d DECIMAL(12,2)"
    )
    run = Run(tmp_path / "ck")
    plan = plan_of(source, "max(d) AS d")
    put(tmp_path / "files/0.parquet", 0, d=pa.array([Decimal("1.25")] * 40, pa.decimal128(12, 2)))
    assert run.go(plan) == 40
    put(tmp_path / "files/1.parquet", 40, d=pa.array([Decimal("1.25")] * 40, pa.decimal128(9, 2)))
    with pytest.raises(StreamingQueryException, match=r"1.parquet cannot be read: .*column d: .*"):
        run.go(plan)
    again = mt.parquet(
        spark, str(tmp_path / "files"), streaming=True, schema="x BIGINT, k STRING, d DECIMAL(12,2)"
    )
    plan = plan_of(again, "max(d) AS d")
    assert "1.parquet" in str(plan.parts.inputs[0].rows(False))
    assert run.go(plan) == 40


def test_a_truncated_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    source = mt.parquet(spark, str(tmp_path / "files"), streaming=True, schema=SCHEMA)
    plan = plan_of(source)
    assert is_scanned(plan)
    whole = put(tmp_path / "files/0.parquet", 0).read_bytes()
    (tmp_path / "files/0.parquet").write_bytes(whole[:200])
    with pytest.raises(StreamingQueryException, match=r"0.parquet cannot be read"):
        Run(tmp_path / "ck").go(plan)


def test_tasks_share_a_large_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "files/0.parquet", 0, count=200)
    source = mt.parquet(spark, str(tmp_path / "files"), streaming=True)
    alone = rows_of(plan_of(source))
    for module in (choose, listing):
        monkeypatch.setattr(module, "SHARED_BYTES", 100)
    plan = plan_of(mt.parquet(spark, str(tmp_path / "files"), streaming=True))
    names = plan.parts.inputs[0].rows(False).df
    run = Run(tmp_path / "ck")
    assert run.go(plan) == 200
    assert run.rows == alone == rows_of(plan_of(source.df))
    seen: list[Any] = []
    names.writeStream.foreachBatch(lambda rows, number: seen.extend(rows.collect())).trigger(
        availableNow=True
    ).option("checkpointLocation", str(tmp_path / "names")).start().awaitTermination()
    cores = spark.sparkContext.defaultParallelism
    assert sorted((row["share"], row["shares"]) for row in seen) == [
        (share, min(cores, 8)) for share in range(min(cores, 8))
    ]


@pytest.mark.parametrize(
    ("pattern", "options"),
    [("", {}), ("*/*", {}), ("a*", {}), ("", {"recursiveFileLookup": True}), ("[a]/0.*", {})],
)
def test_the_files_that_are_read_are_those_of_spark(
    spark: SparkSession, tmp_path: Path, pattern: str, options: dict[str, bool]
) -> None:
    folder = tmp_path / "files"
    for number, name in enumerate(["0", "a/0", "a/1", "a/b/0", "c/0", ".hidden/0", "_logs/0"]):
        put(folder / f"{name}.parquet", 40 * number)
    path = str(folder / pattern) if pattern else str(folder)
    source = mt.parquet(spark, path, streaming=True, schema=SCHEMA, **options)
    plan = plan_of(source)
    assert is_scanned(plan)
    results = rows_of(plan)
    assert results
    assert results == rows_of(plan_of(source.df))


def test_a_pattern_of_uneven_depth_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "a/0.parquet", 0)
    source = mt.parquet(spark, f"{tmp_path}/{{a,b/c}}", streaming=True, schema=SCHEMA)
    assert "has folders in braces" in str(plan_of(source).parts.inputs[0].rows(False))


@pytest.mark.parametrize(
    ("folder", "type_", "value"),
    [
        ("p=7", pa.int32(), 7),
        ("P=-7", pa.int8(), -7),
        ("p=__HIVE_DEFAULT_PARTITION__", pa.int32(), None),
        ("p=a%3Ab c", pa.string(), "a:b c"),
        ("p=2024-02-29", pa.date32(), date(2024, 2, 29)),
        ("p=1.5e3", pa.float64(), 1500.0),
        ("p=TRUE", pa.bool_(), True),
        ("p=anything", None, None),
    ],
)
def test_values_of_folders(folder: str, type_: pa.DataType | None, value: object) -> None:
    files = NamedFiles(parts_of("/data"), False, False, {"p": type_})
    assert files.partition(f"file:/data/{folder}/a.parquet") == {"p": value}


@pytest.mark.parametrize(
    ("folder", "type_"),
    [
        ("p=x", pa.int32()),
        ("p=300", pa.int8()),
        ("p=2024-2-9", pa.date32()),
        ("p=2024-02-30", pa.date32()),
        ("p=2024-01-01 00:00:00", pa.timestamp("us", "UTC")),
        ("p=NaN", pa.float64()),
        ("q=1", pa.int32()),
    ],
)
def test_folders_that_only_spark_reads(folder: str, type_: pa.DataType) -> None:
    files = NamedFiles(parts_of("/data"), False, False, {"p": type_})
    with pytest.raises(ScanError, match=f"/data/{folder}/a.parquet cannot be read: its folder"):
        files.partition(f"file:/data/{folder}/a.parquet")


def test_a_file_elsewhere_is_refused() -> None:
    files = NamedFiles(parts_of("hdfs:/data/x"), False, False, {})
    assert files.is_read("hdfs://namenode:8020/data/x/a.parquet")
    with pytest.raises(ScanError, match="it is not in the folder /data/x"):
        files.is_read("hdfs://namenode:8020/other/a.parquet")
