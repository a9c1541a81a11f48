"""The plans of all queries of a text, by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin.errors import ArgumentError, did_you_mean
from muntin.parser.statements import CreateQuery, Format, Query, Select, Statement
from muntin.planner.explain import explained
from muntin.session.catalog import unnamed
from muntin.session.session import SqlSession


def explanations(
    session: SqlSession, statements: Sequence[Statement], only: str | None, form: Format
) -> dict[str, str]:
    """Return how the queries of statements will run: all of them, or the one named ``only``."""
    queries = dict(named_queries(statements))
    if only is not None and only not in queries:
        expected = f"there is no such query{did_you_mean(only, queries)}; there are "
        raise ArgumentError("query", only, expected + ", ".join(queries))
    wanted = queries if only is None else {only: queries[only]}
    return {name: explained(session.translated(query), form) for name, query in wanted.items()}


def named_queries(statements: Sequence[Statement]) -> Iterator[tuple[str, Query]]:
    """Yield the queries of statements with their names; those without a name are numbered."""
    selects = 0
    for statement in statements:
        if isinstance(statement, CreateQuery):
            yield statement.name, statement.query
        elif isinstance(statement, Select):
            selects += 1
            yield unnamed(selects), statement.query
