"""Constants and lengths: ``300 SECONDS``, ``INTERVAL '5' MINUTES``, ``10 ROWS``, ``'a text'``."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from muntin.errors import ArgumentError
from muntin.parser.cursor import Cursor
from muntin.parser.errors import SqlError, closest
from muntin.parser.lexer import is_word
from muntin.parser.statements import Constant
from muntin.specs.lengths import parse_length

_ROWS = ("ROW", "ROWS", "TUPLE", "TUPLES")
_UNITS = tuple(
    f"{unit}{plural}"
    for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
    for plural in ("", "S")
)
#: Without a fixed length; whoever reads the length says so.
_CALENDAR = ("MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS")
_LENGTH = "a length such as 5 MINUTES, '5 minutes' or 10"


@dataclass(frozen=True)
class LengthLiteral:
    """A length along a column, as people write it, or a number of rows."""

    length: str | None
    rows: int | None = None

    @property
    def number(self) -> int | None:
        """A plain whole number, which may yet turn out to count rows."""
        plain = self.length is not None and self.length.isdigit()
        return int(str(self.length)) if plain else self.rows


def read_measure(cursor: Cursor, argument: str) -> LengthLiteral:
    """A length, or a number of rows."""
    token = cursor.peek
    number = token is not None and token.token_type is TokenType.NUMBER and token.text.isdigit()
    if token is not None and number and cursor.behind and is_word(cursor.behind, *_ROWS):
        cursor.at += 2
        return LengthLiteral(None, int(token.text))
    return LengthLiteral(read_length(cursor, argument))


def read_length(cursor: Cursor, argument: str) -> str:
    """A length along ``on`` as text that :func:`parse_length` reads; checked here."""
    start = cursor.offset
    cursor.accept("INTERVAL")
    text = _length_text(cursor)
    try:
        parse_length(argument, text)
    except ArgumentError as error:
        problem = str(error).split(" cannot be used: ", 1)[-1]
        raise SqlError(problem, cursor.text, start, expected=_LENGTH) from None
    return text


def _length_text(cursor: Cursor) -> str:
    token = cursor.peek
    if token is not None and token.token_type is TokenType.STRING:
        text = cursor.take().text
        has_unit = cursor.next_is(*_UNITS, *_CALENDAR)
        return f"{text} {cursor.take().text.lower()}" if has_unit else text
    parts = [_signed_number(cursor)]
    unit = cursor.peek
    if unit is not None and is_word(unit) and not cursor.next_is(*_UNITS, *_CALENDAR):
        meant = closest(unit.text, _UNITS)
        if meant is not None:
            raise SqlError(f"{unit.text} is no unit", cursor.text, unit.start, suggestion=meant)
    while cursor.next_is(*_UNITS, *_CALENDAR):
        parts.append(cursor.take().text.lower())
        following = cursor.peek
        if following is None or following.token_type is not TokenType.NUMBER:
            break
        parts.append(cursor.take().text)
    return " ".join(parts)


def _signed_number(cursor: Cursor) -> str:
    sign = "-" if cursor.accept_type(TokenType.DASH) else ""
    token = cursor.peek
    if token is None or token.token_type is not TokenType.NUMBER:
        cursor.fail(expected=_LENGTH)
    return sign + cursor.take().text


def read_count(cursor: Cursor, what: str) -> int:
    """A whole number."""
    token = cursor.peek
    if token is None or token.token_type is not TokenType.NUMBER or not token.text.isdecimal():
        cursor.fail(expected=what)
    return int(cursor.take().text)


def read_number(cursor: Cursor, what: str) -> int | float:
    """A number."""
    value = read_constant(cursor, what)
    if isinstance(value, bool) or not isinstance(value, int | float):
        cursor.at -= 1
        cursor.fail(expected=what)
    return value


def read_constant(cursor: Cursor, what: str) -> Constant:
    """A text, a number, TRUE, FALSE, NULL, or an array of such; dates and timestamps are texts."""
    if cursor.next_is("DATE", "TIMESTAMP"):
        cursor.take()
    if cursor.next_is("ARRAY"):
        cursor.take()
    token = cursor.peek
    if token is None:
        cursor.fail(expected=what)
    if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
        return read_constants(cursor.enclosed(), what)
    if token.token_type is TokenType.STRING:
        return _text(cursor)
    if cursor.next_is("TRUE", "FALSE", "NULL"):
        return {"TRUE": True, "FALSE": False, "NULL": None}[cursor.take().text.upper()]
    if token.token_type not in (TokenType.DASH, TokenType.NUMBER):
        cursor.fail(expected=what)
    return _number(cursor, what)


def read_constants(cursor: Cursor, what: str) -> tuple[Constant, ...]:
    """Constants with commas between them, to the end."""
    found: list[Constant] = []
    while not cursor.done:
        found.append(read_constant(cursor, what))
        if not cursor.done:
            cursor.expect_type(TokenType.COMMA, ",")
    return tuple(found)


def read_text(cursor: Cursor, what: str) -> str:
    """A text."""
    token = cursor.peek
    if token is None or token.token_type is not TokenType.STRING:
        cursor.fail(expected=what)
    return _text(cursor)


def _text(cursor: Cursor) -> str:
    """A text; as in Spark, one that follows another directly goes on with it."""
    text = cursor.take().text
    while (token := cursor.peek) is not None and token.token_type is TokenType.STRING:
        text += cursor.take().text
    return text


def _number(cursor: Cursor, what: str) -> int | float:
    start = cursor.at
    text = _signed_number(cursor)
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:  # digits that are none, such as superscripts
        cursor.at = start
        cursor.fail(expected=what)
