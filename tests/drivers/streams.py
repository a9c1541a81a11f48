"""Streams whose results stay in memory, because writing and reading files is the slowest part.

`Replay.play` writes results to files, as users do. Tests that need files or a second run use it.
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
from muntin.spark.exchange.counts import COUNTS, counts_of
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.stream_driver import RESULTS, refused_tag
from muntin.testing import Played

PARTITIONS = "spark.sql.shuffle.partitions"


def play(plan: mt.Plan, *, spread: int = 1) -> Played:
    """Run a plan from the beginning to the end of its replays.

    Each partition of the state needs its own files and tasks in every micro-batch. Random cases
    have two partitions, and so have the tests of restarts, kills and clusters.
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
        query = ready.start()  # the query keeps the settings of this moment
    query.awaitTermination()
    shutil.rmtree(folder)
    return _played(tagged.sparkSession, plan, rows)


@contextmanager
def partitions(spark: SparkSession, count: int) -> Iterator[None]:
    """Queries that start inside this context have this many partitions."""
    before = str(spark.conf.get(PARTITIONS))
    spark.conf.set(PARTITIONS, str(count))
    try:
        yield
    finally:
        spark.conf.set(PARTITIONS, before)


def _played(spark: SparkSession, plan: mt.Plan, rows: Sequence[Row]) -> Played:
    """Return the output of a plan as its sinks would get it."""
    output = plan.output
    counted = counts_of("\n".join(row.counts for row in rows if row.counts is not None))
    counts = {name: counted[name] or 0 for name in COUNTS}
    results = output.finisher.apply(_table(spark, rows, RESULTS, output.flat_schema))
    schemas = output.refusing.schemas
    refused = [_table(spark, rows, refused_tag(n), schema) for n, schema in enumerate(schemas)]
    return Played(results.collect(), output.refusing.together(refused).collect(), counts)


def _table(spark: SparkSession, rows: Sequence[Row], tag: str, schema: StructType) -> DataFrame:
    payloads = [decode(bytes(row.payload)) for row in rows if row.tag == tag]
    if not payloads:
        return spark.createDataFrame([], schema)
    # One chunk, because Spark 4.3 reads an Arrow table only up to its first empty chunk.
    table = pa.concat_tables(payloads).combine_chunks()
    return spark.createDataFrame(table.rename_columns(schema.names), schema)  # sent as o0, o1
