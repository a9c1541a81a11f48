"""Read what the answers of a query are worth [AU-34].

CREATE QUERY name AS query WITH QOS (DELAY length worth, ..., SHARE share worth, ...,
                                     VALUE column value worth, ...)
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from muntin.errors import ArgumentError
from muntin.parser.cursor import Cursor
from muntin.parser.errors import Position, SqlError, place_at
from muntin.parser.expressions import read_number, read_text
from muntin.parser.lexer import is_word
from muntin.specs.qos import Qos

_GRAPHS = ("DELAY", "SHARE", "VALUE")
_EXPECTED = "graphs in parentheses, such as (DELAY 2 SECONDS 1.0, 10 SECONDS 0.0)"
_DELAY = "a length of time and a worth, such as 2 SECONDS 1.0"


def begins_qos(tokens: Sequence[Token], at: int) -> bool:
    """Return whether WITH QOS stands at a place."""
    return is_word(tokens[at], "WITH") and at + 1 < len(tokens) and is_word(tokens[at + 1], "QOS")


def read_qos(cursor: Cursor) -> tuple[Qos, Position]:
    """Read WITH QOS and its graphs; return them, and the place of QOS."""
    cursor.expect("WITH")
    place, start = cursor.place, cursor.offset
    cursor.expect("QOS")
    if not cursor.opens():
        cursor.fail(expected=_EXPECTED)
    inner = cursor.enclosed()
    given: dict[str, object] = {}
    while True:
        at = inner.place
        word = inner.choice(*_GRAPHS)
        if word.lower() in given:
            raise SqlError(f"{word} is given twice", cursor.text, at)
        column = inner.name("a numeric column") if word == "VALUE" else None
        points = [_point(inner, word)]
        while inner.accept_type(TokenType.COMMA):
            if inner.next_is(*_GRAPHS):
                break
            points.append(_point(inner, word))
        given[word.lower()] = points if column is None else (column, points)
        if inner.done:
            break
        if not inner.next_is(*_GRAPHS):
            inner.fail(expected=", or )")
    try:
        return Qos(**given), place  # type: ignore[arg-type]
    except ArgumentError as error:
        place = place_at(cursor.text, start)
        raise SqlError(f"{error.argument.upper()}: {error.reason()}", cursor.text, place) from error


def _point(cursor: Cursor, word: str) -> tuple[object, object]:
    if word != "DELAY":
        return read_number(cursor, "a number"), read_number(cursor, "a worth, such as 1.0")
    if cursor.next_is_text():
        return read_text(cursor, _DELAY), read_number(cursor, _DELAY)
    parts = []
    while (second := cursor.second) is not None and is_word(second):
        parts += [str(read_number(cursor, _DELAY)), cursor.take().text.lower()]
    if not parts:
        cursor.fail(expected=_DELAY)
    return " ".join(parts), read_number(cursor, _DELAY)
