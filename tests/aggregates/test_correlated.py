"""How ``mt.correlated``, and FILTER with an aggregate in it, are read."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pyarrow as pa
import pytest

from muntin.aggregates.bind import bind
from muntin.aggregates.correlated import correlated
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, Correlated, slots_of
from muntin.aggregates.parse import parse_column
from muntin.errors import ArgumentError, ExpressionError, UnsupportedTypeError
from muntin.expressions.nodes import (
    All,
    Arithmetic,
    Comparison,
    Constant,
    Correlation,
    Inner,
    Slot,
    level,
)


def asked(text: str) -> Correlated:
    (found,) = parse_column(text, []).aggregates
    assert isinstance(found, Correlated)
    return found


def test_what_spark_can_evaluate_is_a_slot() -> None:
    found = asked("sum(y) FILTER (WHERE x - 1 >= 1.5 * avg(x) AND is_intl AND y IN (1, 2))")
    assert [str(slot) for slot in slots_of(found)] == ["y", "x - 1", "x", "is_intl", "y IN (1, 2)"]
    assert found.correlation.where == All(
        (
            Comparison(">=", Slot(1), Arithmetic("*", Constant(Decimal("1.5")), Inner("avg", 2))),
            Slot(3),
            Slot(4),
        )
    )


def test_text_and_function_are_the_same() -> None:
    by_text = asked("count(*) FILTER (WHERE duration >= avg(duration)) AS n")
    by_call = correlated("count", where="duration >= avg(duration)")
    assert by_call == by_text
    assert str(by_call) == "count(*) FILTER (WHERE duration >= avg(duration))"
    assert by_call.alias("n").column_name == "n"
    assert isinstance(by_call.alias("n"), Correlated)


def test_a_column_travels_once() -> None:
    found = correlated("sum", "duration", where="duration >= avg(duration)")
    assert len(slots_of(found)) == 1
    assert len(slots_of(correlated("sum", "a b", where="`a b` >= avg(`a b`)"))) == 2


def test_filter_adds_a_condition() -> None:
    found = correlated("count", where="x > max(x) - 3").filter("z = 1")
    assert [str(slot) for slot in slots_of(found)] == ["x", "z = 1"]
    assert str(found) == "count(*) FILTER (WHERE x > max(x) - 3) FILTER (WHERE z = 1)"


@pytest.mark.parametrize(
    ("where", "depth"),
    [
        ("x > avg(x)", 1),
        ("x > avg(x) FILTER (WHERE b)", 1),
        ("x > avg(x) FILTER (WHERE x > avg(x))", 2),
        ("x > min(x) FILTER (WHERE x > avg(x) FILTER (WHERE x < max(x) AND b))", 3),
    ],
)
def test_levels(where: str, depth: int) -> None:
    found = correlated("count", where=where)
    assert isinstance(found, Correlated)
    assert level(found.correlation.where) == depth
    assert pickle.loads(pickle.dumps(found.correlation)) == found.correlation


def bound(found: Aggregate, *types: pa.DataType) -> pa.DataType:
    places = tuple(range(len(types)))
    return bind(AggregateCall(found.function, str(found), places, types, True, found.options)).type


def test_result_types() -> None:
    where = "x > avg(x)"
    assert bound(correlated("count", "x", where=where), pa.int32()) == pa.int64()
    assert bound(correlated("avg", "x", where=where), pa.int32()) == pa.float64()
    assert bound(correlated("sum", "x", where=where), pa.decimal128(10, 2)) == pa.decimal128(20, 2)
    assert bound(correlated("max", "x", where="x < max(x)"), pa.string()) == pa.string()


@pytest.mark.parametrize(
    ("where", "types", "problem"),
    [
        ("x > avg(x)", [pa.string()], "needs a number, but its argument is string"),
        ("max(x)", [pa.float64()], "needs a condition where it has a value of type number"),
        ("x > max(y)", [pa.float64(), pa.string()], "needs a number where it has .* string"),
        ("x > max(y)", [pa.date32(), pa.string()], r"needs a date32\[day\] where"),
        ("x + max(y) > 1", [pa.string(), pa.int64()], "needs a number where"),
        ("b AND x > max(x)", [pa.int64(), pa.int64()], "needs a condition where"),
        ("x > max(x) FILTER (WHERE y > max(b))", [pa.int64()] * 2 + [pa.bool_()], "needs a number"),
    ],
)
def test_types_that_do_not_suit(where: str, types: list[pa.DataType], problem: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=problem):
        bound(correlated("count", where=where), *types)


def test_what_is_refused() -> None:
    with pytest.raises(ExpressionError, match="there is no aggregate in it, so it is no"):
        correlated("count", where="x > 1")
    with pytest.raises(ExpressionError, match="a condition has no alias"):
        correlated("count", where="x > avg(x) AS y")
    with pytest.raises(ExpressionError, match="a subquery cannot stand"):
        correlated("count", where="x > (SELECT avg(x) FROM t)")
    with pytest.raises(ArgumentError, match="give one of count, sum, avg, min, max"):
        correlated("median", "x", where="x > avg(x)")
    assert isinstance(correlated("count", where="x > avg(x)").options[0], Correlation)
