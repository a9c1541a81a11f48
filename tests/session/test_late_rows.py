"""``LATE INTO``: one run writes both results and refused rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.session.check import Check
from muntin.session.pipeline import Pipeline
from muntin.spark.queries.stop import drain
from tests.session.test_pipeline import Kept

STREAM = """
CREATE STREAM line FROM csv('{folder}/in', header => true, max_files => 1)
  (k STRING, x INT, v INT) ON x BY k DISORDER SLACK 1;
"""
WINDOWS = """SELECT v % 2 AS odd, wid, sum(v) AS s FROM line [TUMBLING 5 WATTR x] WHERE v < 9
GROUP BY v % 2 HAVING s > 1 ORDER BY wid, odd"""
#: The second file comes after the first: 2 is late, 8 is not. One row has no `on` at all.
FILES = ["a,0,5", "a,1,7", "a,9,4"], ["a,2,6", "b,8,3", "b,,8", "b,20,2"]
LATE = [("a", 2, 6, "late", 6), ("b", None, 8, "null_on", None)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for number, rows in enumerate(FILES):
        text = "\n".join(["k,x,v", *rows, ""])
        (tmp_path / "in" / f"{number}.csv").write_text(text)
    return tmp_path


def written(folder: Path, *names: str) -> list[tuple[Any, ...]]:
    """Return the rows that all micro-batches wrote as JSON lines."""
    lines = [line for path in folder.rglob("*.json") for line in path.read_text().splitlines()]
    rows = [json.loads(line) for line in lines]
    return sorted((tuple(row.get(name) for name in names) for row in rows), key=str)


def test_refused_rows_come_beside_results(spark: SparkSession, folder: Path) -> None:
    """
    x    0 1 . . . | 5 . . 8 9 | ... | 20     then, after 9: 2 is late, 8 is not
    """
    kept = Kept()
    text = STREAM + f"CREATE QUERY sums AS {WINDOWS} LATE INTO json('{{folder}}/late');"
    text += """CREATE QUERY both AS SELECT k, x, right_v FROM asof(line, line)
      INTO json('{folder}/both') LATE INTO json('{folder}/sides');"""
    pipeline = Pipeline(spark, folder / "state", True, kept.sink, lambda rows: None)
    pipeline.run(text.replace("{folder}", str(folder)))
    for one in pipeline.running:
        drain(one.query)
    pipeline.sources.end()
    for one in pipeline.running:
        drain(one.query)
        one.query.stop()
    assert kept.rows["sums"] == [(1, 0, 12), (0, 1, 4), (1, 1, 3), (0, 4, 2)]
    names = ("k", "x", "v", "reason", "lateness")
    assert written(folder / "late", *names) == LATE
    columns = {name for row in (folder / "late").rglob("*.json") for name in _names(row)}
    assert columns == {*names}
    sides = [(side, *row) for side in ("left", "right") for row in LATE]
    assert written(folder / "sides", "input", *names) == sides
    used = [("a", 0, 5), ("a", 1, 7), ("a", 9, 4), ("b", 20, 2), ("b", 8, 3)]
    assert written(folder / "both", "k", "x", "right_v") == used
    assert [one.watch.look().late for one in pipeline.running] == [1, 2]


def _names(path: Path) -> set[str]:
    return {name for line in path.read_text().splitlines() for name in json.loads(line)}


def test_a_batch_refuses_what_has_no_place(spark: SparkSession, folder: Path) -> None:
    kept = Kept()
    text = STREAM + f"CREATE QUERY sums AS {WINDOWS} LATE INTO json('{{folder}}/late');"
    pipeline = Pipeline(spark, folder / "state", False, kept.sink, lambda rows: None)
    pipeline.run(text.replace("{folder}", str(folder)))
    assert kept.rows["sums"] == [(0, 0, 6), (1, 0, 12), (0, 1, 4), (1, 1, 3), (0, 4, 2)]
    assert written(folder / "late", "k", "v", "reason") == [("b", 8, "null_on")]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT * FROM line LATE INTO json('x')", "nothing in this query waits"),
        (
            "SELECT * FROM lookup(line, (SELECT 'a' AS k)) LATE INTO json('x')",
            "nothing in this query waits",
        ),
        (
            "SELECT max(s) FROM (SELECT x, sum(v) AS s FROM line [TUMBLING 5] GROUP BY x) "
            "[TUMBLING 9 WATTR s] LATE INTO json('x')",
            "it is not clear whose late rows these are",
        ),
        ("SELECT max(v) FROM line [TUMBLING 5] LATE INTO jsn('x')", "did you mean 'json'?"),
    ],
)
def test_a_query_without_late_rows_is_refused(
    spark: SparkSession, folder: Path, query: str, says: str
) -> None:
    check = Check(spark, folder, streaming=False)
    check.check(STREAM.replace("{folder}", str(folder)) + f"CREATE QUERY q AS {query};")
    (mistake,) = check.mistakes
    assert isinstance(mistake, mt.SqlError)
    assert says in str(mistake)
    assert mistake.place.line == 4
