"""Spark's SQL as sqlglot reads it, with every function call kept as it was written.

The text goes back to Spark, so there is nothing to gain from nodes that know what a function means,
and arguments to lose: sqlglot drops those that it does not expect.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

#: Calls with words between their arguments, as in ``CAST(x AS INT)``, and the array literal.
_SYNTAX = {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "OVERLAY", "SUBSTRING", "SUBSTR"}


def _those(table: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: build for name, build in table.items() if name in names}


class SQL(Spark):
    """Spark's dialect, in which a function is its name and its arguments."""

    class Tokenizer(Spark.Tokenizer):
        # SHOW and the like are statements of the language, not text to be passed on.
        COMMANDS = set()  # noqa: RUF012  (read by the class that sqlglot derives)

    class Parser(SparkParser):
        FUNCTIONS = _those(SparkParser.FUNCTIONS, {"ARRAY"})
        FUNCTION_PARSERS = _those(SparkParser.FUNCTION_PARSERS, _SYNTAX)


def written(tree: exp.Expr) -> str:
    """The text of a tree in Spark's SQL, on one line, functions named as the user named them."""
    return tree.sql(dialect=SQL, normalize_functions=False, comments=False)


def offset_of(tree: exp.Expr) -> int | None:
    """Where in the text a tree begins: at the first part of it that knows its place."""
    known = [node.meta["start"] for node in tree.walk() if "start" in node.meta]
    return min(known) if known else None
