"""Table functions: ``FROM sliding(traffic, on => ts, range => '5 minutes')``, ``FROM join(a, b)``.

A function takes the arguments of the Python method. A value is written as it is after the word of
a bracket. ``fill(frames(...), bgp, before => ...)`` takes another function first. Joins take two
relations; ``stream(quotes, on => ts, by => stock)`` describes one that was not declared with ON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from muntin.parser import arguments
from muntin.parser.arguments import (
    FORGET,
    PREFIX,
    ROLES,
    Argument,
    Draft,
    Form,
    Subquery,
    one_of,
    read_named_arguments,
    read_relation,
)
from muntin.parser.bracket import GAP, ORIGIN, TIEBREAK, UNFINISHED, WITHIN
from muntin.parser.cursor import Cursor
from muntin.parser.errors import Position, SqlError
from muntin.parser.expressions import read_expression
from muntin.parser.fill_clause import FILL_ARGUMENTS, read_filling_table
from muntin.parser.frame_clause import FRAME_ARGUMENTS, read_kind
from muntin.parser.statements import (
    Aligning,
    Alignment,
    Expression,
    FillClause,
    JoinSide,
    Method,
    Query,
    Windowing,
)
from muntin.parser.stored_frames_clause import STORED_FRAMES_ARGUMENTS

_RELATION = "a stream, a table or a query in parentheses"
_SIDE = "a stream, a table, a query in parentheses or stream(...)"


_M = TypeVar("_M")


@dataclass(frozen=True)
class _Function(Generic[_M]):
    """A method of ``mt.stream``, its arguments, and those that cannot be left out."""

    method: _M
    arguments: tuple[Argument, ...]
    required: tuple[str, ...] = ()


def function_arguments(name: str) -> tuple[Argument, ...]:
    """Return the arguments of a function, without those that describe its relation."""
    if name == "fill":
        return FILL_ARGUMENTS
    known = _JOINS[name].arguments if name in _JOINS else _WINDOWS[name].arguments
    return tuple(argument for argument in known if argument not in ROLES)


def is_window_function(name: str) -> bool:
    return name.lower() in WINDOW_FUNCTIONS


def is_join_function(name: str) -> bool:
    return name.lower() in JOIN_FUNCTIONS


def read_window_function(cursor: Cursor, subquery: Subquery) -> Windowing:
    """Read a call that makes windows, from its name on."""
    place = cursor.place
    name = cursor.take().text.lower()
    inner = cursor.enclosed()
    if name == "fill":
        return _fill(inner, subquery)
    table, alias = read_relation(inner, subquery, _RELATION)
    function = _WINDOWS[name]
    draft = read_named_arguments(inner, function.arguments, function.required)
    return draft.clause(function.method, by_name=True).of(table, alias, (), place)


def _fill(cursor: Cursor, subquery: Subquery) -> Windowing:
    token = cursor.peek
    if token is None or not is_window_function(token.text):
        cursor.fail(expected="what is to be filled, such as frames(...)", known=_WINDOWS)
    segments = read_window_function(cursor, subquery)
    cursor.expect_type(TokenType.COMMA, ", and the stream or table that fills")
    place = cursor.place
    table, alias = read_filling_table(cursor)
    draft = read_named_arguments(cursor, FILL_ARGUMENTS)
    fill = FillClause(table, alias, draft.values, draft.places, place, by_name=True)
    return replace(segments, fills=(*segments.fills, fill))


def read_join_function(cursor: Cursor, subquery: Subquery) -> Alignment:
    """Read a call that combines two relations, or resamples one, from its name on."""
    place = cursor.place
    name = cursor.take().text.lower()
    inner = cursor.enclosed()
    if name == "resample":
        return _resample(inner, subquery, place)
    own = _side(inner, subquery)
    inner.expect_type(TokenType.COMMA, ", and the other relation")
    if inner.second is not None and inner.second.token_type is TokenType.FARROW:
        inner.fail(expected=f"what {own.alias} meets: {_SIDE}")
    other = _side(inner, subquery)
    if name == "lookup" and other.described:
        problem = "a table that rows are looked up in has no order and no keys of its own"
        expected = "the table itself, and key => its columns"
        raise SqlError(problem, cursor.text, other.place, expected=expected)
    function = _JOINS[name]
    draft = read_named_arguments(inner, function.arguments, function.required)
    return Alignment(function.method, own, other, own.alias, draft.values, draft.places, place)


def _resample(cursor: Cursor, subquery: Subquery, place: Position) -> Alignment:
    """Read the arguments of resample(...), which may describe its only relation directly."""
    own = _side(cursor, subquery)
    at = Argument("at", lambda inner, form: _side(inner, subquery))
    roles = () if own.described else ROLES
    draft = read_named_arguments(cursor, (*_RESAMPLE, at, *roles))
    if not own.described:
        own = _described(own.table, own.alias, draft, own.place)
    other = draft.take("at")
    assert other is None or isinstance(other, JoinSide)
    if other is None and "every" not in draft.values:
        expected = ", every => how often, or at => another stream"
        cursor.fail("it is not clear where values are wanted", expected=expected)
    if other is not None and "every" in draft.values:
        problem = "values are wanted every so often, or at the instants of another stream"
        raise SqlError(problem, cursor.text, draft.places["at"], expected="every or at")
    return Alignment("resample", own, other, own.alias, draft.values, draft.places, place)


def _side(cursor: Cursor, subquery: Subquery) -> JoinSide:
    """Read a relation, as it is or described by ``stream(...)``."""
    place = cursor.place
    if not (cursor.next_is("STREAM") and cursor.calls()):
        table, alias = read_relation(cursor, subquery, _SIDE)
        return _described(table, alias, Draft(cursor.text), place)
    cursor.take()
    inner = cursor.enclosed()
    table, alias = read_relation(inner, subquery, _RELATION)
    return _described(table, alias, read_named_arguments(inner, ROLES), place)


def _described(table: str | Query, alias: str, draft: Draft, place: Position) -> JoinSide:
    return JoinSide(table, alias, *draft.take_roles(), draft.places, place)


_read_method = one_of("linear", "previous", "nearest")


def _how(cursor: Cursor, form: Form) -> object:
    """Read how values are made: a word, or aggregates of the rows around."""
    if cursor.opens():
        return _aggregates(cursor.enclosed())
    return (_aggregate(cursor),) if cursor.calls() else _read_method(cursor, form)


def _aggregates(cursor: Cursor) -> tuple[Expression, ...]:
    aggregates = [_aggregate(cursor)]
    while not cursor.done:
        cursor.expect_type(TokenType.COMMA, ", or )")
        aggregates.append(_aggregate(cursor))
    return tuple(aggregates)


def _aggregate(cursor: Cursor) -> Expression:
    """Read an aggregate, and the name of its column if it has one."""
    expected = "an aggregate such as avg(level) AS level"
    aggregate = read_expression(cursor.until(lambda c: c.next_is("AS")), expected)
    if not cursor.accept("AS"):
        return aggregate
    name = cursor.name("the name of a column")
    return Expression(exp.alias_(aggregate.tree, name, quoted=True), aggregate.place)


_length = partial(Argument, read=arguments.length)
_rows = partial(Argument, read=arguments.rows)
_ORDER = Argument("order", one_of("on", "arrival"))
_COMMON = (PREFIX, *ROLES)
_WINDOWS: Mapping[str, _Function[Method]] = {
    "sliding": _Function(
        "window",
        (
            _length("range"),
            _length("slide"),
            ORIGIN,
            Argument("slide_on", arguments.column),
            UNFINISHED,
            *_COMMON,
        ),
        ("range", "slide"),
    ),
    "tumbling": _Function(
        "tumbling", (_length("length"), ORIGIN, UNFINISHED, *_COMMON), ("length",)
    ),
    "latch": _Function("latch", (_length("every"), ORIGIN, UNFINISHED, *_COMMON), ("every",)),
    "landmark": _Function(
        "landmark",
        (
            _length("slide"),
            ORIGIN,
            Argument("start", arguments.condition),
            UNFINISHED,
            *_COMMON,
        ),
    ),
    "rows": _Function(
        "rows",
        (
            _rows("range"),
            _rows("slide"),
            WITHIN,
            _ORDER,
            TIEBREAK,
            UNFINISHED,
            FORGET,
            _rows("min_rows"),
            *_COMMON,
        ),
        ("range",),
    ),
    "by_tuple": _Function(
        "by_tuple", (_length("range"), _rows("every"), _ORDER, *_COMMON), ("range",)
    ),
    "session": _Function("session", (GAP, *_COMMON), ("gap",)),
    "frames": _Function("frames", (Argument("kind", read_kind), *FRAME_ARGUMENTS), ("kind",)),
    "stored_frames": _Function("stored_frames", STORED_FRAMES_ARGUMENTS),
}
_KEYS = (Argument("on", arguments.column), Argument("key", arguments.matching))
_WHERE = Argument("where", arguments.condition)
_LIMIT = Argument("limit", arguments.size)
_NEAR = (WITHIN, Argument("direction", one_of("both", "backward", "forward")))
_JOINS: Mapping[str, _Function[Aligning]] = {
    "join": _Function(
        "join",
        (
            *_NEAR,
            Argument("how", one_of("inner", "left", "right", "full", "semi", "anti")),
            _WHERE,
            *_KEYS,
            _LIMIT,
            PREFIX,
        ),
        ("within",),
    ),
    "zipper": _Function(
        "zipper",
        (
            _length("every"),
            ORIGIN,
            Argument("how", one_of("full", "inner", "left", "right")),
            _WHERE,
            *_KEYS,
            _LIMIT,
            PREFIX,
        ),
        ("every",),
    ),
    "asof": _Function(
        "asof",
        (
            _length("tolerance"),
            Argument("direction", one_of("backward", "forward", "nearest")),
            Argument("exact", arguments.flag),
            TIEBREAK,
            *_KEYS,
            PREFIX,
        ),
    ),
    "lookup": _Function(
        "lookup",
        (
            *_KEYS,
            *_NEAR,
            Argument("how", one_of("left", "inner", "semi", "anti")),
            _WHERE,
            _length("refresh"),
            PREFIX,
        ),
    ),
    "resample": _Function(
        "resample",
        (
            _length("every"),
            Argument("how", _how),
            WITHIN,
            ORIGIN,
            _length("max_gap"),
            Argument("columns", arguments.columns),
            TIEBREAK,
            PREFIX,
        ),
    ),
}
_RESAMPLE = _JOINS["resample"].arguments
#: The names of the functions that make windows.
WINDOW_FUNCTIONS = (*_WINDOWS, "fill")
#: The names of the functions that combine relations.
JOIN_FUNCTIONS = tuple(_JOINS)
