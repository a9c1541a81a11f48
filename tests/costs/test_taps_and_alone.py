"""Taps change nothing: with taps on everything, all queries answer the same."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from muntin.engine.costs.state_estimate import ExpectedSizes, estimated, row_bytes, total_bytes
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.operators.protocol import MemoryState
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import ProgramInput, QueryProgram, Tap, TapPlace
from muntin.operators.shared.taps import MEMBERS
from tests.engine.in_memory import MemoryStream
from tests.engine.pool import Pool, plain, planned, rows_of_a_task, table_of
from tests.thorough import examples

#: The numbers of taps; those of queries are smaller.
FIRST_TAP = 100


@pytest.fixture(scope="module")
def pool(spark: SparkSession) -> Pool:
    return planned(spark)


def queries(pool: Pool) -> list[QueryProgram]:
    return [program.numbered(number) for number, program in enumerate(pool.programs)]


def tap(pool: Pool, number: int, place: TapPlace, member: int, most: int) -> QueryProgram:
    """A tap on a query, as it is written and read again."""
    predicate = pool.programs[member].inputs[0].predicate if place == "rows" else None
    own = ProgramInput(ArrowColumns((), pa.schema([])), predicate)
    program = QueryProgram(number, (own,), None, None, tap=Tap(place, member, most))
    read: QueryProgram = from_json(to_json(program))
    return read


def kept(state: MemoryState) -> dict[object, str]:
    """What a shard keeps, as text: NaN equals NaN there."""
    return {place: repr(table.to_pylist()) for place, table in state.chunks.items()}


asked = st.tuples(
    st.sampled_from(["rows", "cells", "answers"]), st.integers(0, 12), st.integers(1, 4)
)


@examples(160)
@given(
    st.lists(st.lists(rows_of_a_task, min_size=1, max_size=2), min_size=1, max_size=4),
    st.lists(asked, min_size=1, max_size=6),
    st.sampled_from([1, 3]),
)
def test_taps_change_no_answer(
    pool: Pool,
    batches: list[list[list[tuple]]],
    places: list[tuple[TapPlace, int, int]],
    shards: int,
) -> None:
    taps = [tap(pool, FIRST_TAP + n, *place) for n, place in enumerate(places)]
    with_taps, without = MemoryStream(pool.rule, shards), MemoryStream(pool.rule, shards)
    for place, tasks in enumerate(batches):
        rows = [table_of(pool.schema, task, place * 6) for task in tasks]
        ended = place == len(batches) - 1
        done = with_taps.run(rows, [*queries(pool), *taps], ended=ended)
        plainly = without.run(rows, queries(pool), ended=ended)
        assert done.failed == plainly.failed
        own = {m: plain(table) for m, table in done.answers.items() if m < FIRST_TAP}
        assert own == {m: plain(table) for m, table in plainly.answers.items()}
        assert {m: n for m, n in done.used.items() if m < FIRST_TAP} == plainly.used
        read = Counter(repr(row) for table in rows for row in table.to_pylist())
        for program in taps:
            copied = done.answers.get(program.member)
            if copied is not None and program.tap.member not in done.failed:  # type: ignore[union-attr]
                _check_copied(program, copied, read, plainly.answers, shards)
    assert [kept(state) for state in with_taps.states] == [kept(own) for own in without.states]


def _check_copied(
    program: QueryProgram,
    copied: pa.Table,
    read: Counter[str],
    answers: dict[int, pa.Table],
    shards: int,
) -> None:
    """What was copied was there, and is not too much of it for the tasks or shards."""
    assert program.tap is not None
    assert copied.num_rows <= program.tap.most * max(2, shards)
    if program.tap.place == "rows":
        rows = copied.drop_columns(["complete"]).to_pylist()
        assert Counter(map(repr, rows)) <= read
    elif program.tap.place == "answers":
        assert Counter(plain(copied)) <= Counter(plain(answers[program.tap.member]))
    elif MEMBERS in copied.column_names:
        assert all(program.tap.member in members for members in copied[MEMBERS].to_pylist())


def test_an_estimate_depends_on_queries_alone(pool: Pool) -> None:
    few, many = ExpectedSizes(10, 5), ExpectedSizes(20, 5)
    network = QueryNetwork(pool.rule, tuple(queries(pool)))
    parts = estimated(network, few)
    assert parts.keys() == network.groups.keys()
    assert all(part.bytes > 0 for part in parts.values())
    # The group without keys has one, whatever is expected.
    (alone,) = (part for part in parts.values() if part.keys == 1)
    assert total_bytes(network, many) - total_bytes(network, few) == (
        total_bytes(network, few) - alone.bytes
    )
    (shared,) = (part for part in parts.values() if part.sets > 1)
    # Windows of 10 and 7 seconds: edges every 5 seconds and two every 3; two predicates: 5 sets.
    assert (shared.panes, shared.sets) == (4 + 5 + 5, 5)
    assert row_bytes(pa.schema([("a", pa.bool_()), ("b", pa.decimal128(5, 2))])) == 17
