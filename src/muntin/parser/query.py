"""Read a query: take its stream clauses out, and let sqlglot read the rest as Spark's SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.cursor import Cursor
from muntin.parser.dialect import offset_of, parse_tree
from muntin.parser.errors import SqlError, place_at
from muntin.parser.fjords import find_windowed_aggregates
from muntin.parser.lexer import is_word
from muntin.parser.relations import Found, find_relations
from muntin.parser.statements import Query

BEGINNINGS = ("SELECT", "WITH", "VALUES", "FROM")
_EXPECTED = "a query that begins with SELECT or WITH"


def read_query(cursor: Cursor, hyphenated: frozenset[str]) -> Query:
    """Read all remaining tokens as a query."""
    if cursor.done:
        cursor.fail(expected=_EXPECTED)
    tokens = list(cursor.tokens[cursor.at :])
    cursor.at = len(cursor.tokens)
    start, end = tokens[0].start, tokens[-1].end + 1
    if tokens[0].token_type is not TokenType.L_PAREN and not is_word(tokens[0], *BEGINNINGS):
        problem = f"{tokens[0].text} does not begin a query"
        raise SqlError(problem, cursor.text, start, expected=_EXPECTED)
    tokens, unbounded = _without(tokens, "WITH", "UNBOUNDED", "STATE")
    tokens, per_window = _without(tokens, "PER", "WINDOW")
    if not tokens:
        raise SqlError("there is no query", cursor.text, start, expected=_EXPECTED)
    found = find_relations(cursor.text, tokens, lambda inner: read_query(inner, hyphenated))
    tree = parse_tree(cursor.text, found.tokens)
    if not isinstance(tree, exp.Query):
        raise SqlError("this is not a query", cursor.text, start, expected=_EXPECTED)
    find_windowed_aggregates(tree, found)
    _check_limit(tree, per_window, cursor.text, start)
    _check_samples(tree, found)
    return Query(
        tree=tree,
        windowings=found.windowings,
        alignments=found.alignments,
        text=cursor.text,
        start=start,
        end=end,
        place=place_at(cursor.text, start),
        hyphenated=frozenset(name for name in hyphenated if name in cursor.text[start:end]),
        unbounded=unbounded,
        per_window=per_window,
    )


def _without(tokens: Sequence[Token], *words: str) -> tuple[list[Token], bool]:
    """Return the tokens without these words at their end, and whether they were there."""
    last = tokens[-len(words) :]
    there = len(last) == len(words) and all(map(is_word, last, words))
    return list(tokens[: -len(words)] if there else tokens), there


def _check_samples(tree: exp.Expr, found: Found) -> None:
    """Refuse a sample after a relation with windows: it would be one of their results."""
    for sampled in tree.find_all(exp.Select, exp.Table):
        # sqlglot attaches the sample of the only relation to the SELECT.
        from_ = sampled.args.get("from_")
        table = sampled if from_ is None else from_.this
        if sampled.args.get("sample") is not None and table.name in found.windowings:
            problem = "this samples the results of windows, not the rows in them"
            expected = "FROM (SELECT * FROM ... TABLESAMPLE (...)) [...]"
            raise SqlError(problem, found.text, offset_of(table) or 0, expected=expected)


def _check_limit(tree: exp.Query, per_window: bool, text: str, start: int) -> None:
    if per_window and tree.args.get("limit") is None:
        raise SqlError("PER WINDOW follows LIMIT n", text, start)
