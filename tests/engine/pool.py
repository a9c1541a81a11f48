"""Queries of every kind that the engine runs, planned once, and random rows for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import hypothesis.strategies as st
import pyarrow as pa
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.plan_query import plan_query
from muntin.engine.planning.early_queries import with_early_answers
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.program import QueryProgram
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkStream
from muntin.specs.emission import Emission

COLUMNS = "ts TIMESTAMP, station STRING, lane INT, speed DOUBLE, volume BIGINT"
TEXTS = (
    "SELECT ts, station, speed * 2 AS twice FROM s WHERE speed < 30 OR lane = 1",
    "SELECT * FROM s WHERE station IN ('a', 'c') AND speed IS NOT NULL",
    "SELECT station, window_end, avg(speed) AS a, count(*) AS n "
    "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE lane < 2 GROUP BY station",
    "SELECT station, window_end, sum(volume) AS v FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] "
    "WHERE speed BETWEEN 10 AND 40 GROUP BY station",
    "SELECT station, window_end, max(speed) AS v FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] "
    "GROUP BY station HAVING count(*) > 1",
    "SELECT lane, window_start, min(speed) AS v FROM s [RANGE 6 SECONDS SLIDE 6 SECONDS] "
    "GROUP BY lane",
    "SELECT window_end, count(*) AS n, median(speed) AS m FROM s [RANGE 4 SECONDS SLIDE 8 SECONDS]",
    "SELECT station, window_end, sum(speed) AS v "
    "FROM s [LANDMARK '2026-01-01' SLIDE 5 SECONDS] GROUP BY station",
    "SELECT station, window_end, on_end, sum(volume) AS v FROM s [ROWS 3 SLIDE 2] GROUP BY station",
    "SELECT station, window_end, count(*) AS n FROM s [RANGE 5 SECONDS SLIDE 1 TUPLE] "
    "GROUP BY station",
    "SELECT station, window_start, window_end, count(*) AS n FROM s [SESSION GAP 4 SECONDS] "
    "GROUP BY station",
    "SELECT station, frame_start, frame_end, count(*) AS n, max(speed) AS hi "
    "FROM s [FRAME THRESHOLD speed < 25]",
    "SELECT station, frame_start, count(*) AS n FROM s [FRAME THRESHOLD speed < 25] "
    "FILL s AS filling",
)
#: Queries with early answers: they select their keys and bounds.
EARLY_TEXTS = (
    "SELECT station, window_end, avg(speed) AS a, avg_low(speed, 0.9) AS lo, count(*) AS n "
    "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE lane < 2 GROUP BY station",
    "SELECT station, window_end, max(speed) AS v FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] "
    "GROUP BY station HAVING max(speed) < 50 AND count(*) > 1",
    "SELECT lane, window_end AS e, min(volume) AS v FROM s [TUMBLING 6 SECONDS] GROUP BY lane",
    "SELECT window_end, count(*) AS n, median(speed) AS m FROM s [RANGE 4 SECONDS SLIDE 8 SECONDS]",
    "SELECT station, window_end, count(*) AS v "
    "FROM s [LANDMARK '2026-01-01' SLIDE 5 SECONDS] GROUP BY station",
    "SELECT station, window_end, on_end, count(*) AS v FROM s [ROWS 3 SLIDE 2] GROUP BY station",
    "SELECT station, window_start, window_end, count(*) AS n FROM s [SESSION GAP 4 SECONDS] "
    "GROUP BY station HAVING min(speed) > 5",
    "SELECT station, frame_start, frame_end, count(*) AS n, max(speed) AS hi "
    "FROM s [FRAME THRESHOLD speed < 25]",
)
ZERO = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Pool:
    """Programs that were planned once, and the rule of their stream.

    ``early`` has those with early answers, each beside the one that reports what is final.
    """

    rule: StreamRule
    schema: pa.Schema
    programs: tuple[QueryProgram, ...]
    early: tuple[tuple[QueryProgram, QueryProgram], ...]


def planned(spark: SparkSession) -> Pool:
    """Plan the queries once."""
    df = spark.createDataFrame([], COLUMNS)
    stream = NetworkStream(mt.stream(df, "ts", "station", mt.slack("4 seconds")), tuple(df.columns))
    declared = {"s": (stream.planning, stream.axis)}
    programs = [plan_query(text, declared).program for text in TEXTS]
    schema = carried_schema(stream.planning)
    early = []
    for text in EARLY_TEXTS:
        plan = plan_query(text, declared)
        changes = with_early_answers(plan, Emission("early"), stream.axis).program
        early.append((_sent(changes), _sent(plan.program)))
    return Pool(from_json(stream.rule), schema, tuple(map(_sent, programs)), tuple(early))


def _sent(program: QueryProgram) -> QueryProgram:
    """Return a program that was written as JSON and read again, as workers do."""
    sent: QueryProgram = from_json(to_json(program))
    assert sent == program
    return sent


row = st.tuples(
    st.integers(-6, 6),
    st.sampled_from("abc"),
    st.sampled_from([0, 1, 2, None]),
    st.sampled_from([None, 0.0, -0.0, 5.5, 12.0, 24.9, 25.0, 31.0, 60.0, float("nan")]),
    # Two of the largest are too much for a sum, which stops that query.
    st.sampled_from([*range(-5, 6), 2**62]),
    st.booleans(),
)
rows_of_a_task = st.lists(row, max_size=6)


def table_of(schema: pa.Schema, rows: list[tuple], base: int) -> pa.Table:
    """Return rows around a place in time, out of order, some without a place."""
    data = [
        {
            "ts": None if lost and offset == 6 else ZERO + timedelta(seconds=base + offset),
            "station": station,
            "lane": lane,
            "speed": speed,
            "volume": volume,
        }
        for offset, station, lane, speed, volume, lost in rows
    ]
    return pa.Table.from_pylist(data, schema=schema)


def plain(table: pa.Table) -> list[str]:
    """Return the rows of a table as texts, in order."""
    return sorted(map(repr, table.to_pylist()))
