"""PySpark's own aggregates (``F.max("speed")``), read as Muntin's where nothing is lost.

A PySpark column can only be read as the text that it prints, which leaves things out: DISTINCT, on
Spark Connect the quotes of strings, everywhere the type of numbers. So every reading of the text is
given back to Spark, and counts only if Spark says that it means the same as the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.aggregates import functions as muntin_functions
from muntin.aggregates.bind import sql_aggregates
from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.parse import Column, parse_column
from muntin.errors import ArgumentError, ExpressionError
from muntin.spark.columns import problem, text_of

#: An operator before its operands, as columns print it: ``>(v, 2)``.
_OPERATOR = re.compile(r"(?<![\w`'])(and|or|!|[-+*/%=<>]+)\(")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`")
_FRACTION = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
_CALL = re.compile(r"\b([a-z_]\w*)\((?=[^)])")


def read_aggregate(
    column: SparkColumn,
    df: DataFrame,
    known: Sequence[str],
    functions: Mapping[str, OwnAggregate],
) -> Column:
    """Return the result column that a PySpark aggregate over ``df`` means; raise if it is unclear.

    ``known`` are the columns that it may use outside aggregates, ``functions`` the user's own.
    """
    try:
        (name,) = df.agg(column).columns
    except PySparkException as error:
        raise _refused(column, f"Spark says: {problem(error)}", "") from error
    text = text_of(column).removesuffix(f" AS {name}")
    for candidate in readings(text):
        if _means(candidate, column, df):
            try:
                return replace(parse_column(candidate, known, functions), name=name)
            except ExpressionError as error:
                reason = str(error).split("\n")[0]
                raise _refused(column, f"{candidate}: {reason}", text) from error
    raise _refused(column, f"its text {text!r} does not say all that it means", text)


def _means(text: str, column: SparkColumn, df: DataFrame) -> bool:
    """Return whether Spark takes a text for the same as a column."""
    try:
        return df.agg(column).sameSemantics(df.agg(F.expr(text)))
    except PySparkException:
        return False  # it is not even SQL


def readings(text: str) -> Iterator[str]:
    """Yield what the text of a column may mean: with DISTINCT, or with doubles, or as it is.

    >>> list(readings("max(*(v, 0.5))"))[::2]
    ['max((v * 0.5))', 'max((v * 0.5D))']
    >>> list(readings("count(v)"))
    ['count(v)', 'count(DISTINCT v)']
    """
    plain = infix(text.replace("unresolvedstar()", "*"))  # as Spark Connect prints it
    doubles = _FRACTION.sub(lambda number: number.group() + "D", plain)
    for reading in dict.fromkeys((plain, doubles)):
        yield reading
        distinct = _CALL.sub(_with_distinct, reading)
        if distinct != reading:
            yield distinct


def _with_distinct(call: re.Match[str]) -> str:
    aggregate = call.group(1) in sql_aggregates()
    return f"{call.group()}DISTINCT " if aggregate else call.group()


def infix(text: str) -> str:
    """Return a column's text as SQL: ``>(v, 2)`` is ``(v > 2)``.

    >>> infix("max(or(>(v, 1), !(=(s, ')'))))")
    "max(((v > 1) or (NOT (s = ')'))))"
    """
    found = next(
        (each for each in _OPERATOR.finditer(text) if not _inside_quotes(each, text)), None
    )
    if found is None:
        return text
    operands, end = _operands(text, found.end())
    inner = [infix(operand) for operand in operands]
    operator = "NOT" if found.group(1) == "!" else found.group(1)
    written = f" {operator} ".join(inner if len(inner) > 1 else ["", *inner]).strip()
    return f"{text[: found.start()]}({written}){infix(text[end:])}"


def _inside_quotes(found: re.Match[str], text: str) -> bool:
    return any(part.start() < found.start() < part.end() for part in _QUOTED.finditer(text))


def _operands(text: str, start: int) -> tuple[list[str], int]:
    """Return the operands from ``start`` to the closing parenthesis, and the place after it."""
    quoted = {place for part in _QUOTED.finditer(text) for place in range(*part.span())}
    depth, begin, operands = 1, start, []
    for place in range(start, len(text)):
        sign = "" if place in quoted else text[place]
        depth += (sign == "(") - (sign == ")")
        if (sign == "," and depth == 1) or depth == 0:
            operands.append(text[begin:place].strip())
            begin = place + 1
        if depth == 0:
            return operands, place + 1
    return [*operands, text[begin:].strip()], len(text)


def _refused(column: SparkColumn, why: str, text: str) -> ArgumentError:
    """Return the error, with Muntin's own functions for the aggregates in the text."""
    called = [name for name in re.findall(r"\b(\w+)\(", text) if name in sql_aggregates()]
    names = dict.fromkeys(sql_aggregates()[name].name for name in called)
    own = [f"mt.{name}(...)" for name in names if hasattr(muntin_functions, name)]
    take = f", or {' and '.join(own)} with PySpark columns as arguments" if own else ""
    return ArgumentError(
        "aggregates",
        text_of(column),
        f"this PySpark aggregate cannot be taken over ({why}); write SQL text such as "
        f"'max(speed) AS hi'{take}",
    )
