"""Read a query: take its stream clauses out, and let sqlglot read the rest as Spark's SQL.

A windowed aggregate of Fjords [FJ-5], ``AVG(s.speed, INTERVAL '5' MINUTES)``, is taken out as well.
Its second argument is the length of tumbling windows: the same as a bracket
``[TUMBLING 5 MINUTES]`` after the relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.cursor import Cursor
from muntin.parser.dialect import offset_of, parse_tree
from muntin.parser.engine_statements import AsOf
from muntin.parser.errors import SqlError, place_at
from muntin.parser.expressions import check_length
from muntin.parser.inline_sources import take_sources
from muntin.parser.lexer import is_word
from muntin.parser.preference_clause import split_preference
from muntin.parser.relations import StreamClauses, find_relations
from muntin.parser.statements import Query, Windowing

BEGINNINGS = ("SELECT", "WITH", "VALUES", "FROM")
#: The parts of a SELECT. sqlglot reads those of other databases as well, and drops or changes them.
_PARTS = {
    *("with_", "hint", "distinct", "expressions", "from_", "joins", "laterals", "where", "group"),
    *("having", "qualify", "windows", "order", "sort", "cluster", "distribute", "limit", "offset"),
    *("sample", "operation_modifiers"),
}
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
    _check_into(tokens, cursor.text)
    plain, preference, preferred_at = split_preference(tokens, cursor.text)
    tokens, unbounded = _without(plain, "WITH", "UNBOUNDED", "STATE")
    tokens, per_window = _without(tokens, "PER", "WINDOW")
    if not tokens:
        raise SqlError("there is no query", cursor.text, start, expected=_EXPECTED)
    inline = take_sources(cursor.text, tokens)
    clauses = find_relations(cursor.text, inline.tokens, lambda inner: _subquery(inner, hyphenated))
    tree = parse_tree(cursor.text, clauses.tokens)
    if not isinstance(tree, exp.Query):
        raise SqlError("this is not a query", cursor.text, start, expected=_EXPECTED)
    _check_parts(tree, cursor.text, start)
    find_windowed_aggregates(tree, clauses)
    _check_limit(tree, per_window, cursor.text, start)
    _check_samples(tree, clauses)
    _check_as_of(tree, clauses)
    return Query(
        tree=tree,
        windowings=clauses.windowings,
        alignments=clauses.alignments,
        text=cursor.text,
        start=start,
        end=end,
        place=place_at(cursor.text, start),
        hyphenated=frozenset(name for name in hyphenated if name in cursor.text[start:end]),
        unbounded=unbounded,
        per_window=per_window,
        as_of=clauses.as_of[0] if clauses.as_of else None,
        preference=preference,
        preference_place=None if preference is None else place_at(cursor.text, preferred_at),
        sources=inline.sources,
    )


def _subquery(cursor: Cursor, hyphenated: frozenset[str]) -> Query:
    """Read a query in parentheses that windows are made of, or that is joined."""
    query = read_query(cursor, hyphenated)
    if query.as_of is not None:
        raise _several_relations(query.as_of, query.text)
    if query.preference_place is not None:
        problem = "PREFERENCE follows the whole query"
        expected = "SELECT ... FROM ... WITH PREFERENCE ... without parentheses around it"
        raise SqlError(problem, query.text, query.preference_place, expected=expected)
    return query


def check_continuous(query: Query) -> None:
    """Raise if a query that goes on is about a moment of the past."""
    if query.as_of is not None:
        problem = "AS OF asks once, and this query goes on"
        expected = "a SELECT by itself; CREATE QUERY name START value AS ... begins in the past"
        raise SqlError(problem, query.text, query.as_of.place, expected=expected)


def _check_as_of(tree: exp.Expr, clauses: StreamClauses) -> None:
    """Raise if AS OF is in a query that has other relations, or queries inside it."""
    filled = any(windowing.fills for windowing in clauses.windowings.values())
    tables, queries = (len(list(tree.find_all(kind))) for kind in (exp.Table, exp.Query))
    if clauses.as_of and (tables, queries, filled) != (1, 1, False):
        raise _several_relations(clauses.as_of[-1], clauses.text)


def _several_relations(as_of: AsOf, text: str) -> SqlError:
    problem = "AS OF is for a query over one relation, without other queries in it"
    return SqlError(problem, text, as_of.place, expected="SELECT ... FROM traffic AS OF value")


def _without(tokens: Sequence[Token], *words: str) -> tuple[list[Token], bool]:
    """Return the tokens without these words at their end, and whether they were there."""
    last = tokens[-len(words) :]
    there = len(last) == len(words) and all(map(is_word, last, words))
    return list(tokens[: -len(words)] if there else tokens), there


def _check_into(tokens: Sequence[Token], text: str) -> None:
    """Raise if INTO is in a query: other databases create a table then."""
    for before, token in pairwise(tokens):
        if is_word(token, "INTO") and before.token_type is not TokenType.DOT:
            problem = "a SELECT creates no table"
            expected = "CREATE QUERY name AS SELECT ... INTO a sink such as parquet('folder')"
            raise SqlError(problem, text, token.start, expected=expected)


def _check_parts(tree: exp.Expr, text: str, start: int) -> None:
    """Raise if a SELECT has a part that Spark's SQL does not have."""
    for select in tree.find_all(exp.Query):
        place = offset_of(select) or start
        parts = {name for name, value in select.args.items() if value}
        if isinstance(select, exp.Select) and not parts <= _PARTS:
            other = min(parts - _PARTS)
            raise SqlError(f"Spark's SQL has no {other.upper()} in a SELECT", text, place)
        if isinstance(select.args.get("limit"), exp.Fetch):
            raise SqlError("Spark's SQL has no FETCH", text, place, expected="LIMIT n")


def _check_samples(tree: exp.Expr, clauses: StreamClauses) -> None:
    """Refuse a sample after a relation with windows: it would be one of their results."""
    for sampled in tree.find_all(exp.Select, exp.Table):
        # sqlglot attaches the sample of the only relation to the SELECT.
        from_ = sampled.args.get("from_")
        table = sampled if from_ is None else from_.this
        if sampled.args.get("sample") is not None and table.name in clauses.windowings:
            problem = "this samples the results of windows, not the rows in them"
            expected = "FROM (SELECT * FROM ... TABLESAMPLE (...)) [...]"
            raise SqlError(problem, clauses.text, offset_of(table) or 0, expected=expected)


def _check_limit(tree: exp.Query, per_window: bool, text: str, start: int) -> None:
    if per_window and tree.args.get("limit") is None:
        raise SqlError("PER WINDOW follows LIMIT n", text, start)


#: Aggregates with one argument: a second one can only be a window.
_OF_ONE = ("avg", "mean", "sum", "min", "max", "count", "median", "stddev", "variance")


def find_windowed_aggregates(tree: exp.Expr, clauses: StreamClauses) -> None:
    """Turn the windowed aggregates of every SELECT into windows of its relation."""
    for select in list(tree.find_all(exp.Select)):
        calls = [
            call
            for call in select.find_all(exp.Anonymous)
            if call.find_ancestor(exp.Select) is select
        ]
        windowed = [call for call in calls if _interval(call) is not None]
        if windowed:
            _rewrite(select, windowed, clauses)


def _interval(call: exp.Anonymous) -> exp.Expr | None:
    """Return the interval that is the second argument of an aggregate; None if there is none."""
    if str(call.this).lower() not in _OF_ONE or len(call.expressions) != 2:
        return None
    last = call.expressions[1]
    return last if isinstance(last, exp.Interval) else None


def _rewrite(select: exp.Select, calls: Sequence[exp.Anonymous], clauses: StreamClauses) -> None:
    lengths = {_length(call, clauses.text): call for call in calls}
    if len(lengths) > 1:
        _, second = list(lengths.items())[1]
        problem = "the windowed aggregates of one query have windows of the same length"
        raise SqlError(problem, clauses.text, offset_of(second) or 0)
    table = _relation(select, calls[0], clauses.text)
    _check_plain(table, calls[0], clauses)
    place = place_at(clauses.text, offset_of(calls[0]) or 0)
    name = clauses.fresh_name()
    clauses.windowings[name] = Windowing(
        table=".".join(part.name for part in table.parts),
        alias=table.alias_or_name,
        method="tumbling",
        arguments={"length": next(iter(lengths))},
        on=None,
        by=None,
        disorder=None,
        fills=(),
        places={"length": place},
        place=place,
    )
    alias = table.alias_or_name
    table.replace(exp.alias_(exp.to_table(name), alias, table=True))
    for call in calls:
        call.set("expressions", call.expressions[:1])


def _check_plain(table: exp.Table, call: exp.Anonymous, clauses: StreamClauses) -> None:
    """Raise if the relation has windows already, or is a join."""
    if table.name in clauses.windowings:
        problem = f"there are two windows: {call.name} has one, and {table.alias} has its own"
        raise SqlError(problem, clauses.text, offset_of(call) or 0, expected="one of them")
    if table.name in clauses.alignments:
        problem = f"{call.name} has a window, and {table.alias} is not a plain relation"
        expected = f"(SELECT * FROM {clauses.alignments[table.name].method}(...)) [TUMBLING ...]"
        raise SqlError(problem, clauses.text, offset_of(call) or 0, expected=expected)


def _length(call: exp.Anonymous, text: str) -> str:
    interval = call.expressions[1]
    number = interval.this.name if interval.this else ""
    length = f"{number} {interval.text('unit')}".strip().lower()
    check_length(length, text, offset_of(call) or 0)
    return length


def _relation(select: exp.Select, call: exp.Anonymous, text: str) -> exp.Table:
    """Return the relation whose column is aggregated: the one with its alias, or the only one."""
    from_ = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins") or []]
    tables = [t for t in [from_.this if from_ else None, *joined] if isinstance(t, exp.Table)]
    column = call.find(exp.Column)
    wanted = column.table if column is not None else ""
    fitting = [t for t in tables if not wanted or t.alias_or_name.lower() == wanted.lower()]
    if len(fitting) != 1:
        problem = (
            f"{call.name or 'this aggregate'} has a window, and it is not clear over which relation"
        )
        raise SqlError(problem, text, offset_of(call) or 0, expected="a column such as s.speed")
    return fitting[0]
