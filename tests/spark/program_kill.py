"""A stream that stops in the middle of a micro-batch and waits to be killed.

Arguments: the folder of a replay, the micro-batch to stop in (or -1), and whether to stop before
or after its results are written. The sink writes by micro-batch number, as careful sinks do.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import Replay
from tests.sessions import configured


def main(folder: Path, stop_in: int, when: str) -> None:
    spark = configured(SparkSession.builder.master("local[2]")).getOrCreate()
    replay = Replay(spark, folder, pa.schema([]), "k STRING, x BIGINT, v DOUBLE", tasks=2)
    stream = replay.stream("x", "k", mt.slack(5), shards=4)
    plan = stream.window(range=20, slide=7).plan("sum(v) AS total", "count(*) AS n")

    def sink(rows: DataFrame, number: int) -> None:
        def hang(moment: str) -> None:
            if number == stop_in and moment == when:
                (folder / f"stopped-{when}").touch()
                time.sleep(600)

        rows.count()  # the stateful operator has run by now
        hang("before")
        rows.write.mode("overwrite").parquet(f"{folder}/results/batch={number}")
        hang("after")

    query = mt.write(
        plan,
        results=sink,
        refused=folder / "refused",
        checkpoint=folder / "checkpoint",
        trigger={"availableNow": True},
    )
    assert query is not None
    query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
