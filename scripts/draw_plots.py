"""Draws the pictures that need Spark: ``python scripts/draw_plots.py``.

Charts are drawn by the examples of the pages that show them: the blocks of Python of a page run
from the first on, until one has written the picture. The map of the freeway is what
``examples/freeway/full.py`` draws, and the graph of a query is what EXPLAIN returns.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from drawing import IMAGES
from pyspark.sql import SparkSession

import muntin as mt

ROOT = Path(__file__).parents[1]
#: The page that draws a picture, and the file that its example writes.
CHARTS = {
    "congestion.svg": (ROOT / "README.md", "congestion.svg"),
    "recipe-congestion.svg": (ROOT / "docs" / "recipes.md", "congestion.svg"),
    "frames-plot.svg": (ROOT / "docs" / "concepts" / "frames" / "plots.md", "frames.svg"),
}
#: The example that draws a picture.
EXAMPLES = {"freeway.png": ROOT / "examples" / "freeway" / "full.py"}
#: What docs/sql/explain.md shows.
GRAPH = "sql-explain.svg"
EXPLAINED = (
    "EXPLAIN (FORMAT svg) SELECT router, frame_start, count(*) AS updates FROM routers "
    "[FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router] "
    "FILL bgp BEFORE 30 SECONDS WHERE kind = 'update'"
)
PICTURES = {*CHARTS, *EXAMPLES, GRAPH}


def explained(spark: SparkSession) -> str:
    """Return the graph of the query that the page about EXPLAIN shows."""
    routers = spark.createDataFrame([], "router STRING, loss_rate DOUBLE, ts TIMESTAMP")
    bgp = spark.createDataFrame([], "router STRING, kind STRING, ts TIMESTAMP")
    (row,) = mt.sql(EXPLAINED, routers=routers, bgp=bgp).collect()
    return f"{row.plan}\n"


def chart(page: Path, name: str, spark: SparkSession) -> str:
    """Run the examples of a page in an empty folder until one has written a file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        names: dict[str, object] = {"spark": spark, "__name__": "__main__"}
        for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.S | re.M):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, page.name, "exec"), names)
            if Path(name).exists():
                return Path(name).read_text()
    raise SystemExit(f"{page} does not draw {name}")


def main() -> None:
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("pictures")
    spark = builder.config(map=settings).getOrCreate()
    (IMAGES / GRAPH).write_text(explained(spark))
    print(IMAGES / GRAPH)
    for picture, (page, name) in CHARTS.items():
        (IMAGES / picture).write_text(chart(page, name, spark))
        print(IMAGES / picture)
    spark.stop()
    for picture, example in EXAMPLES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(example), "--output", folder]
            subprocess.run(command, check=True, env={**os.environ})
            shutil.copy(Path(folder) / picture, IMAGES / picture)
        print(IMAGES / picture)


if __name__ == "__main__":
    main()
