"""Random cases on Spark: drawn first, then run together, because most of a case is waiting."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

import muntin as mt
from muntin.spark.exchange import decode
from muntin.spark.streaming import COUNTS, RESULTS, refused_tag
from muntin.testing import Played, Replay

Drawn = TypeVar("Drawn")
#: Cases of each property.
EXAMPLES = 20
_AT_A_TIME = 4
#: Streams in one query.
_STREAMS = 10


def check_each(check: Callable[[Drawn], None], cases: SearchStrategy[Drawn]) -> None:
    """Check as many cases as a property on Spark has; of those that fail, the first is told.

    There is no shrinking, which would take minutes: the step property finds the small example.
    """
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        checks = [(case, pool.submit(check, case)) for case in _drawn(cases)]
    for case, done in checks:
        _tell(case, done.exception())


@dataclass(frozen=True)
class Streamed(Generic[Drawn]):
    """A case as a stream: its plan, and the replays that feed it."""

    case: Drawn
    plan: mt.Plan
    replays: Sequence[Replay]


def check_streams(
    spark: SparkSession,
    prepare: Callable[[Drawn], Streamed[Drawn]],
    check: Callable[[Drawn, Played], None],
    cases: SearchStrategy[Drawn],
) -> None:
    """The same for streams, many of which are one query of Spark.

    Every stream keeps its own operator, state and micro-batches; what they share is the cost of
    starting a query and of committing its micro-batches.
    """
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        prepared = list(pool.map(prepare, _drawn(cases)))
        queries = list(_apart(prepared))
        played = list(pool.map(lambda one: _play(spark, one), queries))
    for streams, made in zip(queries, played, strict=True):
        for stream, one in zip(streams, made, strict=True):
            for replay in stream.replays:
                replay.remove()
            try:
                check(stream.case, one)
            except Exception as error:
                _tell(stream.case, error)


def _apart(streams: Sequence[Streamed[Drawn]]) -> list[list[Streamed[Drawn]]]:
    """Streams that can be one query: a query holds no two plans of one name."""
    made: list[list[Streamed[Drawn]]] = []
    for stream in streams:
        for query in made:
            if len(query) < _STREAMS and stream.plan.name not in {s.plan.name for s in query}:
                query.append(stream)
                break
        else:
            made.append([stream])
    return made


def _play(spark: SparkSession, streams: Sequence[Streamed[Drawn]]) -> list[Played]:
    """Run several plans as one query to the end of their replays."""
    tagged = [
        one.plan.tagged(keep_refused=True).withColumn("number", F.lit(number))
        for number, one in enumerate(streams)
    ]
    rows: list[Row] = []
    folder = Path(tempfile.mkdtemp(prefix="muntin-together-"))
    query = (
        reduce(DataFrame.unionByName, tagged)
        .writeStream.foreachBatch(lambda batch, number: rows.extend(batch.collect()))
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    shutil.rmtree(folder)
    told: list[list[Row]] = [[] for _ in streams]
    for row in rows:
        told[row.number].append(row)
    return [_played(spark, one.plan, mine) for one, mine in zip(streams, told, strict=True)]


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


def _tell(case: Any, error: BaseException | None) -> None:
    if error is not None:
        error.add_note(f"Falsifying example: {case!r}")
        raise error


def _drawn(cases: SearchStrategy[Drawn]) -> list[Drawn]:
    found: list[Drawn] = []

    @settings(max_examples=EXAMPLES, phases=[Phase.generate])
    @given(cases)
    def draw(case: Drawn) -> None:
        found.append(case)

    draw()
    assert len(found) == EXAMPLES
    return found
