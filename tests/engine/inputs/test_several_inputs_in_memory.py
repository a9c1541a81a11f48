"""Many queries over a stream with several inputs answer as each alone: joins, fills, windows.

Rows of sales and prices arrive in one micro-batch or apart, out of order. A query that runs alone
is given the progress that both inputs had when it began.
"""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from tests.engine.in_memory import Answered, MemoryStream
from tests.engine.inputs.stores import TEXTS, Stores, planned_stores, rows_of_a_task, table_of
from tests.engine.pool import plain
from tests.thorough import examples

SALES, PRICES = 0, 1


@pytest.fixture(scope="module")
def stores(spark: SparkSession) -> Stores:
    return planned_stores(spark)


def test_windows_over_one_input_share_panes_and_those_over_another_do_not(stores: Stores) -> None:
    programs = tuple(p.numbered(n) for n, p in enumerate(stores.programs))
    network = QueryNetwork(stores.rule, programs)
    shared = [[*group.members] for name, group in network.groups.items() if name[0] == "w"]
    assert sorted(shared) == [[2, 3], [4], [5]]
    assert [program.reads for program in programs][:2] == [(SALES,), (PRICES,)]
    joined = next(p for p in programs if p.operator is not None and len(p.inputs) == 2)
    assert joined.reads == (SALES, PRICES)


commands = st.lists(st.tuples(st.sampled_from(["add", "add", "drop"]), st.integers(0, 99)))
batch = st.tuples(
    commands, st.lists(st.tuples(st.sampled_from([SALES, PRICES]), rows_of_a_task), max_size=4)
)


@examples(2000)
@given(st.lists(batch, min_size=1, max_size=5), st.sampled_from([1, 3]))
def test_many_queries_over_several_inputs_answer_as_each_alone(
    stores: Stores, batches: list[tuple[list[tuple[str, int]], list]], shards: int
) -> None:
    together = MemoryStream(stores.rule, shards)
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
                live[number] = stores.programs[choice % len(TEXTS)].numbered(number)
                now = {"progress": [*together.progress], "others": [*together.others]}
                alone[number] = MemoryStream(stores.rule, shards, **now)
        of = [source for source, _ in tasks]
        rows = [table_of(stores.schemas[source], task, place * 6) for source, task in tasks]
        ended = place == len(batches) - 1
        done = together.run(rows, list(live.values()), ended=ended, of=of)
        for member, program in list(live.items()):
            single = alone[member].run(rows, [replace(program, seed="none")], ended=ended, of=of)
            assert done.failed.get(member) == single.failed.get(member)
            if single.failed:  # rows that tie stop frames: only those
                assert single.failed[member].startswith("TieError")
                del live[member], alone[member]
                continue
            assert _answer(done, member) == _answer(single, member), program
            read = sum(
                table.num_rows
                for own in program.inputs
                for source, table in zip(of, rows, strict=True)
                if source == own.of
            )
            counted = done.used.get(member, 0) + done.refused.get(member, 0)
            assert counted == single.used.get(member, 0) + single.refused.get(member, 0)
            assert counted <= read
            if program.operator is not None and all(i.predicate is None for i in program.inputs):
                assert counted == read, program
    together.run([], [])
    assert [state.chunks for state in together.states] == [{}] * shards


def _answer(done: Answered, member: int) -> list[str]:
    return plain(done.answers[member]) if member in done.answers else []


def _run(stores: Stores, text: str, *batches: list[tuple[int, list[tuple]]]) -> list[list[dict]]:
    """Run one query from the second micro-batch on; the first only makes progress."""
    program = stores.programs[TEXTS.index(text)].numbered(1)
    stream = MemoryStream(stores.rule, 1)
    answers = []
    for number, tasks in enumerate(batches):
        rows = [table_of(stores.schemas[of], task, 0) for of, task in tasks]
        programs = [program] if number else []
        done = stream.run(rows, programs, of=[of for of, _ in tasks])
        assert not done.failed
        table = done.answers.get(1, pa.table({}))
        answers.append(table.to_pylist())
    return answers[1:]


def test_a_partner_that_came_before_the_query_makes_an_answer_incomplete(stores: Stores) -> None:
    """The price at 8 came before the query: the sale at 10 may have had it, that at 20 cannot.

    sales   (5)        | 10   20   | 40
    prices     (8)     |    12     | 40
    """
    text = "SELECT x, store, amount, price FROM asof(sales, prices, tolerance => 6)"
    began, after, _ = [
        [(SALES, [(5, "a", 1.0)]), (PRICES, [(8, "a", 1.0)])],
        [(SALES, [(10, "a", 2.0), (20, "a", 3.0)]), (PRICES, [(12, "a", 2.0)])],
        [],
    ]
    last = [(SALES, [(40, "a", 4.0)]), (PRICES, [(40, "a", 3.0)])]
    answers = [row for found in _run(stores, text, began, after, last) for row in found]
    assert [(row["x"], row["price"], row["complete"]) for row in answers] == [
        *((10, None, False), (20, None, True)),
    ]


def test_pairs_are_complete_and_rows_alone_only_if_no_partner_can_be_missing(
    stores: Stores,
) -> None:
    text = "SELECT x, y, price FROM join(sales, prices, within => 3, how => 'left')"
    began = [(PRICES, [(8, "a", 1.0)])]
    after = [(SALES, [(10, "a", 2.0), (13, "a", 3.0), (20, "a", 3.0)]), (PRICES, [(14, "a", 2.0)])]
    last = [(SALES, [(60, "a", 4.0)]), (PRICES, [(60, "a", 3.0)])]
    answers = [row for found in _run(stores, text, began, after, last) for row in found]
    found = sorted((row["x"], row["y"], row["complete"]) for row in answers if row["x"] < 60)
    assert found == [(10, None, False), (13, 14, True), (20, None, True)]


def test_a_frame_is_incomplete_if_rows_that_fill_it_came_before_the_query(stores: Stores) -> None:
    """The frames 10 and 20 ask for prices from 3 before; the price at 8 came before the query."""
    text = TEXTS[16]
    assert "BEFORE 3 AFTER 2" in text
    began = [(PRICES, [(8, "a", 1.0)])]
    after = [(SALES, [(10, "a", 2.0), (15, "a", 60.0), (20, "a", 2.0), (25, "a", 60.0)])]
    last = [(SALES, [(90, "a", 60.0)]), (PRICES, [(90, "a", 3.0)])]
    answers = [row for found in _run(stores, text, began, after, last) for row in found]
    found = sorted((row["frame_start"], row["complete"]) for row in answers)
    assert found == [(10, False), (20, True)]
