"""Streams whose results stay in memory: to write and to read them costs more than all else.

`Replay.play` writes them, as users do, and the tests that need to see files or a second run use it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

import muntin as mt
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.stream_driver import COUNTS, RESULTS, refused_tag
from muntin.testing import Played

PARTITIONS = "spark.sql.shuffle.partitions"


def play(plan: mt.Plan, *, spread: int = 1) -> Played:
    """Run a plan from the beginning to the end of its replays.

    Each partition that the state is spread over costs files and tasks of its own in every
    micro-batch. Random cases have two, and so have the tests of restarts, kills and clusters.
    """
    rows: list[Row] = []
    folder = Path(tempfile.mkdtemp(prefix="muntin-play-"))
    tagged = plan.tagged(keep_refused=True)
    ready = (
        tagged.writeStream.foreachBatch(lambda batch, number: rows.extend(batch.collect()))
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
    )
    with partitions(tagged.sparkSession, spread):
        query = ready.start()  # which takes the settings of now along
    query.awaitTermination()
    shutil.rmtree(folder)
    return _played(tagged.sparkSession, plan, rows)


@contextmanager
def partitions(spark: SparkSession, count: int) -> Iterator[None]:
    """Shuffles and states of so many partitions, where a query starts inside."""
    before = str(spark.conf.get(PARTITIONS))
    spark.conf.set(PARTITIONS, str(count))
    try:
        yield
    finally:
        spark.conf.set(PARTITIONS, before)


def _played(spark: SparkSession, plan: mt.Plan, rows: Sequence[Row]) -> Played:
    """What a plan made, as its sinks would have it."""
    output = plan.output
    counts = {name: sum(row[name] or 0 for row in rows) for name in COUNTS}
    results = output.finisher.apply(_table(spark, rows, RESULTS, output.flat_schema))
    schemas = output.refusing.schemas
    refused = [_table(spark, rows, refused_tag(n), schema) for n, schema in enumerate(schemas)]
    return Played(results.collect(), output.refusing.together(refused).collect(), counts)


def _table(spark: SparkSession, rows: Sequence[Row], tag: str, schema: StructType) -> DataFrame:
    found = [decode(bytes(row.payload)) for row in rows if row.tag == tag]
    if not found:
        return spark.createDataFrame([], schema)
    # In one chunk: Spark 4.3 reads an Arrow table up to its first empty one.
    table = pa.concat_tables(found).combine_chunks()
    return spark.createDataFrame(table.rename_columns(schema.names), schema)  # travelled as o0, o1
