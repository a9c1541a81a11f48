"""The sets of many predicates are those of each predicate evaluated alone, and as in Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from muntin.errors import CannotEvaluate
from muntin.expressions.predicate_sets import PredicateSets, RowSets
from muntin.expressions.predicates.combinations import distinct_rows
from muntin.expressions.row_expression import RowExpression, compile_row_expression
from tests.expressions.predicate_texts import predicates
from tests.expressions.row_tables import TYPES, extreme_table
from tests.thorough import examples

PARTS = "muntin.expressions.predicates"
TABLE = extreme_table(200, seed=3)
Predicates = Sequence[tuple[int, RowExpression | None]]


def compiled(text: str, zone: str = "UTC") -> RowExpression:
    return compile_row_expression(text, TYPES, zone=zone, errors="null")


def alone(members: Predicates, rows: pa.Table) -> list[list[int]]:
    """The members of each row, by evaluating every predicate alone."""
    wanted: list[set[int]] = [set() for _ in range(rows.num_rows)]
    for member, predicate in members:
        every = [True] * rows.num_rows
        holds = every if predicate is None else predicate.evaluate(rows).to_pylist()
        for row, true in enumerate(holds):
            if true:
                wanted[row].add(member)
    return [sorted(some) for some in wanted]


def together(members: Predicates, rows: pa.Table) -> list[list[int]]:
    found = PredicateSets.of(members).evaluate(rows)
    check(found, rows.num_rows)
    sets = sets_of(found)
    return [sets[code] for code in found.code.tolist()]


def sets_of(found: RowSets) -> list[list[int]]:
    bounds = zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
    return [found.members[start:end].tolist() for start, end in bounds]


def check(found: RowSets, rows: int) -> None:
    """Sets are distinct, each in ascending order, and each is the set of a row."""
    sets = sets_of(found)
    assert all(some == sorted(set(some)) for some in sets)
    assert len({tuple(some) for some in sets}) == len(sets)
    assert len(found.code) == rows
    assert set(found.code.tolist()) == set(range(len(sets)))


@examples(2_000)
@given(st.lists(predicates(), max_size=12), st.integers(1, 200), st.integers(0, 50))
def test_many_predicates_are_evaluated_as_each_alone(
    texts: list[str], rows: int, begin: int
) -> None:
    members: list[tuple[int, RowExpression | None]] = []
    for number, text in enumerate(texts):
        try:
            members.append((3 * number + 1, compiled(text)))
        except CannotEvaluate:
            continue
    assume(members or not texts)
    table = TABLE.slice(begin, rows)
    assert together(members, table) == alone(members, table)


@pytest.mark.parametrize("few_candidates", [0, 4, 10**6])
@pytest.mark.parametrize("count", [10, 100])
def test_many_ranges_on_two_columns_are_found_by_lists_and_by_bitmaps(
    count: int, few_candidates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges of several columns are found by bitmaps, or by lists if a row has few candidates.

    Tables of many rows are ordered, and room for combinations grows; here those of few rows too.
    """
    monkeypatch.setattr(f"{PARTS}.term_index._FEW_CANDIDATES", few_candidates)
    monkeypatch.setattr(f"{PARTS}.term_index._FEW_ROWS", 16)
    monkeypatch.setattr(f"{PARTS}.combinations._FIRST_ROOM", 16)
    chance = np.random.default_rng(count)
    types = {"x": pa.float64(), "k": pa.int64(), "s": pa.string()}
    rows = pa.table(
        {
            "x": pa.array(chance.uniform(0, 100, 2_000), mask=chance.random(2_000) < 0.05),
            "k": pa.array(chance.integers(0, 1_000, 2_000)),
            "s": pa.array([f"s{n}" for n in chance.integers(0, 20, 2_000)]),
        }
    )
    texts = []
    for width in (0.5, 30):
        for low, station in zip(
            chance.uniform(-10, 100, count), chance.integers(0, 20, count), strict=True
        ):
            first = int(low * 10)
            texts += [
                f"x >= {low:.2f} AND x < {low + width:.2f}",
                f"x >= {low:.2f} AND x < {low + width:.2f} AND s = 's{station}'",
                f"x > {low:.2f} AND k BETWEEN {first} AND {first + int(width * 10)}",
                f"x > {low:.2f} AND k > {first} AND s <> 's{station}'",
            ]
    members = [
        (number, compile_row_expression(text, types, zone="UTC", errors="null"))
        for number, text in enumerate(texts)
    ]
    assert together(members, rows) == alone(members, rows)


def test_combinations_that_repeat_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PARTS}.combinations._FIRST_ROOM", 16)
    rows = TABLE.take(np.random.default_rng(1).integers(0, 20, 2_000))
    texts = ["i > 0", "k > 0", "x > 0.1", "s > 'a'", "b", "d > 1", "y IN (1, 7)", "w > 0", "h < 0"]
    members = [(number, compiled(text)) for number, text in enumerate(texts)]
    sets = PredicateSets.of(members)
    distinct, number = distinct_rows(sets._codes(rows), sets.index.bases)
    assert number is not None and 16 < len(distinct) <= 20
    assert np.array_equal(distinct[number], sets._codes(rows))
    assert together(members, rows) == alone(members, rows)


def test_a_table_with_more_codes_than_are_held_is_evaluated_in_stretches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("muntin.expressions.predicate_sets._MOST_CODES", 1)
    monkeypatch.setattr("muntin.expressions.predicate_sets._FEWEST_ROWS", 16)
    members = [(n, compiled(text)) for n, text in enumerate(["i > 0", "s = 'a'", "x < f", "b"])]
    assert together(members, TABLE) == alone(members, TABLE)


def test_no_predicates_and_no_rows() -> None:
    found = PredicateSets.of([]).evaluate(TABLE)
    assert (found.code.tolist(), found.offsets.tolist(), found.members.tolist()) == (
        [0] * TABLE.num_rows,
        [0, 0],
        [],
    )
    nothing = PredicateSets.of([(1, compiled("i > 0")), (2, None)]).evaluate(TABLE.slice(0, 0))
    assert (nothing.code.tolist(), nothing.offsets.tolist(), nothing.members.tolist()) == (
        [],
        [0],
        [],
    )


def test_a_member_without_a_predicate_gets_every_row() -> None:
    members = [(9, compiled("i > 0")), (4, None), (7, compiled("i > 0"))]
    found = together(members, TABLE)
    assert {tuple(some) for some in found} == {(4,), (4, 7, 9)}
    assert found == alone(members, TABLE)


def test_a_member_with_several_predicates_gets_the_rows_of_each() -> None:
    members = [(2, compiled("i > 0")), (2, compiled("s = 'a'")), (1, compiled("s = 'a'"))]
    assert together(members, TABLE) == alone(members, TABLE)


def test_rows_with_members_are_listed() -> None:
    members = [(5, compiled("i > 0")), (6, compiled("i > 6"))]
    rows, offsets, listed = PredicateSets.of(members).evaluate(TABLE).rows_of()
    wanted = alone(members, TABLE)
    assert rows.tolist() == [row for row, some in enumerate(wanted) if some]
    assert listed.tolist() == [member for some in wanted for member in some]
    assert np.diff(offsets).tolist() == [len(some) for some in wanted if some]


def test_equal_conditions_are_evaluated_once() -> None:
    texts = ["i > 0 AND s LIKE 'a%'", "i > 7 AND s LIKE 'a%'", "7 < i", "NOT (i <= 0)"]
    sets = PredicateSets.of([(n, compiled(text)) for n, text in enumerate(texts)])
    assert len(sets.parts) == 2  # i, and the LIKE
    assert len(sets.index.terms.tests) - 1 == 4


def test_alternatives_on_one_column_are_one_condition() -> None:
    sets = PredicateSets.of([(0, compiled("s = 'a' OR s = 'B' OR s > 'x' OR s IS NULL"))])
    assert len(sets.index.terms.tests) - 1 == 1


def test_a_predicate_of_very_many_alternatives_is_left_to_the_evaluator() -> None:
    text = " AND ".join(f"(i > {n} OR x > {n} OR d < {n})" for n in range(5))
    members = [(0, compiled(text)), (1, compiled("i > 2"))]
    assert len(PredicateSets.of(members).parts) == 2
    assert together(members, TABLE) == alone(members, TABLE)


def test_predicate_sets_can_be_pickled() -> None:
    members = [(0, compiled("i > 0 AND x < 1.5")), (1, compiled("s IN ('a', 'ab')"))]
    kept = pickle.loads(pickle.dumps(PredicateSets.of(members)))
    found, again = kept.evaluate(TABLE), PredicateSets.of(members).evaluate(TABLE)
    assert found.code.tolist() == again.code.tolist()
    assert found.members.tolist() == again.members.tolist()


def test_columns_of_other_layouts_are_read() -> None:
    rows = TABLE.select(["s", "i", "ts"])
    wide = pa.table(
        {
            "s": rows.column("s").dictionary_encode(),
            "i": pa.chunked_array([rows.column("i").chunk(0)[:50], rows.column("i").chunk(0)[50:]]),
            "ts": rows.column("ts").cast(pa.timestamp("ms", "Europe/Berlin"), safe=False),
        }
    )
    texts = ["s > 'a'", "s = 'ab'", "s IS NULL", "i IN (0, 7)", "ts < '2026-01-01'"]
    members = [(n, compiled(text)) for n, text in enumerate(texts)]
    assert together(members, wide) == alone(members, wide)


#: Predicates with the corner cases of every type, as Spark evaluates them with ``try_`` functions.
HARD = r"""
x = sqrt(-1)
x > sqrt(-1)
x >= sqrt(-1)
x < sqrt(-1)
x <> sqrt(-1)
x > 1e308 * 10
x = 0.0D
x = -0.0D
x < 0.0D
x <= -0.0D
f = 0.1
f >= 0.1D
f < 3e38D
x BETWEEN -1 AND 1.5
x NOT IN (0, 1.5)
x IN (sqrt(-1), 0e0)
NOT x > 0
x IS NULL OR x > 1e299
i > 1.5
i = 7.0
i <> 7.5
i <= -2147483648
i < 3000000000
i > 3000000000
y = 127
y > 300
h IN (300, 70000)
k > 9007199254740992.0D
k = 9007199254740992D
k >= 9223372036854775807
k < 99999999999999999999
k IN (7, NULL)
k NOT IN (7, NULL)
d = 2.5
d > 2.499
d < 99999999.995
d = 1
d >= -0.051 AND d < 2.50
w > -99999999999999999999.99999999995
w <= 0.0000000001
w = 1.5D
w BETWEEN 0 AND 1
s > 'a'
s <= 'a%b'
s = ''
s >= 'Z' AND s < 'b'
s IN ('ab', 'Zürich', NULL)
s NOT IN ('ab', 'B')
s LIKE 'a\_b' OR s = ' a '
s <=> NULL
s <=> 'a'
NOT s <=> 'a'
day = '2026-03-29'
day > DATE '1969-12-31'
day BETWEEN DATE '2000-01-01' AND DATE '2026-03-28'
ts >= '2026-03-29'
ts = TIMESTAMP '2026-03-29 00:30:00'
ts < TIMESTAMP '1969-12-31 23:59:59.999999'
tn <= TIMESTAMP_NTZ '2026-10-25 02:30:00'
ts > day
b
NOT b
b = FALSE
b > FALSE
b IS NOT TRUE
b IN (TRUE, NULL)
NULL
NULL OR b
i > NULL
x <=> NULL
i <=> 7
NOT (i <=> 7)
(i > 0 AND b) IS NULL
NOT (i > 0 AND b)
NOT (i > 0 OR s = 'a')
(i > 0 OR s = 'a') AND NOT (x < 1 AND d > 1)
i = 1 OR i = 7 OR k < 0
st.num = 2147483647
st.name IS NULL
"""


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    clock = col("tn").cast("timestamp_ntz")  # Spark reads a timestamp without a zone as a moment
    given = spark.createDataFrame(TABLE).withColumn("tn", clock).coalesce(1).cache()
    given.count()  # before a test sets another zone
    return given


@pytest.fixture(params=["UTC", "Europe/Berlin"])
def zone(rows: DataFrame, spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    spark.conf.set("spark.sql.session.timeZone", request.param)
    try:
        yield request.param
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_predicates_together_are_as_spark_evaluates_each(rows: DataFrame, zone: str) -> None:
    texts = {
        **{text: text for text in HARD.splitlines() if text},
        "i + 1 > 0": "try_add(i, 1) > 0",
        "NOT (k * 2 > 0)": "NOT (try_multiply(k, 2) > 0)",
        "x / i >= 1": "try_divide(x, i) >= 1",
        "CAST(s AS INT) = -7": "try_cast(s AS INT) = -7",
        "CAST(x AS INT) IS NULL": "try_cast(x AS INT) IS NULL",
    }
    asked = rows.selectExpr(*(f"{text} AS c{n}" for n, text in enumerate(texts.values())))
    expected = [
        [number for number, holds in enumerate(row) if holds] for row in map(tuple, asked.collect())
    ]
    members = [(number, compiled(text, zone)) for number, text in enumerate(texts)]
    assert together(members, TABLE) == expected
