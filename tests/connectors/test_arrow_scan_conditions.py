"""Conditions on files: workers choose the rows that Spark chooses, and skip row groups."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.expressions.row_expression import compile_row_expression
from muntin.spark.scan.file_source import FileSource
from muntin.spark.scan.parquet_files import ParquetReader, footer_of
from muntin.spark.scan.pruning import limits_of
from muntin.spark.scan.scan import PlannedPieces

NAN = float("nan")
#: Four row groups: ordinary rows, only NaN and nulls, only nulls, and rows with both zeros.
TABLE = pa.table(
    {
        "x": [0, 1, 2, 3, 4, 5, 6, 7],
        "i": pa.array([1, 2, 3, None, None, None, -5, 9], pa.int32()),
        "f": [1.0, 2.5, NAN, None, None, None, -0.0, 0.0],
        "s": ["a", "b", "ü", None, None, None, "", "c"],
        "d": pa.array([0, 1, 2, None, None, None, 19_000, 19_001], pa.date32()),
        "t": pa.array([0, 1, 2, None, None, None, 10**6, 10**7], pa.timestamp("ms", "UTC")),
    }
)
TYPES = {
    "x": pa.int64(),
    "i": pa.int32(),
    "f": pa.float64(),
    "s": pa.string(),
    "d": pa.date32(),
    "t": pa.timestamp("us", "UTC"),
}
#: Conditions, and the row groups that may have rows which meet them.
CONDITIONS = [
    ("i > 2", {1, 3}),
    ("3 <= i", {1, 3}),
    ("i < 2 AND x < 4", {0}),
    ("i = 9", {3}),
    ("i <> 9", {0, 1, 2, 3}),
    ("i <=> NULL", {0, 1, 2, 3}),
    ("i IS NULL", {0, 1, 2, 3}),
    ("i > 1.5", {0, 1, 3}),
    ("NOT (i > 2)", {0, 1, 2, 3}),
    ("i > 2 OR x = 0", {0, 1, 2, 3}),
    ("f < 0", {1}),  # a group of NaN has no statistics, and -0.0 is 0.0
    ("f <= 0", {1, 3}),
    ("f > 2", {0, 1, 2, 3}),  # NaN is above all numbers, and statistics do not have it
    ("f = 2.5", {0, 1}),
    ("f = 0", {1, 3}),
    ("s >= 'ü'", {1}),
    ("s = 'b' AND i > 0", {0, 3}),
    ("s LIKE 'b%'", {0, 1, 2, 3}),
    ("d > DATE '2000-01-01'", {3}),
    ("t >= TIMESTAMP '1970-01-01 00:10:00'", {3}),
    ("t < '1970-01-01 00:00:00.001'", {0}),
    ("abs(i) > 4", {0, 1, 2, 3}),
]


def written(folder: Path) -> str:
    path = folder / "one.parquet"
    pq.write_table(TABLE, path, row_group_size=2)
    return str(path)


def windows(source: FileSource | object) -> mt.Plan:
    stream = mt.stream(source, on="x")  # type: ignore[arg-type]
    return stream.tumbling(1).plan("max(i)", "max(f)", "max(s)", "count(*)")


@pytest.mark.parametrize(("condition", "groups"), CONDITIONS)
def test_row_groups_that_are_left_out(tmp_path: Path, condition: str, groups: set[int]) -> None:
    footer = footer_of(written(tmp_path))
    compiled = compile_row_expression(condition, TYPES, zone="UTC", errors="raise")
    reader = ParquetReader(pa.schema(TYPES.items()), limits=limits_of([compiled]))
    wanted = set(reader.wanted(footer, {}))
    assert wanted == groups
    kept = {group for group in range(4) if any(_kept(compiled, group))}
    assert kept <= wanted


def _kept(compiled: object, group: int) -> list[bool | None]:
    rows = TABLE.slice(2 * group, 2).cast(pa.schema(TYPES.items()))
    return compiled.evaluate(rows).to_pylist()  # type: ignore[attr-defined]


def test_rows_that_meet_conditions_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    source = mt.parquet(spark, written(tmp_path))
    for condition, _ in CONDITIONS:
        plans = [windows(given) for given in (source.where(condition), source.df.where(condition))]
        assert plans[0].parts.inputs[0].rows(False).scan is not None, condition
        found = [sorted(map(str, plan.df.collect())) for plan in plans]
        assert found[0] == found[1], condition


def test_two_conditions_and_a_boolean_column(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"x": [0, 1, 2, 3], "on": [True, False, None, True], "v": [1, 0, 0, 5]})
    pq.write_table(table, tmp_path / "b.parquet")
    source = mt.parquet(spark, str(tmp_path / "b.parquet")).where("on").where("10 / v > 1")
    plan = mt.stream(source, on="x").tumbling(10).plan("count(*)", "sum(10 / v)")
    assert plan.parts.inputs[0].rows(False).scan is not None
    assert [tuple(row)[2:] for row in plan.df.collect()] == [(2, 12.0)]


def test_row_groups_and_folders_are_skipped(spark: SparkSession, tmp_path: Path) -> None:
    for part in (1, 2, 3):
        folder = tmp_path / f"files/part={part}/day=2024-01-0{part}"
        folder.mkdir(parents=True)
        rows = pa.table({"x": np.arange(100 * part, 100 * part + 100)})
        pq.write_table(rows, folder / "a.parquet", row_group_size=10)
    source = mt.parquet(spark, str(tmp_path / "files"))
    chosen = source.where("part >= 2 AND day < DATE '2024-01-03' AND x >= 275")
    plan = mt.stream(chosen, on="x", by="part").tumbling(1000).plan("count(*) AS n", "min(day)")
    scan = plan.parts.inputs[0].rows(False).scan
    assert scan is not None
    assert isinstance(scan.pieces, PlannedPieces)
    read = [(piece.partition["part"], piece.groups) for task in scan.pieces.tasks for piece in task]
    assert read == [(2, (7,)), (2, (8,)), (2, (9,))]
    assert [(row["part"], row["n"], row[-1]) for row in plan.df.collect()] == [
        (2, 25, date(2024, 1, 2))
    ]


def test_nothing_is_left(spark: SparkSession, tmp_path: Path) -> None:
    plan = windows(mt.parquet(spark, written(tmp_path)).where("x > 100"))
    assert plan.df.collect() == []


def test_conditions_that_only_spark_knows(spark: SparkSession, tmp_path: Path) -> None:
    source = mt.parquet(spark, written(tmp_path))
    hashed = windows(source.where("hash(i) <> 0"))
    assert "'hash(i) <> 0' is left to Spark" in str(hashed.parts.inputs[0].rows(False))
    column = windows(source.where(F.col("i") > 2))
    assert str(column.parts.inputs[0].rows(False)).endswith("the condition is a PySpark column")
    assert sum(row["count(*)"] for row in column.df.collect()) == 2
    with pytest.raises(mt.ArgumentError, match="nothere"):
        source.where("nothere > 1")
    with pytest.raises(mt.ArgumentError, match="SQL text or a PySpark column"):
        source.where(3)  # type: ignore[arg-type]
