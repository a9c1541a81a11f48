"""Read statements about a session itself: ``DESCRIBE``, ``SET`` and ``SHOW FUNCTIONS``.

DESCRIBE name | 'f.csv' | source(...) | SELECT ...
SET ZONE = 'Europe/Berlin' | SET FORMAT = table | json | csv | SET ROWS = n
SHOW FUNCTIONS [part of a name]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.arguments import read_table
from muntin.parser.cursor import Cursor
from muntin.parser.errors import Position, SqlError
from muntin.parser.expressions import read_constant
from muntin.parser.query import BEGINNINGS, read_query
from muntin.parser.statements import Describe, Query, SetOption, Setting, Show

#: How results are shown.
FORMATS = ("table", "json", "csv")
_SELECT = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))


def read_describe(cursor: Cursor, hyphenated: frozenset[str]) -> Describe:
    """Read what follows DESCRIBE."""
    place = cursor.place
    for kept in ("TABLE", "STREAM", "QUERY"):
        if cursor.second is not None and cursor.accept(kept):
            break
    if cursor.done:
        cursor.fail(expected="a name, a file in quotes, or a SELECT")
    if cursor.opens() or cursor.next_is(*BEGINNINGS):
        return Describe(read_query(cursor, hyphenated), None, place)
    name: str | None = None
    if not cursor.next_is_text() and not cursor.calls():
        start = cursor.at
        name = read_table(cursor, "a name, a file in quotes, or a SELECT")
        cursor.finish("the end of the statement")
        cursor.at = start
    return Describe(_everything_of(cursor, hyphenated), name, place)


def _everything_of(cursor: Cursor, hyphenated: frozenset[str]) -> Query:
    """Return the query that selects everything of the relation that is left."""
    tokens, first = list(cursor.tokens[cursor.at :]), cursor.tokens[cursor.at]
    cursor.at = len(cursor.tokens)
    made = [
        Token(type_, text, line=first.line, col=first.col, start=first.start, end=first.start)
        for type_, text in _SELECT
    ]
    return read_query(Cursor(cursor.text, [*made, *tokens], cursor.end), hyphenated)


def read_set(cursor: Cursor) -> SetOption:
    """Read what follows SET: a name, = or TO, and a value."""
    place = cursor.place
    if cursor.accept("TIME", "ZONE"):
        what = "ZONE"
    else:
        what = cursor.choice(*get_args(Setting))
        if not cursor.accept_type(TokenType.EQ):
            cursor.accept("TO")
    at = cursor.offset
    return SetOption(_KINDS[what], _READERS[what](cursor, at), place)


def _zone(cursor: Cursor, at: int) -> str:
    expected = "the name of a zone in quotes, such as 'Europe/Berlin' or 'UTC'"
    if cursor.next_is("UTC"):
        word = cursor.take().text
        cursor.finish("the end of the statement")
        return word
    value = read_constant(cursor, expected)
    cursor.finish("the end of the statement")
    if not isinstance(value, str):
        raise SqlError(f"{value} is no zone", cursor.text, at, expected=expected)
    return value


def _format(cursor: Cursor, at: int) -> str:
    word = cursor.take().text if cursor.next_is_text() else cursor.choice(*map(str.upper, FORMATS))
    cursor.finish("the end of the statement")
    if word.lower() not in FORMATS:
        raise SqlError(f"{word} is no format", cursor.text, at, expected="table, json or csv")
    return word.lower()


def _rows(cursor: Cursor, at: int) -> int:
    value = read_constant(cursor, "a whole number")
    cursor.finish("the end of the statement")
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SqlError(f"{value} is no number of rows", cursor.text, at, expected="1 or more")
    return value


def read_functions(cursor: Cursor, place: Position) -> Show:
    """Read what follows SHOW FUNCTIONS: nothing, or a part of a name."""
    like: str | None = None
    cursor.accept("LIKE")
    if not cursor.done:
        like = cursor.take().text if cursor.next_is_text() else cursor.name("a part of a name")
    cursor.finish("the end of the statement")
    return Show("FUNCTION", place, like)


_KINDS: dict[str, Setting] = {kind: kind for kind in get_args(Setting)}
_READERS: dict[str, Callable[[Cursor, int], str | int]] = {
    "ZONE": _zone,
    "FORMAT": _format,
    "ROWS": _rows,
}
