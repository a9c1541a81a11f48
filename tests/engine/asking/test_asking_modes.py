"""All ways of making answers return the same answer of the same micro-batch."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from muntin.engine.asking.ask import newest_over
from muntin.engine.history_run import HistoryRun
from muntin.operators.shared.asking.newest import CERTAIN_IN, certain_in
from muntin.operators.shared.program import QueryProgram
from tests.engine.filling.test_history import MemoryRows
from tests.engine.in_memory import MemoryStream
from tests.engine.pool import TEXTS, Pool, plain, planned, rows_of_a_task, table_of
from tests.thorough import examples


@pytest.fixture(scope="module")
def pool(spark: SparkSession) -> Pool:
    return planned(spark)


def newest(program: QueryProgram, tables: list[pa.Table]) -> list[str]:
    """For each key the rows of its last micro-batch with the greatest bounds, by plain loops."""
    rows = [row for table in tables for row in table.to_pylist()]
    best: dict[str, tuple[object, ...]] = {}
    for row in rows:
        key = repr([row[name] for name in program.newest.keys])
        place = tuple(row[name] for name in (CERTAIN_IN, *program.newest.bounds))
        best[key] = max(best.get(key, place), place)
    return sorted(
        repr(row)
        for row in rows
        if best[repr([row[name] for name in program.newest.keys])]
        == tuple(row[name] for name in (CERTAIN_IN, *program.newest.bounds))
    )


batch = st.tuples(st.lists(rows_of_a_task, min_size=1, max_size=2), st.booleans())


@examples(500)
@given(
    st.lists(batch, min_size=1, max_size=6),
    st.sampled_from([1, 3]),
    st.lists(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=4, unique=True),
)
def test_all_modes_answer_alike_whenever_asked(
    pool: Pool, batches: list[tuple[list[list[tuple]], bool]], shards: int, chosen: list[int]
) -> None:
    eager = {n + 1: pool.programs[place].numbered(n + 1) for n, place in enumerate(chosen)}
    partial = {m + 100: replace(p, answer="partial", member=m + 100) for m, p in eager.items()}
    lazy = [replace(p, answer="lazy", member=m + 200) for m, p in eager.items()]
    together, alone = MemoryStream(pool.rule, shards), MemoryStream(pool.rule, shards)
    logged: dict[int, list[pa.Table]] = {member: [] for member in eager}
    asks = 0
    kept = MemoryRows()
    for number, (tasks, asked) in enumerate(batches):
        asks += asked
        partial = {m: replace(p, asked=asks) for m, p in partial.items()}
        rows = [table_of(pool.schema, task, number * 6) for task in tasks]
        before = together.progress[0]
        ended = number == len(batches) - 1
        programs = [*eager.values(), *partial.values(), *lazy]
        done = together.run(rows, programs, ended=ended, micro_batch=number)
        expected = alone.run(rows, [*eager.values()], ended=ended)
        kept.keep(rows, before, together.progress[0])
        # Asking, and answers that stand, change nothing for others.
        assert not {member for member in done.answers if member > 200}
        for member in [*eager]:
            if member in expected.failed:
                del eager[member], partial[member + 100]
                continue
            made = expected.answers.get(member)
            assert (made is None) == (member not in done.answers)
            if made is not None:
                assert plain(made) == plain(done.answers[member])
                logged[member].append(certain_in(made, number))
            told = done.answers.get(member + 100)
            assert told is None or asked
            if asked:
                program = eager[member]
                answer = [] if told is None else plain(program.newest.of(told))
                assert answer == newest(program, logged[member]), program
                if logged[member]:
                    folded = program.newest.of(pa.concat_tables(logged[member]))
                    assert plain(folded) == answer
                run = HistoryRun(pool.rule, program, kept, shards)
                computed = newest_over(run, program, 0)
                assert ([] if computed is None else plain(computed)) == answer
            used = (done.used.get(member, 0), done.used.get(member + 100, 0))
            assert used[0] == used[1] or eager[member].operator is None
    together.run([table_of(pool.schema, [], 0)], [])
    assert [state.chunks for state in together.states] == [{}] * shards


def test_answers_that_stand_stay_in_the_shard(pool: Pool) -> None:
    stream = MemoryStream(pool.rule, 1)
    program = replace(pool.programs[2], answer="partial", member=1)
    rows = [
        table_of(pool.schema, [(n, "a", 0, 5.5, 1, False) for n in range(6)], base)
        for base in (0, 20)
    ]
    assert not stream.run([rows[0]], [program], micro_batch=0).answers
    assert not stream.run([rows[1]], [program], micro_batch=1).answers
    asked = replace(program, asked=7)
    told = stream.run([table_of(pool.schema, [], 0)], [asked], micro_batch=2).answers[1]
    assert [row["window_end"].second for row in told.to_pylist()] == [15]
    # An ask is told once.
    assert not stream.run([table_of(pool.schema, [], 0)], [asked], micro_batch=3).answers
