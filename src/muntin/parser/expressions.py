"""Values inside a clause: constants, lengths, and expressions of Spark's SQL.

Constants and lengths are ``300 SECONDS``, ``INTERVAL '5' MINUTES``, ``10 ROWS`` or ``'a text'``.
Expressions are read by sqlglot and written out again from its tree, never pasted.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from muntin.errors import ArgumentError
from muntin.parser.cursor import Cursor
from muntin.parser.dialect import parse_tree
from muntin.parser.errors import SqlError, argument_refused, closest, place_at
from muntin.parser.lexer import AFTER_RELATION, is_word
from muntin.parser.statements import Constant, Expression
from muntin.specs.lengths import parse_length

_ROWS = ("ROW", "ROWS", "TUPLE", "TUPLES")
UNITS = tuple(
    f"{unit}{plural}"
    for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
    for plural in ("", "S")
)
#: Units without a fixed length; `parse_length` refuses them with a reason.
_CALENDAR = ("MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS")
_LENGTH = "a length such as 5 MINUTES, '5 minutes' or 10"


@dataclass(frozen=True)
class LengthLiteral:
    """A length along a column as users write it, or a number of rows."""

    length: str | None
    rows: int | None = None

    @property
    def number(self) -> int | None:
        """The plain whole number, which counts rows if the window does."""
        plain = self.length is not None and self.length.isdigit()
        return int(str(self.length)) if plain else self.rows


def read_expression(cursor: Cursor, what: str) -> Expression:
    """Read all remaining tokens as one expression."""
    start = cursor.offset
    if cursor.done:
        cursor.fail(expected=what)
    first = cursor.tokens[cursor.at]
    # As the second item of a select list: only an expression is allowed there.
    before = [
        _token(TokenType.SELECT, "SELECT"),
        _token(TokenType.NUMBER, "1"),
        _token(TokenType.COMMA, ","),
    ]
    tree = parse_tree(cursor.text, [*before, *cursor.tokens[cursor.at :]])
    cursor.at = len(cursor.tokens)
    parts = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Select) or parts != {"expressions"} or len(tree.expressions) != 2:
        problem = f"{first.text} does not begin an expression"
        raise SqlError(problem, cursor.text, start, expected=what)
    expression: exp.Expr = tree.expressions[1]
    if isinstance(expression, exp.Alias):
        raise SqlError("this is not one expression", cursor.text, start, expected=what)
    if expression.find(exp.Query) is not None:
        raise SqlError("a subquery is not allowed here", cursor.text, start, expected=what)
    return Expression(expression, place_at(cursor.text, start))


def _token(type_: TokenType, text: str) -> Token:
    """Return a token that is not in the user's text."""
    return Token(type_, text, line=0, col=0, start=0, end=0)


def read_measure(cursor: Cursor) -> LengthLiteral:
    """Read a length or a number of rows."""
    token = cursor.peek
    number = token is not None and token.token_type is TokenType.NUMBER and token.text.isdigit()
    if token is not None and number and cursor.second and is_word(cursor.second, *_ROWS):
        cursor.at += 2
        return LengthLiteral(None, int(token.text))
    return LengthLiteral(read_length(cursor))


def read_length(cursor: Cursor) -> str:
    """Read a length along ``on``, and return it as text that :func:`parse_length` accepts."""
    start = cursor.offset
    cursor.accept("INTERVAL")
    text = _length_text(cursor)
    check_length(text, cursor.text, start)
    return text


def check_length(length: str, text: str, at: int) -> None:
    """Raise, at its place in the text, if a length cannot be used."""
    try:
        parse_length("length", length)
    except ArgumentError as error:
        raise argument_refused(error, text, at, _LENGTH) from None


def _length_text(cursor: Cursor) -> str:
    token = cursor.peek
    if token is not None and token.token_type is TokenType.STRING:
        text = cursor.take().text
        has_unit = cursor.next_is(*UNITS, *_CALENDAR)
        return f"{text} {cursor.take().text.lower()}" if has_unit else text
    parts = [_signed_number(cursor)]
    unit = cursor.peek
    # Words that may follow a length: WHERE is nearly WEEK, BOUNDS nearly SECONDS, AS nearly DAYS.
    known = (*UNITS, *_CALENDAR, *AFTER_RELATION, "BOUNDS", "SESSION", "AS")
    if unit is not None and is_word(unit) and not cursor.next_is(*known):
        suggestion = closest(unit.text, UNITS)
        if suggestion is not None:
            problem = f"{unit.text} is not a unit"
            raise SqlError(problem, cursor.text, unit.start, suggestion=suggestion)
    while cursor.next_is(*UNITS, *_CALENDAR):
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
    """Read a whole number."""
    token = cursor.peek
    if token is None or token.token_type is not TokenType.NUMBER or not token.text.isdecimal():
        cursor.fail(expected=what)
    return int(cursor.take().text)


def read_number(cursor: Cursor, what: str) -> int | float:
    """Read a number."""
    value = read_constant(cursor, what)
    if isinstance(value, bool) or not isinstance(value, int | float):
        cursor.at -= 1
        cursor.fail(expected=what)
    return value


def read_size(cursor: Cursor) -> int | float | str:
    """Read how far a value moves: a number, or of a timestamp or date a length with its unit."""
    sign = cursor.peek is not None and cursor.peek.token_type is TokenType.DASH
    digits = cursor.tokens[cursor.at + sign : cursor.at + sign + 1]
    if digits and digits[0].token_type is TokenType.NUMBER:
        unit = cursor.tokens[cursor.at + sign + 1 : cursor.at + sign + 2]
        if not unit or not is_word(unit[0], *UNITS, *_CALENDAR):
            return read_number(cursor, "a number")
    return read_length(cursor)


def read_constant(cursor: Cursor, what: str) -> Constant:
    """Read a text, a number, TRUE, FALSE, NULL or an array; dates and timestamps are texts."""
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
        return read_text(cursor, what)
    if cursor.next_is("TRUE", "FALSE", "NULL"):
        return {"TRUE": True, "FALSE": False, "NULL": None}[cursor.take().text.upper()]
    if token.token_type not in (TokenType.DASH, TokenType.NUMBER):
        cursor.fail(expected=what)
    return _number(cursor, what)


def read_constants(cursor: Cursor, what: str) -> tuple[Constant, ...]:
    """Read constants with commas between them, up to the end."""
    constants: list[Constant] = []
    while not cursor.done:
        constants.append(read_constant(cursor, what))
        if not cursor.done:
            cursor.expect_type(TokenType.COMMA, ",")
    return tuple(constants)


def read_text(cursor: Cursor, what: str) -> str:
    """Read a text; as in Spark, texts that follow each other directly are one text."""
    if not cursor.next_is_text():
        cursor.fail(expected=what)
    text = ""
    while cursor.next_is_text():
        text += cursor.take().text
    return text


def _number(cursor: Cursor, what: str) -> int | float:
    start = cursor.at
    text = _signed_number(cursor)
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:  # such as superscripts, which sqlglot takes for digits
        cursor.at = start
        cursor.fail(expected=what)
