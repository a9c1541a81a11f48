"""The promise of the engine: the answers of many queries are those of each query alone.

Queries come, change and go between random micro-batches of disordered rows. Each member's answers
must be those of the same query that runs alone from the micro-batch on in which it began, with the
progress that the stream had then.
"""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from tests.engine.in_memory import MemoryStream
from tests.engine.pool import TEXTS, Pool, plain, planned, rows_of_a_task, table_of
from tests.thorough import examples


@pytest.fixture(scope="module")
def pool(spark: SparkSession) -> Pool:
    return planned(spark)


def test_every_query_can_be_planned(pool: Pool) -> None:
    assert len(pool.programs) == len(TEXTS)
    assert all(program.answers is not None for program in pool.programs)


def test_windows_with_the_same_keys_share_panes(pool: Pool) -> None:
    network = QueryNetwork(pool.rule, tuple(p.numbered(n) for n, p in enumerate(pool.programs)))
    shared = [len(group.members) for group in network.groups.values()]
    assert sorted(shared, reverse=True)[:2] == [3, 1]
    assert len(network.filters.programs) == 2


commands = st.lists(st.tuples(st.sampled_from(["add", "drop"]), st.integers(0, 40)), max_size=3)
batch = st.tuples(commands, st.lists(rows_of_a_task, min_size=1, max_size=2))


@examples(2000)
@given(st.lists(batch, min_size=1, max_size=5), st.sampled_from([1, 3]))
def test_many_queries_answer_as_each_alone(
    pool: Pool, batches: list[tuple[list[tuple[str, int]], list[list[tuple]]]], shards: int
) -> None:
    together = MemoryStream(pool.rule, shards)
    alone: dict[int, MemoryStream] = {}
    live: dict[int, QueryProgram] = {}
    numbers = iter(range(1, 1000))
    for place, (asked, tasks) in enumerate(batches):
        for what, choice in asked:
            if what == "drop" and live:
                gone = sorted(live)[choice % len(live)]
                del live[gone], alone[gone]
            elif what == "add":
                number = next(numbers)
                programs = [*pool.programs, *(changes for changes, _ in pool.early)]
                live[number] = programs[choice % len(programs)].numbered(number)
                alone[number] = MemoryStream(pool.rule, shards, progress=list(together.progress))
        rows = [table_of(pool.schema, task, place * 6) for task in tasks]
        ended = place == len(batches) - 1
        done = together.run(rows, list(live.values()), ended=ended)
        wanted = sum(table.num_rows for table in rows)
        for member, program in list(live.items()):
            # A query with a seed shares nothing: it has an operator of its own.
            single = alone[member].run(rows, [replace(program, seed="none")], ended=ended)
            assert done.failed.get(member) == single.failed.get(member)
            if single.failed:  # rows that tie stop frames, large values stop sums: only those
                assert single.failed[member].startswith(("TieError", "SumOverflowError"))
                del live[member], alone[member]
                continue
            answers, expected = done.answers.get(member), single.answers.get(member)
            assert (answers is None) == (expected is None), program
            if answers is not None and expected is not None:
                assert plain(answers) == plain(expected), program
            counted = done.used.get(member, 0) + done.refused.get(member, 0)
            assert counted == single.used.get(member, 0) + single.refused.get(member, 0)
            assert counted <= wanted * len(program.inputs)
            if program.operator is not None and program.inputs[0].predicate is None:
                assert counted == wanted * len(program.inputs), program
    together.run([table_of(pool.schema, [], 0)], [])
    assert [state.chunks for state in together.states] == [{}] * shards


def test_a_sum_that_overflows_stops_only_its_own_query(pool: Pool) -> None:
    """Windows over the same panes: one sum is too large, other windows answer as before."""
    windows = [
        place for place, text in enumerate(TEXTS) if "[RANGE" in text and "GROUP BY station" in text
    ]
    programs = [pool.programs[place].numbered(place) for place in windows]
    summed = next(place for place in windows if "sum(volume)" in TEXTS[place])
    rows = [(place, "a", 0, 31.0, 2**62, False) for place in (0, 1, 1)]
    later = [(6, "a", 0, 31.0, 1, False)]
    tables = [table_of(pool.schema, rows, 0), table_of(pool.schema, later, 60)]
    for order in (tables, tables[::-1]):
        together = MemoryStream(pool.rule, 1)
        done = together.run(order, programs)
        assert list(done.failed) == [summed]
        assert "SumOverflowError" in done.failed[summed]
        for program in programs:
            if program.member != summed:
                alone = MemoryStream(pool.rule, 1).run(order, [replace(program, seed="none")])
                assert plain(done.answers[program.member]) == plain(alone.answers[program.member])
