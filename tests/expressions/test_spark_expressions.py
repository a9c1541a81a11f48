from __future__ import annotations

import pytest

from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    Expression,
    Name,
    Native,
    NotNull,
    Sql,
    Times,
    Where,
)

A, B = Name("a"), Sql("b > 1")


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (A, "a"),
        (B, "b > 1"),
        (Native("Column<'(a * 2)'>"), "(a * 2)"),
        (Where(B, A), "a WHERE b > 1"),
        (Where(B, None), "* WHERE b > 1"),
        (NotNull((A, B)), "a, b > 1 IS NOT NULL"),
        (Both(A, B), "a AND b > 1"),
        (Times(A, A), "a * a"),
        (AsDouble(A), "a"),
    ],
)
def test_an_expression_in_words(expression: Expression, shown: str) -> None:
    assert str(expression) == shown


def test_equal_expressions_are_evaluated_once() -> None:
    assert Where(B, AsDouble(A)) == Where(Sql("b > 1"), AsDouble(Name("a")))
    assert len({Name("a"), Sql("a"), AsDouble(Name("a")), Name("a")}) == 3


def test_a_pyspark_column_is_equal_only_to_itself() -> None:
    column = object()
    native = Native(column)
    assert native == native
    assert native != Native(column)
    assert len({native, native, Native(column)}) == 2
