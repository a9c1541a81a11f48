"""What Muntin or Spark says against a query, said at its place in the user's text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import ArgumentError, MuntinError, UnknownColumnError
from muntin.parser.dialect import SQL, offset_of, written
from muntin.parser.errors import SqlError, closest
from muntin.parser.positions import Position, place_at
from muntin.parser.statements import Expression, KindOfFrame, Query
from muntin.planner.aggregates import known_aggregates
from muntin.spark.run_sql import Rejection, rejection, unlogged


@contextmanager
def located(
    query: Query,
    default: Position | None = None,
    places: Mapping[str, Position] | None = None,
    near: Iterable[exp.Expr | Expression | KindOfFrame | object] = (),
) -> Iterator[None]:
    """Errors inside become :class:`SqlError`; ``places`` are those of arguments by name.

    Args:
        query: The query that is translated.
        default: Where an error is shown that nothing else places; else the query's beginning.
        places: Where arguments of Muntin's methods stand.
        near: Expressions that are looked at first, before the whole query.
    """
    at = default or query.place
    try:
        with unlogged():
            yield
    except SqlError:
        raise
    except MuntinError as error:
        said = rejection(error)
        if said is not None:
            raise _rejected(said, query, at, near) from error
        raise _refused(error, query, at, places or {}, near) from error


#: What Muntin's messages call an argument, and what the language does.
_WORDS = {
    "min_duration": "LASTING",
    "max_duration": "LASTING AT MOST",
    "min_count": "HOLDING",
    "max_count": "HOLDING AT MOST",
    "cut=True": "CUT",
    "tie_order=": "BY",
    "ties=": "TIES ",
    "until=": "UNTIL",
    "key={'router': 'router_id'}": "key => (router = router_id)",
    "give prefix='mt_'": "give PREFIX 'mt_' (in a function prefix => 'mt_')",
}


def _refused(
    error: MuntinError,
    query: Query,
    at: Position,
    places: Mapping[str, Position],
    near: Iterable[object],
) -> SqlError:
    """What Muntin says: at the argument that it names, or at the aggregate that it quotes."""
    if isinstance(error, UnknownColumnError):
        return unknown_column(query, error.name, places.get(error.argument, at), error.columns)
    problem = str(error).split("\n")[0]  # what follows shows a text that is not the user's
    if isinstance(error, ArgumentError):
        named = (str(error.argument), str(error.given).split("=")[0])
        found = next((places[name] for name in named if name in places), None)
        why = problem.split(" cannot be used: ", 1)
        if len(why) == 2:
            problem = why[1] if found is None else f"{_said(query, found, error)}: {why[1]}"
        place = found or at
    else:
        place = _quoted(problem, query, near) or at
    for python, word in _WORDS.items():
        problem = problem.replace(python, word)
    return SqlError(problem, query.text, place)


def _said(query: Query, place: Position, error: ArgumentError) -> str:
    """The argument in the user's words: the word that stands at its place, and what was given."""
    word = re.match(r"\w+", query.text[place.offset :])
    given = "" if error.given is None or error.given is True else f" {error.given}"
    return f"{word.group() if word else error.argument}{given}"


def _quoted(problem: str, query: Query, near: Iterable[object]) -> Position | None:
    """Where the aggregate stands that a message begins with."""
    for tree in (tree for part in near for tree in _trees(part)):
        offset = offset_of(tree)
        if offset is not None and problem.lower().startswith(written(tree).lower()):
            return place_at(query.text, offset)
    return None


def _rejected(said: Rejection, query: Query, at: Position, near: Iterable[object]) -> SqlError:
    """What Spark says: at the name or the part of the query that it points at."""
    trees = [tree for part in near for tree in _trees(part)]
    trees += [query.tree, *_clauses(query)]
    if said.name is not None:
        offset = _named(said.name, trees)
        place: Position | int = at if offset is None else offset
        if said.condition.startswith("UNRESOLVED_COLUMN"):
            return unknown_column(query, said.name, place, said.proposals)
        if said.condition == "UNRESOLVED_ROUTINE":
            problem = f"there is no function {said.name}"
            suggestion = closest(said.name, known_aggregates())
            return SqlError(problem, query.text, place, suggestion=suggestion)
        if said.condition == "TABLE_OR_VIEW_NOT_FOUND":
            return SqlError(f"there is no table {said.name}", query.text, place)
        return SqlError(f"Spark says: {said.problem}", query.text, place)
    offset = _fragment(said.fragment, trees)
    place = at if offset is None else offset
    return SqlError(f"Spark says: {said.problem}", query.text, place)


def unknown_column(query: Query, name: str, at: Position | int, known: Iterable[str]) -> SqlError:
    """There is no such column, and the one that may have been meant."""
    columns = list(known)
    expected = f"one of {', '.join(columns)}" if columns else None
    suggestion = closest(name, columns)
    problem = f"there is no column {name}"
    return SqlError(problem, query.text, at, expected=expected, suggestion=suggestion)


def _clauses(query: Query) -> Iterator[exp.Expr]:
    """The expressions that stand in stream clauses."""
    for alignment in query.alignments.values():
        for value in alignment.arguments.values():
            yield from _trees(value)
        for inner in (side.table for side in alignment.sides if isinstance(side.table, Query)):
            yield inner.tree
            yield from _clauses(inner)
    for windowing in query.windowings.values():
        for value in windowing.arguments.values():
            yield from _trees(value)
        for fill in windowing.fills:
            for value in fill.arguments.values():
                yield from _trees(value)
        if isinstance(windowing.table, Query):
            yield windowing.table.tree
            yield from _clauses(windowing.table)


def _trees(value: object) -> Iterator[exp.Expr]:
    if isinstance(value, Expression):
        yield value.tree
    elif isinstance(value, KindOfFrame):
        for inner in value.arguments.values():
            yield from _trees(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _trees(inner)
    elif isinstance(value, exp.Expr):
        yield value


def _named(name: str, trees: Iterable[exp.Expr]) -> int | None:
    """Where a column, a function or a table of this name stands for the first time."""
    for tree in trees:
        for node in tree.find_all(exp.Column, exp.Anonymous, exp.Table):
            called = node.this if isinstance(node, exp.Anonymous) else node.name
            if str(called).casefold() == name.casefold() and (at := offset_of(node)) is not None:
                return at
    return None


def _fragment(fragment: str | None, trees: Iterable[exp.Expr]) -> int | None:
    """Where an expression stands that reads as a part of what Spark was given."""
    if fragment is None:
        return None
    try:
        wanted = sqlglot.parse_one(fragment, dialect=SQL)
    except (SqlglotError, ValueError, TypeError, AttributeError, IndexError):
        return None
    for tree in trees:
        for node in tree.walk():
            if node == wanted:
                return offset_of(node)
    return None
