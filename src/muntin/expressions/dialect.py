"""Expressions in Spark's SQL: text to sqlglot's tree and back.

Text is parsed, never pasted: only what the parser has written out again reaches Spark. There
are two dialects, because there are two needs. The one here reads functions into sqlglot's nodes:
conditions and aggregates are understood, and labels, which are part of a checkpoint's identity,
are written from these nodes. :mod:`muntin.parser.dialect`, which may not import this module, keeps
every call as it was written, because the rest of a query is only passed on to Spark.
:func:`understood` turns a tree of the second kind into one of the first without writing text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.parsers.spark import SparkParser

from muntin.errors import ExpressionError

#: Aggregates that sqlglot would read into nodes of its own, dropping arguments it does not expect.
_AS_WRITTEN = {
    "MEDIAN",
    "PERCENTILE",
    "QUANTILE",
    "MODE",
    "COLLECT_LIST",
    "ARRAY_AGG",
    "COLLECT_SET",
}
#: Calls whose second argument sqlglot would drop unless it is TRUE.
_WITH_FLAG = {
    "FIRST": exp.First.from_arg_list,
    "FIRST_VALUE": exp.First.from_arg_list,
    "LAST": exp.Last.from_arg_list,
    "LAST_VALUE": exp.Last.from_arg_list,
}
#: Text is parsed in a select list, so that an alias is read as in SQL and a second statement is an
#: error; not as its first item, because there ALL and DISTINCT would belong to the query.
_BEFORE = "SELECT 1, "
#: Errors that sqlglot raises by mistake for some broken text, such as "map(limit<sort".
_TRIPPED = (IndexError, KeyError, AttributeError, TypeError, ValueError)
_UNREADABLE = "this is not SQL that can be read"
_REFUSED: dict[type[exp.Expr], str] = {
    exp.Subquery: "a subquery cannot stand in an aggregate",
    exp.Select: "a subquery cannot stand in an aggregate",
    exp.Window: "OVER has no place here: the window is the one this is aggregated over",
    exp.Distinct: "DISTINCT stands in count(DISTINCT x), sum and avg, and in no other aggregate",
    exp.Order: "ORDER BY has no place here: first and last go by the stream's `on`",
    exp.Aliases: "a result column has one name",
    exp.Parameter: "a parameter cannot stand in an aggregate",
    exp.Placeholder: "a parameter cannot stand in an aggregate",
}


def _others(table: dict[str, Any]) -> dict[str, Any]:
    return {name: build for name, build in table.items() if name not in _AS_WRITTEN}


class SPARK(Spark):
    """Spark's dialect, in which the calls listed above keep all their arguments."""

    class Tokenizer(Spark.Tokenizer):
        # As in Spark, a doubled quote is a quote. Texts are written with the first of these.
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012  (read by the class that sqlglot derives)

    class Parser(SparkParser):
        FUNCTIONS = _others(SparkParser.FUNCTIONS) | _WITH_FLAG
        FUNCTION_PARSERS = _others(SparkParser.FUNCTION_PARSERS)


def parse_expression(text: str) -> exp.Expr:
    """Read one expression, which may have an alias; raise if it is not one or has a subquery."""
    tree = _parse(text)
    refuse_parts(tree, text)
    return tree


def understood(tree: exp.Expr) -> exp.Expr:
    """Replace calls that are a name and arguments by sqlglot's nodes for these functions.

    The result is the tree that :func:`parse_expression` would read from the same text.

    >>> understood(exp.Anonymous(this="ifnull", expressions=[exp.column("x"), exp.Null()])).sql()
    'COALESCE(x, NULL)'
    """
    root = tree.copy()
    for node in reversed(list(root.walk())):  # arguments before the calls that take them
        call = _understood_call(node)
        if node is root:
            root = call
        elif call is not node:
            node.replace(call)
    return root


def _understood_call(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Anonymous) or not isinstance(node.this, str):
        return node
    name = node.this.upper()
    if name in SPARK.Parser.FUNCTION_PARSERS or name in SPARK.Parser.FUNCTIONS_WITH_ALIASED_ARGS:
        # It has a grammar of its own, and sqlglot's reader of it takes tokens, not arguments.
        return _parse(written(node))
    build = SPARK.Parser.FUNCTIONS.get(name)
    if build is None:
        return node
    try:
        call: exp.Expr = _built(build, node.expressions)
    except _TRIPPED:
        raise ExpressionError(_UNREADABLE, node.sql(dialect=SPARK)) from None
    if call.error_messages(node.expressions):
        raise ExpressionError(f"{_UNREADABLE}: something is missing", node.sql(dialect=SPARK))
    call.update_positions(node)
    return call


def _built(build: Callable[..., exp.Expr], arguments: list[exp.Expr]) -> exp.Expr:
    try:
        return build(arguments)
    except TypeError:  # as sqlglot does itself: some builders need the dialect
        return build(arguments, dialect=SPARK())


def written(tree: exp.Expr) -> str:
    """Return the text of a tree in Spark's SQL."""
    return tree.sql(dialect=SPARK)


@contextmanager
def nesting_limit(text: str) -> Iterator[None]:
    """Raise an error that shows the text if an expression is nested too deeply."""
    try:
        yield
    except RecursionError:
        raise ExpressionError("it is nested too deeply to be read", text) from None


def columns_of(text: str) -> list[str]:
    """Return the columns that an expression on rows mentions, each once.

    >>> columns_of("speed < 30 AND abs(speed - `top speed`) > 5")
    ['speed', 'top speed']
    """
    columns = _parse(text).find_all(exp.Column)
    return list(dict.fromkeys(".".join(part.name for part in column.parts) for column in columns))


def constant(node: exp.Expr) -> object:
    """Return a number or a list of numbers; anything else is text, which every check refuses."""
    if isinstance(node, exp.Array):
        return [constant(part) for part in node.expressions]
    text = written(node)
    if isinstance(node, exp.Neg):
        number = constant(node.this)
        return -number if isinstance(number, int | float) else text
    if not isinstance(node, exp.Literal) or node.is_string:
        return text
    try:
        return int(node.this) if node.this.isdigit() else float(node.this)
    except ValueError:  # "²" is a digit, and the parser takes it for a number
        return text


def is_of_distinct(node: exp.Expr | None) -> bool:
    """True for ``count(DISTINCT ...)``, ``sum(DISTINCT ...)`` and ``avg(DISTINCT ...)``."""
    able = isinstance(node, exp.Count | exp.Sum | exp.Avg)
    return able and node is not None and isinstance(node.this, exp.Distinct)


def refuse_parts(tree: exp.Expr, text: str) -> None:
    """Raise if an expression has a part that no aggregate and no condition can have."""
    for node in tree.walk():
        if is_of_distinct(node.parent):
            continue
        for kind, why in _REFUSED.items():
            if isinstance(node, kind):
                raise ExpressionError(why, text)


def _parse(text: str) -> exp.Expr:
    try:
        statements = sqlglot.parse(_BEFORE + text, dialect=SPARK)
    except SqlglotError as error:
        raise ExpressionError(_problem(error), text, _position(error)) from None
    except _TRIPPED:
        raise ExpressionError(_UNREADABLE, text) from None
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 2:
        raise ExpressionError("write one expression, such as 'max(speed) AS hi'", text)
    if [part for part, value in select.args.items() if value and part != "expressions"]:
        raise ExpressionError("write an expression, not a query", text)
    tree: exp.Expr = select.expressions[1]
    return tree


def _problem(error: Exception) -> str:
    details = getattr(error, "errors", None)
    problem = details[0]["description"] if details else str(error).splitlines()[0]
    if problem.startswith("Required keyword"):  # the rest names the parser's classes
        problem = "something is missing"
    return f"{_UNREADABLE}: {problem.rstrip('.')}"


def _position(error: Exception) -> int | None:
    details = getattr(error, "errors", None)
    if not details or details[0].get("line") != 1:
        return None
    column = details[0]["col"] - len(_BEFORE) - len(details[0].get("highlight") or "")
    return int(column) if column >= 0 else 0
