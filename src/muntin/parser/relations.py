"""Find the stream clauses among the tokens of a query, and put plain names in their place.

What is left is Spark's SQL. A clause follows its relation in FROM. The panes paper also writes it
after GROUP BY, and PSoup's window follows the query: these belong to the first relation of FROM.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.arguments import Clause, Subquery, read_alias, read_table
from muntin.parser.bracket import OPENING, read_bracket
from muntin.parser.cursor import Cursor
from muntin.parser.engine_clause import at_as_of, read_as_of
from muntin.parser.engine_statements import AsOf
from muntin.parser.errors import SqlError, closest
from muntin.parser.fill_clause import read_fill
from muntin.parser.lexer import AFTER_RELATION, ENDS_FROM, closing, is_name, is_word, name_token
from muntin.parser.psoup import read_interval
from muntin.parser.statements import Alignment, FillClause, Windowing
from muntin.parser.table_functions import (
    JOIN_FUNCTIONS,
    WINDOW_FUNCTIONS,
    is_join_function,
    is_window_function,
    read_join_function,
    read_window_function,
)


@dataclass
class _Level:
    """A query while it is read: whether FROM is open, and the tokens of its first relation."""

    in_from: bool = False
    first: tuple[int, int] | None = None
    table: str = ""
    alias: str = ""


@dataclass
class StreamClauses:
    """Tokens of Spark's SQL, and the clauses that names in it replace."""

    text: str
    subquery: Subquery
    tokens: list[Token] = field(default_factory=list)
    windowings: dict[str, Windowing] = field(default_factory=dict)
    alignments: dict[str, Alignment] = field(default_factory=dict)
    as_of: list[AsOf] = field(default_factory=list)

    def fresh_name(self) -> str:
        """Return a name that is not in the text and replaces no other clause."""
        words = self.text.casefold()
        taken = {*self.windowings, *self.alignments}
        names = (f"w{n}" for n in itertools.count())
        return next(name for name in names if name not in words and name not in taken)

    def put(self, clause: Windowing | Alignment, token: Token) -> list[Token]:
        """Keep a clause, and return the tokens that replace it: a fresh name under its alias."""
        name = name_token(self.fresh_name(), token)
        if isinstance(clause, Alignment):
            self.alignments[name.text] = clause
        else:
            self.windowings[name.text] = clause
        as_ = Token(TokenType.ALIAS, "AS", token.line, token.col, token.start, token.end)
        return [name, as_, name_token(clause.alias, token)]


def find_relations(text: str, tokens: Sequence[Token], subquery: Subquery) -> StreamClauses:
    """Replace every relation that has a stream clause."""
    clauses = StreamClauses(text, subquery)
    cursor = Cursor(text, tokens)
    levels = [_Level()]
    while not cursor.done:
        level, token = levels[-1], cursor.tokens[cursor.at]
        if token.token_type is TokenType.L_BRACKET and _late_bracket(cursor):
            _attach(clauses, level, token, read_bracket(cursor.enclosed()))
        elif is_word(token, "BEGIN") and level.first is not None:
            _attach(clauses, level, token, read_interval(cursor))
        elif _opens_relation(token, level) and not _compares(clauses.tokens):
            clauses.tokens.append(cursor.take())
            level.in_from = True
            _relation(cursor, clauses, level)
        else:
            _step(cursor, clauses, levels)
    return clauses


def _step(cursor: Cursor, clauses: StreamClauses, levels: list[_Level]) -> None:
    """Copy a token; follow parentheses and the end of FROM."""
    token = cursor.take()
    clauses.tokens.append(token)
    if token.token_type is TokenType.L_PAREN:
        levels.append(_Level())
    elif token.token_type is TokenType.R_PAREN and len(levels) > 1:
        levels.pop()
    elif is_word(token, *ENDS_FROM):
        levels[-1].in_from = False
        if is_word(token, "UNION", "INTERSECT", "EXCEPT"):
            levels[-1] = _Level()


def _opens_relation(token: Token, level: _Level) -> bool:
    listed = token.token_type is TokenType.COMMA and level.in_from
    return listed or is_word(token, "FROM", "JOIN")


def _compares(before: Sequence[Token]) -> bool:
    """Return whether FROM belongs to ``a IS DISTINCT FROM b``, which names no relation."""
    return len(before) > 1 and is_word(before[-1], "DISTINCT") and is_word(before[-2], "IS", "NOT")


def _relation(cursor: Cursor, clauses: StreamClauses, level: _Level) -> None:
    """Read a relation and its clause, if it has one."""
    if cursor.done:
        return
    token, start = cursor.tokens[cursor.at], len(clauses.tokens)
    if _called(cursor) and is_join_function(token.text):
        clauses.tokens += clauses.put(_joined(cursor, clauses), token)
        return
    windowing = _windowed(cursor, clauses)
    if windowing is None:
        _check_windows_are_meant(cursor)
    if windowing is not None:
        windowing = replace(windowing, fills=(*windowing.fills, *_fills(cursor)))
        _check_no_as_of(cursor)
        alias = read_alias(cursor, AFTER_RELATION)
        if alias is not None:
            windowing = replace(windowing, alias=alias)
        windowing = replace(windowing, fills=(*windowing.fills, *_fills(cursor)))
        _check_no_as_of(cursor)
        clauses.tokens += clauses.put(windowing, token)
    elif is_name(token) and not is_word(token, "LATERAL", "VALUES", "SELECT"):
        _plain(cursor, clauses, level, start)


def _check_windows_are_meant(cursor: Cursor) -> None:
    """Raise if windows lack their word, as in ``t [5 MINUTES]``, or their bracket."""
    after = cursor.tokens[cursor.at + 1 : cursor.at + 3]
    if len(after) < 2 or not is_name(cursor.tokens[cursor.at]):
        return
    first, second = after[0], after[1]
    length = (TokenType.NUMBER, TokenType.STRING, TokenType.INTERVAL)
    if first.token_type is TokenType.L_BRACKET and second.token_type in length:
        problem = "a bracket begins with what kind of windows it makes"
        expected = "[TUMBLING 5 MINUTES], or [RANGE 5 MINUTES SLIDE 1 MINUTE]"
        raise SqlError(problem, cursor.text, second.start, expected=expected)
    begins = second.token_type in length or (
        is_word(first, "FRAME", "SESSION", "STORED", "LANDMARK") and is_word(second)
    )
    if is_word(first, *OPENING) and begins and not is_word(second, *AFTER_RELATION):
        problem = (
            f"windows are in brackets: {first.text} ... after a relation is [{first.text} ...]"
        )
        expected = "FROM t [TUMBLING 5 MINUTES]"
        raise SqlError(problem, cursor.text, first.start, expected=expected)


def _joined(cursor: Cursor, clauses: StreamClauses) -> Alignment:
    alignment = read_join_function(cursor, clauses.subquery)
    alias = read_alias(cursor, AFTER_RELATION)
    return alignment if alias is None else replace(alignment, alias=alias)


def _called(cursor: Cursor) -> bool:
    """Return whether a call of a function begins here."""
    return cursor.calls() and is_name(cursor.tokens[cursor.at])


def _plain(cursor: Cursor, clauses: StreamClauses, level: _Level, start: int) -> None:
    """Read a relation without a clause; a later clause may belong to it."""
    probe = Cursor(cursor.text, cursor.tokens, cursor.end)
    probe.at = cursor.at
    table = read_table(probe, "a table")
    called = not probe.done and probe.tokens[probe.at].token_type is TokenType.L_PAREN
    if called:
        _check_function(cursor, probe)
        return
    clauses.tokens += cursor.tokens[cursor.at : probe.at]
    _put_as_of(probe, clauses, table)
    after_name = probe.at
    alias = read_alias(probe, AFTER_RELATION) or table.split(".")[-1]
    clauses.tokens += cursor.tokens[after_name : probe.at]
    cursor.at = probe.at
    _check_no_as_of(cursor)
    if level.first is None:
        level.first, level.table, level.alias = (start, len(clauses.tokens)), table, alias


def _put_as_of(cursor: Cursor, clauses: StreamClauses, table: str) -> None:
    """Read AS OF after the name of a relation, if it is there; Spark's SQL does not get it."""
    as_of = read_as_of(cursor, table)
    clauses.as_of += [] if as_of is None else [as_of]


def _check_no_as_of(cursor: Cursor) -> None:
    """Raise if AS OF comes after an alias or a clause of the relation."""
    if at_as_of(cursor):
        expected = "FROM traffic AS OF value, then the alias and the windows"
        cursor.fail("AS OF follows the name of its relation", expected=expected)


def _windowed(cursor: Cursor, clauses: StreamClauses) -> Windowing | None:
    """Read a relation with its clause; return None, with nothing read, if it has none."""
    start, token = cursor.at, cursor.tokens[cursor.at]
    place = cursor.place
    if _called(cursor):
        if is_window_function(token.text):
            return read_window_function(cursor, clauses.subquery)
        return None
    if token.token_type is TokenType.L_PAREN:
        return _windowed_query(cursor, clauses)
    if not is_name(token):
        return None
    table = read_table(cursor, "a table")
    as_of = read_as_of(cursor, table)
    alias = None if _at_bracket(cursor) else read_alias(cursor, AFTER_RELATION)
    if not _at_bracket(cursor):
        cursor.at = start
        return None
    clauses.as_of += [] if as_of is None else [as_of]
    clause = read_bracket(cursor.enclosed())
    return clause.of(table, alias or table.split(".")[-1], (), place)


def _windowed_query(cursor: Cursor, clauses: StreamClauses) -> Windowing | None:
    """Read windows over a query: ``(SELECT ...) [RANGE ...]``."""
    start, place = cursor.at, cursor.place
    inner = cursor.enclosed()
    alias = None if _at_bracket(cursor) else read_alias(cursor, AFTER_RELATION)
    if not _at_bracket(cursor):
        cursor.at = start
        return None
    clause = read_bracket(cursor.enclosed())
    return clause.of(clauses.subquery(inner), alias or "subquery", (), place)


def _at_bracket(cursor: Cursor) -> bool:
    """Return whether a stream clause begins here: a bracket with a word, perhaps misspelt."""
    if cursor.done or cursor.tokens[cursor.at].token_type is not TokenType.L_BRACKET:
        return False
    inside = cursor.tokens[cursor.at + 1 : closing(cursor.text, cursor.tokens, cursor.at)]
    if not inside:
        return False
    return len(inside) > 1 and (
        is_word(inside[0], *OPENING) or closest(inside[0].text, OPENING) is not None
    )


def _late_bracket(cursor: Cursor) -> bool:
    """Return whether a bracket elsewhere is a stream clause, not the element of an array."""
    inside = cursor.tokens[cursor.at + 1 : cursor.at + 3]
    return len(inside) == 2 and is_word(inside[0], *OPENING) and _is_value(inside[1])


def _is_value(token: Token) -> bool:
    plain = (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER, TokenType.INTERVAL)
    return token.token_type in plain or is_word(token)


def _attach(clauses: StreamClauses, level: _Level, token: Token, clause: Clause) -> None:
    """Give a clause after the query to the first relation of FROM."""
    if level.first is None:
        problem = "FROM has no plain relation that these windows could belong to"
        raise SqlError(problem, clauses.text, token.start, expected="FROM name [...]")
    start, end = level.first
    first = clauses.tokens[start]
    windowing = clause.of(level.table, level.alias, (), Cursor(clauses.text, [token]).place)
    clauses.tokens[start:end] = clauses.put(windowing, first)
    level.first = None


def _fills(cursor: Cursor) -> Iterator[FillClause]:
    while cursor.accept("FILL"):
        yield read_fill(cursor)


def _check_function(cursor: Cursor, probe: Cursor) -> None:
    """Raise if a call with named arguments has nearly the name of a table function."""
    inside = probe.enclosed().tokens
    named = any(token.token_type is TokenType.FARROW for token in inside)
    meant = closest(cursor.tokens[cursor.at].text, (*WINDOW_FUNCTIONS, *JOIN_FUNCTIONS))
    if named and meant is not None:
        name = cursor.tokens[cursor.at]
        problem = f"there is no table function {name.text}"
        raise SqlError(problem, cursor.text, name.start, suggestion=meant)
