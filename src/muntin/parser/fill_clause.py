"""``FILL Bgp BEFORE 30 SECONDS WHERE kind = 'update'``: what fills frames or windows.

    FILL table [AS alias] [ON column] [MATCHING (own = other, ...) | MATCHING NONE]
         [BEFORE length] [AFTER length] [SHRINK length] [SHIFT length, ...] [EMPTY KEEP | DROP]
         [WHERE condition]

WHERE is the last of it and belongs to the filling rows; a second WHERE is that of the query.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import TokenType

from muntin.parser.clause import Draft
from muntin.parser.cursor import Cursor
from muntin.parser.expressions import read_expression
from muntin.parser.keywords import BEHIND_RELATION
from muntin.parser.lexer import is_name
from muntin.parser.literals import read_length
from muntin.parser.statements import FillClause

_WORDS = ("ON", "MATCHING", "BEFORE", "AFTER", "SHRINK", "SHIFT", "EMPTY", "WHERE")


def read_fill(cursor: Cursor) -> FillClause:
    """What follows the word FILL; stops where the query goes on."""
    place = cursor.place
    table = read_table(cursor, "the stream or table that fills")
    alias = read_alias(cursor, (*_WORDS, *BEHIND_RELATION)) or table.split(".")[-1]
    draft = Draft(cursor.text)
    while cursor.next_is(*_WORDS) and not ("where" in draft.values and cursor.next_is("WHERE")):
        at, word = cursor.place, cursor.take().text.upper()
        name = {"MATCHING": "key"}.get(word, word.lower())
        draft.put(name, _READERS[word](cursor), at)
        if word == "WHERE":
            break
    return FillClause(table, alias, draft.values, draft.places, place)


def read_table(cursor: Cursor, what: str) -> str:
    """The name of a table, with those of its catalog and schema if it has them."""
    parts = [cursor.name(what)]
    while cursor.accept_type(TokenType.DOT):
        parts.append(cursor.name(what))
    return ".".join(parts)


def read_alias(cursor: Cursor, words: tuple[str, ...]) -> str | None:
    """An alias, with or without AS; without it none of the words that may follow."""
    if cursor.accept("AS"):
        return cursor.name("a name")
    token = cursor.peek
    plain = token is not None and token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    if token is None or not plain or not is_name(token) or (words and cursor.next_is(*words)):
        return None
    return cursor.name("a name")


def read_matching(cursor: Cursor) -> object:
    """Which columns match which keys: ``(router = id)``, ``(id)``, or none at all."""
    if cursor.accept("NONE"):
        return ()
    token = cursor.peek
    if token is None or token.token_type is not TokenType.L_PAREN:
        cursor.fail(expected="(own = other, ...) or NONE")
    inner = cursor.enclosed()
    pairs: dict[str, str] = {}
    names: list[str] = []
    while not inner.done:
        own = inner.name("a column")
        if inner.accept_type(TokenType.EQ):
            pairs[own] = inner.name("a column of the filling rows")
        else:
            names.append(own)
        if not inner.done:
            inner.expect_type(TokenType.COMMA, ",")
    if pairs and names:
        inner.fail("some columns are paired and others are not", expected="own = other for each")
    return pairs or tuple(names)


def read_shifts(cursor: Cursor) -> object:
    """One shift, or several with commas between them."""
    found = [read_length(cursor, "shift")]
    while cursor.accept_type(TokenType.COMMA):
        found.append(read_length(cursor, "shift"))
    return found[0] if len(found) == 1 else found


def _where(cursor: Cursor) -> object:
    inside = cursor.until(lambda c: c.next_is(*BEHIND_RELATION))
    return read_expression(inside, "a condition such as kind = 'update'")


_READERS: dict[str, Callable[[Cursor], object]] = {
    "ON": lambda cursor: cursor.name("a column"),
    "MATCHING": read_matching,
    "BEFORE": lambda cursor: read_length(cursor, "before"),
    "AFTER": lambda cursor: read_length(cursor, "after"),
    "SHRINK": lambda cursor: read_length(cursor, "shrink"),
    "SHIFT": read_shifts,
    "EMPTY": lambda cursor: cursor.choice("KEEP", "DROP").lower(),
    "WHERE": _where,
}
