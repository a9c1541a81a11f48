"""Spark's SQL as sqlglot reads it, with nothing lost of the aggregates that are Muntin's own."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

#: Calls that sqlglot would read into nodes of its own, dropping arguments it does not expect.
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


def _others(table: dict[str, Any]) -> dict[str, Any]:
    return {name: build for name, build in table.items() if name not in _AS_WRITTEN}


class SPARK(Spark):
    """Spark's dialect, in which those calls keep the arguments they were written with."""

    class Parser(SparkParser):
        FUNCTIONS = _others(SparkParser.FUNCTIONS) | _WITH_FLAG
        FUNCTION_PARSERS = _others(SparkParser.FUNCTION_PARSERS)


def constant(node: exp.Expr) -> object:
    """A number or a list of numbers; anything else stays text, which no check lets pass."""
    if isinstance(node, exp.Array):
        return [constant(part) for part in node.expressions]
    written = node.sql(dialect=SPARK)
    if isinstance(node, exp.Neg):
        number = constant(node.this)
        return -number if isinstance(number, int | float) else written
    if not isinstance(node, exp.Literal) or node.is_string:
        return written
    try:
        return int(node.this) if node.this.isdigit() else float(node.this)
    except ValueError:  # "²" is a digit, and the parser takes it for a number
        return written
