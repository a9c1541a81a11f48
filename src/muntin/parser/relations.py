"""Finding stream clauses among the tokens of a query, and putting plain names in their place.

What is left is Spark's SQL. A clause stands behind its relation in FROM; the panes paper also
writes it behind GROUP BY, and PSoup's window stands behind the query: these belong to the relation
that FROM began with.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.bracket import OPENING, read_bracket
from muntin.parser.clause import Clause
from muntin.parser.cursor import Cursor
from muntin.parser.errors import SqlError, closest
from muntin.parser.fill_clause import read_alias, read_fill, read_table
from muntin.parser.joins import ALIGNING_FUNCTIONS, is_alignment, read_alignment
from muntin.parser.keywords import BEHIND_RELATION, ENDS_FROM
from muntin.parser.lexer import closing, is_name, is_word, name_token
from muntin.parser.named_arguments import Subquery
from muntin.parser.psoup import read_interval
from muntin.parser.statements import Alignment, FillClause, Windowing
from muntin.parser.table_functions import WINDOW_FUNCTIONS, is_table_function, read_table_function


@dataclass
class _Level:
    """A query while it is read: whether FROM is open, and where its first relation stands."""

    in_from: bool = False
    first: tuple[int, int] | None = None
    table: str = ""
    alias: str = ""


@dataclass
class Found:
    """Tokens of Spark's SQL, and what the names in it stand for."""

    text: str
    subquery: Subquery
    tokens: list[Token] = field(default_factory=list)
    windowings: dict[str, Windowing] = field(default_factory=dict)
    alignments: dict[str, Alignment] = field(default_factory=dict)

    def fresh_name(self) -> str:
        """A name that stands nowhere in the text, and for nothing else."""
        words = self.text.casefold()
        taken = {*self.windowings, *self.alignments}
        names = (f"w{n}" for n in itertools.count())
        return next(name for name in names if name not in words and name not in taken)

    def put(self, clause: Windowing | Alignment, token: Token) -> list[Token]:
        """The tokens that stand for a relation: a fresh name under its alias."""
        name = name_token(self.fresh_name(), token)
        if isinstance(clause, Alignment):
            self.alignments[name.text] = clause
        else:
            self.windowings[name.text] = clause
        as_ = Token(TokenType.ALIAS, "AS", token.line, token.col, token.start, token.end)
        return [name, as_, name_token(clause.alias, token)]


def find_relations(text: str, tokens: Sequence[Token], subquery: Subquery) -> Found:
    """Replace every relation that has a stream clause."""
    found = Found(text, subquery)
    cursor = Cursor(text, tokens)
    levels = [_Level()]
    while not cursor.done:
        level, token = levels[-1], cursor.tokens[cursor.at]
        if token.token_type is TokenType.L_BRACKET and _late_bracket(cursor):
            _attach(found, level, token, read_bracket(cursor.enclosed()))
        elif is_word(token, "BEGIN") and level.first is not None:
            _attach(found, level, token, read_interval(cursor))
        elif _opens_relation(token, level) and not _compares(found.tokens):
            found.tokens.append(cursor.take())
            level.in_from = True
            _relation(cursor, found, level)
        else:
            _step(cursor, found, levels)
    return found


def _step(cursor: Cursor, found: Found, levels: list[_Level]) -> None:
    """Any other token: follow parentheses and the end of FROM."""
    token = cursor.take()
    found.tokens.append(token)
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
    """``a IS DISTINCT FROM b`` names no relation."""
    return len(before) > 1 and is_word(before[-1], "DISTINCT") and is_word(before[-2], "IS", "NOT")


def _relation(cursor: Cursor, found: Found, level: _Level) -> None:
    """A relation and its clause, if it has one."""
    if cursor.done:
        return
    token, start = cursor.tokens[cursor.at], len(found.tokens)
    if _called(cursor) and is_alignment(token.text):
        found.tokens += found.put(_aligned(cursor, found), token)
        return
    windowing = _windowed(cursor, found)
    if windowing is not None:
        windowing = replace(windowing, fills=(*windowing.fills, *_fills(cursor)))
        alias = read_alias(cursor, BEHIND_RELATION)
        if alias is not None:
            windowing = replace(windowing, alias=alias)
        windowing = replace(windowing, fills=(*windowing.fills, *_fills(cursor)))
        found.tokens += found.put(windowing, token)
    elif is_name(token) and not is_word(token, "LATERAL", "VALUES", "SELECT"):
        _plain(cursor, found, level, start)


def _aligned(cursor: Cursor, found: Found) -> Alignment:
    alignment = read_alignment(cursor, found.subquery)
    alias = read_alias(cursor, BEHIND_RELATION)
    return alignment if alias is None else replace(alignment, alias=alias)


def _called(cursor: Cursor) -> bool:
    """Whether a name stands here that is called."""
    return cursor.calls() and is_name(cursor.tokens[cursor.at])


def _plain(cursor: Cursor, found: Found, level: _Level, start: int) -> None:
    """A relation without a clause, to which a later one may belong."""
    probe = Cursor(cursor.text, cursor.tokens, cursor.end)
    probe.at = cursor.at
    table = read_table(probe, "a table")
    called = not probe.done and probe.tokens[probe.at].token_type is TokenType.L_PAREN
    if called:
        _check_function(cursor, probe)
        return
    alias = read_alias(probe, BEHIND_RELATION) or table.split(".")[-1]
    found.tokens += cursor.tokens[cursor.at : probe.at]
    cursor.at = probe.at
    if level.first is None:
        level.first, level.table, level.alias = (start, len(found.tokens)), table, alias


def _windowed(cursor: Cursor, found: Found) -> Windowing | None:
    """The relation with its clause; None, and nothing read, if there is no clause."""
    start, token = cursor.at, cursor.tokens[cursor.at]
    place = cursor.place
    if _called(cursor):
        if is_table_function(token.text):
            return read_table_function(cursor, found.subquery)
        return None
    if token.token_type is TokenType.L_PAREN:
        return _windowed_query(cursor, found)
    if not is_name(token):
        return None
    table = read_table(cursor, "a table")
    alias = None if _at_bracket(cursor) else read_alias(cursor, BEHIND_RELATION)
    if not _at_bracket(cursor):
        cursor.at = start
        return None
    clause = read_bracket(cursor.enclosed())
    return clause.of(table, alias or table.split(".")[-1], (), place)


def _windowed_query(cursor: Cursor, found: Found) -> Windowing | None:
    """``(SELECT ...) [RANGE ...]``: windows over a query."""
    start, place = cursor.at, cursor.place
    inner = cursor.enclosed()
    alias = None if _at_bracket(cursor) else read_alias(cursor, BEHIND_RELATION)
    if not _at_bracket(cursor):
        cursor.at = start
        return None
    clause = read_bracket(cursor.enclosed())
    return clause.of(found.subquery(inner), alias or "subquery", (), place)


def _at_bracket(cursor: Cursor) -> bool:
    """Whether a stream clause begins here: a bracket with one of its words, if misspelt."""
    if cursor.done or cursor.tokens[cursor.at].token_type is not TokenType.L_BRACKET:
        return False
    inside = cursor.tokens[cursor.at + 1 : closing(cursor.text, cursor.tokens, cursor.at)]
    if not inside:
        return False
    return len(inside) > 1 and (
        is_word(inside[0], *OPENING) or closest(inside[0].text, OPENING) is not None
    )


def _late_bracket(cursor: Cursor) -> bool:
    """Whether a bracket elsewhere is a stream clause and not the element of an array."""
    inside = cursor.tokens[cursor.at + 1 : cursor.at + 3]
    return len(inside) == 2 and is_word(inside[0], *OPENING) and _is_value(inside[1])


def _is_value(token: Token) -> bool:
    plain = (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER, TokenType.INTERVAL)
    return token.token_type in plain or is_word(token)


def _attach(found: Found, level: _Level, token: Token, clause: Clause) -> None:
    """A clause behind the query becomes that of the relation FROM began with."""
    if level.first is None:
        problem = "there is no plain relation in FROM that these windows could be of"
        raise SqlError(problem, found.text, token.start, expected="FROM name [...]")
    start, end = level.first
    first = found.tokens[start]
    windowing = clause.of(level.table, level.alias, (), Cursor(found.text, [token]).place)
    found.tokens[start:end] = found.put(windowing, first)
    level.first = None


def _fills(cursor: Cursor) -> Iterator[FillClause]:
    while cursor.accept("FILL"):
        yield read_fill(cursor)


def _check_function(cursor: Cursor, probe: Cursor) -> None:
    """A call with named arguments that is nearly one of ours was meant to be."""
    inside = probe.enclosed().tokens
    named = any(token.token_type is TokenType.FARROW for token in inside)
    meant = closest(cursor.tokens[cursor.at].text, (*WINDOW_FUNCTIONS, *ALIGNING_FUNCTIONS))
    if named and meant is not None:
        name = cursor.tokens[cursor.at]
        problem = f"there is no table function {name.text}"
        raise SqlError(problem, cursor.text, name.start, suggestion=meant)
