from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pyarrow as pa
import pytest

import muntin.aggregates.functions as mt
from muntin.aggregates.bind import bind, sql_aggregates
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError, ExpressionError
from muntin.expressions.spark_expressions import Both, Name, Native, NotNull, Sql

OF_A_COLUMN: list[Callable[..., Aggregate]] = [
    mt.sum,
    mt.min,
    mt.max,
    mt.avg,
    mt.var_samp,
    mt.var_pop,
    mt.stddev_samp,
    mt.stddev_pop,
    mt.first,
    mt.last,
    mt.count,
    mt.median,
    mt.mode,
    mt.count_distinct,
    mt.collect,
    mt.collect_set,
]
OF_A_CONDITION: list[Callable[..., Aggregate]] = [mt.any, mt.all, mt.count_if]


class Column:
    """A fake of PySpark's Column: a comparison makes another one, which has no truth value."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def alias(self, name: str) -> Column:
        return Column(f"{self.shown} AS {name}")

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return Column(f"({self.shown} = {other})")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("Cannot convert column into bool")

    def __repr__(self) -> str:
        return f"Column<'{self.shown}'>"


@pytest.mark.parametrize("function", OF_A_COLUMN, ids=lambda f: f.__name__)
def test_aggregates_of_a_column(function: Callable[..., Aggregate]) -> None:
    name = function.__name__
    made = function("speed")
    assert made == Aggregate(name, (Name("speed"),))
    assert str(made) == made.column_name == f"{name}(speed)"


@pytest.mark.parametrize("function", OF_A_COLUMN, ids=lambda f: f.__name__)
def test_aggregates_of_a_pyspark_column(function: Callable[..., Aggregate]) -> None:
    made = function(Column("(a * 2)"))
    (argument,) = made.arguments
    assert isinstance(argument, Native)
    assert str(made) == f"{function.__name__}((a * 2))"


@pytest.mark.parametrize("function", OF_A_CONDITION, ids=lambda f: f.__name__)
def test_aggregates_of_a_condition(function: Callable[..., Aggregate]) -> None:
    made = function("speed<30")
    assert made == Aggregate(function.__name__, (Sql("speed < 30"),))
    assert str(made) == f"{function.__name__}(speed < 30)"
    assert str(function(Column("(a > 2)"))) == f"{function.__name__}((a > 2))"


def test_count_of_rows() -> None:
    assert mt.count() == mt.count("*") == mt.count(1) == Aggregate("count", ())
    assert str(mt.count()) == "count(*)"


def test_weighted_avg_has_two_columns() -> None:
    assert mt.weighted_avg("v", "w") == Aggregate("weighted_avg", (Name("v"), Name("w")))


@pytest.mark.parametrize(
    ("made", "function", "constant", "shown"),
    [
        (mt.quantile("x", 0.95), "quantile", 0.95, "quantile(x, 0.95)"),
        (mt.quantile("x", 1), "quantile", 1.0, "quantile(x, 1.0)"),
        (mt.quantile("x", [0.5, 1]), "quantile", (0.5, 1.0), "quantile(x, array(0.5, 1.0))"),
        (mt.heavy_hitters("x"), "heavy_hitters", 0.05, "heavy_hitters(x, 0.05)"),
        (mt.heavy_hitters("x", share=0.1), "heavy_hitters", 0.1, "heavy_hitters(x, 0.1)"),
        (mt.top_k("x", 3), "top_k", 3, "top_k(x, 3)"),
    ],
)
def test_aggregates_with_a_constant(
    made: Aggregate, function: str, constant: object, shown: str
) -> None:
    assert made == Aggregate(function, (Name("x"),), options=(constant,))
    assert str(made) == made.column_name == shown
    assert str(made.filter("a > 1")) == f"{shown} FILTER (WHERE a > 1)"


def test_constants_are_checked_where_they_are_written() -> None:
    with pytest.raises(ArgumentError, match=r"^share=95 cannot be used: it must be a number from"):
        mt.quantile("x", 95)
    with pytest.raises(ArgumentError, match=r"^share=0 cannot be used: it must be a number above"):
        mt.heavy_hitters("x", 0)
    with pytest.raises(ArgumentError, match=r"^k=0 cannot be used: it must be a whole number"):
        mt.top_k("x", 0)
    with pytest.raises(ArgumentError, match=r"^column=0 cannot be used"):
        mt.quantile(0, 0.5)


def test_alias() -> None:
    made = mt.max("speed").alias("hi")
    assert made == Aggregate("max", (Name("speed"),), name="hi")
    assert made.column_name == "hi"
    assert str(made) == "max(speed)"
    assert made.alias("top").column_name == "top"


def test_filter() -> None:
    once = mt.avg("speed").filter("lane=1")
    assert once.condition == Sql("lane = 1")
    assert once.column_name == "avg(speed) FILTER (WHERE lane = 1)"
    twice = once.filter("x > 2").alias("y")
    assert twice.condition == Both(Sql("lane = 1"), Sql("x > 2"))
    assert str(twice) == "avg(speed) FILTER (WHERE lane = 1 AND x > 2)"
    native = mt.count().filter(Column("(a > 2)"))
    assert str(native) == "count(*) FILTER (WHERE (a > 2))"


@pytest.mark.parametrize("function", [mt.first, mt.last])
def test_ignoring_nulls(function: Callable[..., Aggregate]) -> None:
    made = function("x", ignore_nulls=True)
    assert made.condition == NotNull((Name("x"),))
    assert made.column_name == f"{function.__name__}(x)"
    filtered = made.filter("lane = 1")
    assert filtered.condition == Both(NotNull((Name("x"),)), Sql("lane = 1"))
    assert mt.ignoring_nulls(function("x").filter("y")).condition == Both(
        Sql("y"), NotNull((Name("x"),))
    )


def test_aggregates_are_frozen_values() -> None:
    assert mt.max("a") == mt.max("a")
    assert hash(mt.max("a")) == hash(mt.max("a"))
    assert mt.max("a") != mt.max("b")
    with pytest.raises(FrozenInstanceError):
        mt.max("a").name = "x"  # type: ignore[misc]
    column = Column("a")
    assert mt.max(column) != mt.max(column)  # two columns with the same text may differ


@pytest.mark.parametrize("given", ["", None, 3, "*", mt.max("x"), ["a"]])
def test_what_is_no_column(given: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        mt.max(given)
    assert str(caught.value) == (
        f"column={given!r} cannot be used: it must be a column name or a PySpark Column"
    )


def test_messages_name_the_argument() -> None:
    with pytest.raises(ArgumentError, match=r"^value=0 cannot be used"):
        mt.weighted_avg(0, "w")
    with pytest.raises(ArgumentError, match=r"^weight=0 cannot be used"):
        mt.weighted_avg("v", 0)
    for function in (*OF_A_CONDITION, mt.max("x").filter):
        with pytest.raises(ArgumentError) as caught:
            function(True)
        assert str(caught.value) == (
            "condition=True cannot be used: it must be SQL text such as 'speed < 30', or a Column"
        )


def test_a_condition_is_checked_where_it_is_written() -> None:
    with pytest.raises(ExpressionError, match=r"^a subquery cannot stand in an aggregate"):
        mt.count_if("x IN (SELECT 1)")
    with pytest.raises(ExpressionError, match=r"^an aggregate cannot stand in a condition on rows"):
        mt.max("x").filter("max(x) > 1")


def test_every_synonym_stands_for_an_aggregate_of_its_own_name() -> None:
    for definition in sql_aggregates().values():
        assert sql_aggregates()[definition.name] is definition
        python_name = (
            "approx_quantile" if definition.name == "approx_percentile" else definition.name
        )
        assert callable(getattr(mt, python_name))


def test_an_aggregate_that_does_not_exist_is_refused_by_name() -> None:
    call = AggregateCall("medain", "medain(x)", (0,), (pa.float64(),), True)
    with pytest.raises(ArgumentError, match=r"medain.*there is no such aggregate.*median"):
        bind(call)
