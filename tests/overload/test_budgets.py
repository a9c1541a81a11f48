"""Budgets in a shard: what is answered under one, and where all rows are accounted for.

Random micro-batches go to queries that run alone: exactly, and under a budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.overload.budgeted import why_not_budgeted
from muntin.operators.shared.program import COMPLETE, COMPLETENESS, COMPLETENESS_BY, QueryProgram
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.overload import PinnedOverload, Policy, QueryBudget
from tests.engine.in_memory import Answered, MemoryStream
from tests.engine.inputs import stores
from tests.engine.inputs.stores import planned_stores
from tests.engine.pool import planned, rows_of_a_task, table_of
from tests.thorough import examples

SIMPLE = (*(Policy(name) for name in ("random", "oldest", "newest")), Policy("random", seed=1))
SPEED = Policy("value", "speed", [(0, 0), (20, 1), (30, 0.5)])
ABOUT = (COMPLETE, COMPLETENESS, COMPLETENESS_BY)


@dataclass(frozen=True)
class Case:
    """Queries over one stream that can have budgets."""

    rule: StreamRule
    schemas: tuple[pa.Schema, ...]
    programs: tuple[QueryProgram, ...]

    def stream(self, shards: int) -> MemoryStream:
        return MemoryStream(self.rule, shards)


@dataclass(frozen=True)
class Cases:
    lanes: Case
    stores: Case


@pytest.fixture(scope="module")
def cases(spark: SparkSession) -> Cases:
    pool, both = planned(spark), planned_stores(spark)
    return Cases(
        Case(pool.rule, (pool.schema,), budgeted(pool.programs)),
        Case(both.rule, both.schemas, budgeted(both.programs)),
    )


def budgeted(programs: Sequence[QueryProgram]) -> tuple[QueryProgram, ...]:
    found = [own for own in programs if why_not_budgeted(own, Policy("random")) is None]
    return tuple(program.numbered(number) for number, program in enumerate(found, 1))


def test_which_queries_have_budgets(cases: Cases) -> None:
    kinds = Counter(type(own.operator).__name__ for own in cases.lanes.programs)
    assert kinds == {"NoneType": 2, "WindowOperator": 5}
    kinds = Counter(type(own.operator).__name__ for own in cases.stores.programs)
    assert kinds == {"NoneType": 2, "WindowOperator": 4, "PairJoinOperator": 7}


def budgets_with(*policies: Policy) -> st.SearchStrategy[QueryBudget]:
    return st.builds(
        QueryBudget,
        units=st.one_of(st.none(), st.integers(0, 12)),
        share=st.sampled_from([0.0, 0.1, 0.5, 0.9]),
        policy=st.sampled_from(policies),
        waiting=st.sampled_from([0, 3, 8, 1000]),
    )


lanes = st.lists(st.lists(rows_of_a_task, min_size=1, max_size=2), min_size=1, max_size=5)
one_of = st.tuples(st.integers(0, 1), stores.rows_of_a_task)
both_inputs = st.lists(st.lists(one_of, min_size=1, max_size=3), min_size=1, max_size=5)


def lane_batches(case: Case, given_rows: list[list[list[tuple]]]) -> list[list[tuple]]:
    """Return micro-batches: the tables of tasks, and the input of each."""
    return [
        [(table_of(case.schemas[0], rows, place * 6), 0) for rows in tasks]
        for place, tasks in enumerate(given_rows)
    ]


def store_batches(case: Case, given_rows: list[list[tuple]]) -> list[list[tuple]]:
    return [
        [(stores.table_of(case.schemas[of], rows, place * 6), of) for of, rows in tasks]
        for place, tasks in enumerate(given_rows)
    ]


def run(
    stream: MemoryStream,
    program: QueryProgram,
    batch: list[tuple],
    budget: QueryBudget | None,
    *,
    ended: bool = False,
) -> Answered:
    tables, of = [table for table, _ in batch], [own for _, own in batch]
    overload = PinnedOverload({} if budget is None else {program.member: budget})
    done = stream.run(tables, [program], ended=ended, of=of, overload=overload)
    assert not done.failed, done.failed
    return done


def rows_of(answers: pa.Table | None, *, without: Sequence[str] = ABOUT) -> Counter[str]:
    if answers is None:
        return Counter()
    kept = [name for name in answers.column_names if name not in without]
    return Counter(map(repr, answers.select(kept).to_pylist()))


def check(
    case: Case, program: QueryProgram, batches: list[list[tuple]], budget: QueryBudget, shards: int
) -> None:
    """Run a query exactly and under a budget, and compare."""
    exact, limited, again = (case.stream(shards) for _ in range(3))
    true: Counter[str] = Counter()
    found: Counter[str] = Counter()
    taken = wanted = 0
    for place, batch in enumerate(batches):
        ended = place == len(batches) - 1
        plain = run(exact, program, batch, None, ended=ended)
        before = deepcopy(limited.states)
        done = run(limited, program, batch, budget, ended=ended)
        # A repeated micro-batch decides the same, whoever reads which rows.
        again.states, again.progress = before, list(again.progress)
        repeated = run(again, program, split_in_two(batch), budget, ended=ended)
        assert rows_of(done.answers.get(1), without=()) == rows_of(
            repeated.answers.get(1), without=()
        )
        assert [state.chunks.keys() for state in limited.states] == [
            state.chunks.keys() for state in again.states
        ]
        true += rows_of(plain.answers.get(1))
        found += rows_of(done.answers.get(1))
        wanted += plain.used.get(1, 0) + plain.refused.get(1, 0)
        taken += done.used.get(1, 0) + done.refused.get(1, 0) + done.shed.get(1, 0)
        assert taken + done.waiting.get(1, 0) == wanted
        check_completeness(done)
        if ended:
            assert not done.waiting.get(1, 0)
    if not isinstance(program.operator, WindowOperator):
        assert found <= true, (found - true, program.operator)
        how = program.operator.how if isinstance(program.operator, PairJoinOperator) else ""
        if how in ("left", "right", "full", "anti"):
            assert found == true  # nothing is ever missed, it only comes later


def split_in_two(batch: list[tuple]) -> list[tuple]:
    """Return the rows of tasks as other tasks read them."""
    halves = []
    for table, of in batch:
        middle = table.num_rows // 2
        halves += [(table.slice(middle), of), (table.slice(0, middle), of)]
    return halves


def check_completeness(done: Answered) -> None:
    for answers in done.answers.values():
        if COMPLETENESS not in answers.column_names:
            continue
        parts = answers[COMPLETENESS].to_pylist()
        assert all(0 <= part <= 1 for part in parts)
        assert set(answers[COMPLETENESS_BY].to_pylist()) <= {"count"}
        for part, complete in zip(parts, answers[COMPLETE].to_pylist(), strict=True):
            assert part == 1 or not complete


@examples(400)
@given(lanes, st.integers(0, 100), budgets_with(*SIMPLE, SPEED), st.sampled_from([1, 3]))
def test_rows_and_windows_under_a_budget(
    cases: Cases, rows: list[list[list[tuple]]], choice: int, budget: QueryBudget, shards: int
) -> None:
    program = cases.lanes.programs[choice % len(cases.lanes.programs)].numbered(1)
    check(cases.lanes, program, lane_batches(cases.lanes, small(rows)), budget, shards)


def small(rows: list[list[list[tuple]]]) -> list[list[list[tuple]]]:
    """Return rows without the volumes that overflow sums: these stop a query."""
    return [
        [[(*row[:4], min(row[4], 5), row[5]) for row in task] for task in tasks] for tasks in rows
    ]


@examples(400)
@given(both_inputs, st.integers(0, 100), budgets_with(*SIMPLE), st.sampled_from([1, 3]))
def test_joins_under_a_budget(
    cases: Cases, rows: list[list[tuple]], choice: int, budget: QueryBudget, shards: int
) -> None:
    program = cases.stores.programs[choice % len(cases.stores.programs)].numbered(1)
    check(cases.stores, program, store_batches(cases.stores, rows), budget, shards)


@examples(400)
@given(lanes, st.integers(0, 100), budgets_with(Policy("windows")), st.sampled_from([1, 3]))
def test_windows_that_are_delivered_have_all_their_rows(
    cases: Cases, rows: list[list[list[tuple]]], choice: int, budget: QueryBudget, shards: int
) -> None:
    over = [own for own in cases.lanes.programs if isinstance(own.operator, WindowOperator)]
    program = over[choice % len(over)].numbered(1)
    batches = lane_batches(cases.lanes, small(rows))
    check(cases.lanes, program, batches, budget, shards)
    exact, limited = cases.lanes.stream(shards), cases.lanes.stream(shards)
    for place, batch in enumerate(batches):
        ended = place == len(batches) - 1
        true = run(exact, program, batch, None, ended=ended)
        done = run(limited, program, batch, budget, ended=ended)
        without = (COMPLETENESS, COMPLETENESS_BY)
        own = rows_of(done.answers.get(1), without=without)
        assert own <= rows_of(true.answers.get(1), without=())
        assert done.waiting.get(1, 0) == 0


@examples(200)
@given(lanes, st.integers(0, 100), st.sampled_from([*SIMPLE, SPEED]), st.sampled_from([1, 3]))
def test_enough_is_exact(
    cases: Cases, rows: list[list[list[tuple]]], choice: int, policy: Policy, shards: int
) -> None:
    program = cases.lanes.programs[choice % len(cases.lanes.programs)].numbered(1)
    exact, limited = cases.lanes.stream(shards), cases.lanes.stream(shards)
    for batch in lane_batches(cases.lanes, small(rows)):
        true = run(exact, program, batch, None)
        done = run(limited, program, batch, QueryBudget(units=10**9, policy=policy))
        without = (COMPLETENESS, COMPLETENESS_BY)
        assert rows_of(done.answers.get(1), without=without) == rows_of(
            true.answers.get(1), without=()
        )
        assert (done.used, done.shed) == (true.used, {})
        assert done.refused.get(1, 0) == true.refused.get(1, 0)
        if done.answers:
            assert set(done.answers[1][COMPLETENESS].to_pylist()) == {1.0}


def lane_rows(case: Case, *seconds: int, speed: float = 10.0) -> list[tuple]:
    rows = [(second, "a", 1, speed, 1, False) for second in seconds]
    return [(table_of(case.schemas[0], rows, 0), 0)]


def seconds_of(done: Answered) -> list[int]:
    return [] if not done.answers else sorted(ts.second for ts in done.answers[1]["ts"].to_pylist())


@pytest.mark.parametrize(
    ("policy", "first", "later"),
    [("oldest", [0, 1], [2, 3]), ("newest", [3, 4], [1, 2])],
)
def test_rows_wait_by_priority_and_go_on(
    cases: Cases, policy: str, first: list[int], later: list[int]
) -> None:
    """Five rows, two units and room for two to wait: one is shed, two go on when nothing comes."""
    program = cases.lanes.programs[0].numbered(1)
    stream = cases.lanes.stream(1)
    budget = QueryBudget(units=2, policy=Policy(policy), waiting=2)
    done = run(stream, program, lane_rows(cases.lanes, 3, 0, 4, 1, 2), budget)
    assert (seconds_of(done), done.shed, done.waiting) == (first, {1: 1}, {1: 2})
    assert done.answers[1][COMPLETENESS].to_pylist() == [2 / 5, 2 / 5]
    assert done.answers[1][COMPLETE].to_pylist() == [False, False]
    done = run(stream, program, lane_rows(cases.lanes), budget)
    assert (seconds_of(done), done.shed, done.waiting) == (later, {}, {1: 0})
    assert done.answers[1][COMPLETENESS].to_pylist() == [1, 1]


def test_what_waits_goes_on_when_the_budget_is_dropped(cases: Cases) -> None:
    program = cases.lanes.programs[0].numbered(1)
    stream = cases.lanes.stream(1)
    done = run(stream, program, lane_rows(cases.lanes, 0, 1, 2), QueryBudget(units=0))
    assert (done.answers, done.waiting) == ({}, {1: 3})
    done = run(stream, program, lane_rows(cases.lanes, 3), None)
    assert (seconds_of(done), done.waiting) == ([0, 1, 2, 3], {1: 0})
    assert stream.states[0].chunks.keys() == {("births", 0)}


def test_a_window_is_as_complete_as_its_rows(cases: Cases) -> None:
    """Ten rows of a window of ten seconds, four units: rows wait, and are shed when it closes."""
    program = cases.lanes.programs[1 + 1].numbered(1)
    stream = cases.lanes.stream(1)
    budget = QueryBudget(units=4, policy=Policy("oldest"))
    done = run(stream, program, lane_rows(cases.lanes, *range(5, 15)), budget)  # complete up to 10
    (first,) = done.answers[1].to_pylist()
    assert (first["window_end"].second, first["n"], first[COMPLETENESS]) == (10, 4, 0.8)
    assert (done.shed, done.waiting) == ({}, {1: 6})  # the fifth row still counts up to 15
    done = run(stream, program, lane_rows(cases.lanes, 16, 19), budget)  # complete up to 15
    (second,) = done.answers[1].to_pylist()
    assert (second["window_end"].second, second["n"], second[COMPLETENESS]) == (15, 8, 0.8)
    assert not first[COMPLETE]
    assert not second[COMPLETE]
    assert done.waiting == {1: 4}  # all of them count in the window up to 20


def test_the_rows_of_greatest_value_come_first(cases: Cases) -> None:
    program = cases.lanes.programs[0].numbered(1)
    stream = cases.lanes.stream(1)
    batch = [
        *lane_rows(cases.lanes, 0, speed=5),
        *lane_rows(cases.lanes, 1, speed=20),
        *lane_rows(cases.lanes, 2, speed=28),
    ]
    done = run(stream, program, batch, QueryBudget(units=1, policy=SPEED))
    assert seconds_of(done) == [1]


def test_windows_are_left_out_as_a_whole(cases: Cases) -> None:
    """Two windows that do not overlap, five units: one has all its rows, the other none."""
    program = next(own for own in cases.lanes.programs if _slides(own) == (6, 6)).numbered(1)
    stream = cases.lanes.stream(1)
    budget = QueryBudget(units=5, policy=Policy("windows"))
    done = run(stream, program, lane_rows(cases.lanes, 0, 1, 2, 6, 7, 8), budget)
    assert done.shed == {1: 3}
    later = run(stream, program, lane_rows(cases.lanes, 3, 9, 10, 30), budget)
    assert [row["window_start"].second for row in later.answers[1].to_pylist()] == [0]
    assert later.answers[1][COMPLETENESS].to_pylist() == [1]


def _slides(program: QueryProgram) -> tuple[int, int]:
    operator = program.operator
    second = 10**6
    if not isinstance(operator, WindowOperator):
        return (0, 0)
    return operator.edges.range // second, operator.edges.slide // second
