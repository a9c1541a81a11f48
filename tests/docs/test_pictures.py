"""Every picture of the documentation is what a script draws, a benchmark or an example."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from tests.docs.scripts import ROOT, load_script

IMAGES = ROOT / "docs" / "img"
#: Scripts that draw without Spark.
DRAWN = ["draw_architecture", "draw_sql"]
#: What docs/sql/explain.md shows.
EXPLAINED = (
    "EXPLAIN (FORMAT svg) SELECT router, frame_start, count(*) AS updates FROM routers "
    "[FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router] "
    "FILL bgp BEFORE 30 SECONDS WHERE kind = 'update'"
)


@pytest.mark.parametrize("script", DRAWN)
def test_every_picture_is_as_it_is_drawn(script: str) -> None:
    for name, text in load_script(script).pictures().items():
        assert (IMAGES / f"{name}.svg").read_text() == text, f"run scripts/{script}.py for {name}"


def test_the_graph_of_explain_is_as_it_is_drawn(spark: SparkSession) -> None:
    routers = spark.createDataFrame([], "router STRING, loss_rate DOUBLE, ts TIMESTAMP")
    bgp = spark.createDataFrame([], "router STRING, kind STRING, ts TIMESTAMP")
    (row,) = mt.sql(EXPLAINED, routers=routers, bgp=bgp).collect()
    assert (IMAGES / "sql-explain.svg").read_text() == row.plan + "\n"
