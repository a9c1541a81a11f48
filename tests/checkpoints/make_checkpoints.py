"""Make the checkpoints that ``test_old_checkpoints.py`` goes on from.

Run it with the code of the commit whose checkpoints are to be kept, from the root of that commit::

    python -m tests.checkpoints.make_checkpoints

or for some of the queries, by name: ``... make_checkpoints fill windows``. It runs each query of
``queries.py`` up to its stop, checks the rows that it reports, and writes the checkpoint beside
this file as ``<query>.zip``. Later commits read these files. Make them again only if a query in
``queries.py`` has changed, or if checkpoints of older commits are no longer meant to work.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from muntin.testing import assert_same_rows
from tests.checkpoints.archives import archive, pack
from tests.checkpoints.queries import CHECKPOINT, QUERIES
from tests.sessions import configured


def main(names: Sequence[str]) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["TZ"] = "UTC"  # as in tests: PySpark hands out timestamps in this zone
    time.tzset()
    # One partition of state has the fewest files.
    spark = configured(SparkSession.builder.master("local[1]"), partitions=1).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for name in names or QUERIES:
        make(spark, name)
    spark.stop()


def make(spark: SparkSession, name: str) -> None:
    """Run a query up to its stop and keep its checkpoint."""
    query, target = QUERIES[name], archive(name)
    with tempfile.TemporaryDirectory(prefix="muntin-checkpoint-") as created:
        folder = Path(created).resolve()
        played = query.run(spark, folder, go_on=False)
        assert_same_rows(
            [row.asDict(recursive=True) for row in played.results],
            query.rows(query.reported_before),
        )
        assert [row.reason for row in played.refused] == ["late"] * query.late()[0]
        pack(folder, CHECKPOINT, target)
    print(f"{target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
