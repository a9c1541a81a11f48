"""Read a text as statements: the entry of the language."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.create import read_create
from muntin.parser.cursor import Cursor
from muntin.parser.engine_statements import Command, QueryCommand
from muntin.parser.errors import Position, SqlError
from muntin.parser.lexer import is_word, lex
from muntin.parser.query import BEGINNINGS, check_continuous, read_query
from muntin.parser.session_words import read_describe, read_functions, read_set
from muntin.parser.statements import (
    AlterQuery,
    CreateQuery,
    Drop,
    Explain,
    Format,
    Kept,
    Query,
    Select,
    Show,
    Statement,
)

_COMMANDS: dict[str, Command] = {command: command for command in get_args(Command)}
_OF_SESSION = ("DESCRIBE", "DESC", "SET")
_BEGINNINGS = (*BEGINNINGS, "CREATE", "ALTER", *_COMMANDS, "EXPLAIN", "SHOW", "DROP", *_OF_SESSION)
_PLURALS: dict[str, Kept] = {
    "STREAMS": "STREAM",
    "TABLES": "TABLE",
    "QUERIES": "QUERY",
    "TRIGGERS": "TRIGGER",
}


def parse(text: str, columns: Collection[str] = ()) -> tuple[Statement, ...]:
    """Read a text; every mistake in it raises a :class:`muntin.SqlError`.

    Args:
        text: Statements with semicolons between them.
        columns: Names with hyphens that are known to be columns, such as ``seg-id``.

    >>> (statement,) = parse("SELECT max(speed) FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE]")
    >>> print(statement)
    SELECT max(speed) FROM `w0` AS `traffic`
    w0 = stream(traffic).window(range='5 minutes', slide='1 minute')
    """
    lexed = lex(text, columns)
    pieces = _statements(lexed.tokens, len(text))
    return tuple(_statement(Cursor(text, *piece), lexed.hyphenated) for piece in pieces)


def statement_texts(text: str) -> tuple[str, ...]:
    r"""Return the text of each statement, in the order of :func:`parse`, without semicolons.

    >>> statement_texts("SHOW STREAMS; -- and\n PAUSE QUERY slow;")
    ('SHOW STREAMS', 'PAUSE QUERY slow')
    """
    pieces = _statements(lex(text).tokens, len(text))
    return tuple(text[tokens[0].start : tokens[-1].end + 1] for tokens, _ in pieces)


def parse_query(text: str, columns: Collection[str] = ()) -> Query:
    """Read a text that is one query and nothing else."""
    lexed = lex(text, columns)
    return read_query(Cursor(text, lexed.tokens), lexed.hyphenated)


def _statements(tokens: Sequence[Token], end: int) -> Iterator[tuple[Sequence[Token], int]]:
    """Return the tokens of each statement, and the offset after it."""
    first = 0
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON:
            if place > first:
                yield tokens[first:place], token.start
            first = place + 1
    if first < len(tokens):
        yield tokens[first:], end


def _statement(cursor: Cursor, hyphenated: frozenset[str]) -> Statement:
    place = cursor.place
    token = cursor.tokens[0]
    if cursor.accept("CREATE"):
        return read_create(cursor, hyphenated)
    if cursor.accept("EXPLAIN"):
        return _explain(cursor, hyphenated)
    if cursor.accept("DESCRIBE") or cursor.accept("DESC"):
        return read_describe(cursor, hyphenated)
    if cursor.accept("SET"):
        return read_set(cursor)
    if cursor.accept("SHOW"):
        if cursor.accept("FUNCTIONS"):
            return read_functions(cursor, place)
        kind = _PLURALS[cursor.choice(*_PLURALS, "FUNCTIONS")]
        cursor.finish("the end of the statement")
        return Show(kind, place)
    if cursor.accept("DROP"):
        return _drop(cursor)
    if cursor.accept("ALTER"):
        return _alter(cursor, hyphenated, place)
    if cursor.next_is(*_COMMANDS):
        return _command(cursor)
    if token.token_type is not TokenType.L_PAREN and not is_word(token, *_BEGINNINGS):
        cursor.fail(
            f"{token.text} does not begin a statement",
            expected="SELECT, WITH, CREATE, ALTER, PAUSE, RESUME, INVOKE, EXPLAIN, DESCRIBE, SHOW, "
            "SET or DROP",
            known=[word for word in _BEGINNINGS if word not in ("SET", "DESC")],
        )
    return Select(read_query(cursor, hyphenated), place)


def _explain(cursor: Cursor, hyphenated: frozenset[str]) -> Explain:
    place = cursor.place
    format_: Format = "text"
    second = cursor.second
    if cursor.opens() and second is not None and is_word(second, "FORMAT"):
        inner = cursor.enclosed()
        inner.expect("FORMAT")
        format_ = "svg" if inner.choice("TEXT", "SVG") == "SVG" else "text"
        inner.finish(")")
    if cursor.accept("QUERY"):
        name = cursor.name("the name of a query")
        cursor.finish("the end of the statement")
        return Explain(name, format_, place)
    if cursor.accept("CREATE"):
        created = read_create(cursor, hyphenated)
        if not isinstance(created, CreateQuery):
            problem = "EXPLAIN shows how a query runs"
            expected = "a SELECT, QUERY name, or CREATE QUERY"
            raise SqlError(problem, cursor.text, place, expected=expected)
        return Explain(created, format_, place)
    return Explain(read_query(cursor, hyphenated), format_, place)


def _alter(cursor: Cursor, hyphenated: frozenset[str], place: Position) -> AlterQuery:
    cursor.expect("QUERY")
    name = cursor.name("the name of a query")
    cursor.expect("AS")
    into = next((token for token in cursor.tokens if is_word(token, "INTO")), None)
    if into is not None:
        expected = "DROP QUERY and CREATE QUERY ... INTO, for another sink"
        problem = "a query keeps its sinks when its text is changed"
        raise SqlError(problem, cursor.text, into.start, expected=expected)
    query = read_query(cursor, hyphenated)
    check_continuous(query)
    return AlterQuery(name, query, place)


def _command(cursor: Cursor) -> QueryCommand:
    place = cursor.place
    command = _COMMANDS[cursor.choice(*_COMMANDS)]
    cursor.expect("QUERY")
    name = cursor.name("the name of a query")
    cursor.finish("the end of the statement")
    return QueryCommand(command, name, place)


def _drop(cursor: Cursor) -> Drop:
    place = cursor.place
    word = cursor.choice(*get_args(Kept))
    kept = next(kept for kept in _PLURALS.values() if kept == word)
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name("a name")
    cursor.finish("the end of the statement")
    return Drop(kept, name, if_exists, place)
