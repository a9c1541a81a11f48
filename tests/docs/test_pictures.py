"""The pictures of the pages about SQL are those that the script draws, and the query's own."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

import muntin as mt

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "img"
#: What docs/sql/explain.md shows.
EXPLAINED = (
    "EXPLAIN (FORMAT svg) SELECT router, frame_start, count(*) AS updates FROM routers "
    "[FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router] "
    "FILL bgp BEFORE 30 SECONDS WHERE kind = 'update'"
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_sql", ROOT / "scripts" / "draw_sql.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look for the module that they are defined in.
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_as_it_is_drawn(script: ModuleType) -> None:
    for name, text in script.pictures().items():
        assert (IMAGES / f"{name}.svg").read_text() == text, f"run scripts/draw_sql.py for {name}"


def test_the_graph_of_explain_is_as_it_is_drawn(spark: SparkSession) -> None:
    routers = spark.createDataFrame([], "router STRING, loss_rate DOUBLE, ts TIMESTAMP")
    bgp = spark.createDataFrame([], "router STRING, kind STRING, ts TIMESTAMP")
    (row,) = mt.sql(EXPLAINED, routers=routers, bgp=bgp).collect()
    assert (IMAGES / "sql-explain.svg").read_text() == row.plan + "\n"
