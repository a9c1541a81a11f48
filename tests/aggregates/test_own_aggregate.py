"""A user's own aggregate: how it is written, and the errors that mistakes raise."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import own, slots_of
from muntin.aggregates.own_aggregate import (
    CheckedAggregate,
    OwnAggregate,
    checked,
    grouped_count,
    grouped_max,
    grouped_min,
    grouped_sum,
)
from muntin.aggregates.parse import own_functions, parse_column
from muntin.errors import (
    ArgumentError,
    ExpressionError,
    OwnAggregateError,
    UnsupportedTypeError,
)
from muntin.expressions.spark_expressions import Name, Sql, Where
from tests.aggregates.examples import Columns, Gathered, GeometricMean, Ints, Longest, Squares

ONE_GROUP = np.zeros(3, np.int64)


def typed(aggregate: OwnAggregate, type_: pa.DataType | None = None) -> CheckedAggregate:
    return checked(aggregate, str(own(aggregate, "price")), [type_ or pa.float64()])


@settings(max_examples=200)
@given(st.lists(st.one_of(st.none(), st.floats(1e-3, 1e3)), min_size=1, max_size=20))
def test_the_geometric_mean_is_one(values: list[float | None]) -> None:
    mean = typed(GeometricMean())
    half = len(values) // 2
    groups = np.array([0] * half + [1] * (len(values) - half))
    partials = mean.partial([pa.array(values, pa.float64())], groups, 2)
    merged = mean.merge(partials, np.zeros(2, np.int64), 1)
    present = [value for value in values if value is not None]
    expected = math.exp(sum(map(math.log, present)) / len(present)) if present else None
    assert mean.finish(merged).to_pylist() == [pytest.approx(expected)]


def test_it_is_called_by_its_class_and_public_fields() -> None:
    class Hidden(Squares):
        def __init__(self) -> None:
            self.base, self._cache, self.how = 2, {}, np.mean

    assert str(own(GeometricMean(), "price")) == "GeometricMean(price)"
    assert str(own(Longest(7), "a").filter("b > 1")) == "Longest(a, limit=7) FILTER (WHERE b > 1)"
    assert str(own(Hidden(), "x")).startswith("Hidden(x, base=2, how=<function mean")
    assert " at 0x" not in str(own(Hidden(), "x"))
    assert own(GeometricMean(), "price").alias("g").column_name == "g"


def test_a_filter_makes_arguments_null() -> None:
    aggregate = own(Squares(), "a", "b").filter("c")
    assert slots_of(aggregate) == [Where(Sql("c"), Name("a")), Where(Sql("c"), Name("b"))]


def test_what_is_no_own_aggregate() -> None:
    with pytest.raises(ArgumentError, match="an object, not the class"):
        own(GeometricMean, "price")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"its base is mt\.OwnAggregate"):
        own("geometric_mean", "price")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="at least one column"):
        own(GeometricMean())


def test_bound_to_types() -> None:
    call = AggregateCall("own", "Squares(i)", (3,), (pa.int64(),), ansi=True, options=(Squares(),))
    bound = bind(call)
    assert bound.type == pa.int64()
    assert [a.columns for a in bound.accumulators] == [[pa.int64()]]
    assert bound.finish([[pa.array([4])]]).to_pylist() == [4]
    gathered = bind(
        AggregateCall("own", "g", (0,), (pa.string(),), ansi=True, options=(Gathered(),))
    )
    assert gathered.type == pa.list_(pa.string())


def test_a_type_that_does_not_suit() -> None:
    with pytest.raises(UnsupportedTypeError, match=r"Squares\(price\): needs an integer.* double"):
        typed(Squares())


@dataclass(frozen=True)
class Wrong(OwnAggregate):
    """Returns what the test passes to it."""

    made: Any = None
    partials = (pa.int64(), pa.string())

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.int64()

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        made: Columns = self.made
        return made

    def finish(self, partials: Columns) -> pa.Array:
        return self.made


GOOD = pa.array([1])
TEXT = pa.array(["a"])


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ([GOOD], "must return 2 columns, but returned 1"),
        (GOOD.to_numpy(), "must return 2 columns, but returned a ndarray"),
        (None, "must return 2 columns, but returned a NoneType"),
        ([GOOD, GOOD], "column 1 has type int64, not string"),
        ([pa.array([1, 2]), TEXT], "column 0 has 2 rows, not 1"),
        ([GOOD, ["a"]], "column 1 is a list, not an Arrow array"),
    ],
)
def test_partial_rows_that_are_none(made: Any, problem: str) -> None:
    with pytest.raises(OwnAggregateError, match=problem) as raised:
        typed(Wrong(made)).partial([pa.array([1.0, 2.0, 3.0])], ONE_GROUP, 1)
    assert str(raised.value).startswith("Wrong(price")
    assert raised.value.method == "partial"


def test_a_result_that_is_none() -> None:
    with pytest.raises(OwnAggregateError, match="finish made a mistake: the result has type str"):
        typed(Wrong(TEXT)).finish([GOOD, TEXT])
    with pytest.raises(OwnAggregateError, match="the result has 1 rows, not 2"):
        typed(Wrong(GOOD)).finish([pa.array([1, 2]), pa.array(["a", "b"])])


def test_numpy_and_chunks_are_taken() -> None:
    made = typed(Wrong([np.array([5]), pa.chunked_array([["a"]])])).partial([], ONE_GROUP, 1)
    assert [column.to_pylist() for column in made] == [[5], ["a"]]


def test_a_failure_says_where() -> None:
    class Failing(Longest):
        def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
            return [partials[7]]

    failing = typed(Failing(), pa.string())
    with pytest.raises(OwnAggregateError, match=r"Failing\(price, limit=100\): merge failed: Inde"):
        failing.merge([pa.array([1, 2, 3])], ONE_GROUP, 1)
    with pytest.raises(OwnAggregateError, match="remove failed: NotImplementedError"):
        failing.remove([GOOD], [GOOD])


def test_it_is_never_asked_about_nothing() -> None:
    nothing = typed(Wrong(None))
    none = np.empty(0, np.int64)
    assert [c.type for c in nothing.partial([pa.array([])], none, 0)] == [pa.int64(), pa.string()]
    assert nothing.finish([pa.array([], pa.int64()), pa.array([], pa.string())]).type == pa.int64()


class Nameless(Longest):
    partials = ()


class Untyped(Longest):
    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return "bigint"


class Unmade(Longest):
    def typed(self, types: Sequence[pa.DataType]) -> OwnAggregate:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (Nameless(), "partials must name Arrow types"),
        (Untyped(), "result must return an Arrow type, not 'bigint'"),
        (Unmade(), "typed must return an OwnAggregate"),
        (OwnAggregate(), "result failed: NotImplementedError"),
    ],
)
def test_declarations_that_are_none(wrong: OwnAggregate, problem: str) -> None:
    with pytest.raises(OwnAggregateError, match=problem):
        typed(wrong)


def test_it_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(typed(Longest(4))))
    assert again == typed(Longest(4))


VALUES = st.lists(st.tuples(st.one_of(st.none(), st.integers(-9, 9)), st.integers(0, 3)))


@settings(max_examples=200)
@given(VALUES)
def test_grouped(rows: list[tuple[int | None, int]]) -> None:
    values = pa.array([value for value, _ in rows], pa.int64())
    groups = np.array([group for _, group in rows], np.int64)
    each = [[v for v, g in rows if g == group and v is not None] for group in range(4)]
    assert grouped_sum(values, groups, 4).to_pylist() == [sum(some) for some in each]
    assert grouped_count(values, groups, 4).to_pylist() == [len(some) for some in each]
    assert grouped_min(values, groups, 4).to_pylist() == [min(s, default=None) for s in each]
    assert grouped_max(values, groups, 4).to_pylist() == [max(s, default=None) for s in each]


FUNCTIONS = {"geometric_mean": GeometricMean(), "longest": Longest()}


def test_sql_text_by_name() -> None:
    column = parse_column("geometric_mean(price * 2) FILTER (WHERE a > 1) AS g", [], FUNCTIONS)
    (found,) = column.aggregates
    assert column.name == "g"
    assert found.options == (FUNCTIONS["geometric_mean"],)
    assert str(found) == "GeometricMean(price * 2) FILTER (WHERE a > 1)"
    both = parse_column("GEOMETRIC_MEAN(a) / max(a) + geometric_mean(a) AS x", [], FUNCTIONS)
    assert [a.function for a in both.aggregates] == ["own", "max"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("geometric_men(price)", "did you mean 'geometric_mean'"),
        ("geometric_mean()", "geometric_mean takes a column"),
        ("geometric_mean(*)", "geometric_mean takes a column"),
        ("max(longest(a))", "inside another"),
        ("longest(max(a))", "inside another"),
        ("sum(a) FILTER (WHERE longest(a) > 1)", "cannot be part of a correlated aggregate"),
    ],
)
def test_text_that_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem):
        parse_column(text, [], FUNCTIONS)


def test_a_name_that_nobody_gave_is_no_aggregate() -> None:
    with pytest.raises(ExpressionError, match="geometric_mean is not an aggregate Muntin knows"):
        parse_column("geometric_mean(price)", [])


@pytest.mark.parametrize(
    ("given_", "problem"),
    [
        ({"max": Longest()}, "Muntin has an aggregate of this name"),
        ({"approx_top_k": Longest()}, "Muntin has an aggregate of this name"),
        ({"upper": Longest()}, "SQL has a function of this name"),
        ({"Mine": Longest()}, "small letters"),
        ({"my mean": Longest()}, "small letters"),
        ({"mine": Longest}, r"mine must be an mt\.OwnAggregate"),
        ([Longest()], "geometric_mean"),
    ],
)
def test_functions_that_are_refused(given_: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        own_functions(given_)


def test_functions_that_are_taken() -> None:
    assert own_functions(FUNCTIONS) == FUNCTIONS
