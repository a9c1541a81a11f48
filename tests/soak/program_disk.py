"""Streams whose checkpoints are on a disk that is full again and again, in a namespace of its own.

Arguments: the folder of a replay, a folder for the small disk, and the names of the queries. Each
query fails while the disk is full and goes on when there is room. Prints how often each failed.
"""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import Replay
from tests.sessions import configured
from tests.soak.program_all import SCHEMA, plans

ROOM = "16m"
#: The disk is full in every micro-batch with such a number, until it has failed once.
EVERY = 2


def fill(disk: Path) -> None:
    """Write until there is no room."""
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        for size in (2**20, 2**12, 2**6, 1):
            with suppress(OSError):
                while True:
                    filler.write(bytes(size))


def run(spark: SparkSession, root: Path, disk: Path, name: str) -> list[str]:
    """Run a query to its end; return why it failed on the way."""
    reasons: list[str] = []
    filled: set[int] = set()
    folder = root / "queries" / name.replace(" ", "_")

    def sink(rows: DataFrame, number: int) -> None:
        if number % EVERY == 1 and number not in filled:
            filled.add(number)
            fill(disk)
        rows.write.mode("overwrite").parquet(f"{folder}/results/batch={number}")

    while True:
        replayed = Replay(spark, root, pa.schema([]), SCHEMA, tasks=2)
        plan = plans(replayed.stream("x", "k", mt.slack(5), shards=4))[name]
        checkpoint = disk / name.replace(" ", "_")
        query = mt.write(plan, results=sink, checkpoint=checkpoint, trigger={"availableNow": True})
        assert query is not None
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            reasons.append(str(error))
            assert len(reasons) < 50, reasons[-1]
            (disk / "filler").unlink(missing_ok=True)
        else:
            return reasons


def main(root: Path, disk: Path, names: Sequence[str]) -> None:
    # The disk is there for this process and its children only.
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(disk)], check=True)
    spark = configured(SparkSession.builder.master("local[2]")).getOrCreate()
    reasons = {name: run(spark, root, disk, name) for name in names}
    known = {n: [errno_of(text) for text in texts] for n, texts in reasons.items()}
    print(json.dumps(known))
    spark.stop()


def errno_of(text: str) -> str:
    """Return what an error says about the disk."""
    return "No space left" if "No space left" in text else f"{errno.ENOSPC}? {text[:2000]}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
