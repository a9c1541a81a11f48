"""Read what statements say to an engine: words of a query and of a stream, and AS OF.

CREATE QUERY name [START NOW | HISTORY | value] [UNTIL value] [OWNER 'name'] [TAGS ('a', ...)]
             [EVERY length] [EMIT FINAL | EARLY] [DESCRIPTION 'text'] AS query ...
CREATE STREAM ... [KEEP length] [GRAIN length] [RETAIN length] [CARRY (column, ...)]
FROM relation AS OF value
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from sqlglot.tokenizer_core import TokenType

from muntin.parser.cursor import Cursor
from muntin.parser.engine_statements import (
    AsOf,
    EngineQueryClause,
    EngineStreamClause,
    ProgressValue,
)
from muntin.parser.errors import Position, SqlError
from muntin.parser.expressions import read_constant, read_length, read_text
from muntin.parser.lexer import is_word

QUERY_WORDS = ("START", "UNTIL", "OWNER", "TAGS", "EVERY", "EMIT", "DESCRIPTION")
STREAM_WORDS = ("KEEP", "GRAIN", "RETAIN", "CARRY")
_VALUE = "a value of the column that progresses, such as '2026-01-01' or 10"
#: Words before AS OF with which Spark's SQL names a version of a table of its own.
_SPARK_VERSIONS = ("VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME")
_VALUES = (TokenType.STRING, TokenType.NUMBER, TokenType.DASH)


def read_engine_query(cursor: Cursor) -> EngineQueryClause:
    """Read the words between the name of a query and AS, in any order."""
    values: dict[str, Any] = {}
    places: dict[str, Position] = {}
    while not cursor.next_is("AS"):
        place = cursor.place
        word = cursor.choice("AS", *QUERY_WORDS)
        if word in places:
            raise SqlError(f"{word} is given twice", cursor.text, place)
        places[word] = place
        values[word.lower()] = _query_value(cursor, word)
    return EngineQueryClause(**values, places=places)


def _query_value(cursor: Cursor, word: str) -> object:
    match word:
        case "START":
            if cursor.next_is("NOW", "HISTORY"):
                return cursor.take().text.lower()
            return read_progress_value(cursor, f"NOW, HISTORY, or {_VALUE}")
        case "UNTIL":
            return read_progress_value(cursor, _VALUE)
        case "TAGS":
            return _tags(cursor)
        case "EVERY":
            return read_length(cursor)
        case "EMIT":
            return cursor.choice("FINAL", "EARLY").lower()
        case "OWNER":
            return read_text(cursor, "a name in quotes, such as 'ada'")
        case _:
            return read_text(cursor, "a text in quotes")


def _tags(cursor: Cursor) -> tuple[str, ...]:
    expected = "texts in parentheses, such as ('slow', 'north')"
    if not cursor.opens():
        cursor.fail(expected=expected)
    inner = cursor.enclosed()
    tags = [read_text(inner, expected)]
    while inner.accept_type(TokenType.COMMA):
        tags.append(read_text(inner, expected))
    inner.finish(", or )")
    return tuple(tags)


def read_engine_stream(cursor: Cursor, word: str) -> object:
    """Read what follows one of the words KEEP, GRAIN, RETAIN and CARRY."""
    if word != "CARRY":
        return read_length(cursor)
    if not cursor.opens():
        cursor.fail(expected="columns in parentheses, such as (ts, station, speed)")
    names = cursor.names("a column")
    if not names:
        cursor.at -= 1
        cursor.fail(expected="a column")
    return names


def engine_stream(given: dict[str, Any], places: dict[str, Position]) -> EngineStreamClause:
    """Return the words of a stream that were read, by themselves."""
    values = {word.lower(): given[word] for word in STREAM_WORDS if word in given}
    return EngineStreamClause(
        **values, places={word: place for word, place in places.items() if word in STREAM_WORDS}
    )


def at_as_of(cursor: Cursor) -> bool:
    """Return whether AS OF and a value come next; ``AS of`` without one is an alias."""
    after = cursor.tokens[cursor.at + 2 : cursor.at + 4]
    if not cursor.next_are("AS", "OF") or not after:
        return False
    if cursor.at and is_word(cursor.tokens[cursor.at - 1], *_SPARK_VERSIONS):
        return False
    typed = is_word(after[0], "DATE", "TIMESTAMP") and after[-1].token_type in _VALUES
    return after[0].token_type in _VALUES or typed


def read_as_of(cursor: Cursor, table: str) -> AsOf | None:
    """Read ``AS OF value`` after the name of a relation; None, with nothing read, if it is not."""
    if not at_as_of(cursor):
        return None
    place = cursor.place
    cursor.at += 2
    return AsOf(table, read_progress_value(cursor, _VALUE), place)


def read_progress_value(cursor: Cursor, what: str) -> ProgressValue:
    """Read a text or a number."""
    start = cursor.at
    value = read_constant(cursor, what)
    endless = isinstance(value, float) and not isfinite(value)  # such as 1e999
    if isinstance(value, bool) or not isinstance(value, str | int | float) or endless:
        cursor.at = start
        cursor.fail(expected=what)
    return value
