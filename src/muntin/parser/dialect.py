"""Spark's SQL as sqlglot reads it, with every function call kept as the user wrote it.

The text goes back to Spark. sqlglot's nodes for known functions would gain nothing, and they drop
arguments that sqlglot does not expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token

from muntin.parser.errors import SqlError

#: Calls with words between their arguments, as in ``CAST(x AS INT)``, and the array literal.
_SYNTAX = {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "OVERLAY", "SUBSTRING", "SUBSTR"}
#: What sqlglot raises for text that it cannot read, some of it by accident.
_FAILURES = (
    SqlglotError,
    IndexError,
    KeyError,
    AttributeError,
    TypeError,
    ValueError,
    AssertionError,
    RecursionError,
)


def _those(table: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: build for name, build in table.items() if name in names}


class SQL(Spark):
    """Spark's dialect, in which a function is its name and its arguments."""

    class Tokenizer(Spark.Tokenizer):
        # SHOW and the like are statements of the language, not text to be passed on.
        COMMANDS = set()  # noqa: RUF012  (read by the class that sqlglot derives)
        # As in Spark, a doubled quote is a quote. Texts are written with the first of these.
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012

    class Parser(SparkParser):
        FUNCTIONS = _those(SparkParser.FUNCTIONS, {"ARRAY"})
        FUNCTION_PARSERS = _those(SparkParser.FUNCTION_PARSERS, _SYNTAX)


def written(tree: exp.Expr) -> str:
    """Return a tree as text of Spark's SQL on one line, with the user's names of functions."""
    return tree.sql(dialect=SQL, normalize_functions=False, comments=False)


def offset_of(tree: exp.Expr) -> int | None:
    """Return the offset of a tree: that of its first part that has one."""
    known = [node.meta["start"] for node in tree.walk() if "start" in node.meta]
    return min(known) if known else None


def parse_tree(text: str, tokens: Sequence[Token]) -> exp.Expr:
    """Read one statement of Spark's SQL by sqlglot; report its errors at their place."""
    try:
        trees = SQL().parser().parse(list(tokens), text)
    except _FAILURES as error:
        raise _unreadable(error, text, tokens) from None
    statements = [tree for tree in trees if tree is not None]
    if len(statements) != 1:
        raise SqlError("this is not SQL that can be read", text, tokens[0].start)
    return statements[0]


def _unreadable(error: Exception, text: str, tokens: Sequence[Token]) -> SqlError:
    details = getattr(error, "errors", None)
    if isinstance(error, RecursionError):
        return SqlError("this is nested too deeply to be read", text, tokens[0].start)
    if not details:
        return SqlError("this is not SQL that can be read", text, _first(tokens))
    problem = str(details[0].get("description") or "").rstrip(".").split(" but got <")[0]
    if not problem or problem.startswith(("Required keyword", "Invalid expression")):
        problem = "this is not allowed here"
    problem = f"{problem[0].lower()}{problem[1:]}"
    return SqlError(problem, text, _offset(details[0], tokens))


def _offset(detail: dict[str, object], tokens: Sequence[Token]) -> int:
    """Return the offset of the token that sqlglot names by its line and last column."""
    line, col = detail.get("line"), detail.get("col")
    for token in tokens:
        if (token.line, token.col) == (line, col) and token.end:
            return token.start
    return _first(tokens)


def _first(tokens: Sequence[Token]) -> int:
    """Return the offset of the first token that is in the text."""
    return next((token.start for token in tokens if token.end), 0)
