"""Expressions of Spark's SQL inside a clause: read by sqlglot, never pasted."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.cursor import Cursor
from muntin.parser.dialect import SQL
from muntin.parser.errors import SqlError
from muntin.parser.positions import place_at
from muntin.parser.statements import Expression

#: What sqlglot raises on text that it cannot read, some of it by tripping.
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


def parse_tree(text: str, tokens: Sequence[Token]) -> exp.Expr:
    """One statement of Spark's SQL as sqlglot reads it; what it says is said at its place."""
    try:
        trees = SQL().parser().parse(list(tokens), text)
    except _FAILURES as error:
        raise _unreadable(error, text, tokens) from None
    found = [tree for tree in trees if tree is not None]
    if len(found) != 1:
        raise SqlError("this is not SQL that can be read", text, tokens[0].start)
    return found[0]


def read_expression(cursor: Cursor, what: str) -> Expression:
    """Everything that is left as one expression."""
    start = cursor.offset
    if cursor.done:
        cursor.fail(expected=what)
    first = cursor.tokens[cursor.at]
    # In a select list, behind another item: there an expression is all that can stand.
    before = [
        _made(TokenType.SELECT, "SELECT"),
        _made(TokenType.NUMBER, "1"),
        _made(TokenType.COMMA, ","),
    ]
    tree = parse_tree(cursor.text, [*before, *cursor.tokens[cursor.at :]])
    cursor.at = len(cursor.tokens)
    parts = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Select) or parts != {"expressions"} or len(tree.expressions) != 2:
        raise SqlError(f"{first.text} begins no expression", cursor.text, start, expected=what)
    found: exp.Expr = tree.expressions[1]
    if isinstance(found, exp.Alias):
        raise SqlError("this is not one expression", cursor.text, start, expected=what)
    if found.find(exp.Query) is not None:
        raise SqlError("a subquery has no place here", cursor.text, start, expected=what)
    return Expression(found, place_at(cursor.text, start))


def _unreadable(error: Exception, text: str, tokens: Sequence[Token]) -> SqlError:
    details = getattr(error, "errors", None)
    if isinstance(error, RecursionError):
        return SqlError("this is nested too deeply to be read", text, tokens[0].start)
    if not details:
        return SqlError("this is not SQL that can be read", text, _first(tokens))
    what = str(details[0].get("description") or "").rstrip(".").split(" but got <")[0]
    if not what or what.startswith(("Required keyword", "Invalid expression")):
        what = "this cannot stand here"
    return SqlError(f"{what[0].lower()}{what[1:]}", text, _offset(details[0], text, tokens))


def _offset(detail: dict[str, object], text: str, tokens: Sequence[Token]) -> int:
    """Where the token stands that sqlglot names; it counts columns to the end of tokens."""
    line, col = detail.get("line"), detail.get("col")
    for token in tokens:
        if (token.line, token.col) == (line, col) and token.end:
            return token.start
    return _first(tokens)


def _first(tokens: Sequence[Token]) -> int:
    """The first token that comes from the text."""
    return next((token.start for token in tokens if token.end), 0)


def _made(type_: TokenType, text: str) -> Token:
    """A token that is nowhere in the text."""
    return Token(type_, text, line=0, col=0, start=0, end=0)
