"""Random cases on Spark: drawn first, then run several at a time: much of it is waiting."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

import muntin as mt
from muntin.spark.exchange import decode
from muntin.spark.streaming import COUNTS, RESULTS, refused_tag
from muntin.testing import Played, Replay
from tests.thorough import share

Drawn = TypeVar("Drawn")
#: Cases of each property in ``make soak``.
EXAMPLES = 20
_AT_A_TIME = 4


def check_each(check: Callable[[Drawn], None], cases: SearchStrategy[Drawn]) -> None:
    """Check as many cases as a property on Spark has; of those that fail, the first is told.

    There is no shrinking, which would take minutes: the step property finds the small example.
    """
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        checks = [(case, pool.submit(check, case)) for case in _drawn(cases)]
    for case, done in checks:
        if (error := done.exception()) is not None:
            error.add_note(f"Falsifying example: {case!r}")
            raise error


@dataclass(frozen=True)
class Streamed:
    """A case as a stream: its plan, and the replays that feed it."""

    plan: mt.Plan
    replays: Sequence[Replay]


def check_streams(
    spark: SparkSession,
    prepare: Callable[[Drawn], Streamed],
    check: Callable[[Drawn, Played], None],
    cases: SearchStrategy[Drawn],
) -> None:
    """The same for streams: prepared, played, and what they made checked."""

    def stream(case: Drawn) -> None:
        streamed = prepare(case)
        try:
            check(case, _play(spark, streamed.plan))
        finally:
            for replay in streamed.replays:
                replay.remove()

    check_each(stream, cases)


def _play(spark: SparkSession, plan: mt.Plan) -> Played:
    """Run a plan to the end of its replays.

    What it makes stays in memory: to write and to read it costs more than all else, and other
    tests do.
    """
    rows: list[Row] = []
    folder = Path(tempfile.mkdtemp(prefix="muntin-together-"))
    query = (
        plan.tagged(keep_refused=True)
        .writeStream.foreachBatch(lambda batch, number: rows.extend(batch.collect()))
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    shutil.rmtree(folder)
    return _played(spark, plan, rows)


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
    table = pa.concat_tables(found).rename_columns(schema.names)  # rows travel as o0, o1, ...
    return spark.createDataFrame(table, schema)


def _drawn(cases: SearchStrategy[Drawn]) -> list[Drawn]:
    found: list[Drawn] = []

    @settings(max_examples=share(EXAMPLES), phases=[Phase.generate])
    @given(cases)
    def draw(case: Drawn) -> None:
        found.append(case)

    draw()
    assert len(found) == share(EXAMPLES)
    return found
