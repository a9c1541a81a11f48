"""The papers' queries as SQL files on streams: the same as on batches, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.parser.parse import parse_query
from muntin.planner.translate import TranslatedQuery
from muntin.session.session import SqlSession
from muntin.testing.replay import Replay, replay
from tests.examples.test_papers import FOLDER, PYTHON, Tables, rows, tables

__all__ = ["tables"]

#: The tables that are streams, and the column along which they progress.
ON = {
    **dict.fromkeys(["traffic", "routers", "bgp", "speeds", "freezer", "doors", "packets"], "ts"),
    **dict.fromkeys(["bids", "ptb", "ptc"], "timestamp"),
    **{"sensorreadings": "ts", "calls": "time", "data_stream": "at"},
}
#: Keys of streams that fill frames; a table is matched by the names of columns.
BY = {"bgp": "router"}
#: Queries that have no answer on a stream, and why.
REFUSED = {
    "psoup-window": "a stream has no last row that could be NOW",
    "continuous-fraction": "this stream does not declare its disorder, so no window would ever",
    "continuous-top": "Spark has no window functions on streams",
    "correlated-average": "the state of calls would grow for ever",
}
#: Queries that every run of the tests tries, of every paper; ``make soak`` tries all.
FEW = ("window-id-q5", "panes-query3", "frames-bgp", "psoup-aggregate", "fjords-query2")
OTHERS = sorted({*PYTHON} - {*FEW} - {*REFUSED})


@pytest.fixture(scope="module")
def streams(spark: SparkSession, tables: Tables) -> Iterator[dict[str, Replay]]:
    played = {name: _replayed(spark, tables[name], on) for name, on in ON.items()}
    yield played
    for replayed in played.values():
        replayed.remove()


def _replayed(spark: SparkSession, df: DataFrame, on: str) -> Replay:
    """Return the rows of a table in two micro-batches, in the order of ``on``."""
    ordered = [row.asDict() for row in df.orderBy(on).collect()]
    half = len(ordered) // 2
    ddl = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in df.schema)
    return replay(spark, [ordered[:half], ordered[half:]], ddl)


def answered(
    spark: SparkSession, tables: Tables, streams: dict[str, Replay], name: str
) -> TranslatedQuery:
    """Return the translated query over streams that end."""
    given: dict[str, object] = {**tables}
    for table, on in ON.items():
        given[table] = streams[table].stream(on, BY.get(table), mt.ordered(), shards=1)
    query = parse_query((FOLDER / f"{name}.sql").read_text().strip().rstrip(";"))
    return SqlSession(spark, given).answer(query)


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_a_query_on_streams_is_that_on_a_batch(
    spark: SparkSession, tables: Tables, streams: dict[str, Replay], name: str, tmp_path: Path
) -> None:
    answer = answered(spark, tables, streams, name)
    found: list[tuple[Any, ...]] = []

    def keep(batch: DataFrame, number: int) -> None:
        finished = batch if answer.finish is None else answer.finish(batch)
        found.extend(tuple(row) for row in finished.collect())

    writer = answer.df.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path))
    writer.trigger(availableNow=True).start().awaitTermination()
    expected = rows(PYTHON[name](tables))
    assert sorted(found, key=repr) == expected
    assert expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_query_without_an_answer_on_streams_is_refused(
    spark: SparkSession, tables: Tables, streams: dict[str, Replay], name: str
) -> None:
    with pytest.raises(mt.SqlError, match=REFUSED[name]):
        answered(spark, tables, streams, name)
