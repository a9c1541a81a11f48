"""Read summaries of streams, and what a query prefers [Promising tuples, Figures 3 and 6].

CREATE SUMMARY name ON stream(column) WITH GRANULARITY length AND COLLAPSE(rate, depth)
query WITH PREFERENCE [desc | asc | weighted] expression, ... [FADE FACTOR number] [WINDOW length]

An expression reads columns and ``SUMMARY.Estimate.Count(column)``: how often a value came.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from muntin.errors import ArgumentError
from muntin.parser.cursor import Cursor
from muntin.parser.engine_statements import CreateSummary
from muntin.parser.errors import SqlError, place_at
from muntin.parser.expressions import read_constant, read_length
from muntin.parser.lexer import is_word
from muntin.specs.preference import Preference, PreferredValue
from muntin.specs.summaries import StreamSummary

_ESTIMATE = ("SUMMARY", ".", "ESTIMATE", ".", "COUNT", "(")
_VALUE = "what is preferred, such as SUMMARY.Estimate.Count(item)"
#: The least and the greatest number of expressions.
_MOST_VALUES = 2


def read_create_summary(cursor: Cursor) -> CreateSummary:
    """Read what follows CREATE SUMMARY."""
    place = place_at(cursor.text, cursor.tokens[cursor.at - 1].start)
    name = cursor.name("a name")
    cursor.expect("ON")
    stream = cursor.name("a stream")
    inner = cursor.enclosed()
    attribute = inner.name("the column whose values are counted")
    inner.finish(")")
    cursor.expect("WITH", "GRANULARITY")
    granularity = read_length(cursor)
    cursor.expect("AND", "COLLAPSE")
    inner = cursor.enclosed()
    rate = read_constant(inner, "how many times longer each granularity is than the one before")
    inner.expect_type(TokenType.COMMA, ", and how many granularities there are")
    depth = read_constant(inner, "how many granularities there are")
    inner.finish(")")
    cursor.finish("the end of the statement")
    try:
        summary = StreamSummary(stream, attribute, granularity, rate, depth)
    except ArgumentError as error:
        raise SqlError(f"{error.argument.upper()}: {error.reason()}", cursor.text, place) from error
    return CreateSummary(name, summary, place)


def split_preference(
    tokens: Sequence[Token], text: str
) -> tuple[Sequence[Token], Preference | None, int]:
    """Return the tokens of a query without its preference, the preference, and where it begins."""
    depth = 0
    for at, token in enumerate(tokens[:-1]):
        depth += token.token_type is TokenType.L_PAREN
        depth -= token.token_type is TokenType.R_PAREN
        if not depth and is_word(token, "WITH") and is_word(tokens[at + 1], "PREFERENCE"):
            return tokens[:at], _preference(Cursor(text, tokens[at + 2 :])), tokens[at + 1].start
    return tokens, None, 0


def _preference(cursor: Cursor) -> Preference:
    start = cursor.offset
    order = "desc"
    if cursor.next_is("ASC", "DESC", "WEIGHTED"):
        order = cursor.take().text.lower()
    values = [_value(cursor)]
    while cursor.accept_type(TokenType.COMMA):
        values.append(_value(cursor))
    if len(values) > _MOST_VALUES:
        problem = f"there are {len(values)} expressions"
        raise SqlError(problem, cursor.text, start, expected="one for each of two streams")
    fade: object = 1
    if cursor.accept("FADE"):
        cursor.expect("FACTOR")
        fade = read_constant(cursor, "a number above 0, up to 1, such as 0.8")
    window = read_length(cursor) if cursor.accept("WINDOW") else None
    cursor.finish("FADE FACTOR, WINDOW, or the end of the query", ["FADE", "WINDOW"])
    try:
        return Preference(order, tuple(values), fade, window)
    except ArgumentError as error:
        raise SqlError(f"{error.argument.upper()}: {error.reason()}", cursor.text, start) from error


def _value(cursor: Cursor) -> PreferredValue:
    """Read an expression up to a comma, FADE or WINDOW."""
    inner = cursor.until(lambda c: c.next_is("FADE", "WINDOW"))
    if not inner.tokens:
        cursor.fail(expected=_VALUE)
    parts: list[str] = []
    counted: list[str] = []
    end = inner.tokens[0].start
    while not inner.done:
        token = inner.tokens[inner.at]
        parts.append(cursor.text[end : token.start])
        end = token.end + 1
        if not _begins_estimate(inner):
            parts.append(cursor.text[token.start : end])
            inner.at += 1
            continue
        inner.at += len(_ESTIMATE) - 1
        column = inner.enclosed()
        if not column.tokens:
            column.fail(expected="a column, such as item or s1.item")
        name = cursor.text[column.tokens[0].start : column.tokens[-1].end + 1]
        parts.append(f"estimate_{len(counted)}")
        counted.append(name)
        end = inner.tokens[inner.at - 1].end + 1
    # The paper prints a cross, which is a letter to other texts of SQL.
    return PreferredValue("".join(parts).replace("\N{MULTIPLICATION SIGN}", "*"), tuple(counted))


def _begins_estimate(cursor: Cursor) -> bool:
    coming = cursor.tokens[cursor.at : cursor.at + len(_ESTIMATE)]
    return [token.text.upper() for token in coming] == [*_ESTIMATE]
