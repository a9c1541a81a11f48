"""answer="auto": the way changes while a query runs, and the answer is that of an eager query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from muntin.engine.asking.ask import LoggedNewest
from muntin.engine.asking.chosen_modes import OFTEN, RARELY, AnswerRates
from muntin.engine.asking.standing import newest_answers
from muntin.engine.result_log import Answer
from muntin.errors import ArgumentError, EngineError
from muntin.operators.shared.as_json import to_json
from muntin.operators.shared.asking.newest import certain_in
from tests.engine.asking.test_asking_modes import newest
from tests.engine.in_memory import MemoryStream
from tests.engine.pool import TEXTS, Pool, plain, planned, rows_of_a_task, table_of
from tests.engine.test_engine import Readings, declared, windows
from tests.thorough import examples


@pytest.fixture(scope="module")
def pool(spark: SparkSession) -> Pool:
    return planned(spark)


task = st.lists(rows_of_a_task, min_size=1, max_size=2)
#: The rows of a micro-batch, how the query answers in it, and whether it is asked.
step = st.tuples(task, st.sampled_from(["eager", "partial"]), st.booleans())


@examples(600)
@given(
    st.lists(step, min_size=2, max_size=7),
    st.sampled_from([1, 3]),
    st.integers(0, len(TEXTS) - 1),
)
def test_a_query_answers_alike_in_whatever_way(
    pool: Pool, steps: list, shards: int, choice: int
) -> None:
    eager = pool.programs[choice].numbered(1)
    auto = replace(eager, auto=True)
    stream, alone = MemoryStream(pool.rule, shards), MemoryStream(pool.rule, shards)
    logged: list[pa.Table] = []
    known, asks = LoggedNewest(), 0
    for number, (tasks, mode, asked) in enumerate(steps):
        asks += asked
        program = replace(auto, answer=mode, asked=asks)
        rows = [table_of(pool.schema, t, number * 6) for t in tasks]
        expected = alone.run(rows, [eager], micro_batch=number)
        done = stream.run(rows, [program], micro_batch=number)
        assert (1 in expected.failed) == (1 in done.failed)
        if expected.failed:
            return
        if 1 in expected.answers:
            logged.append(certain_in(expected.answers[1], number))
        record = SimpleNamespace(program=to_json(program))
        written = newest_answers(done.answers, {1: record}, number)
        answers = [Answer(1, number, table) for table in written.values()]
        known = known.after(answers, auto)
        if asked or mode == "eager":
            shown = known.shown()
            answer = [] if shown is None else plain(auto.newest.of(shown))
            assert answer == newest(eager, logged)
    stream.run([table_of(pool.schema, [], 0)], [])
    assert [state.chunks for state in stream.states] == [{}] * shards


class TestRates:
    def test_a_query_that_nobody_asks_waits(self) -> None:
        rates = AnswerRates()
        for _ in range(RARELY - 1):
            rates.answered(1)
            assert rates.choice(1, "eager") == "eager"
        rates.answered(1)
        assert rates.choice(1, "eager") == "partial"
        assert rates.choice(1, "partial") == "partial"

    def test_a_query_that_is_asked_often_does_not_wait(self) -> None:
        rates = AnswerRates()
        rates.asked(1)
        assert rates.choice(1, "partial") == "partial"
        rates.asked(1)
        assert rates.choice(1, "partial") == "eager"

    def test_between_the_two_nothing_changes(self) -> None:
        rates = AnswerRates()
        for number in range(40 * OFTEN):
            rates.answered(1)
            if number % (2 * OFTEN) == OFTEN:
                rates.asked(1)
            assert rates.choice(1, "eager") == "eager"
            assert rates.choice(1, "partial") == "partial" or number < 2 * OFTEN * 3

    def test_what_was_long_ago_counts_less(self) -> None:
        rates = AnswerRates()
        for _ in range(100):
            rates.asked(1)
        for _ in range(10_000):
            rates.answered(1)
        assert rates.choice(1, "eager") == "partial"
        assert rates.choice(2, "eager") == "eager"


def test_the_way_changes_at_a_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    with declared(spark, tmp_path, readings) as engine:
        with pytest.raises(ArgumentError, match="a sink gets answers"):
            engine.register("q", windows(), answer="auto", into="csv('x')")
        eager = engine.register("eager", windows(5, 5))
        auto = engine.register("auto", windows(5, 5), answer="auto")
        with pytest.raises(EngineError, match="no sinks"):
            _ = auto.sinks
        stream, number = engine.stream_of("traffic"), auto.record.number
        engine.start()
        readings.put(0, 30)
        engine.process_available()
        assert "log (chosen by the engine)" in auto.explain()
        stream.rates._of(number).answered = RARELY  # as after so many that nobody asked for
        readings.put(30, 30)
        engine.process_available()
        assert "somebody asks (chosen by the engine)" in auto.explain()
        readings.put(60, 30)
        engine.process_available()
        assert auto.results().num_rows < eager.results().num_rows
        for _ in range(2):
            assert auto.invoke() == eager.invoke()
        readings.put(90, 30)
        engine.process_available()
        engine.process_available()
        assert "log (chosen by the engine)" in auto.explain()
        assert auto.invoke() == eager.invoke()
        kinds = [c.details["answer"] for c in engine.registry.commands() if c.kind == "answer"]
        assert kinds == ["partial", "eager"]
