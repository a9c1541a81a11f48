"""Safe mode where it meets Spark: its functions, its tables, and an engine's texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.errors import ArgumentError, MuntinError
from muntin.session.safe.spark_functions import ALLOWED, REFUSED


def test_every_function_of_spark_is_allowed_or_refused(spark: SparkSession) -> None:
    """A new version of Spark has new functions: say of each whether it only computes."""
    listed = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    calls = {name for name in listed if re.fullmatch(r"\w+", name)}
    assert len(calls) > 400
    assert calls - ALLOWED - {*REFUSED} == set()
    assert ALLOWED & {*REFUSED} == set()
    assert {*REFUSED} <= calls  # the names are spelled as Spark spells them


def test_a_safe_text_reads_what_it_is_given(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, 2.0), (7, 3.0)], "x INT, v DOUBLE")
    text = (
        "WITH big AS (SELECT x, v FROM t WHERE v > abs(-1)) "
        "SELECT max(v) AS hi FROM big [RANGE 5 SLIDE 5 WATTR x]"
    )
    safe = mt.sql(text, t=rows, safe=True)
    assert sorted(map(tuple, safe.collect())) == sorted(map(tuple, mt.sql(text, t=rows).collect()))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM kept_elsewhere",
        "SELECT * FROM kept_elsewhere [RANGE 5 SLIDE 5 WATTR id]",
        "SELECT * FROM (SELECT * FROM kept_elsewhere) q",
        "SELECT * FROM t WHERE x IN (SELECT id FROM kept_elsewhere)",
        "SELECT * FROM (WITH kept_elsewhere AS (SELECT 1) SELECT 1), kept_elsewhere",
        "SELECT * FROM asof(stream(t, on => x), stream(kept_elsewhere, on => id))",
    ],
)
def test_a_table_of_spark_is_not_there(spark: SparkSession, text: str) -> None:
    rows = spark.createDataFrame([(1, 2.0)], "x INT, v DOUBLE")
    spark.range(3).createOrReplaceTempView("kept_elsewhere")
    try:
        with pytest.raises(MuntinError, match="there is no stream or table kept_elsewhere"):
            mt.sql(text, t=rows, safe=True).collect()
    finally:
        spark.catalog.dropTempView("kept_elsewhere")


LITERALS = [
    *("a'b", "a\\", "\\'", "'' or 1=1", '"', "\\\\'", "`", "--", "/*", "a\nb", "\u2019", "\\u0027"),
    *(
        "{x}",
        "{{}}",
        "$",
        "%s",
        "\\x27",
        "\\047",
        "\0",
        "\U0001f600",
        "\\Z",
        "a\\%b",
        "{0.__class__}",
    ),
]


def test_texts_reach_spark_as_they_were_read(spark: SparkSession) -> None:
    """No quote, escape or brace in a text ends it, whichever way it is written."""
    doubled = [value.replace("\\", "\\\\").replace("'", "\\'") for value in LITERALS]
    columns = ", ".join(f"'{value}' AS c{place}" for place, value in enumerate(doubled))
    (row,) = mt.sql(f"SELECT {columns}", safe=True).collect()
    expected = ["\\%".join(value.split("\\%")) for value in LITERALS]
    assert [*row] == expected


def test_a_default_in_a_schema_runs_nothing(spark: SparkSession) -> None:
    """A schema is a text that Spark reads; in it a default would be an expression."""
    text = "SELECT from_json('{}', 'a STRING DEFAULT reflect(\\'a\\', \\'b\\')') AS x"
    with pytest.raises(MuntinError):
        mt.sql(text, safe=True).collect()


def test_a_safe_engine_refuses_all_texts(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    escape = "reflect('java.lang.System', 'getenv', 'HOME')"
    with mt.Engine(spark, tmp_path / "home", safe=True, root=tmp_path / "data") as engine:
        created = "CREATE STREAM s FROM parquet('{}') (x BIGINT, v DOUBLE) ON x DISORDER ORDERED"
        with pytest.raises(MuntinError, match="it is not below"):
            engine.sql(created.format(tmp_path / "home"))
        engine.sql(created.format(tmp_path / "data" / "in"))
        for text in (f"SELECT x FROM s WHERE {escape} = ''", "SELECT x FROM s.`/etc`"):
            for give in (
                lambda text: engine.register("q", text),
                engine.preview,
                lambda text: engine.sql(f"CREATE QUERY q AS {text}"),
            ):
                with pytest.raises(MuntinError, match="not allowed in safe mode"):
                    give(text)
        handle = engine.register("q", "SELECT x, v FROM s WHERE v > 3")
        for action in ("webhook('http://localhost/x')", "command('id')", "csv('/tmp/x')"):
            with pytest.raises(MuntinError, match=r"not allowed in safe mode|not below"):
                handle.sinks.add("t", action)
            with pytest.raises(MuntinError, match=r"not allowed in safe mode|not below"):
                engine.register("r", "SELECT x FROM s", into=action)
        with pytest.raises(MuntinError, match="not allowed in safe mode"):
            handle.stage(f"SELECT {escape} AS x FROM s")
        with pytest.raises(ArgumentError, match="one root for all"):
            engine.sql("SHOW STREAMS", safe=True, root=tmp_path)
        assert engine.sql("SHOW QUERIES")["name"].to_pylist() == ["q"]


def test_a_safe_text_in_an_engine_that_is_not(spark: SparkSession, tmp_path: Path) -> None:
    with mt.Engine(spark, tmp_path / "home") as engine:
        columns = "(x BIGINT, v DOUBLE) ON x DISORDER ORDERED"
        text = f"CREATE STREAM s FROM parquet('{tmp_path}/in') {columns}"
        with pytest.raises(MuntinError, match="no files in safe mode without a root"):
            engine.sql(text, safe=True)
        with pytest.raises(ArgumentError, match="in it or around it"):
            engine.sql(text, safe=True, root=tmp_path)
        engine.sql(text)
    with pytest.raises(ArgumentError, match="in it or around it"):
        mt.Engine(spark, tmp_path / "other", safe=True, root=tmp_path)
