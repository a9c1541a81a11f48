"""What a session refuses because only an engine does it, each with what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from muntin.parser.engine_statements import CreateSummary, QueryCommand
from muntin.parser.errors import Position, SqlError
from muntin.parser.statements import (
    AlterQuery,
    CreateInputs,
    CreateQuery,
    CreateStream,
    Query,
)
from muntin.session.catalog import Declared

_WHERE = "mt.Engine in Python, or muntin engine on the command line"
#: What each word is for, as it follows "START says ".
_SAYS: Mapping[str, str] = MappingProxyType(
    {
        "START": "from where on an engine answers a query",
        "UNTIL": "up to where an engine answers a query",
        "OWNER": "whose query it is in the registry of an engine",
        "TAGS": "by which words the registry of an engine finds a query",
        "EVERY": "how often an engine reports early answers",
        "EMIT": "whether an engine reports answers before they are final",
        "DESCRIPTION": "what a query is for in the registry of an engine",
        "KEEP": "how long an engine keeps the rows of a stream for queries that come later",
        "RETAIN": "for how long the answers of an engine can be read",
        "GRAIN": "of which length the edges of all windows of an engine are multiples",
        "CARRY": "which columns an engine carries for queries that come later",
        "ALTER": "what a query of an engine answers from now on",
        "PAUSE": "that an engine makes no answers of a query for a while",
        "RESUME": "that an engine makes answers of a query again",
        "INVOKE": "that an engine answers a query now",
        "SUMMARY": "what an engine counts of a stream, for queries that prefer some rows",
        "PREFERENCE": "which rows an engine looks at first when it cannot look at all",
        "QOS": "what answers are worth to an engine that has too much to do",
        "AS OF": "which moment in the history of an engine is asked about",
    }
)


def check_no_engine_words(declared: Declared, text: str) -> None:
    """Raise if a statement that creates something has words that are for an engine."""
    if isinstance(declared, CreateStream | CreateQuery):
        for word, place in declared.engine.places.items():
            raise _refused(word, text, place)


def check_no_engine_clauses(query: Query) -> None:
    """Raise if a query is about the past, which only an engine keeps, or prefers some rows."""
    if query.as_of is not None:
        raise _refused("AS OF", query.text, query.as_of.place)
    if query.preference_place is not None:
        raise _refused("PREFERENCE", query.text, query.preference_place)


def for_an_engine(
    statement: AlterQuery | QueryCommand | CreateInputs | CreateSummary, text: str
) -> SqlError:
    """Return the error of a statement that is about a query or a stream of an engine."""
    if isinstance(statement, CreateInputs):
        problem = "several inputs of a stream are for an engine, and there is no engine here"
        expected = f"a stream of its own for each, which queries join; or {_WHERE}"
        return SqlError(problem, text, statement.place, expected=expected)
    if isinstance(statement, CreateSummary):
        return _refused("SUMMARY", text, statement.place)
    word = "ALTER" if isinstance(statement, AlterQuery) else statement.command
    return _refused(word, text, statement.place)


def _refused(word: str, text: str, place: Position) -> SqlError:
    problem = f"{word} says {_SAYS[word]}, and there is no engine here"
    return SqlError(problem, text, place, expected=_WHERE)
