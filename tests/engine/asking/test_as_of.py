"""AS OF answers as the stream would have, had its punctuation come just to that value."""

from __future__ import annotations

from datetime import timedelta

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.asking.past import _Refusal, newest_answers_of, rows_as_of, with_hidden
from muntin.engine.history_run import HistoryRun
from muntin.engine.plan_query import with_bound
from muntin.errors import ArgumentError
from muntin.operators.shared.program import QueryProgram
from muntin.spark.queries.many_queries import NetworkStream
from tests.engine.filling.test_history import MemoryRows
from tests.engine.in_memory import MemoryStream
from tests.engine.pool import COLUMNS, TEXTS, ZERO, Pool, plain, planned, table_of
from tests.engine.pool import row as pool_row
from tests.thorough import examples

#: The slack of the pool's stream, in seconds.
SLACK = 4


@pytest.fixture(scope="module")
def pool(spark: SparkSession) -> Pool:
    return planned(spark)


@pytest.fixture(scope="module")
def network(spark: SparkSession) -> NetworkStream:
    df = spark.createDataFrame([], COLUMNS)
    return NetworkStream(mt.stream(df, "ts", "station", mt.slack("4 seconds")), tuple(df.columns))


class Asked:
    """Raises in place of the refusals of a stream."""

    def too_old(self, tick: int) -> ArgumentError:
        return ArgumentError("as of", tick, "too old")

    def too_new(self, tick: int | None) -> ArgumentError:
        return ArgumentError("as of", tick, "too new")


REFUSAL: _Refusal = Asked()  # type: ignore[assignment]


def below(table: pa.Table, second: int) -> pa.Table:
    moment = pa.scalar(ZERO + timedelta(seconds=second), table.schema.field("ts").type)
    return table.filter(pc.less(table["ts"], moment))


batch = st.lists(st.lists(pool_row, min_size=3, max_size=8), min_size=1, max_size=2)


@examples(600)
@given(
    st.integers(0, len(TEXTS) - 1),
    st.lists(batch, min_size=2, max_size=5),
    st.integers(-1, 15),
    st.sampled_from([1, 3]),
)
def test_as_of_answers_what_was_certain_then(
    pool: Pool, network: NetworkStream, choice: int, batches: list, ago: int, shards: int
) -> None:
    """``ago`` is how many seconds before the last punctuation the question is about."""
    program = pool.programs[choice].numbered(1)
    live, kept = MemoryStream(pool.rule, shards), MemoryRows()
    for place, tasks in enumerate(batches):
        before = live.progress[0]
        rows = [table_of(pool.schema, task, place * 6) for task in tasks]
        if live.run(rows, [program]).failed:
            return  # ties and sums that are too large stop the query, as they do over history
        kept.keep(rows, before, live.progress[0])
    reached = live.progress[0].reached
    if reached is None:
        return
    tick = reached - ago * 1_000_000
    second = (tick - pool.rule.axis.point("as of", ZERO.isoformat())) // 1_000_000
    value = ZERO + timedelta(seconds=second)
    if ago < 0:
        with pytest.raises(ArgumentError, match="too new"):
            rows_as_of(kept, tick, REFUSAL)
        return
    past = rows_as_of(kept, tick, REFUSAL)
    bounded = with_bound(program, [network.planning], network.axis, "until", value.isoformat())
    asked = newest_answers_of(HistoryRun(pool.rule, bounded, past, shards))
    answer = [] if asked is None else plain(asked.drop_columns(["micro_batch"]))
    assert answer == as_if_live(pool, program, kept, past.last, second, shards)


def as_if_live(
    pool: Pool, program: QueryProgram, kept: MemoryRows, last: int, second: int, shards: int
) -> list[str]:
    """Feed a stream to the micro-batch in question, and there to the value and no farther."""
    chooses = program.operator is None
    shown, newest = (program, None) if chooses else with_hidden(program)
    stream = MemoryStream(pool.rule, shards)
    tables = []
    for number in range(last + 1):
        rows = [kept.read(number)]
        if number == last:
            # A row of a key that no answer can have by then moves the punctuation to the value.
            mover = table_of(pool.schema, [(SLACK, "c", 0, 1.0, 1, False)], second)
            rows = [below(rows[0], second), mover]
        if chooses:
            rows = [below(table, second) for table in rows]
        done = stream.run(rows, [shown])
        tables += done.answers.values()
    if not tables:
        return []
    together = pa.concat_tables(tables)
    if newest is None:
        return plain(together)
    best: dict[str, tuple[object, ...]] = {}
    rows = together.to_pylist()
    for row in rows:
        key = repr([row[name] for name in newest.keys])
        best[key] = max(best.get(key, ()), tuple(row[name] for name in newest.bounds))
    chosen = [
        {name: value for name, value in row.items() if not name.startswith("\0")}
        for row in rows
        if best[repr([row[name] for name in newest.keys])]
        == tuple(row[name] for name in newest.bounds)
    ]
    return sorted(map(repr, chosen))
