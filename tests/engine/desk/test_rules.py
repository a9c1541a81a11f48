"""Rules of the engine in small cases, on an engine in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.engine_stream import EngineStream
from muntin.expressions.row_expression import RowExpression
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import AnswerColumns
from muntin.spark.plan.worker_program import carried_schema
from tests.engine.desk.desk_cases import ZERO
from tests.engine.desk.memory_engine import Checkpoint, MemoryNetwork, memory_engine
from tests.engine.desk.random_desk import Streams

COUNTS = "SELECT station, window_end, count(*) AS n FROM s [TUMBLING 10 SECONDS] GROUP BY station"
FOREVER = 10**15


@pytest.fixture(scope="module")
def streams(spark: SparkSession) -> Streams:
    return Streams(spark)


class Desk:
    """An engine in memory whose state outlives it."""

    def __init__(self, streams: Streams, folder: Path, disorder: str = "slack") -> None:
        self.streams, self.folder, self.disorder = streams, folder, disorder
        self.saved = Checkpoint(2)

    @contextmanager
    def opened(self, keep: int | None = None) -> Iterator[tuple[mt.Engine, EngineStream]]:
        declared = self.streams.network(self.disorder)
        network: MemoryNetwork = replace(declared, saved=[self.saved], keep=keep is not None)
        plans = self.streams.plans(self.disorder)
        engine, stream = memory_engine(self.streams.spark, self.folder, network, keep, plans)
        with engine:
            yield engine, stream

    def rows(self, *places: int, lane: int = 0) -> pa.Table:
        schema = carried_schema(self.streams.network(self.disorder).planning)
        rows = [
            {"ts": ZERO + timedelta(seconds=x), "station": "a", "lane": lane, "speed": 1.0}
            for x in places
        ]
        return pa.Table.from_pylist(rows, schema)


def run(stream: EngineStream, *tasks: pa.Table, end: bool = False) -> None:
    query: Any = stream.query
    query.run(tasks, end=end)


def counted(handle: mt.QueryHandle, **how: Any) -> list[tuple[int, int, bool]]:
    return [
        (int((row["window_end"] - ZERO).total_seconds()), row["n"], row["complete"])
        for row in handle.results(**how).to_pylist()
    ]


def test_rows_that_are_punctuation_are_no_data(streams: Streams, tmp_path: Path) -> None:
    """Queries that only choose rows answer every row."""
    desk = Desk(streams, tmp_path, "marked")
    with desk.opened() as (engine, stream):
        counts = engine.register("counts", COUNTS)
        chosen = engine.register("chosen", "SELECT ts, lane FROM s")
        stream.start(None)
        run(stream, desk.rows(1, 2, 3), desk.rows(12, lane=2))
        assert counted(counts) == [(10, 3, True)]
        assert chosen.results()["lane"].to_pylist() == [0, 0, 0, 2]


@pytest.mark.parametrize("steps", [(8, 14, 21, 40), (8, 40)])
def test_what_ends_after_until_is_no_answer_however_far_punctuation_comes(
    streams: Streams, tmp_path: Path, steps: tuple[int, ...]
) -> None:
    desk = Desk(streams, tmp_path, "ordered")
    with desk.opened() as (engine, stream):
        counts = engine.register("counts", COUNTS, until=ZERO + timedelta(seconds=15))
        stream.start(None)
        run(stream, desk.rows(1, 2, 12))
        for step in steps:
            run(stream, desk.rows(step))
        assert counted(counts) == [(10, 2, True)]
        assert counts.status == "ended"


@pytest.mark.parametrize("keep", [None, FOREVER])
def test_a_query_that_is_changed_while_it_is_paused_stays_paused(
    streams: Streams, tmp_path: Path, keep: int | None
) -> None:
    desk = Desk(streams, tmp_path, "ordered")
    with desk.opened(keep) as (engine, stream):
        counts = engine.register("counts", COUNTS)
        stream.start(None)
        run(stream, desk.rows(1))
        counts.pause()
        run(stream, desk.rows(2))
        counts.change(COUNTS.replace("10 SECONDS", "5 SECONDS"))
        run(stream, desk.rows(3))
        run(stream, desk.rows(21))
        assert counts.generation == 2
        assert (counts.status, counted(counts)) == ("paused", [])
        counts.resume()
        run(stream, desk.rows(22))
        run(stream, desk.rows(40))
        assert [end for end, _, _ in counted(counts)] == [25]


def test_a_query_is_in_force_while_its_next_generation_is_filled(
    streams: Streams, tmp_path: Path
) -> None:
    desk = Desk(streams, tmp_path, "ordered")
    with desk.opened(FOREVER) as (engine, stream):
        counts = engine.register("counts", COUNTS)
        counts.stage(COUNTS.replace("10 SECONDS", "5 SECONDS"))
        stream.start(None)
        run(stream, desk.rows(1, 2, 12))
        assert counts.wait(1).micro_batch == 0
        assert counts.record.since == (0, 1)


def test_a_micro_batch_without_rows_leaves_the_stream_where_it_is(
    streams: Streams, tmp_path: Path
) -> None:
    desk = Desk(streams, tmp_path, "ordered")
    with desk.opened(FOREVER) as (engine, stream):
        engine.register("counts", COUNTS)
        stream.start(None)
        run(stream, desk.rows(1, 2, 30))
        query: Any = stream.query
        before = stream.progress
        query.run_empty_file()
        assert replace(stream.progress, rows=before.rows) == before
    with desk.opened(FOREVER) as (engine, stream):
        stream.start(None)
        assert (stream.progress.reached, stream.progress.ended) == (before.reached, False)
        run(stream, end=True)
    with desk.opened(FOREVER) as (engine, stream):
        stream.start(None)
        assert stream.progress.ended


def test_history_has_no_gap_where_rows_were_not_kept(streams: Streams, tmp_path: Path) -> None:
    desk = Desk(streams, tmp_path, "ordered")
    with desk.opened(FOREVER) as (engine, stream):
        stream.start(None)
        run(stream, desk.rows(1, 2))
    with desk.opened() as (engine, stream):
        stream.start(None)
        run(stream, desk.rows(3, 4))
    with desk.opened(FOREVER) as (engine, stream):
        stream.start(None)
        run(stream, desk.rows(5, 12))
        counts = engine.register("counts", COUNTS, start="history")
        run(stream, desk.rows(21))
        run(stream, desk.rows(31))
        # Rows 3 and 4 were not kept, so the first window is not complete.
        assert counted(counts) == [(10, 1, False), (20, 1, True), (30, 1, True)]


def test_the_past_is_answered_once_if_the_micro_batch_before_is_repeated(
    streams: Streams, tmp_path: Path
) -> None:
    desk = Desk(streams, tmp_path, "ordered")
    with desk.opened(FOREVER) as (engine, stream):
        stream.start(None)
        run(stream, desk.rows(1, 2, 12))
        counts = engine.register("counts", COUNTS, start="history")
        query: Any = stream.query
        query.run([desk.rows(13)], repeats=1)
        run(stream, desk.rows(21))
        assert counted(counts) == [(10, 2, True), (20, 2, True)]


def test_a_new_checkpoint_has_the_queries_of_the_old_one(streams: Streams, tmp_path: Path) -> None:
    desk = Desk(streams, tmp_path, "ordered")
    with desk.opened() as (engine, stream):
        first = engine.register("counts", COUNTS)
        gone = engine.register("gone", COUNTS)
        stream.start(None)
        run(stream, desk.rows(1, 2, 12))
        gone.drop()
        run(stream, desk.rows(13))
        assert counted(first) == [(10, 2, True)]
    shutil.rmtree(stream.checkpoint)
    desk.saved = Checkpoint(2)
    with desk.opened() as (engine, stream):
        stream.start(None)
        assert (stream.epoch, [query.name for query in engine.queries()]) == (2, ["counts"])
        run(stream, desk.rows(51, 52))
        run(stream, desk.rows(61))
        assert counted(engine["counts"])[-1] == (60, 2, True)
        assert engine["counts"].status == "active"


def test_a_select_list_that_raises_stops_only_its_own_query(streams: Streams) -> None:
    desk = Desk(streams, Path(), "slack")
    good = streams.planned("slack", "SELECT ts, lane FROM s").program.numbered(1)
    assert good.answers is not None
    name, expression = good.answers.columns[1]
    broken: RowExpression = replace(expression, paths=(("nothing of this name",),))
    columns = AnswerColumns(good.answers.names, ((name, broken),))
    network = QueryNetwork(streams.rule("slack"), (good, replace(good, member=2, answers=columns)))
    routed = network.route(desk.rows(1, 2))
    assert list(routed.failed) == [2]
    assert [table["_member"].to_pylist() for table in routed.answers] == [[1, 1]]
