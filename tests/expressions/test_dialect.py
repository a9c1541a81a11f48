"""Trees of queries are read as their text would be read."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import ExpressionError
from muntin.expressions.dialect import SPARK, parse_expression, refuse_parts, understood
from muntin.expressions.dialect import written as written_again
from muntin.parser.dialect import SQL, written

TEXTS = [
    "count(DISTINCT x)",
    "any(a > 1)",
    "bool_or(x) AND every(x)",
    "first(x, true)",
    "last(x) IGNORE NULLS",
    "max(a) FILTER (WHERE abs(b) > 1)",
    "count(*) FILTER (WHERE d >= avg(d))",
    "sum(CAST(a AS INT)) + sum(a::int)",
    "quantile(x, array(0.1, 0.2)) - mode(x, true)",
    "max(`top speed`) - max(s.t)",
    "sum(extract(hour FROM ts))",
    "max(substring(a, 1, 2)) || max(trim(x))",
    "min(a) FILTER (WHERE n LIKE ANY ('a%', 'b%'))",
    "sum(CASE WHEN a THEN -1 ELSE b END)",
    "sum(timestampdiff(SECOND, a, b)) / 2",
    "max(char(ifnull(b, 65)))",
    "max(a[0]) - max(INTERVAL 1 DAY)",
]
BROKEN = (
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    ValueError,
)  # sqlglot cannot write some calls
#: Arguments that a function may or may not take.
ARGUMENTS = ["a", "a, b", "a, b, c", "'x', a", "a, 1", "a, b, c, d", "a, x -> x > 1"]


def _as_text_would_be(tree: exp.Expr) -> str | None:
    try:
        return written_again(parse_expression(written(tree)))
    except (ExpressionError, *BROKEN):
        return None


def _as_tree(tree: exp.Expr) -> str | None:
    try:
        understood_tree = understood(tree)
        refuse_parts(understood_tree, "")
        return written_again(understood_tree)
    except (ExpressionError, *BROKEN):
        return None


@pytest.mark.parametrize("text", TEXTS)
def test_a_tree_is_understood_as_its_text_is(text: str) -> None:
    tree = sqlglot.parse_one(text, dialect=SQL)
    assert _as_tree(tree) == _as_text_would_be(tree)


def test_every_function_is_understood_as_in_text() -> None:
    """Labels are written from these trees, and checkpoints are compared by labels."""
    known = {*SPARK.Parser.FUNCTIONS, *SPARK.Parser.FUNCTION_PARSERS}
    for name in sorted(known - set(SQL.Parser.FUNCTION_PARSERS)):
        for arguments in ARGUMENTS:
            try:
                tree = sqlglot.parse_one(f"g({name.lower()}({arguments}))", dialect=SQL)
            except SqlglotError:
                continue
            assert _as_tree(tree) == _as_text_would_be(tree), (name, arguments)
