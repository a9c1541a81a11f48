"""A query that is filled from panes answers as one that was always there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.filling.from_panes import base_program
from muntin.engine.plan_query import plan_query
from muntin.errors import ArgumentError
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.pane_cover import lacking
from muntin.operators.shared.program import QueryProgram, TakenPanes
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkStream
from tests.engine.in_memory import Answered, MemoryStream
from tests.engine.pool import COLUMNS, plain, rows_of_a_task, table_of
from tests.thorough import examples

#: The range and slide of windows in seconds; the third cannot fill others, it has gaps.
WINDOWS = ((12, 2), (8, 2), (4, 8), (10, 5), (5, 5), (7, 3), (6, 3), (9, 3), (3, 1))
SELECTED = (
    "avg(speed) AS a, sum(volume) AS v, count(*) AS n, max(speed) AS m",
    "sum(volume) AS v",
    "min(speed) AS m, count(speed) AS n",
    "avg(speed * 2) AS a",
    "median(speed) AS a",
)
SECOND = 1_000_000
#: Base panes are in several chunks.
GRAIN = "100 milliseconds"


@dataclass(frozen=True)
class Panes:
    """Programs by window, selection and predicate, and the base panes of two streams."""

    rule: StreamRule
    schema: pa.Schema
    programs: dict[tuple[tuple[int, int], str, str], QueryProgram]
    bases: dict[int, QueryProgram]

    def of(self, window: tuple[int, int], selected: int = 0, where: str = "") -> QueryProgram:
        return self.programs[window, SELECTED[selected], where]


@pytest.fixture(scope="module")
def panes(spark: SparkSession) -> Panes:
    df = spark.createDataFrame([], COLUMNS)
    stream = NetworkStream(mt.stream(df, "ts", "station", mt.slack("4 seconds")), tuple(df.columns))
    declared = {"s": (stream.planning, stream.axis)}
    cases = [(window, SELECTED[0], where) for window in WINDOWS for where in ("", "lane < 2")]
    cases += [((8, 2), selected, "") for selected in SELECTED[1:]]
    programs = {}
    for window, selected, where in cases:
        text = (
            f"SELECT station, window_start, window_end, {selected} FROM s "
            f"[RANGE {window[0]} SECONDS SLIDE {window[1]} SECONDS] "
            f"{where and 'WHERE ' + where} GROUP BY station"
        )
        programs[window, selected, where] = plan_query(text, declared).program
    bases = {
        keep: from_json(
            to_json(base_program("s", stream.planning, stream.axis, keep * SECOND, GRAIN))
        )
        for keep in (12, 300)
    }
    schema = carried_schema(stream.planning)
    return Panes(from_json(stream.rule), schema, programs, bases)


def answers(done: Answered, member: int) -> list[str]:
    assert not done.failed
    return plain(done.answers[member]) if member in done.answers else []


def small(batches: list[list[list[tuple]]]) -> list[list[list[tuple]]]:
    """Leave sums that overflow out."""
    return [
        [[(*row[:4], row[4] % 7, row[5]) for row in task] for task in tasks] for tasks in batches
    ]


def test_what_panes_of_a_query_have(panes: Panes) -> None:
    long = panes.of((12, 2))
    assert lacking(long, panes.of((8, 2))) is None
    assert lacking(long, panes.of((8, 2), 1)) is None  # fewer aggregates
    assert lacking(panes.of((8, 2)), long) == "panes so far back"
    assert lacking(long, panes.of((10, 5))) == "the edges of its windows"
    assert lacking(long, panes.of((8, 2), where="lane < 2")) == "the same rows"
    assert lacking(long, panes.of((8, 2), 3)) == "the aggregates"
    assert lacking(panes.of((4, 8)), panes.of((4, 8))) == "rows in the gaps between its windows"
    # Windows of three seconds may begin between two that begin every second of a longer slide.
    assert lacking(panes.of((7, 3)), panes.of((6, 3))) == "panes so far back"
    assert lacking(panes.of((9, 3)), panes.of((6, 3))) is None


def test_what_base_panes_have(panes: Panes) -> None:
    base = panes.bases[300]
    for window in WINDOWS:
        assert lacking(base, panes.of(window)) is None
        assert lacking(base, panes.of(window, where="lane < 2")) == "the same rows"
    assert lacking(base, panes.of((8, 2), 2)) is None
    assert lacking(base, panes.of((8, 2), 3)) == "the aggregates"
    assert lacking(base, panes.of((8, 2), 4)) == "the aggregates"


batch = st.lists(rows_of_a_task, min_size=1, max_size=2)
batches = st.lists(batch, min_size=2, max_size=6)


@examples(400)
@given(batches, st.data(), st.sampled_from([1, 3]))
def test_panes_of_another_query_fill_a_new_one(
    panes: Panes, batches: list[list[list[tuple]]], data: st.DataObject, shards: int
) -> None:
    pairs = [
        (old, new)
        for old in panes.programs.values()
        for new in panes.programs.values()
        if old.inputs[0].predicate == new.inputs[0].predicate and lacking(old, new) is None
    ]
    old, new = data.draw(st.sampled_from(pairs))
    first = data.draw(st.integers(1, len(batches) - 1))
    gone = data.draw(st.integers(first, len(batches)))
    third = data.draw(st.integers(first + 1, len(batches)))
    together, alone = MemoryStream(panes.rule, shards), MemoryStream(panes.rule, shards)
    beside = panes.of((5, 5), where="lane < 2").numbered(9)
    filled = [
        replace(new, panes=TakenPanes(2, (1,))).numbered(2),
        replace(new, panes=TakenPanes(3, (2, 1))).numbered(3),
    ]
    for place, tasks in enumerate(small(batches)):
        rows = [table_of(panes.schema, task, place * 6) for task in tasks]
        ended = place == len(batches) - 1
        live = [beside, *([old.numbered(1)] if place < gone else [])]
        live += [] if place < first else filled[: 1 if place < third else 2]
        done = together.run(rows, live, ended=ended)
        expected = alone.run(rows, [replace(new, seed="none").numbered(7)], ended=ended)
        for member, since in ((2, first), (3, third)):
            if place >= since:
                assert answers(done, member) == answers(expected, 7)


@examples(400)
@given(
    batches,
    st.sampled_from(WINDOWS),
    st.sampled_from([12, 300]),
    st.integers(0, 5),
    st.sampled_from([1, 3]),
)
def test_base_panes_fill_a_new_query(
    panes: Panes,
    batches: list[list[list[tuple]]],
    window: tuple[int, int],
    keep: int,
    first: int,
    shards: int,
) -> None:
    first = min(first, len(batches) - 1)
    rule = replace(panes.rule, base=panes.bases[keep])
    together, alone = MemoryStream(rule, shards), MemoryStream(panes.rule, shards)
    taken = [TakenPanes(2, past=True), TakenPanes(3)]
    filled = [replace(panes.of(window), panes=p).numbered(p.member) for p in taken]
    past: list[pa.Table] = []
    before: list[pa.Table] = []
    for place, tasks in enumerate(small(batches)):
        rows = [table_of(panes.schema, task, place * 6) for task in tasks]
        ended = place == len(batches) - 1
        reached = together.progress[0].reached
        done = together.run(rows, filled if place >= first else [], ended=ended)
        program = replace(panes.of(window), seed="none").numbered(7)
        expected = alone.run(rows, [program], ended=ended)
        if place <= first:
            before += expected.answers.values()
        if place == first:
            assert answers(done, 3) == answers(expected, 7)
            past += [done.answers[2]] if 2 in done.answers else []
            limit = None if reached is None else reached - keep * SECOND
            assert _since(past, limit) == _since(before, limit)
        elif place > first:
            assert answers(done, 2) == answers(done, 3) == answers(expected, 7)
    assert all(not state.buckets("base/panes") for state in together.states)


def _since(tables: list[pa.Table], tick: int | None) -> list[str]:
    """Return the answers of windows that begin at or after a tick."""
    rows = [row for table in tables for row in table.to_pylist()]
    if tick is not None:
        since = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=tick)
        rows = [row for row in rows if row["window_start"] >= since]
    return sorted(map(repr, rows))


def test_a_grain_is_not_longer_than_what_is_kept(spark: SparkSession) -> None:
    df = spark.createDataFrame([], COLUMNS)
    stream = NetworkStream(mt.stream(df, "ts", "station", mt.slack("4 seconds")), tuple(df.columns))
    with pytest.raises(ArgumentError, match="not longer than keep"):
        base_program("s", stream.planning, stream.axis, SECOND, "1 minute")
