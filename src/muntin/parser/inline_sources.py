"""Sources as they are called, and in a query: ``FROM 'f.csv'``, ``FROM csv('f.csv', sep => ';')``.

A source stands where a relation does: after FROM, JOIN, FILL and the commas between relations, and
as an argument of ``sliding(...)``, ``join(...)`` and their siblings. A fresh name takes its place.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from sqlglot.tokenizer_core import Token, TokenType

from muntin.errors import ArgumentError
from muntin.parser.cursor import Cursor
from muntin.parser.errors import SqlError, argument_refused
from muntin.parser.expressions import read_constant, read_text
from muntin.parser.lexer import AFTER_RELATION, ENDS_FROM, is_name, is_word, name_token
from muntin.parser.statements import ConnectorCall, Constant
from muntin.parser.table_functions import JOIN_FUNCTIONS, WINDOW_FUNCTIONS
from muntin.specs.secrets import SecretReference

_VALUE = "a constant: a text, a number, TRUE, FALSE, NULL or ARRAY(...)"

#: What can be called in FROM, as the connectors name it.
SOURCE_NAMES = (
    *("csv", "json", "parquet", "file", "stdin", "socket", "kafka", "postgres", "delta"),
    "simulate",
)
#: Words after FILL and its table.
_AFTER_FILL = (
    *("ON", "ALONG", "MATCHING", "BEFORE", "AFTER", "SHRINK", "SHIFT", "WHERE", "EMPTY"),
    *("AS", "TABLESAMPLE"),
)
_TAKES = (*WINDOW_FUNCTIONS, *JOIN_FUNCTIONS, "stream")
_ENDS = (TokenType.COMMA, TokenType.R_PAREN, TokenType.SEMICOLON, TokenType.L_BRACKET)


@dataclass
class _Parentheses:
    """What is inside of parentheses: a query, or the arguments of a function over relations."""

    is_query: bool = False
    in_from: bool = False
    takes: bool = False
    takes_first: bool = False
    filling: bool = False


@dataclass
class InlineSources:
    """The tokens of a query without sources, and the sources by the names in their place."""

    tokens: list[Token] = field(default_factory=list)
    sources: dict[str, ConnectorCall] = field(default_factory=dict)


def take_sources(text: str, tokens: Sequence[Token]) -> InlineSources:
    """Return the tokens of a query with names in the place of sources."""
    found, cursor = InlineSources(), Cursor(text, tokens)
    levels = [_Parentheses()]
    fresh = _fresh_names(text)
    while not cursor.done:
        if _is_relation(cursor, levels[-1]) and _is_source(cursor):
            _put(found, cursor, next(fresh))
            continue
        token = cursor.take()
        found.tokens.append(token)
        _follow(token, found.tokens, levels)
    return found


def _fresh_names(text: str) -> Iterator[str]:
    words = text.casefold()
    return (name for name in (f"source_{n}" for n in itertools.count(1)) if name not in words)


def _follow(token: Token, before: Sequence[Token], levels: list[_Parentheses]) -> None:
    """Follow parentheses, and where the relations of a query begin and end."""
    if token.token_type is TokenType.L_BRACKET:
        levels.append(_Parentheses())
    elif token.token_type is TokenType.L_PAREN:
        called = before[-2] if len(before) > 1 else None
        name = called.text.lower() if called is not None and is_name(called) else ""
        # The first argument of fill(...) is another function.
        levels.append(
            _Parentheses(takes=name in _TAKES, takes_first=name in _TAKES and name != "fill")
        )
    elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET) and len(levels) > 1:
        levels.pop()
    elif token.token_type is TokenType.FARROW:
        levels[-1].takes = False
    elif is_word(token, "SELECT", "WITH", "VALUES"):
        levels[-1].is_query = True
    elif is_word(token, "FROM") and _begins(levels[-1], before):
        levels[-1].in_from = levels[-1].is_query = True
    elif is_word(token, *ENDS_FROM):
        levels[-1].in_from = levels[-1].filling = False
    elif is_word(token, "FILL", "JOIN"):
        # FILL b SHIFT -7 DAYS, '-14 days': these commas are between lengths.
        levels[-1].filling = is_word(token, "FILL")


def _begins(level: _Parentheses, before: Sequence[Token]) -> bool:
    """Return whether this FROM is that of a query, not of a function or a comparison."""
    first = len(before) == 1 or before[-2].token_type is TokenType.L_PAREN
    return (level.is_query or first) and not _compares(before[:-1])


def _compares(before: Sequence[Token]) -> bool:
    """Return whether the next FROM belongs to ``a IS DISTINCT FROM b``."""
    return len(before) > 1 and is_word(before[-1], "DISTINCT") and is_word(before[-2], "IS", "NOT")


def _is_relation(cursor: Cursor, level: _Parentheses) -> bool:
    """Return whether a relation stands here."""
    if not cursor.at:
        return False
    before = cursor.tokens[cursor.at - 1]
    if is_word(before, "FROM", "JOIN"):
        return level.in_from and not _compares(cursor.tokens[: cursor.at - 1])
    if is_word(before, "FILL"):
        return True
    if before.token_type is TokenType.COMMA:
        return (level.in_from and not level.filling) or level.takes
    return before.token_type is TokenType.L_PAREN and level.takes_first


def _is_source(cursor: Cursor) -> bool:
    token = cursor.peek
    if token is None:
        return False
    if token.token_type is TokenType.STRING:
        return True
    return is_word(token) and token.text.lower() in SOURCE_NAMES and cursor.calls()


def _put(found: InlineSources, cursor: Cursor, name: str) -> None:
    """Read a source and put a name in its place, with an alias if it has none of its own."""
    token, filling = cursor.tokens[cursor.at], is_word(cursor.tokens[cursor.at - 1], "FILL")
    call = read_call(cursor, "a source such as csv('traffic.csv')", files=True)
    found.sources[name] = call
    found.tokens.append(name_token(name, token))
    following = _AFTER_FILL if filling else AFTER_RELATION
    if not _is_aliased(cursor, following):
        as_ = Token(TokenType.ALIAS, "AS", token.line, token.col, token.start, token.end)
        found.tokens += [as_, name_token(alias_of(call), token)]


def _is_aliased(cursor: Cursor, following: Sequence[str]) -> bool:
    if cursor.done or cursor.tokens[cursor.at].token_type in _ENDS:
        return False
    if cursor.next_is("AS"):
        return not cursor.next_are("AS", "OF")
    return is_name(cursor.tokens[cursor.at]) and not cursor.next_is(*following, *AFTER_RELATION)


def alias_of(call: ConnectorCall) -> str:
    """Return the name of a source in a query: that of its file, else that of the source.

    >>> from muntin.parser.errors import place_at
    >>> alias_of(ConnectorCall("file", ("data/readings.csv.gz",), {}, place_at("", 0)))
    'readings'
    """
    first = call.arguments[0] if call.arguments else None
    stem = PurePath(first).name.partition(".")[0] if isinstance(first, str) else ""
    plain = re.fullmatch(r"[^\W\d][\w-]*", stem)
    return stem if plain else call.name


def read_call(cursor: Cursor, what: str, *, files: bool = False) -> ConnectorCall:
    """Read a source, a sink or an action: ``csv('path', header => true)``; names come last.

    With ``files`` a text alone is a file: ``'f.csv'`` means ``file('f.csv')``.
    """
    place = cursor.place
    if files and cursor.next_is_text():
        return ConnectorCall("file", (cursor.take().text,), {}, place)
    name = cursor.name(what)
    if not cursor.opens():
        cursor.fail(expected=f"( and the arguments of {name}")
    inner = cursor.enclosed()
    arguments: list[Constant] = []
    options: dict[str, Constant] = {}
    while not inner.done:
        option = _option(inner)
        if option is not None:
            if option in options:
                raise SqlError(f"{option} is given twice", cursor.text, inner.offset)
            options[option] = _value(inner)
        elif options:
            inner.fail(expected="name => value, as before")
        else:
            arguments.append(_value(inner))
        if not inner.done:
            inner.expect_type(TokenType.COMMA, ", or )")
    return ConnectorCall(name.lower(), tuple(arguments), options, place)


def _value(cursor: Cursor) -> Constant:
    """Read a constant, or ``secret('name')``, a value that is somewhere else."""
    if not (cursor.next_is("SECRET") and cursor.calls()):
        return read_constant(cursor, _VALUE)
    place = cursor.offset
    cursor.take()
    inner = cursor.enclosed()
    name = read_text(inner, "the name of a secret in quotes, as in secret('pg_password')")
    inner.finish(")")
    try:
        return SecretReference(name)
    except ArgumentError as error:
        raise argument_refused(error, cursor.text, place) from None


def _option(cursor: Cursor) -> str | None:
    """Read ``name =>``; return the name, or None if the argument has none."""
    if cursor.second is None or cursor.second.token_type is not TokenType.FARROW:
        return None
    name = cursor.name("the name of an option")
    cursor.take()
    return name
