"""Report errors of Muntin and Spark at their place in the user's text, in the words of SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import (
    ArgumentError,
    ContradictionError,
    ExpressionError,
    Mention,
    MuntinError,
    UnknownColumnError,
    UnsupportedTypeError,
)
from muntin.parser.arguments import Argument, written_mention
from muntin.parser.bracket import WINDOW_ARGUMENTS
from muntin.parser.dialect import SQL, offset_of, written
from muntin.parser.errors import Position, SqlError, closest, place_at
from muntin.parser.fill_clause import FILL_ARGUMENTS
from muntin.parser.frame_clause import FRAME_ARGUMENTS
from muntin.parser.statements import (
    Alignment,
    Expression,
    FillClause,
    JoinSide,
    KindOfFrame,
    Query,
    Windowing,
)
from muntin.parser.stored_frames_clause import STORED_FRAMES_ARGUMENTS
from muntin.parser.table_functions import function_arguments
from muntin.planner.aggregates import known_aggregates
from muntin.spark.run_sql import Rejection, rejection, unlogged

#: Columns that only the results of windows and frames have.
_OF_WINDOWS = (
    "window_start",
    "window_end",
    "wid",
    "frame_id",
    "frame_start",
    "frame_end",
    "n_missing",
)
#: How Python names the column that windows lie along.
_AS_ON = re.compile(r"^on='([^']*)' has type")
#: A part of a query whose arguments have places.
Placed = Windowing | FillClause | Alignment | JoinSide


@contextmanager
def located(
    query: Query, at: Placed | Position | None = None, near: Iterable[object] | None = None
) -> Iterator[None]:
    """Turn errors inside into :class:`SqlError` at their place.

    Args:
        query: The query that is translated.
        at: The clause that is translated, whose arguments have places; or the place of errors that
            name nothing else. The query's beginning if it is None.
        near: Expressions in which errors are looked for before the whole query; those of the
            clause unless given.
    """
    clause = None if isinstance(at, Position) else at
    if near is None:
        near = _values(clause)
    try:
        with unlogged():
            yield
    except SqlError:
        raise
    except MuntinError as error:
        place = query.place if at is None else at if isinstance(at, Position) else at.place
        rejected = rejection(error)
        if rejected is not None:
            raise _rejected(rejected, query, place, near) from error
        raise _refused(error, query, place, clause, near) from error


def _values(clause: Placed | None) -> list[object]:
    """Return the values of a clause's arguments."""
    if isinstance(clause, Windowing | FillClause | Alignment):
        return [*clause.arguments.values()]
    return []


def _refused(
    error: MuntinError,
    query: Query,
    place: Position,
    clause: Placed | None,
    near: Iterable[object],
) -> SqlError:
    """Return an error of Muntin at the argument or the aggregate that it is about."""
    places = {} if clause is None else clause.places
    if isinstance(error, UnknownColumnError):
        offset = _named(error.name, [tree for part in near for tree in _trees(part)])
        own_place = places.get(error.argument, place if offset is None else offset)
        return unknown_column(query, error.name, own_place, error.columns)
    if isinstance(error, ContradictionError):
        sides = [side.argument for side in error.sides]
        own = next((places[side] for side in sides if side in places), place)
        return SqlError(error.sentence(_writer(clause)), query.text, own)
    if isinstance(error, ArgumentError):
        reason = error.reason(_writer(clause))
        if error.argument not in places:
            return SqlError(reason, query.text, place)
        own = places[error.argument]
        return SqlError(f"{_given(query, own, error)}: {reason}", query.text, own)
    if isinstance(error, UnsupportedTypeError):
        own = places.get("on", place) if error.about is None else place
        problem = _AS_ON.sub(r"\1 has type", str(error))
        return SqlError(problem, query.text, _place_of(error.about, query, near) or own)
    if isinstance(error, ExpressionError):
        return SqlError(error.problem, query.text, _place_of(error.text, query, near) or place)
    return SqlError(str(error), query.text, place)


def _writer(clause: Placed | None) -> Callable[[Mention], str]:
    """Return how a clause writes arguments that a message mentions."""
    if clause is None:
        return str
    by_name = isinstance(clause, Alignment | JoinSide) or clause.by_name
    return lambda mention: written_mention(mention, _arguments(clause), by_name=by_name)


def _arguments(clause: Placed) -> Sequence[Argument]:
    match clause:
        case Alignment():
            return function_arguments(clause.method)
        case FillClause():
            return FILL_ARGUMENTS
        case Windowing(method="frames"):
            return FRAME_ARGUMENTS
        case Windowing(method="stored_frames"):
            return STORED_FRAMES_ARGUMENTS
    return WINDOW_ARGUMENTS


def _given(query: Query, place: Position, error: ArgumentError) -> str:
    """Return the word at the place of an argument, and the argument's value."""
    word = re.match(r"\w+", query.text[place.offset :])
    value = "" if error.given is None or error.given is True else f" {error.given}"
    return f"{word.group() if word else error.argument}{value}"


def _place_of(about: str | None, query: Query, near: Iterable[object]) -> Position | None:
    """Return the place of the expression or aggregate that an error is about, if it is known."""
    for tree in (tree for part in near for tree in _trees(part)):
        offset = offset_of(tree)
        if offset is not None and about is not None and written(tree).lower() == about.lower():
            return place_at(query.text, offset)
    return None


def _rejected(rejected: Rejection, query: Query, at: Position, near: Iterable[object]) -> SqlError:
    """Return an error of Spark at the name or the part of the query that it points at."""
    trees = [tree for part in near for tree in _trees(part)]
    trees += [query.tree, *_clauses(query)]
    if rejected.name is not None:
        offset = _named(rejected.name, trees)
        place: Position | int = at if offset is None else offset
        if rejected.condition.startswith("UNRESOLVED_COLUMN"):
            return unknown_column(query, rejected.name, place, rejected.proposals)
        if rejected.condition == "UNRESOLVED_ROUTINE":
            problem = f"there is no function {rejected.name}"
            suggestion = closest(rejected.name, known_aggregates())
            return SqlError(problem, query.text, place, suggestion=suggestion)
        if rejected.condition == "TABLE_OR_VIEW_NOT_FOUND":
            return SqlError(f"there is no table {rejected.name}", query.text, place)
        return SqlError(f"Spark says: {rejected.problem}", query.text, place)
    offset = _fragment(rejected.fragment, trees)
    place = at if offset is None else offset
    return SqlError(f"Spark says: {rejected.problem}", query.text, place)


def unknown_column(query: Query, name: str, at: Position | int, known: Iterable[str]) -> SqlError:
    """Return the error that there is no such column, with the one that may have been meant."""
    columns = list(known)
    if _chosen_too_early(query, name):
        problem = f"WHERE chooses rows before there are windows, and {name} is of a window"
        return SqlError(problem, query.text, at, expected=f"HAVING {name} ... after GROUP BY")
    expected = f"one of {', '.join(columns)}" if columns else None
    suggestion = closest(name, columns)
    problem = f"there is no column {name}"
    return SqlError(problem, query.text, at, expected=expected, suggestion=suggestion)


def _chosen_too_early(query: Query, name: str) -> bool:
    """Return whether a WHERE names a column that only windows or frames have."""
    if not query.windowings or name.casefold() not in _OF_WINDOWS:
        return False
    columns = (column for where in query.tree.find_all(exp.Where) for column in _columns(where))
    return any(column.name.casefold() == name.casefold() for column in columns)


def _columns(tree: exp.Expr) -> Iterator[exp.Column]:
    yield from tree.find_all(exp.Column)


def _clauses(query: Query) -> Iterator[exp.Expr]:
    """Return the expressions in stream clauses."""
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
    """Return the offset of the first column, function or table of this name."""
    for tree in trees:
        for node in tree.find_all(exp.Column, exp.Anonymous, exp.Table):
            called = node.this if isinstance(node, exp.Anonymous) else node.name
            if str(called).casefold() == name.casefold() and (at := offset_of(node)) is not None:
                return at
    return None


def _fragment(fragment: str | None, trees: Iterable[exp.Expr]) -> int | None:
    """Return the offset of the expression that Spark quotes."""
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
