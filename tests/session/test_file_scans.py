"""SQL over files: Arrow scans by themselves, in batches and streams, and EXPLAIN says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.parser.parse import parse
from muntin.session.session import SqlSession, explanations
from muntin.session.sources import Sources

ARROW = "scan        Arrow scan: workers read the files"
SELECT = "SELECT k, count(*) AS n, sum(v) AS total, window_end FROM t [RANGE 10 SLIDE 10 WATTR x]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "files"
    path.mkdir()
    for number in range(2):
        x = range(20 * number, 20 * number + 20)
        rows = pa.table({"x": x, "k": [f"k{n % 2}" for n in x], "v": [n / 4 for n in x]})
        pq.write_table(rows, path / f"{number}.parquet", row_group_size=5)
    return path


def session_of(spark: SparkSession, folder: Path, *, streaming: bool, kind: str) -> SqlSession:
    session = SqlSession(spark, streaming=streaming)
    on = " ON x DISORDER SLACK 0" if kind == "STREAM" else ""
    text = f"CREATE {kind} t FROM parquet('{folder}'){on}"
    Sources.serving(session, text)
    session.declare(parse(text)[0], text)  # type: ignore[arg-type]
    return session


def explained(session: SqlSession, text: str) -> str:
    return "\n".join(explanations(session, parse(text), None, "text").values())


@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
@pytest.mark.parametrize(
    ("clauses", "scanned"),
    [
        ("GROUP BY k", True),
        ("WHERE t.v > 2.5 AND k = 'k1' GROUP BY k", True),
        ("AS o WHERE o.v > (1 + 0.5) GROUP BY k", True),
    ],
)
def test_batches_are_scanned(
    spark: SparkSession, folder: Path, kind: str, clauses: str, scanned: bool
) -> None:
    session = session_of(spark, folder, streaming=False, kind=kind)
    text = f"{SELECT} {clauses}"
    assert (ARROW in explained(session, text)) == scanned
    spark_reads = mt.sql(text, t=spark.read.parquet(str(folder)))
    found = [sorted(map(str, df.collect())) for df in (session.sql(text), spark_reads)]
    assert found[0]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{SELECT} WHERE hash(k) <> 0 GROUP BY k", "hash(k) <> 0' is left to spark"),
        (f"{SELECT} WHERE x IN (SELECT max(x) FROM t) GROUP BY k", "is left to spark"),
        (
            f"{SELECT.replace('SELECT k', 'SELECT k || v AS k')} GROUP BY k || v",
            "spark computes a group before windows are made",
        ),
        (
            f"{SELECT.replace('SELECT k', 'SELECT t.k')} JOIN VALUES ('k0') AS u(j) ON t.k = u.j "
            "GROUP BY t.k",
            "spark joins the rows before windows are made",
        ),
    ],
)
def test_explain_says_why_spark_reads(
    spark: SparkSession, folder: Path, text: str, why: str
) -> None:
    session = session_of(spark, folder, streaming=False, kind="STREAM")
    lines = explained(session, text)
    assert "scan        Spark's scan: " in lines
    assert why in lines.lower()
    assert session.sql(text).count() > 0


def test_csv_says_why_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,k,v\n1,a,2\n")
    session = SqlSession(spark)
    text = f"CREATE STREAM t FROM csv('{tmp_path}/a.csv', header => TRUE) ON x"
    Sources.serving(session, text)
    session.declare(parse(text)[0], text)  # type: ignore[arg-type]
    lines = explained(session, f"{SELECT} GROUP BY k")
    assert (
        "Spark's scan: which lines of CSV are malformed is decided by Spark's own reader" in lines
    )


def test_streams_are_scanned(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    session = session_of(spark, folder, streaming=True, kind="STREAM")
    text = f"{SELECT} WHERE v >= 1 GROUP BY k"
    assert ARROW in explained(session, text)
    rows: list[str] = []
    query = (
        session.sql(text)
        .writeStream.foreachBatch(lambda df, number: rows.extend(map(str, df.collect())))
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batch = session_of(spark, folder, streaming=False, kind="STREAM").sql(text)
    closed = [str(row) for row in batch.collect() if row["window_end"] < 40]
    assert sorted(rows) == sorted(closed)
    assert mt.progress(query)["rows_in"] == 36  # those that meet the condition


def test_files_are_tables_of_mt_sql(spark: SparkSession, folder: Path) -> None:
    text = f"{SELECT} WHERE v > 1 GROUP BY k"
    source = mt.parquet(spark, str(folder))
    found = [sorted(map(str, mt.sql(text, t=t).collect())) for t in (source, source.df)]
    assert found[0] == found[1]
    lines = mt.sql(f"EXPLAIN {text}", t=source).collect()[0][0]
    assert ARROW in lines


def test_joins_and_fills_take_files(spark: SparkSession, folder: Path) -> None:
    source = mt.parquet(spark, str(folder))
    join = "SELECT count(*) AS n FROM asof(stream(a, on => x, by => k), b)"
    found = [mt.sql(join, a=t, b=t).collect() for t in (source, source.df)]
    assert found[0] == found[1]
    lines = mt.sql(f"EXPLAIN {join}", a=source, b=source).collect()[0][0]
    assert lines.count("Arrow scan") == 2
    filled = mt.stream(source.df, on="x", by="k").tumbling(5).fill(source).plan("sum(v)")
    assert "Arrow scan" in str(filled.explanation)
