"""A query that is filled from kept rows answers as one that was always there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from muntin.engine.history_run import HistoryRun
from muntin.engine.kept_rows import KeptProgress
from muntin.errors import EngineError
from muntin.operators.progress.progress import Progress
from muntin.operators.shared.beginnings import Seed
from tests.engine.in_memory import MemoryStream
from tests.engine.pool import TEXTS, Pool, plain, planned, rows_of_a_task, table_of
from tests.thorough import examples


@pytest.fixture(scope="module")
def pool(spark: SparkSession) -> Pool:
    return planned(spark)


@dataclass
class MemoryRows:
    """Kept rows in memory."""

    tables: list[pa.Table] = field(default_factory=list)
    known: list[KeptProgress] = field(default_factory=list)

    def keep(self, tasks: list[pa.Table], before: Progress, after: Progress) -> None:
        self.tables.append(pa.concat_tables(tasks))
        reached = (before.reached, after.reached, before.largest, after.largest)
        self.known.append(KeptProgress(*reached, before.ended, after.ended))

    def batches(self, after: int = -1) -> list[int]:
        return [number for number in range(len(self.tables)) if number > after]

    def progress(self, micro_batch: int) -> KeptProgress:
        return self.known[micro_batch]

    def read(self, micro_batch: int) -> pa.Table:
        return self.tables[micro_batch]


batch = st.lists(rows_of_a_task, min_size=1, max_size=2)


@examples(600)
@given(
    st.integers(0, len(TEXTS) - 1),
    st.lists(batch, min_size=1, max_size=3),
    st.lists(batch, max_size=3),
    st.sampled_from([1, 3]),
)
def test_a_query_with_history_answers_as_one_that_was_always_there(
    pool: Pool, choice: int, before: list, after: list, shards: int
) -> None:
    program = replace(pool.programs[choice], seed="none").numbered(1)
    stream, kept = MemoryStream(pool.rule, shards), MemoryRows()
    past: list[pa.Table] = []
    for place, tasks in enumerate(before):
        rows, progress = [table_of(pool.schema, t, place * 6) for t in tasks], stream.progress[0]
        done = stream.run(rows, [program])
        kept.keep(rows, progress, stream.progress[0])
        if done.failed:  # over history it fails as well
            run = HistoryRun(pool.rule, program.numbered(2), kept, shards)
            (reason,) = done.failed.values()
            kind = reason.partition(":")[0]
            with pytest.raises(EngineError, match=f"over history it raises {kind}"):
                run.advance(place)
            return
        past += done.answers.values()
    run = HistoryRun(pool.rule, program.numbered(2), kept, shards)
    run.advance(len(before) - 1)
    assert run.behind(len(before) - 1) == 0
    assert _rows(run.answers) == _rows(past)
    seeds = run.seed()
    assert run.birth is not None
    birth = run.birth
    stream.seeds = lambda shard, name: Seed(seeds[shard], birth)
    # It shares panes with queries that are there.
    others = [other.numbered(9 + n) for n, other in enumerate(pool.programs[2:7])]
    both = [program, run.begun, *others]
    for place, tasks in enumerate(after, len(before)):
        rows = [table_of(pool.schema, task, place * 6) for task in tasks]
        done = stream.run(rows, both, ended=place == len(before) + len(after) - 1)
        assert (1 in done.failed) == (2 in done.failed)
        if 1 in done.failed:
            return
        assert (1 in done.answers) == (2 in done.answers)
        if 1 in done.answers:
            assert plain(done.answers[1]) == plain(done.answers[2])
        assert done.used.get(1) == done.used.get(2)


def _rows(tables: list[pa.Table]) -> list[str]:
    return sorted(row for table in tables for row in plain(table))
