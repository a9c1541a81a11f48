"""Joins and alignments as table functions: ``FROM join(quotes, trades, within => 30 MINUTES)``.

The names of arguments are those of the Python methods. A relation that was not declared with ON is
described where it stands, as ``mt.stream`` does: ``stream(quotes, on => ts, by => stock)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from muntin.parser import named_arguments
from muntin.parser.clause import Draft
from muntin.parser.cursor import Cursor
from muntin.parser.errors import SqlError
from muntin.parser.expressions import read_expression
from muntin.parser.named_arguments import ROLES, Reader, Subquery, read_arguments, read_relation
from muntin.parser.positions import Position
from muntin.parser.statements import Aligning, Alignment, Expression, JoinSide, Query
from muntin.specs.disorder import Disorder

_RELATION = "a stream, a table, a query in parentheses or stream(...)"


def is_alignment(name: str) -> bool:
    return name.lower() in ALIGNING_FUNCTIONS


def arguments_of(name: str) -> tuple[str, ...]:
    """The names of a function's arguments, without those that describe its relation."""
    return (*_RESAMPLE, "at") if name == "resample" else tuple(_JOINS[name][1])


def read_alignment(cursor: Cursor, subquery: Subquery) -> Alignment:
    """A call of one of these functions, from its name on."""
    place = cursor.place
    name = cursor.take().text.lower()
    inner = cursor.enclosed()
    if name == "resample":
        return _resampled(inner, subquery, place)
    own = _side(inner, subquery)
    inner.expect_type(TokenType.COMMA, ", and the other relation")
    if inner.behind is not None and inner.behind.token_type is TokenType.FARROW:
        inner.fail(expected=f"what {own.alias} meets: {_RELATION}")
    other = _side(inner, subquery)
    if name == "lookup" and other.described:
        problem = "a table that rows are looked up in has no order and no keys of its own"
        expected = "the table itself, and key => its columns"
        raise SqlError(problem, cursor.text, other.place, expected=expected)
    method, readers = _JOINS[name]
    draft = read_arguments(inner, readers, _NEEDED.get(name, ()))
    return Alignment(method, own, other, own.alias, draft.values, draft.places, place)


def _resampled(cursor: Cursor, subquery: Subquery, place: Position) -> Alignment:
    """Only one relation can stand first, so its roles may stand among the arguments."""
    own = _side(cursor, subquery)
    roles = {} if own.described else ROLES
    at = partial(_side, subquery=subquery)
    draft = read_arguments(cursor, {**_RESAMPLE, "at": at, **roles})
    if not own.described:
        own = _described(own.table, own.alias, draft, own.place)
    other = draft.take("at")
    assert other is None or isinstance(other, JoinSide)
    if other is None and "every" not in draft.values:
        expected = ", every => how often, or at => another stream"
        cursor.fail("it is not said where values are wanted", expected=expected)
    if other is not None and "every" in draft.values:
        problem = "values are wanted every so often, or at the instants of another stream"
        raise SqlError(problem, cursor.text, draft.at("at"), expected="every or at")
    return Alignment("resample", own, other, own.alias, draft.values, draft.places, place)


def _side(cursor: Cursor, subquery: Subquery) -> JoinSide:
    """A relation, as it is or described."""
    place = cursor.place
    if not (cursor.next_is("STREAM") and cursor.calls()):
        table, alias = read_relation(cursor, subquery, _RELATION)
        return _described(table, alias, Draft(cursor.text), place)
    cursor.take()
    inner = cursor.enclosed()
    table, alias = read_relation(inner, subquery, "a stream, a table or a query in parentheses")
    return _described(table, alias, read_arguments(inner, ROLES), place)


def _described(table: str | Query, alias: str, draft: Draft, place: Position) -> JoinSide:
    on, by, disorder = (draft.take(role) for role in ROLES)
    assert on is None or isinstance(on, str)
    assert by is None or isinstance(by, tuple)
    assert disorder is None or isinstance(disorder, Disorder)
    return JoinSide(table, alias, on, by, disorder, draft.places, place)


def _how(cursor: Cursor) -> object:
    """How values are made: a word, or aggregates of the rows around."""
    token = cursor.peek
    if token is not None and token.token_type is TokenType.L_PAREN:
        return _aggregates(cursor.enclosed())
    return (_aggregate(cursor),) if cursor.calls() else _METHOD(cursor)


def _aggregates(cursor: Cursor) -> tuple[Expression, ...]:
    found = [_aggregate(cursor)]
    while not cursor.done:
        cursor.expect_type(TokenType.COMMA, ", or )")
        found.append(_aggregate(cursor))
    return tuple(found)


def _aggregate(cursor: Cursor) -> Expression:
    """An aggregate, with the name of its column if it is given one."""
    what = "an aggregate such as avg(level) AS level"
    made = read_expression(cursor.until(lambda c: c.next_is("AS")), what)
    if not cursor.accept("AS"):
        return made
    name = cursor.name("the name of a column")
    return Expression(exp.alias_(made.tree, name, quoted=True), made.place)


_METHOD = named_arguments.word("linear", "previous", "nearest")
_MATCHING: Mapping[str, Reader] = {"on": named_arguments.column, "key": named_arguments.key}
_NEAR: Mapping[str, Reader] = {
    "within": named_arguments.length("within"),
    "direction": named_arguments.word("both", "backward", "forward"),
}
_JOINS: Mapping[str, tuple[Aligning, Mapping[str, Reader]]] = {
    "join": (
        "join",
        {
            **_NEAR,
            "how": named_arguments.word("inner", "left", "right", "full", "semi", "anti"),
            "where": named_arguments.condition,
            **_MATCHING,
            "limit": named_arguments.size,
            "prefix": named_arguments.text,
        },
    ),
    "zipper": (
        "zipper",
        {
            "every": named_arguments.length("every"),
            "origin": named_arguments.constant,
            "how": named_arguments.word("full", "inner", "left", "right"),
            "where": named_arguments.condition,
            **_MATCHING,
            "limit": named_arguments.size,
            "prefix": named_arguments.text,
        },
    ),
    "asof": (
        "asof",
        {
            "tolerance": named_arguments.length("tolerance"),
            "direction": named_arguments.word("backward", "forward", "nearest"),
            "exact": named_arguments.flag,
            "tiebreak": named_arguments.columns,
            **_MATCHING,
            "prefix": named_arguments.text,
        },
    ),
    "lookup": (
        "lookup",
        {
            **_MATCHING,
            **_NEAR,
            "how": named_arguments.word("left", "inner", "semi", "anti"),
            "where": named_arguments.condition,
            "refresh": named_arguments.length("refresh"),
            "prefix": named_arguments.text,
        },
    ),
}
_RESAMPLE: Mapping[str, Reader] = {
    "every": named_arguments.length("every"),
    "how": _how,
    "within": named_arguments.length("within"),
    "origin": named_arguments.constant,
    "max_gap": named_arguments.length("max_gap"),
    "columns": named_arguments.columns,
    "tiebreak": named_arguments.columns,
    "prefix": named_arguments.text,
}
#: What cannot be left out.
_NEEDED = {"join": ("within",), "zipper": ("every",)}
#: The names of all of them.
ALIGNING_FUNCTIONS = (*_JOINS, "resample")
