"""What queries prefer under a budget: the statements and the example of "Promising tuples"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

import muntin as mt
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.overload.budgeted import why_not_budgeted
from muntin.operators.shared.program import COMPLETENESS, QueryProgram
from muntin.parser.errors import SqlError
from muntin.spark.plan.worker_program import carried_schema
from muntin.specs.overload import Policy, QueryBudget
from tests.engine.in_memory import Answered
from tests.overload.test_budgets import Case, check, run
from tests.thorough import examples

SCHEMA = "TimeStamp TIMESTAMP, ItemNo INT, Price DOUBLE"
#: As printed in Figure 6, for each of its words.
FIGURE_6 = """
SELECT S1.ItemNo, S1.TimeStamp, S2.TimeStamp
FROM Store1 S1, Store2 S2
WHERE S1.ItemNo= S2.ItemNo
WITH PREFERENCE {} SUMMARY.Estimate.Count(S1.ItemNo),
SUMMARY.Estimate.Count(S2.ItemNo) FADE FACTOR 0.8 WINDOW 1 MINUTE
"""
#: As printed in Figure 3.
SUMMARIES = """
CREATE SUMMARY ones ON Store1 (ItemNo) WITH GRANULARITY 1 MINUTE AND COLLAPSE(4, 3);
CREATE SUMMARY twos ON Store2 (ItemNo) WITH GRANULARITY 1 MINUTE AND COLLAPSE(4, 3)
"""
COUNT = "SUMMARY.Estimate.Count(ItemNo)"
QUERIES = {
    "desc": FIGURE_6.format("desc"),
    "weighted": FIGURE_6.format("weighted"),
    "asc": FIGURE_6.format("asc"),
    "all seen so far": FIGURE_6.format("desc").partition("FADE")[0],
    "selection": f"SELECT ItemNo, Price FROM Store1 WHERE Price < 50 WITH PREFERENCE desc {COUNT}",
    "valued": f"SELECT ItemNo, Price FROM Store1 WITH PREFERENCE desc {COUNT}\u00d7Store1.Price",
    "average": "SELECT window_end, avg(ItemNo) AS m FROM Store1 AS S1 [TUMBLING 10 SECONDS] "
    f"WITH PREFERENCE weighted {COUNT}",
}
ENOUGH = QueryBudget(units=10**6)
ZERO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[mt.Engine]:
    """An engine that is not started: its queries are planned, and run in memory."""
    folder = tmp_path_factory.mktemp("stores")
    engine = mt.Engine(spark, folder / "home")
    inputs = {}
    for name in ("Store1", "Store2"):
        (folder / name).mkdir()
        inputs[name] = spark.readStream.schema(SCHEMA).json(str(folder / name))
    engine.stream("stores", inputs, "TimeStamp", "ItemNo", mt.slack("0 seconds"))
    engine.sql(SUMMARIES)
    for name, text in QUERIES.items():
        engine.register(name, text)
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def stores(engine: mt.Engine) -> Case:
    network = engine.stream_of("stores").network
    schemas = tuple(carried_schema(own.planning) for own in network.inputs)
    programs = tuple(program_of(engine, name) for name in QUERIES)
    return Case(from_json(network.rule), schemas, programs)


def program_of(engine: mt.Engine, name: str) -> QueryProgram:
    program = from_json(engine.registry.get(name).program)
    assert isinstance(program, QueryProgram)
    return program.numbered(1)


def sold(case: Case, of: int, *items: int, start: int = 0) -> tuple[pa.Table, int]:
    """Return a row a second."""
    rows = [
        {"TimeStamp": ZERO + timedelta(seconds=start + at), "ItemNo": item, "Price": float(item)}
        for at, item in enumerate(items)
    ]
    return pa.Table.from_pylist(rows, schema=case.schemas[of]), of


def items(done: Answered) -> Counter[int]:
    return Counter(done.answers[1]["ItemNo"].to_pylist()) if done.answers else Counter()


@pytest.mark.parametrize(
    ("word", "units", "results"),
    [
        ("desc", 12, {5: 6}),  # three 5s, with two partners each: six results
        ("asc", 3, {3: 1}),  # the 3 alone, which hardly occurs: an outlier
    ],
)
def test_figure_1(
    engine: mt.Engine, stores: Case, word: str, units: int, results: dict[int, int]
) -> None:
    """All of stream 2 was looked at, and there is time for some rows of stream 1.

    A row of it costs two units and one for each partner.
    """
    program, stream = program_of(engine, word), stores.stream(1)
    run(stream, program, [sold(stores, 1, 5, 9, 3, 5)], ENOUGH)
    done = run(stream, program, [sold(stores, 0, 5, 9, 5, 3, 9, 5)], QueryBudget(units=units))
    assert items(done) == results
    rows = sum(results.values())
    assert done.answers[1][COMPLETENESS].to_pylist() == [(6 - done.waiting[1]) / 6] * rows


def test_figure_1_weighted(engine: mt.Engine, stores: Case) -> None:
    """The values have turns in the ratio 2 : 1 : 1, and two 5s and a 9 are one of the draws."""
    program, seen = program_of(engine, "weighted"), Counter()
    for seed in range(40):
        stream = stores.stream(1)
        budget = QueryBudget(units=12, policy=Policy("oldest", seed=seed))
        run(stream, program, [sold(stores, 1, 5, 9, 3, 5)], ENOUGH)
        found = items(run(stream, program, [sold(stores, 0, 5, 9, 5, 3, 9, 5)], budget))
        seen[tuple(sorted(found.items()))] += 1
    assert seen[(5, 4), (9, 1)] > 0  # five results
    rows = {5: 0, 9: 0, 3: 0}
    for found, times in seen.items():
        for item, results in found:
            rows[item] += times * results // (2 if item == 5 else 1)
    assert all(rows.values())
    assert rows[5] > rows[9]
    assert rows[5] > rows[3]


def test_an_item_that_is_frequent_comes_first(engine: mt.Engine, stores: Case) -> None:
    program, stream = program_of(engine, "selection"), stores.stream(1)
    batch = [sold(stores, 0, 7, 1, 7, 2, 7, 3)]
    assert items(run(stream, program, batch, QueryBudget(units=3))) == {7: 3}


def test_a_row_is_worth_its_count_times_its_price(engine: mt.Engine, stores: Case) -> None:
    program, stream = program_of(engine, "valued"), stores.stream(1)
    batch = [sold(stores, 0, 7, 7, 10, 40)]  # 14, 14, 10 and 40
    assert items(run(stream, program, batch, QueryBudget(units=3))) == {40: 1, 7: 2}


def test_an_aggregate_states_the_share_it_has_seen(engine: mt.Engine, stores: Case) -> None:
    """Values have turns by their counts: about as many of each as there are."""
    program, means = program_of(engine, "average"), []
    for seed in range(40):
        stream = stores.stream(1)
        budget = QueryBudget(units=4, waiting=0, policy=Policy("oldest", seed=seed))
        batch = [sold(stores, 0, 8, 1, 1, 1, 1, 1, 1, 8), sold(stores, 0, 1, start=12)]
        done = run(stream, program, batch, budget)
        (answer,) = done.answers[1].to_pylist()
        assert 3 / 8 <= answer[COMPLETENESS] <= 4 / 8
        assert done.shed == {1: 5}
        means.append(answer["m"])
    assert abs(sum(means) / len(means) - (6 * 1 + 2 * 8) / 8) < 1


def test_without_a_window_all_that_was_seen_counts(engine: mt.Engine, stores: Case) -> None:
    """Without a window the count of all that was seen decides, unless the past fades."""
    program = program_of(engine, "all seen so far")
    stream = stores.stream(1)
    run(stream, program, [sold(stores, 1, 5, 5, 5, 6, 6, 6, 6)], ENOUGH)
    run(stream, program, [sold(stores, 1, 7, 7, start=400)], ENOUGH)
    later = [sold(stores, 0, 5, 6, 7, start=400)]
    done = run(stream, program, later, QueryBudget(units=6))
    assert items(done) == {6: 4}
    assert program.prefer is not None
    assert program.prefer.fade == 1
    (faded,) = {program_of(engine, word).prefer.fade for word in ("desc", "asc", "weighted")}
    assert faded == 0.8


rows = st.lists(
    st.tuples(st.integers(0, 1), st.lists(st.integers(1, 4), max_size=6)), min_size=1, max_size=3
)
some_budget = st.builds(
    QueryBudget,
    units=st.integers(0, 20),
    waiting=st.sampled_from([0, 3, 1000]),
)


@examples(240)
@given(st.lists(rows, min_size=1, max_size=4), st.integers(0, 6), some_budget, st.integers(1, 2))
def test_a_preference_answers_a_subset(
    stores: Case, batches: list[list[tuple]], choice: int, budget: QueryBudget, shards: int
) -> None:
    made = [
        [sold(stores, of, *listed, start=10 * place) for of, listed in tasks]
        for place, tasks in enumerate(batches)
    ]
    check(stores, stores.programs[choice % len(stores.programs)], made, budget, shards)


def test_another_policy_may_be_asked_for(engine: mt.Engine, stores: Case) -> None:
    program, stream = program_of(engine, "selection"), stores.stream(1)
    batch = [sold(stores, 0, 1, 7, 7)]
    newest = QueryBudget(units=1, policy=Policy("newest"))
    assert items(run(stream, program, batch, newest)) == {7: 1}
    # What waited for one policy goes on under the other.
    done = run(stream, program, [sold(stores, 0, start=5)], QueryBudget(units=1))
    assert (items(done).total(), done.waiting) == (1, {1: 1})
    assert why_not_budgeted(program, Policy("preference")) is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"SELECT Price FROM Store1 WITH PREFERENCE desc {COUNT} WINDOW 5 SECONDS", "WINDOW says"),
        (f"SELECT Price FROM Store1 WITH PREFERENCE desc {COUNT}, {COUNT}", "there is one stream"),
        (
            "SELECT Price FROM Store1 WITH PREFERENCE desc SUMMARY.Estimate.Count(Price)",
            r"Store1 has no summary of Price(.|\n)*CREATE SUMMARY name ON Store1\(Price\)",
        ),
        (f"SELECT Price FROM Store1 WITH PREFERENCE asc {COUNT} + nothing", "cannot be evaluated"),
        (
            FIGURE_6.format("desc").replace("S1.ItemNo= S2.ItemNo", "S1.Price = S2.Price"),
            r"joined by their keys(.|\n)*S1.itemno = S2.itemno",
        ),
        (
            FIGURE_6.format("desc").replace("Count(S1.ItemNo)", "Count(S1.Price)"),
            "Price is not the key",
        ),
    ],
)
def test_refusals(engine: mt.Engine, text: str, error: str) -> None:
    with pytest.raises(SqlError, match=error):
        engine.register("refused", text)


def test_summaries_are_named_once(engine: mt.Engine) -> None:
    assert [*engine.summaries()] == ["ones", "twos"]
    with pytest.raises(ArgumentError, match="there is a summary ONES of stores"):
        engine.summary("ONES", "Store1", "Price", "1 minute")
    with pytest.raises(UnknownColumnError, match="'Prize' is not a column"):
        engine.summary("prices", "Store1", "Prize", "1 minute")
    with pytest.raises(ArgumentError, match="the streams of the engine are Store1, Store2"):
        engine.summary("prices", "Store3", "Price", "1 minute")
    with pytest.raises(SqlError, match="asked once looks at everything"):
        engine.ask(QUERIES["selection"])


def test_a_preference_in_python(engine: mt.Engine) -> None:
    engine.register("in python", "SELECT Price FROM Store1", prefer=f"asc {COUNT}")
    prefer = program_of(engine, "in python").prefer
    assert prefer is not None
    assert prefer.order == "asc"


def test_without_an_engine_it_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = mt.stream(spark.createDataFrame([], SCHEMA), "TimeStamp")
    with pytest.raises(SqlError, match="PREFERENCE"):
        mt.sql(QUERIES["selection"], Store1=rows)
